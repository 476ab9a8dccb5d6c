//! Tables of runs as Arrow record batches, handed to Python without copying (Arrow PyCapsule interface).

use ackclock_core::queue::Reason;
use ackclock_run::output::FlowRow;
use ackclock_run::rows::{DatagramRow, TransfersRow};
use ackclock_sim::Output;
use ackclock_sim::probe::{METRICS, Owner, Sample, metric_name};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::borrow::Cow;
use std::sync::Arc;

/// A table that any Arrow library can take (`polars.DataFrame(table)`).
#[pyclass(frozen, module = "ackclock._ackclock")]
pub struct Table {
    pub batch: RecordBatch,
}

#[pymethods]
impl Table {
    /// The Arrow C stream of this table.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the schema it is asked for.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

pub(crate) fn table(columns: Vec<(&str, ArrayRef, bool)>) -> PyResult<Table> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns);
    Ok(Table { batch: batch.map_err(|e| PyRuntimeError::new_err(e.to_string()))? })
}

pub(crate) fn text<'a>(it: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(it))
}

pub(crate) fn ints(it: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(it))
}

pub(crate) fn floats(it: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(it))
}

pub(crate) fn some_floats(it: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(it.collect::<Float64Array>())
}

/// The flows of runs, one after the other, without legs.
pub fn flows(outs: &[Output]) -> PyResult<Table> {
    table(of_flows(|| outs.iter().flat_map(|out| out.flows.iter().filter(|f| f.leg.is_none()))))
}

/// The legs of flows that are split: the columns of flows, with the flow and the end that it leads to.
pub fn legs(outs: &[Output]) -> PyResult<Table> {
    let r = || outs.iter().flat_map(|out| out.flows.iter().filter_map(move |f| f.leg.map(|leg| (out, f, leg))));
    let mut columns = of_flows(|| r().map(|(_, f, _)| f));
    let whole = text(r().map(|(out, _, (whole, _))| out.flows.get(whole as usize).map_or("", |f| f.id.as_str())));
    let which = text(r().map(|(_, _, (_, which))| ["source", "sink"][usize::from(which > 0)]));
    columns.splice(1..1, [("flow", whole, false), ("leg", which, false)]);
    table(columns)
}

