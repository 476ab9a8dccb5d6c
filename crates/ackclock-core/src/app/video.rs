//! A video in chunks of a fixed duration (HTTP adaptive streaming): the client asks for one after the other over one
//! connection, plays from a buffer, and takes the bitrate that the throughput of the last chunks allows.
//!
//! Playing begins when `startup_ns` are in the buffer, and again after each stall. A chunk is asked for when there is room
//! for it. Its bitrate is the largest of `bitrates_bps` not above `safety_percent` of the harmonic mean of the throughputs
//! of the last five chunks, the rate-based rule of Jiang, Sekar and Zhang (2012, FESTIVE) without its delays; the first
//! is the smallest. A chunk has exactly its bitrate times its duration.

use super::params::{Given, Kind, Problem, optional, required};
use super::registry::Entry;
use super::requests::Server;
use super::{Application, Conn, Connections, End, Failure, Host, Made, Setup};
use crate::time::{Span, Time};

/// A video.
pub const ENTRY: Entry = Entry {
    kind: "video",
    summary: "a client that plays a video from a buffer, fetched in chunks at a bitrate that follows the throughput",
    params: &[
        required("chunk_ns", Kind::Whole, "time that a chunk plays"),
        required("bitrates_bps", Kind::List, "bitrates there are, rising"),
        optional("chunks", Kind::Whole, "how many; without it as many as there is time for"),
        optional("startup_ns", Kind::Whole, "what is in the buffer when playing begins; two chunks if left out"),
        optional("buffer_ns", Kind::Whole, "what the buffer holds; 30 s, or as much as the start needs, if left out"),
        optional("request_bytes", Kind::Whole, "bytes of a request; 400 if left out"),
        optional("safety_percent", Kind::Whole, "share of the throughput that a bitrate may take; 85 if left out"),
    ],
    make,
};

/// Chunks whose throughput counts.
const MEMORY: usize = 5;

fn make(given: &Given, setup: &Setup<'_>) -> Result<Made, Problem> {
    let chunk = given.positive("chunk_ns")?;
    let startup = given.whole("startup_ns").unwrap_or(chunk.saturating_mul(2)).max(chunk);
    let capacity = given.whole("buffer_ns").unwrap_or(startup.saturating_add(chunk).max(30_000_000_000));
    if chunk > setup.longest().0 {
        return Err(Problem::new("chunk_ns", "a chunk plays no longer than the run lasts"));
    }
    if capacity < startup {
        return Err(Problem::new("buffer_ns", "the buffer holds at least what playing begins with"));
    }
    let rates = given.list("bitrates_bps");
    if rates.is_empty() || rates[0] == 0 || rates.windows(2).any(|w| w[0] >= w[1]) {
        return Err(Problem::new("bitrates_bps", "there is a bitrate at least, and they rise"));
    }
    let left = given.whole("chunks").unwrap_or(u64::MAX);
    let safety = given.whole("safety_percent").unwrap_or(85);
    let request = given.whole("request_bytes").unwrap_or(400);
    for (key, n) in [("chunks", left), ("safety_percent", safety), ("request_bytes", request)] {
        if n == 0 {
            return Err(Problem::new(key, "a number above zero is needed"));
        }
    }
    let client = Client {
        chunk: Span(chunk),
        rates: rates.to_vec(),
        startup: Span(startup),
        capacity: Span(capacity),
        request,
        safety: safety as f64 / 100.0,
        left,
        number: 0,
        asked: None,
        seen: Vec::new(),
        buffer: Span::ZERO,
        at: Time::ZERO,
        playing: false,
        next: Time::NEVER,
        active: false,
        conn: None,
        begun: None,
        stats: Stats::default(),
    };
    let ends: [Box<dyn Application>; 2] = [Box::new(Server), Box::new(client)];
    Ok(Made { ends, opens: End::Sink, connections: Connections::One, at_once: None, once: false, in_transfers: true })
}

/// What the viewer gets.
#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    /// From the begin to the first picture.
    startup: Option<Span>,
    stalls: u64,
    stalled: Span,
    /// When the present stall began.
    since: Option<Time>,
    chunks: u64,
    bits: f64,
    switches: u64,
    last_rate: Option<u64>,
}

struct Client {
    chunk: Span,
    rates: Vec<u64>,
    startup: Span,
    capacity: Span,
    request: u64,
    safety: f64,
    /// Chunks still to fetch.
    left: u64,
    number: u64,
    /// When the present chunk was asked for, and its bitrate.
    asked: Option<(Time, u64)>,
    /// Nanoseconds per bit of the last chunks.
    seen: Vec<f64>,
    /// What there was to play at the time `at`.
    buffer: Span,
    at: Time,
    playing: bool,
    /// When there is room for the next chunk.
    next: Time,
    active: bool,
    conn: Option<Conn>,
    begun: Option<Time>,
    stats: Stats,
}

