//! Flows that a relay splits: what closed forms say of them.
#![allow(clippy::unwrap_used)]

use crate::common::splits::{Split, close, file, measure, without_rates};
use crate::common::{self, MS, play, sim};
use ackclock_core::app::{self, Application, Conn, Connections, Host, Made, Reading};
use ackclock_core::tcp::segment::flags;
use ackclock_core::time::Time;
use ackclock_sim::Output;
use serde_json::{Value, json};

#[test]
fn a_split_flow_is_as_fast_as_the_slower_of_its_legs_alone() {
    for rates in [[100_000_000, 20_000_000], [20_000_000, 100_000_000], [30_000_000, 30_000_000]] {
        // Long enough for both to have come to rest: with equal rates the buffer is empty until the first loss.
        let s = Split { rates, seconds: 60, ..Split::default() };
        let legs = [0, 1].map(|leg| s.alone(&[leg]).flows[0].goodput_bps);
        let out = s.play();
        let goodput = out.flows[0].goodput_bps;
        // With equal rates neither leg is the slower one for long, and each has losses of its own.
        let part = if rates[0] == rates[1] { 0.02 } else { 1e-9 };
        assert!(close(goodput, legs[0].min(legs[1]), part), "{rates:?}: {goodput} of {legs:?}");
        // What the sink got passed the leg to it.
        assert_eq!(out.flows[0].goodput_bytes, out.flows[2].goodput_bytes);
        assert!(out.flows.len() == 3 && out.flows[1].id == "0/source" && out.warnings.is_empty(), "{:?}", out.warnings);
    }
}

/// Bytes delivered in the second half of 20 s, over links without rates: exactly what the round trips allow.
fn in_ten_seconds(s: &Split) -> Output {
    let mut d = without_rates(s.split());
    // What comes comes in bursts, and none of them at the very begin or end of what is counted.
    d["flows"][0]["start"]["at_ns"] = json!(3 * MS);
    play(&d)
}

#[test]
fn windows_limit_each_leg_by_its_own_round_trip_exactly() {
    // Of 100 and 40 ms, 20 and 80, 80 and 80. Windows of 200 kB or 100 kB in the one leg, or both.
    let cases = [([200_000, 4_000_000], [50, 20]), ([4_000_000, 100_000], [10, 40]), ([200_000, 100_000], [40, 40])];
    for (windows, delays) in cases {
        let tcp = windows.map(|w| json!({"receive_buffer": w, "delayed_ack": 1}));
        let s = Split { delays, tcp, profile: "rfc", ..Split::default() };
        let expected = (0..2).map(|i| windows[i] * 10_000 / (2 * delays[i])).min();
        assert_eq!(Some(in_ten_seconds(&s).flows[0].goodput_bytes), expected, "{windows:?}, {delays:?}");
    }
}

#[test]
fn a_small_buffer_limits_by_the_round_trips_that_a_byte_of_it_waits_for() {
    // A byte of the buffer is used again when the acknowledgment over the one leg has opened the window of the other and what
    // is sent then has come: after both round trips. Where the leg before is short, that is the one of the leg behind.
    let of = |delays| {
        let tcp = [0, 1].map(|_| json!({"delayed_ack": 1}));
        Split { delays, tcp, buffer: 200_000, profile: "rfc", ..Split::default() }
    };
    // Round trips that ten seconds are a multiple of.
    for delays in [[1, 49], [25, 25], [40, 10]] {
        let out = in_ten_seconds(&of(delays));
        assert_eq!(out.flows[0].goodput_bytes, 200_000 * 10_000 / (2 * (delays[0] + delays[1])), "{delays:?}");
        assert!(measure(&out, "relay_most_buffered_bytes") <= 200_000.0);
    }
    // With rates, the same but for what segments take on the links: the table of docs/split-tcp.md, Mbit/s.
    for (delays, goodput) in [([1, 50], "15.68"), ([25, 25], "16.00"), ([50, 10], "13.31")] {
        let expected = 200_000.0 * 8.0 / (2.0 * (delays[0] + delays[1]) as f64 * 1e-3);
        let out = Split { rates: [1_000_000_000; 2], ..of(delays) }.play();
        let found = out.flows[0].goodput_bps;
        assert!(close(found, expected, 0.005), "{delays:?}: {found}, expected {expected}");
        assert_eq!(format!("{:.2}", found / 1e6), goodput, "{delays:?}");
    }
}

