//! A run driven from outside: however it is cut it is the same run, and decisions do what they say.
#![allow(clippy::unwrap_used)]

use crate::common::applications::random_run;
use crate::common::rich::rich_document;
use crate::common::{MS, cases, document, flow, link, pick, play, random_document, sim, tables};
use ackclock_core::cc::{Decision, Pacing};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use ackclock_sim::probe::Sample;
use ackclock_sim::step::{Refused, Stop};
use ackclock_sim::{Output, Sim};
use serde_json::{Value, json};

/// Any network, some of whose flows are for an agent to decide.
fn any_document(seed: u64) -> Value {
    let mut d = match seed % 3 {
        0 => random_document(seed),
        1 => rich_document(seed),
        _ => random_run(seed),
    };
    let mut rng = Stream::named(seed, 0, "stepping");
    for f in d["flows"].as_array_mut().unwrap() {
        if rng.below(2) == 0 && f["app"]["transport"] != json!("udp") {
            let params = [json!({}), json!({"interval": 10 * MS}), json!({"slow_start": true, "rounds": 0.5})];
            f["cc"] = json!({"name": "external", "params": pick(&mut rng, &params)});
            f.as_object_mut().unwrap().remove("slow_start");
        }
    }
    d["probes"]["queue"] = json!("every_event");
    d
}

/// Plays the run to its end in steps of any kind, looking at everything on the way; what it yields is as if it had not
/// been drained.
fn stepped(mut sim: Sim, seed: u64) -> Output {
    let mut rng = Stream::named(seed, 0, "steps");
    let mut series: Vec<Sample> = Vec::new();
    loop {
        let over = match rng.below(4) {
            0 => (0..rng.below(200)).any(|_| sim.step().is_none()),
            1 => sim.play_until(sim.now() + Span(rng.below(50 * MS)), || false).unwrap() == Stop::End,
            2 => sim.play_until(Time::NEVER, || false).unwrap() == Stop::End,
            _ => {
                sim.run_until(sim.now() + Span(rng.below(20 * MS)));
                false
            }
        };
        for f in 0..sim.flow_count() {
            let state = sim.flow_state(f);
            assert!(state.sent >= state.retransmitted && state.received <= state.sent);
        }
        for l in 0..sim.link_count() {
            sim.link_state(l);
        }
        if rng.below(3) == 0 {
            series.append(&mut sim.drain_series());
        }
        if over {
            break;
        }
    }
    sim.run(|| false).unwrap();
    let mut out = sim.output();
    assert!(series.last().is_none_or(|last| out.series.iter().all(|s| s.at >= last.at)));
    series.append(&mut out.series);
    out.series = series;
    out
}

#[test]
fn a_run_in_steps_is_the_same_run() {
    for seed in 0..cases(300) {
        let d = any_document(seed);
        assert_eq!(tables(&stepped(sim(&d), seed)), tables(&play(&d)), "{d}");
    }
}

/// A flow that an agent decides for, alone at 10 Mbit/s with 40 ms there and back; segments are packets of 1000 bytes.
fn agent(params: Value, queue: u64, seconds: u64) -> Value {
    let mut f = flow("0", None);
    f["cc"] = json!({"name": "external", "params": params});
    f["profile"] = json!("linux");
    f["tcp"] = json!({"iw": 4, "header_bytes": 0, "timestamps": false});
    document(seconds * 1000, vec![link("out", 10_000_000, 20, queue), link("back", 10_000_000, 20, 100)], vec![f])
}

fn window(segments: u64) -> Decision {
    Decision { cwnd: Some(1000 * segments), ..Decision::default() }
}

#[test]
fn the_agent_is_asked_once_per_interval() {
    let mut sim = sim(&agent(json!({"interval": 100 * MS}), 50, 2));
    let mut asked = Vec::new();
    while let Stop::Wake(flow) = sim.play_until(Time::NEVER, || false).unwrap() {
        assert_eq!((flow, sim.interval(0).unwrap().at), (0, sim.now()));
        asked.push(sim.now());
    }
    assert_eq!(sim.now(), sim.end());
    assert!(asked.windows(2).all(|pair| pair[1].since(pair[0]) == Span(100 * MS)));
    // The connection is open after a round trip.
    assert_eq!(asked.len(), 19);
}

#[test]
fn the_agent_is_asked_once_per_round_trip() {
    let mut sim = sim(&agent(json!({}), 50, 2));
    let mut asked = 0;
    while let Stop::Wake(_) = sim.play_until(Time::NEVER, || false).unwrap() {
        let interval = sim.interval(0).unwrap();
        // Four packets of 0.8 ms in 40 ms. The first interval ends as the first acknowledgment is about to come.
        assert!(interval.span.0 >= 40 * MS && interval.span.0 < 44 * MS, "{interval:?}");
        let least = if asked == 0 { 0 } else { 3000 };
        assert!(interval.delivered >= least && interval.delivered <= 4000, "{interval:?}");
        assert_eq!((interval.lost, interval.cwnd, interval.index), (0, 4000, asked));
        asked += 1;
    }
    assert!(asked > 40, "{asked}");
}

