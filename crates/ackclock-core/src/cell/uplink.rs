//! The uplink: users ask for resources, the base station grants them, they send.
//!
//! TS 36.213 §8, TS 36.321 §5.4. A user that gets data while it has neither grant nor request waits for its next opportunity to request
//! (every `sr_period`); a request, and every report of a queue that comes with a block, reaches the scheduler after the grant delay, and
//! a grant is used the same delay later. So the first packet takes two of them and the wait, and from then on a loop of eight
//! TTIs keeps the flow going. A grant has contiguous resource blocks: no more than its user needs, and no more than its
//! power reaches with. Retransmissions are synchronous: eight TTIs later, with the same blocks.

mod plan;
mod requests;

use super::alarms::Alarms;
use super::background::Background;
use super::harq::{Block, Flights, ROUND};
use super::radio::{Medium, Radio};
use super::rlc::{Bearer, NEVER, begin};
use super::scheduler::Scheduler;
use super::stats::{DirectionStats, Window};
use super::turns::Turns;
use crate::path::{Out, Store};
use crate::ring::Ring;

pub use plan::{Plan, Planner};
use requests::Report;

/// TTIs of which the schedule of retransmissions is kept; more than [`ROUND`].
const AHEAD: usize = 16;

/// A user of the uplink.
#[derive(Debug)]
pub struct User {
    /// Its queue and RLC.
    pub bearer: Bearer,
    /// Its channel; the SNR is that of all power in one resource block.
    pub radio: Radio,
    /// The SNR that power control allows, dB.
    pub limit_db: f64,
    /// It is connected from this TTI on.
    pub from: u64,
    /// Its first opportunity to request.
    offset: u64,
    /// The opportunity that it waits for; never: it does not.
    request: u64,
    /// Whether a request is on its way.
    asking: bool,
    /// Bytes that the base station knows of and has not granted.
    wanted: u64,
    /// Bytes granted in all.
    granted: u64,
    /// Those granted when the block was whose report is the last that is known.
    known: u64,
    /// Grants that it has not used.
    grants: u32,
    /// Blocks in the air that say that it has more.
    told: u32,
    /// TTIs, modulo [`AHEAD`], in which it retransmits.
    again: u16,
}

impl User {
    /// A user without data that may request in TTI number `offset` first.
    pub fn new(bearer: Bearer, radio: Radio, limit_db: f64, offset: u64) -> User {
        User {
            bearer,
            radio,
            limit_db,
            from: 0,
            offset,
            request: NEVER,
            asking: false,
            wanted: 0,
            granted: 0,
            known: 0,
            grants: 0,
            told: 0,
            again: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    tick: u64,
    plan: Plan,
    granted: u64,
    user: u16,
}

/// The uplink of a cell.
#[derive(Debug)]
pub struct Uplink {
    /// What channels have in common.
    pub medium: Medium,
    /// Everybody.
    pub users: Vec<User>,
    /// Measurements.
    pub stats: DirectionStats,
    /// Resource blocks used in the whole run, those of retransmissions, and TTIs in which there were any.
    pub totals: (u64, u64, u64),
    planner: Planner,
    /// Those of whom the base station knows that they want something.
    turns: Turns,
    background: Background,
    window: Window,
    /// TTIs between two opportunities to request.
    period: u64,
    /// TTIs from a report to the grant, and from it to the transmission.
    lead: u64,
    /// Opportunities to request that users wait for.
    requests: Alarms,
    reports: Ring<Report>,
    grants: Ring<Grant>,
    /// To be retransmitted, in the order of their transmissions.
    waiting: Ring<Block>,
    /// Resource blocks of retransmissions, by TTI modulo [`AHEAD`].
    reserved: [u16; AHEAD],
    flights: Flights,
    /// When timers of receivers run out, also those that have been stopped since.
    timers: Alarms,
}

/// Times of the uplink, in TTIs.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Between two opportunities to request.
    pub period: u64,
    /// From a report to the grant, and from it to the transmission.
    pub lead: u64,
    /// From the transmission until packets are out.
    pub delay: u64,
}

impl Uplink {
    /// With nobody having data.
    pub fn new(
        medium: Medium,
        users: Vec<User>,
        planner: Planner,
        scheduler: Scheduler,
        background: Background,
        times: Times,
        window: Window,
    ) -> Uplink {
        let stats = DirectionStats { rbs: medium.grid.rbs, ..DirectionStats::default() };
        Uplink {
            medium,
            stats,
            totals: (0, 0, 0),
            planner,
            turns: Turns::new(scheduler, users.iter().map(|u| u.radio.rate)),
            background,
            window,
            period: times.period,
            lead: times.lead,
            users,
            requests: Alarms::default(),
            reports: Ring::default(),
            grants: Ring::default(),
            waiting: Ring::default(),
            reserved: [0; AHEAD],
            flights: Flights::new(times.delay),
            timers: Alarms::default(),
        }
    }

