//! What is reported of a cell and of its users.

use super::Named;
use crate::output::delays;
use ackclock_core::cell::stats::{BearerStats, DirectionStats, Signal, UserReport};
use ackclock_core::cell::{Cell, Place};
use ackclock_core::path::REASONS;
use serde::{Deserialize, Serialize};

/// A cell over the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRow {
    /// Name.
    pub id: String,
    /// How many users it has.
    pub users: u64,
    /// TTIs.
    pub ttis: u64,
    /// Downlink.
    pub down: DirectionRow,
    /// Uplink.
    pub up: DirectionRow,
}

/// A direction of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionRow {
    /// Share of the resource blocks in which data were sent, retransmissions included.
    pub rho_rb: f64,
    /// Share of the TTIs in which data were sent.
    pub rho_tti: f64,
    /// Counters.
    #[serde(with = "crate::exchange::direction")]
    pub counts: DirectionStats,
}

impl From<DirectionStats> for DirectionRow {
    fn from(counts: DirectionStats) -> DirectionRow {
        DirectionRow { rho_rb: counts.rho_rb(), rho_tti: counts.rho_tti(), counts }
    }
}

/// A user of a cell over the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserRow {
    /// Name of its cell.
    pub cell: String,
    /// Its number there.
    pub user: u64,
    /// Metres from the base station; none where its SNR was given.
    pub distance_m: Option<f64>,
    /// Where it was drawn, metres to the east and to the north.
    pub spot_m: Option<(f64, f64)>,
    /// Shadowing drawn for it, dB.
    pub shadowing_db: f64,
    /// Downlink.
    pub down: UserDirectionRow,
    /// Uplink.
    pub up: UserDirectionRow,
}

/// A user in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserDirectionRow {
    /// Its channel.
    #[serde(with = "crate::exchange::signal")]
    pub signal: Signal,
    /// Its share of the resource blocks of the window.
    pub rb_share: f64,
    /// Packets that arrived, came out, and bytes of these.
    pub packets: [u64; 3],
    /// Packets that its queue dropped, by reason.
    pub drops: [u64; REASONS],
    /// Packets that its queue marked.
    pub marks: u64,
    /// Packets lost with blocks that HARQ gave up.
    pub lost: u64,
    /// Transport blocks of new data; retransmissions by HARQ; blocks it gave up; blocks that RLC sent again.
    pub blocks: [u64; 4],
    /// From arrival to first transmission: mean and nearest-rank percentiles 50, 95, 99.
    pub wait_s: Option<[f64; 4]>,
    /// Longest time from arrival to coming out.
    pub max_age_s: f64,
}

fn direction(signal: Signal, s: &BearerStats, of: &DirectionStats) -> UserDirectionRow {
    let whole = (of.ttis * u64::from(of.rbs)).max(1);
    UserDirectionRow {
        signal,
        rb_share: s.used_rbs as f64 / whole as f64,
        packets: [s.arrived, s.delivered, s.delivered_bytes],
        drops: s.drops,
        marks: s.marks.iter().sum(),
        lost: s.lost,
        blocks: [s.blocks, s.retransmissions, s.given_up, s.resent],
        wait_s: delays(&s.wait),
        max_age_s: s.longest.as_secs_f64(),
    }
}

/// The row of a cell whose run is over, and those of its users.
pub fn rows(cell: &Cell, named: &Named) -> (CellRow, Vec<UserRow>) {
    let stats = cell.stats();
    let user = |(i, u): (usize, UserReport<'_>)| UserRow {
        cell: named.id.clone(),
        user: i as u64,
        distance_m: match u.place {
            Place::Distance(metres) => Some(metres),
            Place::Snr { .. } => None,
        },
        spot_m: named.spots.get(i).copied().flatten(),
        shadowing_db: u.shadowing_db,
        down: direction(u.down, u.down_stats, &stats.down),
        up: direction(u.up, u.up_stats, &stats.up),
    };
    let row = CellRow {
        id: named.id.clone(),
        users: cell.len() as u64,
        ttis: stats.down.ttis,
        down: stats.down.into(),
        up: stats.up.into(),
    };
    (row, cell.users().enumerate().map(user).collect())
}
