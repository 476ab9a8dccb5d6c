//! Round trip times at the capture point: of the part towards the receiver, and of the part towards the sender.

use super::moment::Moment;
use super::packing::Coder;
use super::quantiles::Quantiles;
use super::ring::Ring;

/// Timestamps that wait for their echo; of more than these only the oldest and the newest are timed.
const MOST_STAMPS: usize = 64;
/// Longer than nine years is no time that anything took, but a damaged file: it counts for that, so that sums stay numbers.
pub const LONGEST: i64 = 1 << 58;

/// Samples of P-Y-P.
#[derive(Clone, Debug, Default)]
pub struct Rtt {
    smoothed: Moment,
    min: i64,
    max: i64,
    sum: u64,
    quantiles: Quantiles,
    /// Those that the sender takes, where these are wanted.
    pub as_sender: Option<Box<Rtt>>,
}

impl Rtt {
    /// Takes a sample; one that is negative is dropped.
    #[inline]
    pub fn sample(&mut self, ns: i64) -> bool {
        if ns < 0 {
            return false;
        }
        let ns = ns.min(LONGEST);
        if !self.smoothed.is_known() {
            (self.smoothed, self.min, self.max) = (Moment::at(ns), ns, ns);
        } else {
            (self.min, self.max) = (self.min.min(ns), self.max.max(ns));
            self.smooth(ns);
        }
        self.sum = self.sum.saturating_add(ns as u64);
        self.quantiles.record(ns as u64);
        true
    }

    /// Smooths with a time that is no sample; before the first sample there is nothing to smooth.
    #[inline]
    pub fn smooth(&mut self, ns: i64) {
        if let Some(before) = self.smoothed.get() {
            self.smoothed = Moment::at(before + (ns.min(LONGEST) - before) / 8);
        }
    }

    /// Smoothed as RFC 6298 does, ns.
    #[inline]
    pub fn smoothed(&self) -> Option<i64> {
        self.smoothed.get()
    }

    /// The smallest, ns.
    #[inline]
    pub fn least(&self) -> Option<i64> {
        self.smoothed.get().map(|_| self.min)
    }

    /// All of it. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C) {
        let Rtt { smoothed, min, max, sum, quantiles, as_sender } = self;
        c.moment(smoothed, 0);
        if c.is_there(as_sender) {
            as_sender.get_or_insert_default().code(c);
        }
        if !smoothed.is_known() {
            if C::READS {
                (*min, *max, *sum) = (0, 0, 0);
                quantiles.clear();
            }
            return;
        }
        let known = smoothed.get().unwrap_or(0);
        c.time(min, known);
        c.time(max, known);
        c.word(sum);
        quantiles.code(c);
    }

    /// Gives back what room it does not need.
    pub fn shrink(&mut self) {
        self.quantiles.shrink();
    }

    /// None, in the room of these.
    pub fn clear(&mut self) {
        let mut quantiles = std::mem::take(&mut self.quantiles);
        quantiles.clear();
        *self = Rtt { quantiles, ..Rtt::default() };
    }

    /// How many there were.
    pub fn samples(&self) -> u64 {
        self.quantiles.count()
    }

    /// The smallest in seconds.
    pub fn least_s(&self) -> Option<f64> {
        self.least().map(|ns| ns as f64 * 1e-9)
    }

    /// Smallest, mean and largest in seconds.
    pub fn spread_s(&self) -> Option<[f64; 3]> {
        let count = self.samples();
        let s = |ns: f64| ns * 1e-9;
        (count > 0).then(|| [s(self.min as f64), s(self.sum as f64 / count as f64), s(self.max as f64)])
    }

    /// Nearest-rank percentiles 50, 95 and 99 in seconds.
    pub fn percentiles_s(&self) -> Option<[f64; 3]> {
        let (least, most) = (self.min as f64, self.max as f64);
        Some(self.quantiles.percentiles([0.5, 0.95, 0.99])?.map(|ns| ns.clamp(least, most) * 1e-9))
    }
}

/// Timestamp values of one direction that have passed, and not come back.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    waiting: Ring<(u32, i64)>,
    newest: Option<u32>,
    echoed: Option<u32>,
    echoed_from: i64,
}

/// Whether timestamp `a` is older than `b` (RFC 7323 §5.2).
#[inline]
pub fn older(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Stamps {
    /// A segment with this value has passed.
    #[inline]
    pub fn passed(&mut self, value: u32, time: i64) {
        if self.newest.is_none_or(|newest| older(newest, value)) {
            self.newest = Some(value);
            // The oldest is echoed next; the newest once the other end has all, and what was repeated since is timed by that.
            self.waiting.truncate(MOST_STAMPS - 1);
            self.waiting.push_back((value, time));
        }
    }

    /// The other end has echoed it: how long ago it passed first, ns, if this is its first echo.
    #[inline]
    pub fn echoed(&mut self, value: u32, time: i64) -> Option<i64> {
        if self.echoed == Some(value) {
            return None;
        }
        while let Some(&(waiting, at)) = self.waiting.front() {
            if older(value, waiting) {
                return None;
            }
            self.waiting.skip_first();
            if waiting == value {
                (self.echoed, self.echoed_from) = (Some(value), at);
                return Some((time - at).min(LONGEST)).filter(|ns| *ns >= 0);
            }
        }
        None
    }

    /// Forgets all; room for more than `kept` is given back.
    pub fn clear(&mut self, kept: usize) {
        self.waiting.clear(kept);
        (self.newest, self.echoed, self.echoed_from) = (None, None, 0);
    }

    /// All of it; `last` is near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, kept: usize, last: i64) {
        let Stamps { waiting, newest, echoed, echoed_from } = self;
        c.maybe(newest);
        c.maybe(echoed);
        c.time(echoed_from, if echoed.is_some() { last } else { 0 });
        let mut before = (newest.unwrap_or(0), last);
        waiting.code(c, kept, |c, (value, at)| {
            c.int_near(value, before.0);
            c.time(at, before.1);
            before = (*value, *at);
        });
    }

    /// Gives back what room above `kept` it does not need.
    pub fn shrink(&mut self, kept: usize) {
        self.waiting.shrink(kept);
    }

    /// When `value` passed first, if it is what was echoed last.
    pub fn last_echoed(&self, value: u32) -> Option<i64> {
        (self.echoed == Some(value)).then_some(self.echoed_from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_stamps_the_oldest_and_the_newest_are_timed() {
        let mut stamps = Stamps::default();
        (0..300).for_each(|ms| stamps.passed(ms, i64::from(ms) * 1_000_000));
        assert_eq!(stamps.echoed(0, 400_000_000), Some(400_000_000));
        assert_eq!(stamps.echoed(1, 400_000_000), Some(399_000_000));
        assert_eq!(stamps.echoed(200, 401_000_000), None, "not kept");
        assert_eq!(stamps.echoed(299, 401_000_000), Some(102_000_000));
        assert_eq!(stamps.last_echoed(299), Some(299_000_000));
    }
}
