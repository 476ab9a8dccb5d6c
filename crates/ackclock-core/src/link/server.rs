//! What sets the pace of a link: a constant rate, a schedule of rates, a recorded trace, or a shaper.

use super::{RateSchedule, Serializer, Shaper, TraceLink};
use crate::time::Time;

/// The transmitter of a link, one packet at a time, first come first served.
///
/// The link that drives it asks [`Server::opens`] when a transmission may begin, waits for that instant if it lies ahead,
/// takes a packet from its queue and gives it to [`Server::transmit`]. Calls come with times that do not run back.
#[derive(Clone, Debug)]
pub enum Server {
    /// A constant rate.
    Constant(Serializer),
    /// Rates known ahead, on and off.
    Schedule(RateSchedule),
    /// Recorded opportunities.
    Trace(TraceLink),
    /// A token bucket before a line.
    Shaped(Shaper),
}

impl Server {
    /// The earliest instant from `now` at which a transmission may begin; [`Time::NEVER`] on a link that stays off.
    #[inline]
    pub fn opens(&self, now: Time) -> Time {
        match self {
            Server::Constant(s) => now.max(s.free_at()),
            _ => self.varying_opens(now),
        }
    }

    /// When a transmission may begin, if it may not at `now`.
    #[inline]
    pub fn shut_until(&self, now: Time) -> Option<Time> {
        let opens = match self {
            Server::Constant(s) => s.free_at(),
            _ => self.varying_opens(now),
        };
        (opens > now).then_some(opens)
    }

    /// Transmits a packet of `len` bytes: start, not before `now`, and end.
    #[inline]
    pub fn transmit(&mut self, now: Time, len: u32) -> (Time, Time) {
        match self {
            Server::Constant(s) => s.transmit(now, len),
            _ => self.varying_transmit(now, len),
        }
    }

    // Out of line: the rate of most links is constant.
    #[inline(never)]
    fn varying_opens(&self, now: Time) -> Time {
        match self {
            Server::Constant(s) => now.max(s.free_at()),
            Server::Schedule(s) => s.opens(now),
            Server::Trace(s) => s.opens(now),
            Server::Shaped(s) => s.opens(now),
        }
    }

    #[inline(never)]
    fn varying_transmit(&mut self, now: Time, len: u32) -> (Time, Time) {
        match self {
            Server::Constant(s) => s.transmit(now, len),
            Server::Schedule(s) => s.transmit(now, len),
            Server::Trace(s) => s.transmit(now, len),
            Server::Shaped(s) => s.transmit(now, len),
        }
    }

    /// Whether a packet of `len` bytes can pass at all: a shaper's bucket may be smaller.
    #[inline]
    pub fn fits(&self, len: u32) -> bool {
        match self {
            Server::Shaped(s) => s.fits(len),
            _ => true,
        }
    }

    /// The long-run mean rate in bit/s: that of a period, or the one that stays in the end.
    pub fn mean_rate_bps(&self) -> f64 {
        match self {
            Server::Constant(s) => s.rate() as f64,
            Server::Schedule(s) => s.mean_rate_bps(),
            Server::Trace(s) => s.mean_rate_bps(),
            Server::Shaped(s) => s.mean_rate_bps(),
        }
    }

    /// Bits the link could carry between two instants, what utilisation is measured against; a shaper's bucket, which
    /// can add one burst, is not counted.
    pub fn bits_between(&self, from: Time, to: Time) -> f64 {
        match self {
            Server::Schedule(s) => s.bits_between(from, to),
            Server::Trace(s) => s.bits_between(from, to),
            Server::Constant(_) | Server::Shaped(_) => self.mean_rate_bps() * to.since(from).as_secs_f64(),
        }
    }
}