impl Client {
    /// Plays up to `now`.
    fn play(&mut self, now: Time) {
        let passed = now.since(self.at);
        self.at = now;
        if !self.playing {
            return;
        }
        if passed < self.buffer || (passed == self.buffer && self.left == 0) {
            self.buffer = Span(self.buffer.0 - passed.0);
            return;
        }
        let dry = Span(passed.0 - self.buffer.0);
        (self.buffer, self.playing) = (Span::ZERO, false);
        // The end of the video is no stall.
        if self.left > 0 {
            self.stats.stalls += 1;
            self.stats.since = Some(Time(now.0 - dry.0));
        }
    }

    /// The largest bitrate within the share of the throughput seen.
    fn rate(&self) -> u64 {
        let mean = self.seen.iter().sum::<f64>() / self.seen.len().max(1) as f64;
        let most = if self.seen.is_empty() { 0.0 } else { self.safety * 1e9 / mean };
        self.rates.iter().rev().find(|r| **r as f64 <= most).copied().unwrap_or(self.rates[0])
    }

    /// Asks for the next chunk, or finds out when there is room for it.
    fn go_on(&mut self, host: &mut dyn Host) {
        self.next = Time::NEVER;
        let Some(conn) = self.conn.filter(|_| self.active && self.left > 0 && self.asked.is_none()) else { return };
        let over = (self.buffer.0 + self.chunk.0).saturating_sub(self.capacity.0);
        if over > 0 && self.playing {
            self.next = host.now() + Span(over);
            return;
        }
        let rate = self.rate();
        let bytes = (u128::from(rate) * u128::from(self.chunk.0) / 8_000_000_000).max(1) as u64;
        self.asked = Some((host.now(), rate));
        host.begun(self.number, bytes);
        host.say(conn, self.request, bytes);
        host.receive(conn, bytes);
    }

    fn conclude(&mut self, host: &mut dyn Host) {
        host.completed();
        if let Some(conn) = self.conn {
            host.close(conn);
        }
    }
}

impl Application for Client {
    fn begin(&mut self, host: &mut dyn Host) {
        self.active = true;
        self.play(host.now());
        self.begun.get_or_insert(host.now());
        self.conn.get_or_insert_with(|| host.open());
        self.go_on(host);
    }

    /// No further chunk is asked for.
    fn pause(&mut self, host: &mut dyn Host, last: bool) {
        self.active = false;
        self.next = Time::NEVER;
        if last {
            self.left = self.left.min(u64::from(self.asked.is_some()));
            if self.asked.is_none() {
                self.conclude(host);
            }
        }
    }

    fn due(&self) -> Time {
        self.next
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        self.play(host.now());
        self.go_on(host);
    }

    fn on_received(&mut self, host: &mut dyn Host, _: Conn) {
        let Some((since, rate)) = self.asked.take() else { return };
        let now = host.now();
        self.play(now);
        host.done(self.number);
        self.number += 1;
        self.left -= 1;
        let bits = rate as f64 * self.chunk.as_secs_f64();
        if self.seen.len() == MEMORY {
            self.seen.remove(0);
        }
        self.seen.push(now.since(since).0 as f64 / bits);
        self.buffer = self.buffer + self.chunk;
        let s = &mut self.stats;
        s.chunks += 1;
        s.bits += bits;
        s.switches += u64::from(s.last_rate.replace(rate).is_some_and(|last| last != rate));
        if !self.playing && (self.buffer >= self.startup || self.left == 0) {
            self.playing = true;
            s.startup = s.startup.or(self.begun.map(|b| now.since(b)));
            if let Some(dry) = s.since.take() {
                s.stalled = s.stalled + now.since(dry);
            }
        }
        if self.left == 0 {
            self.conclude(host);
        } else {
            self.go_on(host);
        }
    }

    fn on_failed(&mut self, _: &mut dyn Host, _: Conn, _: Failure) {
        (self.conn, self.next, self.asked) = (None, Time::NEVER, None);
    }

