//! Bulk data: as fast as the transport allows, without end or so many bytes.

use super::params::{Given, Kind, Problem, optional};
use super::registry::Entry;
use super::{Application, Conn, Connections, End, Failure, Host, Made, Reading, Setup};
use crate::time::{Span, Time};

/// Bulk data.
pub const ENTRY: Entry = Entry {
    kind: "bulk",
    summary: "sends as fast as the transport allows, without end or so many bytes",
    params: &[
        optional("bytes", Kind::Whole, "how much; without it there is no end"),
        optional("read_bps", Kind::Whole, "the receiver reads so fast, bit/s; without it everything at once"),
        optional("read_every_ns", Kind::Whole, "and so often, 10 ms if left out"),
    ],
    make,
};

/// Rate / 100 bytes every 10 ms, as the slow reader of the recorded kernel runs.
const READ_EVERY: u64 = 10_000_000;

fn make(given: &Given, setup: &Setup<'_>) -> Result<Made, Problem> {
    let bytes = given.whole("bytes");
    let sink: Box<dyn Application> = if given.has("read_bps") || given.has("read_every_ns") {
        let every = given.whole("read_every_ns").unwrap_or(READ_EVERY);
        let rate = given.positive("read_bps")?;
        if every == 0 || every > setup.longest().0 {
            return Err(Problem::new(
                "read_every_ns",
                "the receiver reads once in the run at least, and not all the time",
            ));
        }
        let share = u128::from(rate) * u128::from(every);
        Box::new(SlowSink { bytes, share, every: Span(every), carry: 0, conn: None, next: Time::NEVER })
    } else {
        Box::new(Sink { bytes })
    };
    let source = Box::new(Source { bytes, conn: None });
    Ok(Made {
        ends: [source, sink],
        opens: End::Source,
        connections: Connections::One,
        at_once: bytes,
        once: bytes.is_some(),
        in_transfers: false,
    })
}

struct Source {
    bytes: Option<u64>,
    conn: Option<Conn>,
}

impl Application for Source {
    fn begin(&mut self, host: &mut dyn Host) {
        let first = self.conn.is_none();
        let conn = *self.conn.get_or_insert_with(|| host.open());
        host.write(conn, self.bytes.unwrap_or(u64::MAX));
        if let (true, Some(bytes)) = (first, self.bytes) {
            host.begun(0, bytes);
            host.close(conn);
        }
    }

    fn pause(&mut self, host: &mut dyn Host, last: bool) {
        let Some(conn) = self.conn else { return };
        host.cancel(conn);
        if last {
            host.close(conn);
        }
    }
}

/// The stream has ended: the transfer is done if everything came, and this end closes.
fn over(host: &mut dyn Host, conn: Conn, bytes: Option<u64>) {
    if bytes.is_some_and(|b| host.received(conn) >= b) {
        host.done(0);
    }
    host.completed();
    host.close(conn);
}

struct Sink {
    bytes: Option<u64>,
}

impl Application for Sink {
    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        over(host, conn, self.bytes);
    }
}

/// Reads its share at every turn and no more.
struct SlowSink {
    bytes: Option<u64>,
    /// Of a turn, in bits times 10^9.
    share: u128,
    every: Span,
    carry: u128,
    conn: Option<Conn>,
    next: Time,
}

/// Bit-nanoseconds per second in a byte.
const BYTE: u128 = 8_000_000_000;

impl Application for SlowSink {
    fn reading(&self) -> Reading {
        Reading::ByHand
    }

    fn on_accepted(&mut self, host: &mut dyn Host, conn: Conn) {
        self.conn = Some(conn);
        self.next = host.now() + self.every;
    }

    fn due(&self) -> Time {
        self.next
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        // From when this turn was due: on a computer that is late the rate stays.
        self.next += self.every;
        self.carry += self.share;
        let most = self.carry / BYTE;
        self.carry %= BYTE;
        if let Some(conn) = self.conn {
            host.read(conn, u64::try_from(most).unwrap_or(u64::MAX));
        }
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        self.next = Time::NEVER;
        over(host, conn, self.bytes);
    }

    fn on_failed(&mut self, _: &mut dyn Host, _: Conn, _: Failure) {
        self.next = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;
    use crate::app::testing::{Did, Fake};

    fn made(values: &[(&str, u64)]) -> [Box<dyn Application>; 2] {
        Fake::made(&ENTRY, &values.iter().map(|(k, v)| (*k, Value::Whole(*v))).collect::<Vec<_>>()).ends
    }

    #[test]
    fn data_without_end_is_taken_back_at_a_pause() {
        let [mut source, _] = made(&[]);
        let mut host = Fake::default();
        source.begin(&mut host);
        source.pause(&mut host, false);
        source.begin(&mut host);
        source.pause(&mut host, true);
        let c = Conn(0);
        let all = u64::MAX;
        let expected =
            [Did::Open(c), Did::Write(c, all), Did::Cancel(c), Did::Write(c, all), Did::Cancel(c), Did::Close(c)];
        assert_eq!(host.did, expected);
    }

    #[test]
    fn so_many_bytes_are_a_transfer() {
        let [mut source, mut sink] = made(&[("bytes", 5)]);
        let mut host = Fake::default();
        source.begin(&mut host);
        assert_eq!(host.did, [Did::Open(Conn(0)), Did::Write(Conn(0), 5), Did::Begun(0, 5), Did::Close(Conn(0))]);
        for (came, done) in [(5, true), (4, false)] {
            let mut host = Fake::default();
            host.unread.insert(Conn(7), came);
            host.take_all(Conn(7));
            sink.on_closed(&mut host, Conn(7));
            assert_eq!(host.did.contains(&Did::Done(0)), done);
            assert_eq!(host.did[host.did.len() - 2..], [Did::Completed, Did::Close(Conn(7))]);
        }
    }

    #[test]
    fn a_slow_reader_reads_its_rate_and_no_more() {
        // 1 Mbit/s every 3 ms: 375 bytes a turn; 1.001 Mbit/s: 375.375.
        // However late turns come, so many there are.
        for (rate, total, late) in [(1_000_000, 375_000, 0), (1_001_000, 375_375, 0), (1_000_000, 375_000, 7_000_000)] {
            let [_, mut sink] = made(&[("read_bps", rate), ("read_every_ns", 3_000_000)]);
            assert_eq!(sink.reading(), Reading::ByHand);
            let mut host = Fake::default();
            host.unread.insert(Conn(1), 1 << 30);
            sink.on_accepted(&mut host, Conn(1));
            for _ in 0..1000 {
                host.now = sink.due() + Span(late);
                sink.on_due(&mut host);
            }
            assert_eq!((host.now, host.received(Conn(1))), (Time(3_000_000_000 + late), total));
            sink.on_closed(&mut host, Conn(1));
            assert_eq!(sink.due(), Time::NEVER);
        }
    }

    #[test]
    fn a_reader_that_never_reads_is_refused() {
        let problem = |key: &str, n: u64| Fake::refused(&ENTRY, &[(key, Value::Whole(n))]).key;
        assert_eq!((problem("read_bps", 0), problem("read_every_ns", 5)), ("read_bps", "read_bps"));
    }
}
