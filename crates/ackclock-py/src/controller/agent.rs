//! A Python class that decides once per interval: `ackclock.Agent`. What it decides is held by the engine's controller
//! for decisions from outside, which also measures the intervals, so that an agent in a scenario is told what an agent
//! that steps the run is told.

use super::bridge::{Bridge, Call};
use crate::stepping::decision;
use ackclock_core::cc::{self, CongestionControl, Control, Needs, registry};
use ackclock_core::params::Value;
use ackclock_core::slowstart::SlowStart;
use ackclock_core::time::Span;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// The agent as the endpoint sees it.
pub struct Agent {
    inner: Box<dyn CongestionControl>,
    bridge: Bridge,
}

impl Agent {
    /// Takes what the object says of itself before the first call.
    pub fn new(object: &Bound<'_, PyAny>, bridge: Bridge, slow_start: Box<dyn SlowStart>) -> PyResult<Agent> {
        let seconds: Option<f64> = object.getattr("interval")?.extract()?;
        let params = [
            ("interval".to_owned(), Value::Duration(Span::from_secs_f64(seconds.unwrap_or(0.0)))),
            ("rounds".to_owned(), Value::Float(object.getattr("rounds")?.extract()?)),
            ("slow_start".to_owned(), Value::Bool(object.getattr("slow_start")?.is_truthy()?)),
        ];
        let inner = registry::build(registry::OUTSIDE.name, &params, slow_start);
        Ok(Agent { inner: inner.map_err(|e| PyValueError::new_err(e.to_string()))?, bridge })
    }

    /// What the object returns for an interval.
    fn decided(&self, py: Python<'_>, cx: &cc::Cx<'_>, interval: cc::Interval) -> PyResult<Option<cc::Decision>> {
        let Some(told) = self.bridge.call(py, cx.now, Call::Decide, (Interval::from(&interval),)) else {
            return Ok(None);
        };
        if told.is_none() {
            return Ok(None);
        }
        let field = |name| told.getattr(name).and_then(|v| v.extract::<Option<f64>>());
        let (cwnd, ssthresh) = (field(intern!(py, "cwnd"))?, field(intern!(py, "ssthresh"))?);
        decision(cwnd, ssthresh, field(intern!(py, "rate"))?).map(Some).map_err(PyValueError::new_err)
    }
}

impl CongestionControl for Agent {
    fn start(&mut self, cx: &mut cc::Cx<'_>, initial_window: u64) {
        self.inner.start(cx, initial_window);
    }
    fn on_ack(&mut self, cx: &mut cc::Cx<'_>, ack: &cc::Ack) {
        self.inner.on_ack(cx, ack);
    }
    fn on_congestion(&mut self, cx: &mut cc::Cx<'_>, signal: cc::Signal) {
        self.inner.on_congestion(cx, signal);
    }
    fn on_recovered(&mut self, cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.inner.on_recovered(cx, cwnd);
    }
    fn set_window(&mut self, cx: &mut cc::Cx<'_>, cwnd: u64) {
        self.inner.set_window(cx, cwnd);
    }
    fn on_undo(&mut self, cx: &mut cc::Cx<'_>, undo: cc::Undo) {
        self.inner.on_undo(cx, undo);
    }
    fn on_restart(&mut self, cx: &mut cc::Cx<'_>, restart: cc::Restart) {
        self.inner.on_restart(cx, restart);
    }
    fn on_wake(&mut self, cx: &mut cc::Cx<'_>) {
        self.inner.on_wake(cx);
        let Some(interval) = self.inner.interval().copied().filter(|_| !self.bridge.failed()) else { return };
        match Python::attach(|py| self.decided(py, cx, interval)) {
            Ok(Some(decision)) => {
                self.inner.on_decision(cx, &decision);
            }
            Ok(None) => {}
            Err(error) => self.bridge.fail(cx.now, Call::Decide, error),
        }
    }
    fn interval(&self) -> Option<&cc::Interval> {
        self.inner.interval()
    }
    fn control(&self) -> Control {
        self.inner.control()
    }
    fn needs(&self) -> Needs {
        self.inner.needs()
    }
}

/// An object with these numbers, and the numbers in a row.
macro_rules! interval {
    ($($name:ident: $value:expr,)*) => {
        /// [`cc::Interval`] as an object: times are seconds, sizes bytes, rates bytes per second.
        #[pyclass(frozen, get_all, module = "ackclock._ackclock")]
        pub struct Interval {
            $($name: f64,)*
        }

        /// Names of the numbers of an interval.
        pub const FIELDS: &[&str] = &[$(stringify!($name),)*];

        /// The numbers of an interval, in the order of [`FIELDS`].
        pub fn row(i: &cc::Interval) -> impl Iterator<Item = f64> {
            [$($value(i),)*].into_iter()
        }

        impl From<&cc::Interval> for Interval {
            fn from(i: &cc::Interval) -> Interval {
                Interval { $($name: $value(i),)* }
            }
        }
    };
}

interval! {
    at: |i: &cc::Interval| i.at.as_secs_f64(),
    span: |i: &cc::Interval| i.span.as_secs_f64(),
    delivered: |i: &cc::Interval| i.delivered as f64,
    lost: |i: &cc::Interval| i.lost as f64,
    sent: |i: &cc::Interval| i.sent as f64,
    marked: |i: &cc::Interval| i.marked as f64,
    acks: |i: &cc::Interval| i.acks as f64,
    rtt: |i: &cc::Interval| i.rtt * 1e-9,
    rtt_gradient: |i: &cc::Interval| i.rtt_gradient,
    samples: |i: &cc::Interval| i.samples as f64,
    srtt: |i: &cc::Interval| i.srtt.as_secs_f64(),
    min_rtt: |i: &cc::Interval| i.min_rtt.as_secs_f64(),
    max_rate: |i: &cc::Interval| i.max_rate,
    in_flight: |i: &cc::Interval| i.in_flight as f64,
    cwnd: |i: &cc::Interval| i.cwnd as f64,
    rate: |i: &cc::Interval| i.rate as f64,
    mss: |i: &cc::Interval| f64::from(i.mss),
    index: |i: &cc::Interval| i.index as f64,
}
