//! pcapng (draft-ietf-opsawg-pcapng): blocks in sections, each with its byte order and its interfaces.

use super::fault::{Fault, Stop, Why};
use super::interface::{Described, Interface, MOST_INTERFACES, Unit};
use super::options::Options;
use super::source::Source;
use super::{Found, MOST_CAPTURED, half, word};
use std::io::Read;

/// What a section begins with, the same in both orders.
pub const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Most bytes of a block.
const MOST_BLOCK: u32 = 1 << 24;
/// Bytes of a block that has nothing in it.
const LEAST_BLOCK: u32 = 12;

const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;
const INTERFACE_DROPS: u16 = 5;
const SYSTEM_DROPS: u16 = 7;

/// Where a file is.
#[derive(Debug, Default)]
pub struct Pcapng {
    big: bool,
    /// Interfaces of this section.
    pub(super) described: Vec<Described>,
    /// Those of the one before it.
    before: Vec<Described>,
    /// Sections so far.
    pub sections: u32,
    /// Comments of this section.
    pub comments: Vec<Vec<u8>>,
}

impl Pcapng {
    /// Byte order of this section.
    pub fn big(&self) -> bool {
        self.big
    }

    /// Reads the header of the first section.
    pub(super) fn open<R: Read>(source: &mut Source<R>) -> Result<Pcapng, Fault> {
        let mut pcapng = Pcapng::default();
        let whole = |stop: Stop| match stop {
            Stop::Fault(fault) => fault,
            Stop::Cut(Why::ByteOrder(word)) => Fault::ByteOrder(word),
            Stop::Cut(Why::Version(major, minor)) => Fault::Version("pcapng", major, minor),
            Stop::Cut(Why::BlockLength(length) | Why::LengthsDiffer(length, _)) => Fault::FirstBlock(length),
            Stop::Cut(_) => Fault::Header,
        };
        let length = pcapng.block(source).map_err(whole)?.map_or(0, |(_, length)| length);
        pcapng.section(source, length).map_err(whole)?;
        Ok(pcapng)
    }

    /// Makes the next block available: its kind and length; none at the end of the file.
    #[inline]
    fn block<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<(u32, usize)>, Stop> {
        match source.fill(LEAST_BLOCK as usize)? {
            0 => return Ok(None),
            n if n < LEAST_BLOCK as usize => return Err(Why::Ends.into()),
            _ => {}
        }
        let head = source.ahead();
        let kind = word(head, 0, self.big);
        if kind == SECTION {
            // Its own order holds for its length already.
            let order = word(head, 8, false);
            self.big = match order {
                BYTE_ORDER => false,
                _ if order.swap_bytes() == BYTE_ORDER => true,
                _ => return Err(Why::ByteOrder(order).into()),
            };
        }
        let stated = word(head, 4, self.big);
        if !(LEAST_BLOCK..=MOST_BLOCK).contains(&stated) || stated % 4 != 0 {
            return Err(Why::BlockLength(stated).into());
        }
        let length = stated as usize;
        if source.fill(length)? < length {
            return Err(Why::Ends.into());
        }
        let at_end = word(source.ahead(), length - 4, self.big);
        if at_end != stated {
            return Err(Why::LengthsDiffer(stated, at_end).into());
        }
        Ok(Some((kind, length)))
    }

    /// Begins a section.
    fn section<R: Read>(&mut self, source: &mut Source<R>, length: usize) -> Result<(), Stop> {
        if length < 28 {
            return Err(Why::BlockLength(length as u32).into());
        }
        let head = source.ahead();
        let (major, minor) = (half(head, 12, self.big), half(head, 14, self.big));
        if major != 1 {
            return Err(Why::Version(major, minor).into());
        }
        self.before = std::mem::take(&mut self.described);
        self.sections += 1;
        let options = head.get(24..length - 4).unwrap_or_default();
        self.comments = Options::new(options, self.big).comments().map(<[u8]>::to_vec).collect();
        source.skip(length);
        Ok(())
    }

