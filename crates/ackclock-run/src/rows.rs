//! What is reported of datagrams, transfers and pages.

use ackclock_core::app::web::report::{Object, Page};
use ackclock_core::time::Time;
use serde::{Deserialize, Serialize};

/// A transfer: a bulk flow of given size, one of a group of transfers, or a request with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferRow {
    /// Number of its flow.
    pub flow: u32,
    /// Its number within the flow, from 0.
    pub index: u64,
    /// When the connection was opened or the request written, seconds.
    pub start_s: f64,
    /// When its last byte was delivered; none: not within the run.
    pub end_s: Option<f64>,
    /// Its payload; of a request that of the answer.
    pub bytes: u64,
    /// From start to end.
    pub fct_s: Option<f64>,
    /// This in units of what an idle path would need: a round trip, one more for the handshake, and the payload at the
    /// rate of the slowest link.
    pub slowdown: Option<f64>,
}

/// A web page, as the client at the end of a flow reports it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRow {
    /// Number of the flow.
    pub flow: u32,
    /// The page.
    #[serde(with = "crate::exchange::page")]
    pub page: Page,
}

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectRow {
    /// Number of the flow.
    pub flow: u32,
    /// The object.
    #[serde(with = "crate::exchange::object")]
    pub object: Object,
}

/// Datagrams of a flow over the measurement window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatagramRow {
    /// Packets sent that neither arrived nor were under way at the end of the run.
    pub lost: u64,
    /// Packets sent that were under way then, those excepted of which the link they wait for knows that it will lose them.
    pub in_flight: u64,
}

/// Transfers of a flow that began within the measurement window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransfersRow {
    /// How many began.
    pub begun: u64,
    /// How many of them were completed.
    pub completed: u64,
    /// Completion time of these: mean and nearest-rank percentiles 50, 95, 99.
    pub fct_s: Option<[f64; 4]>,
}

impl TransferRow {
    /// Of transfer `index` of flow number `flow`, from when to when it took, of `bytes`; an idle path would need `ideal` seconds.
    pub fn of((flow, index): (u32, u64), (start, end): (Time, Option<Time>), bytes: u64, ideal: f64) -> TransferRow {
        let fct_s = end.map(|end| end.since(start).as_secs_f64());
        TransferRow {
            flow,
            index,
            start_s: start.as_secs_f64(),
            end_s: end.map(Time::as_secs_f64),
            bytes,
            fct_s,
            slowdown: fct_s.filter(|_| ideal > 0.0).map(|t| t / ideal),
        }
    }
}

impl TransfersRow {
    /// What became of `transfers`, those of one flow, as far as they began at `from` or later.
    pub fn of(transfers: &[TransferRow], from: Time) -> TransfersRow {
        let from = from.as_secs_f64();
        let within = || transfers.iter().filter(|t| t.start_s >= from);
        let mut fct: Vec<f64> = within().filter_map(|t| t.fct_s).collect();
        fct.sort_by(f64::total_cmp);
        let rank = |p: f64| fct[((p * fct.len() as f64).ceil() as usize).clamp(1, fct.len()) - 1];
        let mean = || fct.iter().sum::<f64>() / fct.len() as f64;
        TransfersRow {
            begun: within().count() as u64,
            completed: fct.len() as u64,
            fct_s: (!fct.is_empty()).then(|| [mean(), rank(0.5), rank(0.95), rank(0.99)]),
        }
    }
}
