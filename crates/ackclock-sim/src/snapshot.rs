//! Where a run stands, without ending it: counters since the start, and what is in force now.

use crate::engine::Sim;
use crate::flow::Snapshot;
use crate::probe::Sample;
use ackclock_core::cc::{Interval, Phase};
use ackclock_core::tcp::State;
use ackclock_core::time::{Span, Time};

/// A flow at one moment. Counters are since the start of the run, of all its connections; windows and times are of its
/// own connection and zero where it has none. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowState {
    /// Its connection is established.
    pub established: bool,
    /// Everything it will ever send has been delivered.
    pub completed: bool,
    /// Its connection failed.
    pub failed: bool,
    /// Bytes delivered in order at the receiver.
    pub received: u64,
    /// Bytes that the sender knows to be delivered, selectively or cumulatively acknowledged; the end of a stream (FIN)
    /// counts as one.
    pub acknowledged: u64,
    /// Bytes sent, retransmissions included.
    pub sent: u64,
    /// Bytes sent again.
    pub retransmitted: u64,
    /// Bytes declared lost.
    pub lost: u64,
    /// Bytes reported as delivered with a mark (CE).
    pub marked: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion window in force.
    pub cwnd: u64,
    /// Slow start threshold; `u64::MAX` before the first congestion.
    pub ssthresh: u64,
    /// Pacing rate, payload bytes per second; none: not paced.
    pub pacing_rate: Option<f64>,
    /// Bytes believed to be in the network.
    pub in_flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Smallest sample of it.
    pub min_rtt: Span,
    /// Sum of the samples, nanoseconds, and their number.
    pub rtt_total: (u128, u64),
    /// Where the sender stands with respect to congestion.
    pub phase: Phase,
}

/// A link at one moment; counters are since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkState {
    /// Packets in its queue, as its limit counts them, as a packet would find it that arrived now.
    pub queue: u64,
    /// Bytes of them.
    pub queue_bytes: u64,
    /// Bytes transmitted, framing included.
    pub sent: u64,
    /// Packets its queue dropped.
    pub drops: u64,
}

impl Sim {
    /// How many flows the run has.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// How many links it has.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// The number of the flow of this name.
    pub fn flow_number(&self, id: &str) -> Option<usize> {
        self.flows.iter().position(|f| f.id == id)
    }

    /// The number of the link of this name.
    pub fn link_number(&self, id: &str) -> Option<usize> {
        self.link_names.iter().position(|l| l.0 == id)
    }

    /// Flow number `flow` as it stands now.
    ///
    /// # Panics
    /// When there is no such flow.
    pub fn flow_state(&self, flow: usize) -> FlowState {
        let f = &self.flows[flow];
        let Snapshot { delivered, acknowledged, lost, sender, rtt, .. } = self.totals(flow);
        let mut state = FlowState {
            completed: self.completed(flow).is_some(),
            received: delivered,
            acknowledged,
            lost,
            failed: self.failed(flow).1 > 0,
            sent: sender.sent_bytes,
            retransmitted: sender.retransmitted_bytes,
            marked: sender.marked_bytes,
            recoveries: sender.recoveries,
            timeouts: sender.timeouts,
            rtt_total: rtt,
            ssthresh: u64::MAX,
            ..FlowState::default()
        };
        if let Some(d) = &f.datagrams {
            (state.received, state.sent) = (d.total_received, d.total_sent);
        }
        if let Some(e) = self.sender(self.at_source(flow)) {
            let tx = &e.tx;
            state.established = e.state() == State::Established;
            (state.cwnd, state.ssthresh, state.pacing_rate) = (tx.cwnd(), tx.ssthresh(), tx.pacing_rate());
            state.in_flight = tx.in_flight();
            (state.srtt, state.min_rtt) = (tx.rtt().smoothed(), tx.rtt().min());
            state.phase = tx.phase();
        }
        state
    }

    /// Link number `link` as it stands now.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn link_state(&mut self, link: usize) -> LinkState {
        // What happens at this very instant may still be to come, and an arrival finds the queue before that.
        let before = Time(self.now.0.saturating_sub(1));
        self.links[link].settle(before, &mut self.slab);
        let (queue, queue_bytes) = self.links[link].backlog();
        let stats = self.links[link].stats();
        LinkState { queue, queue_bytes, sent: stats.total_bytes, drops: stats.total_drops }
    }

    /// What the controller of a flow's own connection measured up to its last waking, if it does.
    pub fn interval(&self, flow: usize) -> Option<&Interval> {
        self.sender(flow)?.tx.interval()
    }

    /// Takes the samples of all series that can be complete so far: those before now, in the order of time. What is
    /// drained is missing from the output of the run.
    pub fn drain_series(&mut self) -> Vec<Sample> {
        let before = Time(self.now.0.saturating_sub(1));
        for link in &mut self.links {
            link.settle(before, &mut self.slab);
        }
        self.probes.drain(&mut self.links, self.now)
    }
}
