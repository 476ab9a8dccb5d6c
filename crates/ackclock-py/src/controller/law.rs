//! A Python class that is a law of the window: `ackclock.WindowBased`. The frame, its slow start and its rounding are
//! the engine's own.

use super::bridge::{Bridge, Call, number};
use super::views::{Lent, Signal};
use ackclock_core::cc::{self, Avoidance, CongestionControl, Control, Needs, Pacing, Window, WindowBased};
use ackclock_core::slowstart::SlowStart;
use ackclock_core::time::{Span, Time};
use pyo3::prelude::*;

/// The law as the frame sees it.
pub struct Law {
    bridge: Bridge,
    /// What the Python object has as its window.
    known: Window,
    needs: Needs,
    validates_itself: bool,
    pacing: Pacing,
}

impl Law {
    /// Takes what the object says of itself before the first call.
    pub fn new(py: Python<'_>, bridge: Bridge) -> PyResult<Law> {
        let needs = bridge.needs(py)?;
        let validates_itself = bridge.flag(py, "validates_itself")?;
        let (cwnd, ssthresh) = bridge.window(py)?;
        let known = Window { cwnd, ssthresh };
        Ok(Law { pacing: bridge.pacing(py)?, bridge, known, needs, validates_itself })
    }

    /// Where its connection's random stream is put.
    pub fn lent(&self) -> Lent {
        self.bridge.lent.clone()
    }

    /// Calls a method that sees the window `w` as the object's `cwnd` and `ssthresh`, and takes what it makes of it.
    #[inline]
    fn with_window<R>(
        &mut self,
        at: Time,
        call: Call,
        w: &mut Window,
        f: impl for<'py> FnOnce(&mut Bridge, Python<'py>) -> PyResult<R>,
    ) -> Option<R> {
        if self.bridge.failed() || !self.bridge.has(call) {
            return None;
        }
        Python::attach(|py| {
            let attempt = || {
                if self.known.cwnd != w.cwnd {
                    self.bridge.set_cwnd(py, w.cwnd)?;
                }
                if self.known.ssthresh != w.ssthresh {
                    self.bridge.set_ssthresh(py, w.ssthresh)?;
                }
                let out = f(&mut self.bridge, py)?;
                if !self.bridge.failed() {
                    (w.cwnd, w.ssthresh) = self.bridge.decided(py)?;
                    self.known = *w;
                    // The frame asks for it on other occasions than growth.
                    if !matches!(call, Call::Grow) {
                        self.pacing = self.bridge.pacing(py)?;
                    }
                }
                Ok(out)
            };
            match attempt() {
                Ok(out) => Some(out),
                Err(error) => {
                    self.bridge.fail(at, call, error);
                    None
                }
            }
        })
    }

    /// Calls a method that takes the context only.
    fn notify(&mut self, cx: &cc::Cx<'_>, call: Call, w: &mut Window) {
        self.with_window(cx.now, call, w, |b, py| {
            let args = (b.cx(py, cx)?,);
            b.call(py, cx.now, call, args);
            Ok(())
        });
    }
}

impl Avoidance for Law {
    #[inline]
    fn grow(&mut self, cx: &cc::Cx<'_>, ack: &cc::Ack, w: &mut Window, acked: f64) {
        self.with_window(cx.now, Call::Grow, w, |b, py| {
            let args = (b.cx(py, cx)?, b.ack(py, ack)?, acked);
            b.call(py, cx.now, Call::Grow, args);
            Ok(())
        });
    }

