//! Captures written down: `60 > 1:1000; 110 < a1001 s2001-3001 w0 t5/6 i7`, times in ms, the sequence number behind
//! `>` and its length, and what an acknowledgment says. `>` is what X sends, who opens the connection.
#![allow(dead_code, clippy::unwrap_used)]

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::{Event, Happening, Sample, Sink};
use ackclock_capture::analysis::{Analyzer, Segment, Settings};
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::{Options, flags};
use ackclock_core::tcp::segment::SackBlock;
use std::collections::BTreeMap;

/// What the packets have in common.
#[derive(Clone, Debug)]
pub struct Setting {
    pub sack: bool,
    pub window: u16,
    pub isn: u32,
    pub scale: Option<u8>,
    /// SYN, SYN/ACK and ACK come first.
    pub handshake: bool,
    pub shift_ms: f64,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { sack: true, window: 60000, isn: 0, scale: None, handshake: true, shift_ms: 0.0 }
    }
}

const Y_ISN: u32 = 7000;

/// A packet from X or from Y at `ms`.
pub fn packet(of: &Setting, ms: f64, from_x: bool) -> Segment {
    let (x, y) = (Address::V4([10, 0, 0, 1]), Address::V4([10, 0, 0, 2]));
    let ((source, source_port), (destination, destination_port)) =
        if from_x { ((x, 40000), (y, 80)) } else { ((y, 80), (x, 40000)) };
    Segment {
        time: ((ms + of.shift_ms) * 1e6).round() as i64,
        number: 0,
        interface: 0,
        tags: 0,
        source,
        destination,
        source_port,
        destination_port,
        ip_id: 0,
        marked: false,
        length: 0,
        seq: if from_x { of.isn } else { Y_ISN }.wrapping_add(1),
        ack: if from_x { Y_ISN } else { of.isn }.wrapping_add(1),
        flags: flags::ACK,
        window: Some(of.window),
        options: Options::default(),
        options_cut: false,
    }
}

fn handshake(of: &Setting) -> Vec<Segment> {
    let offer = Options { mss: Some(1000), sack_permitted: of.sack, window_scale: of.scale, ..Options::default() };
    let (mut syn, mut answer) = (packet(of, 0.0, true), packet(of, 50.0, false));
    (syn.seq, syn.ack, syn.flags, syn.options) = (of.isn, 0, flags::SYN, offer);
    (answer.seq, answer.flags, answer.options) = (Y_ISN, flags::SYN | flags::ACK, offer);
    vec![syn, answer, packet(of, 50.1, true)]
}

fn two<T: std::str::FromStr>(text: &str, between: char) -> (T, T)
where
    T::Err: std::fmt::Debug,
{
    let (a, b) = text.split_once(between).unwrap();
    (a.parse().unwrap(), b.parse().unwrap())
}

fn one(of: &Setting, text: &str) -> Segment {
    let mut words = text.split_whitespace();
    let ms: f64 = words.next().unwrap().parse().unwrap();
    let from_x = words.next() == Some(">");
    let mut s = packet(of, ms, from_x);
    let mut blocks = Vec::new();
    for word in words {
        let (kind, rest) = word.split_at(1);
        match kind {
            "a" => s.ack = of.isn.wrapping_add(rest.parse().unwrap()),
            "w" => s.window = Some(rest.parse().unwrap()),
            "t" => s.options.timestamps = Some(two(rest, '/')),
            "i" => s.ip_id = rest.parse().unwrap(),
            "s" => {
                let (start, end) = two::<u32>(rest, '-');
                blocks.push(SackBlock { start: of.isn.wrapping_add(start), end: of.isn.wrapping_add(end) });
            }
            "F" => s.flags |= flags::FIN,
            "R" => s.flags |= flags::RST,
            "C" => s.marked = true,
            _ => {
                let (seq, length) = two::<u32>(word, ':');
                let isn = if from_x { of.isn } else { Y_ISN };
                (s.seq, s.length) = (isn.wrapping_add(seq), length);
            }
        }
    }
    s.options.sack = blocks.into_iter().collect();
    s
}

