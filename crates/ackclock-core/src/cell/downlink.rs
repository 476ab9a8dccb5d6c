//! The downlink: in every TTI the base station sends what failed again, and gives what is left of the band to those who have data.
//!
//! TS 36.213 §7.1: one transport block per user and TTI, resource blocks in groups. With one CQI for the band the best user takes as many
//! groups as its queue fills, then the next best (or all of them, as ns-3 does it: `fit = false`). Groups are dealt out one by one where
//! users take turns, or where reports tell groups apart.

mod deal;

use super::alarms::Alarms;
use super::background::Background;
use super::harq::{Block, Flights, PROCESSES, ROUND};
use super::radio::{Medium, Radio};
use super::rlc::{Bearer, NEVER, begin};
use super::scheduler::{Discipline, Scheduler};
use super::stats::{DirectionStats, Window};
use super::tables::{SCHEMES, bits};
use super::turns::Turns;
use crate::path::{Out, Store};
use crate::ring::Ring;

/// A user of the downlink.
#[derive(Debug)]
pub struct User {
    /// Its queue and RLC.
    pub bearer: Bearer,
    /// Its channel.
    pub radio: Radio,
    /// TTIs in which it was sent a block, the last in the lowest bit.
    history: u64,
    /// The TTI of that bit.
    latest: u64,
    /// The TTI after that in which it was served last, or found not to have anything.
    seen: u64,
    /// Resource blocks it was sent in the whole run.
    pub rbs: u64,
    /// It is connected from this TTI on.
    pub from: u64,
}

impl User {
    /// A user without data.
    pub fn new(bearer: Bearer, radio: Radio) -> User {
        User { bearer, radio, history: 0, latest: 0, seen: 0, rbs: 0, from: 0 }
    }

    /// In how many of the last seven TTIs it was sent a block.
    fn recent(&self, tick: u64) -> u32 {
        let passed = tick - self.latest;
        if passed > 63 { 0 } else { ((self.history << passed) & 0xff).count_ones() }
    }

    fn sent(&mut self, tick: u64) {
        let passed = tick - self.latest;
        self.history = if passed > 63 { 1 } else { (self.history << passed) | 1 };
        self.latest = tick;
    }
}

/// The downlink of a cell.
#[derive(Debug)]
pub struct Downlink {
    /// What channels have in common.
    pub medium: Medium,
    /// Everybody.
    pub users: Vec<User>,
    /// Measurements.
    pub stats: DirectionStats,
    /// Resource blocks used in the whole run, those of retransmissions, and TTIs in which there were any.
    pub totals: (u64, u64, u64),
    turns: Turns,
    background: Background,
    fit: bool,
    window: Window,
    /// Blocks that wait for a retransmission.
    waiting: Vec<Block>,
    flights: Flights,
    /// When timers of receivers run out, also those that have been stopped since.
    timers: Alarms,
    dealt: deal::Dealt,
    /// Those who can be served in a TTI, where that is found out anew in each.
    candidates: Vec<(usize, f64)>,
}

impl Downlink {
    /// With nobody having data.
    pub fn new(
        medium: Medium,
        users: Vec<User>,
        scheduler: Scheduler,
        background: Background,
        (fit, delay): (bool, u64),
        window: Window,
    ) -> Downlink {
        let stats = DirectionStats { rbs: medium.grid.rbs, ..DirectionStats::default() };
        let flights = Flights::new(delay);
        let dealt = deal::Dealt::new(users.len());
        let turns = Turns::new(scheduler, users.iter().map(|u| u.radio.rate));
        Downlink {
            medium,
            users,
            stats,
            totals: (0, 0, 0),
            turns,
            background,
            fit,
            window,
            waiting: Vec::new(),
            flights,
            timers: Alarms::default(),
            dealt,
            candidates: Vec::new(),
        }
    }

    /// User `i` may have data from now on.
    #[inline]
    pub fn wake(&mut self, i: usize) {
        if self.users[i].bearer.has_data() {
            self.turns.join(i);
        }
    }

    /// Whether there is anything to decide in the next TTI.
    #[inline]
    pub fn is_busy(&self) -> bool {
        !self.turns.active().is_empty() || !self.waiting.is_empty()
    }

    /// The next TTI in which something happens; `tick` was the last.
    #[inline]
    pub fn next(&self, tick: u64) -> u64 {
        if self.is_busy() {
            return tick + 1;
        }
        self.flights.next().min(self.timers.first())
    }

