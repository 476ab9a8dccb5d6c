//! Plays resolved runs and prints what each cost, and what there was to do in it:
#![allow(clippy::expect_used)] // a program for developers: a wrong argument may panic
//! `play FILE [digest]`: a resolved run on each line of the file (docs/resolved-run.md). Of each run a line of JSON: nanoseconds, events, data
//! segments, and of its cells together packets that came to the base stations, were delivered and dropped, and TTIs with data. With `digest` in place of
//! the time a hash of all its tables: equal hashes are equal bytes.

use ackclock_sim::{Output, Run, Sim};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Instant;

/// What is measured, apart so that callgrind can count it alone (`--toggle-collect`).
#[inline(never)]
fn measured(sim: &mut Sim) {
    sim.run(|| false).expect("not interrupted");
}

/// Hashes the text that is written into it (FNV-1a).
struct Hash(u64);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

/// A hash of all tables: Rust prints the shortest text that gives back the same number, so equal text is equal bits.
fn digest(out: &Output) -> String {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let Output {
        flows,
        links,
        cells,
        users,
        transfers,
        pages,
        objects,
        measures,
        series,
        events: _,
        packets,
        warnings,
    } = out;
    write!(hash, "{flows:?} {links:?} {cells:?} {users:?} {transfers:?} {pages:?} {objects:?} {measures:?}")
        .and_then(|()| write!(hash, "{series:?} {packets} {warnings:?}"))
        .expect("text");
    format!("{:016x}", hash.0)
}

fn counts(out: &Output) -> Value {
    let (users, cells) = (out.users.iter(), out.cells.iter());
    let down: Vec<_> = users.clone().map(|u| &u.down).collect();
    json!({
        "events": out.events, "segments": out.packets,
        "down_packets": down.iter().map(|d| d.packets[0]).sum::<u64>(),
        "down_delivered": down.iter().map(|d| d.packets[1]).sum::<u64>(),
        "down_bytes": down.iter().map(|d| d.packets[2]).sum::<u64>(),
        "dropped": down.iter().flat_map(|d| d.drops).sum::<u64>(),
        "up_packets": users.map(|u| u.up.packets[0]).sum::<u64>(),
        "down_ttis": cells.clone().map(|c| c.down.counts.busy_ttis).sum::<u64>(),
        "up_ttis": cells.map(|c| c.up.counts.busy_ttis).sum::<u64>(),
        "rho_rb": out.cells.first().map(|c| c.down.rho_rb),
    })
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a file of resolved runs");
    let digests = arguments.next().is_some_and(|a| a == "digest");
    for line in std::fs::read_to_string(path).expect("a file of resolved runs").lines() {
        let run = Run::from_json(line).expect("a resolved run");
        let mut sim = Sim::new(&run).expect("a valid network");
        let start = Instant::now();
        measured(&mut sim);
        let took = start.elapsed().as_nanos() as u64;
        let out = sim.output();
        let mut result = counts(&out);
        if digests {
            result["digest"] = json!(digest(&out));
        } else {
            result["ns"] = json!(took);
        }
        println!("{result}");
    }
}
