//! Captures of simulated packets: pcapng with real headers, payload of zeros, and what really happened as comments.
//!
//! * [`Writer`]: packets as blocks, into anything that takes bytes; [`Seen`]: what it is given of one
//! * [`LinkType`]: what the packets begin with
//!
//! One section, in the byte order of x86 whatever the machine is, with an interface for each place where packets were
//! looked at. Times are nanoseconds since the begin of the run, which is the epoch. Nothing else goes into the file: the
//! same packets make the same bytes.

mod blocks;
mod frame;

use ackclock_core::packet::{Family, FourTuple, Packet};
use ackclock_core::time::Time;
use std::io::{self, Write};

pub use frame::{LinkType, SNAPLEN};

/// A packet as it passed an interface.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When.
    pub at: Time,
    /// At which of the interfaces.
    pub interface: u32,
    /// Where it comes from and goes to.
    pub addresses: FourTuple,
    /// The packet.
    pub packet: &'a Packet,
    /// Identification of its IPv4 header.
    pub id: u16,
    /// What no header says.
    pub truth: Truth,
}

/// What really happened to a packet: its comment. Names are written as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Why it was sent again: `rto`, `rto_recovery`, `fast` or `tlp`.
    pub repeated: Option<&'static str>,
    /// Why it will not come out of the link that it enters here.
    pub dropped: Option<&'static str>,
    /// It is the second of two that a medium made of one.
    pub copy: bool,
}

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 18;

/// Writes a capture.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    link: LinkType,
    buffer: Vec<u8>,
    packets: u64,
    /// What the first failure was; nothing is written after it.
    failed: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// A capture into `out` of packets of `family` that begin as `link` says. `comment` goes with the whole, and `interfaces`
    /// are the names of the places where packets are seen. What goes wrong [`Writer::finish`] says.
    pub fn new<S: AsRef<str>>(
        out: W,
        (link, family): (LinkType, Family),
        comment: &str,
        interfaces: &[S],
    ) -> Writer<W> {
        let mut buffer = Vec::with_capacity(CHUNK);
        blocks::section(&mut buffer, comment);
        let mut writer = Writer { out, link, buffer, packets: 0, failed: None };
        for name in interfaces {
            blocks::interface(&mut writer.buffer, (link, family), name.as_ref());
            writer.pass_on(CHUNK);
        }
        writer
    }

    /// Writes a packet. Times may not run back for readers that go by them.
    #[inline]
    pub fn packet(&mut self, seen: &Seen<'_>) {
        blocks::packet(&mut self.buffer, self.link, seen);
        self.packets += 1;
        if self.buffer.len() > CHUNK - blocks::MOST {
            self.pass_on(0);
        }
    }

    /// Writes a packet of the Internet protocol that really is one; as much of it as of others.
    pub fn bytes(&mut self, at: Time, interface: u32, packet: &[u8]) {
        let kept = &packet[..packet.len().min(blocks::MOST_BYTES)];
        blocks::bytes(&mut self.buffer, (at, interface), (kept, packet.len() as u32));
        self.packets += 1;
        if self.buffer.len() > CHUNK - blocks::MOST {
            self.pass_on(0);
        }
    }

    /// Writes what is in the buffer if it is more than `most`.
    fn pass_on(&mut self, most: usize) {
        if self.buffer.len() <= most {
            return;
        }
        if self.failed.is_none() {
            self.failed = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Writes the rest, and gives back what was written to and how many packets there are.
    ///
    /// # Errors
    /// The first that writing met with, now or before.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.pass_on(0);
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| (self.out, self.packets)),
        }
    }
}

#[cfg(test)]
mod tests;