/// The packets of a script. D3, D5 and H stand for what they are in the specification of the analysis.
pub fn segments(of: &Setting, script: &str) -> Vec<Segment> {
    let three = "60 > 1:1000; 60.1 > 1001:1000; 60.2 > 2001:1000";
    let five = format!("{three}; 60.3 > 3001:1000; 60.4 > 4001:1000");
    let holes = "60 > 1:1000; 60 < a1001; 60.2 > 2001:1000; 60.2 < a1001 s2001-3001; 60.3 > 3001:1000; \
                 60.3 < a1001 s2001-4001";
    let script = script.replace("D3", three).replace("D5", &five).replace('H', holes);
    let mut all = if of.handshake { handshake(of) } else { Vec::new() };
    all.extend(script.split(';').map(str::trim).filter(|text| !text.is_empty()).map(|text| one(of, text)));
    for (number, s) in (1..).zip(&mut all) {
        s.number = number;
    }
    all
}

/// Everything that comes out.
#[derive(Default)]
pub struct Found {
    pub rows: Vec<FlowRow>,
    pub events: Vec<Event>,
    pub samples: Vec<Sample>,
}

impl Sink for Found {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        self.rows.extend(rows);
    }
    fn sample(&mut self, sample: Sample) {
        self.samples.push(sample);
    }
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// Plays packets.
pub fn analysed(segments: &[Segment], settings: Settings) -> Found {
    let mut analyzer = Analyzer::new(Found::default(), settings);
    segments.iter().for_each(|s| analyzer.take(s));
    let mut found = analyzer.finish();
    found.rows.sort_by_key(|row| row.id);
    found
}

/// Plays a script with all that can be recorded.
pub fn play(of: &Setting, script: &str) -> Found {
    analysed(&segments(of, script), Settings { series: true, events: true, ..Settings::default() })
}

impl Found {
    /// How often each thing of the specification's results happened to the data of X.
    pub fn results(&self) -> BTreeMap<String, u64> {
        let (x, y) = (&self.rows[0], &self.rows[1]);
        let mut all = BTreeMap::new();
        let mut add = |name: &str, n: u64| *all.entry(name.to_string()).or_default() += n;
        for e in self.events.iter().filter(|e| e.id.direction == 0) {
            match e.kind {
                Happening::Spurious => add(&format!("spurious {}", e.spurious.unwrap().name()), 1),
                Happening::Retransmission | Happening::Partial => add(e.cause.unwrap().name(), 1),
                _ => {}
            }
        }
        for (name, n) in [
            ("recovery", x.recoveries),
            ("timeout", x.timeouts),
            ("dup", x.dup_acks),
            ("ack", x.acks),
            ("RTT", x.rtt_samples),
            ("reordered", x.reordered_segments),
            ("rtx", x.retransmitted_segments),
            ("ambiguous", x.ambiguous),
            ("keepalive", x.keepalives),
            ("probe", x.probes),
            ("zero window", x.zero_windows),
            ("update", x.window_updates),
            ("dsack", x.dsacks),
            ("partial", x.partial),
            ("gap", x.gap_bytes),
            ("missed", x.missed_bytes),
            ("ack_unseen", x.ack_unseen),
            ("duplicate packet of X", x.duplicate_packets),
            ("duplicate packet of Y", y.duplicate_packets),
            ("byte sent", x.sent_bytes),
            ("byte again", x.retransmitted_bytes),
            ("segment", x.sent_segments),
            ("packet", x.packets),
        ] {
            add(name, n);
        }
        all
    }
}

/// Plays a script and compares what is said of it: `1 fast, 3 dup`. What is not said may be anything.
pub fn holds(of: &Setting, script: &str, results: &str) {
    let found = play(of, script);
    let all = found.results();
    for result in results.split(", ") {
        let (n, name) = result.split_once(' ').unwrap();
        let one = |name: &str| all.get(name).copied();
        let n: u64 = n.parse().unwrap();
        let known = ["rto", "rto_recovery", "tlp", "fast", "unknown"];
        let spurious = name.starts_with("spurious ");
        let value = one(name).or((known.contains(&name) || spurious).then_some(0));
        assert_eq!(value, Some(n), "{name} of `{script}`\n{:#?}", found.events);
    }
}
