//! Transfers that arrive one after another while others are still running, each over a connection of its own.
//!
//! Each is drawn when it is due, from streams of its own: what arrives does not depend on what happens.

use super::params::{Arrivals, Draws, Given, Kind, Problem, optional, required};
use super::registry::Entry;
use super::{Application, Conn, Connections, End, Failure, Host, Made, Setup};
use crate::time::Time;
use crate::variate::Variate;
use std::collections::BTreeMap;

/// Transfers.
pub const ENTRY: Entry = Entry {
    kind: "files",
    summary: "transfers that arrive one after another, each over a connection of its own",
    params: &[
        required("arrivals", Kind::Arrivals, "when"),
        required("size", Kind::Distribution, "bytes of each"),
        optional("count", Kind::Whole, "how many at most"),
        optional("until_ns", Kind::Whole, "when the last may arrive"),
        optional(
            "request_bytes",
            Kind::Whole,
            "the receiver opens the connection and asks with so many bytes; without: the sender opens it",
        ),
    ],
    make,
};

fn make(given: &Given, setup: &Setup<'_>) -> Result<Made, Problem> {
    let arrivals = given.arrivals("arrivals").unwrap_or(Arrivals::EveryNs(0));
    let wait = match arrivals {
        Arrivals::PoissonPerS(rate) if rate > 0.0 && rate.is_finite() => {
            Wait::Drawn(Draws::new(Variate::Exponential { mean: 1e9 / rate }, setup.stream("arrivals")), 0.0)
        }
        Arrivals::EveryNs(ns) if ns > 0 => Wait::Regular(ns),
        _ => return Err(Problem::new("arrivals", "transfers arrive at a rate or interval above zero")),
    };
    let request = given.whole("request_bytes");
    if request == Some(0) {
        return Err(Problem::new("request_bytes", "a request has a byte or more; leave it out for none"));
    }
    let until = Time(given.whole("until_ns").unwrap_or(u64::MAX).min(setup.end.0));
    let count = given.whole("count").unwrap_or(u64::MAX);
    let by_rate = match arrivals {
        Arrivals::PoissonPerS(rate) => until.0 as f64 * 1e-9 * rate,
        Arrivals::EveryNs(ns) => until.0 as f64 / ns as f64 + 1.0,
    };
    let sizes = given.draws("size", Variate::Constant(1.0), setup, "sizes");
    let opener = Opener { clock: Clock::new(wait, count, until), sizes, request, begun: 0, open: BTreeMap::new() };
    let connections = Connections::Many(by_rate.min(count as f64));
    let (ends, opens): ([Box<dyn Application>; 2], End) = match request {
        None => ([Box::new(opener), Box::new(Taker::default())], End::Source),
        Some(_) => ([Box::new(Giver), Box::new(opener)], End::Sink),
    };
    Ok(Made { ends, opens, connections, at_once: None, once: false, in_transfers: true })
}

enum Wait {
    /// From each to the next, and the sum so far with its fraction, so that they add up.
    Drawn(Draws, f64),
    Regular(u64),
}

/// When the next transfer arrives: waits pass only in times of activity.
struct Clock {
    wait: Wait,
    left: u64,
    until: Time,
    /// Number of the next arrival.
    number: u64,
    /// Time of activity before the present one, and its begin.
    passed: u128,
    since: Option<Time>,
}

impl Clock {
    fn new(mut wait: Wait, left: u64, until: Time) -> Clock {
        if let Wait::Drawn(draws, sum) = &mut wait {
            *sum = draws.number();
        }
        Clock { wait, left, until, number: 0, passed: 0, since: None }
    }

    fn next(&self) -> Time {
        let Some(since) = self.since else { return Time::NEVER };
        let waited = match self.wait {
            Wait::Drawn(_, sum) => sum as u128,
            Wait::Regular(ns) => u128::from(self.number) * u128::from(ns),
        };
        let at = u128::from(since.0) + waited.saturating_sub(self.passed);
        let at = u64::try_from(at).map_or(Time::NEVER, Time);
        if self.left == 0 || at >= self.until { Time::NEVER } else { at }
    }

    fn advance(&mut self) {
        self.left -= 1;
        self.number += 1;
        if let Wait::Drawn(draws, sum) = &mut self.wait {
            *sum += draws.number();
        }
    }

    fn pause(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.passed += u128::from(now.since(since).0);
        }
    }
}

/// Opens a connection for each transfer: sends it, or asks for it.
struct Opener {
    clock: Clock,
    sizes: Draws,
    request: Option<u64>,
    begun: u64,
    /// Transfers that it has asked for.
    open: BTreeMap<Conn, u64>,
}

impl Application for Opener {
    fn begin(&mut self, host: &mut dyn Host) {
        self.clock.since = Some(host.now());
    }

    fn pause(&mut self, host: &mut dyn Host, _: bool) {
        self.clock.pause(host.now());
    }

