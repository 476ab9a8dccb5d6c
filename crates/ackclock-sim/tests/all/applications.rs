//! Applications: what they send and when, against closed forms and times computed by hand.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, link, play, sim};
use serde_json::{Value, json};

/// A forward link at `rate_bps` and a way back of unlimited rate, 10 ms each.
fn path(rate_bps: u64, packets: u64) -> Vec<Value> {
    vec![link("out", rate_bps, 10, packets), json!({"id": "back", "delay_ns": 10 * MS})]
}

/// A flow over "out" and "back" with this application, under options that make times easy to compute.
fn with_app(app: Value) -> Value {
    let mut f = flow("0", None);
    f["app"] = app;
    f["tcp"] = json!({"count_options": false, "header_bytes": 40, "handshake_ack": true, "handshake": true});
    f
}

fn cbr(bytes: u64, rate_bps: u64) -> Value {
    json!({"kind": "cbr", "transport": "udp", "rate_bps": rate_bps, "packet_bytes": bytes, "header_bytes": 0, "phase_ns": 5 * MS})
}

fn datagrams(app: Value) -> Value {
    let mut f = with_app(app);
    for key in ["mss", "cc", "tcp"] {
        f.as_object_mut().unwrap().remove(key);
    }
    f
}

#[test]
fn a_constant_rate_is_exact() {
    // 200 B at 80 kbit/s: a packet every 20 ms from 5 ms on, 0.2 ms on the link and 10 ms on the way.
    let mut f = datagrams(cbr(200, 80_000));
    f["stop_ns"] = json!(1000 * MS);
    let out = play(&document(2000, path(8_000_000, 10), vec![f]));
    let (row, d) = (&out.flows[0], out.flows[0].datagrams.unwrap());
    assert_eq!((row.app.as_ref(), row.cc.as_str(), row.sent_segments, row.sent_bytes), ("cbr", "none", 50, 10_000));
    assert_eq!((row.received_packets, d.lost, d.in_flight, row.goodput_bytes), (Some(50), 0, 0, 10_000));
    assert!((row.goodput_bps - 80_000.0).abs() < 1e-6, "{}", row.goodput_bps);
    for delay in row.delay_s.unwrap() {
        assert!((delay / 0.0102 - 1.0).abs() < 1e-3, "{delay}");
    }
    assert!((row.delay_s.unwrap()[0] - 0.0102).abs() < 1e-12);
    assert_eq!((out.packets, out.links[0].sent_bytes, out.warnings.len()), (50, 10_000, 0));
}

/// 5 Mbit/s for 11 s into 1 Mbit/s: the queue empties after 55 s, and never more than the link carries arrives.
#[test]
fn what_arrives_after_a_source_has_stopped_takes_its_time() {
    let mut f = datagrams(cbr(1000, 5_000_000));
    f["stop_ns"] = json!(11_000 * MS);
    let mut way = path(1_000_000, 10);
    way[0]["queue"] = json!({"kind": "droptail", "limit_packets": 10_000});
    let goodput = |warmup: u64, duration: u64| {
        let mut d = document(duration, way.clone(), vec![f.clone()]);
        d["warmup_ns"] = json!(warmup * MS);
        play(&d).flows[0].goodput_bps
    };
    for (warmup, duration) in [(0, 60_000), (10_000, 60_000), (12_000, 60_000), (12_000, 40_000)] {
        let found = goodput(warmup, duration);
        assert!((found - 1e6).abs() < 2e3, "{found} bit/s, warm-up {warmup} ms");
    }
}

#[test]
fn a_rate_that_no_nanosecond_divides_does_not_drift() {
    // 1000 B at 3 Mbit/s from 5 ms on: the last packet before 100 s is number floor(99.995 * 375).
    let out = play(&document(100_000, path(8_000_000, 10), vec![datagrams(cbr(1000, 3_000_000))]));
    assert_eq!(out.flows[0].sent_segments, (99.995f64 * 375.0) as u64 + 1);
}

