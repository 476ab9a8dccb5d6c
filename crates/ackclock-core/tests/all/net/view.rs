//! What can be seen of an endpoint from outside, and how a violated invariant is told.

use ackclock_core::cc::{Ack, CongestionControl, Control, Cx, Needs, PacketPair, Restart, Signal, Undo};
use ackclock_core::tcp::Endpoint;
use ackclock_core::tcp::endpoint::State;
use ackclock_core::tcp::sender::{Phase, SenderStats};
use ackclock_core::time::Span;
use std::sync::{Arc, Mutex};

/// `Err` names the invariant and what violated it.
pub type Check = Result<(), String>;

/// Returns the violation of invariant `$n` unless `$cond` holds.
macro_rules! holds {
    ($n:expr, $cond:expr, $($why:tt)*) => {
        if !$cond {
            return Err(format!("invariant {}: {}", $n, format!($($why)*)));
        }
    };
}
pub(crate) use holds;

/// One endpoint at one moment.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub state: State,
    pub una: u64,
    pub nxt: u64,
    pub edge: u64,
    pub pipe: u64,
    pub cwnd: u64,
    pub ssthresh: u64,
    pub phase: Phase,
    pub stats: SenderStats,
    /// End of the packet pair under way.
    pub pair_end: Option<u64>,
    /// Bytes above SND.UNA known to be delivered.
    pub sacked: u64,
    /// The receiving half.
    pub rcv_nxt: u64,
    pub rcv_edge: u64,
    /// The oldest acknowledgment that it takes.
    pub oldest_ack: u64,
    pub delivered: u64,
    /// Positions the receiver has accounted for: delivered, held out of order, recognised as duplicate.
    pub accounted: u64,
}

impl View {
    pub fn of(e: &Endpoint) -> View {
        let (una, nxt, edge) = e.tx.positions();
        let mut sacked = 0;
        let mut at = una;
        while let Some(k) = e.known(at) {
            sacked += if k.sacked { k.span.1 - k.span.0 } else { 0 };
            at = k.span.1;
        }
        let rx = e.rx.stats;
        View {
            state: e.state(),
            una,
            nxt,
            edge,
            pipe: e.tx.in_flight(),
            cwnd: e.tx.cwnd(),
            ssthresh: e.tx.ssthresh(),
            phase: e.tx.phase(),
            stats: *e.tx.stats(),
            pair_end: e.tx.pair_end(),
            sacked,
            rcv_nxt: e.rx.nxt(),
            rcv_edge: e.rx.edge(),
            oldest_ack: e.tx.oldest_ack(),
            delivered: rx.delivered,
            accounted: e.rx.nxt() + e.rx.out_of_order_bytes() + rx.duplicate,
        }
    }
}

/// A controller whose signals are overheard.
pub struct Spy {
    pub inner: Box<dyn CongestionControl>,
    pub signals: Arc<Mutex<Vec<Signal>>>,
}

impl CongestionControl for Spy {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.inner.start(cx, initial_window);
    }
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.inner.on_ack(cx, ack);
    }
    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.signals.lock().unwrap().push(signal);
        self.inner.on_congestion(cx, signal);
    }
    fn on_recovered(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        self.inner.on_recovered(cx, cwnd);
    }
    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart) {
        self.inner.on_restart(cx, restart);
    }
    fn control(&self) -> Control {
        self.inner.control()
    }
    fn needs(&self) -> Needs {
        self.inner.needs()
    }
    fn observe(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.inner.observe(cx, ack);
    }
    fn on_phase(&mut self, cx: &mut Cx<'_>) {
        self.inner.on_phase(cx);
    }
    fn set_window(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        self.inner.set_window(cx, cwnd);
    }
    fn on_undo(&mut self, cx: &mut Cx<'_>, undo: Undo) {
        self.inner.on_undo(cx, undo);
    }
    fn on_paced(&mut self, cx: &mut Cx<'_>) {
        self.inner.on_paced(cx);
    }

    fn on_transmit_start(&mut self, cx: &mut Cx<'_>, idle: Span) {
        self.inner.on_transmit_start(cx, idle);
    }
    fn packet_pair(&mut self, cx: &mut Cx<'_>) -> Option<[u32; 2]> {
        self.inner.packet_pair(cx)
    }
    fn on_packet_pair(&mut self, cx: &mut Cx<'_>, pair: &PacketPair) {
        self.inner.on_packet_pair(cx, pair);
    }
}
