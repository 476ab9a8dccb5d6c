//! The tables of a finished run, whatever engine has played it.

use crate::cells::{CellRow, UserRow};
use crate::rows::{DatagramRow, ObjectRow, PageRow, TransferRow, TransfersRow};
use crate::series::Sample;
use crate::warnings::Warning;
use ackclock_core::histogram::Histogram;
use ackclock_core::path::{LinkStats, REASONS};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One flow over the measurement window. Goodput is payload delivered in order at the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Name.
    pub id: String,
    /// Of a leg of a flow that is split: the number of the flow and which leg, 0 at its source.
    #[serde(default)]
    pub leg: Option<(u32, u8)>,
    /// Application.
    pub app: Cow<'static, str>,
    /// Controller.
    pub cc: String,
    /// When it started, seconds.
    pub start_s: f64,
    /// When its last byte was delivered, seconds.
    pub end_s: Option<f64>,
    /// Payload per second from the later of start and warm-up to the earlier of completion and end of the run. Datagrams
    /// are complete when their source has stopped and the last one has arrived.
    pub goodput_bps: f64,
    /// Payload delivered in order.
    pub goodput_bytes: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Segments with payload sent.
    pub sent_segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Timeouts taken back.
    pub spurious_timeouts: u64,
    /// Reductions of the window taken back, those of timeouts included.
    pub undos: u64,
    /// Tail loss probes sent.
    pub tlp_probes: u64,
    /// Reports of duplicate deliveries received.
    pub dsacks: u64,
    /// Segments with payload that arrived marked (CE).
    pub marked_segments: u64,
    /// Reductions of the window for marks; none where the kernel does not count them.
    pub ecn_reductions: Option<u64>,
    /// Propagation there and back, as drawn for this replication, when the run begins.
    pub path_rtt_s: f64,
    /// Mean of the RTT samples; none without samples.
    pub mean_rtt_s: Option<f64>,
    /// Smallest sample of the connection.
    pub min_rtt_s: Option<f64>,
    /// Largest sample of the connection.
    pub max_rtt_s: Option<f64>,
    /// Congestion window, mean over the time that goodput is taken over.
    pub mean_cwnd_bytes: f64,
    /// Acknowledgments received.
    pub acks: u64,
    /// Duplicate acknowledgments; none where the kernel does not count them.
    pub dup_acks: Option<u64>,
    /// What a slow start by bandwidth estimation measured; none: it did not, or does not.
    pub start_estimate_bps: Option<f64>,
    /// The slow start threshold that it set by this.
    pub start_ssthresh_bytes: Option<u64>,
    /// From the start to the delivery of the last byte.
    pub fct_s: Option<f64>,
    /// Everything was delivered and the stream closed.
    pub completed: bool,
    /// Why the connection failed.
    pub failed: Option<Cow<'static, str>>,
    /// Its packets with payload that arrived, without the copies that a medium made; none where delays were not asked for.
    pub received_packets: Option<u64>,
    /// One-way delay of these: mean and nearest-rank percentiles 50, 95, 99.
    pub delay_s: Option<[f64; 4]>,
    /// What became of its datagrams, if it sends such.
    pub datagrams: Option<DatagramRow>,
    /// What became of its transfers, of an application that consists of such.
    pub transfers: Option<TransfersRow>,
}

