//! A global allocator that counts large allocations. By default those are large that have at least the size of the
//! smallest image, crop or batch of the tests.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The default size in bytes from which on an allocation counts as large.
pub const LARGE: usize = 16 << 10;

static MADE: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which also counts allocations of `FROM` bytes or more.
pub struct Counting<const FROM: usize = LARGE>;

fn made<const FROM: usize>(bytes: usize) {
    if bytes >= FROM {
        MADE.fetch_add(1, Ordering::Relaxed);
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

fn freed<const FROM: usize>(bytes: usize) {
    if bytes >= FROM {
        LIVE.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[expect(unsafe_code, reason = "the trait is unsafe; every call goes to the system's allocator as it came")]
// SAFETY: `System` keeps the contract, and counting does not allocate.
unsafe impl<const FROM: usize> GlobalAlloc for Counting<FROM> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        made::<FROM>(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        made::<FROM>(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed::<FROM>(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        freed::<FROM>(layout.size());
        made::<FROM>(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Returns the number of large allocations so far.
pub fn made_so_far() -> u64 {
    MADE.load(Ordering::Relaxed)
}

/// Returns the result of `work`, and the peak of its large allocations in bytes beyond those that existed before.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed) - before)
}
