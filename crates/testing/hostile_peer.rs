//! A peer that sends anything: bytes decide what an endpoint gets and when. Included by `#[path]` by a test and a fuzz target.
//!
//! Segments are mostly near what the endpoint expects, so that they get past its first checks. The peer also leaves options out,
//! lets clocks and sequence numbers wrap, shrinks its window, reneges on SACK blocks, opens at the same time and closes or aborts
//! in any state; the application may read slowly or stop writing. After every call the endpoint is audited: positions never move
//! back, nothing leaves beyond the window, and what it counts must be possible.
#![allow(dead_code)] // the fuzz target adds nothing up

use ackclock_core::cc::registry;
use ackclock_core::packet::Ecn;
use ackclock_core::params::{Kind, Value};
use ackclock_core::rng::Stream;
use ackclock_core::slowstart::{self, SLOW_STARTS};
use ackclock_core::tcp::config::{OPTIONS, OptionSpec};
use ackclock_core::tcp::segment::{SackBlock, flags};
use ackclock_core::tcp::{Config, Endpoint, Profile, Segment};
use ackclock_core::time::{Span, Time};

/// Segments that an endpoint may let out at one time before the test takes it for an endless loop.
const MOST_AT_ONCE: usize = 200_000;

/// The URG flag, which the endpoint does not read.
const URGENT: u8 = 0x20;
/// A timestamp clock in milliseconds wraps at this time.
const CLOCK_WRAPS: Span = Span::from_millis(1 << 32);

/// The bytes that decide, read from the front; zeros behind their end.
struct Draws<'a>(&'a [u8]);

impl Draws<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, n: usize) -> usize {
        let wide = usize::from(self.byte()) << 8 | usize::from(self.byte());
        wide % n.max(1)
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// What was met on the way, to show that the cases are worth something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    pub established: u64,
    pub failed: u64,
    pub given: u64,
    pub sent: u64,
    pub delivered: u64,
    pub acknowledged: u64,
    pub recoveries: u64,
    pub timeouts: u64,
    /// Connections opened by both sides at once.
    pub simultaneous: u64,
    /// SACK blocks that the peer took back.
    pub reneged: u64,
    /// Bytes read by an application that reads by hand.
    pub read: u64,
    /// Connections that ended in order, both sides closed.
    pub closed: u64,
}

impl Met {
    /// Adds what another connection met.
    pub fn add(&mut self, other: &Met) {
        self.established += other.established;
        self.failed += other.failed;
        self.given += other.given;
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.acknowledged += other.acknowledged;
        self.recoveries += other.recoveries;
        self.timeouts += other.timeouts;
        self.simultaneous += other.simultaneous;
        self.reneged += other.reneged;
        self.read += other.read;
        self.closed += other.closed;
    }
}

fn value(option: &OptionSpec, draws: &mut Draws<'_>) -> Option<Value> {
    Some(match option.kind {
        Kind::Bool => Value::Bool(draws.byte() & 1 == 1),
        Kind::Choice(words) => Value::Text(draws.choose(words).to_owned()),
        Kind::Count | Kind::Segments => Value::Int(draws.choose(&[1, 2, 3, 10, 1000])),
        Kind::Bytes => Value::Int(draws.choose(&[1, 3000, 65_535, 1_000_000])),
        Kind::Duration => Value::Duration(Span::from_millis(draws.choose(&[1, 40, 200, 1000]))),
        Kind::Float => return None,
    })
}

