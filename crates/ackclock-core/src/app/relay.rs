//! A relay between two connections: split TCP (a performance-enhancing proxy, RFC 3135 §2.4, §3.1).
//!
//! It stands between the two ends of a flow. Towards each it has a *leg*, connections of its own: those of leg 0 with the
//! source, those of leg 1 with the sink. What arrives over the one leg is written into the other one as it comes, with its
//! messages and its end. No byte is dropped or changes its place: what a leg may still be sent is the room that the buffer
//! has left, and the window says so.
//!
//! The buffer, one for each direction of each pair of connections, holds what has arrived in order over the one leg
//! and is not acknowledged by the other.

use super::{Conn, Failure, Host};
use crate::time::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// A connection as a relay needs it, besides what applications do.
pub trait Leg: Host {
    /// Bytes that have come in order, read or not.
    fn arrived(&self, conn: Conn) -> u64;

    /// Bytes written that the peer has acknowledged.
    fn acknowledged(&self, conn: Conn) -> u64;

    /// From now on the peer is offered at most `room` bytes beyond what has arrived, but never less than it was promised.
    fn offer(&mut self, conn: Conn, room: u64);

    /// What the peer answers to the request of this connection waits for [`Leg::release`].
    fn hold(&mut self, conn: Conn);

    /// The request of the peer, or its answer, which is being held, is taken as if it came now.
    fn release(&mut self, conn: Conn);
}

/// The hosts of both legs, and the node that the relay is on.
pub trait Legs {
    /// That of leg number `leg`.
    fn at(&mut self, leg: usize) -> &mut dyn Leg;

    /// The node, which relays of several flows may have in common.
    fn node(&mut self) -> &mut Node;
}

/// A node with relays: what they share.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// How long its processor takes for a segment with data, one after the other.
    pub per_segment: Span,
    /// Most pairs of connections at a time; a client beyond is reset.
    pub connections: u64,
    /// Pairs that there are.
    open: u64,
    /// When the processor has done everything that it was given.
    free: Time,
}

impl Node {
    /// One without connections.
    pub fn new(per_segment: Span, connections: u64) -> Node {
        Node { per_segment, connections, open: 0, free: Time::ZERO }
    }

    /// Gives the processor this many `segments` at `now`; when they are done.
    fn process(&mut self, now: Time, segments: u64) -> Time {
        if self.per_segment == Span(0) {
            return now;
        }
        self.free = self.free.max(now) + Span(self.per_segment.0.saturating_mul(segments));
        self.free
    }
}

/// When the request of a client is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// At once; the other leg is opened meanwhile.
    #[default]
    Transparent,
    /// At once; the other leg is opened when the client has answered in turn, which is when a program that accepts
    /// connections learns of it.
    Accepted,
    /// When the other leg is established.
    Lazy,
    /// When the server has answered, which is told of its client's acknowledgment only: the handshake is one from end to
    /// end, and is split behind.
    SynForward,
}

/// What a relay is.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Bytes of the buffer of each direction.
    pub buffer: u64,
    /// When clients are answered.
    pub opening: Opening,
    /// How long what has arrived takes to the other leg, besides the time of the node's processor.
    pub delay: Span,
    /// Payload of a full segment of each leg.
    pub mss: [u64; 2],
}

/// What has happened to a connection of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The peer's request, or its answer, is being held.
    Held,
    /// It is established.
    Established,
    /// A message ends at this position of the stream; this is its word.
    Message(u64, u64),
    /// Something has arrived or is acknowledged.
    Moved,
    /// The peer closed its direction; everything before has arrived.
    Closed,
    /// It failed; its name means nothing any more.
    Failed(Failure),
}

/// One direction of a pair.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Bytes in order over the one leg, those written into the other one, and those of them acknowledged there.
    arrived: u64,
    passed: u64,
    acked: u64,
    /// What had arrived when the window was last set.
    told: u64,
    /// What the processor was given, and when it has done it.
    given: u64,
    ready: Time,
    /// Its end was passed on.
    closed: bool,
}

impl Way {
    fn held(&self) -> u64 {
        self.arrived - self.acked
    }
}

/// A connection of each leg.
#[derive(Clone, Copy, Debug)]
struct Pair {
    conns: [Conn; 2],
    /// The leg whose peer opened.
    client: usize,
    /// By the leg that it comes from.
    ways: [Way; 2],
}

