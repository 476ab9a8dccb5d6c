//! Python's view of the engine: JSON in, Arrow tables out. The only crate that knows Python.

mod catalogue;
mod tables;

use ackclock_sim::spec::Flow;
use ackclock_sim::{Output, Run, Sim, SpecError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use std::time::Instant;
use tables::Table;

fn value_error(e: SpecError) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// The tables of one run.
#[pyclass(frozen, module = "ackclock._ackclock")]
struct RunOutput {
    #[pyo3(get)]
    flows: Py<Table>,
    #[pyo3(get)]
    links: Py<Table>,
    #[pyo3(get)]
    series: Py<Table>,
    /// JSON: `events`, `packets`, `wall_s`, `warnings`.
    #[pyo3(get)]
    info: String,
}

/// Plays one resolved run (docs/resolved-run.md). Releases the interpreter lock; Ctrl-C raises KeyboardInterrupt.
#[pyfunction]
fn run(py: Python<'_>, resolved: &str) -> PyResult<RunOutput> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    let mut sim = Sim::new(&spec).map_err(value_error)?;
    let begun = Instant::now();
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
    let wall_s = begun.elapsed().as_secs_f64();
    let out: Output = played.map_err(|e| e.unwrap_or_else(|| PyKeyboardInterrupt::new_err("interrupted")))?;
    let info = serde_json::json!({
        "events": out.events, "packets": out.packets, "wall_s": wall_s, "warnings": out.warnings,
    });
    Ok(RunOutput {
        flows: Py::new(py, tables::flows(&out)?)?,
        links: Py::new(py, tables::links(&out)?)?,
        series: Py::new(py, tables::series(&out)?)?,
        info: info.to_string(),
    })
}

/// Bytes of memory that a resolved run needs at most, roughly.
#[pyfunction]
fn estimate_bytes(resolved: &str) -> PyResult<u64> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    Sim::estimate_bytes(&spec).map_err(value_error)
}

/// Checks a resolved run without playing it.
#[pyfunction]
fn validate(resolved: &str) -> PyResult<()> {
    let spec = Run::from_json(resolved).map_err(value_error)?;
    Sim::new(&spec).map(|_| ()).map_err(value_error)
}

/// Everything the engine knows by name, as JSON: profiles, endpoint options, controllers, slow starts, series.
#[pyfunction]
fn describe() -> String {
    catalogue::everything().to_string()
}

/// All endpoint options of `profile` with `overrides` (JSON) applied, as JSON.
#[pyfunction]
fn resolve_tcp(profile: &str, overrides: &str) -> PyResult<String> {
    let tcp = serde_json::from_str(overrides).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let flow = serde_json::json!({
        "id": "0", "forward": [], "reverse": [], "start": {"at_ns": 0}, "app": {"kind": "bulk"}, "mss": 1,
        "profile": profile, "tcp": serde_json::Value::Object(tcp), "cc": {"name": "reno"},
    });
    let flow: Flow = serde_json::from_value(flow).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let (_, config) = ackclock_sim::build::endpoint_config(&flow, "flow").map_err(value_error)?;
    Ok(catalogue::config(&config).to_string())
}

#[pymodule]
fn _ackclock(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<RunOutput>()?;
    m.add_class::<Table>()?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(estimate_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(validate, m)?)?;
    m.add_function(wrap_pyfunction!(describe, m)?)?;
    m.add_function(wrap_pyfunction!(resolve_tcp, m)?)?;
    Ok(())
}