#[test]
fn a_window_gives_the_throughput_that_it_must() {
    // 25 packets per 40 ms and the time of their own, 5 Mbit/s less that; 100 fill the path and the queue.
    for (segments, least, most) in [(25, 4.6e6, 5.0e6), (90, 9.99e6, 1e7)] {
        let mut sim = sim(&agent(json!({}), 50, 5));
        assert_eq!(sim.play_until(Time(400 * MS), || false).unwrap(), Stop::Wake(0));
        sim.decide(0, &window(segments)).unwrap();
        sim.run_until(Time(1000 * MS));
        let before = sim.flow_state(0);
        sim.run_until(Time(3000 * MS));
        let after = sim.flow_state(0);
        let rate = (after.received - before.received) as f64 * 4.0;
        assert!(rate >= least && rate <= most, "{segments}: {rate}");
        assert_eq!((after.cwnd, after.lost, after.established), (1000 * segments, before.lost, true));
        assert_eq!(sim.link_state(0).queue > 30, segments == 90);
    }
}

#[test]
fn a_rate_is_kept_and_a_higher_one_acts_at_once() {
    let mut sim = sim(&agent(json!({"interval": 50 * MS}), 50, 60));
    let rate = |bytes| Decision { cwnd: Some(1 << 30), pacing: Some(Pacing::Rate(bytes)), ..Decision::default() };
    sim.play_until(Time::NEVER, || false).unwrap();
    sim.decide(0, &rate(250_000)).unwrap();
    sim.run_until(Time(1000 * MS));
    let before = sim.flow_state(0);
    sim.run_until(Time(3000 * MS));
    // 250 packets per second.
    assert_eq!(sim.flow_state(0).sent - before.sent, 500_000);
    // Ten seconds per packet; then a hundred packets per second again.
    sim.decide(0, &rate(100)).unwrap();
    sim.run_until(Time(10_000 * MS));
    let slow = sim.flow_state(0).sent;
    sim.decide(0, &rate(100_000)).unwrap();
    sim.run_until(Time(11_000 * MS));
    let sent = sim.flow_state(0).sent - slow;
    assert!((99_000..=101_000).contains(&sent), "{sent}");
}

#[test]
fn losses_are_repaired_and_left_to_the_agent() {
    let mut sim = sim(&agent(json!({}), 20, 10));
    sim.play_until(Time(400 * MS), || false).unwrap();
    sim.decide(0, &window(90)).unwrap();
    sim.run_until(Time(9000 * MS));
    let state = sim.flow_state(0);
    assert!(state.lost > 0 && state.recoveries > 0, "{state:?}");
    assert_eq!(state.cwnd, 90_000);
    assert!(state.received as f64 > 0.9 * 1_250_000.0 * 8.5, "{state:?}");
}

#[test]
fn after_a_timeout_the_window_begins_anew() {
    let mut d = agent(json!({"interval": 10 * MS}), 50, 30);
    // Nothing comes through for three seconds.
    d["links"][0]["rate_bps"] = json!(null);
    d["links"][0]["schedule"] = json!({"steps": [[0, 10_000_000], [1000 * MS, 0], [4000 * MS, 10_000_000]]});
    let mut sim = sim(&d);
    sim.play_until(Time::NEVER, || false).unwrap();
    sim.decide(0, &window(60)).unwrap();
    let mut least = u64::MAX;
    while sim.now() < Time(20_000 * MS) {
        sim.play_until(Time::NEVER, || false).unwrap();
        least = least.min(sim.flow_state(0).cwnd);
    }
    let state = sim.flow_state(0);
    assert!(state.timeouts > 0, "{state:?}");
    assert!(least <= 2000, "{least}");
    assert_eq!(state.cwnd, 60_000, "the told window is in force again");
}

#[test]
fn a_slow_start_ends_at_the_first_congestion_and_asks_only_then() {
    let mut sim = sim(&agent(json!({"slow_start": true}), 20, 10));
    assert_eq!(sim.play_until(Time::NEVER, || false).unwrap(), Stop::Wake(0));
    let state = sim.flow_state(0);
    // 50 packets fit the path and 20 the queue; half of what was in flight then is less.
    assert!(state.lost > 0 && state.cwnd >= 35_000 && state.cwnd <= 70_000, "{state:?}");
}