    fn due(&self) -> Time {
        self.clock.next()
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        while self.clock.next() <= host.now() {
            self.clock.advance();
            let (n, size) = (self.begun, self.sizes.whole(1));
            self.begun += 1;
            let conn = host.open();
            host.begun(n, size);
            match self.request {
                None => {
                    host.say(conn, size, n);
                    host.close(conn);
                }
                Some(request) => {
                    host.say(conn, request, size);
                    self.open.insert(conn, n);
                }
            }
        }
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        if let Some(n) = self.open.remove(&conn) {
            host.done(n);
        }
        host.close(conn);
    }

    fn on_failed(&mut self, _: &mut dyn Host, conn: Conn, _: Failure) {
        self.open.remove(&conn);
    }
}

/// Takes transfers that the other end sends.
#[derive(Default)]
struct Taker {
    /// Those that have come to their last byte.
    whole: BTreeMap<Conn, u64>,
}

impl Application for Taker {
    fn on_message(&mut self, _: &mut dyn Host, conn: Conn, n: u64) {
        self.whole.insert(conn, n);
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        if let Some(n) = self.whole.remove(&conn) {
            host.done(n);
        }
        host.close(conn);
    }

    fn on_failed(&mut self, _: &mut dyn Host, conn: Conn, _: Failure) {
        self.whole.remove(&conn);
    }
}

/// Answers every request with what it asks for.
struct Giver;

impl Application for Giver {
    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, size: u64) {
        host.write(conn, size);
        host.close(conn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;
    use crate::app::testing::{Did, Fake};

    fn given(request: Option<u64>) -> Vec<(&'static str, Value)> {
        let mut all = vec![
            ("arrivals", Value::Arrivals(Arrivals::EveryNs(100))),
            ("size", Value::Distribution(Variate::Constant(7.0))),
            ("count", Value::Whole(3)),
        ];
        all.extend(request.map(|n| ("request_bytes", Value::Whole(n))));
        all
    }

    #[test]
    fn each_transfer_opens_a_connection_when_it_arrives() {
        let made = Fake::made(&ENTRY, &given(None));
        assert_eq!((made.opens, made.connections), (End::Source, Connections::Many(3.0)));
        let [mut source, mut sink] = made.ends;
        let mut host = Fake::default();
        host.now = Time(10);
        source.begin(&mut host);
        host.now = Time(110);
        source.on_due(&mut host);
        // 160 ns pass in a pause; 50 of the 100 to the third were over before it.
        host.now = Time(160);
        source.pause(&mut host, false);
        assert_eq!(source.due(), Time::NEVER);
        host.now = Time(320);
        source.begin(&mut host);
        assert_eq!(source.due(), Time(370));
        host.now = Time(370);
        source.on_due(&mut host);
        assert_eq!(source.due(), Time::NEVER, "there are three");
        let one = |n: u64| [Did::Open(Conn(n)), Did::Begun(n, 7), Did::Say(Conn(n), 7, n), Did::Close(Conn(n))];
        assert_eq!(host.did, [one(0), one(1), one(2)].concat());
        let mut host = Fake::default();
        sink.on_message(&mut host, Conn(4), 2);
        sink.on_closed(&mut host, Conn(4));
        sink.on_closed(&mut host, Conn(5));
        assert_eq!(host.did, [Did::Done(2), Did::Close(Conn(4)), Did::Close(Conn(5))], "of the second not all came");
    }

    #[test]
    fn a_receiver_can_ask_for_its_transfers() {
        let made = Fake::made(&ENTRY, &given(Some(20)));
        assert_eq!(made.opens, End::Sink);
        let [mut source, mut sink] = made.ends;
        let mut host = Fake::default();
        sink.begin(&mut host);
        sink.on_due(&mut host);
        sink.on_closed(&mut host, Conn(0));
        let (c, done) = (Conn(0), Did::Done(0));
        assert_eq!(host.did, [Did::Open(c), Did::Begun(0, 7), Did::Say(c, 20, 7), done, Did::Close(c)]);
        let mut host = Fake::default();
        source.on_message(&mut host, Conn(9), 7);
        assert_eq!(host.did, [Did::Write(Conn(9), 7), Did::Close(Conn(9))]);
    }

    #[test]
    fn arrivals_are_drawn_when_they_are_due_and_are_the_same_as_before_the_run() {
        let rate = Value::Arrivals(Arrivals::PoissonPerS(1e6));
        let mut all = given(None);
        (all[0], all[2]) = (("arrivals", rate), ("count", Value::Whole(50)));
        let [mut source, _] = Fake::made(&ENTRY, &all).ends;
        let mut host = Fake::default();
        source.begin(&mut host);
        let mut rng = Fake::setup().stream("arrivals");
        let wait = Variate::Exponential { mean: 1e3 };
        let mut sum = 0.0;
        for _ in 0..50 {
            sum += wait.draw(&mut rng);
            assert_eq!(source.due(), Time(sum as u64));
            host.now = source.due();
            source.on_due(&mut host);
        }
        assert_eq!(source.due(), Time::NEVER);
    }
}
