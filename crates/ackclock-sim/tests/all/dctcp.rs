//! DCTCP over a marking queue against the fluid analysis of its paper (Alizadeh et al., Data center TCP, SIGCOMM 2010, §3.3), and
//! what the three kinds of feedback tell the sender.
#![allow(clippy::unwrap_used)]

use crate::common::{document, sim};
use ackclock_run::warnings::Warning;
use ackclock_sim::{Output, Sim};
use serde_json::{Value, json};

/// A packet of 1040 bytes at 100 Mbit/s takes 83.2 µs.
const TAU: u64 = 83_200;
/// Propagation of the path, packets.
const PIPE: u64 = 100;

/// `n` flows over a bottleneck that marks above `k` packets.
fn network(n: u64, k: u64, cc: &str, tcp: &Value) -> Value {
    let queue = json!({"kind": "droptail", "limit_packets": 1000, "mark_above_packets": k});
    let links = vec![
        json!({"id": "out", "rate_bps": 100_000_000, "delay_ns": TAU * PIPE / 2, "queue": queue}),
        json!({"id": "back", "delay_ns": TAU * PIPE / 2}),
    ];
    let mut options = json!({"timestamps": false, "delayed_ack": 1});
    options.as_object_mut().unwrap().extend(tcp.as_object().unwrap().clone());
    let flow = |i: u64| {
        json!({"id": i.to_string(), "forward": [{"link": "out"}], "reverse": [{"link": "back"}],
            "start": {"at_ns": i * TAU * 37}, "app": {"kind": "bulk"}, "mss": 1000, "tcp": options, "cc": {"name": cc}})
    };
    let mut d = document(8000, links, (0..n).map(flow).collect());
    d["warmup_ns"] = json!(4_000_000_000u64);
    d["probes"] = json!({"queue": "on_change"});
    d
}

fn played(d: &Value) -> Output {
    let mut sim: Sim = sim(d);
    sim.run(|| false).unwrap();
    sim.output()
}

/// Least and largest queue of the measured half, the packet in transmission included.
fn range(o: &Output) -> (f64, f64) {
    let queue: Vec<f64> = o.series.iter().filter(|s| s.at.as_secs_f64() > 4.0).map(|s| s.value).collect();
    (queue.iter().copied().fold(f64::INFINITY, f64::min), queue.iter().copied().fold(0.0, f64::max))
}

#[test]
fn the_sawtooth_has_the_amplitude_of_the_fluid_model() {
    for (n, k) in [(1, 40), (1, 100), (2, 40), (4, 60)] {
        let o = played(&network(n, k, "dctcp", &json!({})));
        let (low, high) = range(&o);
        // Equations 8 to 10: W* = (C RTT + K) / N, alpha = sqrt(2 / W*), D = (W* + 1) alpha / 2, A = N D; the window
        // grows for one more round trip after the queue has reached K.
        let w = (PIPE + k) as f64 / n as f64;
        let amplitude = n as f64 * (w + 1.0) * (2.0 / w).sqrt() / 2.0;
        let top = (k + n) as f64;
        assert!((high - top).abs() <= 1.0 + 0.5 * n as f64, "{n} flows, K {k}: the queue reaches {high}, not {top}");
        let measured = high - low;
        // Every window, and the queue, is whole packets.
        assert!(
            (measured - amplitude).abs() < 1.0 + n as f64,
            "{n} flows, K {k}: amplitude {measured}, not {amplitude}"
        );
        assert!(o.links[0].utilisation.unwrap() > 0.999 && o.links[0].drops == 0);
    }
}

#[test]
fn a_seventh_of_the_pipe_keeps_the_link_busy_and_less_does_not() {
    // Equation 13: K > C RTT / 7.
    let busy = |k: u64| played(&network(1, k, "dctcp", &json!({}))).links[0].utilisation.unwrap();
    assert!(busy(PIPE / 7 + 2) > 0.999);
    assert!(busy(0) < 0.99);
}

