//! Applications that open, write, read, close and abort at random: every byte that was promised arrives, none twice, and
//! when all is over everything has been given back.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, cases, document, flow, link, pick, sim};
use ackclock_core::app::{Application, Conn, Connections, End, Failure, Host, Made, Reading};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Nobody does anything new after this, and gives up what is left later.
const QUIET: Time = Time(4_000_000_000);
const OVER: Time = Time(400_000_000_000);

/// What both ends know of a direction of a connection: the tests' omniscience.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    written: u64,
    read: u64,
    /// The writer closed, the reader saw it.
    closed: bool,
    seen: bool,
    /// One of the ends gave up, or its connection failed.
    broken: bool,
}

/// Directions by the connection's number and the end that writes.
type Ledger = Arc<Mutex<BTreeMap<(u64, usize), Way>>>;

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its number in the ledger; the end that accepts learns it with the first message.
    id: Option<u64>,
    by_hand: bool,
    closed: bool,
    read: u64,
    ended: bool,
}

struct Random {
    end: usize,
    rng: Stream,
    ledger: Ledger,
    conns: BTreeMap<Conn, Known>,
    ids: u64,
    next: Time,
}

impl Random {
    fn new(seed: u64, end: usize, ledger: &Ledger) -> Random {
        let rng = Stream::named(seed, end as u64, "random application");
        Random { end, rng, ledger: Arc::clone(ledger), conns: BTreeMap::new(), ids: 0, next: Time(1 + end as u64) }
    }

    /// The way that this end writes, or reads.
    fn way(&self, conn: Conn, writes: bool, f: impl FnOnce(&mut Way)) {
        if let Some(id) = self.conns.get(&conn).and_then(|k| k.id) {
            let end = if writes { self.end } else { self.end ^ 1 };
            f(self.ledger.lock().unwrap().entry((id, end)).or_default());
        }
    }

    /// What has been read so far goes into the ledger.
    fn note_read(&mut self, host: &dyn Host, conn: Conn) {
        let read = host.received(conn);
        // Behind its end there is nothing to read, and once both ends have closed the name means nothing.
        if let Some(known) = self.conns.get_mut(&conn).filter(|k| !k.ended) {
            assert!(read >= known.read, "nothing is taken back");
            known.read = read;
            self.way(conn, false, |w| w.read = read);
        }
    }

    fn give_up(&mut self, conn: Conn) {
        self.way(conn, true, |w| w.broken = true);
        self.way(conn, false, |w| w.broken = true);
        self.conns.remove(&conn);
    }

    fn write(&mut self, host: &mut dyn Host, conn: Conn) {
        let known = self.conns[&conn];
        let Some(id) = known.id.filter(|_| !known.closed) else { return };
        let bytes = 1 + self.rng.below(60_000);
        // The number of the connection is the word of every message.
        if self.rng.below(3) == 0 {
            host.write(conn, bytes);
        } else {
            host.say(conn, bytes, id);
        }
        self.way(conn, true, |w| w.written += bytes);
    }

    fn act(&mut self, host: &mut dyn Host) {
        let all: Vec<Conn> = self.conns.keys().copied().collect();
        let some = all.get(self.rng.below(all.len() as u64) as usize).copied();
        match (self.rng.below(10), some) {
            (0..=2, _) | (_, None) => {
                let conn = host.open();
                let id = 2 * self.ids + self.end as u64;
                self.ids += 1;
                self.conns.insert(conn, Known { id: Some(id), by_hand: false, closed: false, read: 0, ended: false });
                host.say(conn, 1, id);
                self.way(conn, true, |w| w.written = 1);
            }
            (3..=5, Some(conn)) => self.write(host, conn),
            (6, Some(conn)) => {
                host.read_by_hand(conn);
                self.conns.get_mut(&conn).unwrap().by_hand = true;
                host.read(conn, self.rng.below(20_000));
                self.note_read(host, conn);
            }
            (7, Some(conn)) => {
                host.read(conn, self.rng.below(100_000));
                self.note_read(host, conn);
            }
            (8, Some(conn)) if self.rng.below(3) == 0 => {
                host.abort(conn);
                self.give_up(conn);
            }
            (_, Some(conn)) => {
                // Only with its number known can its end be judged.
                let known = self.conns.get_mut(&conn).unwrap();
                if known.id.is_some() {
                    known.closed = true;
                    host.close(conn);
                    self.way(conn, true, |w| w.closed = true);
                }
            }
        }
    }
}

