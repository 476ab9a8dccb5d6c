//! Writing down what a controller is told, and telling it to another one.

use crate::events::{Ack, Call, Context, Event, threshold};
use ackclock_core::cc::{
    self, CongestionControl, Control, Cx, Decision, Interval, Lost, Needs, PacketPair, Restart, Signal, StartEstimate,
};
use ackclock_core::rng::Stream;
use ackclock_core::time::Span;
use std::sync::{Arc, Mutex, PoisonError};

/// Where events are written.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    /// Takes everything written so far.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// A controller that writes down every call. It asks the endpoint for everything a controller can see, so that any
/// other can be told the same, and passes on what its own controller asked for.
pub struct Recorder {
    inner: Box<dyn CongestionControl>,
    needs: Needs,
    log: Log,
}

/// `ack` as a controller with these needs sees it.
fn seen(ack: &cc::Ack, needs: Needs) -> cc::Ack {
    let mut ack = *ack;
    if !needs.rate {
        ack.rate = None;
        ack.departs = ackclock_core::time::Time::ZERO;
    }
    if !needs.observe {
        ack.one_way = None;
    }
    ack
}

impl Recorder {
    /// Records `inner`; `created` is the event that says what it is.
    pub fn new(inner: Box<dyn CongestionControl>, log: Log, created: Call) -> Recorder {
        log.push(Event { call: created, cx: Context::default(), control: inner.control().into() });
        Recorder { needs: inner.needs(), inner, log }
    }

    fn note<R>(
        &mut self,
        cx: &mut Cx<'_>,
        call: Call,
        f: impl FnOnce(&mut dyn CongestionControl, &mut Cx<'_>) -> R,
    ) -> R {
        let context = Context::from(&*cx);
        let out = f(self.inner.as_mut(), cx);
        self.log.push(Event { call, cx: context, control: self.inner.control().into() });
        out
    }
}

impl CongestionControl for Recorder {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.note(cx, Call::Start { initial_window }, |cc, cx| cc.start(cx, initial_window));
    }
    fn on_paced(&mut self, cx: &mut Cx<'_>) {
        self.note(cx, Call::OnPaced {}, |cc, cx| cc.on_paced(cx));
    }
    fn observe(&mut self, cx: &mut Cx<'_>, ack: &cc::Ack) {
        let needs = self.needs;
        self.note(cx, Call::Observe(Ack::from(ack)), |cc, cx| {
            if needs.observe {
                cc.observe(cx, &seen(ack, needs));
            }
        });
    }
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &cc::Ack) {
        let needs = self.needs;
        self.note(cx, Call::OnAck(Ack::from(ack)), |cc, cx| cc.on_ack(cx, &seen(ack, needs)));
    }
    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.note(cx, Call::OnCongestion(signal.into()), |cc, cx| cc.on_congestion(cx, signal));
    }
    fn on_phase(&mut self, cx: &mut Cx<'_>) {
        self.note(cx, Call::OnPhase {}, |cc, cx| cc.on_phase(cx));
    }
    fn on_lost(&mut self, cx: &mut Cx<'_>, lost: &Lost) {
        let Lost { pos, len, tx_in_flight, lost: since, app_limited } = *lost;
        let rate = self.needs.rate;
        self.note(cx, Call::OnLost { pos, len, tx_in_flight, lost: since, app_limited }, |cc, cx| {
            if rate {
                cc.on_lost(cx, lost);
            }
        });
    }
    fn on_recovered(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        self.note(cx, Call::OnRecovered { cwnd }, |cc, cx| cc.on_recovered(cx, cwnd));
    }
    fn set_window(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        self.note(cx, Call::SetWindow { cwnd }, |cc, cx| cc.set_window(cx, cwnd));
    }
    fn on_undo(&mut self, cx: &mut Cx<'_>, undo: cc::Undo) {
        let call = Call::OnUndo { cwnd: undo.cwnd, ssthresh: threshold(undo.ssthresh) };
        self.note(cx, call, |cc, cx| cc.on_undo(cx, undo));
    }
    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart) {
        let Restart { idle, window, ssthresh_floor } = restart;
        let call = Call::OnRestart { idle_ns: idle.0, window, ssthresh_floor };
        self.note(cx, call, |cc, cx| cc.on_restart(cx, restart));
    }
    fn on_transmit_start(&mut self, cx: &mut Cx<'_>, idle: Span) {
        self.note(cx, Call::OnTransmitStart { idle_ns: idle.0 }, |cc, cx| cc.on_transmit_start(cx, idle));
    }
    fn on_limited_start(&mut self, cx: &mut Cx<'_>) {
        let rate = self.needs.rate;
        self.note(cx, Call::OnLimitedStart {}, |cc, cx| {
            if rate {
                cc.on_limited_start(cx);
            }
        });
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.note(cx, Call::OnWake {}, |cc, cx| cc.on_wake(cx));
    }
    fn on_decision(&mut self, cx: &mut Cx<'_>, decision: &Decision) -> bool {
        self.inner.on_decision(cx, decision)
    }
    fn interval(&self) -> Option<&Interval> {
        self.inner.interval()
    }
    fn limits_itself(&self) -> bool {
        self.needs.rate && self.inner.limits_itself()
    }
    fn packet_pair(&mut self, cx: &mut Cx<'_>) -> Option<[u32; 2]> {
        self.note(cx, Call::PacketPair {}, |cc, cx| cc.packet_pair(cx))
    }
    fn on_packet_pair(&mut self, cx: &mut Cx<'_>, pair: &PacketPair) {
        let call = Call::OnPacketPair { bytes: pair.bytes, rtt_ns: pair.rtt.map(|s| s.0) };
        self.note(cx, call, |cc, cx| cc.on_packet_pair(cx, pair));
    }
    fn start_estimate(&self) -> Option<StartEstimate> {
        self.inner.start_estimate()
    }
    fn control(&self) -> Control {
        self.inner.control()
    }
    fn needs(&self) -> Needs {
        Needs { observe: true, rate: true, ..self.needs }
    }
}

