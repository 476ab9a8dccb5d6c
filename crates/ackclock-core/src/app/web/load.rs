//! A page that is being loaded: which of its objects are known, wait, are under way and have come, and when that was.

use super::page::Plan;
use super::report::{Object, Split};
use crate::time::{Span, Time};
use std::collections::VecDeque;

/// An object and what has happened to it.
#[derive(Clone, Debug)]
struct State {
    bytes: u64,
    /// From its last parent to when it is known.
    parse: Span,
    /// Parents that have not come.
    missing: u32,
    /// The parent that came last.
    parent: Option<u32>,
    known: Option<Time>,
    /// Number of its connection, when this was opened and when established.
    line: Option<(u32, Time, Time)>,
    /// Its request was the first on this connection.
    fresh: bool,
    requested: Option<Time>,
    first: Option<Time>,
    done: Option<Time>,
}

/// The page.
#[derive(Debug)]
pub struct Load {
    /// Its number.
    pub number: u64,
    /// When it began.
    pub start: Time,
    states: Vec<State>,
    /// Those that an object makes known.
    children: Vec<Vec<u32>>,
    /// Known objects that wait for a connection: one queue for all, or one for each connection.
    waiting: Vec<VecDeque<u32>>,
    /// Objects that will be known, rising in time.
    coming: Vec<(Time, u32)>,
    /// Embedded objects that have become known.
    embedded: u32,
    /// Objects that have come.
    done: u32,
}

impl Load {
    /// The page that begins at `start`, whose objects wait in one queue, or with `fixed` in so many: object j of those that
    /// the main one refers to in the queue j mod `fixed`. Objects are known `parse` after what makes them known, unless they
    /// say otherwise.
    pub fn new(number: u64, start: Time, plan: &Plan, parse: Span, fixed: Option<u32>) -> Load {
        let mut children = vec![Vec::new(); plan.objects.len()];
        let mut states = Vec::with_capacity(plan.objects.len());
        for (object, i) in plan.objects.iter().zip(0..) {
            let mut missing = 0;
            for (at, parent) in object.after.iter().enumerate() {
                // One that is named twice counts once.
                if !object.after[..at].contains(parent) {
                    children[*parent as usize].push(i);
                    missing += 1;
                }
            }
            states.push(State {
                bytes: object.bytes,
                parse: object.parse.unwrap_or(parse),
                missing,
                parent: None,
                known: None,
                line: None,
                fresh: false,
                requested: None,
                first: None,
                done: None,
            });
        }
        let waiting = vec![VecDeque::new(); fixed.unwrap_or(1).max(1) as usize];
        let mut load = Load { number, start, states, children, waiting, coming: Vec::new(), embedded: 0, done: 0 };
        load.states[0].known = Some(start);
        load.waiting[0].push_back(0);
        load
    }

    /// Number of its objects, and their bytes.
    pub fn size(&self) -> (u32, u64) {
        (self.states.len() as u32, self.states.iter().map(|s| s.bytes).sum())
    }

    /// Objects that have come.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Embedded objects that have become known.
    pub fn embedded(&self) -> u32 {
        self.embedded
    }

    /// All has come.
    pub fn complete(&self) -> bool {
        self.done as usize == self.states.len()
    }

    /// Objects that wait for a connection.
    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Bytes of an object.
    pub fn bytes(&self, object: u32) -> u64 {
        self.states[object as usize].bytes
    }

    /// When the next object becomes known by itself.
    pub fn due(&self) -> Time {
        self.coming.first().map_or(Time::NEVER, |c| c.0)
    }

    /// What is known by `now` waits from now on.
    pub fn wake(&mut self, now: Time) {
        let n = self.coming.partition_point(|c| c.0 <= now);
        let known: Vec<u32> = self.coming.drain(..n).map(|c| c.1).collect();
        known.into_iter().for_each(|object| self.enqueue(object));
    }

    fn enqueue(&mut self, object: u32) {
        let queue = self.embedded as usize % self.waiting.len();
        self.embedded += 1;
        self.waiting[queue].push_back(object);
    }

    /// The object that the connection at place `line` is to fetch next.
    pub fn take(&mut self, line: usize) -> Option<u32> {
        let queue = if self.waiting.len() > 1 { line } else { 0 };
        self.waiting.get_mut(queue)?.pop_front()
    }

    /// `object` is requested over the connection with this number, which was opened and established then; `fresh`: it is
    /// the first on it.
    pub fn requested(&mut self, object: u32, now: Time, line: (u32, Time, Time), fresh: bool) {
        let state = &mut self.states[object as usize];
        state.line = Some(line);
        (state.fresh, state.requested, state.first) = (fresh, Some(now), None);
    }

    /// The connection at `line` failed with `object` under way: it waits again, before all others.
    pub fn lost(&mut self, object: u32, line: usize) {
        let queue = if self.waiting.len() > 1 { line } else { 0 };
        if let Some(queue) = self.waiting.get_mut(queue) {
            queue.push_front(object);
        }
    }

    /// The connection for all objects failed: what has not come of those requested waits again, in their order.
    pub fn lost_all(&mut self) {
        for object in (0..self.states.len() as u32).rev() {
            let state = &self.states[object as usize];
            if state.requested.is_some() && state.done.is_none() && !self.waiting[0].contains(&object) {
                self.waiting[0].push_front(object);
            }
        }
    }

    /// When `object` was requested, and when its first byte came.
    pub fn times(&self, object: u32) -> Option<(Time, Time)> {
        let state = &self.states[object as usize];
        state.requested.zip(state.first)
    }

    /// The first byte of `object` has come.
    pub fn first_byte(&mut self, object: u32, now: Time) {
        self.states[object as usize].first.get_or_insert(now);
    }

