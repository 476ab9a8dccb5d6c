//! What the unit tests of controllers share.

use super::{Ack, Cx, Phase, RttView};
use crate::rng::Stream;
use crate::time::Time;

/// Runs `f` with a context at time zero.
pub fn with_cx<R>(mss: u32, f: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    let mut rng = Stream::named(1, 0, "test");
    let rtt = RttView::default();
    f(&mut Cx {
        now: Time::ZERO,
        mss,
        in_flight: 0,
        nxt: 0,
        rtt,
        delivered: 0,
        lost: 0,
        phase: Phase::Open,
        rng: &mut rng,
    })
}

/// An acknowledgment of `acked` segments of 1000 bytes that was limited by the window.
pub fn ack(acked: f64) -> Ack {
    Ack { delivered: (acked * 1000.0) as u64, window_limited: true, grow: true, ..Ack::default() }
}
