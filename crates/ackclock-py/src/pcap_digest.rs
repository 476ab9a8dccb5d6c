//! What the summary of a capture shows, found while the capture is read: no table is written for it.

use crate::pcap_rows::{Names, Row, flows};
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::{Event, Sample, Sink};
use ackclock_core::packet::Address;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections that are kept until all have come: which of them another interface saw, too, shows only at the end.
const KEPT: usize = 1024;
/// Percentiles of RTT, and the columns that have them.
const PERCENTILES: [(u64, &str); 3] = [(50, "p50_rtt_s"), (95, "p95_rtt_s"), (99, "p99_rtt_s")];

/// What was seen at an interface: connections, and bytes by where it was.
#[derive(Default)]
struct Seen {
    connections: u64,
    bytes: BTreeMap<&'static str, u64>,
}

/// Counts connections, and keeps the largest of them.
pub struct Digest<'a> {
    /// Connections that are shown.
    most: usize,
    rows: Vec<FlowRow>,
    carrying: u64,
    seen: BTreeMap<u32, Seen>,
    names: Names,
    /// Whether rows were left out, so that those which another interface saw, too, cannot be told any more.
    cut: bool,
    /// Said when reading on is in vain.
    stop: &'a AtomicBool,
}

/// Whether a row counts.
fn carries(row: &FlowRow) -> bool {
    row.goodput_bytes > 0 || row.sent_bytes > 0
}

/// The largest first; of several that are equal in the order of their first packets.
fn size(row: &FlowRow) -> (Reverse<u64>, u64) {
    (Reverse(row.goodput_bytes), row.id.connection)
}

impl<'a> Digest<'a> {
    /// Of the `most` largest connections. Where these cannot be told without a table, `stop` is set.
    pub fn new(most: usize, names: Names, stop: &'a AtomicBool) -> Digest<'a> {
        Digest { most, rows: Vec::new(), carrying: 0, seen: BTreeMap::new(), names, cut: false, stop }
    }

    fn keep(&mut self, most: usize) {
        self.rows.retain(carries);
        if self.rows.len() > most {
            self.rows.select_nth_unstable_by_key(most, size);
            self.rows.truncate(most);
        }
    }

    /// Whether it is known before the end that a table is needed.
    pub fn in_vain(&self) -> bool {
        self.cut && self.seen.len() > 1
    }

    /// What was found, if a table is not needed for it. `several`: packets of TCP passed several interfaces.
    pub fn finish(mut self, several: bool) -> Result<(Names, Option<Value>), ArrowError> {
        if several && self.cut {
            return Ok((self.names, None));
        }
        if several {
            leave_out_what_others_saw_better(&mut self.rows);
            self.carrying = self.rows.iter().filter(|row| carries(row)).count() as u64;
        }
        self.keep(self.most);
        self.rows.sort_unstable_by_key(|row| row.id.connection);
        let names = &mut self.names;
        let named = |row: FlowRow| {
            let ends = [row.source.address, row.destination.address].map(|address| names.of(address));
            Row { flow: row, main: true, ends }
        };
        let rows: Vec<Row> = self.rows.into_iter().map(named).collect();
        let interfaces: Vec<Value> = self.seen.iter().map(|(number, seen)| place(*number, seen)).collect();
        let found =
            json!({ "carrying": self.carrying, "interfaces": interfaces, "rows": objects(&flows(&rows)?, &rows) });
        Ok((self.names, Some(found)))
    }
}

impl Sink for Digest<'_> {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        self.names.note(rows.iter().flat_map(|row| [row.source.address, row.destination.address]));
        let [one, other] = rows;
        let row = if other.goodput_bytes > one.goodput_bytes { other } else { one };
        let seen = self.seen.entry(row.interface).or_default();
        seen.connections += 1;
        if let Some(vantage) = row.vantage {
            *seen.bytes.entry(vantage).or_default() += row.sent_bytes;
        }
        self.carrying += u64::from(carries(&row));
        self.rows.push(row);
        let most = self.most.max(KEPT);
        if self.rows.len() >= 2 * most {
            self.cut = true;
            self.keep(most);
        }
        if self.in_vain() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn sample(&mut self, _: Sample) {}

    fn event(&mut self, _: Event) {}
}

/// An interface: from where most of its bytes were seen, of several that are equal the last word.
fn place(number: u32, seen: &Seen) -> Value {
    let vantage = seen.bytes.iter().max_by_key(|(_, bytes)| **bytes).map(|(vantage, _)| *vantage);
    json!({ "interface": number, "connections": seen.connections, "vantage": vantage })
}

type Ends = [(Address, u16); 2];

/// The ends of a connection, whoever of them sends.
fn ends(row: &FlowRow) -> Ends {
    let mut both = [row.source, row.destination].map(|end| (end.address, end.port));
    both.sort_unstable();
    both
}

/// How near to the sender.
fn nearness(row: &FlowRow) -> usize {
    let places = ["sender", "middle", "receiver"];
    row.vantage.and_then(|vantage| places.iter().position(|place| *place == vantage)).unwrap_or(places.len())
}

/// Leaves of the connections with the same ends, and packets at the same time, those of the interface that is nearest to
/// the sender.
fn leave_out_what_others_saw_better(rows: &mut Vec<FlowRow>) {
    let mut of: BTreeMap<Ends, Vec<FlowRow>> = BTreeMap::new();
    for row in rows.drain(..) {
        of.entry(ends(&row)).or_default().push(row);
    }
    for mut alike in of.into_values() {
        alike.sort_by_key(|row| row.start);
        let mut turns: Vec<Vec<FlowRow>> = Vec::new();
        let mut until = None;
        for row in alike {
            let last = until.map_or(row.end, |until: i64| until.max(row.end));
            match turns.last_mut().filter(|_| until.is_some_and(|until| row.start <= until)) {
                Some(turn) => turn.push(row),
                None => turns.push(vec![row]),
            }
            until = Some(last);
        }
        for turn in turns {
            let best = turn.iter().min_by_key(|row| (nearness(row), row.interface)).map(|row| row.interface);
            rows.extend(turn.into_iter().filter(|row| Some(row.interface) == best));
        }
    }
}

/// Rows of a table as objects, without percentiles of too few samples: with fewer, these are just the largest.
fn objects(batch: &RecordBatch, rows: &[Row]) -> Vec<Value> {
    let schema = batch.schema();
    let mut found: Vec<Map<String, Value>> = rows.iter().map(|_| Map::new()).collect();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        for (at, object) in found.iter_mut().enumerate() {
            object.insert(field.name().clone(), cell(column.as_ref(), at));
        }
    }
    for (object, row) in found.iter_mut().zip(rows) {
        for (percent, name) in PERCENTILES {
            if row.flow.rtt_samples * (100 - percent) < 100 {
                object.insert(name.to_owned(), Value::Null);
            }
        }
    }
    found.into_iter().map(Value::Object).collect()
}

fn cell(column: &dyn Array, at: usize) -> Value {
    if column.is_null(at) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Boolean => column.as_boolean().value(at).into(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(at).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).into(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(at).into(),
        DataType::Utf8 => column.as_string::<i32>().value(at).into(),
        _ => Value::Null,
    }
}
