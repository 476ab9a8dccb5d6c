//! Captures, analysed: from a file to tables in a folder, or to what a summary shows; in another thread, so that Ctrl-C is
//! heard meanwhile.

use crate::pcap_digest::Digest;
use crate::pcap_notes::Comments;
use crate::pcap_rows::Names;
use crate::pcap_streams::{Streams, Written};
use ackclock_capture::analysis::{RttRule, Settings};
use ackclock_capture::drive::{self, Summary};
use ackclock_capture::reader::Fault;
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often signals are looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// What is wanted of a capture: a dictionary.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    series: bool,
    events: bool,
    /// Connections whose samples and events are kept. Default: all.
    only: Option<Vec<u64>>,
    merge_interfaces: bool,
    /// Take round trip times as senders do.
    as_sender: bool,
    sort: usize,
    max_bytes: Option<u64>,
    /// Count segments with wrong checksums.
    checksums: bool,
    /// Keep what the simulator says in comments.
    truth: bool,
}

impl Options {
    fn drive(&self) -> drive::Options {
        drive::Options {
            settings: Settings {
                series: self.series,
                events: self.events,
                merge_interfaces: self.merge_interfaces,
                rule: if self.as_sender { RttRule::Sender } else { RttRule::Latest },
                ..Settings::default()
            },
            sort: self.sort,
            most_bytes: self.max_bytes,
            checksums: self.checksums,
        }
    }
}

/// Why there is no result.
enum Failure {
    /// The file cannot be read at all.
    Input(String),
    /// The system refused it.
    System(io::Error),
    /// The tables could not be written.
    Output(ArrowError),
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Failure {
        Failure::Output(error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        match fault {
            Fault::Io(error) => Failure::System(error),
            other => Failure::Input(other.to_string()),
        }
    }
}

/// Bytes of a file until somebody gives up.
struct Interruptible<'a, R> {
    from: R,
    stop: &'a AtomicBool,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.from.read(into)
    }
}

/// Captures that are analysed together: addresses are called the same in all of them.
#[pyclass(module = "ackclock._ackclock")]
pub struct Captures {
    names: Option<Names>,
}

#[pymethods]
impl Captures {
    #[new]
    #[pyo3(signature = (anonymise=false))]
    fn new(anonymise: bool) -> Captures {
        Captures { names: Some(Names::new(anonymise)) }
    }

    /// Analyses the capture in `file` ("-": standard input) into tables in `folder`: files in ``flows`` and, if `options` (a dict:
    /// `series`, `events`, `only`, `truth`, `merge_interfaces`, `as_sender`, `sort`, `max_bytes`, `checksums`) says so, ``series.arrow``,
    /// ``events.arrow`` and ``truth.arrow``. Returns what is known of the file. ValueError for what is no capture, OSError for
    /// a file that cannot be read, RuntimeError where the tables cannot be written.
    fn analyse<'py>(
        &mut self,
        py: Python<'py>,
        file: &str,
        folder: &str,
        options: Options,
    ) -> PyResult<Bound<'py, PyAny>> {
        let names = self.names.take().unwrap_or_default();
        let work = |stop: &AtomicBool| to_tables(file, Path::new(folder), &options, names, stop);
        let (names, known) = interruptibly(py, work)?;
        self.names = Some(names);
        object(py, &known)
    }

    /// Analyses the capture in `file` as far as its summary needs: returns what :meth:`analyse` does, with ``digest``: how many
    /// connections carry data (``carrying``), of each interface its connections and where it was (``interfaces``), and the
    /// ``rows`` of ``flows`` of the `most` largest connections. ``digest`` is null where that takes a table: of many
    /// connections at several interfaces.
    fn summarise<'py>(
        &mut self,
        py: Python<'py>,
        file: &str,
        most: usize,
        options: Options,
    ) -> PyResult<Bound<'py, PyAny>> {
        let names = self.names.take().unwrap_or_default();
        let (names, known) = interruptibly(py, |stop: &AtomicBool| to_digest(file, most, &options, names, stop))?;
        self.names = Some(names);
        object(py, &known)
    }
}

