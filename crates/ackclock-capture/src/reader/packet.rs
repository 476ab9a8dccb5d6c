//! The TCP segment of a packet, if it carries one.

use super::capture::Record;
use super::fragments::{Fragments, Whole};
use super::interface::{Interface, MOST_INTERFACES};
use super::layers::{Stack, network, tunnelled};
use super::plain;
use crate::analysis::Segment;
use ackclock_core::packet::wire::{Fault, Ip, Options, Tcp, protocol};
use ackclock_core::packet::{Address, Ecn};
use std::collections::BTreeMap;

/// Link type of Linux's cooked captures that name the interface of each packet.
const SLL2: u16 = 276;

/// Why a packet is none of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// Its link type is none that is known.
    LinkType,
    /// It carries no IP that could be found.
    NotIp,
    /// It carries something else than TCP.
    NotTcp,
    /// It is a fragment other than the first; it counts for the length of its segment.
    Fragment,
    /// It has more than four tags.
    Tags,
    /// It is in more than four tunnels.
    Tunnels,
    /// Less than 14 bytes of the TCP header were captured.
    Short,
    /// It is of an interface too many (SLL2).
    Interface,
    /// Its headers contradict themselves.
    Malformed,
}

impl Skip {
    /// All but [`Skip::Malformed`], in the order of their numbers.
    pub const ALL: [Skip; 8] = [
        Skip::LinkType,
        Skip::NotIp,
        Skip::NotTcp,
        Skip::Fragment,
        Skip::Tags,
        Skip::Tunnels,
        Skip::Short,
        Skip::Interface,
    ];

    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Skip::LinkType => "link_type",
            Skip::NotIp => "not_ip",
            Skip::NotTcp => "not_tcp",
            Skip::Fragment => "fragment",
            Skip::Tags => "tags",
            Skip::Tunnels => "tunnels",
            Skip::Short => "short",
            Skip::Interface => "interface",
            Skip::Malformed => "malformed",
        }
    }
}

/// Finds TCP segments in packets.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Fragments of packets that are not whole.
    fragments: Fragments,
    /// Interfaces that only packets tell of: that of the file and the index, in the order of their numbers.
    indices: Vec<(u32, u32)>,
    /// The number of each.
    numbers: BTreeMap<(u32, u32), u32>,
    /// Whether checksums are looked at.
    checksums: bool,
    /// Segments whose checksum was looked at: those that were captured whole, and no fragments.
    pub checksums_seen: u64,
    /// Those of them whose checksum is wrong.
    pub wrong_checksums: u64,
}

/// A segment of which nothing is known.
pub fn blank() -> Segment {
    Segment {
        time: 0,
        number: 0,
        interface: 0,
        tags: 0,
        source: Address::V4([0; 4]),
        destination: Address::V4([0; 4]),
        source_port: 0,
        destination_port: 0,
        ip_id: 0,
        marked: false,
        length: 0,
        seq: 0,
        ack: 0,
        flags: 0,
        window: None,
        options: Options::default(),
        options_cut: false,
    }
}

impl Decoder {
    /// With no fragments; whether checksums are looked at.
    pub fn new(checksums: bool) -> Decoder {
        Decoder { checksums, ..Decoder::default() }
    }

    /// Writes the segment that `record` carries, or completes, to `s`.
    ///
    /// # Errors
    /// Why there is none. Nothing of [`Skip::Fragment`] is lost: it is told of with another packet.
    #[inline]
    pub fn read(&mut self, record: &Record<'_>, s: &mut Segment) -> Result<(), Skip> {
        let (interface, link) = (record.interface, record.link);
        self.fragments.pass(record.time);
        let mut stack = Stack::default();
        let at = network(link, record.bytes, &mut stack)?;
        if !self.checksums && link != SLL2 && plain::read(record.bytes.get(at..).unwrap_or_default(), s) {
            (s.time, s.number, s.interface, s.tags) = (record.time, record.number, interface, stack.digest());
            return Ok(());
        }
        self.general(record, at, stack, s)
    }

