//! Blocks of pcapng (draft-ietf-opsawg-pcapng): section, interface, packet.

use super::frame::{self, LinkType, MOST_FRAME};
use super::{Seen, Truth};
use ackclock_core::packet::Family;
use ackclock_core::time::Time;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const NAME: u16 = 2;
const USER_APPLICATION: u16 = 4;
const TIME_RESOLUTION: u16 = 9;
/// Times are in units of ten to the minus this, seconds.
const NANOSECONDS: u8 = 9;

/// Bytes of a packet's block before the packet.
const PACKET_HEAD: usize = 28;
/// Most bytes of a packet's comment.
const MOST_COMMENT: usize = 64;
/// Most bytes of the block of a packet.
pub(super) const MOST: usize = PACKET_HEAD + MOST_FRAME + 4 + MOST_COMMENT + 4 + 4;

/// The block that begins a section, of unknown length.
pub(super) fn section(out: &mut Vec<u8>, comment: &str) {
    let mut body = Vec::new();
    body.extend(BYTE_ORDER.to_le_bytes());
    body.extend(1u16.to_le_bytes());
    body.extend(0u16.to_le_bytes());
    body.extend(u64::MAX.to_le_bytes());
    option(&mut body, COMMENT, comment.as_bytes());
    option(&mut body, USER_APPLICATION, b"ackclock");
    option(&mut body, END_OF_OPTIONS, &[]);
    block(out, SECTION, &body);
}

/// The block of an interface.
pub(super) fn interface(out: &mut Vec<u8>, (link, family): (LinkType, Family), name: &str) {
    let mut body = Vec::new();
    body.extend(link.number().to_le_bytes());
    body.extend(0u16.to_le_bytes());
    body.extend(link.snaplen(family).to_le_bytes());
    option(&mut body, NAME, name.as_bytes());
    option(&mut body, TIME_RESOLUTION, &[NANOSECONDS]);
    option(&mut body, END_OF_OPTIONS, &[]);
    block(out, INTERFACE, &body);
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (12 + body.len()) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(body);
    out.extend(length.to_le_bytes());
}

/// An option; of a value that is too long the begin.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    out.resize(out.len() + padding(value.len()), 0);
}

/// Bytes up to the next multiple of four.
#[inline]
fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// The block of a packet.
#[inline]
pub(super) fn packet(out: &mut Vec<u8>, link: LinkType, seen: &Seen<'_>) {
    let mut bytes = [0; MOST];
    let framed = frame::write(&mut bytes[PACKET_HEAD..PACKET_HEAD + MOST_FRAME], link, seen);
    let (captured, original) = framed.unwrap_or_default();
    let mut end = PACKET_HEAD + captured + padding(captured);
    if seen.truth != Truth::default() {
        end += comment(&mut bytes[end..], &seen.truth);
    }
    let length = end + 4;
    let mut put = |at: usize, word: u32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    put(0, PACKET);
    put(4, length as u32);
    put(8, seen.interface);
    put(12, (seen.at.0 >> 32) as u32);
    put(16, seen.at.0 as u32);
    put(20, captured as u32);
    put(24, original);
    put(end, length as u32);
    out.extend_from_slice(&bytes[..length]);
}

/// Most bytes of a packet that are kept of those that are bytes already.
pub(super) const MOST_BYTES: usize = MOST_FRAME;

/// The block of a packet that is bytes already, of which so many are kept of so many.
pub(super) fn bytes(out: &mut Vec<u8>, (at, interface): (Time, u32), (kept, original): (&[u8], u32)) {
    let length = (PACKET_HEAD + kept.len() + padding(kept.len()) + 4) as u32;
    let time = [(at.0 >> 32) as u32, at.0 as u32];
    for word in [PACKET, length, interface, time[0], time[1], kept.len() as u32, original] {
        out.extend(word.to_le_bytes());
    }
    out.extend(kept);
    out.resize(out.len() + padding(kept.len()), 0);
    out.extend(length.to_le_bytes());
}

/// The comment of a packet and the end of its options: how many bytes they take.
#[cold]
fn comment(out: &mut [u8], truth: &Truth) -> usize {
    let mut text = Vec::with_capacity(MOST_COMMENT);
    for (key, name) in [("rtx", truth.repeated), ("drop", truth.dropped)] {
        if let Some(name) = name {
            text.extend([if text.is_empty() { "{\"" } else { ",\"" }, key, "\":\"", name, "\""].concat().bytes());
        }
    }
    if truth.copy {
        text.extend(if text.is_empty() { b"{\"copy\":1" } else { b",\"copy\":1" });
    }
    text.push(b'}');
    let mut options = Vec::with_capacity(MOST_COMMENT + 8);
    // What has no room is left out whole: half of it would be no JSON.
    if text.len() <= MOST_COMMENT {
        option(&mut options, COMMENT, &text);
        option(&mut options, END_OF_OPTIONS, &[]);
    }
    out[..options.len()].copy_from_slice(&options);
    options.len()
}
