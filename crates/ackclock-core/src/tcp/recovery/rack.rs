//! Losses by time of transmission (RFC 8985 §6): the newest delivered segment, and how much later an older one may
//! still arrive.

use super::super::scoreboard::{Delivery, RackSegment, Stamps};
use crate::estimator::rtt::RttEstimator;
use crate::time::{Span, Time};

/// SACKed segments after which a hole below them is a loss although reordering was never seen (RFC 8985 §6.2).
pub(super) const REORDERING_THRESHOLD: u64 = 3;
/// Recoveries for which a reordering window widened by a duplicate report lasts (RFC 8985 §6.2, Linux).
const REO_WND_RECOVERIES: u64 = 16;
/// Most steps of a quarter of the round-trip time, as in Linux.
const MOST_REO_WND_STEPS: u64 = 255;

/// RACK's state.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Rack {
    /// It finds the losses, instead of counting: otherwise it knows nothing.
    on: bool,
    /// RACK.rtt is of the segment looked at last, whenever it was sent. Linux looks at those acknowledged selectively first,
    /// so when an acknowledgment does both, RACK.rtt is the longer one of what lay below the hole; RFC 8985 §6.2 step 2 has
    /// the order of transmission, so that it is the shorter one of the newest.
    by_stream: bool,
    /// How finely it tells times of transmission apart.
    stamps: Stamps,
    /// A segment was delivered after one that was sent later (RACK.reordering_seen).
    reordering_seen: bool,
    /// The most recently sent segment that was delivered (RACK.xmit_ts, RACK.end_seq).
    newest: RackSegment,
    /// Something was delivered since losses were looked for last.
    advanced: bool,
    /// When the segment was sent that RACK.rtt is of, and when it was acknowledged.
    measured: (Time, Time),
    reo_wnd: ReoWnd,
}

/// The adaptation of the reordering window.
#[derive(Clone, Copy, Debug, Default)]
struct ReoWnd {
    /// Steps beyond the first quarter of the smallest round-trip time (RACK.reo_wnd_mult - 1).
    extra: u64,
    /// Recoveries until it is narrow again (RACK.reo_wnd_persist).
    persist: u64,
    /// Where the round ends in which the window was widened last.
    round: Option<u64>,
}

impl Rack {
    /// `on`: it finds the losses; `linux`: as Linux does.
    pub fn new(on: bool, linux: bool) -> Rack {
        let stamps = if linux { Stamps::Micros } else { Stamps::Exact };
        Rack { on, by_stream: linux, stamps, ..Rack::default() }
    }

    /// How finely it tells times of transmission apart.
    #[inline]
    pub fn stamps(&self) -> Stamps {
        self.stamps
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Whether an acknowledgment calls for a look for losses. Linux looks only behind one that delivered something, which
    /// matters as it does not tell everything apart: a second look would find what was sent again since the first.
    #[inline]
    pub fn looks(&mut self) -> bool {
        std::mem::take(&mut self.advanced) || !self.by_stream
    }

    /// The most recently sent segment that was delivered.
    #[inline]
    pub fn newest(&self) -> RackSegment {
        self.newest
    }

    /// Round-trip time of the segment delivered last (RACK.rtt).
    pub fn rtt(&self) -> Span {
        let (sent, acknowledged) = self.measured;
        self.stamps.of(acknowledged).since(self.stamps.of(sent))
    }

    /// Takes what an acknowledgment delivered (§6.2 steps 1 to 3).
    #[inline]
    //= RFC 8985 §6.2 step-2-newest
    pub fn update(&mut self, d: &Delivery) {
        if !self.on {
            return;
        }
        //= RFC 8985 §6.2 step-3-reordering
        self.reordering_seen |= d.reordering > 0;
        if let Some(k) = d.rack {
            self.advanced = true;
            if self.stamps.later(k, self.newest) {
                self.newest = k;
            }
            self.measured = (if self.by_stream { d.last_xmit } else { k.xmit }, d.now);
        }
    }

    /// Reordering is known from something else than the order of deliveries.
    pub fn see_reordering(&mut self, seen: bool) {
        self.reordering_seen |= seen;
    }

    /// Quarters of the smallest round-trip time in the reordering window (RACK.reo_wnd_mult).
    #[inline]
    pub fn steps(&self) -> u64 {
        1 + self.reo_wnd.extra
    }

    /// The reordering window (§6.2 step 4). `repairing`: losses are being repaired; `many`: at least
    /// [`REORDERING_THRESHOLD`] segments are selectively acknowledged.
    //= RFC 8985 §6.2 step-4-window
    pub fn reo_wnd(&self, repairing: bool, many: impl FnOnce() -> bool, rtt: &RttEstimator) -> Span {
        if !self.reordering_seen && (repairing || many()) {
            return Span::ZERO;
        }
        //= RFC 8985 §6.2 step-4-bound
        let window = (rtt.min().0 / 4 * self.steps()).min(rtt.smoothed().0);
        Span(self.stamps.of(Time(window)).0)
    }

    /// A duplicate was reported: once per round trip the window gets wider, where there is reordering.
    //= RFC 8985 §6.2 step-4-dsack
    pub fn widen(&mut self, una: u64, nxt: u64) {
        let w = &mut self.reo_wnd;
        if self.reordering_seen && w.round.is_none_or(|end| una >= end) {
            *w = ReoWnd {
                extra: (w.extra + 1).min(MOST_REO_WND_STEPS - 1),
                persist: REO_WND_RECOVERIES,
                round: Some(nxt),
            };
        }
    }

    /// A recovery ended and was justified.
    pub fn recovered(&mut self) {
        self.reo_wnd.persist = self.reo_wnd.persist.saturating_sub(1);
        if self.reo_wnd.persist == 0 {
            self.reo_wnd.extra = 0;
        }
    }

    /// A recovery was taken back for duplicates.
    pub fn undone(&mut self) {
        self.reo_wnd.persist = (self.reo_wnd.persist + 1).min(REO_WND_RECOVERIES);
    }
}
