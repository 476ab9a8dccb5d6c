//! FQ-CoDel (RFC 8290): a queue per flow or bucket of flows, served in turn by bytes, each watched by CoDel; queues that
//! just became busy go first.
//!
//! `variant = "linux"` follows Linux 6.12 (`net/sched/sch_fq_codel.c`) beyond CoDel's arithmetic: CoDel's exception for
//! short queues looks at the bytes of all queues together, packets dropped for want of room count as CoDel's, and a new
//! queue that becomes empty while no queue is old leaves the lists at once (RFC 8290 §4.2: it becomes old).
//! Deviations: Linux's memory limit (32 MB with the kernel's overhead per packet) is a limit in bytes of the scenario,
//! and its hash another one.

use super::codel::{CE_THRESHOLD, CodelState, INTERVAL, Law, MTU, TARGET, VARIANT};
use super::fattest::Sizes;
use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink};
use crate::packet::Parcel;
use crate::params::{Default as Preset, Kind, ParamError, ParamSpec, Params, choice, count, flag};
use crate::time::Time;

const PARAMS: &[ParamSpec] = &[
    TARGET,
    INTERVAL,
    ParamSpec {
        name: "quantum",
        kind: Kind::Bytes,
        default: Preset::Int(1514),
        range: Some((256.0, 1_048_576.0)),
        doc: "bytes a queue may send in its turn (RFC 8290 §5.2.4: an Ethernet frame; range as Linux's)",
    },
    choice(
        "hash",
        &["perfect", "stochastic"],
        "perfect: every flow has a queue of its own; stochastic: flows are hashed into 'queues' queues, some of them shared",
    ),
    count("queues", 1024, (1.0, 65_536.0), "number of queues of the stochastic hash (RFC 8290 §5.2.5)"),
    count(
        "drop_batch",
        64,
        (1.0, 1e9),
        "packets dropped at once, at most half the bytes of the longest queue, when there is no room (Linux; RFC 8290 §4.1)",
    ),
    MTU,
    flag("ecn", true, "marks instead of dropping what understands ECN (RFC 8290 §5.2.6)"),
    CE_THRESHOLD,
    VARIANT,
];

/// The entry of the registry.
pub(super) const ENTRY: Discipline = Discipline {
    name: "fq_codel",
    source: "T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet: The Flow Queue CoDel Packet Scheduler \
             and Active Queue Management Algorithm, RFC 8290, 2018",
    summary: "a queue per flow, served in turn by bytes and each under CoDel; flows with little to send go first",
    params: PARAMS,
    // RFC 8290 §5.2.3.
    default_limit: Some(10_240),
    build: |p, site| Ok(Box::new(FqCodel::new(p, site)?)),
};

/// No packet, no queue.
const NONE: u32 = u32::MAX;

/// A packet in the common store, and the one behind it in its queue (or in the list of free places).
#[derive(Clone, Copy, Debug)]
struct Place {
    parcel: Parcel,
    next: u32,
}

/// A queue of packets.
#[derive(Clone, Copy, Debug)]
struct Line {
    head: u32,
    tail: u32,
    /// The queue behind it in the list it is in.
    next: u32,
    /// Whether it is in a list.
    listed: bool,
    /// Bytes it may still send before it is another's turn; below zero by what the last packet took too much.
    credits: i64,
    codel: CodelState,
}

impl Line {
    fn empty() -> Line {
        Line { head: NONE, tail: NONE, next: NONE, listed: false, credits: 0, codel: CodelState::default() }
    }
}

/// A list of queues, first and last.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: List = List { head: NONE, tail: NONE };

    #[inline]
    fn push(&mut self, lines: &mut [Line], i: u32) {
        lines[i as usize].next = NONE;
        if self.head == NONE {
            self.head = i;
        } else {
            lines[self.tail as usize].next = i;
        }
        self.tail = i;
    }

    /// The first, `i`, goes behind the last, and `next` is the first.
    #[inline]
    fn rotate(&mut self, lines: &mut [Line], i: u32, next: u32) {
        self.head = next;
        lines[self.tail as usize].next = i;
        self.tail = i;
    }

    /// Removes the first.
    #[inline]
    fn advance(&mut self, lines: &[Line]) {
        self.head = lines[self.head as usize].next;
    }
}

/// The packets of all queues.
#[derive(Clone, Debug)]
struct Store {
    places: Vec<Place>,
    free: u32,
    sizes: Sizes,
    total: Backlog,
}