/// One link over the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// Name.
    pub id: String,
    /// Bits per second, the mean where it varies; none: unlimited.
    pub rate_bps: Option<u64>,
    /// Share of time it transmitted, or of what it could carry where its rate varies; none for an unlimited link.
    pub utilisation: Option<f64>,
    /// Packets that arrived at its queue.
    pub arrived_packets: u64,
    /// Packets transmitted.
    pub sent_packets: u64,
    /// Bytes transmitted, framing included.
    pub sent_bytes: u64,
    /// Packets its queue dropped.
    pub drops: u64,
    /// Packets its queue marked (CE).
    pub marks: u64,
    /// The drops, in the order of [`Reason::ALL`](ackclock_core::queue::Reason::ALL).
    pub drops_by_reason: [u64; REASONS],
    /// The marks, in the same order.
    pub marks_by_reason: [u64; REASONS],
    /// Packets its medium lost.
    pub lost: u64,
    /// Packets its medium delivered twice.
    pub duplicated: u64,
    /// Queue length, mean over time, as the limit counts it.
    pub mean_queue_packets: f64,
    /// In bytes.
    pub mean_queue_bytes: f64,
    /// Largest queue length.
    pub max_queue_packets: u64,
    /// In bytes.
    pub max_queue_bytes: u64,
    /// Waiting time before transmission: mean and nearest-rank percentiles 50, 95, 99.
    pub queue_delay_s: Option<[f64; 4]>,
    /// Packets of its low-latency queue; nothing where it has none.
    pub l_packets: Option<u64>,
    /// The waiting time of these.
    pub l_queue_delay_s: Option<[f64; 4]>,
}

impl LinkRow {
    /// Of the link `id`, of rate `rate` or of one that varies: what it could have carried, bits, and the mean.
    pub fn of(id: &str, rate: Option<u64>, varying: Option<(f64, f64)>, s: &LinkStats) -> LinkRow {
        LinkRow {
            id: id.to_owned(),
            rate_bps: varying.map(|(_, mean)| mean.round() as u64).or(rate),
            utilisation: match varying {
                Some((bits, _)) => (bits > 0.0).then(|| s.sent_bytes as f64 * 8.0 / bits),
                None => rate.map(|_| s.utilisation()),
            },
            arrived_packets: s.arrived,
            sent_packets: s.sent,
            sent_bytes: s.sent_bytes,
            drops: s.drops.iter().sum(),
            marks: s.marks.iter().sum(),
            drops_by_reason: s.drops,
            marks_by_reason: s.marks,
            lost: s.lost,
            duplicated: s.duplicated,
            mean_queue_packets: s.mean_packets(),
            mean_queue_bytes: s.mean_bytes(),
            max_queue_packets: s.max_packets,
            max_queue_bytes: s.max_bytes,
            queue_delay_s: delays(&s.wait),
            l_packets: s.low.as_ref().map(|low| low.count()),
            l_queue_delay_s: s.low.as_deref().and_then(delays),
        }
    }
}

/// Something that an application measured by itself, up to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Number of its flow.
    pub flow: u32,
    /// What it is, with its unit.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: f64,
}

/// Everything a run yields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    /// Flows, in the order of the document.
    pub flows: Vec<FlowRow>,
    /// Links, in the order of the document.
    pub links: Vec<LinkRow>,
    /// Cells, in the order of the document.
    pub cells: Vec<CellRow>,
    /// Their users, cell by cell.
    pub users: Vec<UserRow>,
    /// Transfers, flow by flow, in the order in which they began.
    pub transfers: Vec<TransferRow>,
    /// Web pages, flow by flow.
    pub pages: Vec<PageRow>,
    /// Their objects, where they are kept.
    pub objects: Vec<ObjectRow>,
    /// What applications measured by themselves, flow by flow.
    pub measures: Vec<Measure>,
    /// Series, in the order of time.
    #[serde(with = "crate::exchange::sample")]
    pub series: Vec<Sample>,
    /// Events handled.
    pub events: u64,
    /// Data segments sent by all flows.
    pub packets: u64,
    /// What a reader of the results should know.
    pub warnings: Vec<Warning>,
}

/// Mean and nearest-rank percentiles 50, 95, 99 in seconds; none without values.
pub fn delays(of: &Histogram) -> Option<[f64; 4]> {
    let p = |q| of.percentile(q).unwrap_or(0.0) * 1e-9;
    of.mean().map(|m| [m * 1e-9, p(0.5), p(0.95), p(0.99)])
}
