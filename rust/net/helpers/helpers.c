// SPDX-License-Identifier: GPL-2.0
/*
 * Inline C functions made callable from Rust, one file per kernel header.
 *
 * Without CONFIG_RUST_INLINE_HELPERS they are ordinary functions of
 * rust_net.ko; with it they are also compiled to bitcode and inlined into
 * each crate that calls them.
 */

#include <linux/compiler_types.h>

#ifdef __BINDGEN__
/* bindgen has no eyes for inline functions. */
#define __rust_net_helper
#else
#define __rust_net_helper __always_inline
#endif

#include "bottom_half.c"
#include "dma-direct.c"
#include "dma-mapping.c"
#include "fault-inject.c"
#include "mm.c"
#include "netdevice.c"
#include "nodemask.c"
#include "page_pool.c"
