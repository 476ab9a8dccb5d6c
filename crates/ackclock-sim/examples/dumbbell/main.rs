//! Plays a dumbbell and prints what it cost:
#![allow(clippy::expect_used)] // a program for developers: a wrong argument may panic
//! `dumbbell RATE_MBPS RTT_MS QUEUE_PACKETS FLOWS SECONDS CC PROFILE [key=json ...]`: extra keys are endpoint options,
//! `loss=P` is random loss at the bottleneck, `queue=KIND` its queueing discipline (or `queue={...}` the keys of its queue),
//! `fused=false` plays all links in the general form, and `law=tape` plays the same packets without the controller's law
//! and measurements (see [`tape`]).
mod tape;

use ackclock_sim::{Output, Run, Sim, endpoint};
use serde_json::json;
use std::time::Instant;
use tape::{Player, Recorder, Tapes};

/// What is measured, apart so that callgrind can count it alone (`--toggle-collect`).
#[inline(never)]
fn measured(sim: &mut Sim) {
    sim.run(|| false).expect("not interrupted");
}

/// What a crowd costs before it starts, apart likewise.
#[inline(never)]
fn built(run: &Run) -> Sim {
    Sim::new(run).expect("a valid network")
}

/// A network whose controllers repeat what those of `run` decide, and what came out of the run that was recorded.
fn taped(run: &Run) -> (Sim, Output) {
    let mut tapes = Tapes::new();
    let mut recorded = Sim::new_with(run, &mut |flow, _, profile, path| {
        Ok(Box::new(Recorder::new(endpoint::controller(flow, profile, path)?, &mut tapes)))
    })
    .expect("a valid network");
    recorded.run(|| false).expect("not interrupted");
    let mut tapes = tapes.iter();
    let sim = Sim::new_with(run, &mut |_, _, _, _| {
        Ok(Box::new(Player::new(tapes.next().expect("as many controllers as before"))))
    });
    (sim.expect("a valid network"), recorded.output())
}

fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let num = |i: usize| a.get(i).and_then(|s| s.parse::<f64>().ok()).unwrap_or(1.0);
    let (rate, rtt) = (num(0) * 1e6, num(1) * 1e6);
    let mut tcp: serde_json::Map<String, serde_json::Value> = a
        .iter()
        .skip(7)
        .filter_map(|kv| kv.split_once('='))
        .map(|(k, v)| (k.to_owned(), serde_json::from_str(v).unwrap_or(json!(v))))
        .collect();
    let loss = tcp.remove("loss").map(|p| json!({"kind": "bernoulli", "p": p}));
    let queue = json!({"kind": "droptail", "limit_packets": num(2) as u64});
    let discipline = tcp.remove("queue");
    let of_tape = tcp.remove("law") == Some(json!("tape"));
    let fused = tcp.remove("fused").unwrap_or(json!(true));
    // Peers do not take them either.
    let delays = tcp.remove("delays").unwrap_or(json!(false));
    let link = |id: &str| {
        let mut queue = queue.clone();
        if let Some(kind) = discipline.as_ref().filter(|_| id == "bottleneck") {
            match kind.as_object() {
                Some(keys) => queue.as_object_mut().into_iter().for_each(|q| q.extend(keys.clone())),
                None => queue["kind"] = kind.clone(),
            }
        }
        json!({"id": id, "rate_bps": rate as u64, "delay_ns": rtt as u64 / 2, "overhead_bytes": 14, "queue": queue,
            "loss": if id == "bottleneck" { loss.clone() } else { None }})
    };
    let count = (num(3) as u64).max(1);
    let flows = json!({"id": "0", "count": count, "forward": [{"link": "bottleneck"}], "reverse": [{"link": "reverse"}],
        "start": {"uniform_ns": [0, if count > 1 { 100_000_000 } else { 0 }]}, "app": {"kind": "bulk"}, "mss": 1448,
        "profile": a[6], "tcp": tcp, "cc": {"name": a[5]}});
    let doc = json!({"format": 1, "seed": 1, "duration_ns": (num(4) * 1e9) as u64,
        "links": [link("bottleneck"), link("reverse")], "flows": [flows], "engine": {"fused": fused},
        "packet_delays": delays});
    let run = Run::from_json(&doc.to_string()).expect("a valid run");
    let t = Instant::now();
    let (mut sim, recorded) = if of_tape {
        let (sim, recorded) = taped(&run);
        (sim, Some(recorded))
    } else {
        (built(&run), None)
    };
    let setup = t.elapsed().as_secs_f64();
    let t = Instant::now();
    measured(&mut sim);
    let wall = t.elapsed().as_secs_f64();
    let out = sim.output();
    if let Some(recorded) = recorded {
        assert!(out.flows == recorded.flows && out.links == recorded.links, "the tape makes the same packets");
    }
    let l = &out.links[0];
    println!(
        "{:.1} ns/packet  {} packets  {} back  {:.3} s  {} events",
        wall * 1e9 / l.sent_packets as f64,
        l.sent_packets,
        out.links[1].sent_packets,
        wall,
        out.events
    );
    println!(
        "utilisation {:.4}  drops {}  mean queue {:.2}  max {}  delay mean/50/95/99 {:?}",
        l.utilisation.unwrap_or(0.0),
        l.drops,
        l.mean_queue_packets,
        l.max_queue_packets,
        l.queue_delay_s
    );
    for f in out.flows.iter().take(4) {
        println!(
            "flow {} {:.4} Mbit/s  retrans {}  timeouts {}  recoveries {}  mean rtt {:.2} ms  mean cwnd {:.1}",
            f.id,
            f.goodput_bps / 1e6,
            f.retransmitted_segments,
            f.timeouts,
            f.recoveries,
            f.mean_rtt_s.unwrap_or(0.0) * 1e3,
            f.mean_cwnd_bytes / 1448.0
        );
    }
    println!("set-up {:.2} us per flow", setup * 1e6 / count as f64);
    println!("{:?}", out.warnings);
}
