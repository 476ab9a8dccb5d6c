//! The results of flows.

use super::{Agent, Report};
use crate::path::Tally;
use crate::relay::told::Told;
use ackclock_core::time::Time;
use ackclock_run::output::{FlowRow, delays};
use ackclock_run::rows::{ObjectRow, PageRow, TransferRow, TransfersRow};
use ackclock_run::warnings::{Warnings, warn_failed, warn_late};

impl Agent<'_> {
    /// What there is to report, the run being over.
    pub fn report(mut self, tallies: &[Tally], told: &[Told]) -> Report {
        let (mut flows, mut transfers) = (Vec::new(), Vec::new());
        let (mut pages, mut objects, mut measures) = (Vec::new(), Vec::new(), Vec::new());
        let mut packets = 0;
        for (i, tally) in tallies.iter().enumerate() {
            let own = self.transfers(i);
            let totals = self.totals(i);
            packets += if self.flows[i].datagrams.is_some() { tally.sent } else { totals.sent };
            let mut row = self.row(i, &own, tally);
            if let Some((split, told)) = self.splits.iter().zip(told).find(|(s, _)| s.whole == i || s.legs.contains(&i))
            {
                self.of_split(i, split, told, (&mut row, &mut packets), tallies[split.legs[1]].marked);
            }
            flows.push(row);
            transfers.extend(own);
            let flow = i as u32;
            for app in self.flows[i].applications.iter().flatten() {
                pages.extend(app.pages().into_iter().map(|page| PageRow { flow, page }));
                objects.extend(app.objects().into_iter().map(|object| ObjectRow { flow, object }));
                measures.extend(app.measures(self.end).into_iter().map(|(name, value)| (flow, name, value)));
            }
        }
        for (split, told) in self.splits.iter().zip(told) {
            measures.push((split.whole as u32, "acked_undelivered_bytes", told.undelivered as f64));
        }
        let samples = std::mem::take(&mut self.sampler.samples);
        Report { flows, transfers, pages, objects, measures, samples, packets }
    }

    fn transfers(&self, i: usize) -> Vec<TransferRow> {
        let flow = &self.flows[i];
        let row = |(index, (start, end, bytes)): (usize, &(Time, Option<Time>, u64))| {
            let ideal = flow.path.ideal(*bytes, flow.many || index == 0);
            TransferRow::of((i as u32, index as u64), (*start, *end), *bytes, ideal)
        };
        flow.transfers.iter().enumerate().map(row).collect()
    }

    fn row(&mut self, i: usize, transfers: &[TransferRow], tally: &Tally) -> FlowRow {
        let totals = self.totals(i).since(self.flows[i].baseline);
        let f = &self.flows[i];
        // What the kernel of the source has counted is of this flow alone: nobody else uses it.
        let (before, after) = (&self.counted[i], self.hosts[2 * i].counters().map(|c| c.0).unwrap_or_default());
        let of = |name: &&str| after.get(*name).map(|n| n.saturating_sub(before.get(*name).copied().unwrap_or(0)));
        let count = |names: &[&str]| names.iter().filter_map(of).sum::<u64>();
        let completed = f.over(self.end);
        let mut to = completed.map_or(self.end, |t| t.min(self.end));
        let datagrams = f.datagrams.is_some();
        if datagrams {
            // What it sent may arrive long after it has stopped.
            to = f.periods.all().last().map_or(to, |p| p.1.max(f.last).min(to));
        }
        let span = to.since(f.start.max(self.from)).as_secs_f64();
        let read = if datagrams { f.payload[3] } else { totals.read };
        let means = &self.sampler.means[i];
        let mean = |(sum, n): (f64, u64)| (n > 0).then(|| sum / n as f64);
        FlowRow {
            id: f.id.clone(),
            leg: None,
            app: f.kind.into(),
            cc: f.controller.clone(),
            start_s: f.start.as_secs_f64(),
            end_s: completed.map(Time::as_secs_f64),
            goodput_bps: if span > 0.0 { read as f64 * 8.0 / span } else { 0.0 },
            goodput_bytes: read,
            sent_bytes: if datagrams { f.payload[2] } else { totals.sent_bytes },
            retransmitted_bytes: totals.repeated_bytes,
            sent_segments: if datagrams { tally.sent } else { totals.sent },
            retransmitted_segments: totals.repeated,
            timeouts: count(&["TCPTimeouts"]),
            recoveries: count(&["TCPSackRecovery", "TCPRenoRecovery"]),
            spurious_timeouts: count(&["TCPSpuriousRTOs"]),
            undos: count(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"]),
            tlp_probes: count(&["TCPLossProbes"]),
            dsacks: totals.dsacks,
            marked_segments: tally.marked,
            ecn_reductions: None,
            path_rtt_s: f.path.rtt as f64 * 1e-9,
            mean_rtt_s: mean(means.rtts),
            min_rtt_s: means.least,
            max_rtt_s: means.most,
            mean_cwnd_bytes: mean(means.windows).unwrap_or(0.0),
            acks: totals.acks,
            dup_acks: None,
            start_estimate_bps: None,
            start_ssthresh_bytes: None,
            fct_s: completed.map(|t| t.since(f.start).as_secs_f64()),
            completed: completed.is_some(),
            failed: f.failed.map(|f| f.0.into()),
            received_packets: Some(tally.received),
            delay_s: delays(&tally.delay),
            datagrams: datagrams.then(|| tally.row()),
            transfers: f.in_transfers.then(|| TransfersRow::of(transfers, self.from)),
        }
    }

    /// By flow: time in which something was under way, and in which the peer's window and the send buffer held it back,
    /// seconds.
    pub fn limits(&mut self) -> Vec<(String, [f64; 3])> {
        let flows = 0..self.flows.len();
        let of = |i: usize| {
            let totals = self.totals(i);
            let times = [totals.busy, totals.window_limited, totals.buffer_limited];
            (self.flows[i].id.clone(), times.map(|us| us as f64 * 1e-6))
        };
        flows.map(of).collect()
    }

    /// What a reader of the results should know of the flows.
    pub fn notes(&self) -> Warnings {
        let mut notes = self.warnings.clone();
        for f in &self.flows {
            if let Some((why, n)) = f.failed {
                warn_failed(&mut notes, (&f.id, f.kind, f.many), (n, why));
            }
            if f.leg_of.is_none() && !f.many && !f.began {
                warn_late(&mut notes, &f.id);
            }
        }
        for split in self.splits.iter().filter(|split| split.later) {
            let id = &self.flows[split.whole].id;
            let does = "other leg when the client's handshake is done, as programs do: with opening = accepted a simulated one";
            notes.add(format!("flows have relays that open the {does} does so too"), id, || {
                format!("the relay of flow {id} opens its {does} does so too")
            });
        }
        notes
    }
}
