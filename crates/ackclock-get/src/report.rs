//! What is said of a download: a line while it runs, a line in the end, or an object of JSON.

use ackclock_core::app::parallel::Window;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const EVERY: Duration = Duration::from_millis(500);

/// A change of the number of connections.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Seconds since the start.
    pub at_s: f64,
    /// Connections from then on.
    pub connections: u32,
    /// Why.
    pub why: String,
}

/// A window, as it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    at_s: f64,
    wanted: u32,
    connections: u32,
    rate_bps: f64,
    segments: Option<u64>,
    losses: Option<u64>,
    low_losses: u64,
    inflation: Option<f64>,
    window_limited: Option<f64>,
    held_back: bool,
}

/// The whole, in the end.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was asked for.
    pub url: String,
    /// Where it is.
    pub file: String,
    /// Its bytes.
    pub bytes: u64,
    /// Of them those that an earlier download had.
    pub resumed_bytes: u64,
    /// Bytes that came this time.
    pub received_bytes: u64,
    /// From the start of the program to its end.
    pub seconds: f64,
    /// Bits of what came, a second.
    pub goodput_bps: f64,
    /// What was spoken.
    pub http: &'static str,
    /// Whether pieces could be asked for.
    pub ranges: bool,
    /// Its checksum, if one was given.
    pub checksum: Option<String>,
    /// The numbers of connections, and why.
    pub connections: Vec<Step>,
    /// What was measured.
    pub windows: Vec<Measured>,
}

/// What is said and kept.
pub struct Report {
    start: Instant,
    /// Steps so far.
    pub steps: Vec<Step>,
    windows: Vec<Measured>,
    quiet: bool,
    json: bool,
    terminal: bool,
    shown: Option<Instant>,
}

impl Report {
    /// From now on.
    pub fn new(quiet: bool, json: bool) -> Report {
        let terminal = !quiet && std::io::stderr().is_terminal();
        Report { start: Instant::now(), steps: Vec::new(), windows: Vec::new(), quiet, json, terminal, shown: None }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// A line about something that a user wants to know.
    pub fn say(&mut self, text: &str) {
        self.clear();
        if !self.quiet {
            eprintln!("ackclock: {text}");
        }
    }

    /// So many connections from now on.
    pub fn step(&mut self, connections: u32, why: &str) {
        if self.steps.last().is_none_or(|last| last.connections != connections || last.why != why) {
            self.steps.push(Step { at_s: self.seconds(), connections, why: why.to_owned() });
        }
    }

    /// A window is over, in which so many were wanted.
    pub fn window(&mut self, wanted: u32, window: &Window) {
        self.windows.push(Measured {
            at_s: self.seconds(),
            wanted,
            connections: window.connections,
            rate_bps: window.rate() * 8.0,
            segments: window.segments,
            losses: window.losses,
            low_losses: window.low_losses,
            inflation: window.inflation,
            window_limited: window.window_limited,
            held_back: window.held_back,
        });
    }

    /// The line of progress, where it can be seen.
    pub fn progress(&mut self, name: &str, there: u64, total: Option<u64>, rate: f64, connections: u32) {
        if !self.terminal || self.shown.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.shown = Some(Instant::now());
        let of = total.map(|total| format!(" of {}", bytes(total))).unwrap_or_default();
        let left = total.filter(|_| rate > 0.0).map(|total| total.saturating_sub(there) as f64 / rate);
        let left = left.map(|seconds| format!(", {seconds:.0} s left")).unwrap_or_default();
        let many = if connections == 1 { "connection" } else { "connections" };
        let line = format!("{name}: {}{of}, {:.1} Mbit/s, {connections} {many}{left}", bytes(there), rate * 8e-6);
        eprint!("\r\x1b[K{line}");
        let _ = std::io::stderr().flush();
    }

    /// The line of progress is gone.
    pub fn clear(&mut self) {
        if self.shown.take().is_some() {
            eprint!("\r\x1b[K");
        }
    }

    /// It is done.
    pub fn done(&mut self, mut summary: Summary) {
        self.clear();
        summary.seconds = self.seconds();
        summary.goodput_bps = summary.received_bytes as f64 * 8.0 / summary.seconds.max(1e-9);
        summary.connections = std::mem::take(&mut self.steps);
        summary.windows = std::mem::take(&mut self.windows);
        if !self.quiet && !self.json {
            let numbers = summary.connections.iter().map(|step| step.connections);
            let many = match (numbers.clone().min().unwrap_or(1), numbers.max().unwrap_or(1)) {
                (1, 1) => "1 connection".to_owned(),
                (least, most) if least == most => format!("{most} connections"),
                (least, most) => format!("{least} to {most} connections"),
            };
            let before = if summary.resumed_bytes > 0 {
                format!(", {} were there", bytes(summary.resumed_bytes))
            } else {
                String::new()
            };
            let checked = if summary.checksum.is_some() { ", checksum right" } else { "" };
            let (size, seconds, rate) = (bytes(summary.bytes), summary.seconds, summary.goodput_bps * 1e-6);
            if summary.received_bytes == 0 && summary.resumed_bytes > 0 {
                eprintln!("ackclock: {}: {size}, all of it was there{checked}", summary.file);
            } else {
                eprintln!(
                    "ackclock: {}: {size} in {seconds:.1} s, {rate:.1} Mbit/s, {many}{before}{checked}",
                    summary.file
                );
            }
        }
        if self.json {
            println!("{}", serde_json::to_string(&summary).unwrap_or_default());
        }
    }
}

/// Bytes for people.
fn bytes(count: u64) -> String {
    let mut size = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 999.5 {
            return if unit == "B" { format!("{count} B") } else { format!("{} {unit}", plain(size)) };
        }
        size /= 1000.0;
    }
    format!("{} TB", plain(size))
}

/// Three decimals at most, and no zeros at their end.
fn plain(size: f64) -> String {
    format!("{size:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_are_said_without_zeros_that_say_nothing() {
        for (count, text) in [
            (999, "999 B"),
            (1000, "1 kB"),
            (10_000_000, "10 MB"),
            (4_700_000_000, "4.7 GB"),
            (1_234_567, "1.235 MB"),
            (100_000_000_000_000, "100 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
