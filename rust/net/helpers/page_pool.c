// SPDX-License-Identifier: GPL-2.0

#include <net/page_pool/helpers.h>

__rust_net_helper void *rust_net_helper_page_pool_alloc_va(struct page_pool *pool,
							   unsigned int *size, gfp_t gfp)
{
	return page_pool_alloc_va(pool, size, gfp);
}

__rust_net_helper void rust_net_helper_page_pool_free_va(struct page_pool *pool, void *va,
							 bool allow_direct)
{
	page_pool_free_va(pool, va, allow_direct);
}

__rust_net_helper void rust_net_helper_page_pool_put_full_page(struct page_pool *pool,
							       struct page *page,
							       bool allow_direct)
{
	page_pool_put_full_page(pool, page, allow_direct);
}

/*
 * Take a page out of its pool and free it. A page that somebody else holds
 * cannot be recycled; that is how the pool is told to let go of it.
 */
__rust_net_helper void rust_net_helper_page_pool_release_page(struct page_pool *pool,
							      struct page *page)
{
	get_page(page);
	page_pool_put_full_page(pool, page, false);
	put_page(page);
}
