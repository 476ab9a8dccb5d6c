//! BBRv3's full-pipe estimator (draft-ietf-ccwg-bbr §5.3.1.2): the rate no longer follows the sender's acceleration.

use super::settings::Settings;

/// The estimator; [`FullPipe::ever`] outlives its resets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bytes per second.
    baseline: u64,
    rounds: u64,
    /// Full in the present search (full_bw_now).
    pub now: bool,
    /// Full at least once in the connection (full_bw_reached).
    pub ever: bool,
}

impl FullPipe {
    /// A new search begins from rate `baseline`.
    pub fn restart(&mut self, baseline: u64) {
        (self.baseline, self.rounds, self.now) = (baseline, 0, false);
    }

    /// A round ended with a sample of `rate` that the application did not limit.
    pub fn on_round(&mut self, s: &Settings, rate: u64) {
        if self.now {
            return;
        }
        if rate as f64 >= self.baseline as f64 * s.full_bw_growth {
            self.restart(rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= s.full_bw_rounds;
        self.ever |= self.now;
    }
}
