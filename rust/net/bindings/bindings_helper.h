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
