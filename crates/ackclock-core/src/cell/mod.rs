//! A cell of LTE: one base station, its users, both directions, TTI by TTI.
//!
//! Frequency division duplex, one transport block per user and TTI, no interference, no handover. 3GPP TS 36.211 to 36.213 (grid, link
//! adaptation, block sizes), 36.321 (MAC), 36.322 (RLC); what is modelled and what is not is told in `docs/cell.md`.
//!
//! * [`CellParams`]: a cell as plain data; [`Cell`]: what it does, an element of a path with a port for each user and direction
//! * [`grid`], [`tables`]: resource blocks, schemes, block sizes
//! * [`path_loss`], [`sinr`], [`fading`], [`radio`]: from place to SNR; [`adaptation`], [`bler`]: from SNR to schemes and errors
//! * [`harq`], [`rlc`]: blocks and packets; [`scheduler`], [`turns`], [`downlink`], [`uplink`], [`background`], [`promotion`]: who is served, and when
//! * [`stats`], [`series`]: what is measured
//! * [`hspa`]: what came before, much simpler; [`profiles`]: ready descriptions of both
//!
//! A TTI is played when something happens in it: somebody has data, or a block arrives. In one that begins as a packet arrives the packet is
//! not served. Nothing that is decided in a TTI shows before the delay of a transmission has passed, so TTIs are
//! played late, several in one go, each with the time that was its own.

pub mod adaptation;
pub mod alarms;
pub mod background;
pub mod bler;
mod build;
pub mod downlink;
pub mod fading;
pub mod grid;
pub mod harq;
pub mod hspa;
mod params;
pub mod path_loss;
pub mod profiles;
pub mod promotion;
pub mod radio;
pub mod rlc;
pub mod scheduler;
pub mod series;
pub mod sinr;
pub mod stats;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod turns;
pub mod uplink;

use crate::packet::Parcel;
use crate::path::{Element, Out, Port, Store};
use crate::ring::Ring;
use crate::time::Time;
use downlink::Downlink;
use promotion::Connections;
use rlc::{NEVER, begin};
use series::Series;
use stats::{CellStats, DirectionStats, Signal, UserReport, Window};
use uplink::Uplink;

pub use adaptation::Thresholds;
pub use fading::Profile;
pub use params::{CellParams, Errors, Fading, Mode, Place, Promotion, Refusal, Rlc, UserParams};
pub use path_loss::{Area, Outside, PathLoss};
pub use scheduler::Discipline;
pub use sinr::PowerControl;

/// Length of a TTI, ns.
pub const TTI: u64 = 1_000_000;

/// A cell.
#[derive(Debug)]
pub struct Cell {
    down: Downlink,
    up: Uplink,
    places: Vec<(Place, f64)>,
    connections: Connections,
    /// The next TTI to be played; [`NEVER`] while nothing can happen.
    next: u64,
    /// When something may come out.
    due: Time,
    out: Ring<Out>,
    worked: u64,
    window: Window,
    series: Option<Box<Series>>,
}

