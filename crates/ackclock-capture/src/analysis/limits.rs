//! Who limits a sender at every moment: the handshake, its application, the receiver's window, or the network.
//!
//! Acknowledgments count from when they have gone on to the sender. What leaves as soon as an acknowledgment arrives was
//! waiting for the network; what leaves long after one had not been written. Between these the question stays open until
//! the next new data answer it.

pub use super::limit::Limit;
use super::moment::Moment;
use super::packing::Coder;
use super::ring::Ring;

const MS: i64 = 1_000_000;
/// Acknowledgments under way to the sender that are remembered.
const MOST_ACKS: usize = 4096;
/// Data that wait for their window to fill.
const MOST_WAITING: usize = 256;

/// What the sender knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// When this acknowledgment passed, ns.
    pub time: i64,
    /// Highest acknowledgment.
    pub una: u64,
    /// End of the window.
    pub edge: u64,
    /// Whether an episode is open after it.
    pub episode: bool,
}

/// What is known of the path as data pass.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Round trip time, ns.
    pub round: i64,
    /// The part of it towards the sender, ns.
    pub up: i64,
    /// Whether the capture was taken at the sender.
    pub at_sender: bool,
    /// Largest segment.
    pub mss: u32,
}

impl Path {
    fn eps(&self) -> i64 {
        (2 * MS).max(self.round / 10)
    }

    /// How much later than here an acknowledgment is with the sender.
    fn onwards(&self) -> i64 {
        (self.up - self.up / 50 - MS).max(0)
    }
}

/// New data, and the time before them that is still open.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    time: i64,
    before: i64,
    before_full: bool,
    ns: i64,
    otherwise: Limit,
}

/// An acknowledgment under way to the sender, in three words.
#[derive(Clone, Copy, Debug, Default)]
struct Ack {
    time: i64,
    una: u64,
    /// The end of the window, and in the low bit whether an episode is open.
    edge: u64,
}

impl Ack {
    fn of(view: View) -> Ack {
        Ack { time: view.time, una: view.una, edge: view.edge << 1 | u64::from(view.episode) }
    }

    #[inline]
    fn edge(&self) -> u64 {
        self.edge >> 1
    }
}

/// The account of one direction.
#[derive(Clone, Debug)]
pub struct Limits {
    ns: [i64; 4],
    /// Time with data out or a closed window, ns.
    pub busy: i64,
    clock: i64,
    /// What the sender knows: the highest acknowledgment, the end of the window, whether an episode is open.
    una: u64,
    edge: u64,
    max: u64,
    acks: Ring<Ack>,
    /// When the last one of these that has reached the sender did so, or the account was begun.
    due: i64,
    undecided: i64,
    waiting: Ring<Waiting>,
    /// New data before: when, how long, whether they filled the window.
    before: i64,
    before_length: u32,
    /// How many of `acks` have reached the sender.
    arrived: u32,
    /// Since when the window is full, and when it was last.
    full: (Moment, i64),
    before_filled: bool,
    acknowledged: bool,
    episode: bool,
    /// The handshake is over.
    pub open: bool,
    /// FIN has passed.
    pub fin: bool,
}

impl Limits {
    /// That of a direction without data.
    pub const NONE: Limits = Limits {
        ns: [0; 4],
        busy: 0,
        clock: 0,
        una: 0,
        edge: 0,
        max: 0,
        acks: Ring::EMPTY,
        due: 0,
        undecided: 0,
        waiting: Ring::EMPTY,
        before: i64::MIN / 2,
        before_length: u32::MAX,
        arrived: 0,
        full: (Moment::NEVER, 0),
        before_filled: false,
        acknowledged: false,
        episode: false,
        open: false,
        fin: false,
    };

    /// The account is begun: with the first packet of the connection, the end of its handshake if that was seen, and what is
    /// acknowledged and may be sent.
    pub fn begin(&mut self, first: i64, opened: Option<i64>, una: u64, edge: u64) {
        (self.clock, self.due) = (first, first);
        if let Some(opened) = opened {
            self.account(opened, 0);
            self.open = true;
        }
        (self.una, self.edge, self.max) = (una, edge, una);
    }

