//! Radio cells in whole runs: what flows get, what is reported, and what is refused.
#![allow(clippy::unwrap_used)]

use ackclock_sim::{Output, Run, Sim};

/// A run of `seconds` with a flow for each of these users, as JSON, over a cell with these parameters.
fn document(users: &[&str], params: &str, cc: &str, seconds: u64, more: &str) -> String {
    let n = users.len();
    let flow = |i: usize| {
        let (down, up) = (format!(r#"{{"element": {{"id": "cell", "port": {i}}}}}"#), n + i);
        format!(
            r#"{{"id": "{i}", "forward": [{{"delay_ns": 5000000}}, {down}],
            "reverse": [{{"element": {{"id": "cell", "port": {up}}}}}, {{"delay_ns": 5000000}}], "start": {{"at_ns": 0}},
            "app": {{"kind": "bulk"}}, "mss": 1448, "profile": "linux", "cc": {{"name": "{cc}"}}}}"#
        )
    };
    let flows: Vec<String> = (0..n).map(flow).collect();
    format!(
        r#"{{"format": 1, "seed": 1, "duration_ns": {}, "warmup_ns": 2000000000, "links": [],
        "cells": [{{"id": "cell", "kind": "lte", "params": {{{params}}}, "users": [{}]}}], "flows": [{}]{more}}}"#,
        seconds * 1_000_000_000,
        users.join(","),
        flows.join(",")
    )
}

fn play(text: &str) -> Output {
    let mut sim = Sim::new(&Run::from_json(text).unwrap()).unwrap();
    sim.run(|| false).unwrap();
    sim.output()
}

const STRONG: &str = r#"{"down_db": 40.0}"#;

#[test]
fn a_single_user_gets_the_blocks_less_their_headers() {
    let out = play(&document(&[STRONG], "", "reno", 12, ""));
    // 36.213 table 7.1.7.2.1-1: 100 resource blocks of scheme 28 carry 75,376 bit in a TTI. Of its 9,422 bytes 7 are headers; every packet
    // of 1500 bytes has 2 more, and 1448 of payload.
    let expected = (9422.0 - 7.0) * 8.0 / 1502.0 * 1448.0 * 1000.0;
    let got = out.flows[0].goodput_bps;
    assert!((got / expected - 1.0).abs() < 0.01, "{got} bit/s, not {expected}");
    let (cell, user) = (&out.cells[0], &out.users[0]);
    assert!((cell.down.rho_rb - 1.0).abs() < 0.001, "{}", cell.down.rho_rb);
    assert_eq!((user.down.signal.cqi, user.down.signal.mcs), (15, Some(28)));
    assert_eq!(user.down.signal.rate_bps, 75_376_000.0);
    // There and back 5 ms; 4 ms to the user; from it a request, a grant and a block: 4, 4 and 1 ms.
    assert!((out.flows[0].path_rtt_s - 0.023).abs() < 1e-12, "{}", out.flows[0].path_rtt_s);
}

