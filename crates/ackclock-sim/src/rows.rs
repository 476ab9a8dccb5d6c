//! What is reported of datagrams, transfers and pages.

use crate::engine::Sim;
use crate::flow::{snapshot, Flow, Side, Snapshot, Transfer};
use crate::host::Datagrams;
use ackclock_core::app::web::report::{Object, Page};
use ackclock_core::time::Time;

/// A transfer: a bulk flow of given size, one of a group of transfers, or a request with its answer.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRow {
    /// Number of the flow.
    pub flow: u32,
    /// The page.
    pub page: Page,
}

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectRow {
    /// Number of the flow.
    pub flow: u32,
    /// The object.
    pub object: Object,
}

/// Datagrams of a flow over the measurement window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DatagramRow {
    /// Packets sent that neither arrived nor were under way at the end of the run.
    pub lost: u64,
    /// Packets sent that were under way then, those excepted of which the link they wait for knows that it will lose them.
    pub in_flight: u64,
}

/// Transfers of a flow that began within the measurement window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransfersRow {
    /// How many began.
    pub begun: u64,
    /// How many of them were completed.
    pub completed: u64,
    /// Completion time of these: mean and nearest-rank percentiles 50, 95, 99.
    pub fct_s: Option<[f64; 4]>,
}

impl Datagrams {
    pub(crate) fn row(&self) -> DatagramRow {
        DatagramRow { lost: self.sent.saturating_sub(self.of_sent + self.in_flight), in_flight: self.in_flight }
    }
}

impl Flow {
    /// The counters of the flow so far, of all its connections.
    pub(crate) fn totals(&self, sides: &[Side]) -> Snapshot {
        let mut sum = self.ended;
        for c in &self.open {
            let pair = &sides[2 * *c as usize..];
            if let (Some(source), Some(sink)) = (&pair[0].endpoint, &pair[1].endpoint) {
                sum.add(&snapshot(source, sink));
            }
        }
        sum
    }

    /// Seconds that a transfer of `bytes` takes at best.
    fn ideal(&self, bytes: u64, handshake: bool) -> f64 {
        let trips = 1.0 + f64::from(u8::from(handshake));
        self.path.rtt as f64 * 1e-9 * trips + self.path.rate.map_or(0.0, |rate| bytes as f64 * 8.0 / rate as f64)
    }
}

impl Sim {
    /// The transfers of flow number `i`, in the order in which they began.
    pub(crate) fn transfers(&self, i: usize) -> Vec<TransferRow> {
        let flow = &self.flows[i];
        let row = |(index, t): (usize, &Transfer)| {
            let fct = t.end.map(|end| end.since(t.start).as_secs_f64());
            // Over one connection the first alone waits for a handshake.
            let ideal = flow.ideal(t.bytes, flow.handshake && (flow.many || index == 0));
            TransferRow {
                flow: i as u32,
                index: index as u64,
                start_s: t.start.as_secs_f64(),
                end_s: t.end.map(Time::as_secs_f64),
                bytes: t.bytes,
                fct_s: fct,
                slowdown: fct.filter(|_| ideal > 0.0).map(|t| t / ideal),
            }
        };
        flow.transfers.iter().enumerate().map(row).collect()
    }

    /// The pages of all flows, and their objects.
    pub(crate) fn pages(&self) -> (Vec<PageRow>, Vec<ObjectRow>) {
        let (mut pages, mut objects) = (Vec::new(), Vec::new());
        for (flow, f) in (0u32..).zip(&self.flows) {
            for app in f.apps.iter().flatten() {
                pages.extend(app.pages().into_iter().map(|page| PageRow { flow, page }));
                objects.extend(app.objects().into_iter().map(|object| ObjectRow { flow, object }));
            }
        }
        (pages, objects)
    }

    /// What became of `transfers`, those of one flow.
    pub(crate) fn summary(&self, transfers: &[TransferRow]) -> TransfersRow {
        let from = self.from.as_secs_f64();
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