fn of_flows<'a, I: Iterator<Item = &'a FlowRow>>(r: impl Fn() -> I) -> Vec<(&'static str, ArrayRef, bool)> {
    let datagrams = |f: fn(&DatagramRow) -> u64| -> ArrayRef {
        Arc::new(r().map(|row| row.datagrams.as_ref().map(f)).collect::<UInt64Array>())
    };
    let transfers = |f: fn(&TransfersRow) -> u64| -> ArrayRef {
        Arc::new(r().map(|row| row.transfers.as_ref().map(f)).collect::<UInt64Array>())
    };
    let delay = |i: usize| some_floats(r().map(move |f| Some(f.delay_s?[i])));
    let fct = |i: usize| some_floats(r().map(move |f| Some(f.transfers?.fct_s?[i])));
    vec![
        ("id", text(r().map(|f| f.id.as_str())), false),
        ("app", text(r().map(|f| f.app.as_ref())), false),
        ("cc", text(r().map(|f| f.cc.as_str())), false),
        ("start_s", floats(r().map(|f| f.start_s)), false),
        ("end_s", some_floats(r().map(|f| f.end_s)), true),
        ("goodput_bps", floats(r().map(|f| f.goodput_bps)), false),
        ("goodput_bytes", ints(r().map(|f| f.goodput_bytes)), false),
        ("sent_bytes", ints(r().map(|f| f.sent_bytes)), false),
        ("retransmitted_bytes", ints(r().map(|f| f.retransmitted_bytes)), false),
        ("sent_segments", ints(r().map(|f| f.sent_segments)), false),
        ("retransmitted_segments", ints(r().map(|f| f.retransmitted_segments)), false),
        ("timeouts", ints(r().map(|f| f.timeouts)), false),
        ("recoveries", ints(r().map(|f| f.recoveries)), false),
        ("spurious_timeouts", ints(r().map(|f| f.spurious_timeouts)), false),
        ("undos", ints(r().map(|f| f.undos)), false),
        ("tlp_probes", ints(r().map(|f| f.tlp_probes)), false),
        ("dsacks", ints(r().map(|f| f.dsacks)), false),
        ("marked_segments", ints(r().map(|f| f.marked_segments)), false),
        ("ecn_reductions", Arc::new(r().map(|f| f.ecn_reductions).collect::<UInt64Array>()), true),
        ("path_rtt_s", floats(r().map(|f| f.path_rtt_s)), false),
        ("mean_rtt_s", some_floats(r().map(|f| f.mean_rtt_s)), true),
        ("min_rtt_s", some_floats(r().map(|f| f.min_rtt_s)), true),
        ("max_rtt_s", some_floats(r().map(|f| f.max_rtt_s)), true),
        ("mean_cwnd_bytes", floats(r().map(|f| f.mean_cwnd_bytes)), false),
        ("acks", ints(r().map(|f| f.acks)), false),
        ("dup_acks", Arc::new(r().map(|f| f.dup_acks).collect::<UInt64Array>()), true),
        ("start_estimate_bps", some_floats(r().map(|f| f.start_estimate_bps)), true),
        ("start_ssthresh_bytes", Arc::new(r().map(|f| f.start_ssthresh_bytes).collect::<UInt64Array>()), true),
        ("fct_s", some_floats(r().map(|f| f.fct_s)), true),
        ("completed", Arc::new(r().map(|f| Some(f.completed)).collect::<BooleanArray>()), false),
        ("failed", Arc::new(r().map(|f| f.failed.as_deref()).collect::<StringArray>()), true),
        ("received_packets", Arc::new(r().map(|f| f.received_packets).collect::<UInt64Array>()), true),
        ("lost_packets", datagrams(|d| d.lost), true),
        ("in_flight_packets", datagrams(|d| d.in_flight), true),
        ("mean_delay_s", delay(0), true),
        ("p50_delay_s", delay(1), true),
        ("p95_delay_s", delay(2), true),
        ("p99_delay_s", delay(3), true),
        ("transfers", transfers(|t| t.begun), true),
        ("transfers_completed", transfers(|t| t.completed), true),
        ("mean_fct_s", fct(0), true),
        ("p50_fct_s", fct(1), true),
        ("p95_fct_s", fct(2), true),
        ("p99_fct_s", fct(3), true),
    ]
}

/// The transfers of runs, one after the other.
pub fn transfers(outs: &[Output]) -> PyResult<Table> {
    let r = || outs.iter().flat_map(|out| &out.transfers);
    let id = outs.iter().flat_map(|out| out.transfers.iter().map(|t| out.flows[t.flow as usize].id.as_str()));
    table(vec![
        ("id", text(id), false),
        ("index", ints(r().map(|t| t.index)), false),
        ("start_s", floats(r().map(|t| t.start_s)), false),
        ("end_s", some_floats(r().map(|t| t.end_s)), true),
        ("bytes", ints(r().map(|t| t.bytes)), false),
        ("fct_s", some_floats(r().map(|t| t.fct_s)), true),
        ("slowdown", some_floats(r().map(|t| t.slowdown)), true),
    ])
}

/// Columns of drops and of marks by reason. A queue without room, an age limit and a policer never mark.
pub(crate) const BY_REASON: [(&str, Option<&str>, Reason); Reason::ALL.len()] = [
    ("drops_full", None, Reason::Full),
    ("drops_threshold", Some("marks_threshold"), Reason::Threshold),
    ("drops_early", Some("marks_early"), Reason::Early),
    ("drops_delay", Some("marks_delay"), Reason::Delay),
    ("drops_age", None, Reason::Age),
    ("drops_policed", None, Reason::Policed),
];

