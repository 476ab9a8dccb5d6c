//! Documents for the engine's tests, and results as text that can be compared to the last bit.
#![allow(clippy::unwrap_used, dead_code)]

pub mod applications;
pub mod rich;
pub mod splits;

use ackclock_core::packet::{Ecn, Packet::Datagram};
use ackclock_core::rng::Stream;
use ackclock_core::tcp::segment::SackBlock;
use ackclock_core::time::Time;
use ackclock_sim::engine::Delivery;
use ackclock_sim::{Output, Run, Sim};
use serde_json::{Value, json};

pub const MS: u64 = 1_000_000;

#[path = "../../../../testing/cases.rs"]
mod random_cases;
#[allow(unused_imports)] // an example shares this file and draws no cases
pub use random_cases::{cases, share};

/// A document over these links and flows.
pub fn document(duration_ms: u64, links: Vec<Value>, flows: Vec<Value>) -> Value {
    json!({"format": 1, "seed": 1, "duration_ns": duration_ms * MS, "links": links, "flows": flows})
}

pub fn link(id: &str, rate_bps: u64, delay_ms: u64, packets: u64) -> Value {
    let queue = json!({"kind": "droptail", "limit_packets": packets});
    json!({"id": id, "rate_bps": rate_bps, "delay_ns": delay_ms * MS, "queue": queue})
}

/// A bulk flow over the links "out" and "back".
pub fn flow(id: &str, bytes: Option<u64>) -> Value {
    json!({"id": id, "forward": [{"link": "out"}], "reverse": [{"link": "back"}], "start": {"at_ns": 0},
        "app": {"kind": "bulk", "bytes": bytes}, "mss": 1000, "cc": {"name": "newreno"}})
}

pub fn sim(document: &Value) -> Sim {
    let run = Run::from_json(&document.to_string()).unwrap_or_else(|e| panic!("{e}\n{document}"));
    Sim::new(&run).unwrap_or_else(|e| panic!("{e}\n{document}"))
}

pub fn play(document: &Value) -> Output {
    let mut sim = sim(document);
    sim.run(|| false).unwrap();
    sim.output()
}

/// What a run yields, as text. The number of events is left out: it says how the run was computed.
pub fn tables(o: &Output) -> String {
    // Rust prints the shortest text that gives back the same number, so equal text is equal bits.
    let series: Vec<_> = o.series.iter().map(|s| (s.at.0, s.metric, s.of, s.value.to_bits())).collect();
    format!("{:?}\n{:?}\n{series:?}\n{} packets\n{:?}", o.flows, o.links, o.packets, o.warnings)
}

/// A delivered packet, without what its slot held before.
#[derive(Debug, PartialEq)]
pub struct Packet {
    pub at: u64,
    pub to_server: bool,
    pub flow: u32,
    pub seq: u32,
    pub ack: u32,
    pub len: u32,
    pub window: u16,
    pub flags: u8,
    pub ecn: Ecn,
    pub copy: bool,
    /// Of a datagram, its number and when it left.
    pub datagram: Option<(u32, Time)>,
    pub marks: u16,
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<SackBlock>,
}

impl From<&Delivery> for Packet {
    fn from(d: &Delivery) -> Packet {
        let s = d.packet.tcp().copied().unwrap_or_default();
        Packet {
            at: d.at.0,
            to_server: d.to & 1 == 1,
            flow: d.to / 2,
            seq: s.seq,
            ack: s.ack,
            len: d.packet.payload(),
            window: s.window,
            flags: s.flags,
            ecn: d.packet.ecn(),
            copy: d.copy,
            datagram: if let Datagram(u) = d.packet { Some((u.sequence, u.sent())) } else { None },
            marks: u16::from(s.ace()),
            timestamps: s.has_timestamps().then_some((s.tsval(), s.tsecr())),
            sack: s.sack().to_vec(),
        }
    }
}

/// 64-bit FNV-1a: a fixed hash, so that results can be compared between processes and machines.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

pub fn pick<'a, T>(rng: &mut Stream, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}

