//! Calls into one Python controller, and what becomes of its exceptions.

use super::under_way::UnderWay;
use super::views::{Ack, Cx, Lent};
use ackclock_core::cc::{self, EcnUse, Needs, Pacing, RecoveryBy};
use ackclock_core::time::{Span, Time};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What went wrong, where and when.
pub struct Failed {
    pub controller: String,
    pub flow: String,
    pub at: Time,
    pub call: &'static str,
    pub error: PyErr,
}

/// The first exception of a run. Once there is one, no controller is called any more.
#[derive(Clone, Default)]
pub struct Failure(Arc<(AtomicBool, Mutex<Option<Failed>>)>);

impl Failure {
    /// Whether there is one.
    pub fn happened(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Takes it.
    pub fn take(&self) -> Option<Failed> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes it, if it is the first.
    pub fn note(&self, failed: Failed) {
        if !self.0.0.swap(true, Ordering::Relaxed) {
            *self.0.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
        }
    }
}

/// The methods that a controller may have.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Start,
    Observe,
    OnAck,
    OnCongestion,
    OnPhase,
    OnRecovered,
    SetWindow,
    OnUndo,
    OnRestart,
    OnTransmitStart,
    OnLimitedStart,
    OnLost,
    OnWake,
    Decide,
    Grow,
    Reduce,
    SlowStart,
    Phase,
    Recovered,
    Undo,
    Resume,
    TransmitStart,
}

const NAMES: [&str; 22] = [
    "start",
    "observe",
    "on_ack",
    "on_congestion",
    "on_phase",
    "on_recovered",
    "set_window",
    "on_undo",
    "on_restart",
    "on_transmit_start",
    "on_limited_start",
    "on_lost",
    "on_wake",
    "decide",
    "grow",
    "reduce",
    "slow_start",
    "phase",
    "recovered",
    "undo",
    "resume",
    "transmit_start",
];

/// A Python controller, its methods looked up once, and the objects it is called with.
pub struct Bridge {
    object: Py<PyAny>,
    methods: [Option<Py<PyAny>>; NAMES.len()],
    cx: Py<Cx>,
    ack: Py<Ack>,
    name: String,
    flow: String,
    failure: Failure,
    calls: Arc<UnderWay>,
    pub lent: Lent,
}

impl Bridge {
    /// Looks up the methods of `object`. Those that do nothing are left out.
    pub fn new(
        object: &Bound<'_, PyAny>,
        name: &str,
        flow: &str,
        failure: &Failure,
        calls: Arc<UnderWay>,
    ) -> PyResult<Bridge> {
        let py = object.py();
        let lent = Lent::default();
        let mut methods = [const { None }; NAMES.len()];
        for (slot, name) in methods.iter_mut().zip(NAMES) {
            let method = object.getattr_opt(name)?;
            *slot = method.filter(|m| !m.hasattr("does_nothing").unwrap_or(false)).map(Bound::unbind);
        }
        Ok(Bridge {
            object: object.clone().unbind(),
            methods,
            cx: Py::new(py, Cx::new(lent.clone()))?,
            ack: Py::new(py, Ack::default())?,
            name: name.to_owned(),
            flow: flow.to_owned(),
            failure: failure.clone(),
            calls,
            lent,
        })
    }

    /// Whether the controller has a method of its own.
    pub fn has(&self, call: Call) -> bool {
        self.methods[call as usize].is_some()
    }

    /// Whether the run has failed.
    pub fn failed(&self) -> bool {
        self.failure.happened()
    }

    /// Ends the run with an exception.
    pub fn fail(&self, at: Time, call: Call, error: PyErr) {
        let (controller, flow) = (self.name.clone(), self.flow.clone());
        self.failure.note(Failed { controller, flow, at, call: NAMES[call as usize], error });
    }

