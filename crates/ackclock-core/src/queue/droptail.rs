//! DropTail: first in, first out; what finds no room is dropped. With a step it marks what finds too much before it,
//! the switch of DCTCP (Alizadeh et al., Data center TCP, SIGCOMM 2010, §3.1). Who else may be dropped, and when, is in
//! `options`: the plain queue knows nothing of it.

mod options;

use super::registry::{Discipline, Site};
use super::{Backlog, Queue, Reason, Sink, mark};
use crate::packet::{Ecn, Parcel};
use crate::params::{ParamError, Params, Value, choice, time};
use crate::ring::Ring;
use crate::time::{Span, Time};
use options::{Sacrificing, Victim};

/// The room of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most packets.
    pub packets: u64,
    /// Most bytes.
    pub bytes: u64,
    /// Whether the packet in transmission takes room (Linux netem, ns-3 devices) or not (ns-2).
    pub includes_service: bool,
}

impl Limits {
    /// Whether a packet of `len` bytes finds room. `waiting` excludes the packet `in_service`.
    #[inline]
    pub fn admit(&self, waiting: Backlog, in_service: Backlog, len: u32) -> bool {
        if !self.includes_service && in_service.packets == 0 {
            // An idle link takes the packet at once: it never waits.
            return true;
        }
        let queue = self.counted(waiting, in_service);
        queue.packets < self.packets && queue.bytes + u64::from(len) <= self.bytes
    }

    /// The length of the queue as the limit counts it.
    #[inline]
    pub fn counted(&self, waiting: Backlog, in_service: Backlog) -> Backlog {
        if self.includes_service {
            Backlog { packets: waiting.packets + in_service.packets, bytes: waiting.bytes + in_service.bytes }
        } else {
            waiting
        }
    }
}

/// The length of a queue above which it marks: the threshold K of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Step {
    /// Nothing is marked.
    pub const NEVER: Step = Step { packets: u64::MAX, bytes: u64::MAX };

    /// Whether a packet with this ECN field is marked that finds `backlog` before it, counted as the limit counts.
    #[inline]
    pub fn marks(&self, backlog: Backlog, ecn: Ecn) -> bool {
        (backlog.packets > self.packets || backlog.bytes > self.bytes) && matches!(ecn, Ecn::Ect0 | Ecn::Ect1)
    }
}

/// The entry of the registry.
pub(super) const ENTRY: Discipline = Discipline {
    name: "droptail",
    source: "RFC 2309 §2; 3GPP TS 36.323 §5.4 (age)",
    summary: "first in, first out; what finds no room is dropped",
    params: &[
        choice(
            "drop",
            &["tail", "head", "random"],
            "who is dropped when there is no room: the arrival, the oldest, or any",
        ),
        time(
            "max_age",
            0,
            (0.0, 3600.0),
            "longer than this no packet waits, it is dropped (discard timer); 0: for ever",
        ),
    ],
    default_limit: None,
    build: |p, site| Ok(choose(p, site, Step::NEVER)),
};

/// The queue that `p` describes: the plain one unless an option is set.
fn choose(p: &Params, site: Site, step: Step) -> Box<dyn Queue> {
    let victim = match p.text("drop") {
        "head" => Victim::Head,
        "random" => Victim::Random,
        _ => Victim::Tail,
    };
    let max_age = p.duration("max_age");
    if victim == Victim::Tail && max_age == Span::ZERO {
        return Box::new(DropTail::new(site.limits, step));
    }
    let max_age = if max_age == Span::ZERO { Span::MAX } else { max_age };
    Box::new(Sacrificing::new(site.limits, step, victim, max_age, site.rng))
}

/// A FIFO with a limit.
#[derive(Clone, Debug)]
pub struct DropTail {
    limits: Limits,
    step: Step,
    fifo: Ring<Parcel>,
    bytes: u64,
}

impl DropTail {
    /// An empty queue.
    pub fn new(limits: Limits, step: Step) -> DropTail {
        DropTail { limits, step, fifo: Ring::default(), bytes: 0 }
    }

    /// A queue with the options `given` that also marks by `step`, which is no option: what it is depends on the path.
    ///
    /// # Errors
    /// An unknown option or a wrong value.
    pub fn marking(given: &[(String, Value)], site: Site, step: Step) -> Result<Box<dyn Queue>, ParamError> {
        Ok(choose(&Params::new(ENTRY.params, given)?, site, step))
    }
}

impl Queue for DropTail {
    fn enqueue(&mut self, now: Time, mut parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        let waiting = self.backlog();
        if !self.limits.admit(waiting, in_service, parcel.len) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        if self.step.marks(self.limits.counted(waiting, in_service), parcel.ecn) {
            mark(now, &mut parcel, Reason::Threshold, sink);
        }
        self.bytes += u64::from(parcel.len);
        self.fifo.push(parcel);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn Sink) -> Option<Parcel> {
        let parcel = self.fifo.pop()?;
        self.bytes -= u64::from(parcel.len);
        Some(parcel)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kept;
    use super::*;

    fn fill(limits: Limits, n: u64, in_service: u64) -> u64 {
        let mut q = DropTail::new(limits, Step::NEVER);
        let service = Backlog { packets: in_service, bytes: in_service * 1000 };
        let mut sink = Kept::default();
        for id in 0..n {
            let p = Parcel { id: id as u32, len: 1000, ..Parcel::default() };
            q.enqueue(Time(id), p, service, &mut sink);
        }
        let drops = sink.dropped.len() as u64;
        assert_eq!(q.backlog(), Backlog { packets: n - drops, bytes: (n - drops) * 1000 });
        drops
    }

    #[test]
    fn what_finds_more_than_the_threshold_is_marked() {
        let limits = Limits { packets: 100, bytes: u64::MAX, includes_service: true };
        let marked = |step: Step, limits: Limits, ecn: Ecn| {
            let mut q = DropTail::new(limits, step);
            let service = Backlog { packets: 1, bytes: 1000 };
            let parcel = |id| Parcel { id, len: 1000, ecn, ..Parcel::default() };
            let mut sink = Kept::default();
            (0..8).for_each(|id| q.enqueue(Time::ZERO, parcel(id), service, &mut sink));
            let first = sink.marked.first().map(|(_, p, _)| p.id as usize);
            // What was marked at its arrival leaves marked.
            let left = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut sink));
            assert_eq!(left.map(|p| p.ecn == Ecn::Ce).position(|m| m), first);
            first
        };
        let packets = Step { packets: 5, bytes: u64::MAX };
        // With the one in service the queue holds 6 when the sixth arrives: five wait.
        assert_eq!(marked(packets, limits, Ecn::Ect0), Some(5));
        assert_eq!(marked(packets, Limits { includes_service: false, ..limits }, Ecn::Ect1), Some(6));
        assert_eq!(marked(Step { packets: u64::MAX, bytes: 3000 }, limits, Ecn::Ect0), Some(3));
        assert_eq!(marked(packets, limits, Ecn::NotEct), None);
        assert_eq!(marked(Step::NEVER, limits, Ecn::Ect0), None);
    }

    #[test]
    fn limits_count_what_they_say() {
        let packets = Limits { packets: 10, bytes: u64::MAX, includes_service: false };
        assert_eq!(fill(packets, 15, 1), 5);
        assert_eq!(fill(Limits { includes_service: true, ..packets }, 15, 1), 6);
        let bytes = Limits { packets: u64::MAX, bytes: 9_999, includes_service: false };
        assert_eq!(fill(bytes, 15, 1), 6);
    }
}