#[test]
fn with_delayed_acknowledgments_the_echo_is_as_good_as_counts() {
    let told = |ecn: &str| {
        let o = played(&network(1, 40, "dctcp", &json!({"delayed_ack": 2, "ecn": ecn})));
        (o.flows[0].marked_segments as f64, o.flows[0].ecn_reductions.unwrap() as f64, o.links[0].mean_queue_packets)
    };
    let (echo, counts) = (told("off"), told("accurate"));
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.3;
    assert!(near(echo.0, counts.0) && near(echo.1, counts.1) && near(echo.2, counts.2), "{echo:?} {counts:?}");
}

#[test]
fn marks_take_the_place_of_losses_for_other_controllers() {
    for cc in ["reno", "cubic"] {
        for ecn in ["classic", "accurate"] {
            let o = played(&network(1, 40, cc, &json!({ "ecn": ecn })));
            let f = &o.flows[0];
            assert_eq!((f.retransmitted_segments, o.links[0].drops), (0, 0), "{cc} {ecn}");
            assert!(f.ecn_reductions > Some(3) && Some(f.marked_segments) >= f.ecn_reductions, "{cc} {ecn}: {f:?}");
            assert_eq!(o.links[0].marks, f.marked_segments, "{cc} {ecn}");
        }
        let o = played(&network(1, 40, cc, &json!({})));
        assert_eq!((o.links[0].marks, o.flows[0].marked_segments), (0, 0), "without ECN nothing is marked");
    }
}

#[test]
fn a_threshold_at_the_limit_is_refused() {
    let mut d = network(1, 40, "dctcp", &json!({}));
    d["links"][0]["queue"]["limit_packets"] = json!(40);
    let run = ackclock_sim::Run::from_json(&d.to_string()).unwrap();
    let why = Sim::new(&run).err().unwrap();
    assert_eq!(why.path, "links.0.queue.mark_above");
}

#[test]
fn marks_that_nobody_makes_or_sees_are_warned_of() {
    let warnings = |cc: &str, tcp: Value, marking: bool| {
        let mut d = network(2, 40, cc, &tcp);
        d["duration_ns"] = json!(4_500_000_000u64);
        if !marking {
            d["links"][0]["queue"].as_object_mut().unwrap().remove("mark_above_packets");
        }
        played(&d).warnings
    };
    let one = |found: Vec<Warning>, words: &str| assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
    let none = json!({});
    one(warnings("dctcp", none.clone(), false), "no queue marks: dctcp behaves like reno");
    one(warnings("reno", json!({"ecn": "classic"}), false), "no queue marks: ECN does nothing for reno");
    one(warnings("reno", none.clone(), true), "the queue of out has a mark_above but no flow uses ECN");
    one(warnings("dctcp", json!({"ecn": "off"}), true), "dctcp asks for ECN by itself");
    for (cc, tcp, marking) in
        [("dctcp", none.clone(), true), ("reno", json!({"ecn": "accurate"}), true), ("reno", none, false)]
    {
        assert_eq!(warnings(cc, tcp, marking), Vec::<String>::new());
    }
}

#[test]
fn a_scalable_controller_without_ect1_over_dualpi2_is_warned_of() {
    let warnings = |cc: Value| {
        let mut d = network(1, 40, "dctcp", &json!({}));
        d["duration_ns"] = json!(4_500_000_000u64);
        d["links"][0]["queue"] = json!({"kind": "dualpi2"});
        d["flows"][0]["cc"] = cc;
        played(&d).warnings
    };
    let found = warnings(json!({"name": "dctcp"}));
    assert!(found.len() == 1 && found[0].ends_with("set ect1 = true in its cc"), "{found:?}");
    for cc in [json!({"name": "dctcp", "params": {"ect1": true}}), json!({"name": "prague"}), json!({"name": "reno"})] {
        assert_eq!(warnings(cc), Vec::<String>::new());
    }
}