#[test]
fn headers_count_on_the_wire_and_not_as_goodput() {
    let mut app = cbr(972, 777_600);
    app["header_bytes"] = json!(28);
    let out = play(&document(10_000, path(8_000_000, 10), vec![datagrams(app)]));
    assert_eq!(out.links[0].sent_bytes, out.links[0].sent_packets * 1000);
    assert!((out.flows[0].goodput_bps / 777_600.0 - 1.0).abs() < 0.003);
    assert!((out.links[0].utilisation.unwrap() - 0.1).abs() < 0.001);
}

#[test]
fn every_datagram_is_received_lost_or_under_way() {
    for (rate, loss) in [(2_000_000, json!(null)), (900_000, json!({"kind": "bernoulli", "p": 0.05}))] {
        for fused in [true, false] {
            let mut links = path(1_000_000, 10);
            links[0]["loss"] = loss.clone();
            let mut d = document(3003, links, vec![datagrams(cbr(500, rate))]);
            d["engine"] = json!({"fused": fused});
            let out = play(&d);
            let (row, l) = (out.flows[0].datagrams.unwrap(), &out.links[0]);
            let arrived = out.flows[0].received_packets.unwrap();
            assert_eq!(arrived + row.lost + row.in_flight, out.flows[0].sent_segments);
            assert_eq!(row.lost, l.drops + l.lost);
            assert!(row.lost > 20 && row.in_flight >= 2, "{row:?}");
            // The measurement counts what was sent within it, and what arrived within it.
            d["warmup_ns"] = json!(1000 * MS);
            let late = play(&d);
            let row = late.flows[0].datagrams.unwrap();
            let (sent, arrived) = (late.flows[0].sent_segments, late.flows[0].received_packets.unwrap());
            assert!(arrived.abs_diff(sent - row.lost - row.in_flight) < 30 && row.lost > 0, "{row:?}");
        }
    }
}

#[test]
fn times_on_and_off_have_their_share() {
    let exponential = |ns: f64| json!({"kind": "exponential", "mean": ns});
    let pareto = |ns: f64| json!({"kind": "pareto", "shape": 2.5, "mean": ns});
    for (on, off) in [(exponential(1e8), exponential(3e8)), (pareto(1e8), pareto(3e8))] {
        let mut app = cbr(1000, 1_000_000);
        (app["kind"], app["on"], app["off"]) = (json!("on_off"), on, off);
        let out = play(&document(4_000_000, path(8_000_000, 10), vec![datagrams(app)]));
        // A renewal process: the share of time on after T has the variance
        // (s_on^2 m_off^2 + s_off^2 m_on^2) / ((m_on + m_off)^3 T), here 1 % of the share for exponential times and
        // less than that for these Pareto ones (s = 0.89 m).
        let rate = out.flows[0].goodput_bps;
        assert!((rate / 250_000.0 - 1.0).abs() < 0.035, "{rate}");
    }
}

#[test]
fn ecn_capable_datagrams_are_marked() {
    let mut links = path(1_000_000, 50);
    links[0]["queue"]["mark_above_packets"] = json!(5);
    for ect in [false, true] {
        let mut app = cbr(500, 1_100_000);
        app["ect"] = json!(ect);
        let out = play(&document(2000, links.clone(), vec![datagrams(app)]));
        assert_eq!(out.flows[0].marked_segments > 50, ect);
    }
}

#[test]
fn writes_at_a_constant_rate_leave_one_by_one() {
    let mut app = cbr(200, 80_000);
    app["transport"] = json!("tcp");
    let mut f = with_app(app);
    f["stop_ns"] = json!(10_000 * MS);
    let out = play(&document(12_000, path(8_000_000, 100), vec![f]));
    let row = &out.flows[0];
    // What is written before the handshake ends leaves together.
    assert_eq!((row.goodput_bytes, row.sent_segments), (500 * 200, 500));
    assert!(row.completed && row.datagrams.is_none() && row.retransmitted_segments == 0);
    assert!((row.goodput_bps / 80_000.0 - 1.0).abs() < 0.005, "{}", row.goodput_bps);
    assert!(out.transfers.is_empty());
}