    /// What makes plans.
    pub fn planner(&self) -> &Planner {
        &self.planner
    }

    /// What user `i` could send with `free` resource blocks.
    fn plan(&mut self, i: usize, tick: u64, free: u16, need: u64) -> Option<Plan> {
        let user = &mut self.users[i];
        let one_db = user.radio.sinr_at(tick, &self.medium);
        self.planner.plan(&self.medium, one_db, user.limit_db, free, need)
    }

    /// The next TTI in which something happens; `tick` was the last.
    #[inline]
    pub fn next(&self, tick: u64) -> u64 {
        if !self.turns.active().is_empty() {
            return tick + 1;
        }
        let report = self.reports.front().map_or(NEVER, |r| r.tick);
        let grant = self.grants.front().map_or(NEVER, |g| g.tick);
        let again = self.waiting.front().map_or(NEVER, |b| b.sent + ROUND);
        self.flights.next().min(self.timers.first()).min(self.requests.first()).min(report).min(grant).min(again)
    }

    /// Before this TTI no packet comes out; `next` is the next to be played.
    pub fn bound(&mut self, next: u64) -> u64 {
        let (lead, delay) = (self.lead, self.flights.delay);
        let from = |tick: Option<u64>, ttis: u64| tick.map_or(NEVER, |t| t.saturating_add(ttis));
        let decision = from((!self.turns.active().is_empty()).then_some(next), lead + delay);
        let report = from(self.reports.front().map(|r| r.tick), lead + delay);
        let grant = from(self.grants.front().map(|g| g.tick), delay);
        let again = from(self.waiting.front().map(|b| b.sent), ROUND + delay);
        let request = self.requests.first().saturating_add(2 * lead + delay);
        let flights = self.flights.bound(next.wrapping_sub(1));
        flights.min(decision).min(report).min(grant).min(again).min(request).min(self.timers.first())
    }

