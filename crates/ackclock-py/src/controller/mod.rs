//! Controllers written in Python. The engine knows them as it knows every other: by the trait.

pub mod agent;
mod bridge;
mod law;
pub mod under_way;
pub mod views;
mod whole;

use crate::events::Call;
use crate::recorder::{Log, Recorder};
use ackclock_core::cc::{CongestionControl, Needs, WindowBased};
use ackclock_core::tcp::Profile;
use ackclock_core::time::Time;
use ackclock_sim::endpoint;
use ackclock_sim::spec::{self, Run, SpecError};
use bridge::{Bridge, Failed};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use under_way::UnderWay;

pub use bridge::Failure;

pyo3::create_exception!(
    _ackclock,
    ControllerFailure,
    pyo3::exceptions::PyException,
    "A Python controller raised; args are controller, flow, time in ns and method, the cause is its exception."
);

/// How the names of controllers in Python begin.
const PREFIX: &str = "python:";

/// Whether a run has controllers in Python.
pub fn any(run: &Run) -> bool {
    run.flows.iter().any(|f| f.cc.name.starts_with(PREFIX))
}

/// The error for Python's caller.
pub fn raised(py: Python<'_>, failed: Failed) -> PyErr {
    if failed.error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return failed.error;
    }
    let error = ControllerFailure::new_err((failed.controller, failed.flow, failed.at.0, failed.call));
    error.set_cause(py, Some(failed.error));
    error
}

/// Makes the controllers of a run: those of the registry, and those in Python from their classes.
pub struct Maker<'py> {
    /// Name to class.
    classes: Bound<'py, PyDict>,
    pub failure: Failure,
    /// What the last flow's controller needs: its server's endpoint is told the same.
    needs: Needs,
    /// The flow whose controller is recorded, what that event says of its run, and where it is written.
    pub record: Option<Recording>,
}

/// What to record.
pub struct Recording {
    pub flow: String,
    pub seed: u64,
    pub run: u64,
    pub log: Log,
}

impl<'py> Maker<'py> {
    /// With the classes that Python gave.
    pub fn new(py: Python<'py>, classes: Option<&Bound<'py, PyDict>>) -> Maker<'py> {
        let classes = classes.map_or_else(|| PyDict::new(py), Clone::clone);
        Maker { classes, failure: Failure::default(), needs: Needs::default(), record: None }
    }

    /// Makes the controllers of connections that are opened during the run.
    pub fn later(&self) -> ackclock_sim::host::Maker {
        let (classes, failure, mut needs) = (self.classes.clone().unbind(), self.failure.clone(), self.needs);
        Box::new(move |flow, server, profile, path| {
            Python::attach(|py| {
                let classes = classes.bind(py).clone();
                let mut maker = Maker { classes, failure: failure.clone(), needs, record: None };
                let made = maker.make(flow, server, profile, path);
                needs = maker.needs;
                made
            })
        })
    }

    /// The controller of one end of a flow, recorded if it is the one to record.
    pub fn make(
        &mut self,
        flow: &spec::Flow,
        server: bool,
        profile: Profile,
        path: &str,
    ) -> Result<Box<dyn CongestionControl>, SpecError> {
        let controller = self.plain(flow, server, profile, path)?;
        match &self.record {
            Some(r) if !server && r.flow == flow.id => {
                let (cc, flow) = (flow.cc.name.clone(), flow.id.clone());
                let created = Call::Create { cc, flow, seed: r.seed, run: r.run };
                Ok(Box::new(Recorder::new(controller, r.log.clone(), created)))
            }
            _ => Ok(controller),
        }
    }

    fn plain(
        &mut self,
        flow: &spec::Flow,
        server: bool,
        profile: Profile,
        path: &str,
    ) -> Result<Box<dyn CongestionControl>, SpecError> {
        if !flow.cc.name.starts_with(PREFIX) {
            return endpoint::controller(flow, profile, path);
        }
        if server {
            return Ok(Box::new(whole::Passive { needs: self.needs, cwnd: 0 }));
        }
        let slow_start = endpoint::slow_start(flow, profile, path)?;
        let attempt = || -> PyResult<Option<Box<dyn CongestionControl>>> {
            let py = self.classes.py();
            let Some(class) = self.classes.get_item(&flow.cc.name)? else { return Ok(None) };
            let params = serde_json::to_string(&flow.cc.params).unwrap_or_default();
            let params = py.import("json")?.call_method1("loads", (params,))?;
            let under_way = wrap_pyfunction!(under_way::calls_under_way, py)?;
            py.import("ackclock.controllers.endless")?.call_method1("watch", (under_way,))?;
            let calls = UnderWay::new();
            let object = calls.during(py, || class.call((), Some(params.cast::<PyDict>()?)))?;
            let kind: String = object.getattr("kind")?.extract()?;
            let bridge = Bridge::new(&object, &flow.cc.name, &flow.id, &self.failure, calls)?;
            Ok(Some(if kind == "agent" {
                Box::new(agent::Agent::new(&object, bridge, slow_start)?)
            } else if kind == "law" {
                let law = law::Law::new(py, bridge)?;
                let lent = law.lent();
                Box::new(law::Framed { frame: WindowBased::new(Box::new(law), slow_start, false), lent })
            } else {
                Box::new(whole::Whole::new(py, bridge)?)
            }))
        };
        let problem = |text: String| SpecError { path: format!("{path}.cc"), problem: text };
        match attempt() {
            Ok(Some(controller)) => {
                self.needs = controller.needs();
                Ok(controller)
            }
            Ok(None) => Err(problem(format!("no class was given for '{}'", flow.cc.name))),
            Err(error) => {
                let text = error.to_string();
                let (controller, flow) = (flow.cc.name.clone(), flow.id.clone());
                self.failure.note(Failed { controller, flow, at: Time::ZERO, call: "__init__", error });
                Err(problem(text))
            }
        }
    }
}

/// A stand-in for [`Maker::make`] that makes no objects: for checks.
pub fn check(flow: &spec::Flow, profile: Profile, path: &str) -> Result<Box<dyn CongestionControl>, SpecError> {
    if !flow.cc.name.starts_with(PREFIX) {
        return endpoint::controller(flow, profile, path);
    }
    endpoint::slow_start(flow, profile, path)?;
    Ok(Box::new(whole::Passive { needs: Needs::default(), cwnd: 0 }))
}