    fn reduce(&mut self, cx: &cc::Cx<'_>, signal: cc::Signal, w: &Window) -> f64 {
        let mut copy = *w;
        let threshold = self.with_window(cx.now, Call::Reduce, &mut copy, |b, py| {
            let args = (b.cx(py, cx)?, Signal(signal));
            b.call(py, cx.now, Call::Reduce, args).map(|v| number(v, "what reduce returned")).transpose()
        });
        threshold.flatten().unwrap_or(w.cwnd)
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn start(&mut self, cx: &cc::Cx<'_>, w: &mut Window) {
        self.notify(cx, Call::Start, w);
    }

    fn observe(&mut self, cx: &cc::Cx<'_>, ack: &cc::Ack, w: &mut Window) {
        self.with_window(cx.now, Call::Observe, w, |b, py| {
            let args = (b.cx(py, cx)?, b.ack(py, ack)?);
            b.call(py, cx.now, Call::Observe, args);
            Ok(())
        });
    }

    fn slow_start(
        &mut self,
        cx: &cc::Cx<'_>,
        ack: &cc::Ack,
        w: &mut Window,
        acked: f64,
        opening: &mut dyn SlowStart,
    ) -> f64 {
        if !self.bridge.has(Call::SlowStart) {
            return opening.on_ack(cx, ack, w, acked);
        }
        let left = self.with_window(cx.now, Call::SlowStart, w, |b, py| {
            let args = (b.cx(py, cx)?, b.ack(py, ack)?, acked);
            b.call(py, cx.now, Call::SlowStart, args).map(|v| number(v, "what slow_start returned")).transpose()
        });
        left.flatten().unwrap_or(0.0)
    }

    fn validates_itself(&self) -> bool {
        self.validates_itself
    }

    fn phase(&mut self, cx: &cc::Cx<'_>, w: &mut Window) {
        self.notify(cx, Call::Phase, w);
    }

    fn recovered(&mut self, cx: &cc::Cx<'_>, w: &mut Window) {
        self.notify(cx, Call::Recovered, w);
    }

    fn undo(&mut self, cx: &cc::Cx<'_>, w: &mut Window) {
        self.notify(cx, Call::Undo, w);
    }

    fn resume(&mut self, cx: &cc::Cx<'_>, idle: Span) {
        let mut w = self.known;
        self.with_window(cx.now, Call::Resume, &mut w, |b, py| {
            let args = (b.cx(py, cx)?, idle.as_secs_f64());
            b.call(py, cx.now, Call::Resume, args);
            Ok(())
        });
    }

    fn transmit_start(&mut self, cx: &cc::Cx<'_>, _idle: Span) {
        let mut w = self.known;
        self.notify(cx, Call::TransmitStart, &mut w);
    }

    fn pacing(&self) -> Pacing {
        self.pacing
    }
}

/// The frame with its Python law, lending it the connection's random stream during every call.
pub struct Framed {
    pub frame: WindowBased,
    pub lent: Lent,
}

impl CongestionControl for Framed {
    fn start(&mut self, cx: &mut cc::Cx<'_>, initial_window: u64) {
        self.lent.while_lent(cx, |cx| self.frame.start(cx, initial_window));
    }
    fn observe(&mut self, cx: &mut cc::Cx<'_>, ack: &cc::Ack) {
        self.lent.while_lent(cx, |cx| self.frame.observe(cx, ack));
    }
    fn on_ack(&mut self, cx: &mut cc::Cx<'_>, ack: &cc::Ack) {
        self.lent.while_lent(cx, |cx| self.frame.on_ack(cx, ack));
    }
    fn on_congestion(&mut self, cx: &mut cc::Cx<'_>, signal: cc::Signal) {
        self.lent.while_lent(cx, |cx| self.frame.on_congestion(cx, signal));
    }
    fn on_phase(&mut self, cx: &mut cc::Cx<'_>) {
        self.lent.while_lent(cx, |cx| self.frame.on_phase(cx));
    }
    fn on_recovered(&mut self, cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.lent.while_lent(cx, |cx| self.frame.on_recovered(cx, cwnd));
    }
    fn set_window(&mut self, cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.lent.while_lent(cx, |cx| self.frame.set_window(cx, cwnd));
    }
    fn on_undo(&mut self, cx: &mut cc::Cx<'_>, undo: cc::Undo) {
        self.lent.while_lent(cx, |cx| self.frame.on_undo(cx, undo));
    }
    fn on_restart(&mut self, cx: &mut cc::Cx<'_>, restart: cc::Restart) {
        self.lent.while_lent(cx, |cx| self.frame.on_restart(cx, restart));
    }
    fn on_paced(&mut self, cx: &mut cc::Cx<'_>) {
        self.lent.while_lent(cx, |cx| self.frame.on_paced(cx));
    }
    fn on_transmit_start(&mut self, cx: &mut cc::Cx<'_>, idle: Span) {
        self.lent.while_lent(cx, |cx| self.frame.on_transmit_start(cx, idle));
    }
    fn on_limited_start(&mut self, cx: &mut cc::Cx<'_>) {
        self.lent.while_lent(cx, |cx| self.frame.on_limited_start(cx));
    }
    fn limits_itself(&self) -> bool {
        self.frame.limits_itself()
    }
    fn on_lost(&mut self, cx: &mut cc::Cx<'_>, lost: &cc::Lost) {
        self.lent.while_lent(cx, |cx| self.frame.on_lost(cx, lost));
    }
    fn packet_pair(&mut self, cx: &mut cc::Cx<'_>) -> Option<[u32; 2]> {
        self.lent.while_lent(cx, |cx| self.frame.packet_pair(cx))
    }
    fn on_packet_pair(&mut self, cx: &mut cc::Cx<'_>, pair: &cc::PacketPair) {
        self.lent.while_lent(cx, |cx| self.frame.on_packet_pair(cx, pair));
    }
    fn start_estimate(&self) -> Option<cc::StartEstimate> {
        self.frame.start_estimate()
    }
    fn control(&self) -> Control {
        self.frame.control()
    }
    fn needs(&self) -> Needs {
        self.frame.needs()
    }
}
