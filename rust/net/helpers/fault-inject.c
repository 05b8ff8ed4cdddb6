// SPDX-License-Identifier: GPL-2.0

#include <linux/sched.h>

/*
 * For tests. The layout of struct task_struct in the kernel's bindings is not
 * to be relied on.
 */
#if IS_BUILTIN(CONFIG_KUNIT) && defined(CONFIG_FAULT_INJECTION)
__rust_net_helper void rust_net_helper_set_make_it_fail(bool fail)
{
	current->make_it_fail = fail;
}

__rust_net_helper unsigned int rust_net_helper_xchg_fail_nth(unsigned int nth)
{
	unsigned int left = current->fail_nth;

	current->fail_nth = nth;
	return left;
}
#endif