#[test]
fn a_write_is_timed_from_the_write_to_its_last_byte() {
    let mut app = cbr(200, 80_000);
    (app["transport"], app["transfers"], app["phase_ns"]) = (json!("tcp"), json!(true), json!(0));
    let out = play(&document(995, path(8_000_000, 100), vec![with_app(app)]));
    // SYN 0.04 + 10, SYN-ACK 10, acknowledgment 0.04: the first two leave together, 400 + 40 B 0.44 + 10 ms; then 0.24 + 10.
    let expected = |k: usize| [0.03052, 0.01052].get(k).copied().unwrap_or(0.01024);
    assert_eq!(out.transfers.len(), 50);
    for (k, t) in out.transfers.iter().enumerate() {
        assert!((t.start_s - 0.02 * k as f64).abs() < 1e-9, "{k}: {}", t.start_s);
        assert!((t.fct_s.unwrap() - expected(k)).abs() < 1e-9, "{k}: {:?}", t.fct_s);
    }
    assert_eq!(out.flows[0].transfers.map(|t| (t.begun, t.completed)), Some((50, 50)));
}

#[test]
fn a_file_on_an_idle_path_takes_the_time_computed() {
    // SYN 0.04 + 10, SYN-ACK 10, acknowledgment 0.04, 1000 + 40 B 1.04 + 10 ms.
    let files = |request: Value| {
        json!({"kind": "files", "arrivals": {"every_ns": 500 * MS}, "size": {"kind": "constant", "value": 1000},
            "count": 3, "request_bytes": request})
    };
    // With a request: SYN 10, SYN-ACK 10.04, acknowledgment and request 10, answer 1.04 + 10.
    for (request, fct) in [(json!(null), 0.03112), (json!(100), 0.04108)] {
        let mut f = with_app(files(request));
        f["start"] = json!({"at_ns": 100 * MS});
        let out = play(&document(5000, path(8_000_000, 100), vec![f]));
        assert_eq!(out.transfers.len(), 3);
        for (n, t) in out.transfers.iter().enumerate() {
            assert_eq!((t.flow, t.index, t.bytes), (0, n as u64, 1000));
            assert!((t.start_s - (0.1 + 0.5 * n as f64)).abs() < 1e-12);
            assert!((t.fct_s.unwrap() - fct).abs() < 1e-12, "{t:?}");
            assert!((t.slowdown.unwrap() - fct / 0.041).abs() < 1e-9, "{t:?}");
        }
        let (row, of) = (&out.flows[0], out.flows[0].transfers.unwrap());
        assert_eq!((of.begun, of.completed), (3, 3));
        assert!(of.fct_s.unwrap().iter().all(|t| (t - fct).abs() < 1e-12));
        assert!(row.completed && (row.end_s.unwrap() - 1.1 - fct).abs() < 1e-12);
        assert_eq!((row.goodput_bytes, row.sent_segments, out.packets), (3000, 3, 3));
        assert!((row.min_rtt_s.unwrap() - 0.02).abs() < 0.002 && row.mean_cwnd_bytes > 0.0, "{row:?}");
    }
}

#[test]
fn a_bulk_flow_of_given_size_is_a_transfer() {
    let mut f = with_app(json!({"kind": "bulk", "bytes": 1000}));
    let out = play(&document(5000, path(8_000_000, 100), vec![f.clone()]));
    assert!((out.transfers[0].fct_s.unwrap() - 0.03112).abs() < 1e-12);
    assert_eq!(out.flows[0].fct_s, out.transfers[0].fct_s);
    (f["app"]["bytes"], f["stop_ns"]) = (json!(10_000_000), json!(1000 * MS));
    let out = play(&document(5000, path(8_000_000, 100), vec![f]));
    assert!(out.flows[0].completed && out.transfers[0].fct_s.is_none(), "{:?}", out.transfers);
}