    /// Blocks arrive or turn out not to have arrived, and the receiver stops waiting.
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
            if !self.medium.model.gives_up(&block) {
                self.waiting.push(Block { attempt: block.attempt + 1, ..block });
                continue;
            }
            let i = usize::from(block.user);
            let user = &mut self.users[i];
            user.bearer.give_up(tick, block.number, block.bytes, block.sent, store);
            // Its report is lost with it.
            user.told -= u32::from(block.left > 0);
            self.wake(i, tick + 1);
        }
        if self.timers.first() <= tick {
            self.expire(tick, out, store);
        }
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
            self.wake(i, tick + 1);
        }
        let users = &self.users;
        self.timers.forget(|tick, i| users[i].bearer.timer() == tick);
    }

    /// Users send what they have been granted for TTI number `tick`, and what failed.
    #[inline]
    pub fn send<S: Store + ?Sized>(&mut self, tick: u64, store: &mut S) {
        let before = self.totals;
        while let Some(block) = self.waiting.front().copied().filter(|b| b.sent + ROUND <= tick) {
            self.waiting.skip();
            self.reserved[(block.sent + ROUND) as usize % AHEAD] = 0;
            self.again(tick, block);
        }
        while let Some(grant) = self.grants.front().copied().filter(|g| g.tick <= tick) {
            self.grants.skip();
            self.use_grant(grant, store);
        }
        if self.totals.0 > before.0 {
            self.totals.2 += 1;
            if self.window.counts(begin(tick)) {
                self.stats.used_rbs += self.totals.0 - before.0;
                self.stats.retransmitted_rbs += self.totals.1 - before.1;
                self.stats.busy_ttis += 1;
            }
        }
    }

    #[cold]
    fn again(&mut self, tick: u64, mut block: Block) {
        block.sent = tick;
        self.totals.1 += u64::from(block.rbs);
        let user = &mut self.users[usize::from(block.user)];
        user.again &= !(1 << (tick as usize % AHEAD));
        user.bearer.stats.retransmissions += u64::from(self.window.counts(begin(tick)));
        let sinr_db = self.planner.sinr_db(user.radio.sinr_at(tick, &self.medium), user.limit_db, block.rbs);
        self.launch(block, sinr_db, true);
    }

    fn use_grant<S: Store + ?Sized>(&mut self, grant: Grant, store: &mut S) {
        let (tick, plan, i) = (grant.tick, grant.plan, usize::from(grant.user));
        let user = &mut self.users[i];
        user.grants -= 1;
        let Some(filled) = user.bearer.fill(tick, plan.size, store) else {
            // Padding: the grant is used all the same.
            self.totals.0 += u64::from(plan.rbs);
            return self.wake(i, tick + 1);
        };
        let left = user.bearer.demand(tick);
        user.told += u32::from(left > 0);
        let block = Block {
            sent: tick,
            number: filled.number,
            bytes: filled.bytes,
            left,
            granted: grant.granted,
            user: grant.user,
            rbs: plan.rbs,
            mcs: plan.mcs,
            ..Block::default()
        };
        let one_db =
            if user.radio.channel.is_some() { user.radio.sinr_at(tick, &self.medium) } else { user.radio.sinr_db };
        let sinr_db = self.planner.sinr_db(one_db, user.limit_db, plan.rbs);
        self.launch(block, sinr_db, filled.hopeful);
    }

    fn launch(&mut self, mut block: Block, sinr_db: f64, hopeful: bool) {
        let user = &mut self.users[usize::from(block.user)];
        self.medium.model.transmit(&mut block, sinr_db, &mut user.radio.known, &mut user.radio.rng);
        if block.arrived {
            let Block { left, granted, user, sent, .. } = block;
            self.reports.push(Report { tick: sent + self.lead, left, granted, user, request: false });
        } else {
            user.bearer.fails(block.number);
            if !self.medium.model.gives_up(&block) {
                let at = (block.sent + ROUND) as usize % AHEAD;
                self.reserved[at] += block.rbs;
                user.again |= 1 << at;
            }
        }
        self.totals.0 += u64::from(block.rbs);
        if self.window.counts(begin(block.sent)) {
            self.users[usize::from(block.user)].bearer.stats.used_rbs += u64::from(block.rbs);
            self.stats.blocks += 1;
        }
        self.flights.launch(block, hopeful);
    }

    /// The base station hears of queues in TTI number `tick`, and gives grants.
    #[inline]
    pub fn grant(&mut self, tick: u64) {
        while let Some(report) = self.reports.front().copied().filter(|r| r.tick <= tick) {
            self.reports.skip();
            self.hear(report);
        }
        if self.turns.active().is_empty() {
            return;
        }
        let at = tick + self.lead;
        if self.background.takes(at) {
            self.stats.blocked_ttis += u64::from(self.window.counts(begin(at)));
            return;
        }
        self.turns.advance(tick);
        let mut free = self.medium.grid.rbs.saturating_sub(self.reserved[at as usize % AHEAD]);
        while free >= self.planner.least && self.grant_best(tick, at, &mut free) {}
        self.turns.close();
    }

    /// Grants the best user what it wants of the `free` resource blocks for TTI number `at`; false when there is none.
    fn grant_best(&mut self, tick: u64, at: u64, free: &mut u16) -> bool {
        let Some(i) = self.turns.best() else { return false };
        if self.users[i].again & (1 << (at as usize % AHEAD)) != 0 {
            return true;
        }
        // In turn everybody gets the same share of what is free.
        let share = self.planner.share(self.turns.scheduler(), *free, self.turns.active().len());
        let Some(plan) = self.plan(i, tick, share, self.users[i].wanted) else { return true };
        *free -= plan.rbs;
        let user = &mut self.users[i];
        user.granted += u64::from(plan.size);
        user.grants += 1;
        user.wanted = user.wanted.saturating_sub(u64::from(plan.size));
        let granted = user.granted;
        self.turns.serve(i, tick, plan.size * 8);
        self.grants.push(Grant { tick: at, plan, granted, user: i as u16 });
        if self.users[i].wanted == 0 {
            self.turns.leave(i);
        }
        true
    }
}