    fn measures(&self, now: Time) -> Vec<(&'static str, f64)> {
        let s = &self.stats;
        // A buffer that has run dry is noticed when the next chunk comes, or here.
        let dry = Time(self.at.0.saturating_add(self.buffer.0));
        let since = s.since.or((self.playing && self.left > 0 && dry < now).then_some(dry));
        let stalls = s.stalls + u64::from(since != s.since);
        let stalled = s.stalled + since.map_or(Span::ZERO, |t| now.since(t));
        let mut all = vec![("stalls", stalls as f64), ("stalled_s", stalled.as_secs_f64())];
        all.extend(s.startup.map(|t| ("startup_s", t.as_secs_f64())));
        if s.chunks > 0 {
            all.push(("bitrate_bps", s.bits / (s.chunks as f64 * self.chunk.as_secs_f64())));
        }
        all.push(("switches", s.switches as f64));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;
    use crate::app::testing::{Did, Fake};

    const MS: u64 = 1_000_000;
    const C: Conn = Conn(0);

    /// Chunks of a second at 1, 2 or 4 Mbit/s; playing begins with two of them, three fit into the buffer.
    fn client(chunks: u64) -> Box<dyn Application> {
        let given = [
            ("chunk_ns", Value::Whole(1000 * MS)),
            ("bitrates_bps", Value::List(vec![1_000_000, 2_000_000, 4_000_000])),
            ("buffer_ns", Value::Whole(3000 * MS)),
            ("chunks", Value::Whole(chunks)),
        ];
        let [_, client] = Fake::made(&ENTRY, &given).ends;
        client
    }

    /// The chunk asked for comes after `ms`; returns its bytes.
    fn comes_after(host: &mut Fake, client: &mut dyn Application, ms: u64) -> u64 {
        let Some(Did::Receive(_, bytes)) = host.did.last().copied() else { panic!("{:?}", host.did) };
        host.now += Span(ms * MS);
        client.on_received(host, C);
        bytes
    }

    fn measure(client: &dyn Application, now: Time, name: &str) -> f64 {
        client.measures(now).into_iter().find(|m| m.0 == name).unwrap().1
    }

    #[test]
    fn the_bitrate_follows_the_throughput_and_the_buffer_bounds_it() {
        let mut client = client(100);
        let mut host = Fake::default();
        client.begin(&mut host);
        assert_eq!(host.did[1..], [Did::Begun(0, 125_000), Did::Say(C, 400, 125_000), Did::Receive(C, 125_000)]);
        // 1 Mbit in 400 ms: 85 % of 2.5 Mbit/s allow 2 Mbit/s; twice as fast 4.25, the mean of both 2.83.
        assert_eq!(comes_after(&mut host, &mut *client, 400), 125_000);
        assert_eq!(comes_after(&mut host, &mut *client, 400), 250_000);
        assert_eq!(measure(&*client, host.now, "startup_s"), 0.8);
        // Playing since 0.8 s with 2 s; at 0.9 s 1.9 s and another chunk.
        assert_eq!(comes_after(&mut host, &mut *client, 100), 250_000);
        // 2.9 s: room for a fourth at 1.8 s.
        assert_eq!(client.due(), Time(1800 * MS));
        host.now = client.due();
        client.on_due(&mut host);
        // 400, 200 and 50 ns per kbit: 4.6 Mbit/s, of which 3.9.
        assert_eq!(comes_after(&mut host, &mut *client, 100), 250_000);
        assert_eq!((measure(&*client, host.now, "stalls"), measure(&*client, host.now, "switches")), (0.0, 1.0));
        assert_eq!(measure(&*client, host.now, "bitrate_bps"), 1_750_000.0);
    }

    #[test]
    fn an_empty_buffer_is_a_stall() {
        let mut client = client(4);
        let mut host = Fake::default();
        client.begin(&mut host);
        for ms in [1000, 1000, 2500] {
            comes_after(&mut host, &mut *client, ms);
        }
        // Plays from 2 to 4 s; the third comes at 4.5, and playing goes on with the fourth, the last, at 6.
        let seen = |client: &dyn Application, now| (measure(client, now, "stalls"), measure(client, now, "stalled_s"));
        assert_eq!(seen(&*client, Time(4750 * MS)), (1.0, 0.75), "a stall that goes on counts");
        comes_after(&mut host, &mut *client, 1500);
        assert_eq!(seen(&*client, host.now), (1.0, 2.0));
        assert_eq!(host.did[host.did.len() - 2..], [Did::Completed, Did::Close(C)]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |rates: &[u64], buffer: u64| {
            let all = [
                ("chunk_ns", Value::Whole(1000)),
                ("bitrates_bps", Value::List(rates.to_vec())),
                ("buffer_ns", Value::Whole(buffer)),
            ];
            Fake::refused(&ENTRY, &all).key
        };
        assert_eq!((refused(&[5, 5], 9000), refused(&[], 9000)), ("bitrates_bps", "bitrates_bps"));
        assert_eq!(refused(&[5], 1999), "buffer_ns");
    }
}