    /// Before this TTI no packet comes out; `next` is the next to be played.
    pub fn bound(&mut self, next: u64) -> u64 {
        let decision = if self.is_busy() { next.saturating_add(self.flights.delay) } else { NEVER };
        self.flights.bound(next.wrapping_sub(1)).min(decision).min(self.timers.first())
    }

    /// Blocks arrive or turn out not to have arrived, and receivers stop waiting.
    #[inline]
    pub fn receive<S: Store + ?Sized>(&mut self, tick: u64, out: &mut Ring<Out>, store: &mut S) {
        while let Some(block) = self.flights.arrival(tick) {
            let bearer = &mut self.users[usize::from(block.user)].bearer;
            let before = bearer.timer();
            bearer.receive(tick, block.number, block.bytes, out, store);
            if bearer.timer() != before && bearer.timer() != NEVER {
                self.timers.set(bearer.timer(), usize::from(block.user));
            }
        }
        while let Some(block) = self.flights.failure(tick) {
            self.fail(tick, block, store);
        }
        if self.timers.first() <= tick {
            self.expire(tick, out, store);
        }
    }

    #[cold]
    fn fail<S: Store + ?Sized>(&mut self, tick: u64, block: Block, store: &mut S) {
        if !self.medium.model.gives_up(&block) {
            return self.waiting.push(Block { attempt: block.attempt + 1, ..block });
        }
        let user = usize::from(block.user);
        self.users[user].bearer.give_up(tick, block.number, block.bytes, block.sent, store);
        self.wake(user);
    }

    #[cold]
    fn expire<S: Store + ?Sized>(&mut self, tick: u64, out: &mut Ring<Out>, store: &mut S) {
        while let Some(i) = self.timers.due(tick) {
            let bearer = &mut self.users[i].bearer;
            if bearer.timer() > tick {
                continue;
            }
            bearer.expire(tick, out, store);
            if bearer.timer() != NEVER {
                self.timers.set(bearer.timer(), i);
            }
            self.wake(i);
        }
        let users = &self.users;
        self.timers.forget(|tick, i| users[i].bearer.timer() == tick);
    }

    /// Sends what can be sent in TTI number `tick`.
    #[inline]
    pub fn send<S: Store + ?Sized>(&mut self, tick: u64, store: &mut S) {
        if !self.is_busy() {
            return;
        }
        let measured = self.window.counts(begin(tick));
        if self.background.takes(tick) {
            self.stats.blocked_ttis += u64::from(measured);
            return;
        }
        let (rbs, again, _) = self.totals;
        // Groups are given out from the first on.
        let mut next = if self.waiting.is_empty() { 0 } else { self.retransmit(tick) };
        if !self.turns.active().is_empty() {
            self.turns.advance(tick);
            if self.medium.subband || self.turns.discipline() == Discipline::RoundRobin {
                self.deal(tick, next, store);
            } else {
                if self.medium.band.is_some() && next < self.medium.grid.groups() {
                    self.survey(tick);
                }
                while next < self.medium.grid.groups() && self.serve_best(tick, &mut next, store) {}
                self.turns.close();
            }
        }
        let used = self.totals.0 - rbs;
        self.totals.2 += u64::from(used > 0);
        if measured {
            self.stats.used_rbs += used;
            self.stats.retransmitted_rbs += self.totals.1 - again;
            self.stats.busy_ttis += u64::from(used > 0);
        }
    }

    /// Retransmits what is due, the oldest first, as far as there is room; returns the next free group.
    #[cold]
    fn retransmit(&mut self, tick: u64) -> u16 {
        let grid = self.medium.grid;
        let (mut next, mut i) = (0, 0);
        while i < self.waiting.len() {
            let mut block = self.waiting[i];
            let user = &mut self.users[usize::from(block.user)];
            let groups = block.rbs.div_ceil(grid.group);
            if block.sent + ROUND > tick || user.seen == tick + 1 || next + groups > grid.groups() {
                i += 1;
                continue;
            }
            self.waiting.remove(i);
            next += groups;
            (user.seen, block.sent) = (tick + 1, tick);
            self.totals.1 += u64::from(block.rbs);
            user.bearer.stats.retransmissions += u64::from(self.window.counts(begin(tick)));
            let sinr_db = user.radio.sinr_at(tick, &self.medium);
            self.launch(block, sinr_db, true);
        }
        next
    }