#[test]
fn a_slow_leg_fills_the_buffer_and_closes_the_window() {
    // Somebody who reads 25 kB/s; a round trip of the leg before takes 2.5 kB.
    let app = Some(json!({"kind": "bulk", "read_bps": 200_000}));
    let tcp = [json!({}), json!({"receive_buffer": 50_000})];
    let s = Split { rates: [100_000_000, 5_000_000], buffer: 300_000, app, tcp, ..Split::default() };
    let mut d = s.split();
    d["engine"] = json!({"log_deliveries": true});
    let mut run = sim(&d);
    run.run(|| false).unwrap();
    let zero =
        run.take_deliveries().iter().filter(|p| p.to == 2 && p.packet.tcp().is_some_and(|t| t.window == 0)).count();
    let out = run.output();
    let most = measure(&out, "relay_most_buffered_bytes");
    assert!(zero > 0 && most <= 300_000.0 && most > 298_000.0, "{zero} closed, {most} B");
    assert!(close(out.flows[0].goodput_bps, s.alone(&[1]).flows[0].goodput_bps, 0.02), "{}", out.flows[0].goodput_bps);
    assert_eq!(measure(&out, "acked_undelivered_bytes"), 0.0);
}

#[test]
fn the_ways_of_opening_take_the_time_that_they_should() {
    // One-way delays of 50 and 20 ms, and no rates: times are exact, but for how a double says them. The client asks over the radio.
    let time = |opening: &str| {
        let app = Some(file(1000));
        let s = Split { app, more: json!({"opening": opening}), ..Split::default() };
        let out = play(&without_rates(s.split()));
        assert!(out.flows[0].completed && out.warnings.is_empty(), "{opening}: {:?}", out.warnings);
        out.transfers[0].fct_s.unwrap()
    };
    // Answered at once, the request is at the relay after 60 ms and waits for the other handshake, 20 + 100 ms, then passes it
    // with its last acknowledgment and comes back: 120 + 50 + 50 + 20.
    assert!((time("transparent") - 0.240).abs() < 1e-12, "{}", time("transparent"));
    // A program hears of the client with its request, after 60 ms, and begins the other handshake then: 100 + 50 + 50 + 20.
    assert!((time("accepted") - 0.280).abs() < 1e-12, "{}", time("accepted"));
    // The client hears of its handshake at 140 ms; its request is at the relay at 160, at the server at 210.
    assert!((time("lazy") - 0.280).abs() < 1e-12, "{}", time("lazy"));
    // Split behind the handshake, which the client's acknowledgment ends; the request is right behind it.
    assert!((time("syn_forward") - 0.280).abs() < 1e-12, "{}", time("syn_forward"));
}

#[test]
fn a_short_file_takes_the_slow_start_of_the_longer_leg_and_a_round_trip_of_the_other() {
    let radio = 0.024;
    for kilobytes in [10, 20, 40, 80, 150, 300] {
        let s = Split { delays: [60, 12], app: Some(file(kilobytes * 1000)), ..Split::default() };
        let time = |document: Value| play(&without_rates(document)).transfers[0].fct_s.unwrap();
        let (split, core, whole) = (time(s.split()), time(s.of_legs(&[0])), time(s.of_legs(&[0, 1])));
        // The handshakes pass side by side, but for half a round trip until the relay knows of the client; the last byte
        // takes the other half.
        assert!((split - core - radio).abs() < 1e-12, "{kilobytes} kB: {split} s, {core} s the longer leg alone");
        assert!(split <= whole - radio + 1e-12, "{kilobytes} kB: {split} s, {whole} s without a relay");
    }
}

#[test]
fn processing_takes_its_time_on_the_way_out_and_back() {
    let time = |delay: u64| {
        let s = Split { app: Some(file(1000)), more: json!({"delay_ns": delay * MS}), ..Split::default() };
        play(&without_rates(s.split())).transfers[0].fct_s.unwrap()
    };
    // The request waits for the handshake of the other leg anyway; the answer waits.
    assert!((time(5) - time(0) - 0.005).abs() < 1e-12, "{} {}", time(5), time(0));
}

/// Writes so much and closes; the sink reads nothing and gives up after 5 s, or reads to the end and answers with as much
/// before it closes too.
struct End {
    gives_up: bool,
    conn: Option<Conn>,
}

const WRITTEN: u64 = 500_000;

impl Application for End {
    fn begin(&mut self, host: &mut dyn Host) {
        let conn = host.open();
        host.write(conn, WRITTEN);
        host.close(conn);
    }

    fn reading(&self) -> Reading {
        if self.gives_up { Reading::ByHand } else { Reading::AtOnce }
    }

    fn due(&self) -> Time {
        if self.gives_up && self.conn.is_some() { Time(5_000 * MS) } else { Time::NEVER }
    }