    /// The state, unless it is open.
    fn state(&self, mss: u32) -> Option<Limit> {
        if !self.open {
            Some(Limit::Handshake)
        } else if self.fin {
            Some(Limit::App)
        } else if self.edge < self.max + u64::from(mss) {
            Some(Limit::Rwnd)
        } else if self.max <= self.una {
            Some(Limit::App)
        } else if self.episode {
            Some(Limit::Network)
        } else {
            None
        }
    }

    fn account(&mut self, until: i64, mss: u32) {
        let passed = until - self.clock;
        if passed <= 0 {
            return;
        }
        let state = self.state(mss);
        self.clock = until;
        match state {
            Some(limit) => self.ns[limit as usize] += passed,
            None => self.undecided += passed,
        }
        if self.open && (self.max > self.una || state == Some(Limit::Rwnd)) {
            self.busy += passed;
        }
    }

    /// Goes on to `time`: acknowledgments that have reached the sender by then take effect.
    #[inline]
    pub fn advance(&mut self, time: i64, path: &Path) {
        let onwards = path.onwards();
        while let Some(&ack) = self.acks.get(self.arrived as usize) {
            let at = (ack.time + onwards).max(self.due);
            if at > time {
                break;
            }
            self.account(at, path.mss);
            (self.due, self.acknowledged) = (at, true);
            (self.una, self.edge, self.episode) = (ack.una, ack.edge(), ack.edge & 1 != 0);
            self.arrived += 1;
            self.check_full(at, path);
        }
        self.account(time, path.mss);
        // The view of 1.05 u + 3 ms ago stays at the front.
        let back = time - path.up - path.up / 20 - 3 * MS;
        while self.arrived > 1 && self.acks.get(1).is_some_and(|next| next.time <= back) {
            self.acks.skip_first();
            self.arrived -= 1;
        }
        self.settle(time, path.eps());
    }

    /// An acknowledgment passes.
    #[inline]
    pub fn acknowledged(&mut self, view: View, path: &Path) {
        if self.acks.len() >= MOST_ACKS {
            self.acks.skip_first();
            self.arrived = self.arrived.saturating_sub(1);
        }
        self.acks.push_back(Ack::of(view));
        self.advance(view.time, path);
    }

    /// An episode begins or ends as data pass.
    pub fn set_episode(&mut self, open: bool) {
        self.episode = open;
        self.acks.change(|ack| ack.edge = ack.edge & !1 | u64::from(open));
    }

    /// New data pass: `length` bytes up to `end`. [`Limits::advance`] was called before.
    pub fn sent(&mut self, time: i64, length: u32, end: u64, path: &Path) -> Limit {
        let eps = path.eps();
        let out = self.max > self.una;
        let filled = !path.at_sender && {
            let back = time - path.up - path.up / 20 - 3 * MS;
            let known = self.acks.front().filter(|ack| ack.time <= back).map_or(u64::MAX, |ack| ack.edge());
            end >= known.saturating_sub(u64::from(length))
        };
        let before = self.before;
        let otherwise = if self.before_length < path.mss {
            Limit::App
        } else if self.acknowledged && time - self.due <= eps
            || out && time.saturating_sub(before) <= eps.max(path.round / 2)
        {
            Limit::Network
        } else {
            Limit::App
        };
        self.max = self.max.max(end);
        let ns = std::mem::take(&mut self.undecided);
        let decided = if filled && self.before_filled { Limit::Rwnd } else { otherwise };
        if path.at_sender {
            let (from, to) = self.full;
            let before_full = from.get().is_some_and(|from| to >= before && from <= before + eps);
            if self.waiting.len() >= MOST_WAITING {
                self.first_waits_no_longer();
            }
            self.waiting.push_back(Waiting { time, before, before_full, ns, otherwise });
            self.check_full(time, path);
        } else {
            self.ns[decided as usize] += ns;
        }
        (self.before, self.before_length, self.before_filled) = (time, length, filled);
        decided
    }

