//! No packet costs an allocation, however long a capture is. Alone in its process: the allocator counts for all.

#[path = "../examples/made/mod.rs"]
mod made;

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::drive::{analyse, Options};
use made::Made;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a counter.
struct Counting;

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Packets of a transfer of so many rounds, and allocations of its analysis.
fn analysed(rounds: u32) -> (u64, u64) {
    let file = Made::new().transfer(rounds);
    let mut rows: Vec<FlowRow> = Vec::with_capacity(2);
    let before = ALLOCATIONS.load(Relaxed);
    let packets = analyse(file.as_slice(), &Options::default(), &mut rows).map_or(0, |summary| summary.packets);
    (packets, ALLOCATIONS.load(Relaxed) - before)
}

// One test: others would allocate at the same time.
#[test]
fn packets_cost_no_allocation() {
    let ((few, once), (many, again)) = (analysed(1000), analysed(5000));
    assert!(many - few > 200_000);
    // Queues may find their size later: they double, which no more packets than these do often.
    assert!(again <= once + 4, "{once} allocations of {few} packets, {again} of {many}");
}
