//! The tables of cells and of their users. What belongs to the uplink has `up_` in its name.

use crate::tables::{BY_REASON, Table, floats, ints, some_floats, table, text};
use ackclock_sim::Output;
use ackclock_sim::cells::{CellRow, DirectionRow, UserDirectionRow, UserRow};
use arrow_array::{ArrayRef, UInt64Array};
use pyo3::prelude::*;
use std::sync::Arc;

/// The cells of runs, one run after the other.
pub fn cells(outs: &[Output]) -> PyResult<Table> {
    let r = || outs.iter().flat_map(|out| &out.cells);
    let share = |of: fn(&CellRow) -> f64| floats(r().map(of));
    let count = |of: fn(&CellRow) -> u64| ints(r().map(of));
    let mut columns = vec![
        ("id", text(r().map(|c| c.id.as_str())), false),
        ("users", count(|c| c.users), false),
        ("ttis", count(|c| c.ttis), false),
        ("rho_rb", share(|c| c.down.rho_rb), false),
        ("rho_tti", share(|c| c.down.rho_tti), false),
        ("up_rho_rb", share(|c| c.up.rho_rb), false),
        ("up_rho_tti", share(|c| c.up.rho_tti), false),
    ];
    let names = [
        ["rbs", "used_rbs", "retransmitted_rbs", "busy_ttis", "blocked_ttis", "blocks"],
        ["up_rbs", "up_used_rbs", "up_retransmitted_rbs", "up_busy_ttis", "up_blocked_ttis", "up_blocks"],
    ];
    let counts = |d: &DirectionRow| {
        let c = d.counts;
        [u64::from(c.rbs), c.used_rbs, c.retransmitted_rbs, c.busy_ttis, c.blocked_ttis, c.blocks]
    };
    for (up, names) in names.into_iter().enumerate() {
        for (i, name) in names.into_iter().enumerate() {
            let of = |c: &CellRow| counts(if up == 1 { &c.up } else { &c.down })[i];
            columns.push((name, ints(r().map(of)), false));
        }
    }
    table(columns)
}

/// Names of the columns of a direction, those of drops by reason come after.
const NAMES: [[&str; 20]; 2] = [
    [
        "sinr_db",
        "cqi",
        "mcs",
        "rate_bps",
        "rb_share",
        "arrived_packets",
        "delivered_packets",
        "delivered_bytes",
        "drops",
        "marks",
        "lost",
        "blocks",
        "retransmissions",
        "given_up",
        "resent",
        "mean_wait_s",
        "p50_wait_s",
        "p95_wait_s",
        "p99_wait_s",
        "max_age_s",
    ],
    [
        "up_sinr_db",
        "up_cqi",
        "up_mcs",
        "up_rate_bps",
        "up_rb_share",
        "up_arrived_packets",
        "up_delivered_packets",
        "up_delivered_bytes",
        "up_drops",
        "up_marks",
        "up_lost",
        "up_blocks",
        "up_retransmissions",
        "up_given_up",
        "up_resent",
        "mean_up_wait_s",
        "p50_up_wait_s",
        "p95_up_wait_s",
        "p99_up_wait_s",
        "up_max_age_s",
    ],
];

/// Names of the columns of drops by reason in the uplink.
const UP_DROPS: [&str; BY_REASON.len()] =
    ["up_drops_full", "up_drops_threshold", "up_drops_early", "up_drops_delay", "up_drops_age", "up_drops_policed"];

/// The users of the cells of runs, one run after the other.
pub fn users(outs: &[Output]) -> PyResult<Table> {
    let r = || outs.iter().flat_map(|out| &out.users);
    let mut columns = vec![
        ("cell", text(r().map(|u| u.cell.as_str())), false),
        ("user", ints(r().map(|u| u.user)), false),
        ("distance_m", some_floats(r().map(|u| u.distance_m)), true),
        ("x_m", some_floats(r().map(|u| u.spot_m.map(|s| s.0))), true),
        ("y_m", some_floats(r().map(|u| u.spot_m.map(|s| s.1))), true),
        ("shadowing_db", floats(r().map(|u| u.shadowing_db)), false),
    ];
    for up in [false, true] {
        let d = move |u: &'_ UserRow| -> UserDirectionRow { if up { u.up.clone() } else { u.down.clone() } };
        let rows: Vec<UserDirectionRow> = r().map(d).collect();
        let wait = |i: usize| some_floats(rows.iter().map(move |d| d.wait_s.map(|w| w[i])));
        let count = |of: &dyn Fn(&UserDirectionRow) -> u64| ints(rows.iter().map(of));
        let mcs: ArrayRef = Arc::new(rows.iter().map(|d| d.signal.mcs.map(u64::from)).collect::<UInt64Array>());
        let made = [
            (floats(rows.iter().map(|d| d.signal.sinr_db)), false),
            (count(&|d| u64::from(d.signal.cqi)), false),
            (mcs, true),
            (floats(rows.iter().map(|d| d.signal.rate_bps)), false),
            (floats(rows.iter().map(|d| d.rb_share)), false),
            (count(&|d| d.packets[0]), false),
            (count(&|d| d.packets[1]), false),
            (count(&|d| d.packets[2]), false),
            (count(&|d| d.drops.iter().sum()), false),
            (count(&|d| d.marks), false),
            (count(&|d| d.lost), false),
            (count(&|d| d.blocks[0]), false),
            (count(&|d| d.blocks[1]), false),
            (count(&|d| d.blocks[2]), false),
            (count(&|d| d.blocks[3]), false),
            (wait(0), true),
            (wait(1), true),
            (wait(2), true),
            (wait(3), true),
            (floats(rows.iter().map(|d| d.max_age_s)), false),
        ];
        let names = NAMES[usize::from(up)];
        columns.extend(names.into_iter().zip(made).map(|(name, (array, nullable))| (name, array, nullable)));
        for ((down_name, _, reason), up_name) in BY_REASON.into_iter().zip(UP_DROPS) {
            let name = if up { up_name } else { down_name };
            columns.push((name, count(&|d| d.drops[reason as usize]), false));
        }
    }
    table(columns)
}
