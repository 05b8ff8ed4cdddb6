// SPDX-License-Identifier: GPL-2.0

#include <linux/dma-mapping.h>

__rust_net_helper void rust_net_helper_dma_sync_single_for_cpu(struct device *dev,
							       dma_addr_t addr, size_t size,
							       enum dma_data_direction dir)
{
	dma_sync_single_for_cpu(dev, addr, size, dir);
}
