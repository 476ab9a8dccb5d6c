//! Packets of one size at a given rate, always (`cbr`) or while on (`on_off`): datagrams, or writes into a connection.

use super::params::{Given, Kind, Param, Problem, optional, required};
use super::pulse::{Pulse, Turns};
use super::registry::Entry;
use super::{Application, Conn, Connections, Datagram, End, Host, Made, Setup};
use crate::packet::Ecn;
use crate::time::Time;
use crate::variate::Variate;

/// Most payload of a datagram or write.
const MAX_PACKET: u64 = 65_507;
/// UDP and IP.
const HEADERS: u64 = 28;
/// Longest wait between two packets, relative to the mean time on: more turns than this would be idle ones.
const MAX_TURNS_PER_PACKET: f64 = 1e4;

const PARAMS: &[Param] = &[
    required("transport", Kind::Word(&["udp", "tcp"]), "udp: a datagram each; tcp: a write into the send buffer each"),
    required("rate_bps", Kind::Whole, "payload per time while on, bit/s"),
    required("packet_bytes", Kind::Whole, "payload of a packet, or bytes of a write"),
    optional("header_bytes", Kind::Whole, "what a datagram has on the wire beside its payload; 28 if left out"),
    optional(
        "phase_ns",
        Kind::Whole,
        "from the begin of a time of activity to the first packet; drawn from a gap if left out",
    ),
    optional("jitter", Kind::Flag, "every gap is multiplied by a uniform number from 0.5 to 1.5 (ns-2's random_)"),
    optional("ect", Kind::Flag, "datagrams are ECN-capable"),
    optional("transfers", Kind::Flag, "each write is a transfer, done when its last byte has been read"),
    optional("on", Kind::Distribution, "lengths of the times on (on_off); exponential, 500 ms if left out"),
    optional("off", Kind::Distribution, "lengths of the times off; exponential, 500 ms if left out"),
];

/// At a constant rate.
pub const CBR: Entry = Entry {
    kind: "cbr",
    summary: "packets of one size at a constant rate",
    params: PARAMS,
    make: |given, setup| make(given, setup, false),
};

/// While on.
pub const ON_OFF: Entry = Entry {
    kind: "on_off",
    summary: "packets of one size at a constant rate while on, none while off",
    params: PARAMS,
    make: |given, setup| make(given, setup, true),
};

fn make(given: &Given, setup: &Setup<'_>, by_turns: bool) -> Result<Made, Problem> {
    let bytes = given.whole("packet_bytes").unwrap_or(0);
    let headers = given.whole("header_bytes").unwrap_or(HEADERS);
    if bytes == 0 || bytes > MAX_PACKET || headers > 1000 {
        let text = format!("a packet has 1 to {MAX_PACKET} bytes of payload and at most 1000 of headers");
        return Err(Problem::new("packet_bytes", text));
    }
    let rate = given.whole("rate_bps").unwrap_or(0);
    let gap = bytes as f64 * 8e9 / rate as f64;
    if !(1.0..1e18).contains(&gap) {
        let text = format!("a packet of {bytes} B every {gap} ns; from 1 ns to 30 years make sense");
        return Err(Problem::new("rate_bps", text));
    }
    let usual = Variate::Exponential { mean: 5e8 };
    let turns = if by_turns {
        let times = ["on", "off"].map(|key| given.distribution(key).unwrap_or(usual.clone()));
        if times[0].mean() * MAX_TURNS_PER_PACKET < gap {
            let text = format!("the mean time on is too short for packets that are {gap} ns apart");
            return Err(Problem::new("on", text));
        }
        Some(Turns { times, rng: ["on", "off"].map(|what| setup.stream(what)) })
    } else if given.has("on") || given.has("off") {
        return Err(Problem::new("on", "a source at a constant rate is always on; its kind would be on_off"));
    } else {
        None
    };
    let jitter = given.flag("jitter").then(|| setup.stream("jitter"));
    let pulse = Pulse::new(bytes as u32, rate, given.whole("phase_ns"), setup.stream("phase"), jitter, turns);
    let writes = given.word("transport") == Some("tcp");
    let timed = writes && given.flag("transfers");
    let carrier = if writes {
        Carrier::Writes { bytes, conn: None, begun: timed.then_some(0) }
    } else {
        let ecn = if given.flag("ect") { Ecn::Ect0 } else { Ecn::NotEct };
        Carrier::Datagrams(Datagram { payload: bytes as u32, headers: headers as u32, ecn })
    };
    let connections = if writes { Connections::One } else { Connections::None };
    let ends: [Box<dyn Application>; 2] =
        [Box::new(Paced { pulse, carrier, active: false }), Box::new(Sink { each: timed.then_some(bytes), done: 0 })];
    Ok(Made { ends, opens: End::Source, connections, at_once: None, once: false, in_transfers: timed })
}

enum Carrier {
    /// Of `bytes` each into this connection once it is open; where they are transfers, so many have begun.
    Writes {
        bytes: u64,
        conn: Option<Conn>,
        begun: Option<u64>,
    },
    Datagrams(Datagram),
}

struct Paced {
    pulse: Pulse,
    carrier: Carrier,
    active: bool,
}

