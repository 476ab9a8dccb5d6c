//! Several runs in one piece: played one after the other, their tables as Arrow streams in bytes.
//!
//! What a sweep sends between processes and keeps on disk. A row says in its first column, `run`, which run it is of.

use crate::cells;
use crate::pages;
use crate::tables::{self, Table};
use ackclock_sim::Output;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::iter::repeat_n;
use std::sync::Arc;

/// A table of runs.
pub struct Kind {
    /// Makes it of some runs.
    pub make: fn(&[Output]) -> PyResult<Table>,
    /// How many rows it has of a run.
    rows: fn(&Output) -> usize,
    /// It is left out where it has no rows.
    seldom: bool,
}

/// The tables: flows, links, transfers, series, pages, objects, cells, users, legs. New ones come last: what was kept before has fewer.
pub static TABLES: [Kind; 9] = [
    Kind { make: tables::flows, rows: |out| out.flows.len() - legs(out), seldom: false },
    Kind { make: tables::links, rows: |out| out.links.len(), seldom: false },
    Kind { make: tables::transfers, rows: |out| out.transfers.len(), seldom: false },
    Kind { make: tables::series, rows: |out| out.series.len(), seldom: false },
    Kind { make: pages::pages, rows: |out| out.pages.len(), seldom: true },
    Kind { make: pages::objects, rows: |out| out.objects.len(), seldom: true },
    Kind { make: cells::cells, rows: |out| out.cells.len(), seldom: true },
    Kind { make: cells::users, rows: |out| out.users.len(), seldom: true },
    Kind { make: tables::legs, rows: legs, seldom: true },
];

fn legs(out: &Output) -> usize {
    out.flows.iter().filter(|f| f.leg.is_some()).count()
}

/// A run as an engine that is a process of its own hands it over.
#[derive(serde::Deserialize)]
struct Played {
    output: Output,
    emulation: serde_json::Value,
}

/// Runs that are kept together.
#[pyclass(module = "ackclock._ackclock")]
#[derive(Default)]
pub struct Batch {
    numbers: Vec<u32>,
    runs: Vec<Output>,
}

#[pymethods]
impl Batch {
    #[new]
    fn new() -> Batch {
        Batch::default()
    }

    /// Plays a resolved run as :func:`run` does, and keeps it as run `number`. Returns what it cost, as JSON, and its
    /// rows in all tables.
    #[pyo3(signature = (number, resolved, controllers=None))]
    fn run(
        &mut self,
        py: Python<'_>,
        number: u32,
        resolved: &str,
        controllers: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(String, usize)> {
        let (out, info) = crate::played(py, resolved, controllers)?;
        let rows = TABLES.iter().map(|kind| (kind.rows)(&out)).sum();
        self.numbers.push(number);
        self.runs.push(out);
        Ok((info, rows))
    }

    /// Keeps a run that another engine has played as run `number`: `played` is its JSON, `output` the tables and
    /// `emulation` how it went. Returns what it cost, as JSON, and its rows in all tables.
    fn add(&mut self, number: u32, played: &str, wall_s: f64) -> PyResult<(String, usize)> {
        let Played { output, emulation } = serde_json::from_str(played).map_err(crate::json_error)?;
        let mut info: serde_json::Value =
            serde_json::from_str(&crate::info(&output, wall_s)).map_err(crate::json_error)?;
        info["emulation"] = emulation;
        let rows = TABLES.iter().map(|kind| (kind.rows)(&output)).sum();
        self.numbers.push(number);
        self.runs.push(output);
        Ok((info.to_string(), rows))
    }

    /// The tables as Arrow streams, in the order of [`TABLES`]; empty where there was no run, and one that is seldom where
    /// it has no rows.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let numbers = std::mem::take(&mut self.numbers);
        let runs = std::mem::take(&mut self.runs);
        let stream = |kind: &Kind| -> PyResult<_> {
            if runs.is_empty() || (kind.seldom && runs.iter().all(|out| (kind.rows)(out) == 0)) {
                return Ok(PyBytes::new(py, &[]));
            }
            let of_runs = numbers.iter().zip(&runs).flat_map(|(number, out)| repeat_n(*number, (kind.rows)(out)));
            let bytes = written(&(kind.make)(&runs)?.batch, UInt32Array::from_iter_values(of_runs));
            Ok(PyBytes::new(py, &bytes.map_err(|e| PyRuntimeError::new_err(e.to_string()))?))
        };
        TABLES.iter().map(stream).collect()
    }
}

/// A table as a stream, with a column `run` in front.
fn written(table: &RecordBatch, of_runs: UInt32Array) -> Result<Vec<u8>, ArrowError> {
    let mut fields = vec![Arc::new(Field::new("run", DataType::UInt32, false))];
    fields.extend(table.schema().fields().iter().cloned());
    let mut columns: Vec<ArrayRef> = vec![Arc::new(of_runs)];
    columns.extend(table.columns().iter().cloned());
    let whole = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &whole.schema(), options)?;
    writer.write(&whole)?;
    writer.finish()?;
    writer.into_inner()
}
