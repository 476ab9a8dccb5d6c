//! Several runs in one piece: played one after the other, their tables as Arrow streams in bytes.
//!
//! What a sweep sends between processes and keeps on disk. A row says in its first column, `run`, which run it is of.

use crate::tables::Table;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::CompressionType;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// One table of several runs.
#[derive(Default)]
struct Growing {
    runs: Vec<RecordBatch>,
    numbers: Vec<u32>,
}

impl Growing {
    fn add(&mut self, number: u32, table: &Table) {
        let rows = table.batch.num_rows();
        if rows > 0 || self.runs.is_empty() {
            self.runs.push(table.batch.clone());
            self.numbers.extend(std::iter::repeat_n(number, rows));
        }
    }

    /// The table, with the numbers of the runs in front.
    fn joined(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(first) = self.runs.first() else { return Ok(None) };
        let all = concat_batches(&first.schema(), &self.runs)?;
        self.runs.clear();
        let mut fields = vec![Arc::new(Field::new("run", DataType::UInt32, false))];
        fields.extend(all.schema().fields().iter().cloned());
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(std::mem::take(&mut self.numbers)))];
        columns.extend(all.columns().iter().cloned());
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map(Some)
    }

    fn stream(&mut self) -> Result<Vec<u8>, ArrowError> {
        let Some(table) = self.joined()? else { return Ok(Vec::new()) };
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &table.schema(), options)?;
        writer.write(&table)?;
        writer.finish()?;
        writer.into_inner()
    }

    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.stream().map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

type Streams<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Runs that are kept together.
#[pyclass(module = "ackclock._ackclock")]
#[derive(Default)]
pub struct Batch {
    flows: Growing,
    links: Growing,
    transfers: Growing,
    series: Growing,
}

#[pymethods]
impl Batch {
    #[new]
    fn new() -> Batch {
        Batch::default()
    }

    /// Adds what :func:`run` returned, as run `number`.
    fn add(&mut self, py: Python<'_>, number: u32, output: PyRef<'_, crate::RunOutput>) {
        self.flows.add(number, output.flows.bind(py).get());
        self.links.add(number, output.links.bind(py).get());
        self.transfers.add(number, output.transfers.bind(py).get());
        self.series.add(number, output.series.bind(py).get());
    }

    /// The tables as Arrow streams, in the order flows, links, transfers, series; empty where there was no run.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Streams<'py>> {
        Ok((self.flows.take(py)?, self.links.take(py)?, self.transfers.take(py)?, self.series.take(py)?))
    }
}
