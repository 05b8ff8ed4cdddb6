// SPDX-License-Identifier: GPL-2.0

#include <linux/preempt.h>
#include <net/page_pool/helpers.h>

/*
 * A hard interrupt, or an NMI, may have interrupted the consumer of the pool in
 * the middle of its cache. Rust cannot keep a destructor from running there;
 * losing a page is the lesser evil.
 */
static __always_inline bool rust_net_may_return(void)
{
	return !WARN_ON_ONCE(preempt_count() & (HARDIRQ_MASK | NMI_MASK));
}

__rust_net_helper bool rust_net_helper_page_pool_tracks_mappings(void)
{
	return PP_DMA_INDEX_BITS;
}

__rust_net_helper void *rust_net_helper_page_pool_alloc_va(struct page_pool *pool,
							   unsigned int *size, gfp_t gfp)
{
	return page_pool_alloc_va(pool, size, gfp);
}

__rust_net_helper void rust_net_helper_page_pool_return_va(struct page_pool *pool, void *va)
{
	if (rust_net_may_return())
		page_pool_free_va(pool, va, false);
}

__rust_net_helper void rust_net_helper_page_pool_recycle_direct(struct page_pool *pool,
								struct page *page)
{
	page_pool_recycle_direct(pool, page);
}

__rust_net_helper void rust_net_helper_page_pool_return(struct page *page,
							unsigned int dma_sync_size,
							bool fragmented)
{
	struct page_pool *pool = __pp_page_to_nmdesc(page)->pp;

	if (!rust_net_may_return())
		return;

	/* Otherwise the reference is known to be the only one. */
	if (fragmented)
		page_pool_put_page(pool, page, dma_sync_size, false);
	else
		page_pool_put_unrefed_netmem(pool, page_to_netmem(page), dma_sync_size, false);
}

__rust_net_helper void rust_net_helper_page_pool_return_bulk(netmem_ref *refs, u32 count)
{
	if (rust_net_may_return())
		page_pool_put_netmem_bulk(refs, count);
}

/*
 * Take a page out of its pool and free it. A page that somebody else holds
 * cannot be recycled; that is how the pool is told to let go of it.
 */
__rust_net_helper void rust_net_helper_page_pool_release_page(struct page_pool *pool,
							      struct page *page)
{
	if (!rust_net_may_return())
		return;

	get_page(page);
	page_pool_put_full_page(pool, page, false);
	put_page(page);
}