impl Store {
    /// Appends a packet to queue `i`.
    #[inline]
    fn push(&mut self, line: &mut Line, i: usize, parcel: Parcel) {
        let place = Place { parcel, next: NONE };
        let at = if self.free == NONE {
            self.places.push(place);
            (self.places.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.places[at as usize].next;
            self.places[at as usize] = place;
            at
        };
        if line.head == NONE {
            line.head = at;
        } else {
            self.places[line.tail as usize].next = at;
        }
        line.tail = at;
        self.sizes.add(i, parcel.len);
        self.total.packets += 1;
        self.total.bytes += u64::from(parcel.len);
    }

    /// Takes the first packet of queue `i`, and says how many bytes that leaves in it.
    #[inline]
    fn pop(&mut self, head: &mut u32, i: usize) -> Option<(Parcel, u64)> {
        self.pop_if(head, i, |_| true)
    }

    /// [`Store::pop`] if that packet is `wanted`.
    #[inline]
    fn pop_if(&mut self, head: &mut u32, i: usize, wanted: impl FnOnce(&Parcel) -> bool) -> Option<(Parcel, u64)> {
        let at = *head;
        if at == NONE {
            return None;
        }
        let place = &mut self.places[at as usize];
        if !wanted(&place.parcel) {
            return None;
        }
        let parcel = place.parcel;
        *head = std::mem::replace(&mut place.next, self.free);
        self.free = at;
        self.total.packets -= 1;
        self.total.bytes -= u64::from(parcel.len);
        Some((parcel, self.sizes.remove(i, parcel.len)))
    }
}

/// Which queue a flow has.
#[derive(Clone, Copy, Debug)]
enum Classify {
    /// That of its number.
    Perfect,
    /// One of so many, by a hash that depends on a number drawn at the start.
    Stochastic { queues: u64, perturbation: u64 },
}

impl Classify {
    #[inline]
    fn queue(self, flow: u32) -> usize {
        match self {
            Classify::Perfect => flow as usize,
            Classify::Stochastic { queues, perturbation } => {
                // The finalizer of SplitMix64 (Steele, Lea and Flood 2014), then the upper bits scaled to the range.
                let mut z = u64::from(flow) ^ perturbation;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^= z >> 31;
                ((u128::from(z) * u128::from(queues)) >> 64) as usize
            }
        }
    }
}

/// Flow queueing under CoDel.
#[derive(Clone, Debug)]
struct FqCodel {
    limits: Limits,
    law: Law,
    quantum: i64,
    drop_batch: u32,
    classify: Classify,
    lines: Vec<Line>,
    store: Store,
    /// Queues that just became busy.
    new: List,
    /// Queues that have sent a quantum since, or became empty.
    old: List,
}

impl FqCodel {
    fn new(p: &Params, mut site: Site) -> Result<FqCodel, ParamError> {
        let law = Law::new(p, &site)?;
        let classify = if p.text("hash") == "stochastic" {
            Classify::Stochastic { queues: p.int("queues"), perturbation: site.rng.next_u64() }
        } else {
            Classify::Perfect
        };
        Ok(FqCodel {
            limits: site.limits,
            law,
            quantum: p.int("quantum") as i64,
            drop_batch: p.int("drop_batch") as u32,
            classify,
            lines: Vec::new(),
            store: Store { places: Vec::new(), free: NONE, sizes: Sizes::default(), total: Backlog::default() },
            new: List::EMPTY,
            old: List::EMPTY,
        })
    }

    #[cold]
    fn grow(&mut self, queues: usize) {
        self.lines.resize(queues, Line::empty());
        self.store.sizes.grow(queues);
    }

    /// Drops from the longest queue until the limit holds (RFC 8290 §4.1): each time up to half its bytes, so that the
    /// search for it is not needed for every packet. What just arrived may be among it.
    #[cold]
    fn make_room(&mut self, now: Time, in_service: Backlog, sink: &mut dyn Sink) {
        loop {
            let queue = self.limits.counted(self.store.total, in_service);
            if queue.packets <= self.limits.packets && queue.bytes <= self.limits.bytes {
                return;
            }
            let Some((i, bytes)) = self.store.sizes.fattest() else { return };
            let line = &mut self.lines[i];
            let mut drops = 0;
            while let Some((parcel, left)) = self.store.pop(&mut line.head, i) {
                sink.dropped(now, parcel, Reason::Full);
                drops += 1;
                if drops >= self.drop_batch || bytes - left >= bytes / 2 {
                    break;
                }
            }
            line.codel.count_overflow(&self.law, drops);
        }
    }
}

impl Queue for FqCodel {
    fn enqueue(&mut self, now: Time, parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        let i = self.classify.queue(parcel.flow);
        if i >= self.lines.len() {
            self.grow(i + 1);
            return self.enqueue(now, parcel, in_service, sink);
        }
        let room = self.limits.admit(self.store.total, in_service, parcel.len);
        let line = &mut self.lines[i];
        self.store.push(line, i, parcel);
        if !line.listed {
            line.listed = true;
            line.credits = self.quantum;
            self.new.push(&mut self.lines, i as u32);
        }
        if !room {
            self.make_room(now, in_service, sink);
        }
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn Sink) -> Option<Parcel> {
        let FqCodel { law, lines, store, new, old, .. } = self;
        loop {
            let is_new = new.head != NONE;
            let list = if is_new { &mut *new } else { &mut *old };
            let at = list.head;
            if at == NONE {
                return None;
            }
            let i = at as usize;
            let line = &mut lines[i];
            if line.credits <= 0 {
                line.credits += self.quantum;
                let next = std::mem::replace(&mut line.next, NONE);
                if is_new {
                    list.head = next;
                    old.push(lines, at);
                } else if next != NONE {
                    old.rotate(lines, at, next);
                }
                continue;
            }
            let codel = &mut line.codel;
            if let Some((parcel, _)) = store.pop_if(&mut line.head, i, |parcel| codel.passes(law, now, parcel)) {
                line.credits -= i64::from(parcel.len);
                return Some(parcel);
            }
            let head = &mut line.head;
            let next = || {
                let (parcel, left) = store.pop(head, i)?;
                Some((parcel, if law.linux() { store.total.bytes } else { left }))
            };
            if let Some(parcel) = line.codel.dequeue(law, now, next, sink) {
                line.credits -= i64::from(parcel.len);
                return Some(parcel);
            }
            list.advance(lines);
            if is_new && !(law.linux() && old.head == NONE) {
                // Once through the old queues, or a flow that sends a packet whenever it is empty would stay new.
                old.push(lines, at);
            } else {
                lines[i].listed = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.store.total
    }
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