impl Cell {
    /// How many users there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nobody is in it, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Plays the TTIs that begin up to and at `now`.
    #[inline]
    pub fn settle<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        while begin_of(self.next) <= now {
            self.play(self.next, store);
        }
        if let Some(series) = &mut self.series {
            series.roll(now, &mut self.down, &mut self.up);
        }
    }

    /// Plays TTI number `tick`.
    fn play<S: Store + ?Sized>(&mut self, tick: u64, store: &mut S) {
        if let Some(series) = &mut self.series {
            series.roll(begin(tick), &mut self.down, &mut self.up);
        }
        self.worked += 1;
        self.down.receive(tick, &mut self.out, store);
        self.up.receive(tick, &mut self.out, store);
        self.up.send(tick, store);
        self.down.send(tick, store);
        self.up.grant(tick);
        self.up.ask(tick);
        self.next = self.down.next(tick).min(self.up.next(tick));
    }

    /// A packet arrives at `port`: below the number of users in the downlink of that user, then in the uplinks.
    #[inline]
    pub fn push<S: Store + ?Sized>(&mut self, now: Time, port: Port, mut parcel: Parcel, store: &mut S) {
        self.settle(now, store);
        let (n, i) = (self.places.len(), usize::from(port));
        let tick = now.0 / TTI + 1;
        parcel.way = port;
        let from = self.connections.arrival(i % n, tick);
        if i < n {
            self.down.users[i].bearer.enqueue(now, parcel, store);
            self.down.users[i].from = from;
            self.down.wake(i);
            if self.down.is_busy() {
                self.next = self.next.min(tick);
            }
        } else if let Some(user) = self.up.users.get_mut(i - n) {
            user.bearer.enqueue(now, parcel, store);
            user.from = from;
            self.up.wake(i - n, tick);
            self.next = self.next.min(self.up.next(tick - 1));
        }
        self.look();
    }

    /// The next packet that is out at `now`.
    #[inline]
    pub fn pull<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) -> Option<Out> {
        if self.due > now {
            return None;
        }
        self.settle(now, store);
        let out = self.out.front().copied().filter(|o| o.at <= now);
        if let Some(out) = &out {
            self.out.skip();
            self.connections.departure(usize::from(out.port) % self.places.len(), out.at.0 / TTI);
        }
        self.look();
        out
    }

    /// When something may come out.
    #[inline]
    fn look(&mut self) {
        self.due = match self.out.front() {
            Some(out) => out.at,
            None => begin_of(self.down.bound(self.next).min(self.up.bound(self.next))),
        };
    }

    /// When [`Cell::pull`] is to be asked next.
    #[inline]
    pub fn next_due(&self) -> Time {
        self.due
    }

    /// The run ends at `now`: what is due is played, the last interval of the series is closed, and packets that wait do not count.
    pub fn finish<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        self.settle(now, store);
        for user in &mut self.down.users {
            user.bearer.finish(now);
        }
        for user in &mut self.up.users {
            user.bearer.finish(now);
        }
        let ttis = self.window.to.min(now).0.div_ceil(TTI).saturating_sub(self.window.from.0.div_ceil(TTI));
        (self.down.stats.ttis, self.up.stats.ttis) = (ttis, ttis);
    }

    /// What was measured; shares of time are known when the run is over.
    pub fn stats(&self) -> CellStats {
        CellStats { down: self.down.stats, up: self.up.stats, worked: self.worked }
    }

    /// A direction.
    pub fn direction(&self, uplink: bool) -> &DirectionStats {
        if uplink { &self.up.stats } else { &self.down.stats }
    }

    /// User `i`.
    pub fn user(&self, i: usize) -> UserReport<'_> {
        let (down, up) = (&self.down.users[i], &self.up.users[i]);
        let (place, shadowing_db) = self.places[i];
        let cqi = |sinr_db| self.down.medium.adaptation.cqi(sinr_db);
        let (up_db, up_plan) = (up.radio.sinr_db, self.up.best(i));
        UserReport {
            place,
            shadowing_db,
            down: Signal {
                sinr_db: down.radio.sinr_db,
                cqi: cqi(down.radio.sinr_db),
                mcs: down.radio.mcs,
                rate_bps: down.radio.rate * 1e9 / TTI as f64,
            },
            up: Signal {
                sinr_db: up_db,
                cqi: cqi(self.up.smallest_db(i)),
                mcs: up_plan.map(|p| p.mcs),
                rate_bps: up.radio.rate * 1e9 / TTI as f64,
            },
            down_stats: &down.bearer.stats,
            up_stats: &up.bearer.stats,
            down_backlog: down.bearer.backlog(),
            up_backlog: up.bearer.backlog(),
        }
    }

    /// All users.
    pub fn users(&self) -> impl Iterator<Item = UserReport<'_>> {
        (0..self.places.len()).map(|i| self.user(i))
    }

    /// The series, if one was asked for.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_deref()
    }
}

/// When TTI number `tick` begins, if ever.
#[inline]
fn begin_of(tick: u64) -> Time {
    if tick == NEVER { Time::NEVER } else { begin(tick) }
}

impl Element for Cell {
    fn ports(&self) -> Port {
        2 * self.places.len() as Port
    }

    fn push(&mut self, now: Time, port: Port, parcel: Parcel, store: &mut dyn Store) {
        Cell::push(self, now, port, parcel, store);
    }

    fn pull(&mut self, now: Time, store: &mut dyn Store) -> Option<Out> {
        Cell::pull(self, now, store)
    }

    fn next_due(&self) -> Time {
        Cell::next_due(self)
    }
}
