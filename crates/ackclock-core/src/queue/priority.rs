//! Strict priority: a FIFO for each class of packets, and the first class that has any goes first. What finds no room
//! is dropped, or pushes out what arrived last of the last class.

use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink};
use crate::packet::Parcel;
use crate::params::{Params, choice, count};
use crate::ring::Ring;
use crate::time::Time;

/// The entry of the registry.
pub(super) const ENTRY: Discipline = Discipline {
    name: "priority",
    source: "the classic discipline; Linux prio, ns-3 PrioQueueDisc",
    summary: "a FIFO for each class of packets; class 0 goes first, then class 1, and so on",
    params: &[
        count("classes", 3, (1.0, 256.0), "how many classes there are; packets of later ones join the last"),
        choice(
            "full",
            &["arriving", "lowest"],
            "what is dropped when there is no room: the packet that arrives, or the newest of the last class after its own",
        ),
    ],
    default_limit: None,
    build: |p, site| Ok(Box::new(Priority::new(p, &site))),
};

/// The packets of one class.
#[derive(Clone, Debug, Default)]
struct Class {
    fifo: Ring<Parcel>,
    bytes: u64,
}

/// FIFOs served in the order of their classes, in one shared room.
#[derive(Clone, Debug)]
pub struct Priority {
    limits: Limits,
    push_out: bool,
    classes: Vec<Class>,
    waiting: Backlog,
}

impl Priority {
    /// An empty queue.
    pub fn new(p: &Params, site: &Site) -> Priority {
        Priority {
            limits: site.limits,
            push_out: p.text("full") == "lowest",
            classes: vec![Class::default(); p.int("classes") as usize],
            waiting: Backlog::default(),
        }
    }

    /// Makes room for `len` bytes of class `own` by dropping from later classes, and says whether there is room now.
    /// Nothing is dropped in vain.
    fn make_room(&mut self, now: Time, own: usize, len: u32, in_service: Backlog, sink: &mut dyn Sink) -> bool {
        if self.limits.admit(self.waiting, in_service, len) {
            return true;
        }
        if !self.push_out {
            return false;
        }
        let kept = self.classes[..=own].iter().fold(Backlog::default(), |sum, class| Backlog {
            packets: sum.packets + class.fifo.len() as u64,
            bytes: sum.bytes + class.bytes,
        });
        if !self.limits.admit(kept, in_service, len) {
            return false;
        }
        let mut last = self.classes.len() - 1;
        while last > own && !self.limits.admit(self.waiting, in_service, len) {
            match self.classes[last].fifo.pop_back() {
                None => last -= 1,
                Some(victim) => {
                    self.classes[last].bytes -= u64::from(victim.len);
                    self.waiting.packets -= 1;
                    self.waiting.bytes -= u64::from(victim.len);
                    sink.dropped(now, victim, Reason::Full);
                }
            }
        }
        true
    }
}

impl Queue for Priority {
    fn enqueue(&mut self, now: Time, parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        let own = usize::from(parcel.class).min(self.classes.len() - 1);
        if !self.make_room(now, own, parcel.len, in_service, sink) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(parcel.len);
        self.classes[own].bytes += u64::from(parcel.len);
        self.classes[own].fifo.push(parcel);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn Sink) -> Option<Parcel> {
        if self.waiting.packets == 0 {
            return None;
        }
        for class in &mut self.classes {
            if let Some(parcel) = class.fifo.pop() {
                class.bytes -= u64::from(parcel.len);
                self.waiting.packets -= 1;
                self.waiting.bytes -= u64::from(parcel.len);
                return Some(parcel);
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kept;
    use super::super::registry::build;
    use super::*;
    use crate::params::Value;
    use crate::rng::Stream;
    use crate::time::Span;

    fn queue(packets: u64, bytes: u64, full: &str) -> Box<dyn Queue> {
        let site = Site {
            limits: Limits { packets, bytes, includes_service: false },
            rate_bps: 10_000_000,
            delay: Span::ZERO,
            packet: 1500,
            weights: Vec::new(),
            rng: Stream::named(1, 0, "priority"),
        };
        build("priority", &[("full".into(), Value::Text(full.into()))], site).unwrap()
    }

    /// Packets of these classes and sizes arrive while the link is busy; what leaves, and what was dropped.
    fn play(mut q: Box<dyn Queue>, arrivals: &[(u8, u32)]) -> (Vec<u32>, Vec<u32>) {
        let mut sink = Kept::default();
        let busy = Backlog { packets: 1, bytes: 1000 };
        for (id, &(class, len)) in arrivals.iter().enumerate() {
            q.enqueue(Time::ZERO, Parcel { id: id as u32, len, class, ..Parcel::default() }, busy, &mut sink);
        }
        let left = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut sink)).map(|p| p.id).collect();
        assert_eq!(q.backlog(), Backlog::default());
        assert!(sink.dropped.iter().all(|(_, _, reason)| *reason == Reason::Full));
        (left, sink.dropped.iter().map(|(_, p, _)| p.id).collect())
    }

    #[test]
    fn the_first_class_goes_first_and_each_class_keeps_its_order() {
        let arrivals = [(2, 1000), (1, 1000), (0, 1000), (1, 1000), (9, 1000), (0, 1000)];
        let (left, dropped) = play(queue(100, u64::MAX, "arriving"), &arrivals);
        // Class 9 is beyond the three there are: it joins class 2.
        assert_eq!((left, dropped), (vec![2, 5, 1, 3, 0, 4], vec![]));
    }

    #[test]
    fn without_room_the_arriving_packet_is_dropped() {
        let (left, dropped) = play(queue(2, u64::MAX, "arriving"), &[(2, 1000), (2, 1000), (0, 1000)]);
        assert_eq!((left, dropped), (vec![0, 1], vec![2]));
    }

    #[test]
    fn or_the_newest_of_the_last_class_is_pushed_out() {
        let arrivals = [(2, 1000), (1, 1000), (2, 1000), (0, 1000), (2, 1000), (1, 1000), (1, 1000)];
        // 3 pushes out 2; 4 finds no later class; 5 pushes out 0; 6 finds none after class 1.
        let (left, dropped) = play(queue(3, u64::MAX, "lowest"), &arrivals);
        assert_eq!((left, dropped), (vec![3, 1, 5], vec![2, 4, 0, 6]));
    }

    #[test]
    fn nothing_is_pushed_out_in_vain() {
        // 1000 of 3000 bytes could be freed, which is not enough for 2500.
        let (left, dropped) = play(queue(9, 3000, "lowest"), &[(0, 1000), (1, 1000), (2, 1000), (1, 2500)]);
        assert_eq!((left, dropped), (vec![0, 1, 2], vec![3]));
        // Both later packets make room for 2000 bytes.
        let (left, dropped) = play(queue(9, 3000, "lowest"), &[(0, 1000), (1, 1000), (2, 1000), (0, 2000)]);
        assert_eq!((left, dropped), (vec![0, 3], vec![2, 1]));
    }
}
