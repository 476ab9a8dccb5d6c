//! Probe points: places where somebody looks at packets that pass, for captures.
//!
//! A probe point is a stop on a route, as elements are, at which a packet spends no time. A run that captures nothing has
//! none, so its packets meet nothing that others would not. In one that captures every route begins with such a stop, whose
//! work is what a host's network layer does: it numbers the packet ([`Sight::id`]).
//!
//! What a queue drops it may drop long after it has let it in, and whoever looks at the input of the link wants to be told
//! with the packet. So what is seen there waits, and everything seen behind it, until the link has given the packet back or
//! dropped it: sights come in the order in which packets passed, complete.

mod doors;

use crate::engine::Sim;
use crate::flow::Conn;
use crate::wire::Link;
use ackclock_core::packet::{Family, FourTuple, Packet};
use ackclock_core::tcp::Cause;
use ackclock_core::time::Time;
use std::collections::{BTreeMap, VecDeque};

pub(crate) use doors::{Door, Doors};
pub use doors::{MOST_POINTS, points};

/// A packet at a probe point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// When.
    pub at: Time,
    /// Where: a place in [`points`].
    pub point: u32,
    /// Where it comes from and goes to.
    pub addresses: FourTuple,
    /// The packet as it is here.
    pub packet: Packet,
    /// Its number among those of its host, from 1, modulo 2^16 without 0: the identification of its IP header.
    pub id: u16,
    /// Why its sender sent it again, if it did.
    pub repeated: Option<Cause>,
    /// At the input of a link: why it will not come out. The name of a [`Reason`](ackclock_core::queue::Reason), or "lost"
    /// by the medium.
    pub dropped: Option<&'static str>,
    /// Whether it is the second of two that a medium made of one.
    pub copy: bool,
}

/// Who looks at them.
pub trait Tap: Send {
    /// A packet passed a probe point. Times do not run back.
    fn see(&mut self, sight: &Sight);
}

/// What is kept with a packet in flight; beside its slot, which has no room.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    id: u16,
    repeated: Option<Cause>,
    /// Number of the sight that waits to be told what becomes of it; 0: none does.
    waits: u64,
}

/// What is kept with packets in flight while somebody captures.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    of_slots: Vec<Note>,
    /// Sights whose packets were dropped, and why.
    falls: Vec<(u64, &'static str)>,
}

impl Notes {
    fn at(&mut self, slot: u32) -> &mut Note {
        let slot = slot as usize;
        if slot >= self.of_slots.len() {
            self.of_slots.resize(slot + 1, Note::default());
        }
        &mut self.of_slots[slot]
    }

    /// The packet in `slot` was dropped for `reason`.
    pub fn dropped(&mut self, slot: u32, reason: &'static str) {
        let note = self.at(slot);
        if note.waits > 0 {
            let sight = std::mem::take(&mut note.waits);
            self.falls.push((sight, reason));
        }
    }

    /// The packet in `copy` is made like that in `slot`.
    pub fn copied(&mut self, slot: u32, copy: u32) {
        *self.at(copy) = Note { waits: 0, ..*self.at(slot) };
    }
}

/// The state of a run's probe points.
pub(crate) struct Taps {
    doors: Vec<Door>,
    tap: Option<Box<dyn Tap>>,
    family: Family,
    /// Packets that each host has sent, modulo 2^16: flow by flow its source and its sink.
    sent: Vec<u16>,
    /// Connections that had a place before: place and generation, flow and number.
    before: BTreeMap<(u32, u16), (u32, u64)>,
    /// What has been seen and not told, from number `told` + 1 on, and whether it is complete.
    waiting: VecDeque<(Sight, bool)>,
    told: u64,
}

/// How many connections that had a place before are remembered: a packet outlives its connection by little.
const REMEMBERED: u16 = 8;

impl Taps {
    pub(crate) fn new(doors: Vec<Door>, flows: usize) -> Taps {
        let family = if flows > FourTuple::MOST_FLOWS_V4 { Family::V6 } else { Family::V4 };
        Taps {
            doors,
            tap: None,
            family,
            sent: vec![0; 2 * flows],
            before: BTreeMap::new(),
            waiting: VecDeque::new(),
            told: 0,
        }
    }

    /// The place of `conn` is about to be another's.
    pub(crate) fn leaves(&mut self, place: usize, generation: u16, conn: &Conn) {
        self.before.insert((place as u32, generation), (conn.flow, conn.number));
        self.before.remove(&(place as u32, generation.wrapping_sub(REMEMBERED)));
    }

    /// The next number of the host.
    fn number(&mut self, host: usize) -> u16 {
        let Some(sent) = self.sent.get_mut(host) else { return 0 };
        *sent = sent.wrapping_add(1).max(1);
        *sent
    }

    /// Tells what is complete.
    #[inline]
    fn see(&mut self, sight: Sight, complete: bool) -> u64 {
        if complete && self.waiting.is_empty() {
            if let Some(tap) = &mut self.tap {
                tap.see(&sight);
            }
            self.told += 1;
            return 0;
        }
        self.waiting.push_back((sight, complete));
        self.told + self.waiting.len() as u64
    }