impl Application for Random {
    fn reading(&self) -> Reading {
        if self.end == 0 { Reading::AtOnce } else { Reading::ByHand }
    }

    fn due(&self) -> Time {
        self.next
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        let now = host.now();
        if now < QUIET {
            self.act(host);
            self.next = now + Span(self.rng.below(40 * MS) + 1);
            return;
        }
        // Everything is read, then everything is closed, and what is left in the end is given up.
        for conn in self.conns.keys().copied().collect::<Vec<_>>() {
            if self.conns[&conn].ended && self.conns[&conn].closed {
                self.conns.remove(&conn);
                continue;
            }
            if now >= OVER {
                host.abort(conn);
                self.give_up(conn);
                continue;
            }
            host.read(conn, u64::MAX);
            self.note_read(host, conn);
            let known = self.conns.get_mut(&conn).unwrap();
            if known.id.is_some() && !known.closed {
                known.closed = true;
                host.close(conn);
                self.way(conn, true, |w| w.closed = true);
            }
        }
        self.next = if now >= OVER { Time::NEVER } else { (now + Span(1000 * MS)).min(OVER) };
    }

    fn on_accepted(&mut self, _: &mut dyn Host, conn: Conn) {
        let known = Known { id: None, by_hand: self.end == 1, closed: false, read: 0, ended: false };
        assert!(self.conns.insert(conn, known).is_none(), "no name is used twice");
    }

    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, word: u64) {
        let known = self.conns.get_mut(&conn).unwrap();
        assert!(known.id.is_none_or(|id| id == word), "a message of another connection");
        known.id = Some(word);
        self.note_read(host, conn);
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        self.note_read(host, conn);
        let known = self.conns.get_mut(&conn).unwrap();
        assert!(!std::mem::replace(&mut known.ended, true), "a stream ends once");
        self.way(conn, false, |w| w.seen = true);
    }

    fn on_failed(&mut self, _: &mut dyn Host, conn: Conn, _: Failure) {
        self.give_up(conn);
    }
}

/// Two flows whose ends do anything, over a link that may lose packets.
fn random(seed: u64) -> Value {
    let mut rng = Stream::named(seed, 0, "random ends");
    let mut links = vec![link("out", 20_000_000, 5 + rng.below(20), 30), link("back", 20_000_000, 5, 30)];
    if rng.below(2) == 0 {
        links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.02});
    }
    let flows = (0..2).map(|i: u64| {
        let mut f = flow(&i.to_string(), None);
        f["app"] = json!({"kind": "files", "arrivals": {"every_ns": 1}, "size": {"kind": "constant", "value": 1}});
        f["profile"] = json!(if (seed + i) % 2 == 0 { "rfc" } else { "linux" });
        let buffer = *pick(&mut rng, &[20_000, 1 << 20]);
        f["tcp"] = json!({"handshake": rng.below(4) > 0, "receive_buffer": buffer});
        f
    });
    let mut d = document(2_000_000, links, flows.collect());
    d["seed"] = json!(seed);
    d
}

