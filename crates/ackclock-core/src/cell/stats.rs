//! What is measured in a cell.

use super::params::Place;
use crate::histogram::Histogram;
use crate::path::REASONS;
use crate::queue::Backlog;
use crate::time::{Span, Time};

/// The time of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its begin.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Window {
    /// Whether `t` is within it.
    #[inline]
    pub fn covers(&self, t: Time) -> bool {
        t >= self.from && t <= self.to
    }

    /// Whether a TTI that begins at `t` belongs to it.
    #[inline]
    pub fn counts(&self, t: Time) -> bool {
        t >= self.from && t < self.to
    }
}

/// A direction of the cell over the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionStats {
    /// Resource blocks of a TTI.
    pub rbs: u16,
    /// TTIs of the measurement that have begun.
    pub ttis: u64,
    /// Resource blocks in which data were sent, retransmissions included.
    pub used_rbs: u64,
    /// Those of HARQ's retransmissions.
    pub retransmitted_rbs: u64,
    /// TTIs in which data were sent.
    pub busy_ttis: u64,
    /// TTIs in which somebody had data and that belonged to the background.
    pub blocked_ttis: u64,
    /// Transport blocks sent, retransmissions included.
    pub blocks: u64,
}

impl DirectionStats {
    /// Share of the resource blocks in which data were sent.
    pub fn rho_rb(&self) -> f64 {
        share(self.used_rbs, self.ttis * u64::from(self.rbs))
    }

    /// Share of the TTIs in which data were sent.
    pub fn rho_tti(&self) -> f64 {
        share(self.busy_ttis, self.ttis)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A cell over the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellStats {
    /// Downlink.
    pub down: DirectionStats,
    /// Uplink.
    pub up: DirectionStats,
    /// TTIs in which the cell did anything, of the whole run.
    pub worked: u64,
}

/// The packets of a user in one direction over the measurement.
#[derive(Clone, Debug, Default)]
pub struct BearerStats {
    /// Packets that arrived.
    pub arrived: u64,
    /// Bytes of them.
    pub arrived_bytes: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Bytes of them.
    pub delivered_bytes: u64,
    /// Packets that the queue dropped, by reason.
    pub drops: [u64; REASONS],
    /// Packets that the queue marked, by reason.
    pub marks: [u64; REASONS],
    /// Packets lost with blocks that HARQ gave up.
    pub lost: u64,
    /// Time from the arrival of a packet to its first transmission, ns.
    pub wait: Histogram,
    /// Longest time from the arrival of a packet to its coming out.
    pub longest: Span,
    /// Resource blocks it was given, retransmissions included.
    pub used_rbs: u64,
    /// Transport blocks of new data.
    pub blocks: u64,
    /// Retransmissions by HARQ.
    pub retransmissions: u64,
    /// Blocks that HARQ gave up.
    pub given_up: u64,
    /// Blocks that RLC sent again.
    pub resent: u64,
}

/// The channel of a user in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Mean SNR, dB: downlink over the band; uplink if all power went into one resource block.
    pub sinr_db: f64,
    /// Its CQI; in the uplink that of the smallest grant.
    pub cqi: u8,
    /// Its scheme; none: it is not served.
    pub mcs: Option<u8>,
    /// Rate over the whole band, bit/s; in the uplink with as many resource blocks as its power allows.
    pub rate_bps: f64,
}

/// A user.
#[derive(Clone, Copy, Debug)]
pub struct UserReport<'a> {
    /// Where it is.
    pub place: Place,
    /// Shadowing drawn for it, dB; positive is a worse channel.
    pub shadowing_db: f64,
    /// Its downlink.
    pub down: Signal,
    /// Its uplink.
    pub up: Signal,
    /// Packets of its downlink.
    pub down_stats: &'a BearerStats,
    /// Packets of its uplink.
    pub up_stats: &'a BearerStats,
    /// What waits in its queue at the base station, the packet that is being sent included.
    pub down_backlog: Backlog,
    /// What waits in its own queue.
    pub up_backlog: Backlog,
}
