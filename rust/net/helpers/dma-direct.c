// SPDX-License-Identifier: GPL-2.0

#include <linux/dma-direct.h>
#include <linux/io.h>

/* For tests, which play the device. */
#if IS_BUILTIN(CONFIG_KUNIT)
__rust_net_helper void *rust_net_helper_bus_to_virt(struct device *dev, dma_addr_t addr)
{
	return phys_to_virt(dma_to_phys(dev, addr));
}
#endif
