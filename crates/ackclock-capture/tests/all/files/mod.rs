//! Files put together by hand: frames, records of the classic format, blocks of pcapng.
#![allow(dead_code, clippy::unwrap_used)]

use ackclock_capture::analysis::Segment;
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::drive::{Notes, Options, Summary, analyse_noting};
use ackclock_capture::reader::{Fault, Interface, Record};

/// Numbers in the byte order of a file.
#[derive(Clone, Copy, Debug)]
pub struct Order(pub bool);

impl Order {
    pub fn half(self, v: u16) -> [u8; 2] {
        if self.0 { v.to_be_bytes() } else { v.to_le_bytes() }
    }
    pub fn word(self, v: u32) -> [u8; 4] {
        if self.0 { v.to_be_bytes() } else { v.to_le_bytes() }
    }
    pub fn words(self, all: &[u32]) -> Vec<u8> {
        all.iter().flat_map(|v| self.word(*v)).collect()
    }
    pub fn long(self, v: u64) -> [u8; 8] {
        if self.0 { v.to_be_bytes() } else { v.to_le_bytes() }
    }
}

pub const LITTLE: Order = Order(false);
pub const BIG: Order = Order(true);

/// A TCP header with `payload` bytes behind it: from port 40000 to 80, ACK, window 256.
pub fn tcp(seq: u32, payload: usize) -> Vec<u8> {
    let mut all = vec![0x9c, 0x40, 0, 80];
    all.extend(seq.to_be_bytes());
    all.extend([0, 0, 0, 8, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    all.resize(20 + payload, 7);
    all
}

/// A packet of IP version 4 from 10.0.0.1 to 10.0.0.2 with identification 9.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    fragment(protocol, 0, payload)
}

/// One with this field of flags and offset.
pub fn fragment(protocol: u8, field: u16, payload: &[u8]) -> Vec<u8> {
    let [a, b] = (20 + payload.len() as u16).to_be_bytes();
    let [c, d] = field.to_be_bytes();
    let mut all = vec![0x45, 0, a, b, 0, 9, c, d, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    all.extend(payload);
    all
}

/// A packet of IP version 6 from fd00::1 to fd00::2.
pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b] = (payload.len() as u16).to_be_bytes();
    let mut all = vec![0x60, 0, 0, 0, a, b, next, 64];
    for last in [1, 2] {
        all.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    all.extend(payload);
    all
}

/// What every packet of the tests is unless they say otherwise: 5 bytes from 7 on.
pub fn segment() -> Vec<u8> {
    ipv4(6, &tcp(7, 5))
}

pub fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0; 12], &kind.to_be_bytes()[..], payload].concat()
}

/// A file of the classic format.
pub fn pcap(order: Order, magic: u32, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut all = order.word(magic).to_vec();
    all.extend([order.half(2), order.half(4)].concat());
    all.extend(order.words(&[0, 0, 65535, link]));
    for (seconds, part, bytes) in packets {
        all.extend(order.words(&[*seconds, *part, bytes.len() as u32, bytes.len() as u32]));
        if magic == 0xa1b2_cd34 {
            all.extend([0; 8]);
        }
        all.extend(*bytes);
    }
    all
}

pub fn plain(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let packets: Vec<_> = (1..).zip(packets).map(|(at, bytes)| (1, at, &bytes[..])).collect();
    pcap(LITTLE, 0xa1b2_c3d4, link, &packets)
}

pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = order.word(12 + body.len() as u32);
    [&order.word(kind), &length, &body[..], &length].concat()
}

pub fn options(order: Order, all: &[(u16, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (code, value) in all {
        out.extend([order.half(*code), order.half(value.len() as u16)].concat());
        out.extend(*value);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    if !all.is_empty() {
        out.extend([0; 4]);
    }
    out
}

pub fn section(order: Order, with: &[(u16, &[u8])]) -> Vec<u8> {
    let head = [&order.word(0x1a2b_3c4d)[..], &order.half(1), &order.half(0), &order.long(u64::MAX)].concat();
    block(order, 0x0a0d_0d0a, &[head, options(order, with)].concat())
}

pub fn interface(order: Order, link: u16, snaplen: u32, with: &[(u16, &[u8])]) -> Vec<u8> {
    let head = [&order.half(link)[..], &[0, 0], &order.word(snaplen)].concat();
    block(order, 1, &[head, options(order, with)].concat())
}

/// An enhanced packet block.
pub fn enhanced(order: Order, id: u32, units: u64, bytes: &[u8], with: &[(u16, &[u8])]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let mut body = order.words(&[id, (units >> 32) as u32, units as u32, length, length]);
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    block(order, 6, &[body, options(order, with)].concat())
}

/// What was noted of a file.
#[derive(Debug, Default)]
pub struct Read {
    pub summary: Summary,
    pub rows: Vec<FlowRow>,
    pub segments: Vec<Segment>,
    /// Comments of sections and packets, the latter with the packet's number.
    pub comments: Vec<(u64, String)>,
    /// Interfaces in the order in which they were told of.
    pub interfaces: Vec<(u32, Interface)>,
}

impl Notes for Read {
    fn section(&mut self, comments: &[Vec<u8>]) {
        self.comments.extend(comments.iter().map(|c| (0, String::from_utf8_lossy(c).to_string())));
    }
    fn interface(&mut self, number: u32, interface: &Interface) {
        self.interfaces.push((number, interface.clone()));
    }
    fn commented(&mut self, record: &Record<'_>, _: Option<&Segment>) {
        let text = |c: &[u8]| (record.number, String::from_utf8_lossy(c).to_string());
        self.comments.extend(record.comments().map(text));
    }
    fn segment(&mut self, segment: &Segment) {
        assert!(self.interfaces.iter().any(|(number, _)| *number == segment.interface), "told before its packets");
        self.segments.push(segment.clone());
    }
}

/// Reads a file to its end.
pub fn read_with(file: &[u8], options: &Options) -> Result<Read, Fault> {
    let (mut read, mut rows) = (Read::default(), Vec::new());
    read.summary = analyse_noting(file, options, &mut rows, &mut read)?;
    read.rows = rows;
    Ok(read)
}

pub fn read(file: &[u8]) -> Read {
    read_with(file, &Options::default()).unwrap()
}
