//! Queues that begin with room for one: most of 100,000 open connections have few segments out, and a queue of the library
//! begins with room for four.

use std::collections::VecDeque;

/// Adds `value` at the end; room doubles.
#[inline]
pub fn push<T>(queue: &mut VecDeque<T>, value: T) {
    if queue.len() == queue.capacity() {
        queue.reserve_exact(queue.len().max(1));
    }
    queue.push_back(value);
}
