// SPDX-License-Identifier: GPL-2.0

#include <linux/mm.h>

__rust_net_helper void *rust_net_helper_page_address(const struct page *page)
{
	return page_address(page);
}
