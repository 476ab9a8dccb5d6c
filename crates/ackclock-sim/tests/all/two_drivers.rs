//! The same elements under two drivers, the simulator and a clock on the wall over buffers of bytes: the same packets at the
//! same nanoseconds.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, sim};
use ackclock_core::impair::Reorder;
use ackclock_core::packet::{Address, Ecn, Family, FourTuple, Packet, Parcel};
use ackclock_core::params::Value;
use ackclock_core::path::{Bucket, DelayLine, Element, JitterParams, LinkParams, LossParams, registry};
use ackclock_core::path::{Pace, Port, Setting, Store};
use ackclock_core::time::{Span, Time};
use ackclock_sim::engine::Delivery;
use serde_json::json;
use std::time::{Duration, Instant};

const DURATION: u64 = 3000;

/// A packet that comes out: when, of which flow, its number, its ECN field and its bytes.
type Arrival = (u64, u32, u32, Ecn, u32);

fn arrival(d: &Delivery) -> Arrival {
    let Packet::Datagram(p) = d.packet else { panic!("{d:?}") };
    (d.at.0, d.to / 2, p.sequence, p.ecn, p.len)
}

/// The runs of three sources of datagrams over `route`.
fn played(route: &serde_json::Value, links: Vec<serde_json::Value>, elements: serde_json::Value) -> Vec<Delivery> {
    let source = |i: u64, rate: u64, bytes: u64, ect: bool| {
        json!({"id": i.to_string(), "forward": route, "reverse": [{"delay_ns": MS}], "start": {"at_ns": i * 7 * MS},
            "app": {"kind": "cbr", "transport": "udp", "rate_bps": rate, "packet_bytes": bytes, "jitter": true, "ect": ect}})
    };
    let flows =
        vec![source(0, 3_000_000, 1200, true), source(1, 3_000_000, 700, false), source(2, 2_500_000, 1000, true)];
    let mut d = document(DURATION, links, flows);
    (d["elements"], d["engine"]) = (elements, json!({"log_deliveries": true}));
    let mut sim = sim(&d);
    sim.run(|| false).unwrap();
    sim.take_deliveries()
}

/// By the simulator: what is sent, and what arrives behind a lossy link with an AQM, a delay, a trace, and aggregation, before
/// and after which it passes a medium that both ways share.
fn simulated() -> (Vec<(Time, Arrival)>, Vec<Arrival>) {
    let a = json!({"id": "a", "rate_bps": 8_000_000, "delay_ns": 5 * MS, "overhead_bytes": 14,
        "queue": {"kind": "codel", "limit_packets": 100, "params": {"ecn": true, "target": 2 * MS, "interval": 20 * MS}},
        "loss": {"kind": "gilbert_elliott", "p": 0.01, "r": 0.3}, "jitter": {"kind": "normal", "mean_ns": MS, "sd_ns": 2 * MS},
        "preserve_order": false, "reorder": {"probability": 0.02, "extra_ns": 4 * MS}, "duplicate": 0.05});
    let b = json!({"id": "b", "rate_bps": null, "delay_ns": 2 * MS, "trace": {"times_ms": [1, 3, 3, 4, 7, 8, 8, 8, 10]},
        "policer": {"rate_bps": 7_000_000, "burst_bytes": 30_000}, "queue": {"kind": "droptail", "limit_packets": 12}});
    let elements = json!([{"id": "air", "kind": "aggregate", "params": {"packets": 4, "timeout": 3 * MS}},
        {"id": "radio", "kind": "half_duplex", "params": {"rate_bps": 20_000_000, "guard": 50_000, "limit": 5}}]);
    let radio = |port: u16| json!({"element": {"id": "radio", "port": port}});
    let route =
        json!([radio(0), {"link": "a"}, {"delay_ns": 3 * MS}, {"link": "b"}, {"element": {"id": "air"}}, radio(1)]);
    let behind = played(&route, vec![a, b], elements).iter().map(arrival).collect();
    // The same sources over nothing but a nanosecond: everything arrives, and says when it was sent.
    let sent = |d: &Delivery| if let Packet::Datagram(p) = d.packet { p.sent() } else { panic!() };
    let all = played(&json!([{"delay_ns": 1}]), vec![], json!([]));
    (all.iter().map(|d| (sent(d), arrival(d))).collect(), behind)
}

/// Datagrams as bytes: an IPv4 header, a UDP header, and a payload that begins with the number.
#[derive(Default)]
struct Buffers {
    packets: Vec<Option<Vec<u8>>>,
    dropped: usize,
    marked: usize,
    copied: usize,
}

/// The sum of RFC 791 over a header.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

