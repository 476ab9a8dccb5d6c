//! Round-trip time and the retransmission timeout (RFC 6298), in the standard's form and in Linux's.

use super::windowed_filter::WindowedMin;
use crate::tcp::config::{Config, RtoRule};
use crate::time::{Span, Time};

/// Smoothed round-trip time, its variation, and the timeout that follows from them.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RttEstimator {
    srtt: u64,
    min: RecentMin,
    base_rto: u64,
    backoff: u32,
    rule: RtoRule,
    rttvar: u64,
    least: u64,
    max: u64,
    /// Of all samples, ns: five centuries of them fit.
    sum: u64,
    count: u64,
    granularity: u64,
    min_rto: u64,
    max_rto: u64,
    initial_rto: u64,
    /// Linux: the variance term in force (four times the variation), its maximum in this round, the round's end.
    var_term: u64,
    var_max: u64,
    round_end: u64,
}

impl RttEstimator {
    /// With the timeout rule and bounds of `config`.
    pub fn new(config: &Config) -> RttEstimator {
        RttEstimator {
            rule: config.rto,
            granularity: config.clock_granularity.0,
            min_rto: config.min_rto.0,
            max_rto: config.max_rto.0,
            initial_rto: config.initial_rto.0,
            srtt: 0,
            rttvar: 0,
            min: RecentMin::new(config.min_rtt_window),
            least: 0,
            max: 0,
            sum: 0,
            count: 0,
            var_term: 0,
            var_max: 0,
            round_end: 0,
            //= RFC 6298 §2.1 initial
            base_rto: config.initial_rto.0,
            backoff: 0,
        }
    }

    /// Takes sample `rtt` for all but the minimum. `una` and `nxt` are the sender's positions, which delimit Linux's rounds.
    pub fn sample(&mut self, rtt: Span, una: u64, nxt: u64) {
        let r = rtt.0.max(1);
        self.count += 1;
        self.sum += r;
        self.max = self.max.max(r);
        match self.rule {
            RtoRule::Rfc6298 => self.rfc6298(r),
            RtoRule::Linux => self.linux(r, una, nxt),
        }
        self.backoff = 0;
    }

    /// Takes a sample for the minimum. `delayed`: the acknowledgment may have waited at the receiver, so that only one
    /// below the minimum says something of the path.
    #[inline]
    pub fn note_min(&mut self, now: Time, rtt: Span, delayed: bool) {
        if self.min.moves(now.0, rtt.0) && !(delayed && self.min.value > 0 && rtt.0 > self.min.value) {
            self.min.take(now.0, rtt.0.max(1));
            self.least = if self.least == 0 { self.min.value } else { self.least.min(self.min.value) };
        }
    }