    /// The last byte of `object` has come: those that it makes known are known at once or later.
    pub fn finished(&mut self, object: u32, now: Time) {
        let state = &mut self.states[object as usize];
        state.first.get_or_insert(now);
        if state.done.replace(now).is_some() {
            return;
        }
        self.done += 1;
        for child in std::mem::take(&mut self.children[object as usize]) {
            let state = &mut self.states[child as usize];
            state.missing -= 1;
            if state.missing > 0 {
                continue;
            }
            let at = now + state.parse;
            (state.parent, state.known) = (Some(object), Some(at));
            if at <= now {
                self.enqueue(child);
            } else {
                let place = self.coming.partition_point(|c| c.0 <= at);
                self.coming.insert(place, (at, child));
            }
        }
    }

    /// What the time of the page was spent with, once `object` was the last to come.
    pub fn split(&self, object: u32) -> Split {
        let mut split = Split::default();
        let mut next = Some(object);
        while let Some(i) = next {
            let state = &self.states[i as usize];
            let (Some(known), Some(requested), Some(first), Some(done), Some((_, opened, connected))) =
                (state.known, state.requested, state.first, state.done, state.line)
            else {
                return split;
            };
            split.transfer = split.transfer + done.since(first);
            split.first_byte = split.first_byte + first.since(requested);
            // What it waited for: the handshake of its connection, if it was the first on it; before that, others.
            let shaken = if state.fresh { connected.since(opened.max(known)) } else { Span::ZERO };
            split.handshake = split.handshake + shaken;
            split.queueing = split.queueing + requested.since(known).saturating_sub(shaken);
            if let Some(parent) = state.parent {
                let came = self.states[parent as usize].done.unwrap_or(known);
                split.parse = split.parse + known.since(came);
            }
            next = state.parent;
        }
        split
    }

    /// Its objects, for the results.
    pub fn objects(&self) -> impl Iterator<Item = Object> + '_ {
        self.states.iter().zip(0..).map(|(s, number)| Object {
            page: self.number,
            number,
            bytes: s.bytes,
            parent: s.parent,
            known: s.known,
            connection: s.line.map(|l| l.0),
            opened: s.line.map(|l| l.1),
            connected: s.line.map(|l| l.2),
            requested: s.requested,
            first_byte: s.first,
            done: s.done,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::web::page::Planned;

    fn plan(objects: &[(u64, &[u32], Option<u64>)]) -> Plan {
        let objects = objects.iter().map(|(bytes, after, parse)| Planned {
            bytes: *bytes,
            after: after.to_vec(),
            parse: parse.map(Span),
        });
        Plan { objects: objects.collect(), interval: Span::ZERO }
    }

    /// Main; a style sheet, known 5 after it; a font that needs both, and a script of the main object's.
    fn page() -> Load {
        let plan = plan(&[(100, &[], None), (10, &[0], Some(5)), (20, &[0, 1, 1], None), (30, &[0], Some(0))]);
        Load::new(3, Time(1000), &plan, Span(2), None)
    }

    #[test]
    fn objects_become_known_when_what_refers_to_them_has_come() {
        let mut page = page();
        assert_eq!((page.size(), page.take(0), page.take(0)), ((4, 160), Some(0), None));
        page.finished(0, Time(1100));
        // The script at once, the style sheet in 5.
        assert_eq!((page.take(0), page.take(0), page.due()), (Some(3), None, Time(1105)));
        page.wake(Time(1105));
        assert_eq!((page.take(0), page.due()), (Some(1), Time::NEVER));
        page.finished(1, Time(1200));
        assert_eq!(page.due(), Time(1202));
        page.wake(Time(1202));
        assert_eq!((page.take(0), page.complete(), page.embedded()), (Some(2), false, 3));
        page.finished(2, Time(1300));
        page.finished(3, Time(1310));
        assert!(page.complete());
    }

    #[test]
    fn the_split_adds_up_along_the_chain_of_the_last_object() {
        let mut page = page();
        page.requested(0, Time(1040), (0, Time(1000), Time(1040)), true);
        page.first_byte(0, Time(1080));
        page.finished(0, Time(1100));
        page.wake(Time(1105));
        page.requested(1, Time(1150), (0, Time(1000), Time(1040)), false);
        page.first_byte(1, Time(1190));
        page.finished(1, Time(1200));
        page.wake(Time(1202));
        // A connection of its own, asked for at 1210.
        page.requested(2, Time(1250), (1, Time(1210), Time(1250)), true);
        page.first_byte(2, Time(1290));
        page.finished(2, Time(1300));
        let split = page.split(2);
        let expected = Split {
            handshake: Span(40 + 40),
            queueing: Span(45 + 8),
            first_byte: Span(40 + 40 + 40),
            transfer: Span(20 + 10 + 10),
            parse: Span(5 + 2),
        };
        assert_eq!((split, split.total()), (expected, Span(300)));
        let objects: Vec<Object> = page.objects().collect();
        assert_eq!((objects[2].parent, objects[2].known, objects[2].connection), (Some(1), Some(Time(1202)), Some(1)));
    }

    #[test]
    fn objects_can_be_bound_to_connections() {
        let plan = plan(&[(1, &[], None), (1, &[0], None), (1, &[0], None), (1, &[0], None)]);
        let mut page = Load::new(0, Time(0), &plan, Span::ZERO, Some(2));
        assert_eq!(page.take(0), Some(0));
        page.finished(0, Time(1));
        assert_eq!((page.take(1), page.take(1), page.waiting()), (Some(2), None, 2));
        page.lost(2, 1);
        assert_eq!((page.take(0), page.take(0), page.take(0), page.take(1)), (Some(1), Some(3), None, Some(2)));
    }
}
