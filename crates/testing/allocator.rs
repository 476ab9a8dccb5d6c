//! The allocator of test programs: counts allocations and bytes per thread, and remembers blocks where a test asks for it.
//!
//! Tests of one program run in several threads. Each thread has its own figures, so that a test measures only what it does
//! itself. Included by `#[path]`, because it belongs to no crate that is shipped.
#![allow(dead_code)] // no program needs all of it

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    // Constant and without destructors: reaching them allocates nothing.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static REMEMBERS: Cell<bool> = const { Cell::new(false) };
}

/// Start and length of a block that is allocated; a start of 0 is a free place.
struct Block(AtomicUsize, AtomicUsize);

const BLOCKS: usize = 1 << 14;
static REMEMBERED: [Block; BLOCKS] = [const { Block(AtomicUsize::new(0), AtomicUsize::new(0)) }; BLOCKS];

/// The system's allocator, observed.
struct Observed;

#[global_allocator]
static OBSERVED: Observed = Observed;

/// Allocations of this thread since it began, reallocations included.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated less those that it has freed; wraps below zero.
pub fn live_bytes() -> usize {
    LIVE.get()
}

/// From now on this thread's blocks are zeroed before use and listed by [`remembered`].
///
/// Blocks that were allocated before are not listed.
pub fn remember_blocks() {
    REMEMBERS.set(true);
}

/// Start and length of every remembered block that is not freed.
pub fn remembered() -> impl Iterator<Item = (usize, usize)> {
    REMEMBERED
        .iter()
        .map(|block| (block.0.load(Relaxed), block.1.load(Relaxed)))
        .filter(|(at, size)| *at != 0 && *size > 0)
}

fn remember(p: *mut u8, size: usize) {
    let free = REMEMBERED.iter().find(|block| block.0.compare_exchange(0, p as usize, Relaxed, Relaxed).is_ok());
    match free {
        Some(block) => block.1.store(size, Relaxed),
        None => std::process::abort(),
    }
}

fn forget(p: *mut u8) {
    if let Some(block) = REMEMBERED.iter().find(|block| block.0.load(Relaxed) == p as usize) {
        block.1.store(0, Relaxed);
        block.0.store(0, Relaxed);
    }
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Observed {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get().wrapping_add(layout.size()));
        if !REMEMBERS.get() {
            // SAFETY: the caller's contract is that of the system's allocator.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: as above. Zeroed, so that all of a block may be looked at.
        let p = unsafe { System.alloc_zeroed(layout) };
        remember(p, layout.size());
        p
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().wrapping_sub(layout.size()));
        if REMEMBERS.get() {
            forget(p);
        }
        // SAFETY: as above.
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !REMEMBERS.get() {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
            LIVE.set(LIVE.get().wrapping_add(size).wrapping_sub(layout.size()));
            // SAFETY: as above.
            return unsafe { System.realloc(p, layout, size) };
        }
        // A new block, which is zeroed, as `GlobalAlloc` would make it.
        // SAFETY: `size` is not zero and does not overflow when rounded up, as the caller guarantees for it.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above; both blocks have as many bytes as are copied, and they do not overlap.
        unsafe {
            let q = self.alloc(new);
            if !q.is_null() {
                std::ptr::copy_nonoverlapping(p, q, layout.size().min(size));
                self.dealloc(p, layout);
            }
            q
        }
    }
}