/// The same flows, split by relays with small buffers; the lossy link is that of either leg.
fn split(seed: u64) -> Value {
    let mut d = random(seed);
    let mut rng = Stream::named(seed, 0, "random relays");
    let links = d["links"].as_array_mut().unwrap();
    links.extend([link("far", 50_000_000, rng.below(40), 60), link("far-back", 50_000_000, 3, 60)]);
    if rng.below(2) == 0 {
        let loss = links[0]["loss"].take();
        links[2]["loss"] = loss;
    }
    let mut flows = Vec::new();
    for whole in d["flows"].as_array().unwrap() {
        let legs = ["source", "sink"].map(|leg| format!("{}/{leg}", whole["id"].as_str().unwrap()));
        let [mut source, mut sink] = legs.each_ref().map(|id| {
            let mut leg = whole.clone();
            (leg["id"], leg["tcp"]["handshake"]) = (json!(id), json!(true));
            leg
        });
        source["forward"] = json!([{"link": "far"}]);
        source["reverse"] = json!([{"link": "far-back"}]);
        sink["profile"] = json!(*pick(&mut rng, &["rfc", "linux"]));
        let mut whole = whole.clone();
        let delay = *pick(&mut rng, &[0, 1, 3 * MS]);
        let opening = *pick(&mut rng, &["transparent", "accepted", "lazy", "syn_forward"]);
        whole["relay"] =
            json!({"legs": legs, "buffer_bytes": 65_535 + rng.below(100_000), "opening": opening, "delay_ns": delay});
        flows.extend([whole, source, sink]);
    }
    d["flows"] = json!(flows);
    d
}

#[test]
fn bytes_are_conserved_and_everything_is_given_back() {
    let (whole, broken, most) = play_all(60, random, 1);
    assert!(whole > 1000 && broken > 300 && most > 20, "{whole} whole, {broken} broken, {most} open at once");
}

#[test]
fn bytes_are_conserved_and_everything_is_given_back_through_relays() {
    let (whole, broken, most) = play_all(60, split, 3);
    assert!(whole > 1000 && broken > 300 && most > 20, "{whole} whole, {broken} broken, {most} open at once");
}

/// Plays random ends over so many documents of this kind, in which every so manieth flow has applications.
fn play_all(documents: u64, kind: fn(u64) -> Value, every: usize) -> (usize, usize, usize) {
    let (mut whole, mut broken, mut most) = (0, 0, 0);
    for seed in 0..cases(documents) {
        let mut s = sim(&kind(seed));
        let ledgers = [Ledger::default(), Ledger::default()];
        for (i, ledger) in ledgers.iter().enumerate() {
            let ends =
                [0, 1].map(|end| Box::new(Random::new(2 * seed + i as u64, end, ledger)) as Box<dyn Application>);
            let connections = Connections::Many(100.0);
            s.set_applications(
                i * every,
                Made { ends, opens: End::Source, connections, at_once: None, once: false, in_transfers: true },
            )
            .unwrap();
        }
        s.run_until(QUIET);
        most = most.max(s.connections().0);
        s.run(|| false).unwrap();
        let (open, places) = s.connections();
        assert_eq!(open, 0, "of {places} places, seed {seed}");
        assert!(s.packets_in_flight() <= 1, "{}", s.packets_in_flight());
        let opened: usize = ledgers.iter().map(|l| l.lock().unwrap().len() / 2).sum();
        assert!(places <= every.min(2) * opened.max(1), "{places} places for {opened} connections");
        let mut delivered = 0;
        for ((id, end), way) in ledgers.iter().flat_map(|l| l.lock().unwrap().clone()) {
            assert!(way.read <= way.written, "connection {id}, end {end}: {way:?}, seed {seed}");
            delivered += if end == 0 { way.read } else { 0 };
            if way.broken {
                broken += 1;
            } else if way.closed {
                assert!(way.seen && way.read == way.written, "connection {id}, end {end}: {way:?}, seed {seed}");
                whole += 1;
            }
        }
        let counted: u64 = s.output().flows.iter().step_by(every).map(|f| f.goodput_bytes).sum();
        assert!(delivered <= counted, "{delivered} read of {counted} delivered");
    }
    (whole, broken, most)
}
