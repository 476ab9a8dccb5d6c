//! The tables of a finished run.

use crate::engine::Sim;
use crate::flow::Split;
use ackclock_core::histogram::Histogram;
use ackclock_core::tcp::endpoint::Failure;
use ackclock_core::time::Time;
use ackclock_run::cells;
use ackclock_run::others::Other;
use ackclock_run::output::delays;
pub use ackclock_run::output::{FlowRow, LinkRow, Measure, Output};
use ackclock_run::rows::{TransferRow, TransfersRow};
use ackclock_run::warnings::{Warning, warn_failed, warn_late};

impl Sim {
    /// The tables of the run, which must have ended.
    pub fn output(mut self) -> Output {
        if let Some(one_way) = &mut self.one_way {
            one_way.settle();
        }
        let mut transfers = Vec::new();
        let mut flows: Vec<FlowRow> = Vec::with_capacity(self.flows.len());
        let warnings = self.warnings();
        let packets = (0..self.flows.len()).map(|i| self.packets(i)).sum();
        let split = self.flows.iter().any(|f| f.split.is_some());
        for i in 0..self.flows.len() {
            let own = self.transfers(i);
            flows.push(self.flow_row(i, &own));
            transfers.extend(own);
            if !split {
                // Rows take the place of connections: of a crowd both together would be much.
                self.sides[2 * i..2 * i + 2].iter_mut().for_each(|side| side.endpoint = None);
            }
        }
        let links: Vec<LinkRow> = (0..self.links.len()).map(|i| self.link_row(i)).collect();
        let (mut cells, mut users) = (Vec::new(), Vec::new());
        let radio = self.others.iter().filter_map(Other::cell);
        for (cell, named) in radio.zip(&self.cells) {
            let (row, of_it) = cells::rows(cell, named);
            cells.push(row);
            users.extend(of_it);
        }
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
            let both = both.chain(self.relay_measures(flow as usize));
            all.extend(both.map(|(name, value)| Measure { flow, name: name.into(), value }));
        }
        all
    }

    /// Data packets that flow number `i` has sent since the start, over connections of its own.
    fn packets(&self, i: usize) -> u64 {
        match &self.flows[i].datagrams {
            Some(d) => d.total_packets,
            None => self.flows[i].totals(&self.sides).sender.sent_segments,
        }
    }

    /// Why a connection of flow number `i` failed, if one did, and how many did.
    pub(crate) fn failed(&self, i: usize) -> (Option<&'static str>, usize) {
        if let Some(Split::Whole(legs, ..)) = self.flows[i].split.as_deref() {
            let both = legs.map(|leg| self.failed(leg as usize));
            return (both[0].0.or(both[1].0), both[0].1 + both[1].1);
        }
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

    fn warnings(&self) -> Vec<Warning> {
        let mut all = self.warnings.clone();
        for (i, f) in self.flows.iter().enumerate().filter(|(i, _)| self.whole(*i) == *i) {
            let (failed, n) = self.failed(i);
            let id = f.id.as_str();
            if let Some(why) = failed {
                warn_failed(&mut all, (id, f.kind, f.many), (n, why));
            }
            let delivered = match &f.datagrams {
                Some(d) => d.received,
                None => self.totals(i).delivered - f.baseline().delivered,
            };
            if f.many && delivered == 0 && failed.is_none() {
                all.add("flows delivered no transfer within the measurement".into(), id, || {
                    format!("flow {id}: no transfer was delivered within the measurement")
                });
            } else if !f.many && !f.began {
                warn_late(&mut all, id);
            } else if !f.many && delivered == 0 {
                all.add("flows delivered nothing within the measurement".into(), id, || {
                    format!("flow {id} delivered nothing within the measurement")
                });
            }
        }
        all.into_list()
    }

    /// When the flow was over: everything that it will ever send is delivered.
    pub(crate) fn completed(&self, i: usize) -> Option<Time> {
        // A leg is over when its flow is.
        let flow = &self.flows[self.whole(i)];
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
        let (mut s, b) = (self.totals(i), f.baseline());
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
        let at_source = &self.flows[self.at_source(i)];
        let source = self.sides[2 * self.at_source(i)].endpoint.as_deref();
        let estimate = source.and_then(|e| e.tx.start_estimate());
        let open = at_source.open.iter().map(|c| self.conns[*c as usize].cwnd_area);
        let area = at_source.ended_area + open.sum::<u128>();
        let delay = f.datagrams.as_ref().map(|d| &d.delay).or(self.one_way.as_ref().map(|w| w.of(i)));
        FlowRow {
            id: f.id.clone(),
            leg: match f.split.as_deref() {
                Some(Split::Leg(whole, which, _)) => Some((*whole, *which as u8)),
                _ => None,
            },
            app: f.kind.into(),
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
            ecn_reductions: Some(s.sender.ecn_reductions - b.sender.ecn_reductions),
            path_rtt_s: f.path.rtt as f64 * 1e-9,
            mean_rtt_s: (samples > 0).then(|| (s.rtt.0 - b.rtt.0) as f64 / samples as f64 * 1e-9),
            min_rtt_s: extremes.map(|e| e.0 as f64 * 1e-9),
            max_rtt_s: extremes.map(|e| e.1 as f64 * 1e-9),
            mean_cwnd_bytes: if span > 0.0 { area as f64 * 1e-9 / span } else { 0.0 },
            acks: s.sender.acks - b.sender.acks,
            dup_acks: Some(s.sender.dup_acks - b.sender.dup_acks),
            start_estimate_bps: estimate.map(|e| e.rate_bps),
            start_ssthresh_bytes: estimate.map(|e| e.ssthresh),
            fct_s: completed.map(|t| t.since(f.start).as_secs_f64()),
            completed: completed.is_some(),
            failed: self.failed(i).0.map(Into::into),
            received_packets: delay.map(Histogram::count),
            delay_s: delay.and_then(delays),
            datagrams: f.datagrams.as_ref().map(|d| d.row()),
            transfers: f.in_transfers.then(|| TransfersRow::of(transfers, self.from)),
        }
    }

    fn link_row(&self, i: usize) -> LinkRow {
        let (id, rate) = &self.link_names[i];
        let varying = self.links[i].varying_capacity(self.from, self.end);
        LinkRow::of(id, *rate, varying, self.links[i].stats())
    }
}

pub(crate) fn failure_text(why: Failure) -> &'static str {
    match why {
        Failure::Connect => "no answer to the connection request",
        Failure::Timeout => "the same segment timed out too often",
        Failure::Reset => "reset by the peer",
    }
}
