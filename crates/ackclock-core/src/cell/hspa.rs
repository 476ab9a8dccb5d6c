//! HSPA, simple: every user has a channel of fixed rate in both directions, in TTIs of 2 ms, with delay and jitter that keeps order.
//!
//! 3GPP TS 25.308. What HARQ and RLC (acknowledged) do to a packet is its jitter: nothing is lost on the air, and packets come out in order.
//! Users do not compete: the rate is what the network leaves to each.

use super::params::Refusal;
use crate::packet::Parcel;
use crate::path::{Element, Flight, Out, Port, QueueParams, Setting, Store};
use crate::queue::{Backlog, Queue, Reason, Sink};
use crate::ring::Ring;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// Length of a TTI.
pub const TTI: Span = Span(2_000_000);

/// HSPA as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct HspaParams {
    /// Its name, from which its random streams are derived.
    pub name: String,
    /// Users: user `i` has port `i` in the downlink and port `n + i` in the uplink.
    pub users: usize,
    /// Rate of the downlink of each, bit/s.
    pub down_bps: u64,
    /// Rate of the uplink of each, bit/s.
    pub up_bps: u64,
    /// From the end of a TTI until its packets are out.
    pub delay: Span,
    /// At most so much later, with equal chances for everything up to it; once per TTI and user.
    pub jitter: Span,
    /// Queues of the downlink.
    pub down_queue: QueueParams,
    /// Queues of the uplink.
    pub up_queue: QueueParams,
}

impl HspaParams {
    /// 4 Mbit/s down, 1 Mbit/s up, 35 ms each way, up to 10 ms of jitter, queues of 256 kB.
    pub fn new(name: &str, users: usize) -> HspaParams {
        let mut queue = QueueParams::unlimited();
        queue.limits.bytes = 256_000;
        HspaParams {
            name: name.to_owned(),
            users,
            down_bps: 4_000_000,
            up_bps: 1_000_000,
            delay: Span::from_millis(35),
            jitter: Span::from_millis(10),
            down_queue: queue.clone(),
            up_queue: queue,
        }
    }

    /// The element.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    pub fn build(&self, setting: &Setting) -> Result<Hspa, Refusal> {
        let most = super::params::MOST_USERS;
        if self.users == 0 || self.users > most {
            return Err(Refusal::new("users", format!("a cell has 1 to {most} users, not {}", self.users)));
        }
        for (key, bps) in [("down_bps", self.down_bps), ("up_bps", self.up_bps)] {
            if !(1000..=1_000_000_000).contains(&bps) {
                return Err(Refusal::new(key, format!("{bps} bit/s is outside 1000..1000000000")));
            }
        }
        for (key, span) in [("delay", self.delay), ("jitter", self.jitter)] {
            if span > Span::from_secs(10) {
                return Err(Refusal::new(key, "more than ten seconds"));
            }
        }
        let mut ports = Vec::new();
        for (uplink, key) in [(false, "down_queue"), (true, "up_queue")] {
            let (queue, bps) = if uplink { (&self.up_queue, self.up_bps) } else { (&self.down_queue, self.down_bps) };
            queue.check().map_err(|e| e.below(key))?;
            for i in 0..self.users {
                let stream = |what: &str| {
                    let direction = if uplink { "up" } else { "down" };
                    let name = format!("hspa {} user {i} {direction} {what}", self.name);
                    Stream::named(setting.seed, setting.run, &name)
                };
                let made = queue.build(bps, self.delay, stream("queue")).map_err(|e| e.below(key))?;
                // Bits times nanoseconds: a TTI has this many, whole.
                ports.push(Way {
                    queue: made,
                    quota: bps * (TTI.0 / 1000),
                    credit: 0,
                    head: None,
                    left: 0,
                    latest: Time::ZERO,
                    rng: stream("jitter"),
                    drops: [0; crate::path::REASONS],
                });
            }
        }
        Ok(Hspa {
            ways: ports,
            delay: self.delay,
            jitter: self.jitter,
            next: u64::MAX,
            active: Vec::new(),
            flight: Flight::new(false),
            done: Ring::default(),
        })
    }
}

