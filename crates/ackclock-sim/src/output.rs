//! The tables of a finished run.

use crate::engine::Sim;
use crate::flow::snapshot;
use crate::probe::{Sample, FLOW_METRICS, LINK_METRICS};
use crate::wire::stats::REASONS;
use ackclock_core::tcp::endpoint::Failure;

/// One flow over the measurement window. Goodput is payload delivered in order at the receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Name.
    pub id: String,
    /// Controller.
    pub cc: String,
    /// When it started, seconds.
    pub start_s: f64,
    /// When its last byte was delivered, seconds.
    pub end_s: Option<f64>,
    /// Payload per second from the later of start and warm-up to the earlier of completion and end of the run.
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
    /// Reductions of the window for marks.
    pub ecn_reductions: u64,
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
    /// Duplicate acknowledgments.
    pub dup_acks: u64,
    /// What a slow start by bandwidth estimation measured; none: it did not, or does not.
    pub start_estimate_bps: Option<f64>,
    /// The slow start threshold that it set by this.
    pub start_ssthresh_bytes: Option<u64>,
    /// From the start to the delivery of the last byte.
    pub fct_s: Option<f64>,
    /// Everything was delivered and the stream closed.
    pub completed: bool,
    /// Why the connection failed.
    pub failed: Option<&'static str>,
}

/// One link over the measurement window.
#[derive(Clone, Debug, PartialEq)]
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
}

/// Everything a run yields.
#[derive(Clone, Debug)]
pub struct Output {
    /// Flows, in the order of the document.
    pub flows: Vec<FlowRow>,
    /// Links, in the order of the document.
    pub links: Vec<LinkRow>,
    /// Series, in the order of time.
    pub series: Vec<Sample>,
    /// Events handled.
    pub events: u64,
    /// Data segments sent by all flows.
    pub packets: u64,
    /// What a reader of the results should know.
    pub warnings: Vec<String>,
}

/// Name of a series and whether it belongs to a flow.
pub fn metric_name(metric: u8) -> (&'static str, bool) {
    let m = metric as usize;
    if m < FLOW_METRICS.len() {
        (FLOW_METRICS[m], true)
    } else {
        (LINK_METRICS[m - FLOW_METRICS.len()], false)
    }
}

impl Sim {
    /// The tables of the run, which must have ended.
    pub fn output(mut self) -> Output {
        let flows: Vec<FlowRow> = (0..self.flows.len()).map(|i| self.flow_row(i)).collect();
        let links: Vec<LinkRow> = (0..self.links.len()).map(|i| self.link_row(i)).collect();
        let packets = self.sides.iter().step_by(2).map(|s| s.endpoint.tx.stats.sent_segments).sum();
        let warnings = self.warnings();
        let series = std::mem::take(&mut self.probes.samples);
        Output { flows, links, series, events: self.visits, packets, warnings }
    }

    fn warnings(&self) -> Vec<String> {
        let mut w = self.warnings.clone();
        for (f, pair) in self.flows.iter().zip(self.sides.chunks_exact(2)) {
            if let Some(why) = pair[0].endpoint.failure().or(pair[1].endpoint.failure()) {
                w.push(format!("flow {} failed: {}", f.id, failure_text(why)));
            }
            if !f.opened {
                w.push(format!("flow {} starts after the end of the run", f.id));
            } else if pair[1].endpoint.rx.stats.delivered == f.baseline.delivered {
                w.push(format!("flow {} delivered nothing within the measurement", f.id));
            }
        }
        w
    }

    fn flow_row(&self, i: usize) -> FlowRow {
        let (f, client, server) = (&self.flows[i], &self.sides[2 * i].endpoint, &self.sides[2 * i + 1].endpoint);
        let (s, b) = (snapshot(client, server), &f.baseline);
        let from = f.start.max(self.from);
        let to = f.completed.map_or(self.end, |t| t.min(self.end));
        let span = to.since(from).as_secs_f64();
        let bytes = s.delivered - b.delivered;
        let rtt = client.tx.rtt();
        let samples = s.rtt.1 - b.rtt.1;
        let secs = |x: ackclock_core::time::Span| (x.0 > 0).then(|| x.as_secs_f64());
        FlowRow {
            id: f.id.clone(),
            cc: f.cc.clone(),
            start_s: f.start.as_secs_f64(),
            end_s: f.completed.map(|t| t.as_secs_f64()),
            goodput_bps: if span > 0.0 { bytes as f64 * 8.0 / span } else { 0.0 },
            goodput_bytes: bytes,
            sent_bytes: s.sender.sent_bytes - b.sender.sent_bytes,
            retransmitted_bytes: s.sender.retransmitted_bytes - b.sender.retransmitted_bytes,
            sent_segments: s.sender.sent_segments - b.sender.sent_segments,
            retransmitted_segments: s.sender.retransmitted_segments - b.sender.retransmitted_segments,
            timeouts: s.sender.timeouts - b.sender.timeouts,
            recoveries: s.sender.recoveries - b.sender.recoveries,
            spurious_timeouts: s.sender.spurious_timeouts - b.sender.spurious_timeouts,
            undos: s.sender.undos - b.sender.undos,
            tlp_probes: s.sender.tlp_probes - b.sender.tlp_probes,
            dsacks: s.sender.dsacks - b.sender.dsacks,
            marked_segments: s.marked_segments - b.marked_segments,
            ecn_reductions: s.sender.ecn_reductions - b.sender.ecn_reductions,
            mean_rtt_s: (samples > 0).then(|| (s.rtt.0 - b.rtt.0) as f64 / samples as f64 * 1e-9),
            min_rtt_s: secs(rtt.min()),
            max_rtt_s: secs(rtt.max()),
            mean_cwnd_bytes: if span > 0.0 { f.cwnd_area as f64 * 1e-9 / span } else { 0.0 },
            acks: s.sender.acks - b.sender.acks,
            dup_acks: s.sender.dup_acks - b.sender.dup_acks,
            start_estimate_bps: client.tx.start_estimate().map(|e| e.rate_bps),
            start_ssthresh_bytes: client.tx.start_estimate().map(|e| e.ssthresh),
            fct_s: f.completed.map(|t| t.since(f.start).as_secs_f64()),
            completed: f.completed.is_some(),
            failed: client.failure().or(server.failure()).map(failure_text),
        }
    }

    fn link_row(&self, i: usize) -> LinkRow {
        let s = self.links[i].stats();
        let (id, rate) = &self.link_names[i];
        let varying = self.links[i].varying_capacity(self.from, self.end);
        let p = |q| s.wait.percentile(q).unwrap_or(0.0) * 1e-9;
        LinkRow {
            id: id.clone(),
            rate_bps: varying.map(|(_, mean)| mean.round() as u64).or(*rate),
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
            queue_delay_s: s.wait.mean().map(|m| [m * 1e-9, p(0.5), p(0.95), p(0.99)]),
        }
    }
}

fn failure_text(why: Failure) -> &'static str {
    match why {
        Failure::Connect => "no answer to the connection request",
        Failure::Timeout => "the same segment timed out too often",
        Failure::Reset => "reset by the peer",
    }
}
