//! Arrivals of a record played over a path, in place of those that a clock gives.

use super::Network;
use ackclock_core::time::Time;
use std::io::{self, Read, Write};

/// A packet and when it entered or left: in a stream of such, little-endian, 8 bytes of nanoseconds, 4 of length, the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub at: Time,
    /// The packet, from its IP header on.
    pub bytes: Vec<u8>,
}

impl Record {
    /// The next of `from`; none at its end.
    ///
    /// # Errors
    /// It cannot be read, or ends within a record.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Record>> {
        let mut at = [0; 8];
        match from.read(&mut at[..1])? {
            0 => return Ok(None),
            _ => from.read_exact(&mut at[1..])?,
        }
        let mut len = [0; 4];
        from.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len) as usize;
        if len > usize::from(u16::MAX) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a packet of {len} bytes")));
        }
        let mut bytes = vec![0; len];
        from.read_exact(&mut bytes)?;
        Ok(Some(Record { at: Time(u64::from_le_bytes(at)), bytes }))
    }

    /// Appends it to `to`.
    ///
    /// # Errors
    /// As `to` says.
    pub fn write(at: Time, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        to.write_all(&at.0.to_le_bytes())?;
        to.write_all(&(bytes.len() as u32).to_le_bytes())?;
        to.write_all(bytes)
    }
}

/// Plays the arrivals that `from` has until `end`, and writes what comes out, in the order of time, to `to`.
///
/// # Errors
/// Arrivals that cannot be read or run back, or departures that cannot be written.
pub fn replay(network: &mut Network, end: Time, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut pull = |network: &mut Network, now: Time| -> io::Result<()> {
        while let Some(delivered) = network.pull(now) {
            Record::write(delivered.at, network.bytes(&delivered), to)?;
            network.done(&delivered);
        }
        Ok(())
    };
    let mut last = Time::ZERO;
    while let Some(record) = Record::read(from)? {
        if record.at < last {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "arrivals whose times run back"));
        }
        last = record.at;
        pull(network, record.at)?;
        let room = network.room();
        let fits = record.bytes.len() <= room.len();
        if fits {
            room[..record.bytes.len()].copy_from_slice(&record.bytes);
            network.enter(record.at, record.bytes.len());
        }
    }
    loop {
        let at = network.next_due();
        if at > end {
            break;
        }
        pull(network, at)?;
    }
    network.finish(end);
    Ok(())
}
