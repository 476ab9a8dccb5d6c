//! Python's view of the engine: JSON in, Arrow tables out. The only crate that knows Python.

mod batch;
mod capture;
mod catalogue;
mod cells;
mod controller;
mod events;
mod fleet;
mod pages;
mod pcap;
mod pcap_digest;
mod pcap_notes;
mod pcap_rows;
mod pcap_streams;
mod recorder;
mod stepping;
mod tables;

use ackclock_sim::spec::Flow;
use ackclock_sim::{Output, Run, Sim, SpecError};
use controller::{ControllerFailure, Failure, Maker, Recording, views};
use events::Event;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use recorder::{Log, Replayer};
use std::slice;
use std::time::Instant;
use tables::Table;

fn value_error(e: SpecError) -> PyErr {
    PyValueError::new_err(e.to_string())
}

fn json_error(e: serde_json::Error) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// A finished run.
#[pyclass(frozen, module = "ackclock._ackclock")]
struct RunOutput {
    out: Output,
    /// JSON: `events`, `packets`, `wall_s`, `warnings`, `measures`: triples of flow, name and value.
    #[pyo3(get)]
    info: String,
}

/// Its tables, made when they are asked for.
#[pymethods]
impl RunOutput {
    /// One row per flow.
    #[getter]
    fn flows(&self) -> PyResult<Table> {
        tables::flows(slice::from_ref(&self.out))
    }

    /// One row per link.
    #[getter]
    fn links(&self) -> PyResult<Table> {
        tables::links(slice::from_ref(&self.out))
    }

    /// A row per transfer: file, finite bulk flow or request.
    #[getter]
    fn transfers(&self) -> PyResult<Table> {
        tables::transfers(slice::from_ref(&self.out))
    }

    /// A row per web page.
    #[getter]
    fn pages(&self) -> PyResult<Table> {
        pages::pages(slice::from_ref(&self.out))
    }

    /// A row per object of a page, where applications keep them.
    #[getter]
    fn objects(&self) -> PyResult<Table> {
        pages::objects(slice::from_ref(&self.out))
    }

    /// A row per radio cell.
    #[getter]
    fn cells(&self) -> PyResult<Table> {
        cells::cells(slice::from_ref(&self.out))
    }

    /// A row per user of a cell.
    #[getter]
    fn users(&self) -> PyResult<Table> {
        cells::users(slice::from_ref(&self.out))
    }

    /// A row per leg of a flow that is split.
    #[getter]
    fn legs(&self) -> PyResult<Table> {
        tables::legs(slice::from_ref(&self.out))
    }

    /// One row per sample: time_s, kind, id, metric, value.
    #[getter]
    fn series(&self) -> PyResult<Table> {
        tables::series(slice::from_ref(&self.out))
    }
}

/// Plays one resolved run (docs/resolved-run.md). Releases the interpreter lock unless a controller is written in
/// Python; `controllers` has the classes of those by name. Ctrl-C raises KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (resolved, controllers=None))]
fn run(py: Python<'_>, resolved: &str, controllers: Option<&Bound<'_, PyDict>>) -> PyResult<RunOutput> {
    let (out, info) = played(py, resolved, controllers)?;
    Ok(RunOutput { out, info })
}

/// What a run cost, as JSON.
fn info(out: &Output, wall_s: f64) -> String {
    let flow = |number: u32| out.flows.get(number as usize).map_or("", |f| f.id.as_str());
    let measures: Vec<_> = out.measures.iter().map(|m| (flow(m.flow), m.name.as_ref(), m.value)).collect();
    let info = serde_json::json!({
        "events": out.events, "packets": out.packets, "wall_s": wall_s, "warnings": out.warnings, "measures": measures,
    });
    info.to_string()
}

impl RunOutput {
    fn of(out: Output, wall_s: f64) -> RunOutput {
        RunOutput { info: info(&out, wall_s), out }
    }
}

/// What a resolved run yields, and what it cost, as JSON.
fn played(py: Python<'_>, resolved: &str, controllers: Option<&Bound<'_, PyDict>>) -> PyResult<(Output, String)> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    let mut maker = Maker::new(py, controllers);
    let mut sim = build(py, &spec, &mut maker)?;
    let begun = Instant::now();
    let out = if controller::any(&spec) {
        play(py, &mut sim, &maker.failure)?;
        sim.output()
    } else {
        play_detached(py, sim)?
    };
    let info = info(&out, begun.elapsed().as_secs_f64());
    Ok((out, info))
}

/// The tables of no run, in the order of [`batch::TABLES`].
#[pyfunction]
fn empty_tables() -> PyResult<Vec<Table>> {
    batch::TABLES.iter().map(|kind| (kind.make)(&[])).collect()
}

/// The network of a run with its controllers.
fn build(py: Python<'_>, spec: &Run, maker: &mut Maker<'_>) -> PyResult<Sim> {
    let failure = maker.failure.clone();
    let built = Sim::new_with(spec, &mut |flow, server, profile, path| maker.make(flow, server, profile, path));
    let mut sim =
        built.map_err(|e| failure.take().map_or_else(|| value_error(e), |failed| controller::raised(py, failed)))?;
    if controller::any(spec) {
        sim.set_maker(maker.later());
    }
    Ok(sim)
}

/// Plays a run whose controllers call Python: the lock is held all the time, as taking it anew for every call costs
/// more than the call. Python itself gives other threads their turn while a controller runs.
fn play(py: Python<'_>, sim: &mut Sim, failure: &Failure) -> PyResult<()> {
    let mut signal = None;
    let outcome = sim.run(|| {
        signal = py.check_signals().err();
        signal.is_some() || failure.happened()
    });
    if let Some(failed) = failure.take() {
        return Err(controller::raised(py, failed));
    }
    outcome.map_err(|_| signal.unwrap_or_else(interrupted))
}