/// What takes its time to the other leg.
#[derive(Clone, Copy, Debug)]
struct Later {
    at: Time,
    pair: u64,
    from: usize,
    /// Up to this position, with this word; nothing: the end.
    data: Option<(u64, Option<u64>)>,
}

/// The relay of a flow.
#[derive(Debug)]
pub struct Relay {
    setting: Setting,
    pairs: BTreeMap<u64, Pair>,
    /// Which pair a connection of a leg belongs to.
    numbers: [BTreeMap<Conn, u64>; 2],
    next: u64,
    later: VecDeque<Later>,
    most: u64,
    refused: u64,
    undelivered: u64,
}

impl Relay {
    /// One that has no connection yet.
    pub fn new(setting: Setting) -> Relay {
        Relay {
            setting,
            pairs: BTreeMap::new(),
            numbers: [BTreeMap::new(), BTreeMap::new()],
            next: 0,
            later: VecDeque::new(),
            most: 0,
            refused: 0,
            undelivered: 0,
        }
    }

    /// What it was made with.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// When it wants to be called next.
    pub fn due(&self) -> Time {
        self.later.front().map_or(Time::NEVER, |l| l.at)
    }

    /// The time it named has come.
    pub fn on_due(&mut self, legs: &mut dyn Legs, now: Time) {
        while let Some(l) = self.later.front().copied().filter(|l| l.at <= now) {
            self.later.pop_front();
            self.pass(legs, l.pair, l.from, l.data);
        }
    }

    /// Something has happened to `conn` of leg number `leg`.
    pub fn on_news(&mut self, legs: &mut dyn Legs, leg: usize, conn: Conn, news: News) {
        let Some(id) = self.numbers[leg].get(&conn).copied() else {
            match (self.setting.opening, news) {
                (Opening::Accepted, News::Held) => legs.at(leg).release(conn),
                (Opening::Accepted, News::Established) | (_, News::Held) => self.on_client(legs, leg, conn),
                _ => {}
            }
            return;
        };
        let Some(client) = self.pairs.get(&id).map(|p| p.client) else { return };
        match news {
            News::Held => self.hand_on(legs, id, client),
            News::Established => match (self.setting.opening, leg == client) {
                (Opening::Lazy, false) => self.hand_on(legs, id, client),
                (Opening::SynForward, true) => self.hand_on(legs, id, 1 - client),
                _ => {}
            },
            News::Message(end, word) => self.send_on(legs, id, leg, Some((end, Some(word)))),
            News::Moved => self.on_moved(legs, id, leg),
            News::Closed => {
                self.on_moved(legs, id, leg);
                self.send_on(legs, id, leg, None);
            }
            News::Failed(_) => self.on_failed(legs, id, leg),
        }
    }

    /// A client asks for a connection.
    fn on_client(&mut self, legs: &mut dyn Legs, leg: usize, conn: Conn) {
        let node = legs.node();
        if node.open >= node.connections {
            self.refused += 1;
            legs.at(leg).abort(conn);
            return;
        }
        node.open += 1;
        let other = legs.at(1 - leg).open();
        let id = self.next;
        self.next += 1;
        let conns = if leg == 0 { [conn, other] } else { [other, conn] };
        self.pairs.insert(id, Pair { conns, client: leg, ways: [Way::default(); 2] });
        for (numbers, conn) in self.numbers.iter_mut().zip(conns) {
            numbers.insert(conn, id);
        }
        match self.setting.opening {
            Opening::Transparent => legs.at(leg).release(conn),
            Opening::Accepted | Opening::Lazy => {}
            Opening::SynForward => legs.at(1 - leg).hold(other),
        }
    }

    /// The handshake over `leg` goes on.
    fn hand_on(&mut self, legs: &mut dyn Legs, id: u64, leg: usize) {
        if let Some(pair) = self.pairs.get(&id) {
            legs.at(leg).release(pair.conns[leg]);
        }
    }