impl Application for Paced {
    fn begin(&mut self, host: &mut dyn Host) {
        self.active = true;
        self.pulse.begin(host.now());
        if let Carrier::Writes { conn, .. } = &mut self.carrier {
            conn.get_or_insert_with(|| host.open());
        }
    }

    fn pause(&mut self, host: &mut dyn Host, last: bool) {
        self.active = false;
        if let (true, Carrier::Writes { conn: Some(conn), .. }) = (last, &self.carrier) {
            host.close(*conn);
        }
    }

    fn due(&self) -> Time {
        if self.active { self.pulse.next } else { Time::NEVER }
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        while self.pulse.next <= host.now() {
            self.pulse.advance();
            match &mut self.carrier {
                Carrier::Writes { bytes, conn: Some(conn), begun } => {
                    if let Some(number) = begun {
                        host.begun(*number, *bytes);
                        *number += 1;
                    }
                    host.write(*conn, *bytes);
                }
                Carrier::Datagrams(datagram) => host.send(*datagram),
                Carrier::Writes { conn: None, .. } => {}
            }
        }
    }
}

/// Takes what comes; where writes are transfers, one of `each` bytes after the other.
struct Sink {
    each: Option<u64>,
    done: u64,
}

impl Sink {
    fn expect(&self, host: &mut dyn Host, conn: Conn) {
        if let Some(bytes) = self.each {
            host.receive(conn, bytes);
        }
    }
}

impl Application for Sink {
    fn on_accepted(&mut self, host: &mut dyn Host, conn: Conn) {
        self.expect(host, conn);
    }

    fn on_received(&mut self, host: &mut dyn Host, conn: Conn) {
        host.done(self.done);
        self.done += 1;
        self.expect(host, conn);
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        host.completed();
        host.close(conn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;
    use crate::app::testing::{Did, Fake};

    fn given(transport: &str) -> Vec<(&str, Value)> {
        // 1000 B at 8 Mbit/s: a packet a millisecond.
        vec![
            ("transport", Value::Word(transport.into())),
            ("rate_bps", Value::Whole(8_000_000)),
            ("packet_bytes", Value::Whole(1000)),
            ("phase_ns", Value::Whole(0)),
        ]
    }

    #[test]
    fn what_is_due_leaves_and_nothing_during_a_pause() {
        let [mut source, _] = Fake::made(&CBR, &given("udp")).ends;
        let mut host = Fake::default();
        assert_eq!(source.due(), Time::NEVER);
        host.now = Time(5);
        source.begin(&mut host);
        assert_eq!(source.due(), Time(5));
        host.now = Time(2_000_005);
        source.on_due(&mut host);
        let datagram = Datagram { payload: 1000, headers: 28, ecn: Ecn::NotEct };
        assert_eq!(host.did, vec![Did::Send(datagram); 3]);
        source.pause(&mut host, true);
        assert_eq!((source.due(), host.did.len()), (Time::NEVER, 3), "there is no connection to close");
    }

    #[test]
    fn writes_go_into_one_connection() {
        let [mut source, mut sink] = Fake::made(&CBR, &given("tcp")).ends;
        let mut host = Fake::default();
        for last in [false, true] {
            source.begin(&mut host);
            source.on_due(&mut host);
            source.pause(&mut host, last);
        }
        let c = Conn(0);
        assert_eq!(host.did, [Did::Open(c), Did::Write(c, 1000), Did::Write(c, 1000), Did::Close(c)]);
        let mut host = Fake::default();
        sink.on_accepted(&mut host, c);
        sink.on_closed(&mut host, c);
        assert_eq!(host.did, [Did::Completed, Did::Close(c)]);
    }

    #[test]
    fn writes_may_be_transfers() {
        let given = [given("tcp"), vec![("transfers", Value::Flag(true))]].concat();
        let Made { ends: [mut source, mut sink], in_transfers, .. } = Fake::made(&CBR, &given);
        assert!(in_transfers);
        let (mut host, c) = (Fake::default(), Conn(0));
        source.begin(&mut host);
        host.now = Time(1_000_000);
        source.on_due(&mut host);
        let write = |n: u64| vec![Did::Begun(n, 1000), Did::Write(c, 1000)];
        assert_eq!(host.did, [vec![Did::Open(c)], write(0), write(1)].concat());
        let mut host = Fake::default();
        sink.on_accepted(&mut host, c);
        sink.on_received(&mut host, c);
        sink.on_received(&mut host, c);
        let ask = Did::Receive(c, 1000);
        assert_eq!(host.did, [ask, Did::Done(0), ask, Did::Done(1), ask]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |key: &'static str, value: Value, entry: &Entry| {
            let mut all = given("udp");
            all.retain(|p| p.0 != key);
            all.push((key, value));
            Fake::refused(entry, &all)
        };
        assert_eq!(refused("packet_bytes", Value::Whole(70_000), &CBR).key, "packet_bytes");
        assert_eq!(refused("rate_bps", Value::Whole(0), &CBR).key, "rate_bps");
        let short = Value::Distribution(Variate::Constant(1.0));
        assert!(refused("on", short.clone(), &CBR).text.contains("on_off"));
        assert!(refused("on", short, &ON_OFF).text.contains("too short"));
    }
}