    /// Whether user `i` can be sent new data in TTI number `tick`, in which nobody has looked at it yet.
    #[inline]
    fn eligible(&mut self, i: usize, tick: u64) -> bool {
        let user = &mut self.users[i];
        if user.seen == tick + 1 || user.from > tick {
            return false;
        }
        user.radio.update(tick, &self.medium);
        if user.radio.mcs.is_none() || !user.bearer.is_ready(tick) {
            return false;
        }
        if self.waiting.is_empty() {
            return true;
        }
        let held = self.waiting.iter().filter(|b| usize::from(b.user) == i && b.sent + ROUND <= tick).count() as u32;
        user.recent(tick) + held < PROCESSES
    }

    /// Gives the best user what it needs of the groups from `next` on; false when there is none.
    fn serve_best<S: Store + ?Sized>(&mut self, tick: u64, next: &mut u16, store: &mut S) -> bool {
        while let Some(i) = self.turns.best() {
            if !self.eligible(i, tick) {
                continue;
            }
            let Some(mcs) = self.users[i].radio.mcs else { continue };
            let grid = self.medium.grid;
            let free = grid.rbs - *next * grid.group;
            let rbs = self.serve(tick, i, mcs, free, self.fit, None, store);
            *next += rbs.div_ceil(grid.group);
            return true;
        }
        false
    }

    /// Finds out who can be served in TTI number `tick`, and at which rate: channels fade.
    fn survey(&mut self, tick: u64) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for n in 0..self.turns.active().len() {
            let i = usize::from(self.turns.active()[n]);
            if self.eligible(i, tick) {
                candidates.push((i, self.users[i].radio.rate));
            }
        }
        self.turns.only(candidates.iter().copied());
        self.candidates = candidates;
    }

    /// Fills a block of user `i` with scheme `mcs` over at most `free` resource blocks, and only those it needs if it is to `fit`.
    /// Returns how many it took.
    #[allow(clippy::too_many_arguments)] // what is decided is decided in two places; this is what both do then
    fn serve<S: Store + ?Sized>(
        &mut self,
        tick: u64,
        i: usize,
        mcs: u8,
        free: u16,
        fit: bool,
        groups: Option<&[u16]>,
        store: &mut S,
    ) -> u16 {
        let user = &mut self.users[i];
        user.seen = tick + 1;
        let itbs = SCHEMES[usize::from(mcs)].down;
        let filled = user.bearer.fill(tick, bits(itbs, free) / 8, store);
        if !user.bearer.has_data() {
            self.turns.leave(i);
        }
        let Some(filled) = filled else { return 0 };
        let group = self.medium.grid.group;
        let mut rbs = free;
        if fit {
            // The fewest groups that carry it; sizes grow with the number of resource blocks.
            let (mut low, mut high) = (1, free.div_ceil(group));
            while low < high {
                let middle = (low + high) / 2;
                if bits(itbs, (middle * group).min(free)) / 8 >= filled.size {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            rbs = (low * group).min(free);
        }
        let size = bits(itbs, rbs);
        self.turns.serve(i, tick, size);
        let block = Block {
            sent: tick,
            number: filled.number,
            bytes: filled.bytes,
            user: i as u16,
            rbs,
            mcs,
            ..Block::default()
        };
        let user = &mut self.users[i];
        let sinr_db = match groups {
            Some(groups) => user.radio.sinr_over(tick, groups, &self.medium),
            None => user.radio.sinr_at(tick, &self.medium),
        };
        self.launch(block, sinr_db, filled.hopeful);
        rbs
    }

    /// `block` is transmitted.
    #[inline]
    fn launch(&mut self, mut block: Block, sinr_db: f64, hopeful: bool) {
        let user = &mut self.users[usize::from(block.user)];
        user.sent(block.sent);
        self.medium.model.transmit(&mut block, sinr_db, &mut user.radio.known, &mut user.radio.rng);
        if !block.arrived {
            user.bearer.fails(block.number);
        }
        user.rbs += u64::from(block.rbs);
        self.totals.0 += u64::from(block.rbs);
        if self.window.counts(begin(block.sent)) {
            user.bearer.stats.used_rbs += u64::from(block.rbs);
            self.stats.blocks += 1;
        }
        self.flights.launch(block, hopeful);
    }
}
