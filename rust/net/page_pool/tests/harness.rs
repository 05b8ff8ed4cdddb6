// SPDX-License-Identifier: GPL-2.0

//! What the tests need around a pool.

use super::super::*;
use kernel::{
    device::Bound,
    faux,
    str::CString,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Completion, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
    types::Opaque, //
};

/// A plain full page.
pub(super) type Page = FullPage<64, 1600>;

/// Half a page of 4 KiB.
pub(super) type Half = Fragment<64, 1600, { PAGE_SIZE / 2 }>;

pub(super) use kernel::page::PAGE_SIZE;

/// Pages that the page allocator is asked for at a time.
pub(super) const REFILL: u64 = net_bindings::PP_ALLOC_CACHE_REFILL as u64;

/// Pages that the cache holds.
pub(super) const CACHE_SIZE: u64 = net_bindings::PP_ALLOC_CACHE_SIZE as u64;

/// Allocates `count` buffers in process context.
pub(super) fn alloc_many<G: Geometry, M: Mapping>(
    pool: &mut PagePool<'_, G, M>,
    count: usize,
) -> Result<KVVec<Buffer<G, M>>> {
    let mut buffers = KVVec::with_capacity(count, GFP_KERNEL)?;

    for _ in 0..count {
        buffers.push(pool.alloc()?, GFP_KERNEL)?;
    }

    Ok(buffers)
}

impl<G: Geometry, M: Mapping> PagePool<'_, G, M> {
    /// Pages that the pool has taken from the page allocator and not given back.
    pub(super) fn held(&mut self) -> u32 {
        self.in_flight() + self.cached() + self.in_ring()
    }
}

/// A device that can do DMA.
pub(super) struct TestDevice(faux::Registration);

impl TestDevice {
    pub(super) fn new() -> Result<Self> {
        // A test that fails leaves its device behind.
        static COUNT: Atomic<u32> = Atomic::new(0);

        let name = CString::try_from_fmt(fmt!("rust_net_test.{}", COUNT.fetch_add(1, Relaxed)))?;
        let this = Self(faux::Registration::new(&name, None)?);
        let dev: *mut bindings::device = ptr::from_ref(this.device()).cast_mut().cast();

        // SAFETY: The device is registered.
        let mask = unsafe { &raw mut (*dev).coherent_dma_mask };

        // SAFETY: As above, and nobody uses it for DMA yet.
        unsafe { *mask = u64::MAX };
        // SAFETY: As above; the mask is part of the device and lives as long.
        unsafe { (*dev).dma_mask = mask };

        Ok(this)
    }

    pub(super) fn device(&self) -> &Device<Bound> {
        self.0.as_ref().as_ref()
    }

    /// Creates a pool that maps its pages for this device.
    pub(super) fn create<G: Geometry, M: Mapped>(
        &self,
        params: Params,
    ) -> Result<PagePool<'_, G, M>> {
        // SAFETY: No test leaks a pool.
        unsafe { params.create_mapped(self.device()) }
    }
}

/// A net device without any function, with one NAPI instance.
pub(super) struct TestNetdev {
    netdev: NonNull<bindings::net_device>,
    poller: Pin<KBox<Poller>>,
}

/// A NAPI instance and the function to run in its next poll.
#[pin_data]
struct Poller {
    #[pin]
    napi: Opaque<net_bindings::napi_struct>,
    job: Opaque<Option<Job>>,
}

