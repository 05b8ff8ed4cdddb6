// SPDX-License-Identifier: GPL-2.0

//! A host for tests: memory is a vector, time stands still until it is told to move, and wires and
//! lines remember. On top of it a small driver that programs the device as Linux does.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
        Arc, Mutex, OnceLock,
    },
};

use pp2_model::{
    host::{Clock, Dma, DmaError, Lines, LockClass, Storage, Timer, Trace, Wire},
    mac::Link,
    regs,
    trace::Event,
    Config, Device, Line, Lock, Region, Verdict, RXQS_PER_PORT, THREADS, TXQS_PER_PORT, TXQ_FIRST,
};

pub mod frames;
pub mod program;

/// Bytes of memory from bus address 0 on. The first page is not memory.
pub const MEMORY: u64 = 1 << 20;
pub const PAGE: u64 = 4096;

pub struct StdLock<T>(Mutex<T>);

impl<T> Lock<T> for StdLock<T> {
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap())
    }
}

pub struct World {
    pub memory: Mutex<Vec<u8>>,
    pub now: AtomicU64,
    pub timers: Mutex<BTreeMap<usize, u64>>,
    pub lines: Mutex<[bool; Line::COUNT]>,
    /// Rising edges of each line.
    pub edges: Mutex<[u32; Line::COUNT]>,
    pub sent: Mutex<Vec<(usize, Vec<u8>)>>,
    /// DMA writes: address and length.
    pub writes: Mutex<Vec<(u64, usize)>>,
    /// Whether to trace; it takes time.
    pub tracing: AtomicBool,
    pub trace: Mutex<Vec<String>>,
}

#[derive(Clone)]
pub struct TestHost(pub Arc<World>);

impl TestHost {
    pub fn new() -> Self {
        Self(Arc::new(World {
            memory: Mutex::new(vec![0; MEMORY as usize]),
            now: AtomicU64::new(1_000_000),
            timers: Mutex::new(BTreeMap::new()),
            lines: Mutex::new([false; Line::COUNT]),
            edges: Mutex::new([0; Line::COUNT]),
            sent: Mutex::new(Vec::new()),
            writes: Mutex::new(Vec::new()),
            tracing: AtomicBool::new(false),
            trace: Mutex::new(Vec::new()),
        }))
    }
}

impl Dma for TestHost {
    fn dma_read(&self, addr: u64, buf: &mut [u8]) -> Result<(), DmaError> {
        let memory = self.0.memory.lock().unwrap();
        let range = range(addr, buf.len())?;
        buf.copy_from_slice(&memory[range]);
        Ok(())
    }

    fn dma_write(&self, addr: u64, buf: &[u8]) -> Result<(), DmaError> {
        let range = range(addr, buf.len())?;
        self.0.memory.lock().unwrap()[range].copy_from_slice(buf);
        self.0.writes.lock().unwrap().push((addr, buf.len()));
        Ok(())
    }
}

fn range(addr: u64, len: usize) -> Result<std::ops::Range<usize>, DmaError> {
    let end = addr.checked_add(len as u64).ok_or(DmaError)?;
    if addr < PAGE || end > MEMORY {
        return Err(DmaError);
    }
    Ok(addr as usize..end as usize)
}

impl Lines for TestHost {
    fn set_line(&self, line: Line, high: bool) {
        let old = std::mem::replace(&mut self.0.lines.lock().unwrap()[line.index()], high);
        assert_ne!(old, high, "only changes are told");
        self.0.edges.lock().unwrap()[line.index()] += u32::from(high);
    }
}

impl Clock for TestHost {
    fn now(&self) -> u64 {
        self.0.now.load(SeqCst)
    }

    fn arm(&self, timer: Timer, at: u64) {
        assert_eq!(Timer::from_index(timer.index()), Some(timer));
        self.0.timers.lock().unwrap().insert(timer.index(), at);
    }
}

impl Wire for TestHost {
    fn transmit(
        &self,
        port: usize,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), DmaError>,
    ) -> bool {
        // Anything but zero, to see what is not filled in.
        let mut frame = vec![0xee; len];
        if fill(&mut frame).is_err() {
            return false;
        }
        self.0.sent.lock().unwrap().push((port, frame));
        true
    }
}