    /// Something came over `leg`: data, or acknowledgments of what was passed on to it.
    fn on_moved(&mut self, legs: &mut dyn Legs, id: u64, leg: usize) {
        let Some(pair) = self.pairs.get_mut(&id) else { return };
        let host = legs.at(leg);
        let (arrived, acked) = (host.arrived(pair.conns[leg]), host.acknowledged(pair.conns[leg]));
        let came = arrived > pair.ways[leg].told;
        let freed = acked > pair.ways[1 - leg].acked;
        pair.ways[leg].arrived = pair.ways[leg].arrived.max(arrived);
        pair.ways[leg].told = arrived;
        pair.ways[1 - leg].acked = pair.ways[1 - leg].acked.max(acked);
        for (changed, way) in [(came, leg), (freed, 1 - leg)] {
            let held = pair.ways[way].held();
            debug_assert!(held <= self.setting.buffer, "{held} bytes in a buffer of {}", self.setting.buffer);
            self.most = self.most.max(held);
            if changed {
                legs.at(way).offer(pair.conns[way], self.setting.buffer.saturating_sub(held));
            }
        }
        if came {
            self.send_on(legs, id, leg, Some((arrived, None)));
        }
        self.forget_if_over(legs, id);
    }

    /// What came over leg `from` is passed on, at once or after the time that it takes.
    fn send_on(&mut self, legs: &mut dyn Legs, id: u64, from: usize, data: Option<(u64, Option<u64>)>) {
        let Some(way) = self.pairs.get_mut(&id).map(|pair| (&mut pair.ways[from], pair.conns[from])) else { return };
        let (way, conn) = way;
        let (now, arrived) = (legs.at(from).now(), legs.at(from).arrived(conn));
        if arrived > way.given {
            let segments = (arrived - way.given).div_ceil(self.setting.mss[from].max(1));
            way.given = arrived;
            way.ready = legs.node().process(now, segments);
        }
        // In the order in which it came, whatever connection it is of: what is passed on first leaves first.
        let before = self.later.back().map_or(Time::ZERO, |l| l.at);
        let at = (way.ready.max(now) + self.setting.delay).max(before);
        if at <= now {
            self.pass(legs, id, from, data);
        } else {
            self.later.push_back(Later { at, pair: id, from, data });
        }
    }

    fn pass(&mut self, legs: &mut dyn Legs, id: u64, from: usize, data: Option<(u64, Option<u64>)>) {
        let Some(pair) = self.pairs.get_mut(&id) else { return };
        let (way, conn, host) = (&mut pair.ways[from], pair.conns[1 - from], legs.at(1 - from));
        if let Some((end, word)) = data {
            // A message may be told of before the bytes are counted as arrived.
            way.arrived = way.arrived.max(end);
            let bytes = end.saturating_sub(way.passed);
            match word {
                Some(word) => host.say(conn, bytes, word),
                None if bytes > 0 => host.write(conn, bytes),
                None => {}
            }
            way.passed += bytes;
        } else {
            debug_assert_eq!(way.passed, way.arrived, "the end comes behind everything");
            way.closed = true;
            host.close(conn);
        }
        debug_assert!(way.acked <= way.passed && way.passed <= way.arrived, "bytes are conserved: {way:?}");
        self.forget_if_over(legs, id);
    }

    /// A pair that has nothing left to pass on, and never will.
    fn forget_if_over(&mut self, legs: &mut dyn Legs, id: u64) {
        let over = |p: &Pair| p.ways.iter().all(|w| w.closed && w.held() == 0);
        if self.pairs.get(&id).is_some_and(over) {
            self.forget(legs, id);
        }
    }

    fn forget(&mut self, legs: &mut dyn Legs, id: u64) -> Option<Pair> {
        let pair = self.pairs.remove(&id)?;
        legs.node().open -= 1;
        for (numbers, conn) in self.numbers.iter_mut().zip(pair.conns) {
            numbers.remove(&conn);
        }
        Some(pair)
    }

    /// The connection of `leg` failed: what its peer has not got is lost, whoever believes that it has.
    fn on_failed(&mut self, legs: &mut dyn Legs, id: u64, leg: usize) {
        let Some(pair) = self.forget(legs, id) else { return };
        self.undelivered += pair.ways.iter().map(Way::held).sum::<u64>();
        legs.at(1 - leg).abort(pair.conns[1 - leg]);
    }

    /// What it has measured, for the results: the most that a buffer held, bytes; bytes that it took over and that nobody
    /// got (RFC 3135 §4.1), because a connection failed or was given up; clients that it refused.
    pub fn measures(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("relay_most_buffered_bytes", self.most as f64),
            ("acked_undelivered_bytes", self.undelivered as f64),
            ("relay_refused", self.refused as f64),
        ]
    }
}
