//! What happens on the path while a program runs, in one line: on standard error where the program does not write to the same
//! terminal, else in the title of its window, which is nobody's way.

use super::watch::{Live, Way};
use crate::sys::terminal::is_terminal;
use std::io::{Write, stderr, stdin, stdout};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Line,
    Title,
}

/// The line.
pub struct Status {
    place: Place,
    last: Instant,
    bytes: [u64; 2],
}

/// The title of before is kept by the terminal meanwhile (xterm's control sequences, XTWINOPS).
const KEEP_TITLE: &str = "\x1b[22;2t";
/// See [`KEEP_TITLE`].
const GIVE_TITLE_BACK: &str = "\x1b[23;2t";

impl Status {
    /// One, if it is wanted and somebody could see it.
    pub fn new(wanted: bool) -> Option<Status> {
        if !wanted || !is_terminal(&stderr()) {
            return None;
        }
        let place = if is_terminal(&stdout()) || is_terminal(&stdin()) { Place::Title } else { Place::Line };
        if place == Place::Title {
            put(KEEP_TITLE);
        }
        Some(Status { place, last: Instant::now(), bytes: [0; 2] })
    }

    /// Shows what is so now.
    pub fn show(&mut self, live: &Live) {
        let seconds = self.last.elapsed().as_secs_f64().max(1e-3);
        self.last = Instant::now();
        let mut ways = live.iter().zip(&mut self.bytes).map(|(way, before)| {
            let bytes = way.bytes.load(Relaxed);
            let rate = (bytes - *before) as f64 * 8.0 / seconds;
            *before = bytes;
            text(way, rate)
        });
        let (down, up) = (ways.next().unwrap_or_default(), ways.next().unwrap_or_default());
        drop(ways);
        let line = format!("to client {down} | to server {up}");
        match self.place {
            Place::Line => put(&format!("\r{line}\x1b[K")),
            Place::Title => put(&format!("\x1b]2;{line}\x07")),
        }
    }

    /// Nothing is to be seen of it any more.
    pub fn clear(&self) {
        put(match self.place {
            Place::Line => "\r\x1b[K",
            Place::Title => GIVE_TITLE_BACK,
        });
    }
}

/// A terminal that is gone is no trouble.
fn put(text: &str) {
    let mut to = stderr().lock();
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

fn text(way: &Way, rate: f64) -> String {
    let of = |value: &std::sync::atomic::AtomicU64| value.load(Relaxed);
    let (packets, bytes, dropped) = (of(&way.queued_packets), of(&way.queued_bytes), of(&way.dropped));
    let ms = of(&way.queued_ns) as f64 * 1e-6;
    format!("{:.2} Mbit/s, queue {packets} ({:.1} kB, {ms:.1} ms), dropped {dropped}", rate * 1e-6, bytes as f64 * 1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_in_words() {
        let way = Way::default();
        way.queued_bytes.store(15_140, Relaxed);
        way.queued_packets.store(10, Relaxed);
        way.queued_ns.store(12_112_000, Relaxed);
        assert_eq!(text(&way, 9.5e6), "9.50 Mbit/s, queue 10 (15.1 kB, 12.1 ms), dropped 0");
    }
}