#[test]
fn proportional_fairness_shares_blocks_not_rates() {
    let users = [r#"{"down_db": 20.5}"#, r#"{"down_db": 8.2}"#];
    let out = play(&document(&users, "", "reno", 12, ""));
    let shares: Vec<f64> = out.users.iter().map(|u| u.down.rb_share).collect();
    assert!((shares[0] - 0.5).abs() < 0.01 && (shares[1] - 0.5).abs() < 0.01, "{shares:?}");
    let sum: u64 = out.users.iter().map(|u| u.down.blocks[0] + u.down.blocks[1]).sum();
    assert_eq!(sum, out.cells[0].down.counts.blocks, "every block is somebody's");
}

#[test]
fn nothing_is_delivered_that_waited_longer_than_the_age_limit() {
    let users = [r#"{"distance_m": 450.0}"#; 8];
    let out = play(&document(&users, r#""base_power_dbm": 36.0"#, "cubic", 8, ""));
    let dropped: u64 = out.users.iter().map(|u| u.down.drops.iter().sum::<u64>()).sum();
    assert!(dropped > 0);
    for user in &out.users {
        // 300 ms in the queue, up to 3 retransmissions of 8 ms, 100 ms of reordering, 4 ms on the air, and alignment.
        assert!(user.down.max_age_s < 0.300 + 0.024 + 0.100 + 0.004 + 0.002, "{}", user.down.max_age_s);
        assert!(user.down.wait_s.unwrap()[3] <= 0.301);
    }
}

/// Distances of the users of a cell of so many.
fn distances(users: usize, cc: &str, run: u64) -> Vec<f64> {
    let text = document(&vec![r#"{"disc_m": 500.0}"#; users], "", cc, 3, &format!(r#", "run": {run}"#));
    play(&text).users.iter().map(|u| u.distance_m.unwrap()).collect()
}

#[test]
fn places_hang_on_the_replication_and_on_nothing_else() {
    let places = distances(5, "reno", 0);
    assert_eq!(places, distances(5, "bbr1", 0));
    assert_eq!(places, distances(9, "reno", 0)[..5]);
    assert_ne!(places, distances(5, "reno", 1));
}

#[test]
fn places_are_uniform_over_the_disc() {
    let out = play(&document(&[r#"{"disc_m": 500.0}"#; 400], "", "reno", 3, ""));
    let of = |u: &ackclock_sim::cells::UserRow| {
        let (x, y) = u.spot_m.unwrap();
        let metres = u.distance_m.unwrap();
        assert!((x * x + y * y - metres * metres).abs() < 1e-6 * metres * metres);
        (metres, x > 0.0, y > 0.0)
    };
    let spots: Vec<_> = out.users.iter().map(of).collect();
    // Half of the area is within R / sqrt(2), a quarter of it in each quadrant; four standard deviations of a binomial.
    let within = spots.iter().filter(|s| s.0 < 500.0 / 2f64.sqrt()).count() as f64;
    let quadrant = spots.iter().filter(|s| s.1 && s.2).count() as f64;
    assert!((within - 200.0).abs() < 40.0, "{within}");
    assert!((quadrant - 100.0).abs() < 35.0, "{quadrant}");
}

#[test]
fn series_add_up_to_what_the_tables_say() {
    let probes = r#", "probes": {"user_rate": {"every_ns": 100000000}, "rho_rb": {"every_ns": 100000000}}"#;
    let text = document(&[STRONG, r#"{"down_db": 3.0}"#], "", "cubic", 4, probes).replace("2000000000", "0");
    let out = play(&text);
    let of = |name: &str, number: u32| -> f64 {
        let named = |m: u8| ackclock_sim::probe::metric_name(m).0 == name;
        out.series.iter().filter(|s| named(s.metric) && s.of == number).map(|s| s.value).sum()
    };
    for (number, user) in out.users.iter().enumerate() {
        let bytes = of("user_rate", number as u32) * 0.1 / 8.0;
        // What comes out at the very end is counted in the tables, and belongs to an interval that does not come any more: a block.
        assert!(
            (bytes - user.down.packets[2] as f64).abs() < 9422.0,
            "{bytes}, not {}, of user {number}",
            user.down.packets[2]
        );
    }
    assert!((of("rho_rb", 0) / 40.0 - out.cells[0].down.rho_rb).abs() < 1e-3);
}

#[test]
fn outside_the_range_of_the_path_loss_there_is_one_warning() {
    let out = play(&document(&[r#"{"distance_m": 100.0}"#; 3], "", "reno", 3, ""));
    let said: Vec<_> = out.warnings.iter().filter(|w| w.contains("path loss")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("2120 MHz") && said[0].contains("nearer than 1 km"), "{}", said[0]);
    let inside = r#""path_loss": "cost231", "down_mhz": 1900.0, "up_mhz": 1800.0, "base_power_dbm": 60.0"#;
    assert!(play(&document(&[r#"{"distance_m": 1500.0}"#], inside, "reno", 3, "")).warnings.is_empty());
}

#[test]
fn what_makes_no_sense_is_refused_with_its_key() {
    let cases = [
        (STRONG, r#""bandwidth_mhz": 7.0"#, "cells.0.params.bandwidth_mhz", "no bandwidth of LTE"),
        (STRONG, r#""scheduler": "fifo""#, "cells.0.params.scheduler", "known are pf"),
        (STRONG, r#""rlc": {"mode": "tm"}"#, "cells.0.params.rlc.mode", "known are um, am"),
        (STRONG, r#""grant_delay_ns": 1500000"#, "cells.0.params.grant_delay", "whole milliseconds"),
        ("{}", "", "cells.0.users.0", "somewhere"),
        (r#"{"disc_m": 0.0}"#, "", "cells.0.users.0.disc_m", "outside"),
        (r#"{"distance_m": 100.0, "up_db": 3.0}"#, "", "cells.0.users.0.up_db", "both directions"),
        (r#"{"distance_m": -1.0}"#, "", "cells.0.users.0.distance_m", "outside"),
    ];
    for (user, params, path, problem) in cases {
        let run = Run::from_json(&document(&[user], params, "reno", 3, "")).unwrap();
        let said = Sim::new(&run).map(|_| ()).unwrap_err();
        assert!(said.path.starts_with(path) && said.problem.contains(problem), "{said}");
        let checked =
            Sim::check_with(&run, &mut |f, _, profile, path| ackclock_sim::endpoint::controller(f, profile, path));
        assert_eq!(checked.unwrap_err(), said);
    }
    let two = r#", "probes": {"rho_rb": {"every_ns": 1000000}, "user_sinr": {"every_ns": 2000000}}"#;
    let said = Sim::new(&Run::from_json(&document(&[STRONG], "", "reno", 3, two)).unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(said.path, "probes.user_sinr");
}