/// An endpoint with options, controller and slow start that the bytes choose.
fn endpoint(draws: &mut Draws<'_>) -> Endpoint {
    let mut config = Config::profile(draws.choose(&Profile::ALL));
    for _ in 0..draws.below(6) {
        let option = &OPTIONS[draws.below(OPTIONS.len())];
        let Some(value) = value(option, draws) else { continue };
        // What is out of range stays as it was.
        let _ = config.set(option.name, &value);
    }
    if draws.below(4) == 0 {
        // The sequence numbers wrap in the handshake, or soon after it.
        config.iss = u64::from(u32::MAX - u32::from(draws.byte()) * draws.choose(&[0, 1, 100]));
    }
    config.max_rto = config.max_rto.max(config.min_rto).max(config.initial_rto);
    let controllers: Vec<_> = registry::CONTROLLERS.iter().map(|c| c.name).collect();
    let (controller, slow_start) = (draws.choose(&controllers), SLOW_STARTS[draws.below(SLOW_STARTS.len())].name);
    let start = |name| slowstart::build(name, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
    let cc = registry::build(controller, &[], start(slow_start))
        .or_else(|_| registry::build(controller, &[], start("standard")))
        .unwrap_or_else(|e| panic!("{controller}: {e}"));
    let mss = draws.choose(&[1448, 536, 1000, 8948]);
    Endpoint::new(&config, mss, cc, Stream::named(u64::from(draws.byte()), 0, "hostile"))
}

fn header(seq: u32, ack: u32, flags: u8, window: u16) -> Segment {
    let mut segment = Segment::default();
    (segment.seq, segment.ack, segment.flags, segment.window) = (seq, ack, flags, window);
    segment
}

/// What the endpoint showed at the last audit: none of it may move back.
#[derive(Clone, Copy, Default)]
struct Shown {
    una: u64,
    nxt: u64,
    edge: u64,
    expected: u64,
    offered: u64,
}

/// The connection as its peer sees it.
struct Peer {
    /// Next number that it sends, and the last that the endpoint has acknowledged.
    seq: u32,
    acked: u32,
    /// Of the endpoint: what it sent last, how far, and how far this peer has acknowledged.
    sent: Segment,
    end: u32,
    una: u32,
    now: Time,
    met: Met,
    payload: u64,
    /// The peer's timestamp clock, which may wrap.
    clock: u32,
    /// Blocks that it reports again and again, until it reneges.
    held: Vec<SackBlock>,
    shown: Shown,
}

impl Peer {
    fn near(draws: &mut Draws<'_>, of: u32, other: u32) -> u32 {
        match draws.below(8) {
            0..=3 => of,
            4 => other,
            5 => of.wrapping_add(u32::from(draws.byte())),
            6 => of.wrapping_sub(u32::from(draws.byte())),
            _ => draws.word(),
        }
    }

    fn segment(&mut self, draws: &mut Draws<'_>) -> Segment {
        let bits = draws.byte();
        let mut flags = flags::ACK;
        if bits & 0x0f == 0 {
            flags = draws.byte();
        } else if bits & 0x0f == 1 {
            flags |= draws.choose(&[
                flags::FIN,
                flags::FIN,
                flags::FIN,
                flags::RST,
                flags::SYN,
                flags::PSH,
                URGENT,
                flags::ECE,
                flags::CWR,
            ]);
        }
        let len = if bits & 0x10 == 0 { 0 } else { draws.choose(&[1, 100, 536, 1000, 1448, 65_000]) };
        let span = self.end.wrapping_sub(self.una).max(1);
        let ack = match draws.below(4) {
            0 => self.una,
            1 => self.end,
            2 => self.una.wrapping_add(draws.word() % span),
            _ => Self::near(draws, self.una, self.end),
        };
        let window = draws.choose(&[65_535, 65_535, 1000, 1, 0, u32::from(u16::MAX) / 2]) as u16;
        let seq = Self::near(draws, self.seq, self.acked);
        let ecn = draws.choose(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
        let mut segment = header(seq, ack, flags, window);
        (segment.len, segment.ecn) = (len, ecn);
        if draws.below(16) == 0 {
            // Any count of marks, or any echo of one.
            segment.set_ace(draws.byte());
        }
        if flags & flags::SYN != 0 {
            segment.mss = draws.choose(&[0, 1, 48, 536, 1460, 65_535]);
            if draws.byte() & 1 == 1 {
                segment.set_sack_permitted();
                segment.set_window_scale(draws.byte() & 15);
            }
        }
        if bits & 0x60 != 0 {
            let (value, echo) = (
                draws.choose(&[self.clock, self.clock, 0, 1, self.sent.tsval(), u32::MAX]),
                draws.choose(&[self.sent.tsval(), 0, 7]),
            );
            segment.set_timestamps(value, echo);
        }
        self.held.iter().for_each(|block| segment.push_sack(*block));
        for _ in 0..draws.below(4) {
            let start = self.una.wrapping_add(draws.word() % span);
            let end = start.wrapping_add(draws.word() % span);
            let block = SackBlock { start: Self::near(draws, start, end), end: Self::near(draws, end, start) };
            segment.push_sack(block);
            if draws.below(8) == 0 {
                self.held.push(block);
            }
        }
        if seq == self.seq && ack.wrapping_sub(self.una) <= span {
            // What an honest peer might have sent counts as sent.
            self.seq = seq.wrapping_add(segment.seq_len());
            self.una = ack;
        }
        segment
    }

    /// Takes what the endpoint has to send.
    fn take(&mut self, e: &mut Endpoint) -> Result<(), String> {
        for _ in 0..MOST_AT_ONCE {
            let Some(s) = e.poll_transmit(self.now) else { return self.check(e) };
            self.met.sent += 1;
            let end = s.seq.wrapping_add(s.seq_len());
            if end.wrapping_sub(self.end) < 1 << 31 {
                self.end = end;
            }
            self.acked = s.ack;
            self.sent = s;
        }
        Err(format!("more than {MOST_AT_ONCE} segments at one time"))
    }

    /// The peer forgets what it reported (RFC 2018 §8).
    fn renege(&mut self) {
        self.met.reneged += self.held.len() as u64;
        self.held.clear();
    }

    fn check(&mut self, e: &Endpoint) -> Result<(), String> {
        e.audit()?;
        self.check_positions(e)?;
        let r = &e.rx.stats;
        if r.delivered > self.payload || r.duplicate > self.payload {
            return Err(format!("{} bytes delivered and {} twice of {} given", r.delivered, r.duplicate, self.payload));
        }
        Ok(())
    }
}

impl Peer {
    fn check_positions(&mut self, e: &Endpoint) -> Result<(), String> {
        if !e.is_established() {
            return Ok(());
        }
        let (before, (una, nxt, edge)) = (self.shown, e.tx.positions());
        let now = Shown { una, nxt, edge, expected: e.rx.nxt(), offered: e.rx.edge() };
        let pairs = [
            ("SND.UNA", before.una, now.una),
            ("SND.NXT", before.nxt, now.nxt),
            ("the peer's window", before.edge, now.edge),
            ("RCV.NXT", before.expected, now.expected),
            ("the window offered", before.offered, now.offered),
        ];
        if let Some((name, was, is)) = pairs.into_iter().find(|(_, was, is)| is < was) {
            return Err(format!("{name} moved back from {was} to {is}"));
        }
        // A FIN takes a number, but no room of the window.
        if una > nxt || nxt > edge + 1 {
            return Err(format!("SND.UNA {una}, SND.NXT {nxt}, right edge {edge}"));
        }
        self.shown = now;
        Ok(())
    }
}

/// What the application does, or what happens to it, in whatever state the connection is.
fn act(e: &mut Endpoint, peer: &mut Peer, draws: &mut Draws<'_>) {
    match draws.below(10) {
        0 | 1 => e.close(),
        2 if draws.byte() < 16 => e.abort(),
        3 => e.tx.stop(),
        4 => e.rx.read_by_hand(),
        5 => peer.met.read += e.rx.read(peer.now, draws.choose(&[0, 1, 1000, 1 << 20])),
        6 => e.rx.limit_offer(draws.choose(&[0, 1, 3000, 1 << 20])),
        7 => {
            e.wake_early(peer.now);
            e.wake(peer.now);
        }
        8 => {
            if e.departure() < Time::NEVER {
                peer.now = peer.now.max(e.departure());
                e.on_departure(peer.now);
            }
        }
        9 => peer.renege(),
        _ => e.send(draws.choose(&[1, 1000, 20_000])),
    }
}

/// Plays one connection; `bytes` decide everything.
///
/// # Errors
/// What does not hold, at which time of the connection.
pub fn play(bytes: &[u8]) -> Result<Met, String> {
    let mut draws = Draws(bytes);
    let mut e = endpoint(&mut draws);
    let mut peer = Peer {
        seq: draws.word(),
        acked: 0,
        sent: Segment::default(),
        end: 0,
        una: 0,
        now: Time::ZERO,
        met: Met::default(),
        payload: 0,
        clock: draws.choose(&[1, u32::MAX - 2000, u32::MAX / 2]),
        held: Vec::new(),
        shown: Shown::default(),
    };
    if draws.below(4) == 0 {
        peer.now = Time::ZERO + CLOCK_WRAPS - Span::from_millis(u64::from(draws.byte()) * 10);
    }
    if draws.below(8) == 0 {
        e.rx.read_by_hand();
    }
    open(&mut e, &mut peer, &mut draws)?;
    while !draws.0.is_empty() {
        match draws.below(10) {
            0 => e.send(draws.choose(&[1, 1000, 20_000, 200_000])),
            1 if draws.byte() < 128 => act(&mut e, &mut peer, &mut draws),
            1 | 2 => {
                let due = e.next_deadline().min(peer.now + Span::from_secs(100));
                peer.now = peer.now.max(due);
                e.on_timer(peer.now);
            }
            3 => {
                peer.now += Span::from_millis(draws.choose(&[1, 10, 100, 500, 5000, 300_000, 25 * 86_400_000]));
                peer.clock = peer.clock.wrapping_add(draws.choose(&[0, 1, 100, 5000]));
                e.on_timer(peer.now);
            }
            _ => {
                let segment = peer.segment(&mut draws);
                peer.payload += u64::from(segment.len);
                peer.met.given += 1;
                peer.now += Span(draws.choose(&[0, 1, 1000, 1_000_000, 20_000_000]));
                if e.next_deadline() <= peer.now {
                    e.on_timer(peer.now);
                    peer.take(&mut e)?;
                }
                e.on_segment(peer.now, &segment);
            }
        }
        let audited = peer.check(&e).and_then(|()| peer.take(&mut e));
        audited.map_err(|why| format!("{why}, at {:?}", peer.now))?;
    }
    let mut met = peer.met;
    met.closed = u64::from(e.is_established() && e.finished());
    met.failed = u64::from(e.failure().is_some());
    met.delivered = e.rx.stats.delivered;
    met.acknowledged = e.tx.acknowledged();
    (met.recoveries, met.timeouts) = (e.tx.stats().recoveries, e.tx.stats().timeouts);
    Ok(met)
}

/// Options of a SYN: an honest peer has all, another leaves some out, cuts its MSS or asks for ECN.
fn syn_options(syn: &mut Segment, peer: &Peer, draws: &mut Draws<'_>) {
    let left_out = if draws.below(4) == 0 { draws.byte() } else { 0 };
    syn.mss = if left_out & 1 == 0 { 1448 } else { draws.choose(&[0, 1, 47, 48, 536, u16::MAX]) };
    if left_out & 2 == 0 {
        syn.set_sack_permitted();
    }
    if left_out & 4 == 0 {
        syn.set_window_scale(draws.byte() & 15);
    }
    if left_out & 8 == 0 {
        syn.set_timestamps(peer.clock, if syn.has(flags::ACK) { peer.sent.tsval() } else { 0 });
    }
    if left_out & 16 != 0 {
        syn.set_ace(draws.byte());
    }
}

/// Opens the connection in one of four ways, most of the time as an honest peer would.
fn open(e: &mut Endpoint, peer: &mut Peer, draws: &mut Draws<'_>) -> Result<(), String> {
    let way = draws.below(7);
    if draws.below(16) == 0 {
        act(e, peer, draws);
    }
    let mut syn = header(peer.seq, 0, flags::SYN, draws.choose(&[65_535, 65_535, 0, 1]));
    syn_options(&mut syn, peer, draws);
    match way {
        0 => {
            peer.seq = 1;
            e.assume_established(peer.now);
        }
        1 | 2 => {
            e.listen();
            e.on_segment(peer.now, &syn);
        }
        _ => e.connect(),
    }
    if draws.below(16) == 0 {
        act(e, peer, draws);
    }
    peer.take(e)?;
    if way > 0 {
        (peer.una, peer.seq) = (peer.end, peer.seq.wrapping_add(1));
        let mut plain = header(peer.seq, peer.end, flags::ACK, 1000);
        let mut answer = header(syn.seq, peer.end, flags::SYN | flags::ACK, syn.window);
        if way == 3 {
            // Both sides open at once: the SYNs cross, each side answers the other's.
            e.on_segment(peer.now, &syn);
            peer.take(e)?;
            peer.una = peer.end;
            answer = syn;
            (answer.ack, answer.flags) = (peer.end, syn.flags | flags::ACK);
        } else {
            syn_options(&mut answer, peer, draws);
        }
        if syn.has_timestamps() {
            plain.set_timestamps(peer.clock, peer.sent.tsval());
        }
        e.on_segment(peer.now, if way > 2 { &answer } else { &plain });
        peer.check(e)?;
        peer.take(e)?;
        peer.met.simultaneous = u64::from(way == 3 && e.is_established());
    }
    peer.met.established = u64::from(e.is_established());
    Ok(())
}
