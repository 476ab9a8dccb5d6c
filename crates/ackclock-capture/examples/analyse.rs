//! Analyses a capture and prints what there was in it: for profiles and counts of instructions.
//!
//! `cargo run --release -p ackclock-capture --example analyse FILE`

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::Sink;
use ackclock_capture::drive::{analyse, Options};
use std::fs::File;
use std::process::ExitCode;

/// Adds up, so that no result is for nothing.
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

fn main() -> ExitCode {
    let Some(name) = std::env::args_os().nth(1) else {
        eprintln!("analyse: needs the name of a capture");
        return ExitCode::FAILURE;
    };
    let mut totals = Totals::default();
    let read = File::open(&name).map_err(|e| e.to_string());
    match read.and_then(|file| analyse(file, &Options::default(), &mut totals).map_err(|e| format!("{e:?}"))) {
        Ok(summary) => {
            let Totals { connections, sent_bytes, retransmitted_segments } = totals;
            println!(
                "{} packets, {connections} connections, {sent_bytes} bytes, {retransmitted_segments} sent again",
                summary.packets
            );
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("analyse: {}: {e}", name.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