/// A value as Python has it: without a module that reads JSON, which takes longer to load than a small capture.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (None, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(object(py, item)?))?;
            list.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(name, entry)| dict.set_item(name, object(py, entry)?))?;
            dict.into_any()
        }
    })
}

/// What `work` does in another thread. What it is given says when somebody has given up.
fn interruptibly<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let outcome = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let stopped = &stop;
            scope.spawn(move || {
                let _ = sender.send(work(stopped));
            });
            loop {
                match receiver.recv_timeout(PATIENCE) {
                    Ok(done) => return Ok(done),
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(raised) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            return Err(raised);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err("the analysis ended without an answer"));
                    }
                }
            }
        })
    });
    outcome?.map_err(raised)
}

fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::Input(problem) => PyValueError::new_err(problem),
        Failure::System(error) => match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        Failure::Output(error) => PyRuntimeError::new_err(error.to_string()),
    }
}

/// The bytes of a file.
fn opened(file: &str) -> Result<Box<dyn Read>, Failure> {
    Ok(if file == "-" { Box::new(io::stdin()) } else { Box::new(File::open(file).map_err(Failure::System)?) })
}

fn to_tables(
    file: &str,
    folder: &Path,
    options: &Options,
    names: Names,
    stop: &AtomicBool,
) -> Result<(Names, Value), Failure> {
    let from = Interruptible { from: opened(file)?, stop };
    let mut streams = Streams::create(folder, options.series, options.events, names)?.of(options.only.clone());
    let mut notes = Comments::create(options.truth.then_some(folder))?;
    let summary = drive::analyse_noting(from, &options.drive(), &mut streams, &mut notes)?;
    let (names, rows) = streams.finish()?;
    let known = known(&summary, rows, &notes);
    notes.finish()?;
    Ok((names, known))
}

fn to_digest(
    file: &str,
    most: usize,
    options: &Options,
    names: Names,
    stop: &AtomicBool,
) -> Result<(Names, Value), Failure> {
    let from = Interruptible { from: opened(file)?, stop };
    let mut digest = Digest::new(most, names, stop);
    let mut notes = Comments::create(None)?;
    let read = drive::analyse_noting(from, &options.drive(), &mut digest, &mut notes);
    if digest.in_vain() {
        return Ok((Names::default(), json!({ "digest": null })));
    }
    let mut known = known(&read?, Written::default(), &notes);
    let (names, found) = digest.finish(notes.several())?;
    known["digest"] = found.unwrap_or(Value::Null);
    Ok((names, known))
}

/// What is known of a file, as Python takes it.
fn known(summary: &Summary, rows: Written, notes: &Comments) -> Value {
    let skipped: Map<String, Value> =
        summary.skipped().map(|(skip, n)| (format!("skipped_{}", skip.name()), n.into())).collect();
    let interfaces: Vec<Value> = summary
        .interfaces
        .iter()
        .map(|(number, of)| {
            json!({
                "interface": number, "name": of.name, "link_type": of.link, "packets": of.packets,
                "segments": notes.segments(*number), "drops": of.drops,
            })
        })
        .collect();
    json!({
        "first_ns": summary.times.map(|times| times.0),
        "last_ns": summary.times.map(|times| times.1),
        "truncated": summary.truncated.map(|cut| cut.to_string()),
        "packets": summary.packets,
        "malformed": summary.malformed,
        "checksums": summary.checksums.map(|(seen, _)| seen),
        "wrong_checksums": summary.checksums.map(|(_, wrong)| wrong),
        "skipped": skipped,
        "connections": summary.connections,
        "rows": { "flows": rows.flows, "series": rows.series, "events": rows.events },
        "interfaces": interfaces,
        "truth": notes.section(),
    })
}