    /// Calls a method; none when it does nothing or raises.
    #[inline]
    pub fn call<'py, A: PyCallArgs<'py>>(
        &self,
        py: Python<'py>,
        at: Time,
        call: Call,
        args: A,
    ) -> Option<Bound<'py, PyAny>> {
        let method = self.methods[call as usize].as_ref()?;
        match self.calls.during(py, || method.bind(py).call1(args)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(at, call, error);
                None
            }
        }
    }

    /// The context as an object: the last one, unless the controller has kept it.
    #[inline]
    pub fn cx<'py>(&mut self, py: Python<'py>, cx: &cc::Cx<'_>) -> PyResult<Bound<'py, Cx>> {
        if kept(self.cx.as_ptr()) {
            self.cx = Py::new(py, Cx::new(self.lent.clone()))?;
        }
        let object = self.cx.bind(py);
        object.borrow_mut().take(cx);
        Ok(object.clone())
    }

    /// The acknowledgment as an object, likewise.
    #[inline]
    pub fn ack<'py>(&mut self, py: Python<'py>, ack: &cc::Ack) -> PyResult<Bound<'py, Ack>> {
        if kept(self.ack.as_ptr()) {
            self.ack = Py::new(py, Ack::default())?;
        }
        let object = self.ack.bind(py);
        object.borrow_mut().0 = *ack;
        Ok(object.clone())
    }

    /// The window and threshold, in the unit that the controller counts in. A threshold of None is none yet.
    #[inline]
    pub fn window(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let object = self.object.bind(py);
        let cwnd = number(object.getattr(intern!(py, "cwnd"))?, "cwnd")?;
        let ssthresh = object.getattr(intern!(py, "ssthresh"))?;
        Ok((cwnd, if ssthresh.is_none() { f64::INFINITY } else { number(ssthresh, "ssthresh")? }))
    }

    /// The same after an event: from the start on there is a window, and it has an end.
    #[inline]
    pub fn decided(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let (cwnd, ssthresh) = self.window(py)?;
        if cwnd > 0.0 && cwnd < f64::INFINITY {
            return Ok((cwnd, ssthresh));
        }
        Err(PyValueError::new_err(format!("cwnd is {cwnd}; it must be above zero and finite")))
    }

    /// Tells the controller its window.
    pub fn set_cwnd(&self, py: Python<'_>, cwnd: f64) -> PyResult<()> {
        self.object.bind(py).setattr(intern!(py, "cwnd"), cwnd)
    }

    /// Tells it its threshold.
    pub fn set_ssthresh(&self, py: Python<'_>, ssthresh: f64) -> PyResult<()> {
        self.object.bind(py).setattr(intern!(py, "ssthresh"), ssthresh)
    }

    /// How it wants segments spread: None, bytes per second, or an object with `percent`.
    #[inline]
    pub fn pacing(&self, py: Python<'_>) -> PyResult<Pacing> {
        let value = self.object.bind(py).getattr(intern!(py, "pacing"))?;
        if value.is_none() {
            return Ok(Pacing::Off);
        }
        if let Some(percent) = value.getattr_opt(intern!(py, "percent"))? {
            return Ok(Pacing::ByWindow { percent: number(percent, "pacing.percent")? as u32 });
        }
        Ok(Pacing::Rate(number(value, "pacing")? as u64))
    }

    /// When it wants to be woken, seconds; None is never.
    #[inline]
    pub fn wake_at(&self, py: Python<'_>) -> PyResult<Time> {
        let value = self.object.bind(py).getattr(intern!(py, "wake_at"))?;
        if value.is_none() {
            return Ok(Time::NEVER);
        }
        Ok(Time(Span::from_secs_f64(number(value, "wake_at")?).0))
    }

    /// What it says it needs of the endpoint.
    pub fn needs(&self, py: Python<'_>) -> PyResult<Needs> {
        let object = self.object.bind(py);
        let text = |name| object.getattr(name).and_then(|v| v.extract::<String>());
        let (ecn, ect1) = match text("ecn")?.as_str() {
            "classic" => (EcnUse::Classic, false),
            "dctcp" => (EcnUse::Dctcp, false),
            "l4s" => (EcnUse::Accurate, true),
            other => return Err(PyValueError::new_err(format!("ecn is 'classic', 'dctcp' or 'l4s', not '{other}'"))),
        };
        let recovery = match text("recovery")?.as_str() {
            "endpoint" => RecoveryBy::Endpoint,
            "slow_start" => RecoveryBy::SlowStart,
            "controller" => RecoveryBy::Controller,
            other => {
                let problem = format!("recovery is 'endpoint', 'slow_start' or 'controller', not '{other}'");
                return Err(PyValueError::new_err(problem));
            }
        };
        Ok(Needs {
            observe: self.has(Call::Observe),
            rate: self.flag(py, "wants_rate")?,
            ecn,
            ect1,
            recovery,
            ..Needs::default()
        })
    }

    /// An attribute that is true or false.
    pub fn flag(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.object.bind(py).getattr(name)?.is_truthy()
    }
}

/// Whether somebody else has a reference to an object of ours.
#[inline]
fn kept(object: *mut pyo3::ffi::PyObject) -> bool {
    // SAFETY: the object is alive, as the caller holds a reference, and the interpreter lock is held.
    unsafe { pyo3::ffi::Py_REFCNT(object) > 1 }
}

/// A number of at least zero.
#[inline]
pub fn number(value: Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    let wrong = |_| PyTypeError::new_err(format!("{what} is {value}, which is not a number"));
    let x: f64 = value.extract().map_err(wrong)?;
    if x >= 0.0 {
        return Ok(x);
    }
    Err(PyValueError::new_err(format!("{what} is {x}; it must be zero or more")))
}