    fn rfc6298(&mut self, r: u64) {
        //= RFC 6298 §2.2 first-sample
        if self.count == 1 {
            self.srtt = r;
            self.rttvar = r / 2;
        } else {
            //= RFC 6298 §2.3 next-sample
            // RTTVAR first, with the old SRTT (RFC 6298 §2.3).
            self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(r)) / 4;
            self.srtt = (7 * self.srtt + r) / 8;
        }
        //= RFC 6298 §4 granularity
        let raw = self.srtt + self.granularity.max(4 * self.rttvar);
        //= RFC 6298 §2.4 minimum
        self.base_rto = raw.max(self.min_rto).min(self.max_rto);
    }

    fn linux(&mut self, r: u64, una: u64, nxt: u64) {
        if self.count == 1 {
            self.srtt = r;
            self.rttvar = r / 2;
            self.var_term = (2 * r).max(self.min_rto);
            self.var_max = self.var_term;
            self.round_end = nxt;
        } else {
            let error = r as i64 - self.srtt as i64;
            // A falling RTT must not raise the variation much: its excess counts an eighth.
            let excess = error.abs() - self.rttvar as i64;
            let step = if error < 0 && excess > 0 { excess / 8 } else { excess };
            self.srtt = (self.srtt as i64 + error / 8) as u64;
            self.rttvar = (self.rttvar as i64 + step / 4).max(0) as u64;
            if 4 * self.rttvar > self.var_max {
                self.var_max = 4 * self.rttvar;
                self.var_term = self.var_term.max(self.var_max);
            }
            if una > self.round_end {
                if self.var_max < self.var_term {
                    self.var_term -= (self.var_term - self.var_max) / 4;
                }
                self.round_end = nxt;
                self.var_max = self.min_rto;
            }
        }
        let ticks = (self.srtt + self.var_term).div_ceil(self.granularity.max(1));
        self.base_rto = (ticks * self.granularity.max(1)).min(self.max_rto);
    }

    /// The present timeout, backed off.
    #[inline]
    //= RFC 6298 §2.5 maximum
    pub fn rto(&self) -> Span {
        if self.backoff == 0 {
            return Span(self.base_rto);
        }
        Span((u128::from(self.base_rto) << self.backoff.min(40)).min(u128::from(self.max_rto.max(self.base_rto))) as u64)
    }

    /// The timer expired: the timeout doubles until the next valid sample.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// After a retransmitted SYN the timeout starts at three seconds (RFC 6298 §5.7).
    //= RFC 6298 §5 5.7-lost-syn
    pub fn after_lost_syn(&mut self) {
        self.initial_rto = 3_000_000_000;
        if self.count == 0 {
            self.base_rto = self.initial_rto;
        }
        self.backoff = 0;
    }

    /// Smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Span {
        Span(self.srtt)
    }

    /// Smallest sample of the window `min_rtt_window`; zero before the first.
    #[inline]
    pub fn min(&self) -> Span {
        Span(self.min.value)
    }

    /// Smallest sample of the connection; zero before the first.
    pub fn least(&self) -> Span {
        Span(self.least)
    }

    /// Largest sample; zero before the first.
    pub fn max(&self) -> Span {
        Span(self.max)
    }

    /// Sum in nanoseconds and number of the samples.
    pub fn totals(&self) -> (u128, u64) {
        (u128::from(self.sum), self.count)
    }
}

/// The smallest of recent samples, nanoseconds: a [`WindowedMin`] that is asked only when its answer can change.
#[derive(Clone, Debug)]
struct RecentMin {
    /// The smallest; zero before the first sample.
    value: u64,
    /// A sample above this changes nothing before `due`.
    above: u64,
    due: u64,
    window: u64,
    filter: Option<Box<WindowedMin>>,
}

impl RecentMin {
    /// Zero: the window is the connection.
    fn new(window: Span) -> RecentMin {
        RecentMin { value: 0, above: u64::MAX, due: 0, window: window.0, filter: None }
    }

    /// Whether sample `rtt` at `now` changes anything.
    #[inline]
    fn moves(&self, now: u64, rtt: u64) -> bool {
        rtt <= self.above || now >= self.due
    }