/// A function with its type erased, and whom to tell when it has run.
struct Job {
    run: unsafe fn(*mut c_void, &crate::napi::Context<'_>),
    data: *mut c_void,
    done: Arc<Completion>,
}

impl Poller {
    /// The poll function of the instance.
    ///
    /// # Safety
    ///
    /// To be called by NAPI, with the instance of a [`Poller`].
    unsafe extern "C" fn poll(napi: *mut net_bindings::napi_struct, budget: c_int) -> c_int {
        if budget == 0 {
            return 0;
        }

        let this = napi
            .cast::<u8>()
            .wrapping_sub(core::mem::offset_of!(Poller, napi))
            .cast::<Poller>();

        // SAFETY: `napi` is the field of a `Poller` that is kept alive while
        // its NAPI instance is enabled.
        let this = unsafe { &*this };
        // SAFETY: `TestNetdev::poll()` set this before it scheduled the poll,
        // and does not touch it until the completion.
        let job = unsafe { (*this.job.get()).take() };

        if let Some(job) = &job {
            // SAFETY: NAPI calls us with a valid instance.
            let instance = unsafe { Napi::from_raw(napi) };
            // SAFETY: This is the poll function of that instance, and it may
            // receive.
            let cx = unsafe { crate::napi::Context::new(instance) };

            // SAFETY: `TestNetdev::poll()` made this pair.
            unsafe { (job.run)(job.data, &cx) };
        }

        // SAFETY: NAPI calls us with a valid instance, and no work was done.
        unsafe { net_bindings::napi_complete_done(napi, 0) };

        if let Some(job) = job {
            job.done.complete_all();
        }

        0
    }
}

impl TestNetdev {
    pub(super) fn new() -> Result<Self> {
        // SAFETY: There are no preconditions.
        let netdev = NonNull::new(unsafe { net_bindings::alloc_netdev_dummy(0) }).ok_or(ENOMEM)?;

        let poller = KBox::pin_init(
            pin_init!(Poller {
                napi <- Opaque::zeroed(),
                job: Opaque::new(None),
            }),
            GFP_KERNEL,
        )
        .inspect_err(|_| {
            // SAFETY: Nobody else has the device.
            unsafe { net_bindings::free_netdev(netdev.as_ptr()) };
        })?;

        // SAFETY: Both are valid, and the instance is zeroed and pinned.
        unsafe {
            net_bindings::netif_napi_add(netdev.as_ptr(), poller.napi.get(), Some(Poller::poll))
        };
        // SAFETY: The instance was just added.
        unsafe { net_bindings::napi_enable(poller.napi.get()) };

        Ok(Self { netdev, poller })
    }

    pub(super) fn napi(&self) -> &Napi {
        // SAFETY: The instance was added, and stays so while `self` lives.
        unsafe { Napi::from_raw(self.poller.napi.get()) }
    }

    pub(super) fn as_raw(&self) -> NonNull<bindings::net_device> {
        self.netdev
    }

    /// Waits until the pools of this device are gone. Returns whether they are.
    pub(super) fn wait_for_page_pools(&self) -> bool {
        // The kernel looks once a second whether the last page is back.
        let patience = Delta::from_millis(20_000);
        let start = Instant::<Monotonic>::now();

        while self.has_page_pools() && start.elapsed() < patience {
            fsleep(Delta::from_millis(50));
        }

        !self.has_page_pools()
    }

    /// Whether netlink lists a page pool of this device.
    pub(super) fn has_page_pools(&self) -> bool {
        // SAFETY: The device is valid.
        unsafe { net_bindings::netdev_has_page_pools(self.netdev.as_ptr()) }
    }

    /// Runs `f` while the NAPI instance is disabled.
    pub(super) fn while_disabled<R>(&self, f: impl FnOnce() -> R) -> R {
        let napi = self.poller.napi.get();

        // SAFETY: The instance is enabled.
        unsafe { net_bindings::napi_disable(napi) };
        let ret = f();
        // SAFETY: The instance was disabled above.
        unsafe { net_bindings::napi_enable(napi) };

        ret
    }