/// The links of runs, one run after the other.
pub fn links(outs: &[Output]) -> PyResult<Table> {
    let r = || outs.iter().flat_map(|out| &out.links);
    let delay = |i: usize| some_floats(r().map(move |l| l.queue_delay_s.map(|d| d[i])));
    let low = |i: usize| some_floats(r().map(move |l| l.l_queue_delay_s.map(|d| d[i])));
    let l_packets: ArrayRef = Arc::new(r().map(|l| l.l_packets).collect::<UInt64Array>());
    let rate: ArrayRef = Arc::new(r().map(|l| l.rate_bps).collect::<UInt64Array>());
    let mut columns = vec![
        ("id", text(r().map(|l| l.id.as_str())), false),
        ("rate_bps", rate, true),
        ("utilisation", some_floats(r().map(|l| l.utilisation)), true),
        ("arrived_packets", ints(r().map(|l| l.arrived_packets)), false),
        ("sent_packets", ints(r().map(|l| l.sent_packets)), false),
        ("sent_bytes", ints(r().map(|l| l.sent_bytes)), false),
        ("drops", ints(r().map(|l| l.drops)), false),
        ("marks", ints(r().map(|l| l.marks)), false),
        ("lost", ints(r().map(|l| l.lost)), false),
        ("duplicated", ints(r().map(|l| l.duplicated)), false),
        ("mean_queue_packets", floats(r().map(|l| l.mean_queue_packets)), false),
        ("mean_queue_bytes", floats(r().map(|l| l.mean_queue_bytes)), false),
        ("max_queue_packets", ints(r().map(|l| l.max_queue_packets)), false),
        ("max_queue_bytes", ints(r().map(|l| l.max_queue_bytes)), false),
        ("mean_queue_delay_s", delay(0), true),
        ("p50_queue_delay_s", delay(1), true),
        ("p95_queue_delay_s", delay(2), true),
        ("p99_queue_delay_s", delay(3), true),
        ("l_packets", l_packets, true),
        ("mean_l_queue_delay_s", low(0), true),
        ("p50_l_queue_delay_s", low(1), true),
        ("p95_l_queue_delay_s", low(2), true),
        ("p99_l_queue_delay_s", low(3), true),
    ];
    for (dropped, marked, reason) in BY_REASON {
        columns.push((dropped, ints(r().map(|l| l.drops_by_reason[reason as usize])), false));
        if let Some(marked) = marked {
            columns.push((marked, ints(r().map(|l| l.marks_by_reason[reason as usize])), false));
        }
    }
    table(columns)
}

/// A dictionary column: small integers that name one of `words`.
fn words<'a>(keys: impl Iterator<Item = i8>, words: impl Iterator<Item = &'a str>) -> PyResult<ArrayRef> {
    let array = DictionaryArray::<Int8Type>::try_new(Int8Array::from_iter_values(keys), text(words));
    Ok(Arc::new(array.map_err(|e| PyRuntimeError::new_err(e.to_string()))?))
}

/// The names of the owners of samples, in the order of [`Owner`].
const OWNERS: [&str; 5] = ["flow", "link", "cell", "user", "leg"];

/// The place of the last of them: a leg has the series of a flow.
const LEG: i8 = 4;

/// What a sample is of. A user is called after its cell and its number there.
fn sampled<'a>(out: &'a Output, sample: &Sample) -> Cow<'a, str> {
    let of = sample.of as usize;
    match metric_name(sample.metric).1 {
        Owner::Flow => out.flows[of].id.as_str().into(),
        Owner::Link => out.links[of].id.as_str().into(),
        Owner::Cell => out.cells[of].id.as_str().into(),
        Owner::User => format!("{}.{}", out.users[of].cell, out.users[of].user).into(),
    }
}

/// The series of runs, one run after the other.
pub fn series(outs: &[Output]) -> PyResult<Table> {
    let is_leg = |out: &Output, s: &Sample| {
        metric_name(s.metric).1 == Owner::Flow && out.flows.get(s.of as usize).is_some_and(|f| f.leg.is_some())
    };
    samples(outs.iter().flat_map(|out| out.series.iter().map(move |s| (s, sampled(out, s), is_leg(out, s)))))
}

/// Samples with the names of what they are of, and whether that is a leg.
pub fn samples<'a>(r: impl Iterator<Item = (&'a Sample, Cow<'a, str>, bool)> + Clone) -> PyResult<Table> {
    let kinds = r.clone().map(|(s, _, leg)| if leg { LEG } else { metric_name(s.metric).1 as i8 });
    let id = StringArray::from_iter_values(r.clone().map(|(_, name, _)| name));
    table(vec![
        ("time_s", floats(r.clone().map(|(s, ..)| s.at.as_secs_f64())), false),
        ("kind", words(kinds, OWNERS.into_iter())?, false),
        ("id", Arc::new(id), false),
        ("metric", words(r.clone().map(|(s, ..)| s.metric as i8), (0..METRICS).map(|m| metric_name(m).0))?, false),
        ("value", floats(r.map(|(s, ..)| s.value)), false),
    ])
}