impl Buffers {
    fn write(&mut self, flow: u32, number: u32, ecn: Ecn, payload: u32) -> Parcel {
        let tuple = FourTuple::of_connection(Family::V4, flow, 0);
        let len = 28 + payload;
        let mut bytes = vec![0; len as usize];
        (bytes[0], bytes[1], bytes[8], bytes[9]) = (0x45, ecn as u8, 64, 17);
        bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        bytes[12..16].copy_from_slice(tuple.source.octets());
        bytes[16..20].copy_from_slice(tuple.destination.octets());
        let sum = checksum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes[20..22].copy_from_slice(&tuple.source_port.to_be_bytes());
        bytes[22..24].copy_from_slice(&tuple.destination_port.to_be_bytes());
        bytes[24..26].copy_from_slice(&(8 + payload as u16).to_be_bytes());
        bytes[28..32].copy_from_slice(&number.to_be_bytes());
        self.packets.push(Some(bytes));
        let id = self.packets.len() as u32 - 1;
        Parcel { id, len, flow, ecn, data: payload > 0, ..Parcel::default() }
    }

    /// Takes a packet out and reads from its bytes what it is.
    fn read(&mut self, at: Time, parcel: &Parcel) -> Arrival {
        let bytes = self.packets[parcel.id as usize].take().unwrap();
        assert_eq!(
            (checksum(&bytes[..20]), bytes.len()),
            (0, parcel.len as usize),
            "a valid header of the right length"
        );
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bytes[1] & 3)];
        assert_eq!(ecn, parcel.ecn, "who carries parcels knows the field as well as who reads the header");
        let source = Address::V4([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let flow = (0..3).find(|f| FourTuple::of_connection(Family::V4, *f, 0).source == source).unwrap();
        let number = u32::from_be_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]);
        (at.0, flow, number, ecn, parcel.len - 28)
    }
}

impl Store for Buffers {
    fn drop(&mut self, id: u32) {
        self.dropped += 1;
        assert!(self.packets[id as usize].take().is_some(), "{id} was dropped before");
    }

    fn mark(&mut self, id: u32) {
        self.marked += 1;
        let bytes = self.packets[id as usize].as_mut().unwrap();
        let word = |b: &[u8], i: usize| u32::from(u16::from_be_bytes([b[i], b[i + 1]]));
        let old = word(bytes, 0);
        bytes[1] |= Ecn::Ce as u8;
        // RFC 1624: HC' = ~(~HC + ~m + m').
        let sum = (!word(bytes, 10) & 0xffff) + (!old & 0xffff) + word(bytes, 0);
        let folded = (sum & 0xffff) + (sum >> 16);
        let new = !((folded & 0xffff) + (folded >> 16)) as u16;
        bytes[10..12].copy_from_slice(&new.to_be_bytes());
    }

    fn duplicate(&mut self, id: u32) -> Option<u32> {
        self.copied += 1;
        self.packets.push(self.packets[id as usize].clone());
        Some(self.packets.len() as u32 - 1)
    }
}

/// The chain of [`simulated`] from plain parameters. Of two elements due at once the first in the list comes first, as
/// in the simulator: links, others, delays.
fn elements() -> Vec<Box<dyn Element>> {
    let mut a = LinkParams::new("a", Pace::Constant(8_000_000), Span::from_millis(5));
    a.overhead = 14;
    a.queue.kind = "codel".into();
    a.queue.limits.packets = 100;
    let ms = |name: &str, ms| (name.to_owned(), Value::Duration(Span::from_millis(ms)));
    a.queue.params = vec![("ecn".to_owned(), Value::Bool(true)), ms("target", 2), ms("interval", 20)];
    a.loss = LossParams::GilbertElliott([0.01, 0.3, 0.0, 1.0]);
    a.jitter = JitterParams::Normal(Span::from_millis(1), Span::from_millis(2));
    a.preserve_order = false;
    a.reorder = Reorder { probability: 0.02, extra: Span::from_millis(4) };
    a.duplicate = 0.05;
    let mut b = LinkParams::new("b", Pace::Trace(vec![1, 3, 3, 4, 7, 8, 8, 8, 10], 1500), Span::from_millis(2));
    b.policer = Some(Bucket { rate_bps: 7_000_000, burst_bytes: 30_000 });
    b.queue.limits.packets = 12;
    let setting = Setting { seed: 1, run: 0, from: Time::ZERO, to: Time(DURATION * MS) };
    let air = [("packets".to_owned(), Value::Int(4)), ms("timeout", 3)];
    let count = |name: &str, n| (name.to_owned(), Value::Int(n));
    let guard = ("guard".to_owned(), Value::Duration(Span::from_micros(50)));
    let radio = [count("rate_bps", 20_000_000), guard, count("limit", 5)];
    vec![
        Box::new(a.build(&setting).unwrap()),
        Box::new(b.build(&setting).unwrap()),
        registry::build("aggregate", &air).unwrap(),
        registry::build("half_duplex", &radio).unwrap(),
        Box::new(DelayLine::new(Span::from_millis(3))),
    ]
}

