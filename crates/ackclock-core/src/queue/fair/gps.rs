//! Virtual time of generalized processor sharing (Parekh and Gallager, A generalized processor sharing approach to flow
//! control in integrated services networks: the single-node case, IEEE/ACM Transactions on Networking 1(3), 1993, §III).
//!
//! In the fluid system every backlogged flow is served at once, in proportion to its weight. V(t) grows at the rate R
//! over the sum of the weights of the flows backlogged there, and a packet of L bytes that arrives at `a` leaves when V
//! reaches F = max(F', V(a)) + L/w, with F' that of the packet before it.
//!
//! V is a whole number of units, and what time has brought beyond the last whole unit is kept as work: V is never more
//! than one unit behind, however long the run is.

use super::flows::reach;
use super::heap::Heap;
use super::weights::{Share, Weights, gcd};
use crate::params::ParamError;
use crate::queue::registry::Site;
use crate::time::Time;

/// The fluid system.
#[derive(Clone, Debug)]
pub(super) struct Gps {
    v: u128,
    at: Time,
    /// Work beyond `v`: less than what one unit takes.
    left: u128,
    /// Work that a nanosecond brings.
    rate: u128,
    /// Work that one unit takes at weight 1.
    unit: u128,
    /// The sum of the weights of the backlogged flows.
    sum: u64,
    /// The backlogged flows, by the V at which the last of their packets leaves.
    ends: Heap<u128>,
    shares: Vec<Share>,
}

/// Rate and unit of work of a link: `(bit/s, 8e9)`, divided by what they have in common.
pub(super) fn work(site: &Site) -> Result<(u64, u64), ParamError> {
    if site.rate_bps == 0 {
        let problem = "this scheduler needs the rate of the link; use scfq or drr where there is none".to_owned();
        return Err(ParamError::Conflict { name: "rate".to_owned(), problem });
    }
    let common = gcd(site.rate_bps, 8_000_000_000);
    Ok((site.rate_bps / common, 8_000_000_000 / common))
}

impl Gps {
    /// An idle system.
    ///
    /// # Errors
    /// A site without a rate.
    pub fn new(site: &Site, weights: &Weights) -> Result<Gps, ParamError> {
        let (rate, unit) = work(site)?;
        Ok(Gps {
            v: 0,
            at: Time::ZERO,
            left: 0,
            rate: u128::from(rate) * u128::from(weights.scale),
            unit: u128::from(unit),
            sum: 0,
            ends: Heap::default(),
            shares: Vec::new(),
        })
    }

    /// V(now).
    pub fn advance(&mut self, now: Time) -> u128 {
        let mut work = self.rate.saturating_mul(u128::from(now.since(self.at).0)).saturating_add(self.left);
        self.at = now;
        self.left = 0;
        while let Some((end, flow)) = self.ends.first() {
            let cost = self.unit * u128::from(self.sum);
            let needed = (end - self.v).saturating_mul(cost);
            if needed > work {
                self.v += work / cost;
                self.left = work % cost;
                break;
            }
            work -= needed;
            self.v = end;
            self.leave(flow);
        }
        self.v
    }

    /// A packet of `len` bytes of `flow` arrives: V(now).
    pub fn arrive(&mut self, now: Time, flow: u32, share: Share, len: u32) -> u128 {
        let v = self.advance(now);
        let begin = match self.ends.key(flow) {
            Some(end) => end,
            None => {
                *reach(&mut self.shares, flow) = share;
                self.sum += share.weight;
                v
            }
        };
        self.ends.set(flow, begin + self.shares[flow as usize].tags(len));
        v
    }

    /// A packet of `len` bytes of `flow` was dropped: what waits of it in the fluid system leaves now.
    pub fn lose(&mut self, now: Time, flow: u32, len: u32) {
        self.advance(now);
        if let Some(end) = self.ends.key(flow) {
            let end = end.saturating_sub(self.shares[flow as usize].tags(len));
            if end > self.v {
                self.ends.set(flow, end);
            } else {
                self.leave(flow);
            }
        }
    }

    /// The share of `flow` as long as it is backlogged here; none when it is not.
    pub fn share(&self, flow: u32) -> Option<Share> {
        self.ends.contains(flow).then(|| self.shares[flow as usize])
    }

