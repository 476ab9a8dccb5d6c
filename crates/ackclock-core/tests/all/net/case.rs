//! Random transfers: what is drawn for each case, and how the endpoints are built from it.

use super::path::{Order, PathCase};
use ackclock_core::cc::{CongestionControl, registry};
use ackclock_core::params::{Kind, ParamSpec, Value};
use ackclock_core::slowstart::{self, SLOW_STARTS};
use ackclock_core::tcp::config::{OPTIONS, OptionSpec, UNLIMITED_WINDOW};
use ackclock_core::tcp::{Config, Profile};
use ackclock_core::time::Span;
use proptest::prelude::*;
use proptest::sample::select;

/// 1000 bytes before the sequence numbers wrap.
pub const BEFORE_WRAP: u64 = 4_294_966_296;

/// An algorithm by name with the parameters that are set.
pub type Algorithm = (&'static str, Vec<(String, Value)>);

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Write(u64),
    Close,
}

/// One side of a connection.
#[derive(Clone, Debug)]
pub struct EndCase {
    pub profile: Profile,
    /// Options set apart from the profile.
    pub options: Vec<(&'static str, Value)>,
    pub mss: u32,
    pub controller: Algorithm,
    pub slow_start: Algorithm,
    /// The application: when it does what, in order.
    pub app: Vec<(u64, Action)>,
}

/// A connection, its applications and its network.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub handshake: bool,
    pub ends: [EndCase; 2],
    pub paths: [PathCase; 2],
}

impl EndCase {
    /// A profile as it stands, with Reno, sending nothing.
    pub fn plain(profile: Profile, mss: u32) -> EndCase {
        let app = vec![(0, Action::Close)];
        let (controller, slow_start) = (("reno", vec![]), ("standard", vec![]));
        EndCase { profile, options: vec![], mss, controller, slow_start, app }
    }

    pub fn set(&mut self, name: &'static str, value: Value) {
        self.options.retain(|o| o.0 != name);
        self.options.push((name, value));
    }

    pub fn config(&self) -> Config {
        let mut c = Config::profile(self.profile);
        for (name, value) in &self.options {
            c.set(name, value).unwrap();
        }
        // A connection that gives up delivers nothing: that is tested elsewhere.
        c.data_retries = 1000;
        c.syn_retries = 100;
        c.max_rto = c.max_rto.max(c.min_rto).max(c.initial_rto);
        c
    }

    pub fn controller(&self) -> Box<dyn CongestionControl> {
        let slow_start = slowstart::build(self.slow_start.0, &self.slow_start.1).unwrap();
        registry::build(self.controller.0, &self.controller.1, slow_start).unwrap()
    }

    /// Bytes the application writes.
    pub fn written(&self) -> u64 {
        self.app.iter().map(|(_, a)| if let Action::Write(n) = a { *n } else { 0 }).sum()
    }
}

impl Case {
    /// Sets an option on both sides.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.ends.iter_mut().for_each(|e| e.set(name, value.clone()));
    }

    /// Shortens the writes to some hundred segments, or windows where these are smaller: packets are what a case costs.
    pub fn shortened(mut self) -> Case {
        let configs = self.ends.each_ref().map(EndCase::config);
        let rooms = configs.map(|c| c.receive_buffer.min(c.initial_receive_window));
        let unit = u64::from(self.ends[0].mss.min(self.ends[1].mss)).min(rooms[0]).min(rooms[1]);
        for (_, action) in self.ends.iter_mut().flat_map(|e| &mut e.app) {
            if let Action::Write(n) = action {
                *n %= 100 * unit;
            }
        }
        self
    }

    /// Fixed one-way delays and nothing else.
    pub fn clean(mut self) -> Case {
        self.paths = self.paths.map(|p| PathCase::clean(p.delay));
        self
    }
}

fn ms(n: u64) -> Value {
    Value::Duration(Span::from_millis(n))
}

/// Values worth trying for an option; none: it stays as the profile has it.
fn option_values(o: &OptionSpec) -> Vec<Value> {
    let ints = |v: &[u64]| v.iter().map(|n| Value::Int(*n)).collect();
    match (o.name, o.kind) {
        // The harness sets these itself, or they only concern the size of packets.
        ("handshake" | "mtu" | "syn_retries" | "data_retries", _) => vec![],
        ("iss", _) => ints(&[0, 1, BEFORE_WRAP, u64::from(u32::MAX), 1 << 31]),
        ("iw", _) => ints(&[1, 2, 3, 10, 50]),
        ("dupthresh" | "delayed_ack" | "quick_acks", _) => ints(&[1, 2, 3, 5]),
        ("receive_buffer" | "initial_receive_window" | "window_growth_limit", _) => {
            ints(&[256, 1000, 4000, 65_535, 65_536, 1 << 20, UNLIMITED_WINDOW])
        }
        ("app_read_rate", _) => ints(&[5_000, 100_000, 10_000_000]),
        ("min_rto", _) => vec![ms(0), ms(50), ms(200), ms(1000)],
        ("max_rto", _) => vec![ms(2000), ms(120_000)],
        ("initial_rto", _) => vec![ms(200), ms(1000), ms(3000)],
        ("clock_granularity", _) => vec![ms(0), ms(1), ms(100)],
        ("timestamp_tick", _) => vec![Value::Duration(Span::from_micros(1)), ms(1), ms(10), ms(1000)],
        ("delayed_ack_timeout", _) => vec![ms(0), ms(40), ms(500)],
        (_, kind) => kind_values(kind),
    }
}