/// Where it begins: an element and a port.
const FIRST: (usize, Port) = (3, 0);

/// What comes next behind a port of an element; none: the end.
fn next((element, port): (usize, Port)) -> Option<(usize, Port)> {
    match (element, port) {
        (0, 0) => Some((4, 0)),
        (4, 0) => Some((1, 0)),
        (1, 0) => Some((2, 0)),
        (2, 0) => Some((3, 1)),
        (3, 0) => Some((0, 0)),
        (3, 1) => None,
        other => panic!("no port {other:?}"),
    }
}

/// A driver that knows when packets are to be sent, and otherwise only what time it is.
struct Driver {
    elements: Vec<Box<dyn Element>>,
    buffers: Buffers,
    /// What is to be sent, the next last.
    sends: Vec<(Time, Arrival)>,
    arrived: Vec<Arrival>,
    /// Visits at which nothing came out.
    in_vain: usize,
}

impl Driver {
    fn new(mut sends: Vec<(Time, Arrival)>) -> Driver {
        sends.reverse();
        Driver { elements: elements(), buffers: Buffers::default(), sends, arrived: Vec::new(), in_vain: 0 }
    }

    /// The earliest of what is due; of what is due at once elements come first.
    fn next(&self) -> (Time, Option<usize>) {
        let send = (self.sends.last().map_or(Time::NEVER, |s| s.0), None);
        let due = self.elements.iter().enumerate().map(|(i, e)| (e.next_due(), Some(i)));
        due.fold(send, |first, e| if e.0 < first.0 || (e.0 == first.0 && first.1.is_none()) { e } else { first })
    }

    /// Makes up for everything that was due by `now`, each at its own time.
    fn catch_up(&mut self, now: Time) {
        loop {
            let (due, who) = self.next();
            if due > now || !due.is_set() {
                return;
            }
            let Some(i) = who else {
                let (at, (_, flow, number, ecn, payload)) = self.sends.pop().unwrap();
                let parcel = self.buffers.write(flow, number, ecn, payload);
                self.elements[FIRST.0].push(at, FIRST.1, parcel, &mut self.buffers);
                continue;
            };
            let mut came = false;
            while let Some(out) = self.elements[i].pull(due, &mut self.buffers) {
                assert_eq!(out.at, due, "asked when it was due, it is not late");
                came = true;
                match next((i, out.port)) {
                    Some((element, port)) => self.elements[element].push(out.at, port, out.parcel, &mut self.buffers),
                    None => self.arrived.push(self.buffers.read(out.at, &out.parcel)),
                }
            }
            self.in_vain += usize::from(!came);
            assert!(came || self.elements[i].next_due() > due, "element {i} was asked for nothing at {due:?}");
        }
    }
}

#[test]
fn the_simulator_and_a_clock_on_the_wall_give_the_same_packets_at_the_same_nanoseconds() {
    let (sent, expected) = simulated();
    let mut driver = Driver::new(sent.clone());
    let end = Time(DURATION * MS);
    // Twenty times as fast as real; it wakes when the host lets it, always too late.
    let begun = Instant::now();
    let clock = || Time(begun.elapsed().as_nanos() as u64 * 20);
    let mut woken = 0;
    loop {
        let (due, _) = driver.next();
        if due > end {
            break;
        }
        let wait = due.since(clock()).0 / 20;
        std::thread::sleep(Duration::from_nanos(wait));
        driver.catch_up(clock().min(end));
        woken += 1;
    }
    let Driver { arrived, buffers, in_vain, .. } = driver;
    let differ = arrived.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(differ.map(|i| (i, arrived[i], expected[i])), None);
    assert_eq!(arrived.len(), expected.len());
    // That it was a path on which things happen.
    let ordered = arrived.windows(2).all(|w| w[0].1 != w[1].1 || w[0].2 < w[1].2);
    assert!(!ordered && woken > 0, "{woken} times awake");
    assert!(sent.len() > 2000 && buffers.dropped > 100 && buffers.marked > 20 && buffers.copied > 20);
    assert!(in_vain < sent.len(), "{in_vain} visits in vain for {} packets", sent.len());
}
