//! One simulation that Python drives: stopped between events, asked, and told what controllers shall do.

use crate::controller::{self, Failure, Maker};
use crate::tables::{self, Table};
use crate::{RunOutput, build, interrupted, value_error};
use ackclock_core::cc::{Decision, Pacing};
use ackclock_core::time::Time;
use ackclock_run::spec::relay::legs;
use ackclock_sim::probe::{Owner, metric_name};
use ackclock_sim::snapshot::{FlowState, LinkState};
use ackclock_sim::step::{Refused, Stop};
use ackclock_sim::{Run, Sim};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

/// Bytes of a window, and bytes per second, beyond which a number is a mistake: no link is faster (its `rate_bps` is at
/// most as many bits per second).
const MOST: f64 = 1e15;

/// A decision as Python gives it: what is none stays as it is, a rate of zero ends pacing, a threshold that is infinite is
/// none.
pub fn decision(cwnd: Option<f64>, ssthresh: Option<f64>, rate: Option<f64>) -> Result<Decision, String> {
    let bytes = |name: &str, value: Option<f64>| match value {
        // A conversion to whole bytes truncates, and infinity becomes the largest.
        Some(x) if (0.0..=MOST).contains(&x) || (name == "ssthresh" && x == f64::INFINITY) => Ok(Some(x as u64)),
        Some(x) if x > MOST => Err(format!(
            "{name} is {x:e}; it must be at most {MOST:e} bytes{}",
            if name == "rate" { " per second" } else { "" }
        )),
        Some(x) => Err(format!("{name} is {x}; it must be zero or more")),
        None => Ok(None),
    };
    let rate = bytes("rate", rate)?;
    let pacing = rate.map(|rate| if rate == 0 { Pacing::Off } else { Pacing::Rate(rate) });
    Ok(Decision { cwnd: bytes("cwnd", cwnd)?, ssthresh: bytes("ssthresh", ssthresh)?, pacing, wake_at: None })
}

pub fn refused(why: Refused) -> PyErr {
    PyValueError::new_err(why.to_string())
}

/// The run was asked while it is being played.
fn busy() -> PyErr {
    PyValueError::new_err("the run is being played; ask it when the call that plays it has returned")
}

fn finished() -> PyErr {
    PyValueError::new_err("the run is finished; make a new one")
}

/// A run that is stepped.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub struct Stepper {
    /// None once it is finished.
    sim: Mutex<Option<Sim>>,
    flows: Vec<String>,
    /// Which of them are legs of others.
    legs: BTreeSet<usize>,
    links: Vec<String>,
    failure: Failure,
    in_python: bool,
}

impl Stepper {
    /// The simulation, unless it is being played: by another thread, or by a controller in Python that asks from within.
    fn locked(&self) -> Option<MutexGuard<'_, Option<Sim>>> {
        match self.sim.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does something with the simulation, without the interpreter lock unless its controllers need it.
    fn with<R: Send>(&self, py: Python<'_>, f: impl Send + FnOnce(&mut Sim) -> R) -> PyResult<R> {
        let work = || self.locked().map(|mut sim| sim.as_mut().map(f));
        let done = if self.in_python { work() } else { py.detach(work) };
        let Some(done) = done else { return Err(busy()) };
        if let Some(failed) = self.failure.take() {
            return Err(controller::raised(py, failed));
        }
        done.ok_or_else(finished)
    }

    fn flow(&self, flow: usize) -> PyResult<usize> {
        if flow < self.flows.len() {
            return Ok(flow);
        }
        Err(refused(Refused::NoFlow(self.flows.len(), flow)))
    }
}

#[pymethods]
impl Stepper {
    #[new]
    #[pyo3(signature = (resolved, controllers=None))]
    fn new(py: Python<'_>, resolved: &str, controllers: Option<&Bound<'_, PyDict>>) -> PyResult<Stepper> {
        let spec = Run::from_json(resolved).map_err(value_error)?;
        let mut maker = Maker::new(py, controllers);
        let sim = build(py, &spec, &mut maker)?;
        Ok(Stepper {
            sim: Mutex::new(Some(sim)),
            flows: spec.flows.iter().map(|f| f.id.clone()).collect(),
            legs: legs(&spec).into_keys().collect(),
            links: spec.links.iter().map(|l| l.id.clone()).collect(),
            failure: maker.failure.clone(),
            in_python: controller::any(&spec),
        })
    }

    /// Names of the flows.
    #[getter]
    fn flows(&self) -> Vec<String> {
        self.flows.clone()
    }

    /// Names of the links.
    #[getter]
    fn links(&self) -> Vec<String> {
        self.links.clone()
    }