fn kind_values(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Kind::Choice(words) => words.iter().map(|w| Value::Text((*w).to_owned())).collect(),
        _ => vec![],
    }
}

/// Half of the options keep their profile's value.
fn options() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let one = |o: &'static OptionSpec| {
        let values = option_values(o);
        (!values.is_empty()).then(|| prop::option::of(select(values)).prop_map(move |v| v.map(|v| (o.name, v))).boxed())
    };
    let all: Vec<_> = OPTIONS.iter().filter_map(one).collect();
    all.prop_map(|set| set.into_iter().flatten().collect())
}

/// An algorithm with each of its choices and switches.
fn algorithm(name: &'static str, params: &'static [ParamSpec]) -> Vec<Algorithm> {
    let mut all = vec![(name, vec![])];
    for p in params {
        let values = match p.name {
            "abc_limit" => vec![Value::Int(0), Value::Int(2)],
            "low_window" | "max_ssthresh" => vec![Value::Int(4)],
            "max_increment" => vec![Value::Int(2)],
            _ => kind_values(p.kind),
        };
        all.extend(values.into_iter().map(|v| (name, vec![(p.name.to_owned(), v)])));
    }
    all
}

/// Every controller of the registry, in every variant.
fn controllers() -> impl Strategy<Value = Algorithm> {
    let variants = registry::CONTROLLERS.iter().map(|c| select(algorithm(c.name, c.params)));
    select(variants.collect::<Vec<_>>()).prop_flat_map(|c| c)
}

fn slow_starts() -> impl Strategy<Value = Algorithm> {
    let variants = SLOW_STARTS.iter().map(|s| select(algorithm(s.name, s.params)));
    select(variants.collect::<Vec<_>>()).prop_flat_map(|c| c)
}

/// Pauses in milliseconds, then how many segments and a rest are written.
type Writes = Vec<(u64, u64, u64)>;

fn writes(segments: u64) -> impl Strategy<Value = Writes> {
    // Pauses of up to three seconds let connections go idle.
    let pause = prop_oneof![4 => Just(0u64), 2 => 0u64..50, 1 => 0u64..3000];
    prop::collection::vec((pause, 0..segments, 0u64..3000), 0..5)
}

/// The writes as an application that closes at the end. The number of packets is what a case costs, so tiny segments
/// make tiny streams.
fn app(writes: &Writes, mss: u32) -> Vec<(u64, Action)> {
    let mss = u64::from(mss);
    let mut at = 0;
    let mut app = Vec::new();
    for (pause, segments, rest) in writes {
        at += pause * 1_000_000;
        app.push((at, Action::Write(segments * mss + rest % (3 * mss))));
    }
    app.push((at, Action::Close));
    app
}

fn end() -> impl Strategy<Value = EndCase> {
    let mss = prop_oneof![4 => select(vec![1448u32, 536, 1000]), 1 => select(vec![1u32, 2, 7, 100, 9000, 65_495])];
    let fixed = (select(Profile::ALL.to_vec()), options(), mss, controllers(), slow_starts());
    fixed.prop_map(|(profile, options, mss, controller, slow_start)| EndCase {
        profile,
        options,
        mss,
        controller,
        slow_start,
        app: vec![],
    })
}

fn path() -> impl Strategy<Value = PathCase> {
    let time = |most: u64| prop_oneof![1 => Just(0), 2 => 0..most / 20, 1 => 0..most];
    let share = |most: f64| prop_oneof![2 => Just(0.0), 2 => 0.0..most / 5.0, 1 => 0.0..most];
    let order = prop_oneof![2 => Just(Order::Kept), 1 => Just(Order::Free), 1 => (0.0..0.3).prop_map(Order::Swapped)];
    let bottleneck = prop_oneof![2 => Just((0, 1000)), 1 => (1u64..20_000, 1usize..40)];
    let outage = prop_oneof![4 => Just((0, 0)), 1 => (0u64..4_000, 0u64..5_000)];
    let shares = (share(0.4), share(0.3), share(1.0));
    (time(300_000_000), time(50_000_000), shares, order, bottleneck, outage).prop_map(
        |(delay, jitter, (loss, duplicate, marks), order, (per_byte, room), (from, len))| {
            let outage = (from * 1_000_000, (from + len) * 1_000_000);
            PathCase { delay, jitter, loss, duplicate, marks, order, per_byte, room, outage }
        },
    )
}

/// Any connection over any network.
pub fn any_case() -> impl Strategy<Value = Case> {
    let handshake = prop_oneof![5 => Just(true), 1 => Just(false)];
    let ends = (end(), end(), writes(60), writes(20));
    (any::<u64>(), handshake, ends, (path(), path())).prop_map(|(seed, handshake, (mut a, mut b, to, fro), (p, q))| {
        if !handshake {
            // Without a handshake both sides take the other's options for granted.
            (b.profile, b.mss, b.options) = (a.profile, a.mss, a.options.clone());
        }
        let mss = a.mss.min(b.mss);
        (a.app, b.app) = (app(&to, mss), app(&fro, mss));
        Case { seed, handshake, ends: [a, b], paths: [p, q] }
    })
}

/// A bulk transfer of `segments` full segments in one direction over a network without losses or reordering.
pub fn clean_transfer(profile: Profile, mss: u32, segments: u64) -> Case {
    let mut sender = EndCase::plain(profile, mss);
    sender.app = vec![(0, Action::Write(segments * u64::from(mss))), (0, Action::Close)];
    let paths = [PathCase::clean(20_000_000), PathCase::clean(20_000_000)];
    Case { seed: 1, handshake: true, ends: [sender, EndCase::plain(profile, mss)], paths }
}