    /// Runs `f` inside a poll of the NAPI instance.
    pub(super) fn poll<F, R>(&self, f: F) -> Result<R>
    where
        F: FnOnce(&crate::napi::Context<'_>) -> R + Send,
        R: Send,
    {
        struct Call<F, R> {
            f: Option<F>,
            ret: Option<R>,
        }

        /// # Safety
        ///
        /// `data` must point to a `Call` that nobody else uses.
        unsafe fn run<F, R>(data: *mut c_void, cx: &crate::napi::Context<'_>)
        where
            F: FnOnce(&crate::napi::Context<'_>) -> R,
        {
            // SAFETY: `data` is the `Call` below, which its owner does not
            // touch until the completion.
            let call = unsafe { &mut *data.cast::<Call<F, R>>() };

            call.ret = call.f.take().map(|f| f(cx));
        }

        let mut call = Call {
            f: Some(f),
            ret: None,
        };

        let done = Arc::pin_init(Completion::new(), GFP_KERNEL)?;

        // SAFETY: No poll with a job is under way: this function waits for it,
        // and `TestNetdev` is not shared.
        unsafe {
            *self.poller.job.get() = Some(Job {
                run: run::<F, R>,
                data: (&raw mut call).cast(),
                done: done.clone(),
            })
        };

        // SAFETY: The instance is enabled.
        unsafe { net_bindings::napi_schedule(self.poller.napi.get()) };
        done.wait_for_completion();

        call.ret.ok_or(EINVAL)
    }
}

impl Drop for TestNetdev {
    fn drop(&mut self) {
        let napi = self.poller.napi.get();

        // SAFETY: The instance is enabled.
        unsafe { net_bindings::napi_disable(napi) };
        // SAFETY: The instance is disabled.
        unsafe { net_bindings::netif_napi_del(napi) };

        // A test that failed may have left a pool. Better to leak the device
        // than to free what the pool is linked to.
        if !self.wait_for_page_pools() {
            return;
        }

        // SAFETY: Nobody else has the device.
        unsafe { net_bindings::free_netdev(self.netdev.as_ptr()) };
    }
}

/// Runs `f` on another CPU, in process context.
///
/// Fails with `ENODEV` if there is
/// only one.
#[cfg(CONFIG_SMP)]
pub(super) fn on_other_cpu<F: FnOnce() + Send>(f: F) -> Result {
    /// # Safety
    ///
    /// `data` must point to a function to run that nobody else uses.
    unsafe extern "C" fn run<F: FnOnce()>(data: *mut c_void) -> c_int {
        // SAFETY: `data` is the option below, whose owner waits for us.
        let f = unsafe { &mut *data.cast::<Option<F>>() };

        if let Some(f) = f.take() {
            f();
        }

        0
    }

    let here = kernel::cpu::CpuId::current().as_u32();
    let there = u32::from(here == 0);
    let mut f = Some(f);

    if there >= kernel::cpu::nr_cpu_ids() {
        return Err(ENODEV);
    }

    // SAFETY: `f` outlives the call, which waits for the function.
    kernel::error::to_result(unsafe {
        bindings::smp_call_on_cpu(there, Some(run::<F>), (&raw mut f).cast(), false)
    })
}

/// Makes memory allocations of this task fail.
///
/// Needs `CONFIG_FAILSLAB` and `CONFIG_FAIL_PAGE_ALLOC`, and user space to have
/// prepared both in debugfs: no limit to the number of failures, of any order,
/// sleeping or not, and only in tasks that ask for it.
#[cfg(all(CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC))]
pub(super) mod fault {
    /// Runs `f` while all allocations fail.
    pub(in super::super) fn all<R>(f: impl FnOnce() -> R) -> R {
        // SAFETY: This concerns the current task alone.
        unsafe { net_bindings::set_make_it_fail(true) };
        let ret = f();
        // SAFETY: As above.
        unsafe { net_bindings::set_make_it_fail(false) };

        ret
    }

    /// Runs `f` while its `n`th allocation fails, counted from 1. Returns
    /// whether there were as many.
    pub(in super::super) fn nth<R>(n: u32, f: impl FnOnce() -> R) -> (R, bool) {
        // SAFETY: This concerns the current task alone.
        unsafe { net_bindings::xchg_fail_nth(n) };
        let ret = f();
        // SAFETY: As above.
        let left = unsafe { net_bindings::xchg_fail_nth(0) };

        (ret, left == 0)
    }
}