    /// The time that the run has come to, and its end, ns.
    #[getter]
    fn times(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |sim| (sim.now().0, sim.end().0))
    }

    /// When the next event is, ns.
    #[getter]
    fn next_event(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |sim| sim.next_event().map(|at| at.0))
    }

    /// Handles one event.
    fn step(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |sim| sim.step().map(|at| at.0))
    }

    /// Plays up to a time, ns, or until a controller is woken: why it stopped, and whose controller.
    #[pyo3(signature = (until, wakes))]
    fn play(&self, py: Python<'_>, until: Option<u64>, wakes: bool) -> PyResult<(&'static str, Option<usize>)> {
        let until = until.map_or(Time::NEVER, Time);
        let mut signal = None;
        let stop = self.with(py, |sim| {
            loop {
                let stop = sim.play_until(until, || {
                    signal = Python::attach(|py| py.check_signals().err());
                    signal.is_some() || self.failure.happened()
                });
                match stop {
                    Ok(Stop::Wake(_) | Stop::Closed(_)) if !wakes => {}
                    other => return other,
                }
            }
        })?;
        Ok(match stop.map_err(|_| signal.unwrap_or_else(interrupted))? {
            Stop::Time => ("time", None),
            Stop::Wake(flow) => ("wake", Some(flow)),
            Stop::Closed(flow) => ("closed", Some(flow)),
            Stop::End => ("end", None),
        })
    }

    /// Decides for the controller of a flow.
    #[pyo3(signature = (flow, cwnd=None, ssthresh=None, rate=None, wake_at=None))]
    fn decide(
        &self,
        py: Python<'_>,
        flow: usize,
        cwnd: Option<f64>,
        ssthresh: Option<f64>,
        rate: Option<f64>,
        wake_at: Option<u64>,
    ) -> PyResult<()> {
        let decision = decision(cwnd, ssthresh, rate).map_err(PyValueError::new_err)?;
        let decision = Decision { wake_at: wake_at.map(Time), ..decision };
        self.with(py, |sim| sim.decide(flow, &decision))?.map_err(refused)
    }

    /// A flow as it stands.
    fn flow_state<'py>(&self, py: Python<'py>, flow: usize) -> PyResult<Bound<'py, PyDict>> {
        let flow = self.flow(flow)?;
        let FlowState {
            established,
            completed,
            failed,
            received,
            acknowledged,
            sent,
            retransmitted,
            lost,
            marked,
            recoveries,
            timeouts,
            cwnd,
            ssthresh,
            pacing_rate,
            in_flight,
            srtt,
            min_rtt,
            rtt_total,
            phase,
        } = self.with(py, |sim| sim.flow_state(flow))?;
        let d = PyDict::new(py);
        d.set_item("established", established)?;
        d.set_item("completed", completed)?;
        d.set_item("failed", failed)?;
        d.set_item("received", received)?;
        d.set_item("acknowledged", acknowledged)?;
        d.set_item("sent", sent)?;
        d.set_item("retransmitted", retransmitted)?;
        d.set_item("lost", lost)?;
        d.set_item("marked", marked)?;
        d.set_item("recoveries", recoveries)?;
        d.set_item("timeouts", timeouts)?;
        d.set_item("cwnd", cwnd)?;
        d.set_item("ssthresh", (ssthresh != u64::MAX).then_some(ssthresh))?;
        d.set_item("pacing_rate", pacing_rate)?;
        d.set_item("in_flight", in_flight)?;
        d.set_item("srtt", srtt.as_secs_f64())?;
        d.set_item("min_rtt", min_rtt.as_secs_f64())?;
        let (sum, samples) = rtt_total;
        d.set_item("mean_rtt", (samples > 0).then(|| sum as f64 / samples as f64 * 1e-9))?;
        d.set_item("rtt_samples", samples)?;
        d.set_item("phase", controller::views::phase_name(phase))?;
        Ok(d)
    }

    /// A link as it stands.
    fn link_state<'py>(&self, py: Python<'py>, link: usize) -> PyResult<Bound<'py, PyDict>> {
        if link >= self.links.len() {
            let problem = format!("a run of {} links has no link {link}", self.links.len());
            return Err(PyValueError::new_err(problem));
        }
        let LinkState { queue, queue_bytes, sent, drops } = self.with(py, |sim| sim.link_state(link))?;
        let d = PyDict::new(py);
        d.set_item("queue", queue)?;
        d.set_item("queue_bytes", queue_bytes)?;
        d.set_item("sent", sent)?;
        d.set_item("drops", drops)?;
        Ok(d)
    }

    /// What the controller of a flow measured up to its last waking.
    fn interval(&self, py: Python<'_>, flow: usize) -> PyResult<Option<controller::agent::Interval>> {
        let flow = self.flow(flow)?;
        self.with(py, |sim| sim.interval(flow).map(controller::agent::Interval::from))
    }

    /// The samples recorded since the last call.
    fn drain(&self, py: Python<'_>) -> PyResult<Table> {
        let samples = self.with(py, Sim::drain_series)?;
        tables::samples(samples.iter().map(|s| {
            // Those of cells and users come when the run is over.
            let (of, of_flows) = (s.of as usize, metric_name(s.metric).1 == Owner::Flow);
            let names = if of_flows { &self.flows } else { &self.links };
            (s, names[of].as_str().into(), of_flows && self.legs.contains(&of))
        }))
    }

    /// Plays the rest and yields the tables; the run is gone after it.
    fn finish(&self, py: Python<'_>) -> PyResult<RunOutput> {
        let begun = Instant::now();
        let mut signal = None;
        let played = self.with(py, |sim| {
            sim.run(|| {
                signal = Python::attach(|py| py.check_signals().err());
                signal.is_some() || self.failure.happened()
            })
        })?;
        played.map_err(|_| signal.unwrap_or_else(interrupted))?;
        let sim = self.locked().ok_or_else(busy)?.take().ok_or_else(finished)?;
        Ok(RunOutput::of(sim.output(), begun.elapsed().as_secs_f64()))
    }
}
