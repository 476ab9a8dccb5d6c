//! Rows of flows that are split, and of their legs.

use super::Agent;
use crate::relay::Split;
use crate::relay::told::{Leg, Told};
use ackclock_run::output::FlowRow;

impl Agent<'_> {
    /// Makes `row` that of flow number `i`, which is that of `split` or a leg of it, whose proxy has `told` this; and adds what the
    /// proxy has sent to `packets`. So many of its segments came `marked` to the sink.
    ///
    /// The leg at the source has the counters of the flow, for their senders are one. Those of the leg at the sink are the
    /// proxy's.
    pub(super) fn of_split(
        &mut self,
        i: usize,
        split: &Split,
        told: &Told,
        (row, packets): (&mut FlowRow, &mut u64),
        marked: u64,
    ) {
        if i == split.whole {
            row.marked_segments = marked;
            return;
        }
        let which = usize::from(i == split.legs[1]);
        let whole = self.flows[split.whole].over(self.end);
        let (start, from) = (self.flows[split.whole].start, self.from);
        row.leg = Some((split.whole as u32, which as u8));
        row.start_s = start.as_secs_f64();
        row.end_s = whole.map(|t| t.as_secs_f64());
        (row.fct_s, row.completed) = (whole.map(|t| t.since(start).as_secs_f64()), whole.is_some());
        // The client's side is that of the leg whose end opens.
        let side = |which: usize| usize::from(which != split.opens);
        let span = whole.map_or(self.end, |t| t.min(self.end)).since(start.max(from)).as_secs_f64();
        if which == 0 {
            let of_flow = self.totals(split.whole).since(self.flows[split.whole].baseline);
            // What has come over it is what was passed on over the other one.
            row.goodput_bytes = told.passed[side(1)];
            (row.sent_bytes, row.retransmitted_bytes) = (of_flow.sent_bytes, of_flow.repeated_bytes);
            (row.sent_segments, row.retransmitted_segments) = (of_flow.sent, of_flow.repeated);
            (row.acks, row.dsacks) = (of_flow.acks, of_flow.dsacks);
            let means = &self.sampler.means[split.whole];
            let mean = |(sum, n): (f64, u64)| (n > 0).then(|| sum / n as f64);
            (row.mean_rtt_s, row.min_rtt_s, row.max_rtt_s) = (mean(means.rtts), means.least, means.most);
            row.mean_cwnd_bytes = mean(means.windows).unwrap_or(0.0);
        } else {
            row.goodput_bytes = self.totals(split.whole).since(self.flows[split.whole].baseline).read;
            at_sink(row, &told.sides[side(1)]);
            *packets += row.sent_segments;
        }
        row.goodput_bps = if span > 0.0 { row.goodput_bytes as f64 * 8.0 / span } else { 0.0 };
    }
}

/// The counters of the leg at the sink, as the proxy has them.
fn at_sink(row: &mut FlowRow, leg: &Leg) {
    (row.sent_bytes, row.retransmitted_bytes) = (leg.sent_bytes, leg.repeated_bytes);
    (row.sent_segments, row.retransmitted_segments) = (leg.sent, leg.repeated);
    (row.acks, row.dsacks) = (leg.acks, leg.dsacks);
    let mean = |(sum, n): (f64, u64)| (n > 0).then(|| sum / n as f64);
    (row.mean_rtt_s, row.min_rtt_s, row.max_rtt_s) = (mean(leg.rtts), leg.least, leg.most);
    row.mean_cwnd_bytes = mean(leg.windows).unwrap_or(0.0);
}