/// Plays a run without Python.
fn play_detached(py: Python<'_>, mut sim: Sim) -> PyResult<Output> {
    let played = py.detach(move || {
        let mut signal = None;
        let outcome = sim.run(|| {
            // A signal handler that raises ends the run; its exception is the one to report.
            signal = Python::attach(|py| py.check_signals().err());
            signal.is_some()
        });
        match outcome {
            Ok(()) => Ok(sim.output()),
            Err(_) => Err(signal),
        }
    });
    played.map_err(|e| e.unwrap_or_else(interrupted))
}

fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err("interrupted")
}

/// Plays a run and returns what the controller of `flow` was told and decided: JSON, one event each.
#[pyfunction]
#[pyo3(signature = (resolved, flow, controllers=None))]
fn record(
    py: Python<'_>,
    resolved: &str,
    flow: String,
    controllers: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    let mut maker = Maker::new(py, controllers);
    let log = Log::default();
    maker.record = Some(Recording { flow, seed: spec.seed, run: spec.run, log: log.clone() });
    let mut sim = build(py, &spec, &mut maker)?;
    if controller::any(&spec) {
        play(py, &mut sim, &maker.failure)?;
    } else {
        play_detached(py, sim)?;
    }
    log.take().iter().map(|event| serde_json::to_string(event).map_err(json_error)).collect()
}

/// Tells the controller of `flow` (as in a resolved run) what was recorded, and returns what it decided: JSON each.
#[pyfunction]
#[pyo3(signature = (events, flow, controllers=None))]
fn replay(
    py: Python<'_>,
    events: Vec<String>,
    flow: &str,
    controllers: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let flow: Flow = serde_json::from_str(flow).map_err(json_error)?;
    let (profile, _) = ackclock_sim::endpoint::config(&flow, "flow").map_err(value_error)?;
    let mut maker = Maker::new(py, controllers);
    let failure = maker.failure.clone();
    let made = maker.make(&flow, false, profile, "flow");
    let made = made.map_err(|e| failure.take().map_or_else(|| value_error(e), |failed| controller::raised(py, failed)));
    let mut replayer = Replayer::new(made?);
    let mut decisions = Vec::with_capacity(events.len());
    for (line, text) in events.iter().enumerate() {
        let event: Event = serde_json::from_str(text)
            .map_err(|e| PyValueError::new_err(format!("event {line} cannot be read: {e}")))?;
        let control = events::Control::from(replayer.event(&event));
        if let Some(failed) = failure.take() {
            return Err(controller::raised(py, failed));
        }
        decisions.push(serde_json::to_string(&control).map_err(json_error)?);
        if line % 4096 == 0 {
            py.check_signals()?;
        }
    }
    Ok(decisions)
}

/// Bytes of memory that a resolved run needs at most, roughly.
#[pyfunction]
fn estimate_bytes(resolved: &str) -> PyResult<u64> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    Sim::estimate_bytes(&spec).map_err(value_error)
}

/// Checks a resolved run without playing it, and returns the warnings that can be given beforehand.
#[pyfunction]
fn validate(resolved: &str) -> PyResult<Vec<String>> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    let found = Sim::check_with(&spec, &mut |f, _, profile, path| controller::check(f, profile, path));
    Ok(found.map_err(value_error)?.iter().map(ToString::to_string).collect())
}

/// Everything the engine knows by name, as JSON: profiles, endpoint options, controllers, slow starts, series.
#[pyfunction]
fn describe() -> String {
    catalogue::everything().to_string()
}

/// All endpoint options of `profile` for `controller`, with `overrides` (JSON) applied, as JSON.
#[pyfunction]
fn resolve_tcp(profile: &str, overrides: &str, controller: &str) -> PyResult<String> {
    let tcp = serde_json::from_str(overrides).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let flow = serde_json::json!({
        "id": "0", "forward": [], "reverse": [], "start": {"at_ns": 0}, "app": {"kind": "bulk"}, "mss": 1,
        "profile": profile, "tcp": serde_json::Value::Object(tcp), "cc": {"name": controller},
    });
    let flow: Flow = serde_json::from_value(flow).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let (_, config) = ackclock_sim::endpoint::config(&flow, "flow").map_err(value_error)?;
    Ok(catalogue::config(&config).to_string())
}

#[pymodule]
fn _ackclock(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<RunOutput>()?;
    m.add_class::<batch::Batch>()?;
    m.add_class::<pcap::Captures>()?;
    m.add_class::<stepping::Stepper>()?;
    m.add_class::<fleet::Fleet>()?;
    m.add_class::<controller::agent::Interval>()?;
    m.add_class::<Table>()?;
    m.add_class::<views::Cx>()?;
    m.add_class::<views::Ack>()?;
    m.add_class::<views::RateSample>()?;
    m.add_class::<views::Signal>()?;
    m.add_class::<views::Undo>()?;
    m.add_class::<views::Restart>()?;
    m.add_class::<views::Lost>()?;
    m.add("ControllerFailure", m.py().get_type::<ControllerFailure>())?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(capture::capture, m)?)?;
    m.add_function(wrap_pyfunction!(empty_tables, m)?)?;
    m.add_function(wrap_pyfunction!(record, m)?)?;
    m.add_function(wrap_pyfunction!(replay, m)?)?;
    m.add_function(wrap_pyfunction!(estimate_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(validate, m)?)?;
    m.add_function(wrap_pyfunction!(describe, m)?)?;
    m.add_function(wrap_pyfunction!(resolve_tcp, m)?)?;
    Ok(())
}