    /// The link is idle, so nothing is left here either: V is beyond every tag, and at least `v`. (With a link as fast
    /// as it says this changes nothing. One that is faster than its mean rate gets ahead of the fluid.)
    pub fn idle(&mut self, v: u128) {
        while let Some((end, flow)) = self.ends.first() {
            self.v = end;
            self.leave(flow);
        }
        self.v = self.v.max(v);
        self.left = 0;
    }

    fn leave(&mut self, flow: u32) {
        self.ends.remove(flow);
        self.sum -= self.shares[flow as usize].weight;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::site;
    use super::*;

    /// V in bytes times the least common multiple of the weights.
    fn bytes(v: u128) -> u128 {
        assert!(v % (1 << 20) == 0);
        v >> 20
    }

    fn gps(rate_bps: u64, weights: &[f64]) -> (Gps, Weights) {
        let site = Site { rate_bps, weights: weights.to_vec(), ..site(10) };
        let weights = Weights::new(&site).unwrap();
        (Gps::new(&site, &weights).unwrap(), weights)
    }

    #[test]
    fn virtual_time_slows_down_with_the_flows_it_serves() {
        // 8 Mbit/s: a byte is a microsecond. Flow 0 has 1000 B at 0, flow 1 has 300 B at 400 us.
        let (mut g, w) = gps(8_000_000, &[]);
        let us = |n: u64| Time(n * 1000);
        assert_eq!(bytes(g.arrive(us(0), 0, w.of(0), 1000)), 0);
        assert_eq!(bytes(g.arrive(us(400), 1, w.of(0), 300)), 400);
        // Both at half the rate until flow 1 has had its 300 B, at V = 700 and 1000 us; then flow 0 alone.
        assert_eq!([600, 1000, 1200].map(|t| bytes(g.advance(us(t)))), [500, 700, 900]);
        // Flow 0 is served at V = 1000, 1300 us: idle, V stands still.
        assert_eq!([1300, 9000].map(|t| bytes(g.advance(us(t)))), [1000, 1000]);
        assert_eq!(bytes(g.arrive(us(9500), 1, w.of(0), 100)), 1000);
        assert_eq!(bytes(g.advance(us(9550))), 1050);
    }

    #[test]
    fn what_was_dropped_is_not_served() {
        let (mut g, w) = gps(8_000_000, &[1.0, 3.0]);
        let us = |n: u64| Time(n * 1000);
        // Scale 3: V counts thirds of a byte per weight 1. Flow 1 (weight 3) adds one per byte.
        g.arrive(us(0), 0, w.of(0), 1000);
        g.arrive(us(0), 1, w.of(1), 600);
        g.arrive(us(0), 1, w.of(1), 600);
        // 400 us: 400 B in all, flow 0 has had 100 B: V = 300 thirds.
        assert_eq!(bytes(g.advance(us(400))), 300);
        g.lose(us(400), 1, 600);
        assert!(g.share(1).is_some());
        // Flow 1 has 300 B to go, a quarter more work for flow 0: 400 us later it is served.
        assert_eq!(bytes(g.advance(us(800))), 600);
        assert!(g.share(1).is_none());
        // Flow 0 has had 200 B, and 100 B more at the full rate.
        assert_eq!(bytes(g.advance(us(900))), 900);
        g.lose(us(900), 0, 1000);
        assert_eq!((g.share(0), bytes(g.advance(us(2000)))), (None, 900));
    }

    #[test]
    fn nothing_is_lost_to_rounding() {
        // A rate that is no whole number of units, V asked for every nanosecond for 10 ms.
        let (mut g, w) = gps(8_000_000_000 / 7, &[]);
        for flow in 0..3 {
            g.arrive(Time(0), flow, w.of(0), 10_000_000);
        }
        for t in 0..10_000_000 {
            g.advance(Time(t));
        }
        let exact = u128::from(8_000_000_000u64 / 7) * 10_000_000 * (1 << 20) / 8_000_000_000 / 3;
        assert_eq!(g.advance(Time(10_000_000)), exact);
    }
}
