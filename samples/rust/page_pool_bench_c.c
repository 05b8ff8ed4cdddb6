// SPDX-License-Identifier: GPL-2.0
/*
 * What allocating and returning a page costs, by each way that it can return:
 * the baseline in C for rust_page_pool_bench, loop for loop.
 */

#include <linux/bottom_half.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <net/page_pool/helpers.h>

#define POOL_SIZE 1024
#define RING_FILL 64
#define BATCH 10000

enum give_back { FAST, PTR_RING, SLOW };

static int fill_ring(struct page_pool *pool)
{
	struct page *pages[RING_FILL];
	int i, err = 0;

	local_bh_disable();
	for (i = 0; i < RING_FILL; i++) {
		pages[i] = page_pool_dev_alloc_pages(pool);
		if (!pages[i]) {
			err = -ENOMEM;
			break;
		}
	}
	while (i--)
		page_pool_put_full_page(pool, pages[i], false);
	local_bh_enable();

	return err;
}

static __always_inline int run_batch(struct page_pool *pool, enum give_back how)
{
	struct page *page;
	int i, err = 0;

	local_bh_disable();
	for (i = 0; i < BATCH; i++) {
		page = page_pool_dev_alloc_pages(pool);
		if (!page) {
			err = -ENOMEM;
			break;
		}
		barrier();

		switch (how) {
		case FAST:
			page_pool_recycle_direct(pool, page);
			break;
		case PTR_RING:
			page_pool_put_full_page(pool, page, false);
			break;
		case SLOW:
			/* A page that is held elsewhere cannot be recycled. */
			get_page(page);
			page_pool_put_full_page(pool, page, false);
			put_page(page);
			break;
		}
	}
	local_bh_enable();

	return err;
}

static __always_inline int measure(const char *name, enum give_back how, unsigned int batches)
{
	struct page_pool_params params = {
		.pool_size = POOL_SIZE,
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_NONE,
	};
	struct page_pool *pool;
	unsigned int i;
	ktime_t start;
	s64 ns;
	int err;

	pool = page_pool_create(&params);
	if (IS_ERR(pool))
		return PTR_ERR(pool);

	err = fill_ring(pool);

	start = ktime_get();
	for (i = 0; !err && i < batches; i++)
		err = run_batch(pool, how);
	ns = ktime_to_ns(ktime_sub(ktime_get(), start));

	page_pool_destroy(pool);
	if (err)
		return err;

	pr_info("page_pool_bench: impl=c case=%s loops=%u ns=%lld\n", name, batches * BATCH, ns);
	return 0;
}

static int __init page_pool_bench_init(void)
{
	int err;

	err = measure("fast", FAST, 1000);
	if (!err)
		err = measure("ptr_ring", PTR_RING, 300);
	if (!err)
		err = measure("slow", SLOW, 50);

	return err;
}
module_init(page_pool_bench_init);

static void __exit page_pool_bench_exit(void)
{
}
module_exit(page_pool_bench_exit);

MODULE_AUTHOR("The mvpp2-rs developers");
MODULE_DESCRIPTION("Benchmark of page pool operations, in C");
MODULE_LICENSE("GPL");
