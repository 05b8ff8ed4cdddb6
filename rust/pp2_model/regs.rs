// SPDX-License-Identifier: GPL-2.0

//! Register names and offsets, in the order of the address map.
//!
//! `NAME @ offset` is one register; `NAME[n] @ offset` is `n` of them, four bytes apart unless a
//! stride is given. The names are those of the data sheet as far as Linux shows them, and the
//! trace prints them.

/// Names one or more registers at a fixed distance.
pub struct Reg {
    /// Data-sheet name.
    pub name: &'static str,
    /// Offset of the first one in its region (or its block).
    pub offset: u32,
    /// How many there are.
    pub count: u32,
    /// Their distance in bytes.
    pub stride: u32,
}

macro_rules! registers {
    ($(#[$meta:meta])* $table:ident: $($name:ident $([$count:expr $(; $stride:expr)?])? @ $offset:expr;)*) => {
        $(
            #[allow(missing_docs, reason = "the name is the documentation")]
            pub const $name: u32 = $offset;
        )*
        $(#[$meta])*
        pub static $table: &[Reg] = &[$(
            Reg {
                name: stringify!($name),
                offset: $offset,
                count: registers!(@or 1 $(, $count)?),
                stride: registers!(@or 4 $($(, $stride)?)?),
            },
        )*];
    };
    (@or $default:expr) => { $default };
    (@or $default:expr, $given:expr) => { $given };
}

registers! {
    /// The packet processor; every 64 KiB window shows them all.
    PP:
    RX_DATA_FIFO_SIZE[8] @ 0x0000;
    RX_ATTR_FIFO_SIZE[8] @ 0x0020;
    RX_MIN_PKT_SIZE @ 0x0060;
    RX_FIFO_INIT @ 0x0064;
    RX_CTRL[4] @ 0x0140;
    RX_FC[4] @ 0x0150;
    POOL_BUF_SIZE[16] @ 0x0180;
    RXQ_CONFIG[128] @ 0x0800;

    PRS_INIT_LOOKUP @ 0x1000;
    PRS_INIT_OFFS[2] @ 0x1004;
    PRS_MAX_LOOP[2] @ 0x100c;
    PRS_TCAM_IDX @ 0x1100;
    PRS_TCAM_DATA[6] @ 0x1104;
    PRS_SRAM_IDX @ 0x1200;
    PRS_SRAM_DATA[4] @ 0x1204;
    PRS_TCAM_CTRL @ 0x1230;
    PRS_TCAM_HIT_IDX @ 0x1240;
    PRS_TCAM_HIT_CNT @ 0x1244;

    RSS_INDEX @ 0x1500;
    RXQ2RSS_TABLE @ 0x1504;
    RSS_TABLE_ENTRY @ 0x1508;
    RSS_WIDTH @ 0x150c;

    CLS_MODE @ 0x1800;
    CLS_PORT_WAY @ 0x1810;
    CLS_LKP_INDEX @ 0x1814;
    CLS_LKP_TBL @ 0x1818;
    CLS_FLOW_INDEX @ 0x1820;
    CLS_FLOW_TBL[3] @ 0x1824;
    CLS_OVERSIZE_RXQ_LOW[4] @ 0x1980;
    CLS_SWFWD_P2HQ[4] @ 0x19b0;
    CLS_SWFWD_PCTRL @ 0x19d0;
    C2_TCAM_IDX @ 0x1b00;
    C2_TCAM_DATA[5] @ 0x1b10;
    C2_TCAM_INV @ 0x1b24;
    C2_HIT_CTR @ 0x1b50;
    C2_ACT @ 0x1b60;
    C2_ATTR[4] @ 0x1b64;
    C2_TCAM_CTRL @ 0x1b90;

    RXQ_NUM @ 0x2040;
    RXQ_DESC_ADDR @ 0x2044;
    RXQ_DESC_SIZE @ 0x2048;
    RXQ_THRESH @ 0x204c;
    RXQ_INDEX @ 0x2050;
    TXQ_NUM @ 0x2080;
    TXQ_DESC_ADDR @ 0x2084;
    TXQ_DESC_SIZE @ 0x2088;
    AGGR_TXQ_UPDATE @ 0x2090;
    TXQ_THRESH @ 0x2094;
    TXQ_INDEX @ 0x2098;
    TXQ_PREF_BUF @ 0x209c;
    TXQ_PENDING @ 0x20a0;
    TXQ_INT_STATUS @ 0x20a4;
    TXQ_DESC_ADDR_HIGH @ 0x20a8;
    TXQ_RSVD_REQ @ 0x20b0;
    TXQ_RSVD_RSLT @ 0x20b4;
    TXQ_RSVD_CLR @ 0x20b8;
    AGGR_TXQ_DESC_ADDR[16] @ 0x2100;
    AGGR_TXQ_DESC_SIZE[16] @ 0x2140;
    AGGR_TXQ_STATUS[16] @ 0x2180;
    AGGR_TXQ_INDEX[16] @ 0x21c0;
    RXQ_STATUS_UPDATE[128] @ 0x3000;
    RXQ_STATUS[128] @ 0x3400;
    TXQ_SENT[256] @ 0x3c00;

    WIN_BASE[6] @ 0x4000;
    WIN_SIZE[6] @ 0x4020;
    WIN_REMAP[4] @ 0x4040;
    BASE_ADDR_ENABLE @ 0x4060;
    AXI_BM_WR_ATTR @ 0x4100;
    AXI_BM_RD_ATTR @ 0x4104;
    AXI_AGGRQ_DESCR_RD_ATTR @ 0x4110;
    AXI_TXQ_DESCR_WR_ATTR @ 0x4114;
    AXI_TXQ_DESCR_RD_ATTR @ 0x4118;
    AXI_RXQ_DESCR_WR_ATTR @ 0x411c;
    AXI_RX_DATA_WR_ATTR @ 0x4120;
    AXI_TX_DATA_RD_ATTR @ 0x4130;
    AXI_RD_NORMAL_CODE @ 0x4150;
    AXI_RD_SNOOP_CODE @ 0x4154;
    AXI_WR_NORMAL_CODE @ 0x4160;
    AXI_WR_SNOOP_CODE @ 0x4164;

    MH_REG[4] @ 0x5040;
    VER_ID @ 0x50b0;
    ISR_TX_THRESHOLD[4] @ 0x5140;
    ISR_RX_THRESHOLD[128] @ 0x5200;
    ISR_RXQ_GROUP_INDEX @ 0x5400;
    ISR_RXQ_SUB_GROUP_CONFIG @ 0x5404;
    ISR_ENABLE[4] @ 0x5420;
    ISR_RX_TX_CAUSE[4] @ 0x5480;
    ISR_RX_TX_MASK[4] @ 0x54a0;
    ISR_RX_ERR_CAUSE[4] @ 0x5520;
    ISR_MISC_CAUSE @ 0x55b0;

    BM_POOL_BASE[16] @ 0x6000;
    BM_POOL_SIZE[16] @ 0x6040;
    BM_POOL_READ_PTR[16] @ 0x6080;
    BM_POOL_PTRS_NUM[16] @ 0x60c0;
    BM_BPPI_READ_PTR[16] @ 0x6100;
    BM_BPPI_PTRS_NUM[16] @ 0x6140;
    BM_POOL_CTRL[16] @ 0x6200;
    BM_INTR_CAUSE[16] @ 0x6240;
    BM_INTR_MASK[16] @ 0x6280;
    BM_POOL_BASE_ADDR_HIGH @ 0x6310;
    BM_PHY_ALLOC[16] @ 0x6400;
    BM_VIRT_ALLOC @ 0x6440;
    BM_ADDR_HIGH_ALLOC @ 0x6444;
    BM_PHY_RLS[16] @ 0x6480;
    BM_VIRT_RLS @ 0x64c0;
    BM_ADDR_HIGH_RLS @ 0x64c4;

    OVERRUN_ETH_DROP[4] @ 0x7000;
    CLS_ETH_DROP[4] @ 0x7020;
    CTRS_IDX @ 0x7040;
    TX_DESC_ENQ @ 0x7100;
    TX_DESC_ENQ_TO_DDR @ 0x7104;
    TX_BUFF_ENQ_TO_DDR @ 0x7108;
    TX_DESC_ENQ_HW_FWD @ 0x710c;
    RX_DESC_ENQ @ 0x7120;
    TX_PKTS_DEQ @ 0x7130;
    TX_PKTS_FULL_QUEUE_DROP @ 0x7200;
    TX_PKTS_EARLY_DROP @ 0x7204;
    TX_PKTS_BM_DROP @ 0x7208;
    TX_PKTS_BM_MC_DROP @ 0x720c;
    RX_PKTS_FULL_QUEUE_DROP @ 0x7220;
    RX_PKTS_EARLY_DROP @ 0x7224;
    RX_PKTS_BM_DROP @ 0x7228;
    CLS_DEC_TBL_HIT @ 0x7700;
    CLS_FLOW_TBL_HIT @ 0x7704;

    TXP_SCHED_PORT_INDEX @ 0x8000;
    TXP_SCHED_Q_CMD @ 0x8004;
    TXP_SCHED_CMD_1 @ 0x8010;
    TXP_SCHED_FIXED_PRIO @ 0x8014;
    TXP_SCHED_PERIOD @ 0x8018;
    TXP_SCHED_MTU @ 0x801c;
    TXP_SCHED_REFILL @ 0x8020;
    TXP_SCHED_TOKEN_SIZE @ 0x8024;
    TXP_SCHED_TOKEN_CNTR @ 0x8028;
    TXQ_SCHED_REFILL[8] @ 0x8040;
    TXQ_SCHED_TOKEN_SIZE[8] @ 0x8060;
    TXQ_SCHED_TOKEN_CNTR[8] @ 0x8080;
    TX_SNOOP @ 0x8800;
    TX_PORT_FLUSH @ 0x8810;
    TX_FIFO_THRESH[4] @ 0x8840;
    TX_FIFO_SIZE[4] @ 0x8860;
}

registers! {
    /// Counters and GMAC/XLG registers of one MAC. Offsets below 0x1000 are in `MIB` blocks,
    /// those above are in the block at 0x7000 + 0x1000 * gop.
    IFACE:
    MPCS_CTRL[4; 0x1000] @ 0x7014;
    MPCS_CLK_RESET[4; 0x1000] @ 0x714c;
    XPCS_CFG0[4; 0x1000] @ 0x7400;
    FCA_CONTROL[4; 0x1000] @ 0x7600;
    FCA_PERIODIC_COUNTER_LSB[4; 0x1000] @ 0x7710;
    FCA_PERIODIC_COUNTER_MSB[4; 0x1000] @ 0x7714;
    PTP_INT_CAUSE[4; 0x1000] @ 0x7800;
    PTP_INT_MASK[4; 0x1000] @ 0x7804;
    PTP_GCR[4; 0x1000] @ 0x7808;
    PTP_TX_Q0_R0[4; 0x1000] @ 0x780c;
    PTP_TX_Q0_R1[4; 0x1000] @ 0x7810;
    PTP_TX_Q0_R2[4; 0x1000] @ 0x7814;
    PTP_TX_Q1_R0[4; 0x1000] @ 0x7818;
    PTP_TX_Q1_R1[4; 0x1000] @ 0x781c;
    PTP_TX_Q1_R2[4; 0x1000] @ 0x7820;
    GMAC_CTRL_0[4; 0x1000] @ 0x7e00;
    GMAC_CTRL_1[4; 0x1000] @ 0x7e04;
    GMAC_CTRL_2[4; 0x1000] @ 0x7e08;
    GMAC_AUTONEG_CONFIG[4; 0x1000] @ 0x7e0c;
    GMAC_STATUS0[4; 0x1000] @ 0x7e10;
    GMAC_PORT_FIFO_CFG_1[4; 0x1000] @ 0x7e1c;
    GMAC_INT_STAT[4; 0x1000] @ 0x7e20;
    GMAC_INT_MASK[4; 0x1000] @ 0x7e24;
    GMAC_CTRL_4[4; 0x1000] @ 0x7e90;
    GMAC_INT_SUM_STAT[4; 0x1000] @ 0x7ea0;
    GMAC_INT_SUM_MASK[4; 0x1000] @ 0x7ea4;
    GMAC_LPI_CTRL0[4; 0x1000] @ 0x7ec0;
    GMAC_LPI_CTRL1[4; 0x1000] @ 0x7ec4;
    XLG_CTRL0[4; 0x1000] @ 0x7f00;
    XLG_CTRL1[4; 0x1000] @ 0x7f04;
    XLG_STATUS[4; 0x1000] @ 0x7f0c;
    XLG_INT_STAT[4; 0x1000] @ 0x7f14;
    XLG_INT_MASK[4; 0x1000] @ 0x7f18;
    XLG_CTRL3[4; 0x1000] @ 0x7f1c;
    XLG_EXT_INT_STAT[4; 0x1000] @ 0x7f58;
    XLG_EXT_INT_MASK[4; 0x1000] @ 0x7f5c;
    XLG_CTRL4[4; 0x1000] @ 0x7f84;

    MIB_GOOD_OCTETS_RCVD[4; 0x100] @ 0x00;
    MIB_GOOD_OCTETS_RCVD_HIGH[4; 0x100] @ 0x04;
    MIB_BAD_OCTETS_RCVD[4; 0x100] @ 0x08;
    MIB_CRC_ERRORS_SENT[4; 0x100] @ 0x0c;
    MIB_UNICAST_FRAMES_RCVD[4; 0x100] @ 0x10;
    MIB_BROADCAST_FRAMES_RCVD[4; 0x100] @ 0x18;
    MIB_MULTICAST_FRAMES_RCVD[4; 0x100] @ 0x1c;
    MIB_FRAMES_64_OCTETS[4; 0x100] @ 0x20;
    MIB_FRAMES_65_TO_127_OCTETS[4; 0x100] @ 0x24;
    MIB_FRAMES_128_TO_255_OCTETS[4; 0x100] @ 0x28;
    MIB_FRAMES_256_TO_511_OCTETS[4; 0x100] @ 0x2c;
    MIB_FRAMES_512_TO_1023_OCTETS[4; 0x100] @ 0x30;
    MIB_FRAMES_1024_TO_MAX_OCTETS[4; 0x100] @ 0x34;
    MIB_GOOD_OCTETS_SENT[4; 0x100] @ 0x38;
    MIB_GOOD_OCTETS_SENT_HIGH[4; 0x100] @ 0x3c;
    MIB_UNICAST_FRAMES_SENT[4; 0x100] @ 0x40;
    MIB_MULTICAST_FRAMES_SENT[4; 0x100] @ 0x48;
    MIB_BROADCAST_FRAMES_SENT[4; 0x100] @ 0x4c;
    MIB_FC_SENT[4; 0x100] @ 0x54;
    MIB_FC_RCVD[4; 0x100] @ 0x58;
    MIB_RX_FIFO_OVERRUN[4; 0x100] @ 0x5c;
    MIB_UNDERSIZE_RCVD[4; 0x100] @ 0x60;
    MIB_FRAGMENTS_RCVD[4; 0x100] @ 0x64;
    MIB_OVERSIZE_RCVD[4; 0x100] @ 0x68;
    MIB_JABBER_RCVD[4; 0x100] @ 0x6c;
    MIB_MAC_RCV_ERROR[4; 0x100] @ 0x70;
    MIB_BAD_CRC_EVENT[4; 0x100] @ 0x74;
    MIB_COLLISION[4; 0x100] @ 0x78;
    MIB_LATE_COLLISION[4; 0x100] @ 0x7c;

    SMI @ 0x1200;
    SMI_MISC_CFG @ 0x1204;
    TAI_INT_CAUSE @ 0x1400;
    TAI_INT_MASK @ 0x1404;
    TAI_CR0 @ 0x1408;
    TAI_CR1 @ 0x140c;
    TAI_TCFCR0 @ 0x1410;
    TAI_TOD_STEP_NANO_CR @ 0x1420;
    TAI_TOD_STEP_FRAC_HIGH @ 0x1424;
    TAI_TOD_STEP_FRAC_LOW @ 0x1428;
    TAI_TLV_SEC_HIGH @ 0x1450;
    TAI_TLV_SEC_MED @ 0x1454;
    TAI_TLV_SEC_LOW @ 0x1458;
    TAI_TLV_NANO_HIGH @ 0x145c;
    TAI_TLV_NANO_LOW @ 0x1460;
    TAI_TLV_FRAC_HIGH @ 0x1464;
    TAI_TLV_FRAC_LOW @ 0x1468;
    TAI_TCV0_SEC_HIGH @ 0x146c;
    TAI_TCV0_SEC_MED @ 0x1470;
    TAI_TCV0_SEC_LOW @ 0x1474;
    TAI_TCV0_NANO_HIGH @ 0x1478;
    TAI_TCV0_NANO_LOW @ 0x147c;
    TAI_TCV0_FRAC_HIGH @ 0x1480;
    TAI_TCV0_FRAC_LOW @ 0x1484;
    TAI_TCV1_SEC_HIGH @ 0x1488;
    TAI_TCSR @ 0x14a4;
}

registers! {
    /// The mailbox of the flow-control firmware.
    CM3:
    MSS_FC_COM @ 0x000;
    MSS_BUF_POOL[16] @ 0x040;
    MSS_RXQ_ASS[32] @ 0x080;
    MSS_RXQ_TRESH[128] @ 0x200;
}

registers! {
    /// The part of the CP system controller that concerns the ports.
    SYSCON:
    GENCONF_SOFT_RESET1 @ 0x1108;
    GENCONF_PORT_CTRL0 @ 0x1110;
    GENCONF_PORT_CTRL1 @ 0x1114;
    GENCONF_CTRL0 @ 0x1120;
}

/// Which of `count` registers from `base` on, four bytes apart, is at `offset`.
pub(crate) const fn nth(offset: u32, base: u32, count: u32) -> Option<usize> {
    if offset >= base && offset < base + 4 * count {
        Some(((offset - base) / 4) as usize)
    } else {
        None
    }
}