impl Trace for TestHost {
    const TRACE: bool = true;

    fn trace(&self, event: &Event) {
        if self.0.tracing.load(SeqCst) {
            self.0.trace.lock().unwrap().push(event.to_string());
        }
    }
}

impl Storage for TestHost {
    type Lock<T: Send> = StdLock<T>;
    type List<T: Send + Sync> = Vec<T>;
    type Table<T: Send + Sync> = Box<[T]>;
    type Error = Infallible;

    fn lock<T: Send>(&self, class: LockClass, value: T) -> Result<StdLock<T>, Infallible> {
        let size = std::mem::size_of::<T>();
        assert!(size <= 1024, "{class:?} has {size} bytes");
        Ok(StdLock(Mutex::new(value)))
    }

    fn list<T: Send + Sync>(
        &self,
        len: usize,
        init: impl FnMut(usize) -> Result<T, Infallible>,
    ) -> Result<Vec<T>, Infallible> {
        (0..len).map(init).collect()
    }

    fn table<T: Copy + Send + Sync>(&self, len: usize, value: T) -> Result<Box<[T]>, Infallible> {
        Ok(vec![value; len].into())
    }
}

/// A stage's name and its register writes.
type Stage = (String, Vec<(u32, u32)>);

/// The register writes that fill the tables, stage by stage.
fn parse_tables() -> Vec<Stage> {
    let hex = |s: &str| u32::from_str_radix(s, 16).unwrap();
    let mut stages = Vec::new();
    let mut writes = Vec::new();
    for line in include_str!("../data/mvpp2-tables.txt").lines().rev() {
        // Backwards, a stage's name comes after its lines.
        let mut fields = line.split(' ');
        let (kind, index) = (fields.next().unwrap(), fields.next().unwrap());
        let (select, base, shift) = match kind {
            "#" => continue,
            "=" => {
                writes.reverse();
                stages.push((index.to_string(), std::mem::take(&mut writes).concat()));
                continue;
            }
            "reg" => {
                writes.push(vec![(hex(index), hex(fields.next().unwrap()))]);
                continue;
            }
            "tcam" => (regs::PRS_TCAM_IDX, regs::PRS_TCAM_DATA, 0),
            "sram" => (regs::PRS_SRAM_IDX, regs::PRS_SRAM_DATA, 0),
            "lkp" => (regs::CLS_LKP_INDEX, regs::CLS_LKP_TBL, 0),
            "flow" => (regs::CLS_FLOW_INDEX, regs::CLS_FLOW_TBL, 0),
            "c2" => (regs::C2_TCAM_IDX, regs::C2_TCAM_DATA, 0),
            "rxq2rss" => (regs::RSS_INDEX, regs::RXQ2RSS_TABLE, 16),
            "rss" => (regs::RSS_INDEX, regs::RSS_TABLE_ENTRY, 0),
            "rsswidth" => (regs::RSS_INDEX, regs::RSS_WIDTH, 8),
            _ => panic!("{line}"),
        };
        let index: u32 = match kind {
            "rss" => hex(index),
            _ => index.parse().unwrap(),
        };
        let mut group = vec![(select, index << shift)];
        for (n, field) in fields.enumerate() {
            match field {
                "-" => (),
                "invalid" => group.push((regs::PRS_TCAM_DATA + 20, 1 << 31)),
                _ => group.push((base + 4 * n as u32, hex(field))),
            }
        }
        writes.push(group);
    }
    stages.reverse();
    stages
}

/// A received packet as the driver finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub desc: [u32; 8],
    /// Frame without Marvell header, by the descriptor's byte count.
    pub data: Vec<u8>,
}

impl Packet {
    pub fn addr(&self) -> u64 {
        u64::from(self.desc[4]) | u64::from(self.desc[5] & 0xff) << 32
    }

    pub fn cookie(&self) -> u64 {
        u64::from(self.desc[6]) | u64::from(self.desc[7] & 0xff) << 32
    }

