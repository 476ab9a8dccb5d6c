//! The tables of a finished run.

use crate::cells::{self, CellRow, UserRow};
use crate::engine::Sim;
use crate::flow::Flow;
use crate::others::Other;
use crate::probe::Sample;
use crate::rows::{DatagramRow, ObjectRow, PageRow, TransferRow, TransfersRow};
use ackclock_core::histogram::Histogram;
use ackclock_core::path::REASONS;
use ackclock_core::tcp::endpoint::Failure;
use ackclock_core::time::Time;

/// One flow over the measurement window. Goodput is payload delivered in order at the receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Name.
    pub id: String,
    /// Application.
    pub app: &'static str,
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
    /// Reductions of the window for marks.
    pub ecn_reductions: u64,
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
    /// Packets of its low-latency queue; nothing where it has none.
    pub l_packets: Option<u64>,
    /// The waiting time of these.
    pub l_queue_delay_s: Option<[f64; 4]>,
}

/// Something that an application measured by itself, up to the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Number of its flow.
    pub flow: u32,
    /// What it is, with its unit.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

/// Everything a run yields.
#[derive(Clone, Debug)]
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
    pub series: Vec<Sample>,
    /// Events handled.
    pub events: u64,
    /// Data segments sent by all flows.
    pub packets: u64,
    /// What a reader of the results should know.
    pub warnings: Vec<String>,
}

impl Sim {
    /// The tables of the run, which must have ended.
    pub fn output(mut self) -> Output {
        if let Some(one_way) = &mut self.one_way {
            one_way.settle();
        }
        let mut transfers = Vec::new();
        let mut flows: Vec<FlowRow> = Vec::with_capacity(self.flows.len());
        for i in 0..self.flows.len() {
            let own = self.transfers(i);
            flows.push(self.flow_row(i, &own));
            transfers.extend(own);
        }
        let links: Vec<LinkRow> = (0..self.links.len()).map(|i| self.link_row(i)).collect();
        let (mut cells, mut users) = (Vec::new(), Vec::new());
        let radio = self.others.iter().filter_map(Other::cell);
        for (cell, named) in radio.zip(&self.cells) {
            let (row, of_it) = cells::rows(cell, named);
            cells.push(row);
            users.extend(of_it);
        }
        let packets = self.flows.iter().map(|f| self.packets(f)).sum();
        let warnings = self.warnings();
        let measures = self.measures();
        let (pages, objects) = self.pages();
        let series = std::mem::take(&mut self.probes.samples);
        let events = self.visits;
        Output { flows, links, transfers, pages, objects, cells, users, measures, series, events, packets, warnings }
    }

    /// What the applications at the ends of every flow measured.
    fn measures(&self) -> Vec<Measure> {
        let mut all = Vec::new();
        for (flow, f) in (0u32..).zip(&self.flows) {
            let both = f.apps.iter().flatten().flat_map(|app| app.measures(self.end));
            all.extend(both.map(|(name, value)| Measure { flow, name, value }));
        }
        all
    }

    /// Data packets that `flow` has sent since the start.
    fn packets(&self, flow: &Flow) -> u64 {
        match &flow.datagrams {
            Some(d) => d.total_packets,
            None => flow.totals(&self.sides).sender.sent_segments,
        }
    }

