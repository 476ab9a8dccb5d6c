//! A capture of any format that is known, read packet by packet.

use super::fault::{Cut, Fault, Stop, Why};
use super::interface::{Described, Interface, Unit};
use super::options::Options;
use super::pcap::Pcap;
use super::pcapng::{Pcapng, SECTION};
use super::source::Source;
use super::unpack::Stream;
use std::io::Read;

/// A packet of a file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When, ns since the epoch. Of a packet without a time that of the packet before it.
    pub time: i64,
    /// Number in the file, from 1.
    pub number: u64,
    /// Number of its interface among all of the file.
    pub interface: u32,
    /// Link type.
    pub link: u16,
    /// Bytes it had on the wire.
    pub length: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
    options: &'a [u8],
    big: bool,
}

impl<'a> Record<'a> {
    /// One that is in no file.
    pub fn new(link: u16, bytes: &'a [u8]) -> Record<'a> {
        let length = bytes.len() as u32;
        Record { time: 0, number: 1, interface: 0, link, length, bytes, options: &[], big: false }
    }

    /// Whether it has options: only then it can have comments.
    #[inline]
    pub fn has_options(&self) -> bool {
        !self.options.is_empty()
    }

    /// Its comments, as the file has them.
    pub fn comments(&self) -> impl Iterator<Item = &'a [u8]> {
        Options::new(self.options, self.big).comments()
    }
}

/// Where a packet is that was gone over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// When, unless the file does not say.
    pub time: Option<i64>,
    /// Its interface in the section.
    pub described: u32,
    /// Bytes that were captured.
    pub captured: usize,
    /// Where they begin, bytes before where the reader is.
    pub behind: usize,
    /// Bytes it had.
    pub length: u32,
    /// Bytes of its options, which end 4 bytes before where the reader is.
    pub options: usize,
}

enum Format {
    Pcap(Pcap, Described),
    Pcapng(Pcapng),
}

/// A file that is read.
pub struct Capture<R: Read> {
    source: Source<Stream<R>>,
    format: Format,
    interfaces: Vec<Interface>,
    packets: u64,
    found: Found,
    now: i64,
    latest: i64,
    time_back: u64,
    timeless: u64,
    cut: Option<Cut>,
    over: bool,
}

impl<R: Read> Capture<R> {
    /// Reads the header of a file, of which no more than `most` bytes (unpacked) will be read.
    ///
    /// # Errors
    /// It is no capture, or cannot be read.
    pub fn open(from: R, most: Option<u64>) -> Result<Capture<R>, Fault> {
        let mut source = Source::new(Stream::new(from).map_err(Fault::Io)?, most);
        let n = source.fill(4).map_err(Fault::Io)?;
        if n == 0 {
            return Err(Fault::Empty);
        }
        let mut begin = [0; 4];
        begin[..n].copy_from_slice(source.ahead().get(..n).unwrap_or_default());
        let mut interfaces = Vec::new();
        let format = if begin == SECTION.to_be_bytes() {
            Format::Pcapng(Pcapng::open(&mut source)?)
        } else if Pcap::is(begin) {
            let pcap = Pcap::open(&mut source)?;
            interfaces.push(Interface::new(pcap.link, pcap.snaplen, b""));
            let (link, snaplen) = (pcap.link, pcap.snaplen);
            Format::Pcap(pcap, Described { number: 0, link, snaplen, unit: Unit::Times(1), offset: 0 })
        } else {
            return Err(if n < 4 { Fault::Header } else { Fault::Magic(begin) });
        };
        Ok(Capture {
            source,
            format,
            interfaces,
            packets: 0,
            found: Found::default(),
            now: 0,
            latest: i64::MIN,
            time_back: 0,
            timeless: 0,
            cut: None,
            over: false,
        })
    }

    /// Goes on to the next packet: whether there is one. There is none at the end, and where the file cannot be read further
    /// ([`Capture::cut`]).
    ///
    /// # Errors
    /// The system cannot read it.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, Fault> {
        if self.over {
            return Ok(false);
        }
        let found = match &mut self.format {
            Format::Pcap(pcap, _) => pcap.next(&mut self.source),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.source, &mut self.interfaces),
        };
        self.found = match found {
            Ok(Some(found)) => found,
            other => return self.ended(other.err()).map(|()| false),
        };
        self.packets += 1;
        self.now = match self.found.time {
            Some(time) => time,
            None => {
                self.timeless += 1;
                self.now
            }
        };
        self.time_back += u64::from(self.now < self.latest);
        self.latest = self.latest.max(self.now);
        let number = self.described().number as usize;
        if let Some(of) = self.interfaces.get_mut(number) {
            of.packets += 1;
        }
        Ok(true)
    }

    #[inline]
    fn described(&self) -> Described {
        match &self.format {
            Format::Pcap(_, described) => *described,
            Format::Pcapng(pcapng) => {
                pcapng.described.get(self.found.described as usize).copied().unwrap_or(Described::UNKNOWN)
            }
        }
    }

    /// The packet that [`Capture::advance`] went on to.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        let found = &self.found;
        let behind = self.source.behind(found.behind);
        let bytes = behind.get(..found.captured).unwrap_or_default();
        let options = match found.options {
            0 => &[],
            n => behind.get(found.behind - 4 - n..found.behind - 4).unwrap_or_default(),
        };
        let big = matches!(&self.format, Format::Pcapng(pcapng) if pcapng.big());
        let Described { number: interface, link, .. } = self.described();
        Record { time: self.now, number: self.packets, interface, link, length: found.length, bytes, options, big }
    }

    /// Notes why there is nothing more.
    #[cold]
    fn ended(&mut self, stop: Option<Stop>) -> Result<(), Fault> {
        self.over = true;
        let why = match stop {
            Some(Stop::Fault(fault)) => return Err(fault),
            Some(Stop::Cut(Why::Ends)) | None if self.source.spent() => Some(Why::MostBytes),
            Some(Stop::Cut(why)) => Some(why),
            None => None,
        };
        self.cut = why.map(|why| Cut { offset: self.source.offset(), packets: self.packets, why });
        Ok(())
    }

    /// The name of the format.
    pub fn format(&self) -> &'static str {
        match self.format {
            Format::Pcap(..) => "pcap",
            Format::Pcapng(_) => "pcapng",
        }
    }

    /// Sections so far; a file of the classic format is one.
    pub fn sections(&self) -> u32 {
        match &self.format {
            Format::Pcap(..) => 1,
            Format::Pcapng(pcapng) => pcapng.sections,
        }
    }

    /// Comments of the section that the last packet belongs to, as the file has them.
    pub fn section_comments(&self) -> &[Vec<u8>] {
        match &self.format {
            Format::Pcap(..) => &[],
            Format::Pcapng(pcapng) => &pcapng.comments,
        }
    }

    /// Interfaces that were described so far, by number.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Bytes that were read, unpacked.
    pub fn bytes(&self) -> u64 {
        self.source.offset()
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets that are earlier than the one before them.
    pub fn time_back(&self) -> u64 {
        self.time_back
    }

    /// Packets without a time.
    pub fn timeless(&self) -> u64 {
        self.timeless
    }

    /// Where and why reading ended before the file did.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }
}