    /// The same of any packet, of which the network's header begins at `at`.
    #[inline(never)]
    fn general(&mut self, record: &Record<'_>, mut at: usize, mut stack: Stack, s: &mut Segment) -> Result<(), Skip> {
        let (interface, link) = (record.interface, record.link);
        let ip = loop {
            let bytes = record.bytes.get(at..).ok_or(Skip::Short)?;
            let ip = Ip::parse(bytes).map_err(|fault| why(fault, record))?;
            match tunnelled(&ip, &mut stack)? {
                Some(inner) => at += inner,
                None => break ip,
            }
        };
        if ip.protocol != protocol::TCP {
            return Err(Skip::NotTcp);
        }
        s.time = record.time;
        s.number = record.number;
        s.interface = if link == SLL2 { self.index(interface, record.bytes)? } else { interface };
        s.tags = stack.digest();
        // A length of 0 was left to the network card: what is not header is payload.
        let carried = ip.payload_len.unwrap_or_else(|| record.length.saturating_sub((at + ip.header_len) as u32));
        if let Some(fragment) = ip.fragment.filter(|fragment| fragment.offset > 0) {
            let of = whole(&ip, fragment.id, s);
            let told = self.fragments.later(of, &fragment, carried, record.time, s);
            return if told { Ok(()) } else { Err(Skip::Fragment) };
        }
        let tcp = Tcp::parse(ip.payload).map_err(|fault| why(fault, record))?;
        s.source = ip.source;
        s.destination = ip.destination;
        s.source_port = tcp.source_port;
        s.destination_port = tcp.destination_port;
        s.ip_id = ip.id;
        s.marked = ip.ecn == Ecn::Ce;
        s.length = carried.checked_sub(tcp.header_len as u32).ok_or(Skip::Malformed)?;
        s.seq = tcp.seq;
        s.ack = tcp.ack;
        s.flags = tcp.flags;
        s.window = tcp.window;
        s.options = tcp.options();
        s.options_cut = tcp.options_cut();
        if let Some(holds) = if self.checksums { ip.checksum_holds() } else { None } {
            self.checksums_seen += 1;
            self.wrong_checksums += u64::from(!holds);
        }
        match ip.fragment {
            None => Ok(()),
            Some(fragment) => {
                let of = whole(&ip, fragment.id, s);
                let told = self.fragments.first(of, tcp.header_len as u32, s);
                if told { Ok(()) } else { Err(Skip::Fragment) }
            }
        }
    }

    /// A first fragment that has waited for others in vain.
    #[inline]
    pub fn late(&mut self) -> Option<Segment> {
        self.fragments.late.pop()
    }

    /// There are no more packets: [`Decoder::late`] has what still waited.
    pub fn finish(&mut self) {
        self.fragments.finish();
    }

    /// The number of the interface that a packet names itself: behind all that a file can describe.
    #[cold]
    fn index(&mut self, interface: u32, bytes: &[u8]) -> Result<u32, Skip> {
        let index = bytes.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes).ok_or(Skip::Short)?;
        let of = (interface, index);
        match self.numbers.get(&of) {
            Some(number) => Ok(*number),
            None if self.indices.len() >= MOST_INDICES => Err(Skip::Interface),
            None => {
                let number = (MOST_INTERFACES + self.indices.len()) as u32;
                self.indices.push(of);
                self.numbers.insert(of, number);
                Ok(number)
            }
        }
    }

    /// The interfaces that only packets tell of, with their numbers, from the `from`th; `described` are those of the file.
    pub fn indices<'a>(
        &'a self,
        from: usize,
        described: &'a [Interface],
    ) -> impl Iterator<Item = (u32, Interface)> + 'a {
        let numbered = self.indices.iter().enumerate().skip(from);
        numbered.map(|(at, &(interface, index))| {
            let of = described.get(interface as usize);
            let name = match of.map(|of| of.name.as_str()) {
                None | Some("") => format!("index {index}"),
                Some(name) => format!("{name} index {index}"),
            };
            let snaplen = of.map_or(0, |of| of.snaplen);
            ((MOST_INTERFACES + at) as u32, Interface { name, link: SLL2, snaplen, packets: 0, drops: None })
        })
    }

    /// How many of these there are.
    #[inline]
    pub fn index_count(&self) -> usize {
        self.indices.len()
    }
}

/// Most interfaces that only packets tell of.
const MOST_INDICES: usize = 65_536;

fn whole(ip: &Ip<'_>, id: u32, s: &Segment) -> Whole {
    Whole { ends: (ip.source, ip.destination), id, place: (s.interface, s.tags) }
}

/// What is missing at the end of a packet that was captured in part was not captured; else it contradicts itself.
#[cold]
fn why(fault: Fault, record: &Record<'_>) -> Skip {
    if fault == Fault::Cut && (record.bytes.len() as u64) < u64::from(record.length) {
        Skip::Short
    } else {
        Skip::Malformed
    }
}