/// Tells a controller what was recorded.
pub struct Replayer {
    controller: Box<dyn CongestionControl>,
    needs: Needs,
    rng: Stream,
}

impl Replayer {
    /// Of this controller.
    pub fn new(controller: Box<dyn CongestionControl>) -> Replayer {
        Replayer { needs: controller.needs(), controller, rng: Stream::named(0, 0, "") }
    }

    /// One event, and the decision after it.
    pub fn event(&mut self, event: &Event) -> Control {
        let Replayer { controller, needs, rng } = self;
        let needs = *needs;
        if let Call::Create { flow, seed, run, .. } = &event.call {
            *rng = stream(*seed, *run, flow);
            return controller.control();
        }
        let mut cx = event.cx.cx(rng);
        let cx = &mut cx;
        match &event.call {
            Call::Create { .. } => {}
            Call::Start { initial_window } => controller.start(cx, *initial_window),
            Call::OnPaced {} => controller.on_paced(cx),
            Call::Observe(ack) if needs.observe => controller.observe(cx, &seen(&ack.into(), needs)),
            Call::OnAck(ack) => controller.on_ack(cx, &seen(&ack.into(), needs)),
            Call::OnCongestion(signal) => controller.on_congestion(cx, (*signal).into()),
            Call::OnPhase {} => controller.on_phase(cx),
            Call::OnLost { pos, len, tx_in_flight, lost, app_limited } if needs.rate => {
                let (pos, len, tx_in_flight, lost) = (*pos, *len, *tx_in_flight, *lost);
                controller.on_lost(cx, &Lost { pos, len, tx_in_flight, lost, app_limited: *app_limited });
            }
            Call::OnRecovered { cwnd } => controller.on_recovered(cx, *cwnd),
            Call::SetWindow { cwnd } => controller.set_window(cx, *cwnd),
            Call::OnUndo { cwnd, ssthresh } => {
                controller.on_undo(cx, cc::Undo { cwnd: *cwnd, ssthresh: ssthresh.unwrap_or(u64::MAX) });
            }
            Call::OnRestart { idle_ns, window, ssthresh_floor } => {
                let (window, ssthresh_floor) = (*window, *ssthresh_floor);
                controller.on_restart(cx, Restart { idle: Span(*idle_ns), window, ssthresh_floor });
            }
            Call::OnTransmitStart { idle_ns } => controller.on_transmit_start(cx, Span(*idle_ns)),
            Call::OnWake {} => controller.on_wake(cx),
            Call::OnLimitedStart {} if needs.rate => controller.on_limited_start(cx),
            Call::PacketPair {} if needs.pairs => {
                controller.packet_pair(cx);
            }
            Call::OnPacketPair { bytes, rtt_ns } if needs.pairs => {
                controller.on_packet_pair(cx, &PacketPair { bytes: *bytes, rtt: rtt_ns.map(Span) });
            }
            // What this controller has not asked for.
            Call::Observe(_)
            | Call::OnLost { .. }
            | Call::OnLimitedStart {}
            | Call::PacketPair {}
            | Call::OnPacketPair { .. } => {}
        }
        controller.control()
    }
}

/// The random stream that the engine gives the sender of a flow.
fn stream(seed: u64, run: u64, flow: &str) -> Stream {
    Stream::named(seed, run, &format!("flow {flow} endpoint 0"))
}
