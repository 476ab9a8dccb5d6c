//! A Python class that is a whole controller: `ackclock.CongestionControl`.

use super::bridge::{Bridge, Call};
use super::views::{Lost, Restart, Signal, Undo, threshold};
use ackclock_core::cc::{self, CongestionControl, Control, Needs};
use ackclock_core::time::{Span, Time};
use pyo3::prelude::*;

/// The controller as the endpoint sees it.
pub struct Whole {
    bridge: Bridge,
    control: Control,
    needs: Needs,
    limits_itself: bool,
}

impl Whole {
    /// Takes what the object says of itself before the first call.
    pub fn new(py: Python<'_>, bridge: Bridge) -> PyResult<Whole> {
        let needs = bridge.needs(py)?;
        let mut whole = Whole { bridge, control: Control::window(0, u64::MAX), needs, limits_itself: false };
        whole.control = whole.decision(py, whole.bridge.window(py)?)?;
        Ok(whole)
    }

    fn decision(&self, py: Python<'_>, (cwnd, ssthresh): (f64, f64)) -> PyResult<Control> {
        // A conversion to whole bytes truncates, and infinity becomes the largest. 1e-6 bytes hide rounding.
        let (cwnd, ssthresh) = ((cwnd + 1e-6) as u64, (ssthresh + 1e-6) as u64);
        let wake_at = if self.bridge.has(Call::OnWake) { self.bridge.wake_at(py)? } else { Time::NEVER };
        Ok(Control { pacing: self.bridge.pacing(py)?, wake_at, ..Control::window(cwnd, ssthresh) })
    }

    /// Calls a method with what `args` makes, and reads the decision.
    #[inline]
    fn event<'c, A>(
        &mut self,
        cx: &mut cc::Cx<'c>,
        call: Call,
        args: impl for<'py> FnOnce(&mut Bridge, Python<'py>, &cc::Cx<'c>) -> PyResult<A>,
    ) where
        A: for<'py> pyo3::call::PyCallArgs<'py>,
    {
        if self.bridge.failed() || !self.bridge.has(call) {
            return;
        }
        let lent = self.bridge.lent.clone();
        Python::attach(|py| {
            lent.while_lent(cx, |cx| match args(&mut self.bridge, py, cx) {
                Ok(args) => {
                    self.bridge.call(py, cx.now, call, args);
                }
                Err(error) => self.bridge.fail(cx.now, call, error),
            });
            if self.bridge.failed() {
                return;
            }
            match self.bridge.decided(py).and_then(|window| self.decision(py, window)) {
                Ok(control) => self.control = control,
                Err(error) => self.bridge.fail(cx.now, call, error),
            }
            if self.needs.rate {
                self.limits_itself = self.bridge.flag(py, "limits_itself").unwrap_or(false);
            }
        });
    }
}

impl CongestionControl for Whole {
    fn start(&mut self, cx: &mut cc::Cx<'_>, initial_window: u64) {
        self.event(cx, Call::Start, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), initial_window)));
    }

    fn observe(&mut self, cx: &mut cc::Cx<'_>, ack: &cc::Ack) {
        self.event(cx, Call::Observe, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), b.ack(py, ack)?.unbind())));
    }

    fn on_ack(&mut self, cx: &mut cc::Cx<'_>, ack: &cc::Ack) {
        self.event(cx, Call::OnAck, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), b.ack(py, ack)?.unbind())));
    }

    fn on_congestion(&mut self, cx: &mut cc::Cx<'_>, signal: cc::Signal) {
        self.event(cx, Call::OnCongestion, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), Signal(signal))));
    }

    fn on_phase(&mut self, cx: &mut cc::Cx<'_>) {
        self.event(cx, Call::OnPhase, |b, py, cx| Ok((b.cx(py, cx)?.unbind(),)));
    }

    fn on_recovered(&mut self, cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.event(cx, Call::OnRecovered, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), cwnd)));
    }

    fn set_window(&mut self, cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.event(cx, Call::SetWindow, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), cwnd)));
    }

    fn on_undo(&mut self, cx: &mut cc::Cx<'_>, undo: cc::Undo) {
        let undo = Undo { cwnd: undo.cwnd, ssthresh: threshold(undo.ssthresh) };
        self.event(cx, Call::OnUndo, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), undo)));
    }

    fn on_restart(&mut self, cx: &mut cc::Cx<'_>, restart: cc::Restart) {
        let cc::Restart { idle, window, ssthresh_floor } = restart;
        let restart = Restart { idle: idle.as_secs_f64(), window, ssthresh_floor };
        self.event(cx, Call::OnRestart, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), restart)));
    }

    fn on_transmit_start(&mut self, cx: &mut cc::Cx<'_>, _idle: Span) {
        self.event(cx, Call::OnTransmitStart, |b, py, cx| Ok((b.cx(py, cx)?.unbind(),)));
    }

    fn on_limited_start(&mut self, cx: &mut cc::Cx<'_>) {
        self.event(cx, Call::OnLimitedStart, |b, py, cx| Ok((b.cx(py, cx)?.unbind(),)));
    }

    fn on_lost(&mut self, cx: &mut cc::Cx<'_>, lost: &cc::Lost) {
        let lost = Lost {
            pos: lost.pos,
            len: lost.len,
            tx_in_flight: lost.tx_in_flight,
            lost: lost.lost,
            app_limited: lost.app_limited,
        };
        self.event(cx, Call::OnLost, |b, py, cx| Ok((b.cx(py, cx)?.unbind(), lost)));
    }

    fn on_wake(&mut self, cx: &mut cc::Cx<'_>) {
        self.event(cx, Call::OnWake, |b, py, cx| Ok((b.cx(py, cx)?.unbind(),)));
    }

    fn limits_itself(&self) -> bool {
        self.limits_itself
    }

    fn control(&self) -> Control {
        self.control
    }

    fn needs(&self) -> Needs {
        self.needs
    }
}

/// The controller of an end that sends nothing: it stands in for the Python class, whose object is the sender's, and
/// only tells the endpoint the same needs.
pub struct Passive {
    pub needs: Needs,
    pub cwnd: u64,
}

impl CongestionControl for Passive {
    fn start(&mut self, _cx: &mut cc::Cx<'_>, initial_window: u64) {
        self.cwnd = initial_window;
    }
    fn on_ack(&mut self, _cx: &mut cc::Cx<'_>, _ack: &cc::Ack) {}
    fn on_congestion(&mut self, _cx: &mut cc::Cx<'_>, _signal: cc::Signal) {}
    fn on_recovered(&mut self, _cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.cwnd = cwnd;
    }
    fn set_window(&mut self, _cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.cwnd = cwnd;
    }
    fn on_undo(&mut self, _cx: &mut cc::Cx<'_>, undo: cc::Undo) {
        self.cwnd = undo.cwnd;
    }
    fn on_restart(&mut self, _cx: &mut cc::Cx<'_>, _restart: cc::Restart) {}
    fn control(&self) -> Control {
        Control::window(self.cwnd, u64::MAX)
    }
    fn needs(&self) -> Needs {
        self.needs
    }
}
