/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Header that bindgen turns into the crate `net_bindings`.
 *
 * Only what `bindgen_parameters` names is generated; every other type is the
 * `kernel` crate's own.
 */

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/page_pool/helpers.h>
#include <net/page_pool/types.h>
#include <net/xdp.h>

#include "../helpers/helpers.c"

/* Macros that bindgen cannot evaluate. The prefix is stripped. */
static const unsigned int RUST_NET_CONST_PP_FLAG_DMA_MAP = PP_FLAG_DMA_MAP;
static const unsigned int RUST_NET_CONST_PP_FLAG_DMA_SYNC_DEV = PP_FLAG_DMA_SYNC_DEV;
static const unsigned int RUST_NET_CONST_XDP_BULK_QUEUE_SIZE = XDP_BULK_QUEUE_SIZE;

/*
 * Layouts as C sees them, of the structures of `kernel::bindings` that we look
 * into: the kernel generates those without any check.
 */
#define RUST_NET_SIZE_OF(type) \
	static const unsigned long RUST_NET_CONST_SIZE_OF_##type = sizeof(struct type)
#define RUST_NET_OFFSET_OF(type, field) \
	static const unsigned long RUST_NET_CONST_OFFSET_OF_##type##_##field = \
		__builtin_offsetof(struct type, field)

RUST_NET_SIZE_OF(device);
RUST_NET_OFFSET_OF(device, coherent_dma_mask);
RUST_NET_OFFSET_OF(device, dma_mask);
RUST_NET_SIZE_OF(netmem_desc);
RUST_NET_OFFSET_OF(netmem_desc, dma_addr);
RUST_NET_OFFSET_OF(netmem_desc, pp);
RUST_NET_SIZE_OF(skb_shared_info);