    fn on_accepted(&mut self, _: &mut dyn Host, conn: Conn) {
        self.conn = Some(conn);
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        host.abort(self.conn.take().unwrap());
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        if self.conn.is_some() {
            // The other direction is still open: half a connection is one.
            host.write(conn, WRITTEN);
        }
        host.close(conn);
    }
}

/// Bytes that were taken over and not delivered, and what each leg delivered, out and back.
fn between_ends(gives_up: bool) -> (Output, u64) {
    let tcp = [json!({}), json!({"receive_buffer": if gives_up { 100_000 } else { 1_000_000 }})];
    let s = Split { app: Some(file(1)), tcp, profile: "rfc", ..Split::default() };
    let mut d = s.split();
    d["engine"] = json!({"log_deliveries": true});
    let mut run = sim(&d);
    let ends = [false, gives_up].map(|gives_up| Box::new(End { gives_up, conn: None }) as Box<dyn Application>);
    let (opens, connections) = (app::End::Source, Connections::Many(1.0));
    run.set_applications(0, Made { ends, opens, connections, at_once: None, once: false, in_transfers: true }).unwrap();
    run.run(|| false).unwrap();
    assert_eq!(run.connections().0, 0, "everything is given back");
    // What came back to the source, each byte once: nothing is lost here.
    let back = run.take_deliveries();
    // The first packet of all is the source's.
    let to_source = back.iter().filter(|p| p.addresses.destination == back[0].addresses.source);
    let back = to_source.map(|p| u64::from(p.packet.payload())).sum();
    (run.output(), back)
}

#[test]
fn what_the_relay_acknowledged_and_the_client_never_got_is_counted() {
    let (out, _) = between_ends(true);
    let got = out.flows[2].goodput_bytes;
    assert!(got > 50_000 && got <= 100_000 && out.flows[1].goodput_bytes == WRITTEN, "{got}");
    assert_eq!(measure(&out, "acked_undelivered_bytes"), (WRITTEN - got) as f64);
}

#[test]
fn a_connection_closed_one_way_stays_open_the_other() {
    let (out, back) = between_ends(false);
    assert_eq!((out.flows[0].goodput_bytes, back), (WRITTEN, WRITTEN));
    assert!(measure(&out, "acked_undelivered_bytes") == 0.0 && out.warnings.is_empty(), "{:?}", out.warnings);
}

#[test]
fn a_client_whose_server_is_not_there_is_reset() {
    for opening in ["transparent", "accepted", "lazy", "syn_forward"] {
        let (app, more) = (Some(file(1000)), json!({"opening": opening}));
        let tcp = [json!({"syn_retries": 1, "syn_linear_timeouts": 0}), json!({})];
        let s = Split { app, more, tcp, ..Split::default() };
        let mut d = s.split();
        // Nothing passes on the way to the server.
        d["links"][1]["loss"] = json!({"kind": "bernoulli", "p": 1.0 - 1e-9});
        d["engine"] = json!({"log_deliveries": true});
        let mut run = sim(&d);
        run.run(|| false).unwrap();
        let resets: Vec<_> =
            run.take_deliveries().into_iter().filter(|p| p.packet.tcp().unwrap().flags & flags::RST > 0).collect();
        assert!(resets.len() == 1 && resets[0].to % 2 == 1, "{opening}: the client, once");
        let out = run.output();
        let failed: Vec<_> = out.flows.iter().map(|f| f.failed.as_deref()).collect();
        // As elsewhere, who is reset by one that gave it up has not failed by itself.
        let nobody = Some("no answer to the connection request");
        assert_eq!(failed, [nobody, nobody, None], "{opening}");
        // The request was acknowledged by the relay that answers at once.
        let lost = if ["transparent", "accepted"].contains(&opening) { 200.0 } else { 0.0 };
        assert_eq!(measure(&out, "acked_undelivered_bytes"), lost, "{opening}");
    }
}

#[test]
fn clients_beyond_the_cap_are_reset() {
    let app = json!({"kind": "files", "arrivals": {"every_ns": 10 * MS}, "size": {"kind": "constant", "value": 1_000_000},
        "request_bytes": 200, "count": 5});
    for opening in ["transparent", "accepted"] {
        let more = json!({"connections": 2, "opening": opening});
        let out = Split { app: Some(app.clone()), more, ..Split::default() }.play();
        let done = out.transfers.iter().filter(|t| t.end_s.is_some()).count();
        assert_eq!((measure(&out, "relay_refused"), done), (3.0, 2), "{opening}: {:?}", out.warnings);
    }
}

/// Two flows whose relays are on one node.
fn on_one_node(s: &Split) -> Output {
    let mut d = s.split();
    let second: Vec<Value> = d["flows"].as_array().unwrap().clone();
    for mut f in second {
        f["id"] = json!(f["id"].as_str().unwrap().replace('0', "1"));
        if let Some(relay) = f.get_mut("relay") {
            relay["legs"] = json!(["1/source", "1/sink"]);
        }
        d["flows"].as_array_mut().unwrap().push(f);
    }
    play(&d)
}