#[test]
fn requests_on_an_idle_path_take_the_time_computed() {
    let mut f = with_app(json!({"kind": "request_response", "request": {"kind": "constant", "value": 100},
        "response": {"kind": "constant", "value": 1000}, "think": {"kind": "constant", "value": 1e8}, "count": 4}));
    f["start"] = json!({"at_ns": 100 * MS});
    let out = play(&document(5000, path(8_000_000, 100), vec![f]));
    // The first waits for the handshake: SYN 10, SYN-ACK 10.04, request 10, answer 1.04 + 10 ms; the others do not.
    let mut start = 0.1;
    for (n, t) in out.transfers.iter().enumerate() {
        let fct = if n == 0 { 0.04108 } else { 0.02104 };
        assert!((t.start_s - start).abs() < 1e-12 && (t.fct_s.unwrap() - fct).abs() < 1e-12, "{t:?}");
        let ideal = if n == 0 { 0.041 } else { 0.021 };
        assert!((t.slowdown.unwrap() - fct / ideal).abs() < 1e-9);
        start += fct + 0.1;
    }
    let row = &out.flows[0];
    assert_eq!((out.transfers.len(), row.goodput_bytes, row.sent_segments), (4, 4000, 4));
    assert!((row.end_s.unwrap() - (start - 0.1)).abs() < 1e-12 && row.completed, "{row:?}");
    let of = row.transfers.unwrap();
    let fct = of.fct_s.unwrap();
    assert!((fct[1] - 0.02104).abs() < 1e-12 && (fct[3] - 0.04108).abs() < 1e-12, "{fct:?}");
}

#[test]
fn requests_without_thinking_go_on_until_told_to_stop() {
    let mut f = with_app(json!({"kind": "request_response", "request": {"kind": "constant", "value": 100},
        "response": {"kind": "exponential", "mean": 20000}}));
    f["stop_ns"] = json!(5000 * MS);
    let out = play(&document(10_000, path(8_000_000, 100), vec![f.clone()]));
    let done: u64 = out.transfers.iter().map(|t| t.bytes).sum();
    assert!(out.transfers.len() > 50 && out.transfers.iter().all(|t| t.start_s <= 5.0 && t.end_s.is_some()));
    assert!(out.flows[0].completed && out.flows[0].goodput_bytes == done, "{:?}", out.flows[0]);
    f["stop_ns"] = json!(null);
    let open = play(&document(10_000, path(8_000_000, 100), vec![f]));
    assert!(!open.flows[0].completed && open.transfers.last().unwrap().end_s.is_none());
}