    /// Goes over blocks up to the next packet, or behind the header of a section: none at the end of the file.
    #[inline]
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<Option<Found>, Stop> {
        loop {
            let Some((kind, length)) = self.block(source)? else { return Ok(None) };
            let found = match kind {
                ENHANCED_PACKET => Some(self.enhanced(source.ahead(), length)?),
                PACKET => Some(self.obsolete(source.ahead(), length, interfaces)?),
                SIMPLE_PACKET => Some(self.simple(source.ahead(), length)?),
                SECTION => {
                    self.section(source, length)?;
                    continue;
                }
                INTERFACE => {
                    self.interface(source.ahead().get(8..length - 4).unwrap_or_default(), interfaces)?;
                    None
                }
                STATISTICS => {
                    self.statistics(source.ahead().get(8..length - 4).unwrap_or_default(), interfaces);
                    None
                }
                _ => None,
            };
            source.skip(length);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Checks a packet of interface `id` that begins at `at` of its block and says that `captured` bytes were kept.
    #[inline]
    fn found(
        &self,
        id: u32,
        units: Option<u64>,
        at: usize,
        captured: u32,
        original: u32,
        length: usize,
    ) -> Result<Found, Stop> {
        let Some(of) = self.described.get(id as usize) else { return Err(Why::Interface(id).into()) };
        if captured > MOST_CAPTURED {
            return Err(Why::Captured(captured).into());
        }
        let captured_here = captured as usize;
        let behind = length - at;
        let Some(rest) = (behind - 4).checked_sub(captured_here) else { return Err(Why::Beyond(captured).into()) };
        Ok(Found {
            time: units.map(|units| of.unit.ns(units, of.offset)),
            described: id,
            captured: captured_here,
            behind,
            length: original,
            // Padding to 4 bytes is between the packet and its options.
            options: rest & !3,
        })
    }

    #[inline]
    fn enhanced(&self, block: &[u8], length: usize) -> Result<Found, Stop> {
        if length < 32 {
            return Err(Why::BlockLength(length as u32).into());
        }
        let [id, high, low, captured, original] = [8, 12, 16, 20, 24].map(|at| word(block, at, self.big));
        self.found(id, Some(u64::from(high) << 32 | u64::from(low)), 28, captured, original, length)
    }

    #[cold]
    fn obsolete(&self, block: &[u8], length: usize, interfaces: &mut [Interface]) -> Result<Found, Stop> {
        if length < 32 {
            return Err(Why::BlockLength(length as u32).into());
        }
        let (id, drops) = (half(block, 8, self.big), half(block, 10, self.big));
        let [high, low, captured, original] = [12, 16, 20, 24].map(|at| word(block, at, self.big));
        let units = u64::from(high) << 32 | u64::from(low);
        let found = self.found(u32::from(id), Some(units), 28, captured, original, length)?;
        if drops != u16::MAX {
            if let Some(of) = self.of(u32::from(id), interfaces) {
                of.drops = Some(of.drops.unwrap_or(0).saturating_add(u64::from(drops)));
            }
        }
        Ok(found)
    }

    /// It has no time, and what was captured is what the snapshot length leaves of it.
    #[cold]
    fn simple(&self, block: &[u8], length: usize) -> Result<Found, Stop> {
        if length < 16 {
            return Err(Why::BlockLength(length as u32).into());
        }
        let original = word(block, 8, self.big);
        let snaplen = self.described.first().map_or(0, |of| of.snaplen);
        let limit = if snaplen == 0 { original } else { original.min(snaplen) };
        let mut found = self.found(0, None, 12, limit.min((length - 16) as u32), original, length)?;
        found.options = 0;
        Ok(found)
    }

    fn of<'a>(&self, id: u32, interfaces: &'a mut [Interface]) -> Option<&'a mut Interface> {
        interfaces.get_mut(self.described.get(id as usize)?.number as usize)
    }

    /// Takes the description of an interface. One that is described as before at the same place of the section before is
    /// the same.
    fn interface(&mut self, body: &[u8], interfaces: &mut Vec<Interface>) -> Result<(), Stop> {
        if body.len() < 8 {
            return Err(Why::BlockLength(12 + body.len() as u32).into());
        }
        let (link, snaplen) = (half(body, 0, self.big), word(body, 4, self.big));
        let (mut name, mut unit, mut offset) = (&[][..], Unit::of(6), 0);
        for (code, value) in Options::new(&body[8..], self.big) {
            match (code, value) {
                (NAME, value) => name = value,
                (RESOLUTION, [resolution, ..]) => unit = Unit::of(*resolution),
                (OFFSET, value) => offset = self.long(value).map_or(offset, |word| word as i64),
                _ => {}
            }
        }
        let new = Interface::new(link, snaplen, name);
        let same = self.before.get(self.described.len()).map(|of| of.number);
        let same = same.filter(|number| {
            interfaces.get(*number as usize).is_some_and(|old| (&old.name, old.link) == (&new.name, link))
        });
        let number = match same {
            Some(number) => number,
            None if interfaces.len() >= MOST_INTERFACES => return Err(Why::MostInterfaces.into()),
            None => {
                interfaces.push(new);
                interfaces.len() as u32 - 1
            }
        };
        if self.described.len() >= MOST_INTERFACES {
            return Err(Why::MostInterfaces.into());
        }
        self.described.push(Described { number, link, snaplen, unit, offset });
        Ok(())
    }

    fn long(&self, value: &[u8]) -> Option<u64> {
        let value = value.first_chunk::<8>()?;
        Some(if self.big { u64::from_be_bytes(*value) } else { u64::from_le_bytes(*value) })
    }

    /// Takes what was lost at an interface until now.
    #[cold]
    fn statistics(&self, body: &[u8], interfaces: &mut [Interface]) {
        let Some(of) = self.of(word(body, 0, self.big), interfaces) else { return };
        let mut drops = None;
        for (code, value) in Options::new(body.get(12..).unwrap_or_default(), self.big) {
            if let (INTERFACE_DROPS | SYSTEM_DROPS, Some(n)) = (code, self.long(value)) {
                drops = Some(drops.unwrap_or(0u64).saturating_add(n));
            }
        }
        of.drops = drops.or(of.drops);
    }
}
