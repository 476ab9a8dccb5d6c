//! Radio cells of the resolved run.

use super::Queue;
use serde::{Deserialize, Serialize};

/// A cell; its ports are the downlinks of its users, then their uplinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// What differs from the defaults of `ackclock_core::cell::CellParams`.
    #[serde(default)]
    pub params: Params,
    /// Who is in it.
    pub users: Vec<User>,
}

/// Kinds of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Of LTE.
    Lte,
}

/// A user: where it is, by its distance, by a circle that it is somewhere in, or by its SNR.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct User {
    /// Metres from the base station.
    pub distance_m: Option<f64>,
    /// It is drawn, uniformly over the area of a circle with this radius.
    pub disc_m: Option<f64>,
    /// SNR of the downlink over the whole band.
    pub down_db: Option<f64>,
    /// SNR of the uplink if all power went into one resource block; none: that of the downlink.
    pub up_db: Option<f64>,
    /// Its speed, for fading; none: that of the cell.
    pub speed_kmh: Option<f64>,
    /// Its queue at the base station; none: that of the cell.
    pub down_queue: Option<Queue>,
}

/// Parameters of a cell, by the names of the fields of `CellParams`; times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)] // they are described there
pub struct Params {
    pub bandwidth_mhz: Option<f64>,
    pub down_mhz: Option<f64>,
    pub up_mhz: Option<f64>,
    pub path_loss: Option<String>,
    pub area: Option<String>,
    pub base_m: Option<f64>,
    pub user_m: Option<f64>,
    pub min_distance_m: Option<f64>,
    pub base_power_dbm: Option<f64>,
    pub user_power_dbm: Option<f64>,
    pub gain_db: Option<f64>,
    pub user_noise_db: Option<f64>,
    pub base_noise_db: Option<f64>,
    pub power_control: Option<PowerControl>,
    pub shadowing_db: Option<f64>,
    pub fading: Option<Fading>,
    pub thresholds: Option<String>,
    pub cqi_quantised: Option<bool>,
    pub cqi_period_ns: Option<u64>,
    pub cqi_delay_ns: Option<u64>,
    pub cqi_subband: Option<bool>,
    pub effective_penalty_db: Option<f64>,
    pub min_mcs0: Option<bool>,
    pub uplink_64qam: Option<bool>,
    pub errors: Option<Errors>,
    pub bler_slope_db: Option<f64>,
    pub max_retransmissions: Option<u8>,
    pub rlc: Option<Rlc>,
    pub scheduler: Option<String>,
    pub fair_ttis: Option<f64>,
    pub fit: Option<bool>,
    pub down_queue: Option<Queue>,
    pub up_queue: Option<Queue>,
    pub down_delay_ns: Option<u64>,
    pub up_delay_ns: Option<u64>,
    pub sr_period_ns: Option<u64>,
    pub grant_delay_ns: Option<u64>,
    pub min_grant_rbs: Option<u16>,
    pub promotion: Option<Promotion>,
    pub down_background: Option<f64>,
    pub up_background: Option<f64>,
}

/// Open-loop power control of the uplink.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerControl {
    /// Share of the path loss that is made up for.
    pub alpha: f64,
    /// Wanted power per resource block.
    pub p0_dbm: f64,
}

/// What idle users wait for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// After so long without a packet a user is idle.
    pub after_ns: u64,
    /// So much later it is served again.
    pub delay_ns: u64,
}

/// Fast fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fading {
    /// `epa`, `eva` or `etu`.
    pub profile: String,
    /// Speed of the users.
    pub speed_kmh: f64,
}

/// How block errors come about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Errors {
    /// There are none.
    None,
    /// From SINR and scheme.
    Bler,
    /// With fixed probabilities: of the first transmission and of every further one.
    Geometric([f64; 2]),
}

/// What RLC does. Left out: the usual value of the mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rlc {
    /// `um` (unacknowledged) or `am` (acknowledged).
    pub mode: String,
    /// t-Reordering.
    #[serde(default)]
    pub reordering_ns: Option<u64>,
    /// t-StatusProhibit.
    #[serde(default)]
    pub status_prohibit_ns: Option<u64>,
    /// t-PollRetransmit.
    #[serde(default)]
    pub poll_retransmit_ns: Option<u64>,
    /// Bytes of headers per transport block.
    #[serde(default)]
    pub block_overhead: Option<u32>,
    /// Bytes of headers per packet.
    #[serde(default)]
    pub packet_overhead: Option<u32>,
}
