//! What sockets say, as windows of a download (`ackclock_core::app::parallel`).
//!
//! This end receives, so it sees neither retransmissions nor the sender's window. It sees segments that come out of order,
//! which is what follows a loss; round trips by the timestamps that come back; and whether a connection has the whole window
//! that it offers under way.

use crate::connect::Watched;
use crate::sys::info::Info;
use ackclock_core::app::parallel::{Window, evidence::LOW};
use ackclock_core::time::Span;
use std::time::Duration;

/// Share of the offered window under way from which on it limits: the sender fills whole segments, and what comes is read in lumps.
const FULL: f64 = 0.8;
/// The clock of timestamps, microseconds: a round trip is not known better than that.
const TICK: f64 = 1000.0;

/// One connection since it was looked at last.
#[derive(Debug)]
struct Seen {
    id: u64,
    last: Info,
    inflation: f64,
}

/// Adds up what connections say.
#[derive(Debug, Default)]
pub struct Meter {
    seen: Vec<Seen>,
    /// The shortest round trip of all, microseconds.
    shortest: Option<u32>,
    longest_now: u32,
    window: Sums,
}

#[derive(Debug, Default)]
struct Sums {
    fewest: Option<u32>,
    segments: u64,
    losses: u64,
    low_losses: u64,
    order_known: bool,
    inflation: (f64, f64),
    limited: (f64, f64),
}

impl Meter {
    /// Looks at the connections: their numbers and sockets; `at_work`: how many receive; `since` the look before.
    pub fn look(&mut self, connections: &[(u64, Watched)], at_work: u32, since: Duration) {
        self.window.fewest = Some(self.window.fewest.map_or(at_work, |fewest| fewest.min(at_work)));
        self.seen.retain(|seen| connections.iter().any(|(id, _)| *id == seen.id));
        self.longest_now = 0;
        for (id, socket) in connections {
            if let Some(info) = socket.info() {
                self.one(*id, info, since);
            }
        }
    }

    fn one(&mut self, id: u64, info: Info, since: Duration) {
        let known = [info.min_rtt, info.rtt].into_iter().filter(|rtt| *rtt > 0 && *rtt < u32::MAX).min();
        self.shortest = self.shortest.into_iter().chain(known).min();
        let Some(shortest) = self.shortest else { return };
        let round_trip = if info.rcv_rtt > 0 { info.rcv_rtt } else { info.rtt };
        self.longest_now = self.longest_now.max(round_trip);
        let inflation = inflation(f64::from(round_trip), f64::from(shortest));
        let Some(place) = self.seen.iter().position(|seen| seen.id == id) else {
            self.seen.push(Seen { id, last: info, inflation });
            return;
        };
        let before = std::mem::replace(&mut self.seen[place], Seen { id, last: info, inflation });
        let bytes = info.bytes_received.saturating_sub(before.last.bytes_received);
        let sums = &mut self.window;
        sums.segments += u64::from(info.data_segs_in.wrapping_sub(before.last.data_segs_in));
        if let (Some(now), Some(then)) = (info.out_of_order, before.last.out_of_order) {
            sums.order_known = true;
            if now != then {
                // What was lost left a round trip ago, when the queue was as long as at the look before, or as now.
                sums.losses += 1;
                sums.low_losses += u64::from(inflation.max(before.inflation) <= LOW);
            }
        }
        if bytes == 0 || info.rcv_rtt == 0 {
            return;
        }
        sums.inflation = (sums.inflation.0 + inflation, sums.inflation.1 + 1.0);
        if let Some(offered) = info.rcv_wnd {
            let under_way = bytes as f64 / since.as_secs_f64().max(1e-6) * f64::from(info.rcv_rtt) * 1e-6;
            let full = under_way >= FULL * f64::from(offered);
            sums.limited = (sums.limited.0 + f64::from(u8::from(full)), sums.limited.1 + 1.0);
        }
    }

    /// The round trip now, the longest of all connections.
    pub fn round_trip(&self) -> Option<Duration> {
        (self.longest_now > 0).then(|| Duration::from_micros(u64::from(self.longest_now)))
    }

    /// The window that ends now.
    pub fn window(&mut self, took: Duration, bytes: u64, held_back: bool) -> Window {
        let sums = std::mem::take(&mut self.window);
        let mean = |(sum, count): (f64, f64)| (count > 0.0).then(|| sum / count);
        Window {
            took: Span(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)),
            bytes,
            connections: sums.fewest.unwrap_or(0),
            segments: sums.order_known.then_some(sums.segments),
            losses: sums.order_known.then_some(sums.losses),
            low_losses: sums.low_losses,
            inflation: mean(sums.inflation),
            window_limited: mean(sums.limited),
            held_back,
        }
    }
}

/// A round trip over the shortest one; queues that are shorter than the clock's tick cannot be told.
fn inflation(round_trip: f64, shortest: f64) -> f64 {
    1.0 + (round_trip - shortest - TICK).max(0.0) / shortest.max(2.0 * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(ms: u32, bytes: u64, out_of_order: u32) -> Info {
        Info {
            rtt: 40_000,
            min_rtt: 40_000,
            rcv_rtt: ms * 1000,
            data_segs_in: (bytes / 1000) as u32,
            out_of_order: Some(out_of_order),
            rcv_wnd: Some(100_000),
            bytes_received: bytes,
        }
    }

    #[test]
    fn a_window_says_what_its_looks_saw() {
        let (mut meter, look) = (Meter::default(), Duration::from_millis(100));
        for (at, (ms, lost)) in [(41, 0), (41, 0), (81, 0), (81, 7), (41, 7), (41, 9)].into_iter().enumerate() {
            // 200 kB in 100 ms: at 41 ms 82 kB are under way of the 100 kB that are offered.
            meter.one(1, info(ms, 200_000 * at as u64, lost), look);
        }
        let window = meter.window(Duration::from_secs(1), 1_000_000, false);
        assert_eq!((window.losses, window.low_losses, window.segments), (Some(2), 1, Some(1000)));
        assert_eq!(window.window_limited, Some(1.0));
        assert!((window.inflation.unwrap() - (1.0 + 2.0 + 2.0 + 1.0 + 1.0) / 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_queue_is_what_a_clock_of_milliseconds_can_tell() {
        assert_eq!(inflation(41_000.0, 40_000.0), 1.0);
        assert_eq!(inflation(81_000.0, 40_000.0), 2.0);
        // Between two computers side by side.
        assert_eq!(inflation(1_100.0, 90.0), 1.0 + 10.0 / 2_000.0);
    }

    #[test]
    fn what_an_old_kernel_does_not_say_is_none() {
        let mut meter = Meter::default();
        for at in 0..3 {
            let old = Info { out_of_order: None, rcv_wnd: None, ..info(41, 1000 * at, 0) };
            meter.one(1, old, Duration::from_millis(100));
        }
        let window = meter.window(Duration::from_secs(1), 1, false);
        assert_eq!((window.losses, window.segments, window.window_limited), (None, None, None));
        assert!(window.inflation.is_some());
    }
}
