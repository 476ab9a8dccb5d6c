//! Analyses a capture and prints what there was in it: for profiles, and for counts of instructions.
//!
//!     cargo run --release -p ackclock-capture --example analyse FILE      # - for standard input
//!     cargo run --release -p ackclock-capture --example analyse -- --made ROUNDS
//!
//! The latter makes a capture of a transfer in memory: rounds of 40 segments, every second one acknowledged, and in every
//! 25th round a loss, reported by SACK blocks and repaired.
mod made;

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::Sink;
use ackclock_capture::drive::{Options, Summary, analyse};
use made::Made;
use std::fs::File;
use std::io::Read;
use std::process::ExitCode;

/// Adds up, so that no row is for nothing.
#[derive(Default)]
struct Totals {
    connections: u64,
    sent_bytes: u64,
    retransmitted_segments: u64,
}

impl Sink for Totals {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        self.connections += 1;
        for row in rows {
            self.sent_bytes += row.sent_bytes;
            self.retransmitted_segments += row.retransmitted_segments;
        }
    }
}

/// Its instructions alone are counted, and those of [`measured`] by themselves.
#[inline(never)]
fn written(rounds: u32) -> Vec<u8> {
    Made::new().transfer(rounds)
}

#[inline(never)]
fn measured<R: Read>(from: R, totals: &mut Totals) -> Result<Summary, String> {
    analyse(from, &Options::default(), totals).map_err(|fault| fault.to_string())
}

fn run() -> Result<String, String> {
    let mut arguments = std::env::args().skip(1);
    let mut totals = Totals::default();
    let summary = match arguments.next().as_deref() {
        None => Err("which capture? A file, or --made ROUNDS".to_string()),
        Some("--made") => {
            let rounds = arguments.next().and_then(|n| n.parse().ok()).ok_or("--made: how many rounds?")?;
            measured(written(rounds).as_slice(), &mut totals)
        }
        Some("-") => measured(std::io::stdin().lock(), &mut totals),
        Some(name) => measured(File::open(name).map_err(|e| format!("{name}: {e}"))?, &mut totals),
    }?;
    let Totals { connections, sent_bytes, retransmitted_segments } = totals;
    Ok(format!(
        "{} packets, {connections} connections, {sent_bytes} bytes, {retransmitted_segments} sent again",
        summary.packets
    ))
}

fn main() -> ExitCode {
    match run() {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("analyse: {problem}");
            ExitCode::FAILURE
        }
    }
}
