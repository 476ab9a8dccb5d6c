//! Digests of the tables of many runs, to see whether a change of the code changed a byte of them:
//! `digests random` plays random networks, `digests files FILE ...` the resolved runs in these files, one a line. Each run
//! gives a line: its name, the hash of its tables, and its packets. `scripts/same_runs.py` compares two of such lists.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a program for developers: a wrong argument may panic

#[path = "../tests/all/common/mod.rs"]
mod common;

use ackclock_core::cc::registry::CONTROLLERS;
use ackclock_core::rng::Stream;
use common::applications::random_run;
use common::rich::rich_document;
use common::{hash, pick, play, random_document, tables};
use serde_json::{Value, json};

/// Random networks of each kind.
const EACH: u64 = 80;

fn digest(name: &str, document: &Value) {
    let out = play(document);
    println!("{name} {:016x} {}", hash(&format!("{}\n{:?}", tables(&out), out.transfers)), out.packets);
}

/// A random network whose flows have any controller in any profile, with options that bring rare code into play.
fn any_controllers(seed: u64) -> Value {
    let mut d = if seed % 2 == 0 { random_document(seed) } else { rich_document(seed) };
    let mut rng = Stream::named(seed, 0, "any controllers");
    for f in d["flows"].as_array_mut().unwrap() {
        f["cc"] = json!({"name": pick(&mut rng, CONTROLLERS).name});
        let options = [("pacing", json!("window")), ("idle", json!("rfc7661")), ("receive_buffer", json!(40_000))];
        for (name, value) in options {
            if rng.below(4) == 0 {
                f["tcp"][name] = value;
            }
        }
    }
    d["duration_ns"] = json!(d["duration_ns"].as_u64().unwrap() * 10);
    d
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("random") => {
            for seed in 1000..1000 + EACH {
                digest(&format!("plain-{seed}"), &random_document(seed));
                digest(&format!("rich-{seed}"), &rich_document(seed));
                digest(&format!("applications-{seed}"), &random_run(seed));
                digest(&format!("controllers-{seed}"), &any_controllers(seed));
            }
        }
        Some("files") => {
            for path in arguments {
                let stem = path.rsplit('/').next().unwrap_or(&path).to_owned();
                for (i, line) in std::fs::read_to_string(&path).expect("a file of resolved runs").lines().enumerate() {
                    digest(&format!("{stem}-{i}"), &serde_json::from_str(line).expect("a resolved run"));
                }
            }
        }
        _ => panic!("digests random, or digests files FILE ..."),
    }
}