    pub fn pool(&self) -> usize {
        (self.desc[0] >> 16 & 0xf) as usize
    }
}

#[derive(Clone, Copy, Default)]
struct Ring {
    addr: u64,
    size: u32,
    index: u32,
}

/// A device and a driver.
pub struct Lab {
    pub dev: Device<TestHost>,
    pub host: TestHost,
    next: u64,
    rx: BTreeMap<usize, Ring>,
    aggr: BTreeMap<usize, Ring>,
}

pub const RING: u32 = 16;
pub const AGGR: u32 = 16;
/// As Linux sizes them: a descriptor names one of these two pools.
pub const SHORT: usize = 0;
pub const LONG: usize = 1;
pub const SHORT_SIZE: u32 = 416;
pub const LONG_SIZE: u32 = 1920;

impl Lab {
    pub fn with(config: Config) -> Self {
        let host = TestHost::new();
        let config = Config {
            pool_capacity: 256,
            ..config
        };
        let Ok(dev) = Device::new(host.clone(), config);
        Self {
            dev,
            host,
            next: PAGE,
            rx: BTreeMap::new(),
            aggr: BTreeMap::new(),
        }
    }

    /// A device nobody has touched.
    pub fn cold() -> Self {
        Self::with(Config::default())
    }

    /// Three open ports with eight buffers in either pool, a queue each, and thread 0..2 ready.
    pub fn open() -> Self {
        Self::open_with(Config::default())
    }

    pub fn open_with(config: Config) -> Self {
        let mut lab = Self::with(config);
        lab.load_tables("open");
        lab.pool(SHORT, 8, SHORT_SIZE);
        lab.pool(LONG, 8, LONG_SIZE);
        for thread in 0..3 {
            lab.aggregated(thread);
        }
        for port in 0..3 {
            lab.rxq(port * RXQS_PER_PORT, SHORT, LONG);
            lab.txq(port * TXQS_PER_PORT);
            lab.vector(port, 0, 0, 1);
            lab.mac_up(port);
        }
        lab
    }

    pub fn r(&self, thread: u32, offset: u32) -> u32 {
        self.dev
            .read(Region::PacketProcessor, thread << 16 | offset)
    }

    pub fn w(&self, thread: u32, offset: u32, value: u32) {
        self.dev
            .write(Region::PacketProcessor, thread << 16 | offset, value);
    }

    pub fn ri(&self, offset: u32) -> u32 {
        self.dev.read(Region::Interfaces, offset)
    }

    pub fn wi(&self, offset: u32, value: u32) {
        self.dev.write(Region::Interfaces, offset, value);
    }

    /// DMA memory that nobody else has.
    pub fn alloc(&mut self, len: u64) -> u64 {
        let addr = self.next;
        self.next += len.next_multiple_of(512);
        assert!(self.next <= MEMORY);
        addr
    }

