// SPDX-License-Identifier: GPL-2.0
/*
 * Exports of rust_net.ko. GPL only, like everything they wrap.
 */

#include <linux/export.h>
#include <linux/module.h>

#include "exports_generated.h"

MODULE_AUTHOR("The mvpp2-rs developers");
MODULE_DESCRIPTION("Rust bindings for the networking core");
MODULE_LICENSE("GPL");