    /// The sight with this number is complete: its packet goes on, or was dropped.
    fn complete(&mut self, number: u64, dropped: Option<&'static str>) {
        let place = number.checked_sub(self.told + 1).map(|place| place as usize);
        if let Some((sight, complete)) = place.and_then(|place| self.waiting.get_mut(place)) {
            (sight.dropped, *complete) = (dropped, true);
        }
    }

    /// Tells what has become complete, or at the end of the run all.
    fn tell(&mut self, all: bool) {
        while let Some((sight, complete)) = self.waiting.front() {
            if !(*complete || all) {
                return;
            }
            if let Some(tap) = &mut self.tap {
                tap.see(sight);
            }
            self.told += 1;
            self.waiting.pop_front();
        }
    }
}

impl Sim {
    /// From now on `tap` sees what passes the probe points of the run (`capture` of the document).
    pub fn set_tap(&mut self, tap: Box<dyn Tap>) {
        if let Some(taps) = &mut self.taps {
            taps.tap = Some(tap);
        }
    }

    /// The version of the addresses that a tap sees.
    pub fn tap_family(&self) -> Family {
        self.taps.as_ref().map_or(Family::V4, |taps| taps.family)
    }

    /// Gives the tap back.
    pub fn take_tap(&mut self) -> Option<Box<dyn Tap>> {
        self.taps.as_mut()?.tap.take()
    }

    /// A packet passes the probe point behind `door`, and goes on.
    pub(crate) fn pass_tap(&mut self, now: Time, door: u32, id: u32, len: u32) {
        let Some(mut taps) = self.taps.take() else { return };
        let door = taps.doors[(door - self.layout.taps) as usize];
        let number = self.look(&mut taps, now, door, id);
        self.taps = Some(taps);
        self.arrive_by_others(now, id, len);
        if let (Door::Into { link, .. }, true) = (door, number > 0) {
            self.look_behind(link, number, id);
        }
    }

    /// What is seen at `door` of the packet in slot `id`. Returns the number of the sight if it waits.
    fn look(&mut self, taps: &mut Taps, now: Time, door: Door, id: u32) -> u64 {
        let slot = self.slab.get(id);
        let (side, generation, packet, copy) = (slot.side as usize, slot.generation, slot.packet, slot.copy);
        let conn = &self.conns[side / 2];
        let there = self.sides[side].stamp.generation == generation;
        let before = || taps.before.get(&((side / 2) as u32, generation)).copied();
        let (flow, number) =
            if there { Some((conn.flow, conn.number)) } else { before() }.unwrap_or((conn.flow, conn.number));
        if let Door::Source(_) = door {
            let endpoint = self.sides[side].endpoint.as_mut();
            let repeated = endpoint.and_then(|e| e.tx.take_repeated());
            let number = taps.number(2 * flow as usize + side % 2);
            *self.slab.notes().at(id) = Note { id: number, repeated, waits: 0 };
        }
        let note = self.slab.notes().at(id);
        let waits = matches!(door, Door::Into { .. });
        if let Door::OutOf(_) = door {
            let number = std::mem::take(&mut note.waits);
            taps.complete(number, None);
        }
        let Some(point) = door.point() else { return 0 };
        let sent = FourTuple::of_connection(taps.family, flow, number);
        let sight = Sight {
            at: now,
            point,
            addresses: if side % 2 == 0 { sent } else { sent.reversed() },
            packet,
            id: note.id,
            repeated: note.repeated,
            dropped: None,
            copy,
        };
        let number = taps.see(sight, !waits);
        if waits {
            self.slab.notes().at(id).waits = number;
        }
        self.tell_complete(taps);
        number
    }

    /// Tells what is complete by now.
    #[inline]
    fn tell_complete(&mut self, taps: &mut Taps) {
        let falls = &mut self.slab.notes().falls;
        if !falls.is_empty() {
            for (number, reason) in falls.drain(..) {
                taps.complete(number, Some(reason));
            }
        }
        taps.tell(false);
    }

    /// A packet has entered link number `link`, seen before it as `number`. One that is solved on arrival knows at once what
    /// becomes of it.
    fn look_behind(&mut self, link: u32, number: u64, id: u32) {
        let Some(mut taps) = self.taps.take() else { return };
        if let Link::Fused(_) = self.links[link as usize] {
            let note = self.slab.notes().at(id);
            if note.waits == number {
                note.waits = 0;
                taps.complete(number, None);
            }
        }
        self.tell_complete(&mut taps);
        self.taps = Some(taps);
    }

    /// The run has ended: what still waits in a queue has not been dropped.
    pub(crate) fn finish_taps(&mut self) {
        let Some(mut taps) = self.taps.take() else { return };
        self.tell_complete(&mut taps);
        taps.tell(true);
        self.taps = Some(taps);
    }
}
