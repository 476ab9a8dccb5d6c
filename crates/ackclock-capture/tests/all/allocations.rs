//! No packet costs an allocation, however long a capture is.

use crate::allocator::allocations;
use crate::made::Made;
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::drive::{Options, analyse};

/// Packets of a transfer of so many rounds, and allocations of its analysis.
fn analysed(rounds: u32) -> (u64, u64) {
    let file = Made::new().transfer(rounds);
    let mut rows: Vec<FlowRow> = Vec::with_capacity(2);
    let before = allocations();
    let packets = analyse(file.as_slice(), &Options::default(), &mut rows).map_or(0, |summary| summary.packets);
    (packets, allocations() - before)
}

#[test]
fn packets_cost_no_allocation() {
    let ((few, once), (many, again)) = (analysed(1000), analysed(5000));
    assert!(many - few > 200_000);
    // Queues may find their size later: they double, which no more packets than these do often.
    assert!(again <= once + 4, "{once} allocations of {few} packets, {again} of {many}");
}
