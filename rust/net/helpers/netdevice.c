// SPDX-License-Identifier: GPL-2.0

#include <linux/netdevice.h>

/* For tests. */
#if IS_BUILTIN(CONFIG_KUNIT)
__rust_net_helper void rust_net_helper_napi_schedule(struct napi_struct *napi)
{
	napi_schedule(napi);
}

__rust_net_helper bool rust_net_helper_netdev_has_page_pools(const struct net_device *dev)
{
	return !hlist_empty(&dev->page_pools);
}

__rust_net_helper void rust_net_helper_netif_napi_add(struct net_device *dev,
						      struct napi_struct *napi,
						      int (*poll)(struct napi_struct *, int))
{
	netif_napi_add(dev, napi, poll);
}

__rust_net_helper void rust_net_helper_netif_napi_del(struct napi_struct *napi)
{
	netif_napi_del(napi);
}
#endif