    pub fn poke(&self, addr: u64, bytes: &[u8]) {
        self.host.0.memory.lock().unwrap()[addr as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    pub fn peek(&self, addr: u64, len: usize) -> Vec<u8> {
        self.host.0.memory.lock().unwrap()[addr as usize..][..len].to_vec()
    }

    pub fn poke_words(&self, addr: u64, words: &[u32; 8]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.poke(addr, &bytes);
    }

    pub fn peek_words(&self, addr: u64) -> [u32; 8] {
        let bytes = self.peek(addr, 32);
        std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..][..4].try_into().unwrap()))
    }

    /// Writes what the Linux driver had written to the tables when it reached `stage`.
    pub fn load_tables(&self, stage: &str) {
        static TABLES: OnceLock<Vec<Stage>> = OnceLock::new();
        let tables = TABLES.get_or_init(parse_tables);
        let last = tables.iter().position(|(name, _)| name == stage).unwrap();
        for (_, writes) in &tables[..=last] {
            for (offset, value) in writes {
                self.w(0, *offset, *value);
            }
        }
    }

    pub fn pool_start(&mut self, pool: usize, size: u32) {
        let k = 4 * pool as u32;
        self.w(0, regs::BM_POOL_BASE + k, 0x8000_0000);
        self.w(0, regs::BM_POOL_SIZE + k, 16352);
        let ctrl = self.r(0, regs::BM_POOL_CTRL + k);
        self.w(0, regs::BM_POOL_CTRL + k, ctrl | 1 | 0x1c << 8 | 0x1e << 16);
        self.w(0, regs::POOL_BUF_SIZE + k, size);
    }

    /// Starts a pool with `n` buffers; a buffer's cookie is its address plus 1 << 36.
    pub fn pool(&mut self, pool: usize, n: usize, size: u32) {
        self.pool_start(pool, size);
        for _ in 0..n {
            let addr = self.alloc(u64::from(size));
            self.release(1, pool, addr, addr + (1 << 36));
        }
    }

    pub fn release(&self, thread: u32, pool: usize, addr: u64, cookie: u64) {
        let high = (addr >> 32) as u32 & 0xff | ((cookie >> 32) as u32 & 0xff) << 8;
        self.w(thread, regs::BM_ADDR_HIGH_RLS, high);
        self.w(thread, regs::BM_VIRT_RLS, cookie as u32);
        self.w(thread, regs::BM_PHY_RLS + 4 * pool as u32, addr as u32);
    }

    /// Pops a buffer as a driver does: address and cookie.
    pub fn take(&self, thread: u32, pool: usize) -> (u64, u64) {
        let low = u64::from(self.r(thread, regs::BM_PHY_ALLOC + 4 * pool as u32));
        let cookie = u64::from(self.r(thread, regs::BM_VIRT_ALLOC));
        let high = u64::from(self.r(thread, regs::BM_ADDR_HIGH_ALLOC));
        (low | (high & 0xff) << 32, cookie | (high >> 8 & 0xff) << 32)
    }

    /// What Linux counts in a pool.
    pub fn linux_count(&self, pool: usize) -> u32 {
        let k = 4 * pool as u32;
        let n = (self.r(0, regs::BM_POOL_PTRS_NUM + k) & 0xfff8)
            + (self.r(0, regs::BM_BPPI_PTRS_NUM + k) & 0x7ff);
        n + u32::from(n != 0)
    }

    pub fn rxq_ring(&self, queue: usize) -> u64 {
        self.rx[&queue].addr
    }

    /// Sets a receive queue up and lets it receive.
    pub fn rxq(&mut self, queue: usize, short: usize, long: usize) {
        let q = queue as u32;
        let addr = self.alloc(u64::from(RING) * 32);
        self.w(0, regs::RXQ_CONFIG + 4 * q, 1 << 31 | 0x3ff);
        self.w(0, regs::RXQ_STATUS + 4 * q, 0);
        self.w(1, regs::RXQ_NUM, q);
        self.w(1, regs::RXQ_DESC_ADDR, (addr >> 8) as u32);
        self.w(1, regs::RXQ_DESC_SIZE, RING);
        self.w(1, regs::RXQ_INDEX, 0);
        self.w(1, regs::RXQ_THRESH, 4 | 768 << 16);
        self.w(0, regs::ISR_RX_THRESHOLD + 4 * q, 21333);
        self.w(0, regs::RXQ_STATUS_UPDATE + 4 * q, RING << 16);
        let config = 7 << 28 | (long as u32) << 24 | (short as u32) << 20 | 0x3ff;
        self.w(0, regs::RXQ_CONFIG + 4 * q, config);
        self.rx.insert(
            queue,
            Ring {
                addr,
                size: RING,
                index: 0,
            },
        );
    }

    /// `queue` counts from port 0's first.
    pub fn txq(&mut self, queue: usize) -> u64 {
        let (port, q) = (queue / TXQS_PER_PORT, queue % TXQS_PER_PORT);
        let addr = self.alloc(u64::from(RING) * 32);
        self.w(1, regs::TXQ_NUM, (TXQ_FIRST + queue) as u32);
        self.w(1, regs::TXQ_DESC_ADDR, addr as u32);
        self.w(1, regs::TXQ_DESC_SIZE, RING);
        self.w(1, regs::TXQ_INDEX, 0);
        self.w(1, regs::TXQ_RSVD_CLR, ((TXQ_FIRST + queue) as u32) << 16);
        let pending = self.r(1, regs::TXQ_PENDING);
        self.w(1, regs::TXQ_PENDING, pending & !0x3fff);
        for thread in 0..THREADS as u32 {
            self.w(thread, regs::TXQ_NUM, (TXQ_FIRST + queue) as u32);
            self.w(thread, regs::TXQ_THRESH, 4 << 16);
        }
        self.w(0, regs::ISR_TX_THRESHOLD + 4 * port as u32, 333_333);
        self.w(0, regs::TXP_SCHED_PORT_INDEX, 16 + port as u32);
        self.w(0, regs::TXP_SCHED_Q_CMD, 1 << q);
        addr
    }

    pub fn aggregated(&mut self, thread: usize) {
        let t = thread as u32;
        let addr = self.alloc(u64::from(AGGR) * 32);
        let index = self.r(0, regs::AGGR_TXQ_INDEX + 4 * t);
        self.w(0, regs::AGGR_TXQ_DESC_ADDR + 4 * t, (addr >> 8) as u32);
        self.w(0, regs::AGGR_TXQ_DESC_SIZE + 4 * t, AGGR);
        self.aggr.insert(
            thread,
            Ring {
                addr,
                size: AGGR,
                index,
            },
        );
    }

    /// Lets a thread's interrupt report `n` receive queues of a port and all transmit queues.
    pub fn vector(&self, port: usize, thread: usize, first: u32, n: u32) {
        let (p, t) = (port as u32, thread as u32);
        self.w(0, regs::ISR_RXQ_GROUP_INDEX, t | p << 7);
        self.w(0, regs::ISR_RXQ_SUB_GROUP_CONFIG, first | n << 8);
        self.w(t, regs::ISR_RX_TX_MASK + 4 * p, 0x80ff_00ff);
        self.w(0, regs::ISR_ENABLE + 4 * p, 1 << t);
    }

    /// The offset of a MAC register of a port.
    pub fn mac(&self, port: usize, reg: u32) -> u32 {
        reg + 0x1000 * self.dev.config().gop[port] as u32
    }

    /// A fixed link, as Linux sets it up.
    pub fn mac_up(&self, port: usize) {
        if port == 0 {
            self.wi(regs::XLG_CTRL3, 1 << 13);
            self.wi(regs::XLG_CTRL1, 9920 / 2);
            self.wi(regs::XLG_CTRL0, 1 << 3 | 1 << 1 | 1);
        } else {
            let an = self.mac(port, regs::GMAC_AUTONEG_CONFIG);
            self.wi(an, 1 << 12 | 1 << 6 | 1 << 1);
            self.wi(self.mac(port, regs::GMAC_CTRL_2), 0);
            self.wi(
                self.mac(port, regs::GMAC_CTRL_0),
                1 << 15 | (9920 / 2) << 2 | 1,
            );
        }
        assert!(self.dev.port_up(port));
    }

    pub fn line(&self, port: usize, thread: usize) -> bool {
        self.host.0.lines.lock().unwrap()[Line::Hif { port, thread }.index()]
    }

    pub fn link_line(&self, port: usize) -> bool {
        self.host.0.lines.lock().unwrap()[Line::Link { port }.index()]
    }

    /// Moves time on and lets timers fire.
    pub fn advance(&self, ns: u64) {
        let now = self.host.0.now.fetch_add(ns, SeqCst) + ns;
        loop {
            let due = {
                let mut timers = self.host.0.timers.lock().unwrap();
                let due = timers.iter().find(|(_, at)| **at <= now).map(|(k, _)| *k);
                due.inspect(|k| {
                    timers.remove(k);
                })
            };
            match due {
                Some(k) => self.dev.timer(Timer::from_index(k).unwrap()),
                None => break,
            }
        }
    }

    pub fn occupied(&self, queue: usize) -> u32 {
        self.r(0, regs::RXQ_STATUS + 4 * queue as u32) & 0x3fff
    }

    /// Polls a receive queue: takes what is there and gives the buffers back.
    pub fn poll(&mut self, queue: usize) -> Vec<Packet> {
        let n = self.occupied(queue);
        let packets = self.look(queue, n);
        for packet in &packets {
            self.release(2, packet.pool(), packet.addr(), packet.cookie());
        }
        self.w(0, regs::RXQ_STATUS_UPDATE + 4 * queue as u32, n | n << 16);
        packets
    }

    /// Takes descriptors off the ring without telling the device.
    pub fn look(&mut self, queue: usize, n: u32) -> Vec<Packet> {
        (0..n)
            .map(|_| {
                let ring = self.rx.get_mut(&queue).unwrap();
                let at = ring.addr + u64::from(ring.index) * 32;
                ring.index = (ring.index + 1) % ring.size;
                let desc = self.peek_words(at);
                let len = (desc[1] >> 16) as usize;
                let addr = u64::from(desc[4]) | u64::from(desc[5] & 0xff) << 32;
                let room = 2000.min(len.saturating_sub(2));
                let data = if addr >= PAGE && addr + 226 + room as u64 <= MEMORY {
                    assert_eq!(self.peek(addr + 224, 2), [0, 0], "Marvell header");
                    self.peek(addr + 226, room)
                } else {
                    Vec::new()
                };
                Packet { desc, data }
            })
            .collect()
    }

    /// Puts a packet of several parts into a thread's aggregated queue, without the doorbell.
    pub fn queue(&mut self, thread: usize, queue: usize, command: u32, parts: &[&[u8]]) {
        let last = parts.len() - 1;
        for (n, part) in parts.iter().enumerate() {
            let at = self.alloc(part.len() as u64 + 64);
            // An odd address: the descriptor holds its low bits apart.
            let addr = at + 34;
            self.poke(addr, part);
            let mut desc = [0; 8];
            desc[0] = if n == 0 { command | 1 << 29 } else { 0 };
            if n == last {
                desc[0] |= 1 << 28;
            }
            desc[1] = (part.len() as u32) << 16
                | ((TXQ_FIRST + queue) as u32) << 8
                | (addr & 0x1f) as u32;
            desc[4] = (addr & !0x1f) as u32;
            self.queue_desc(thread, &desc);
        }
    }

    pub fn queue_desc(&mut self, thread: usize, desc: &[u32; 8]) {
        let ring = self.aggr.get_mut(&thread).unwrap();
        let slot = ring.addr + u64::from(ring.index) * 32;
        ring.index = (ring.index + 1) % ring.size;
        self.poke_words(slot, desc);
    }

    pub fn doorbell(&self, thread: usize, n: u32) {
        self.w(thread as u32, regs::AGGR_TXQ_UPDATE, n);
    }

    pub fn send(&mut self, thread: usize, queue: usize, command: u32, parts: &[&[u8]]) {
        self.queue(thread, queue, command, parts);
        self.doorbell(thread, parts.len() as u32);
    }

    /// What has gone out since last asked.
    pub fn sent_frames(&self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut *self.host.0.sent.lock().unwrap())
    }

    pub fn sent_count(&self, thread: usize, queue: usize) -> u32 {
        self.r(
            thread as u32,
            regs::TXQ_SENT + 4 * (TXQ_FIRST + queue) as u32,
        ) >> 16
    }

    pub fn pending(&self, queue: usize) -> u32 {
        self.w(2, regs::TXQ_NUM, (TXQ_FIRST + queue) as u32);
        self.r(2, regs::TXQ_PENDING)
    }

    /// What was traced since last asked; the first call starts tracing.
    pub fn trace(&self) -> Vec<String> {
        self.host.0.tracing.store(true, SeqCst);
        std::mem::take(&mut *self.host.0.trace.lock().unwrap())
    }

    pub fn clear_writes(&self) -> Vec<(u64, usize)> {
        std::mem::take(&mut *self.host.0.writes.lock().unwrap())
    }

    pub fn deliver(&self, port: usize, frame: &[u8]) {
        let verdict = self.dev.receive(port, frame);
        assert!(matches!(verdict, Verdict::Delivered { .. }), "{verdict:?}");
    }

    pub fn unplug(&self, port: usize) {
        self.dev.set_link(port, Link::DOWN);
    }
}
