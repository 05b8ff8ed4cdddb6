// SPDX-License-Identifier: GPL-2.0

#include <linux/bottom_half.h>

__rust_net_helper void rust_net_helper_local_bh_disable(void)
{
	local_bh_disable();
}

__rust_net_helper void rust_net_helper_local_bh_enable(void)
{
	local_bh_enable();
}