#[test]
fn the_cap_is_of_all_flows_of_a_node() {
    let app = json!({"kind": "files", "arrivals": {"every_ns": 10 * MS}, "size": {"kind": "constant", "value": 1_000_000},
        "request_bytes": 200, "count": 3});
    let more = |node: Value| json!({"connections": 4, "node": node});
    let s = Split { app: Some(app.clone()), more: more(json!("pep")), ..Split::default() };
    let refused =
        |out: &Output| -> f64 { out.measures.iter().filter(|m| m.name == "relay_refused").map(|m| m.value).sum() };
    assert_eq!(refused(&on_one_node(&s)), 2.0);
    // Each on a node of its own.
    assert_eq!(refused(&on_one_node(&Split { app: Some(app), more: more(Value::Null), ..Split::default() })), 0.0);
}

#[test]
fn a_processor_does_one_segment_after_the_other_of_all_flows() {
    // A segment of 1000 bytes each millisecond: 8 Mbit/s, however many flows there are.
    let more = json!({"per_segment_ns": MS, "node": "pep"});
    let s = Split { rates: [100_000_000; 2], delays: [5, 5], more, ..Split::default() };
    let alone = s.play().flows[0].goodput_bps;
    assert!(close(alone, 8e6, 0.005), "{alone}");
    let both = on_one_node(&s);
    let sum = both.flows[0].goodput_bps + both.flows[3].goodput_bps;
    assert!(close(sum, 8e6, 0.005) && both.flows[3].goodput_bps > 2e6, "{sum}");
}

#[test]
fn what_ecn_each_leg_agrees_on_is_its_own() {
    // The queue of the radio marks, and only the leg over it has agreed.
    let marked = |tcp: [Value; 2]| {
        let s = Split { tcp, seconds: 10, ..Split::default() };
        let mut d = s.split();
        d["links"][2]["queue"] = json!({"kind": "codel", "limit_packets": 1000, "params": {"ecn": true}});
        let out = play(&d);
        [1, 2].map(|leg| out.flows[leg].marked_segments)
    };
    let (on, off) = (json!({"ecn": "classic"}), json!({}));
    let [core, radio] = marked([off.clone(), on.clone()]);
    assert!(core == 0 && radio > 0, "{core} {radio}");
    assert_eq!(marked([on, off]), [0, 0]);
}

#[test]
fn a_run_cut_into_steps_yields_the_same() {
    let s = Split { rates: [30_000_000; 2], more: json!({"delay_ns": 1000}), ..Split::default() };
    let whole = common::tables(&s.play());
    let mut run = sim(&s.split());
    for i in 1..40 {
        run.run_until(Time(i * 500 * MS));
    }
    run.run(|| false).unwrap();
    assert_eq!(common::tables(&run.output()), whole);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut d = Split::default().split();
        change(&mut d);
        let run = ackclock_sim::Run::from_json(&d.to_string()).unwrap();
        ackclock_sim::Sim::new(&run).map(|_| ()).unwrap_err().to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let two = |d: &mut Value| {
        let mut more = d["flows"][0].clone();
        more["id"] = json!("2");
        (d["flows"][0]["relay"]["node"], d["flows"][0]["relay"]["connections"]) = (json!("pep"), json!(3));
        more["relay"] = json!({"legs": ["2/source", "2/sink"], "buffer_bytes": 100_000, "node": "pep"});
        d["flows"].as_array_mut().unwrap().push(more);
    };
    let cases: [(Change, &str); 6] = [
        (&two, "flows.3.relay: other relays of the node 'pep' have another processor or cap"),
        (&|d| d["flows"][0]["relay"]["opening"] = json!("late"), "flows.0.relay.opening: unknown 'late'; known are"),
        (&|d| d["flows"][0]["relay"]["buffer_bytes"] = json!(100), "flows.0.relay.buffer_bytes: 100 B; at least 65535"),
        (&|d| d["flows"][0]["relay"]["legs"][1] = json!("7"), "flows.0.relay: no flow has the id '7'"),
        (&|d| d["flows"][0]["relay"]["legs"][1] = json!("0/source"), "flows.0.relay: the flow '0/source' cannot"),
        (&|d| d["flows"][1]["tcp"]["handshake"] = json!(false), "flows.0.relay: its leg '0/source' has no handshake"),
    ];
    for (change, begin) in cases {
        let said = wrong(change);
        assert!(said.starts_with(begin), "{said}");
    }
}
