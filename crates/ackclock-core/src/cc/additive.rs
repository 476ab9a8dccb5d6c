//! Additive increase: one segment per so many acknowledged, for laws that fall back to Reno's growth.

use super::Window;
use super::reno::add_per;

/// One segment per `per` segments acknowledged: in real numbers, or in whole segments as Linux counts them.
#[derive(Clone, Debug)]
pub(super) struct Additive {
    whole: bool,
    count: u64,
}

impl Additive {
    /// `whole`: Linux's form.
    pub(super) fn new(whole: bool) -> Additive {
        Additive { whole, count: 0 }
    }

    /// Takes `acked` acknowledged segments.
    #[inline]
    pub(super) fn add(&mut self, w: &mut Window, per: f64, acked: f64) {
        if self.whole {
            add_per(w, &mut self.count, per as u64, acked);
        } else {
            w.cwnd += acked / per.max(1.0);
        }
    }

    /// What Reno adds.
    #[inline]
    pub(super) fn add_reno(&mut self, w: &mut Window, acked: f64) {
        self.add(w, w.cwnd, acked);
    }

    /// Congestion: what was counted for the next segment is forgotten.
    pub(super) fn reset(&mut self) {
        self.count = 0;
    }

    /// Linux's count of segments acknowledged towards the next segment.
    pub(super) fn count(&mut self) -> &mut u64 {
        &mut self.count
    }
}
