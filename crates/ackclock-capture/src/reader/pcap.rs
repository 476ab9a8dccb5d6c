//! The classic format: a header of 24 bytes, then records. Either byte order, times in us or ns, versions 2.2 to 2.4.

use super::fault::{Fault, Stop, Why};
use super::interface::Unit;
use super::source::Source;
use super::{Found, MOST_CAPTURED, word};
use std::io::Read;

/// Bytes of the file's header.
pub const HEADER: usize = 24;

/// How the records of a file are written.
#[derive(Clone, Copy, Debug)]
pub struct Pcap {
    big: bool,
    unit: Unit,
    /// Bytes before a packet.
    record: usize,
    /// Link type.
    pub link: u16,
    /// Most bytes of a packet.
    pub snaplen: u32,
}

impl Pcap {
    /// Whether a file begins so.
    pub fn is(begin: [u8; 4]) -> bool {
        Pcap::magic(begin, true).is_some() || Pcap::magic(begin, false).is_some()
    }

    fn magic(begin: [u8; 4], big: bool) -> Option<(bool, Unit, usize)> {
        match word(&begin, 0, big) {
            0xa1b2_c3d4 => Some((big, Unit::Times(1000), 16)),
            0xa1b2_3c4d => Some((big, Unit::Times(1), 16)),
            // With interface, protocol and kind of packet behind the lengths.
            0xa1b2_cd34 => Some((big, Unit::Times(1000), 24)),
            _ => None,
        }
    }

    /// Reads the header.
    pub fn open<R: Read>(source: &mut Source<R>) -> Result<Pcap, Fault> {
        if source.fill(HEADER).map_err(Fault::Io)? < HEADER {
            return Err(Fault::Header);
        }
        let head = source.ahead();
        let begin = head.first_chunk().copied().unwrap_or_default();
        let (big, unit, record) =
            Pcap::magic(begin, true).or_else(|| Pcap::magic(begin, false)).ok_or(Fault::Magic(begin))?;
        let version = word(head, 4, big);
        let (major, minor) = if big { (version >> 16, version & 0xffff) } else { (version & 0xffff, version >> 16) };
        if major != 2 || !(2..=4).contains(&minor) {
            return Err(Fault::Version("pcap", major as u16, minor as u16));
        }
        // The high half of the word has flags about checksums of frames.
        let pcap = Pcap { big, unit, record, link: word(head, 20, big) as u16, snaplen: word(head, 16, big) };
        source.skip(HEADER);
        Ok(pcap)
    }

    /// Goes over the next record; none at the end of the file.
    #[inline]
    pub(super) fn next<R: Read>(&self, source: &mut Source<R>) -> Result<Option<Found>, Stop> {
        let (big, header) = (self.big, self.record);
        match source.fill(header)? {
            0 => return Ok(None),
            n if n < header => return Err(Why::Ends.into()),
            _ => {}
        }
        let head = source.ahead();
        let [seconds, part, captured, length] = [0, 4, 8, 12].map(|at| word(head, at, big));
        if captured == 0 && length == 0 {
            // No packet is so: space that was made ready for more of them, or the header of a file that was appended.
            if seconds == 0 && part == 0 {
                return Err(Why::Zeros.into());
            }
            if head.first_chunk().is_some_and(|begin| Pcap::is(*begin)) {
                return Err(Why::Appended.into());
            }
        }
        if captured > MOST_CAPTURED {
            return Err(Why::Captured(captured).into());
        }
        let whole = header + captured as usize;
        if source.fill(whole)? < whole {
            return Err(Why::Ends.into());
        }
        source.skip(whole);
        let time = i64::from(seconds) * 1_000_000_000 + self.unit.ns(u64::from(part), 0);
        Ok(Some(Found {
            time: Some(time),
            described: 0,
            captured: captured as usize,
            behind: captured as usize,
            length,
            options: 0,
        }))
    }
}