#[test]
fn ect1_through_a_queue_that_marks_it_like_ect0_is_warned_of() {
    let warnings = |queue: Value, other: &str| {
        let mut d = network(2, 40, "prague", &json!({}));
        d["duration_ns"] = json!(4_500_000_000u64);
        d["links"][0]["queue"] = queue;
        d["flows"][1]["cc"] = json!({"name": other});
        played(&d).warnings
    };
    let codel = json!({"kind": "codel", "limit_packets": 1000, "params": {"ecn": true}});
    let threshold = json!({"kind": "droptail", "limit_packets": 1000, "mark_above_packets": 20});
    let fair = json!({"kind": "fq_codel", "limit_packets": 1000});
    for (queue, other, words) in [
        (
            codel.clone(),
            "cubic",
            "the queue of out (codel) marks as RFC 3168 has it, ECT(1) and ECT(0) alike: prague takes far",
        ),
        (threshold.clone(), "reno", "the queue of out (droptail) marks as RFC 3168 has it"),
        (codel, "prague", "prague has its delay, not that of a low-latency queue"),
        // Each in a queue of its own: no flow loses, but the marks are those of the target.
        (
            fair,
            "cubic",
            "the queue of out (fq_codel) marks as RFC 3168 has it, ECT(1) and ECT(0) alike: prague has its delay",
        ),
    ] {
        let found = warnings(queue, other);
        assert!(found.len() == 1 && found[0].contains(words), "{other}: {found:?}");
        assert!(found[0].ends_with("give the link a dualpi2 queue"), "{found:?}");
    }
    for (queue, other) in [(threshold, "prague"), (json!({"kind": "dualpi2"}), "cubic")] {
        assert_eq!(warnings(queue, other), Vec::<String>::new());
    }
}

#[test]
fn feedback_that_cannot_count_is_no_choice_for_prague() {
    let warnings = |cc: &str, ecn: &str| {
        let mut d = network(1, 40, cc, &json!({ "ecn": ecn }));
        d["duration_ns"] = json!(4_500_000_000u64);
        d["links"][0]["queue"] = json!({"kind": "dualpi2"});
        played(&d).warnings
    };
    let found = warnings("prague", "classic");
    assert!(found.len() == 1 && found[0].starts_with("tcp.ecn = \"classic\" has no effect: prague needs"), "{found:?}");
    for (cc, ecn) in [("prague", "accurate"), ("cubic", "classic"), ("cubic", "accurate")] {
        assert_eq!(warnings(cc, ecn), Vec::<String>::new());
    }
}

#[test]
fn the_low_latency_queue_serves_ect1_and_nothing_else() {
    let play = |cc: Value| {
        let mut d = network(1, 40, "dctcp", &json!({}));
        d["links"][0]["queue"] = json!({"kind": "dualpi2"});
        d["flows"][0]["cc"] = cc;
        let o = played(&d);
        (o.links[0].l_packets.unwrap(), o.links[0].sent_packets, o.links[0].queue_delay_s.unwrap()[0])
    };
    // A packet takes 83.2 µs: within the ramp, which marks all from 1.2 ms on, against the target of 15 ms.
    for cc in [json!({"name": "dctcp", "params": {"ect1": true}}), json!({"name": "prague"})] {
        let (low, all, mean) = play(cc);
        assert!(low == all && all > 10_000 && mean < 0.0012, "{low} {all} {mean}");
    }
    let (low, _, mean) = play(json!({"name": "dctcp"}));
    // Packets that the classic queue has marked do not come back to it.
    assert!(low == 0 && mean > 0.01, "{low} {mean}");
}

#[test]
fn the_remedy_for_unused_marks_is_that_of_the_sources() {
    let warned = |datagrams: &[usize], ect: bool| {
        let mut d = network(2, 40, "reno", &json!({}));
        d["duration_ns"] = json!(4_500_000_000u64);
        for &flow in datagrams {
            d["flows"][flow]["app"] =
                json!({"kind": "cbr", "transport": "udp", "rate_bps": 1_000_000, "packet_bytes": 1000, "ect": ect});
        }
        played(&d).warnings
    };
    let remedy = |datagrams: &[usize]| {
        let found = warned(datagrams, false);
        assert!(
            found.len() == 1 && found[0].starts_with("the queue of out has a mark_above but no flow uses ECN"),
            "{found:?}"
        );
        found[0].rsplit("set ").next().unwrap().to_string()
    };
    assert_eq!(remedy(&[]), "tcp.ecn");
    assert_eq!(remedy(&[0, 1]), "ect = true in their app");
    assert_eq!(remedy(&[1]), "tcp.ecn, or ect = true in the app of datagrams");
    assert_eq!(warned(&[1], true), Vec::<String>::new());
}
