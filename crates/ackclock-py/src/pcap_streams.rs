//! Rows of captures on their way to files: in batches, so that no table is ever in memory.

use crate::pcap_rows::{Names, Row, events, flows, series};
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::{Event, FlowId, Sample, Sink};
use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::ArrowError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Rows of a batch: of flows, which are wide, and of samples and events.
const FEW: usize = 2048;
pub const MANY: usize = 65_536;

/// Rows that wait for a batch, and the file that batches go to (Arrow IPC).
pub struct Stream<T> {
    rows: Vec<T>,
    batch: usize,
    make: fn(&[T]) -> Result<RecordBatch, ArrowError>,
    file: FileWriter<BufWriter<File>>,
    written: u64,
}

impl<T> Stream<T> {
    /// With a file that is there, and empty.
    pub fn create(
        path: &Path,
        batch: usize,
        make: fn(&[T]) -> Result<RecordBatch, ArrowError>,
    ) -> Result<Stream<T>, ArrowError> {
        let schema = make(&[])?.schema();
        let file = FileWriter::try_new_with_options(BufWriter::new(File::create(path)?), &schema, compressed()?)?;
        Ok(Stream { rows: Vec::with_capacity(batch), batch, make, file, written: 0 })
    }

    #[inline]
    pub fn push(&mut self, row: T) -> Result<(), ArrowError> {
        self.rows.push(row);
        if self.rows.len() >= self.batch {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ArrowError> {
        if !self.rows.is_empty() {
            self.file.write(&(self.make)(&self.rows)?)?;
            self.written += self.rows.len() as u64;
            self.rows.clear();
        }
        Ok(())
    }

    /// Writes what waits; how many rows there are.
    pub fn finish(mut self) -> Result<u64, ArrowError> {
        self.flush()?;
        self.file.finish()?;
        Ok(self.written)
    }
}

/// Connections whose rows go to files of their own, so that they can be put in order without the others.
const TOGETHER: u64 = 8192;

/// Rows of connections, which come as these end: each batch is a file, called after the place of its connections.
struct Flows {
    folder: PathBuf,
    waiting: BTreeMap<u64, Vec<Row>>,
    files: u64,
    written: u64,
}

impl Flows {
    /// Into a folder that is made, with a file that has no rows but the columns.
    fn create(folder: PathBuf) -> Result<Flows, ArrowError> {
        std::fs::create_dir(&folder)?;
        let mut made = Flows { folder, waiting: BTreeMap::new(), files: 0, written: 0 };
        made.write(0, &[])?;
        Ok(made)
    }

    fn write(&mut self, place: u64, rows: &[Row]) -> Result<(), ArrowError> {
        let path = self.folder.join(format!("{place:08}-{:08}.arrow", self.files));
        let batch = flows(rows)?;
        let mut file = FileWriter::try_new_with_options(File::create(path)?, &batch.schema(), compressed()?)?;
        if !rows.is_empty() {
            file.write(&batch)?;
        }
        self.files += 1;
        self.written += rows.len() as u64;
        file.finish()
    }

    fn push(&mut self, row: Row) -> Result<(), ArrowError> {
        let place = row.flow.id.connection / TOGETHER;
        let waiting = self.waiting.entry(place).or_default();
        waiting.push(row);
        if waiting.len() < FEW {
            return Ok(());
        }
        let rows = std::mem::take(waiting);
        self.waiting.remove(&place);
        self.write(place, &rows)
    }

    fn finish(mut self) -> Result<u64, ArrowError> {
        for (place, rows) in std::mem::take(&mut self.waiting) {
            self.write(place, &rows)?;
        }
        Ok(self.written)
    }
}

fn compressed() -> Result<IpcWriteOptions, ArrowError> {
    IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))
}

/// How many rows went into each table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    pub flows: u64,
    pub series: u64,
    pub events: u64,
}

/// Takes results of an analysis to files in a folder. After a failure nothing more is written.
pub struct Streams {
    flows: Flows,
    series: Option<Stream<Sample>>,
    events: Option<Stream<Event>>,
    /// Connections whose samples and events are wanted, where these are not all.
    only: Option<Vec<u64>>,
    /// What addresses are called.
    pub names: Names,
    failed: Option<ArrowError>,
}

impl Streams {
    /// Into files in the folder `flows`, and where they are wanted `series.arrow` and `events.arrow`.
    pub fn create(folder: &Path, with_series: bool, with_events: bool, names: Names) -> Result<Streams, ArrowError> {
        Ok(Streams {
            flows: Flows::create(folder.join("flows"))?,
            series: with_series.then(|| Stream::create(&folder.join("series.arrow"), MANY, series)).transpose()?,
            events: with_events.then(|| Stream::create(&folder.join("events.arrow"), MANY, events)).transpose()?,
            only: None,
            names,
            failed: None,
        })
    }

    /// Samples and events of these connections alone.
    pub fn of(self, only: Option<Vec<u64>>) -> Streams {
        Streams { only, ..self }
    }

    fn wants(&self, id: FlowId) -> bool {
        self.failed.is_none() && self.only.as_ref().is_none_or(|only| only.contains(&id.connection))
    }

    /// Writes what waits. The first failure there was, if there was one.
    pub fn finish(self) -> Result<(Names, Written), ArrowError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let written = Written {
            flows: self.flows.finish()?,
            series: self.series.map_or(Ok(0), Stream::finish)?,
            events: self.events.map_or(Ok(0), Stream::finish)?,
        };
        Ok((self.names, written))
    }

    fn note(&mut self, done: Result<(), ArrowError>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }
}

impl Sink for Streams {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        let [one, other] = &rows;
        // The direction with more data; as the first packet says where there are none.
        let main = usize::from(other.goodput_bytes > one.goodput_bytes);
        for (at, flow) in rows.into_iter().enumerate() {
            if self.failed.is_none() {
                let ends = [flow.source.address, flow.destination.address].map(|address| self.names.of(address));
                let done = self.flows.push(Row { flow, main: at == main, ends });
                self.note(done);
            }
        }
    }

    fn sample(&mut self, sample: Sample) {
        if self.wants(sample.id) {
            let done = self.series.as_mut().map_or(Ok(()), |series| series.push(sample));
            self.note(done);
        }
    }

    fn event(&mut self, event: Event) {
        if self.wants(event.id) {
            let done = self.events.as_mut().map_or(Ok(()), |events| events.push(event));
            self.note(done);
        }
    }
}