    /// At the sender: the window is full now, so it was full soon after the last segments.
    #[inline]
    fn check_full(&mut self, now: i64, path: &Path) {
        if !path.at_sender || self.edge >= self.max + u64::from(path.mss) {
            return;
        }
        let eps = path.eps();
        let (from, to) = self.full;
        let anew = !from.is_known() || now - to > eps;
        self.full = (if anew { Moment::at(now) } else { from }, now);
        self.settle(now, eps);
        let mut kept = 0;
        for i in 0..self.waiting.len() {
            let Some(w) = self.waiting.get(i).copied() else { break };
            if w.before_full || now <= w.before.saturating_add(eps) {
                self.ns[Limit::Rwnd as usize] += w.ns;
            } else {
                if let Some(place) = self.waiting.get_mut(kept) {
                    *place = w;
                }
                kept += 1;
            }
        }
        self.waiting.truncate(kept);
    }

    #[inline]
    fn settle(&mut self, now: i64, eps: i64) {
        while self.waiting.front().is_some_and(|w| w.time + eps < now) {
            self.first_waits_no_longer();
        }
    }

    fn first_waits_no_longer(&mut self) {
        if let Some(w) = self.waiting.pop_front() {
            self.ns[w.otherwise as usize] += w.ns;
        }
    }

    /// The end of the connection: how long each limited, ns, in the order of [`Limit`].
    pub fn finish(&mut self, time: i64, path: &Path) -> [i64; 4] {
        self.advance(time, path);
        while !self.waiting.is_empty() {
            self.first_waits_no_longer();
        }
        self.ns[Limit::App as usize] += std::mem::take(&mut self.undecided);
        self.ns
    }

    /// All of it; `near` and `last` are. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, kept: usize, near: u64, last: i64) {
        let Limits {
            ns,
            busy,
            clock,
            una,
            edge,
            max,
            acks,
            due,
            undecided,
            waiting,
            before,
            before_length,
            arrived,
            full,
            before_filled,
            acknowledged,
            episode,
            open,
            fin,
        } = self;
        ns.iter_mut().for_each(|ns| c.time(ns, 0));
        c.time(busy, 0);
        c.time(clock, last);
        c.near(una, near);
        c.near(edge, *una);
        c.near(max, *una);
        c.time(due, *clock);
        c.time(undecided, 0);
        let mut last_one = (*clock, *una);
        acks.code(c, kept, |c, Ack { time, una, edge }| {
            c.time(time, last_one.0);
            c.near(una, last_one.1);
            c.near(edge, *una << 1);
            last_one = (*time, *una);
        });
        let mut at = *clock;
        waiting.code(c, kept, |c, Waiting { time, before, before_full, ns, otherwise }| {
            c.time(time, at);
            c.time(before, *time);
            c.flags([before_full]);
            c.time(ns, 0);
            c.choice(otherwise, Limit::ALL);
            at = *time;
        });
        c.time(before, last);
        c.int_near(before_length, u32::MAX);
        c.int(arrived);
        c.moment(&mut full.0, last);
        c.time(&mut full.1, if full.0.is_known() { last } else { 0 });
        c.flags([before_filled, acknowledged, episode, open, fin]);
    }

    /// Gives back what room above `kept` it does not need.
    pub fn shrink(&mut self, kept: usize) {
        self.acks.shrink(kept);
        self.waiting.shrink(kept);
    }

    /// That of a direction without data again; room for more than `kept` is given back.
    pub fn clear(&mut self, kept: usize) {
        self.acks.clear(kept);
        self.waiting.clear(kept);
        let (acks, waiting) = (std::mem::take(&mut self.acks), std::mem::take(&mut self.waiting));
        *self = Limits { acks, waiting, ..Limits::NONE };
    }

    /// Who limits now, as far as that is known.
    pub fn limit(&self, mss: u32) -> Option<Limit> {
        self.state(mss)
    }
}
