//! What a capture says besides its packets: how many of TCP passed each interface, and what the simulator says happened.

use crate::pcap_streams::{MANY, Stream};
use ackclock_capture::analysis::Segment;
use ackclock_capture::drive::Notes;
use ackclock_capture::reader::Record;
use arrow_array::{RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Interfaces that have a place of their own; those of SLL2 have larger numbers.
const PLACES: usize = 65_536;
/// Bytes of a comment that the simulator writes at most.
const MOST: usize = 256;

/// A packet and what its comment says.
type Told = (u64, String);

/// Takes comments to ``truth.arrow``, if that is wanted.
pub struct Comments {
    segments: Vec<u64>,
    others: BTreeMap<u32, u64>,
    section: Option<Value>,
    file: Option<Stream<Told>>,
    failed: Option<ArrowError>,
}

fn rows(told: &[Told]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter_with_nullable(vec![
        ("packet", Arc::new(UInt64Array::from_iter_values(told.iter().map(|t| t.0))) as _, false),
        ("comment", Arc::new(StringArray::from_iter_values(told.iter().map(|t| t.1.as_str()))) as _, false),
    ])
}

/// A comment of the simulator: an object, in JSON.
fn object(comment: &[u8]) -> Option<Value> {
    serde_json::from_slice(comment.get(..comment.len().min(4 * MOST))?).ok().filter(Value::is_object)
}

impl Comments {
    /// Into a folder, if there is one for them.
    pub fn create(folder: Option<&Path>) -> Result<Comments, ArrowError> {
        let file = folder.map(|folder| Stream::create(&folder.join("truth.arrow"), MANY, rows)).transpose()?;
        Ok(Comments { segments: Vec::new(), others: BTreeMap::new(), section: None, file, failed: None })
    }

    /// Packets of TCP that passed an interface.
    pub fn segments(&self, interface: u32) -> u64 {
        let place = self.segments.get(interface as usize).copied();
        place.or_else(|| self.others.get(&interface).copied()).unwrap_or(0)
    }

    /// Whether packets of TCP passed several interfaces.
    pub fn several(&self) -> bool {
        self.segments.iter().chain(self.others.values()).filter(|n| **n > 0).count() > 1
    }

    /// What the simulator says of the whole, if it wrote the file.
    pub fn section(&self) -> Option<&Value> {
        self.section.as_ref()
    }

    /// Writes what waits.
    pub fn finish(self) -> Result<(), ArrowError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.file.map_or(Ok(()), |file| file.finish().map(drop))
    }
}

impl Notes for Comments {
    fn section(&mut self, comments: &[Vec<u8>]) {
        let known = comments.iter().filter_map(|comment| object(comment));
        self.section = self.section.take().or_else(|| known.into_iter().find(|value| value.get("scenario").is_some()));
    }

    fn commented(&mut self, record: &Record<'_>, _: Option<&Segment>) {
        let Some(file) = &mut self.file else { return };
        let small = record.comments().filter(|comment| comment.len() <= MOST);
        if let Some(text) = small.filter(|c| object(c).is_some()).find_map(|c| String::from_utf8(c.to_vec()).ok()) {
            if let Err(error) = file.push((record.number, text)) {
                self.failed.get_or_insert(error);
                self.file = None;
            }
        }
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        let at = segment.interface as usize;
        if at >= PLACES {
            *self.others.entry(segment.interface).or_default() += 1;
            return;
        }
        if at >= self.segments.len() {
            self.segments.resize(at + 1, 0);
        }
        self.segments[at] += 1;
    }
}