fn random_link(rng: &mut Stream, id: &str) -> Value {
    let delay = *pick(rng, &[0, 1, 1_000, MS, 7 * MS + 13, 40 * MS]);
    let mut l = json!({"id": id, "delay_ns": delay, "overhead_bytes": pick(rng, &[0, 14, 38])});
    let rates = [json!(null), json!(400_000), json!(7_777_777), json!(20_000_000), json!(100_000_000)];
    // Every route passes "a" or "d": one of unlimited links alone would carry unlimited data.
    let rates = if matches!(id, "a" | "d") { &rates[1..] } else { &rates[..] };
    l["rate_bps"] = pick(rng, rates).clone();
    let packets = json!({"kind": "droptail", "limit_packets": 1 + rng.below(60)});
    let bytes = json!({"kind": "droptail", "limit_bytes": 2000 + rng.below(60_000)});
    l["queue"] = pick(rng, &[packets.clone(), packets, bytes, json!({"kind": "droptail"})]).clone();
    l["queue"]["limit_includes_service"] = json!(rng.below(2) == 0);
    let room = |key: &str| l["queue"][key].as_u64().unwrap_or(100_000);
    let marks = [
        json!(null),
        json!({"mark_above_packets": rng.below(room("limit_packets").min(40))}),
        json!({"mark_above_bytes": rng.below(room("limit_bytes"))}),
    ];
    for (key, k) in pick(rng, &marks).as_object().into_iter().flatten() {
        l["queue"][key] = k.clone();
    }
    let drops = json!([{"flow": "0", "nth": 3}, {"flow": "0", "nth": 4}, {"flow": "0", "nth": 30}]);
    let losses = [
        json!(null),
        json!(null),
        json!({"kind": "bernoulli", "p": 0.02}),
        json!({"kind": "every", "n": 2 + rng.below(60)}),
        json!({"kind": "scripted", "drops": drops}),
    ];
    l["loss"] = pick(rng, &losses).clone();
    l
}

/// The first of the links and some others in their order, with delays between.
fn random_route(rng: &mut Stream, links: &[&str]) -> Value {
    let taken = links.iter().enumerate().filter(|(i, _)| *i == 0 || rng.below(4) > 0);
    let mut hops: Vec<Value> = taken.map(|(_, l)| json!({"link": l})).collect();
    if rng.below(2) == 0 {
        let at = rng.below(hops.len() as u64 + 1) as usize;
        hops.insert(at, json!({"delay_ns": *pick(rng, &[0, MS, 3 * MS])}));
    }
    json!(hops)
}

fn random_flow(rng: &mut Stream, id: u64) -> Value {
    let mut tcp = serde_json::Map::new();
    for (name, value) in [
        ("sack", json!(false)),
        ("timestamps", json!(false)),
        ("delayed_ack", json!(1)),
        ("ecn", json!("classic")),
        ("ecn", json!("accurate")),
    ] {
        if rng.below(4) == 0 {
            tcp.insert(name.to_owned(), value);
        }
    }
    let starts = [json!({"at_ns": 0}), json!({"at_ns": 10 * MS}), json!({"uniform_ns": [0, 200 * MS]})];
    let bytes = [json!(null), json!(1 + rng.below(300_000))];
    let mut f = json!({"id": id.to_string(), "tcp": tcp,
        "forward": random_route(rng, &["a", "b", "c"]), "reverse": random_route(rng, &["d", "e"]),
        "start": pick(rng, &starts), "app": {"kind": "bulk", "bytes": pick(rng, &bytes)},
        "mss": pick(rng, &[1448, 1000, 536]), "profile": pick(rng, &["rfc", "linux", "ns3", "ns2"]),
        "cc": {"name": pick(rng, &["tahoe", "reno", "newreno", "cubic", "dctcp"])}});
    if rng.below(4) == 0 {
        f["stop_ns"] = json!((200 + rng.below(1500)) * MS);
    }
    f
}

/// Flows over a chain of three links and back over two, with every kind of series.
pub fn random_document(seed: u64) -> Value {
    let mut rng = Stream::named(seed, 0, "random document");
    let links = ["a", "b", "c", "d", "e"].map(|id| random_link(&mut rng, id)).to_vec();
    let flows = (0..1 + rng.below(5)).map(|i| random_flow(&mut rng, i)).collect();
    let mut d = document(500 + rng.below(2000), links, flows);
    d["seed"] = json!(seed);
    d["warmup_ns"] = json!(rng.below(2) * rng.below(400 * MS));
    d["probes"] = json!({"cwnd": "on_change", "in_flight": "every_event", "srtt": "every_event", "delivered": "on_change",
        "queue": "on_change", "queue_bytes": {"every_ns": 3 * MS}, "link_sent": {"every_ns": 5 * MS}, "drops": {"every_ns": MS}});
    d
}
