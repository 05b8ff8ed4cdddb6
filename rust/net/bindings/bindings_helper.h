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

#include "../helpers/helpers.c"

/* Macros that bindgen cannot evaluate. The prefix is stripped. */
static const unsigned int RUST_NET_CONST_PP_FLAG_DMA_MAP = PP_FLAG_DMA_MAP;
static const unsigned int RUST_NET_CONST_PP_FLAG_DMA_SYNC_DEV = PP_FLAG_DMA_SYNC_DEV;
