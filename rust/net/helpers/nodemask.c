// SPDX-License-Identifier: GPL-2.0

#include <linux/nodemask.h>

__rust_net_helper bool rust_net_helper_node_online(int node)
{
	return node >= 0 && node < MAX_NUMNODES && node_online(node);
}