#[test]
fn any_controller_takes_a_window_and_nothing_else() {
    let mut d = agent(json!({}), 50, 5);
    d["flows"][0]["cc"] = json!({"name": "cubic"});
    let mut sim = sim(&d);
    assert_eq!(sim.decide(0, &window(9)), Err(Refused::NotOpen(0)));
    assert_eq!(sim.decide(3, &window(9)), Err(Refused::NoFlow(1, 3)));
    sim.run_until(Time(500 * MS));
    sim.decide(0, &window(9)).unwrap();
    assert_eq!(sim.flow_state(0).cwnd, 9000);
    let rate = Decision { pacing: Some(Pacing::Rate(1000)), ..Decision::default() };
    assert_eq!(sim.decide(0, &rate), Err(Refused::DecidesItself(0)));
}

#[test]
fn nothing_is_decided_once_the_run_is_over() {
    let mut sim = sim(&agent(json!({"interval": 100 * MS}), 50, 5));
    let mut last = Time::ZERO;
    while let Stop::Wake(_) = sim.play_until(Time::NEVER, || false).unwrap() {
        last = sim.now();
        sim.decide(0, &window(9)).unwrap();
    }
    assert!(last < sim.end() && sim.now() == sim.end());
    assert_eq!(sim.decide(0, &window(9)), Err(Refused::Over));
}

#[test]
fn a_flow_that_is_closed_asks_no_more() {
    let mut d = agent(json!({}), 50, 60);
    d["flows"][0]["app"]["bytes"] = json!(200_000);
    let mut sim = sim(&d);
    let stop = loop {
        let stop = sim.play_until(Time::NEVER, || false).unwrap();
        if !matches!(stop, Stop::Wake(_)) {
            break stop;
        }
        sim.decide(0, &window(20)).unwrap();
    };
    let state = sim.flow_state(0);
    assert_eq!((stop, state.completed, state.received), (Stop::Closed(0), true, 200_000));
    // 25 packets in 40 ms at most: 10 rounds, and the opening.
    assert!(sim.now() < Time(1000 * MS), "{:?}", sim.now());
    assert_eq!(sim.play_until(Time::NEVER, || false).unwrap(), Stop::End);
}

#[test]
fn the_last_interval_can_be_measured() {
    let mut sim = sim(&agent(json!({"interval": 700 * MS}), 50, 1));
    assert_eq!(sim.play_until(Time::NEVER, || false).unwrap(), Stop::Wake(0));
    let first = *sim.interval(0).unwrap();
    assert_eq!(sim.play_until(Time::NEVER, || false).unwrap(), Stop::End);
    assert_eq!(sim.interval(0), Some(&first));
    for _ in 0..2 {
        sim.measure(0);
        let last = sim.interval(0).unwrap();
        assert_eq!((last.at, last.index), (sim.end(), 1));
        assert_eq!(last.span, sim.end().since(first.at));
    }
}

#[test]
fn the_same_decisions_give_the_same_run() {
    let played = |seed: u64| {
        let d = any_document(seed);
        let mut sim = sim(&d);
        let mut rng = Stream::named(seed, 0, "decisions");
        let mut refused = 0;
        while let Stop::Wake(flow) = sim.play_until(Time::NEVER, || false).unwrap() {
            let rate = [None, Some(Pacing::Rate(1 + rng.below(1_000_000))), Some(Pacing::ByWindow { percent: 120 })];
            let cwnd = Some(rng.below(100_000));
            let decision = Decision { cwnd, pacing: *pick(&mut rng, &rate), ..Decision::default() };
            refused += u32::from(sim.decide(flow, &decision).is_err());
        }
        assert_eq!(refused, 0, "{d}");
        sim.run(|| false).unwrap();
        tables(&sim.output())
    };
    let mut changed = 0;
    for seed in 0..cases(150) {
        let first = played(seed);
        assert_eq!(first, played(seed));
        changed += u32::from(first != tables(&play(&any_document(seed))));
    }
    assert!(changed > 5, "{changed}");
}

#[test]
fn a_snapshot_counts_the_connections_that_are_over() {
    let mut f = flow("0", None);
    f["app"] = json!({"kind": "files", "count": 3, "arrivals": {"every_ns": 300 * MS},
        "size": {"kind": "constant", "value": 30_000}});
    let mut links = vec![link("out", 8_000_000, 10, 50), link("back", 8_000_000, 10, 50)];
    links[0]["loss"] = json!({"kind": "every", "n": 20});
    let mut s = sim(&document(5000, links, vec![f]));
    s.run_until(Time(4000 * MS));
    let state = s.flow_state(0);
    assert!(state.completed && !state.failed && state.lost > 0, "{state:?}");
    // The end of each stream (FIN) is acknowledged as one byte.
    assert_eq!((state.received, state.acknowledged), (90_000, 90_003));
}