/// One direction of one user.
struct Way {
    queue: Box<dyn Queue>,
    /// Bits of a TTI in millionths.
    quota: u64,
    /// What it may send, bits in millionths.
    credit: u64,
    /// The packet in transmission.
    head: Option<Parcel>,
    /// What is left of it, bits in millionths.
    left: u64,
    /// When the last one comes out.
    latest: Time,
    rng: Stream,
    drops: [u64; crate::path::REASONS],
}

/// HSPA.
pub struct Hspa {
    ways: Vec<Way>,
    delay: Span,
    jitter: Span,
    /// The next TTI with data.
    next: u64,
    /// Ports with data, in order.
    active: Vec<Port>,
    flight: Flight,
    /// Those whose transmission ended in the TTI that is being played.
    done: Ring<Parcel>,
}

struct Consequences<'a, S: Store + ?Sized>(&'a mut S, &'a mut [u64; crate::path::REASONS]);

impl<S: Store + ?Sized> Sink for Consequences<'_, S> {
    fn dropped(&mut self, _at: Time, parcel: Parcel, reason: Reason) {
        self.1[reason as usize] += 1;
        self.0.drop(parcel.id);
    }

    fn marked(&mut self, _at: Time, parcel: &Parcel, _reason: Reason) {
        self.0.mark(parcel.id);
    }
}

/// Bits of a packet in millionths.
fn cost(parcel: &Parcel) -> u64 {
    u64::from(parcel.len) * 8_000_000
}

impl Hspa {
    /// Packets that the queue of `port` dropped, by reason.
    pub fn drops(&self, port: Port) -> [u64; crate::path::REASONS] {
        self.ways[usize::from(port)].drops
    }

    /// What waits at `port`.
    pub fn backlog(&self, port: Port) -> Backlog {
        let way = &self.ways[usize::from(port)];
        let waiting = way.queue.backlog();
        let head = way.head.map_or(Backlog::default(), |p| Backlog { packets: 1, bytes: u64::from(p.len) });
        Backlog { packets: waiting.packets + head.packets, bytes: waiting.bytes + head.bytes }
    }

    /// Plays the TTIs that begin up to and at `now`.
    fn settle<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        while self.next.saturating_mul(TTI.0) <= now.0 {
            let tick = self.next;
            let mut n = 0;
            while n < self.active.len() {
                let port = self.active[n];
                if self.send(tick, port, store) {
                    n += 1;
                } else {
                    self.active.remove(n);
                }
            }
            self.next = if self.active.is_empty() { u64::MAX } else { tick + 1 };
        }
    }

    /// Port `port` sends in TTI number `tick`; whether it has more.
    fn send<S: Store + ?Sized>(&mut self, tick: u64, port: Port, store: &mut S) -> bool {
        let way = &mut self.ways[usize::from(port)];
        way.credit += way.quota;
        let begin = Time(tick * TTI.0);
        loop {
            if way.head.is_none() {
                way.head = way.queue.dequeue(begin, &mut Consequences(&mut *store, &mut way.drops));
                way.left = way.head.as_ref().map_or(0, cost);
            }
            let Some(parcel) = way.head else {
                // What was not used is gone.
                way.credit = 0;
                break;
            };
            let part = way.left.min(way.credit);
            way.left -= part;
            way.credit -= part;
            if way.left > 0 {
                break;
            }
            way.head = None;
            self.done.push(parcel);
        }
        let more = way.head.is_some() || way.queue.backlog().packets > 0;
        if !more {
            way.credit = 0;
        }
        let extra = Span(way.rng.below(self.jitter.0 + 1));
        way.latest = way.latest.max(begin + TTI + self.delay + extra);
        while let Some(parcel) = self.done.pop() {
            self.flight.push(way.latest, parcel);
        }
        more
    }
}