#[test]
fn arrivals_and_sizes_follow_their_distributions() {
    let app =
        json!({"kind": "files", "arrivals": {"poisson_per_s": 50.0}, "size": {"kind": "exponential", "mean": 20000}});
    let mut f = with_app(app);
    f["tcp"] = json!({});
    let d = document(100_000, path(1_000_000_000, 1000), vec![f]);
    let out = play(&d);
    let n = out.transfers.len() as f64;
    assert!((n - 5000.0).abs() < 4.0 * 5000f64.sqrt(), "{n}");
    let mean = out.transfers.iter().map(|t| t.bytes).sum::<u64>() as f64 / n;
    assert!((mean / 20_000.0 - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
    // Waits without memory: their standard deviation is their mean.
    let waits: Vec<f64> = out.transfers.windows(2).map(|w| w[1].start_s - w[0].start_s).collect();
    let square = waits.iter().map(|w| w * w).sum::<f64>() / waits.len() as f64;
    assert!((square.sqrt() / (0.02 * 2f64.sqrt()) - 1.0).abs() < 0.06, "{square}");
    let done: Vec<_> = out.transfers.iter().filter(|t| t.end_s.is_some()).collect();
    assert!(done.len() as f64 > n - 20.0);
    // Everything delivered belongs to a transfer.
    let (least, most) = (done.iter().map(|t| t.bytes).sum::<u64>(), out.transfers.iter().map(|t| t.bytes).sum::<u64>());
    assert!((least..=most).contains(&out.flows[0].goodput_bytes));
    assert!(out.transfers.iter().filter_map(|t| t.slowdown).all(|s| s > 0.7));
}

#[test]
fn transfers_do_not_depend_on_the_controller() {
    let list = |cc: &str, size: &str| {
        let size = json!({"kind": size, "mean": 20000, "sd": 10000});
        let size = if size["kind"] == "exponential" { json!({"kind": "exponential", "mean": 20000}) } else { size };
        let mut f = with_app(json!({"kind": "files", "arrivals": {"poisson_per_s": 20.0}, "size": size}));
        (f["cc"], f["start"]) = (json!({"name": cc}), json!({"uniform_ns": [0, 1000 * MS]}));
        let out = play(&document(10_000, path(3_000_000, 20), vec![f]));
        out.transfers.iter().map(|t| (t.start_s.to_bits(), t.bytes)).collect::<Vec<_>>()
    };
    let with_reno = list("reno", "exponential");
    assert_eq!(with_reno, list("cubic", "exponential"));
    let starts = |l: &[(u64, u64)]| l.iter().map(|t| t.0).collect::<Vec<_>>();
    assert_eq!(starts(&with_reno), starts(&list("reno", "lognormal")));
}

#[test]
fn sources_are_active_as_scheduled() {
    let schedule = json!([[0, 1000 * MS], [2000 * MS, 3000 * MS], [4000 * MS, null]]);
    let mut udp = datagrams(cbr(1000, 800_000));
    udp["schedule"] = schedule.clone();
    let mut bulk = with_app(json!({"kind": "bulk"}));
    (bulk["id"], bulk["schedule"], bulk["stop_ns"]) = (json!("1"), schedule, json!(5000 * MS));
    let mut d = document(10_000, path(8_000_000, 20), vec![udp, bulk]);
    d["flows"][0]["stop_ns"] = json!(5000 * MS);
    d["engine"] = json!({"log_deliveries": true});
    let mut s = sim(&d);
    s.run(|| false).unwrap();
    let arrived = s.take_deliveries();
    // Queue, link and way take 31 ms at most; the connection is opened once and closed once.
    let quiet = |t: u64| (1040..2000).contains(&(t / MS)) || (3040..4000).contains(&(t / MS)) || t > 5200 * MS;
    assert!(arrived.iter().filter(|a| a.packet.payload() > 0).all(|a| !quiet(a.at.0)));
    let flagged =
        |flag: u8| arrived.iter().filter(|a| a.to == 3 && a.packet.tcp().is_some_and(|s| s.has(flag))).count();
    use ackclock_core::tcp::segment::flags;
    assert_eq!((flagged(flags::SYN), flagged(flags::FIN)), (1, 1));
    let out = s.output();
    // Three intervals of a second, each with the packets 5, 15, ... 995 ms after its begin.
    assert_eq!(out.flows[0].sent_segments, 300);
    assert!(out.flows[1].completed && out.flows[1].goodput_bps > 3e6, "{:?}", out.flows[1]);
}

#[test]
fn wrong_applications_are_refused() {
    let problem = |f: Value| {
        let run = ackclock_sim::Run::from_json(&document(1000, path(8_000_000, 10), vec![f]).to_string());
        run.and_then(|r| ackclock_sim::Sim::new(&r).map(|_| ())).unwrap_err().to_string()
    };
    let sizes = |size: Value| with_app(json!({"kind": "files", "arrivals": {"poisson_per_s": 5}, "size": size}));
    assert!(problem(sizes(json!({"kind": "exponential", "mean": -1}))).starts_with("flows.0.app.size: a mean"));
    assert!(problem(sizes(json!({"kind": "pareto", "shape": 0.9, "mean": 5}))).contains("shape > 1"));
    assert!(problem(sizes(json!({"kind": "normal", "mean": 5}))).contains("normal"));
    let mut f = sizes(json!({"kind": "constant", "value": 5}));
    f["app"]["arrivals"] = json!({"poisson_per_s": 0});
    assert!(problem(f).starts_with("flows.0.app.arrivals"));
    let mut app = cbr(100, 0);
    assert!(problem(datagrams(app.clone())).starts_with("flows.0.app.rate_bps"));
    (app["rate_bps"], app["on"]) = (json!(1000), json!({"kind": "constant", "value": 5}));
    assert!(problem(datagrams(app)).contains("on_off"));
    let mut f = flow("0", None);
    f["schedule"] = json!([[5, 3]]);
    assert!(problem(f.clone()).starts_with("flows.0.schedule"));
    (f["schedule"], f["app"]["bytes"]) = (json!([[0, 5], [7, 9]]), json!(1000));
    assert!(problem(f).contains("leave bytes out"));
    let mut f = flow("0", None);
    f.as_object_mut().unwrap().remove("cc");
    assert!(problem(f).contains("controller"));
    let requests = json!({"kind": "request_response", "request": {"kind": "constant", "value": 1},
        "response": {"kind": "constant", "value": 1}, "count": 0});
    assert!(problem(with_app(requests)).starts_with("flows.0.app.count"));
}