    #[inline(never)]
    fn take(&mut self, now: u64, rtt: u64) {
        if self.window == 0 {
            (self.value, self.above, self.due) = (rtt, rtt - 1, u64::MAX);
            return;
        }
        let filter = self.filter.get_or_insert_with(|| Box::new(WindowedMin::new(now, rtt)));
        self.value = filter.update(self.window, now, rtt);
        (self.above, self.due) = filter.settled(self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    fn after(profile: Profile, samples_ms: &[u64]) -> RttEstimator {
        let mut e = RttEstimator::new(&Config::profile(profile));
        for (i, ms) in samples_ms.iter().enumerate() {
            e.note_min(Time(0), Span::from_millis(*ms), false);
            e.sample(Span::from_millis(*ms), i as u64, i as u64 + 1);
        }
        e
    }

    #[test]
    //= test: RFC 6298 §2.2 first-sample
    //= test: RFC 6298 §2.4 minimum
    fn first_sample() {
        let e = after(Profile::Rfc, &[100]);
        assert_eq!((e.srtt, e.rttvar, e.rto()), (100_000_000, 50_000_000, Span::from_secs(1)));
        assert_eq!(after(Profile::Linux, &[100]).rto(), Span::from_millis(300));
    }

    #[test]
    //= test: RFC 6298 §2.3 next-sample
    fn second_sample() {
        let e = after(Profile::Rfc, &[100, 140]);
        assert_eq!((e.srtt, e.rttvar), (105_000_000, 47_500_000));
        let mut c = Config::profile(Profile::Rfc);
        c.min_rto = Span::ZERO;
        let mut e = RttEstimator::new(&c);
        e.sample(Span::from_millis(100), 0, 1);
        e.sample(Span::from_millis(140), 1, 2);
        assert_eq!(e.rto(), Span::from_millis(295));
    }

    #[test]
    //= test: RFC 6298 §2.3 next-sample
    fn constant_samples_shrink_the_variation() {
        let vars: Vec<u64> = (1..4).map(|n| after(Profile::Rfc, &[100; 3][..n]).rttvar).collect();
        assert_eq!(vars, [50_000_000, 37_500_000, 28_125_000]);
    }

    #[test]
    //= test: RFC 6298 §4 granularity
    fn the_clock_is_the_least_variation() {
        let mut c = Config::profile(Profile::Rfc);
        (c.min_rto, c.clock_granularity) = (Span::ZERO, Span::from_millis(10));
        let mut e = RttEstimator::new(&c);
        for n in 0..100 {
            e.sample(Span::from_millis(100), n, n + 1);
        }
        assert_eq!(e.rto(), Span::from_millis(110));
    }

    #[test]
    //= test: RFC 6298 §2.5 maximum
    fn back_off_doubles_up_to_the_maximum() {
        let mut e = RttEstimator::new(&Config::profile(Profile::Rfc));
        let mut seen = vec![];
        for _ in 0..8 {
            seen.push(e.rto().0 / 1_000_000_000);
            e.back_off();
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn linux_never_falls_below_srtt_plus_200_ms() {
        let e = after(Profile::Linux, &[40; 200]);
        assert_eq!(e.rto(), Span::from_millis(240));
    }

    /// (second, sample in ms, smallest of the last 300 s, smallest of all).
    fn minima(profile: Profile, samples: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut e = RttEstimator::new(&Config::profile(profile));
        let ms = |span: Span| span.0 / 1_000_000;
        samples
            .iter()
            .map(|&(at, rtt)| {
                e.note_min(Time(at * 1_000_000_000), Span::from_millis(rtt), false);
                (ms(e.min()), ms(e.least()))
            })
            .collect()
    }

    /// A route that gets longer is known after 300 s in Linux (tcp_min_rtt_wlen), elsewhere never.
    #[test]
    fn the_minimum_is_that_of_a_window() {
        let samples = [(0, 40), (1, 90), (100, 90), (200, 80), (299, 85), (301, 90), (480, 90), (502, 90), (503, 30)];
        let linux = [(40, 40), (40, 40), (40, 40), (40, 40), (40, 40), (80, 40), (80, 40), (85, 40), (30, 30)];
        assert_eq!(minima(Profile::Linux, &samples), linux);
        let rfc: Vec<u64> = minima(Profile::Rfc, &samples).iter().map(|m| m.0).collect();
        assert_eq!(rfc, [40, 40, 40, 40, 40, 40, 40, 40, 30]);
    }

    #[test]
    fn an_acknowledgment_that_may_have_waited_does_not_raise_the_minimum() {
        let mut e = RttEstimator::new(&Config::profile(Profile::Linux));
        for second in 0..1000 {
            e.note_min(Time(second * 1_000_000_000), Span::from_millis(if second == 0 { 40 } else { 80 }), second > 0);
        }
        assert_eq!(e.min(), Span::from_millis(40));
        e.note_min(Time(1_000_000_000_000), Span::from_millis(39), true);
        assert_eq!(e.min(), Span::from_millis(39));
    }
}
