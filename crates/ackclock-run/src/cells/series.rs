//! Series of cells and of their users.

use crate::series::{CELL_METRICS, FIRST_OF_CELLS, Sample, USER_METRICS};
use ackclock_core::cell::Cell;
use ackclock_core::cell::series::{Row, UserRow};
use ackclock_core::time::Span;

const TTI: f64 = ackclock_core::cell::TTI as f64;

/// Samples of the `metrics` that are wanted, of the intervals of `cell`, the cell number `number`, whose users are numbered from
/// `first` on.
pub fn samples(cell: &Cell, (number, first): (u32, u32), metrics: &[u8], every: Span, into: &mut Vec<Sample>) {
    let Some(series) = cell.series() else { return };
    let ttis = every.0 as f64 / TTI;
    let (down, up) = (cell.direction(false).rbs, cell.direction(true).rbs);
    let of_cell = |row: &Row, m: usize| match m {
        0 => row.down_rbs as f64 / (ttis * f64::from(down)),
        1 => row.down_ttis as f64 / ttis,
        _ => row.up_rbs as f64 / (ttis * f64::from(up)),
    };
    let of_user = |row: &UserRow, m: usize| match m {
        0 => row.down_bytes as f64 * 8e9 / every.0 as f64,
        1 => row.up_bytes as f64 * 8e9 / every.0 as f64,
        2 => row.down_rbs as f64 / (ttis * f64::from(down)),
        3 => row.down_wait.as_secs_f64(),
        4 => row.down_backlog as f64,
        _ => row.sinr_db,
    };
    for &metric in metrics {
        let m = usize::from(metric - FIRST_OF_CELLS);
        if m < CELL_METRICS.len() {
            into.extend(series.cell.iter().map(|r| Sample { at: r.at, metric, of: number, value: of_cell(r, m) }));
        } else {
            let m = m - CELL_METRICS.len();
            debug_assert!(m < USER_METRICS.len());
            let of = |r: &UserRow| first + u32::from(r.user);
            into.extend(series.users.iter().map(|r| Sample { at: r.at, metric, of: of(r), value: of_user(r, m) }));
        }
    }
}
