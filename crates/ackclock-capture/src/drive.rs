//! From a file to rows: every packet read, its segment found and analysed.

use crate::analysis::sink::Sink;
use crate::analysis::{Analyzer, Segment, Settings, TOGETHER};
use crate::reader::order::Order;
use crate::reader::{Capture, Cut, Decoder, Fault, Interface, MOST_INTERFACES, Record, Skip, blank};
use std::io::Read;

/// How a file is read and analysed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What the analysis is to find.
    pub settings: Settings,
    /// Segments that are kept back to be analysed in the order of their times; 0 for the order of the file.
    pub sort: usize,
    /// Most bytes of the unpacked file that are read; none for all.
    pub most_bytes: Option<u64>,
    /// Whether the checksums of segments that were captured whole are looked at.
    pub checksums: bool,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// Sections; a file of the classic format is one.
    pub sections: u32,
    /// Bytes that were read, unpacked.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// TCP segments in them.
    pub segments: u64,
    /// Packets that carry none that could be analysed, by [`Skip`]; see [`Summary::skipped`].
    skipped: [u64; Skip::ALL.len()],
    /// Packets with headers that contradict themselves.
    pub malformed: u64,
    /// Packets that are earlier than one before them.
    pub time_back: u64,
    /// Packets that have no time: each has that of the packet before it.
    pub timeless: u64,
    /// Segments whose checksum was looked at, and those of them whose checksum is wrong; none if nobody asked.
    pub checksums: Option<(u64, u64)>,
    /// Connections.
    pub connections: u64,
    /// Earliest and latest time of a packet, ns since the epoch.
    pub times: Option<(i64, i64)>,
    /// Where and why the file was not read to its end.
    pub truncated: Option<Cut>,
    /// Interfaces, with the numbers that rows have.
    pub interfaces: Vec<(u32, Interface)>,
}

impl Summary {
    /// Packets that carry no segment which could be analysed, by reason; only reasons that there are.
    pub fn skipped(&self) -> impl Iterator<Item = (Skip, u64)> + '_ {
        Skip::ALL.into_iter().zip(self.skipped).filter(|(_, n)| *n > 0)
    }

    /// The interface that has this number in rows and segments.
    pub fn interface(&self, number: u32) -> Option<&Interface> {
        let at = self.interfaces.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.interfaces.get(at).map(|(_, of)| of)
    }
}

/// What else can be known of a file while it is read. Everything has an answer that does nothing.
pub trait Notes {
    /// A section begins, with these comments as the file has them. The classic format has none.
    fn section(&mut self, _comments: &[Vec<u8>]) {}
    /// An interface, before any packet of it. `packets` and `drops` are not known yet.
    fn interface(&mut self, _number: u32, _interface: &Interface) {}
    /// A packet that has comments, or options at least: [`Record::comments`]; and its segment, if it is analysed.
    fn commented(&mut self, _record: &Record<'_>, _segment: Option<&Segment>) {}
    /// A segment, in the order in which they are analysed.
    fn segment(&mut self, _segment: &Segment) {}
}

impl Notes for () {}

/// Analyses a capture of any format that is known. Rows go to `sink`.
///
/// # Errors
/// It is no capture, or the system cannot read it. A file that ends early or is damaged is no error: what came before is
/// analysed, and [`Summary::truncated`] says so.
pub fn analyse<R: Read, S: Sink>(from: R, options: &Options, sink: &mut S) -> Result<Summary, Fault> {
    analyse_noting(from, options, sink, &mut ())
}

/// The same, telling `notes` what the rows do not have.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_noting<R: Read, S: Sink, N: Notes>(
    from: R,
    options: &Options,
    sink: &mut S,
    notes: &mut N,
) -> Result<Summary, Fault> {
    let mut capture = Capture::open(from, options.most_bytes)?;
    let mut decoder = Decoder::new(options.checksums);
    let mut end = End {
        analyzer: Analyzer::new(sink, options.settings),
        order: (options.sort > 0).then(|| Order::new(options.sort)),
        segments: 0,
        notes,
        together: std::array::from_fn(|_| blank()),
        filled: 0,
    };
    let mut known = Known::default();
    let mut times: Option<(i64, i64)> = None;
    let mut skipped = [0; Skip::ALL.len() + 1];
    while capture.advance()? {
        let record = capture.record();
        if known.sections != capture.sections() || known.described != capture.interfaces().len() {
            known.tell(&capture, end.notes);
        }
        let (earliest, latest) = times.get_or_insert((record.time, record.time));
        (*earliest, *latest) = ((*earliest).min(record.time), (*latest).max(record.time));
        let found = decoder.read(&record, end.next());
        if known.indices != decoder.index_count() {
            known.tell_indices(&capture, &decoder, end.notes);
        }
        if record.has_options() {
            end.commented(&record, found.is_ok());
        }
        while let Some(late) = decoder.late() {
            end.take_before(late);
        }
        match found {
            Ok(()) => end.take(),
            Err(skip) => skipped[skip as usize] += 1,
        }
    }
    if known.sections != capture.sections() || known.described != capture.interfaces().len() {
        known.tell(&capture, end.notes);
    }
    decoder.finish();
    while let Some(late) = decoder.late() {
        end.take_before(late);
    }
    let (segments, connections) = end.finish();
    let described = (0..).zip(capture.interfaces().iter().cloned());
    let [skipped @ .., malformed] = skipped;
    Ok(Summary {
        format: capture.format(),
        sections: capture.sections(),
        bytes: capture.bytes(),
        packets: capture.packets(),
        segments,
        skipped,
        malformed,
        time_back: capture.time_back(),
        timeless: capture.timeless(),
        checksums: options.checksums.then_some((decoder.checksums_seen, decoder.wrong_checksums)),
        connections,
        times,
        truncated: capture.cut(),
        interfaces: described.chain(decoder.indices(0, capture.interfaces())).collect(),
    })
}