    /// Why a connection of flow number `i` failed, if one did, and how many did.
    pub(crate) fn failed(&self, i: usize) -> (Option<&'static str>, usize) {
        let flow = &self.flows[i];
        let mut found: Vec<(u64, &'static str, usize)> = flow.failed.into_iter().collect();
        for c in flow.open.iter().map(|c| *c as usize) {
            let failure = |side: usize| self.sides[2 * c + side].endpoint.as_ref().and_then(|e| e.failure());
            let aborted = self.talks[2 * c].aborted || self.talks[2 * c + 1].aborted;
            let why = failure(0).or(failure(1)).filter(|_| !aborted);
            found.extend(why.map(|why| (self.conns[c].number, failure_text(why), 1)));
        }
        (found.iter().min_by_key(|f| f.0).map(|f| f.1), found.iter().map(|f| f.2).sum())
    }

    fn warnings(&self) -> Vec<String> {
        let mut w = self.warnings.clone();
        for (i, f) in self.flows.iter().enumerate() {
            let (failed, n) = self.failed(i);
            if let Some(why) = failed {
                let what = if f.many { format!("{n} transfers of flow {}", f.id) } else { format!("flow {}", f.id) };
                w.push(format!("{what} failed: {why}"));
            }
            let delivered = match &f.datagrams {
                Some(d) => d.received,
                None => f.totals(&self.sides).delivered - f.baseline.delivered,
            };
            if f.many && delivered == 0 && failed.is_none() {
                w.push(format!("flow {}: no transfer was delivered within the measurement", f.id));
            } else if !f.many && !f.began {
                w.push(format!("flow {} starts after the end of the run", f.id));
            } else if !f.many && delivered == 0 {
                w.push(format!("flow {} delivered nothing within the measurement", f.id));
            }
        }
        w
    }

    /// When the flow was over: everything that it will ever send is delivered.
    pub(crate) fn completed(&self, i: usize) -> Option<Time> {
        let flow = &self.flows[i];
        if !flow.many {
            return flow.completed;
        }
        // Each transfer is complete by itself.
        let more = flow.apps[flow.opens].as_ref().is_some_and(|app| app.due().is_set());
        // In a pause the application does not know of what comes; the run does, up to its end.
        let paused = !flow.periods.active() && flow.periods.due() <= self.end;
        if more || paused || flow.transfers.iter().any(|t| t.end.is_none()) {
            return None;
        }
        flow.transfers.iter().filter_map(|t| t.end).max()
    }

    fn flow_row(&self, i: usize, transfers: &[TransferRow]) -> FlowRow {
        let f = &self.flows[i];
        let (mut s, b) = (f.totals(&self.sides), f.baseline);
        let completed = self.completed(i);
        let mut to = completed.map_or(self.end, |t| t.min(self.end));
        if let Some(d) = &f.datagrams {
            (s.delivered, s.marked_segments) = (d.received_bytes, d.marked);
            (s.sender.sent_bytes, s.sender.sent_segments) = (d.sent_bytes, d.sent);
            // What it sent may arrive long after it has stopped.
            to = f.periods.all().last().map_or(to, |p| p.1.max(d.last).min(to));
        }
        let from = f.start.max(self.from);
        let span = to.since(from).as_secs_f64();
        let bytes = s.delivered - b.delivered;
        let samples = s.rtt.1 - b.rtt.1;
        let extremes = (s.extremes.0 <= s.extremes.1).then_some(s.extremes);
        let source = self.sides[2 * i].endpoint.as_deref();
        let estimate = source.and_then(|e| e.tx.start_estimate());
        let open = f.open.iter().map(|c| self.conns[*c as usize].cwnd_area);
        let area = f.ended_area + open.sum::<u128>();
        let delay = f.datagrams.as_ref().map(|d| &d.delay).or(self.one_way.as_ref().map(|w| w.of(i)));
        FlowRow {
            id: f.id.clone(),
            app: f.kind,
            cc: f.cc.clone(),
            start_s: f.start.as_secs_f64(),
            end_s: completed.map(|t| t.as_secs_f64()),
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
            path_rtt_s: f.path.rtt as f64 * 1e-9,
            mean_rtt_s: (samples > 0).then(|| (s.rtt.0 - b.rtt.0) as f64 / samples as f64 * 1e-9),
            min_rtt_s: extremes.map(|e| e.0 as f64 * 1e-9),
            max_rtt_s: extremes.map(|e| e.1 as f64 * 1e-9),
            mean_cwnd_bytes: if span > 0.0 { area as f64 * 1e-9 / span } else { 0.0 },
            acks: s.sender.acks - b.sender.acks,
            dup_acks: s.sender.dup_acks - b.sender.dup_acks,
            start_estimate_bps: estimate.map(|e| e.rate_bps),
            start_ssthresh_bytes: estimate.map(|e| e.ssthresh),
            fct_s: completed.map(|t| t.since(f.start).as_secs_f64()),
            completed: completed.is_some(),
            failed: self.failed(i).0,
            received_packets: delay.map(Histogram::count),
            delay_s: delay.and_then(delays),
            datagrams: f.datagrams.as_ref().map(|d| d.row()),
            transfers: f.in_transfers.then(|| self.summary(transfers)),
        }
    }

    fn link_row(&self, i: usize) -> LinkRow {
        let s = self.links[i].stats();
        let (id, rate) = &self.link_names[i];
        let varying = self.links[i].varying_capacity(self.from, self.end);
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
            queue_delay_s: delays(&s.wait),
            l_packets: s.low.as_ref().map(|low| low.count()),
            l_queue_delay_s: s.low.as_deref().and_then(delays),
        }
    }
}

pub(crate) fn failure_text(why: Failure) -> &'static str {
    match why {
        Failure::Connect => "no answer to the connection request",
        Failure::Timeout => "the same segment timed out too often",
        Failure::Reset => "reset by the peer",
    }
}

/// Mean and nearest-rank percentiles 50, 95, 99 in seconds; none without values.
pub(crate) fn delays(of: &Histogram) -> Option<[f64; 4]> {
    let p = |q| of.percentile(q).unwrap_or(0.0) * 1e-9;
    of.mean().map(|m| [m * 1e-9, p(0.5), p(0.95), p(0.99)])
}
