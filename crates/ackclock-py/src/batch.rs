//! Several runs in one piece: played one after the other, their tables as Arrow streams in bytes.
//!
//! What a sweep sends between processes and keeps on disk. A row says in its first column, `run`, which run it is of.

use crate::tables::{self, Table};
use ackclock_sim::Output;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::CompressionType;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::iter::repeat_n;
use std::sync::Arc;

type Streams<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

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
        let rows = out.flows.len() + out.links.len() + out.transfers.len() + out.series.len();
        self.numbers.push(number);
        self.runs.push(out);
        Ok((info, rows))
    }

    /// The tables as Arrow streams, in the order flows, links, transfers, series; empty where there was no run.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Streams<'py>> {
        let numbers = std::mem::take(&mut self.numbers);
        let runs = std::mem::take(&mut self.runs);
        let stream = |table: fn(&[Output]) -> PyResult<Table>, rows: fn(&Output) -> usize| -> PyResult<_> {
            if runs.is_empty() {
                return Ok(PyBytes::new(py, &[]));
            }
            let of_runs = numbers.iter().zip(&runs).flat_map(|(number, out)| repeat_n(*number, rows(out)));
            let bytes = written(&table(&runs)?.batch, UInt32Array::from_iter_values(of_runs));
            Ok(PyBytes::new(py, &bytes.map_err(|e| PyRuntimeError::new_err(e.to_string()))?))
        };
        Ok((
            stream(tables::flows, |out| out.flows.len())?,
            stream(tables::links, |out| out.links.len())?,
            stream(tables::transfers, |out| out.transfers.len())?,
            stream(tables::series, |out| out.series.len())?,
        ))
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