/// What `notes` was told of.
#[derive(Default)]
struct Known {
    sections: u32,
    described: usize,
    indices: usize,
}

impl Known {
    #[cold]
    fn tell<R: Read, N: Notes>(&mut self, capture: &Capture<R>, notes: &mut N) {
        if self.sections != capture.sections() {
            self.sections = capture.sections();
            notes.section(capture.section_comments());
        }
        for (number, of) in (0u32..).zip(capture.interfaces()).skip(self.described) {
            notes.interface(number, of);
        }
        self.described = capture.interfaces().len();
    }

    #[cold]
    fn tell_indices<R: Read, N: Notes>(&mut self, capture: &Capture<R>, decoder: &Decoder, notes: &mut N) {
        for (number, of) in decoder.indices(self.indices, capture.interfaces()) {
            debug_assert!(number as usize >= MOST_INTERFACES);
            notes.interface(number, &of);
        }
        self.indices = decoder.index_count();
    }
}

/// Where segments go: some are taken together.
struct End<'a, S: Sink, N> {
    analyzer: Analyzer<&'a mut S>,
    order: Option<Order>,
    segments: u64,
    notes: &'a mut N,
    together: [Segment; TOGETHER],
    filled: usize,
}

impl<S: Sink, N: Notes> End<'_, S, N> {
    /// Where the next segment is written.
    #[inline]
    fn next(&mut self) -> &mut Segment {
        &mut self.together[self.filled % TOGETHER]
    }

    /// The packet has options, and may have a segment, which is written.
    #[inline(never)]
    fn commented(&mut self, record: &Record<'_>, is_segment: bool) {
        let segment = &self.together[self.filled % TOGETHER];
        self.notes.commented(record, is_segment.then_some(segment));
    }

    /// Takes the segment that is written.
    #[inline]
    fn take(&mut self) {
        self.segments += 1;
        if self.order.is_some() {
            self.take_in_order();
        } else {
            self.filled += 1;
            if self.filled == TOGETHER {
                self.pass();
            }
        }
    }

    fn take_in_order(&mut self) {
        let newest = self.next().clone();
        if let Some(earliest) = self.order.as_mut().and_then(|order| order.take(newest)) {
            self.put(earliest);
        }
    }

    fn put(&mut self, segment: Segment) {
        *self.next() = segment;
        self.filled += 1;
        if self.filled == TOGETHER {
            self.pass();
        }
    }

    /// Takes another one before that which is written.
    #[cold]
    fn take_before(&mut self, late: Segment) {
        let written = std::mem::replace(self.next(), late);
        self.take();
        *self.next() = written;
    }

    fn pass(&mut self) {
        let segments = self.together.get(..self.filled).unwrap_or_default();
        let notes = &mut *self.notes;
        self.analyzer.take_all(segments, |s| notes.segment(s));
        self.filled = 0;
    }

    fn finish(mut self) -> (u64, u64) {
        while let Some(s) = self.order.as_mut().and_then(Order::earliest) {
            self.put(s);
        }
        self.pass();
        let connections = self.analyzer.connections();
        self.analyzer.finish();
        (self.segments, connections)
    }
}
