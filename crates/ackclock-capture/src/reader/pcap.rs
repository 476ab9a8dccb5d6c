//! The classic format: a header of 24 bytes, then records. Either byte order, times in us or ns, versions 2.2 to 2.4.

use super::source::Source;
use std::io::{self, Read};

/// Most bytes of a packet that any capture has.
const MOST_CAPTURED: u32 = 262_144;

/// Why a file cannot be read, or not further.
#[derive(Debug)]
pub enum Fault {
    /// It does not begin as a pcap file does.
    Magic,
    /// It ends within its header.
    Header,
    /// Its version is not 2.2 to 2.4.
    Version(u16, u16),
    /// It ends within a record, or a record says that it is longer than any: what came before counts.
    Truncated,
    /// The system could not read it.
    Io(io::Error),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Magic => f.write_str("no pcap file: its first four bytes are none of the format's"),
            Fault::Header => f.write_str("ends within the header of 24 bytes that a pcap file has"),
            Fault::Version(major, minor) => write!(f, "version {major}.{minor} of pcap; 2.2 to 2.4 can be read"),
            Fault::Truncated => f.write_str("ends within a packet, or is damaged there"),
            Fault::Io(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for Fault {}

/// A packet of a file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When, ns since the epoch.
    pub time: i64,
    /// Number in the file, from 1.
    pub number: u64,
    /// Bytes it had on the wire.
    pub length: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
}

/// A file that is read record by record.
pub struct Pcap<R> {
    source: Source<R>,
    big: bool,
    ns_per_unit: i64,
    header: usize,
    link: u16,
    number: u64,
}

fn word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|w| w.try_into().ok()).unwrap_or_default();
    if big {
        u32::from_be_bytes(word)
    } else {
        u32::from_le_bytes(word)
    }
}

impl<R: Read> Pcap<R> {
    /// Reads the header.
    pub fn open(from: R) -> Result<Pcap<R>, Fault> {
        let mut source = Source::new(from);
        if source.fill(24).map_err(Fault::Io)? < 24 {
            return Err(if source.ahead().is_empty() { Fault::Magic } else { Fault::Header });
        }
        let head = source.ahead();
        let kind = |big| match word(head, 0, big) {
            0xa1b2_c3d4 => Some((big, 1000, 16)),
            0xa1b2_3c4d => Some((big, 1, 16)),
            0xa1b2_cd34 => Some((big, 1000, 24)),
            _ => None,
        };
        let (big, ns_per_unit, header) = kind(true).or_else(|| kind(false)).ok_or(Fault::Magic)?;
        let version = word(head, 4, big);
        let (major, minor) = if big { (version >> 16, version & 0xffff) } else { (version & 0xffff, version >> 16) };
        if major != 2 || !(2..=4).contains(&minor) {
            return Err(Fault::Version(major as u16, minor as u16));
        }
        let link = word(head, 20, big) as u16;
        source.skip(24);
        Ok(Pcap { source, big, ns_per_unit, header, link, number: 0 })
    }

    /// The link type of its packets.
    pub fn link(&self) -> u16 {
        self.link
    }

    /// The next packet; none at the end of the file.
    #[allow(clippy::should_implement_trait)] // it borrows from the file
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Fault> {
        let (big, header) = (self.big, self.header);
        match self.source.fill(header).map_err(Fault::Io)? {
            0 => return Ok(None),
            n if n < header => return Err(Fault::Truncated),
            _ => {}
        }
        let head = self.source.ahead();
        let [seconds, part, captured, length] = [0, 4, 8, 12].map(|at| word(head, at, big));
        if captured > MOST_CAPTURED {
            return Err(Fault::Truncated);
        }
        self.source.skip(header);
        let captured = captured as usize;
        if self.source.fill(captured).map_err(Fault::Io)? < captured {
            return Err(Fault::Truncated);
        }
        self.number += 1;
        let time = i64::from(seconds) * 1_000_000_000 + i64::from(part) * self.ns_per_unit;
        self.source.skip(captured);
        let bytes = self.source.behind(captured);
        Ok(Some(Record { time, number: self.number, length, bytes }))
    }
}
