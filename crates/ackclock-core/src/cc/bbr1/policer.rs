//! BBRv1's detection of token-bucket policers (Flach et al., "An Internet-Wide Analysis of Traffic Policing",
//! SIGCOMM 2016; Linux's long-term bandwidth): two intervals in a row with heavy loss and the same rate.

use super::path::{Path, bandwidth, mul_div};
use super::settings::{GAIN_UNIT, Settings};

/// Sums of the connection at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub ms: u64,
    pub delivered: u64,
    pub lost: u64,
}

/// What one event says to the detector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub sums: Sums,
    pub losses: bool,
    pub app_limited: bool,
    pub round_start: bool,
}

/// State of the detector; the rate in force stands in [`Path::policed_bw`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    rounds: u64,
    begin: Sums,
    /// Rate of the interval before, zero without one.
    bw: u64,
}

impl Policer {
    fn begin_interval(&mut self, now: Sums) {
        (self.begin, self.rounds) = (now, 0);
    }

    /// Forgets everything; the long-term rate is not in force any more.
    pub fn reset(&mut self, path: &mut Path, now: Sums) {
        path.policed_bw = None;
        (self.sampling, self.bw) = (false, 0);
        self.begin_interval(now);
    }

    /// True when the long-term rate has been in force for its time. `cycling`: the controller is in PROBE_BW.
    pub fn expires(&mut self, s: &Settings, cycling: bool, round_start: bool) -> bool {
        if !cycling || !round_start {
            return false;
        }
        self.rounds += 1;
        self.rounds >= s.policer_rounds
    }

    /// Takes an event. True when the long-term rate comes into force.
    pub fn sample(&mut self, s: &Settings, path: &mut Path, e: &Sample) -> bool {
        if !self.sampling {
            // The first loss says that the bucket is empty.
            if !e.losses {
                return false;
            }
            self.begin_interval(e.sums);
            self.sampling = true;
        }
        if e.app_limited {
            self.reset(path, e.sums);
            return false;
        }
        self.rounds += u64::from(e.round_start);
        if self.rounds < s.policer_min_rounds {
            return false;
        }
        if self.rounds > 4 * s.policer_min_rounds {
            self.reset(path, e.sums);
            return false;
        }
        // An interval ends with a loss, when the bucket is empty again.
        if !e.losses {
            return false;
        }
        let lost = e.sums.lost - self.begin.lost;
        let delivered = e.sums.delivered - self.begin.delivered;
        let heavy = u128::from(lost) * u128::from(GAIN_UNIT) >= u128::from(delivered) * u128::from(s.policer_loss);
        if delivered == 0 || !heavy {
            return false;
        }
        let ms = e.sums.ms.saturating_sub(self.begin.ms);
        if ms < 1 {
            return false;
        }
        self.interval_done(s, path, bandwidth(delivered, ms * 1000), e.sums)
    }

    fn interval_done(&mut self, s: &Settings, path: &mut Path, bw: u64, now: Sums) -> bool {
        let difference = bw.abs_diff(self.bw);
        // 4 kbit/s are no difference.
        let close = difference <= mul_div(s.policer_ratio, self.bw, GAIN_UNIT)
            || path.pacing_rate(s, difference, GAIN_UNIT) <= 4000 / 8;
        if self.bw > 0 && close {
            self.bw = (bw + self.bw) / 2;
            path.policed_bw = Some(self.bw);
            self.rounds = 0;
            return true;
        }
        self.bw = bw;
        self.begin_interval(now);
        false
    }
}