impl Element for Hspa {
    fn ports(&self) -> Port {
        self.ways.len() as Port
    }

    fn push(&mut self, now: Time, port: Port, mut parcel: Parcel, store: &mut dyn Store) {
        self.settle(now, store);
        let way = &mut self.ways[usize::from(port)];
        (parcel.arrived, parcel.way) = (now, port);
        let service = way.head.map_or(Backlog::default(), |p| Backlog { packets: 1, bytes: u64::from(p.len) });
        way.queue.enqueue(now, parcel, service, &mut Consequences(store, &mut way.drops));
        if way.queue.backlog().packets > 0 {
            if let Err(n) = self.active.binary_search(&port) {
                self.active.insert(n, port);
            }
            self.next = self.next.min(now.0 / TTI.0 + 1);
        }
    }

    fn pull(&mut self, now: Time, store: &mut dyn Store) -> Option<Out> {
        if self.next_due() > now {
            return None;
        }
        self.settle(now, store);
        let (at, parcel) = self.flight.pull(now)?;
        Some(Out { at, port: parcel.way, parcel })
    }

    fn next_due(&self) -> Time {
        let first = Time(self.next.saturating_add(1).saturating_mul(TTI.0)) + self.delay;
        self.flight.next_due().min(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Store;

    struct Dropped(u64);
    impl Store for Dropped {
        fn drop(&mut self, _id: u32) {
            self.0 += 1;
        }
        fn mark(&mut self, _id: u32) {}
        fn duplicate(&mut self, _id: u32) -> Option<u32> {
            None
        }
    }

    fn setting() -> Setting {
        Setting { seed: 1, run: 0, from: Time::ZERO, to: Time(10_000_000_000) }
    }

    #[test]
    fn a_saturated_user_gets_its_rate() {
        let mut e = HspaParams::new("h", 2).build(&setting()).unwrap();
        let mut store = Dropped(0);
        // 256 kB are 170 packets of 1500 bytes; what does not fit is dropped.
        (0..200).for_each(|id| e.push(Time(1), 1, Parcel { id, len: 1500, ..Parcel::default() }, &mut store));
        assert_eq!((store.0, e.drops(1)[Reason::Full as usize], e.backlog(1).packets), (30, 30, 170));
        let out: Vec<Out> = std::iter::from_fn(|| {
            let due = e.next_due();
            due.is_set().then(|| e.pull(due, &mut store))
        })
        .flatten()
        .collect();
        assert_eq!(out.len(), 170);
        // A TTI carries 1000 bytes: 255 of them, the first from 2 ms on; then 35 ms and up to 10.
        assert_eq!((0..170).collect::<Vec<_>>(), out.iter().map(|o| o.parcel.id).collect::<Vec<_>>());
        let last = out[169].at.0 as f64 / 1e6;
        assert!((2.0 + 510.0 + 35.0..=2.0 + 510.0 + 45.0).contains(&last), "{last}");
        assert!(out.iter().all(|o| o.port == 1));
        let waits: Vec<_> = out.windows(2).map(|w| w[1].at.0 - w[0].at.0).collect();
        assert!(waits.iter().any(|w| *w > 6_000_000), "jitter opens gaps");
    }

    #[test]
    fn refusals() {
        let wrong = |change: fn(&mut HspaParams)| {
            let mut p = HspaParams::new("h", 1);
            change(&mut p);
            p.build(&setting()).err().map(|e| e.to_string())
        };
        assert_eq!(wrong(|_| ()), None);
        assert_eq!(wrong(|p| p.users = 0).unwrap(), "users: a cell has 1 to 10000 users, not 0");
        assert_eq!(wrong(|p| p.down_bps = 3).unwrap(), "down_bps: 3 bit/s is outside 1000..1000000000");
        assert!(wrong(|p| p.up_queue.limits.bytes = 0).unwrap().starts_with("up_queue: a queue of no packets"));
    }
}
