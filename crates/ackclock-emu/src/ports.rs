//! The devices of hosts as the path uses them: packets are read of them and handed to them, with segmentation offload as
//! super-packets that are split and joined here.

use crate::driver::{Beside, Driven};
use crate::path::{Delivered, Joining, Network, OFFLOAD_HEADER, Offload, Split, complete};
use crate::sys::clock::Clock;
use crate::sys::tun::Device;
use ackclock_core::time::Time;
use rustix::io::{Errno, read, write, writev};
use std::io::IoSlice;

/// Reads of one host before others are looked at.
const BATCH: usize = 64;
/// Packets that are joined and handed on before it is looked at what else is due.
const BURST: usize = 256;
/// A super-packet with what the system says of it.
const LARGEST: usize = OFFLOAD_HEADER + 65_535;
/// Bytes of the headers of a packet that is joined: 40 of version 6, and 60.
const HEADERS: usize = 100;
/// Headers, and as many payloads as are joined at most.
const SLICES: usize = 64;

/// The devices of all hosts.
#[derive(Debug)]
pub struct Ports<'a> {
    devices: &'a [Option<Device>],
    /// Where super-packets are read.
    whole: Box<[u8]>,
    /// What leaves together.
    burst: Vec<Delivered>,
}

impl<'a> Ports<'a> {
    /// Of these.
    pub fn new(devices: &'a [Option<Device>]) -> Ports<'a> {
        let most = if devices.iter().flatten().any(|d| d.offload) { LARGEST } else { 0 };
        Ports { devices, whole: vec![0; most].into_boxed_slice(), burst: Vec::with_capacity(BURST) }
    }

    /// What `host` has sent enters the path at `now`; how many packets that were.
    ///
    /// # Errors
    /// The device is gone.
    pub fn take(
        &mut self,
        host: usize,
        (network, clock): (&mut Network, &Clock),
        now: Time,
        beside: &mut impl Beside,
    ) -> Result<u64, Errno> {
        // Where time stands still while it works, every packet is told of: a read in vain is what costs time there.
        let batch = if clock.stands_still() { 1 } else { BATCH };
        let Some(device) = &self.devices[host] else { return Ok(0) };
        let mut packets = 0;
        for _ in 0..batch {
            let into = if device.offload { &mut self.whole[..] } else { network.room() };
            let bytes = match read(device, into) {
                Ok(bytes) => bytes,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            if device.offload {
                packets += split(host, network, now, &mut self.whole[..bytes], beside);
            } else {
                beside.sent(host, now, network.room().get(..bytes).unwrap_or_default());
                network.enter_from(Some(host), now, bytes);
                packets += 1;
            }
        }
        Ok(packets)
    }

    /// Hands on what is due at `now`. When that was done.
    pub fn give(
        &mut self,
        (network, clock): (&mut Network, &Clock),
        (now, woke): (Time, Time),
        driven: &mut Driven,
        beside: &mut impl Beside,
    ) -> Time {
        let mut at = woke;
        // Only where packets may be joined are they collected before.
        let most = if self.whole.is_empty() { 1 } else { BURST };
        loop {
            self.burst.clear();
            while self.burst.len() < most {
                let Some(delivered) = network.pull(now) else { break };
                self.burst.push(delivered);
            }
            if self.burst.is_empty() {
                return at;
            }
            // Stable: for each host the order stays.
            self.burst.sort_by_key(|delivered| delivered.side);
            let mut from = 0;
            while from < self.burst.len() {
                let together = self.hand(from, network, at, beside, driven);
                for delivered in &self.burst[from..from + together] {
                    let late = driven.links.get_mut(delivered.link as usize).unwrap_or(&mut driven.elsewhere);
                    late.note(delivered.at, at);
                    network.done(delivered);
                }
                from += together;
                at = clock.after_work(at);
            }
        }
    }

    /// Hands on the packet at `from` of the burst, with those behind it that can be joined to it; how many.
    fn hand(&self, from: usize, network: &Network, at: Time, beside: &mut impl Beside, driven: &mut Driven) -> usize {
        let first = &self.burst[from];
        // Who sends from one end is received at the other.
        let host = first.side as usize ^ 1;
        // A flow that is split has none of its own, and no packets.
        let Some(device) = &self.devices[host] else { return 1 };
        let bytes = network.bytes(first);
        beside.given(host, at, bytes);
        let mut together = 1;
        let said = if device.offload {
            let sound = |delivered: &Delivered| network.is_sound(delivered);
            let mut joining = Joining::new(bytes).filter(|_| sound(first));
            if let Some(joining) = &mut joining {
                for next in self.burst[from + 1..].iter().take_while(|d| d.side == first.side && sound(d)) {
                    if !joining.takes(bytes, network.bytes(next)) {
                        break;
                    }
                    beside.given(host, at, network.bytes(next));
                    together += 1;
                }
            }
            match joining.filter(|_| together > 1) {
                Some(joining) => self.joined(&joining, from, network, device),
                None => {
                    let header = Offload { sound: sound(first), ..Offload::default() }.write(bytes);
                    writev(device, &[IoSlice::new(&header), IoSlice::new(bytes)])
                }
            }
        } else {
            write(device, bytes)
        };
        match said {
            Ok(_) => driven.packets[1] += together as u64,
            Err(_) => driven.refused += together as u64,
        }
        driven.writes += 1;
        together
    }

    fn joined(&self, joining: &Joining, from: usize, network: &Network, device: &Device) -> Result<usize, Errno> {
        let parts = &self.burst[from..from + joining.count()];
        let bytes = |delivered: &Delivered| network.bytes(delivered);
        let (first, last) = (bytes(&parts[0]), bytes(&parts[parts.len() - 1]));
        let mut headers = [0; HEADERS];
        let offload = joining.write((first, last), &mut headers).ok_or(Errno::INVAL)?;
        let header = offload.write(first);
        let mut slices = [IoSlice::new(&[]); SLICES];
        slices[0] = IoSlice::new(&header);
        slices[1] = IoSlice::new(&headers[..joining.headers()]);
        for (slice, part) in slices[2..].iter_mut().zip(parts) {
            *slice = IoSlice::new(&bytes(part)[joining.headers()..]);
        }
        writev(device, &slices[..2 + parts.len()])
    }
}

/// The packet or super-packet that `host` has sent, behind what the system says of it, enters the path; how many packets it is.
fn split(host: usize, network: &mut Network, now: Time, whole: &mut [u8], beside: &mut impl Beside) -> u64 {
    let Some((header, packet)) = whole.split_first_chunk_mut::<OFFLOAD_HEADER>() else { return 0 };
    let offload = Offload::read(header);
    if offload.segment > 0 {
        if let Some(split) = Split::new(packet, offload.segment) {
            for i in 0..split.segments() {
                // What has no room is longer than the device's packets, and counts as none of a flow's.
                let bytes = split.write(i, network.room()).unwrap_or(0);
                beside.sent(host, now, network.room().get(..bytes).unwrap_or_default());
                network.enter_sound(host, now, bytes);
            }
            return split.segments() as u64;
        }
    }
    let completed = offload.partial.is_some_and(|partial| complete(packet, partial));
    beside.sent(host, now, packet);
    let fits = network.room().get_mut(..packet.len()).map(|room| room.copy_from_slice(packet)).is_some();
    let bytes = if fits { packet.len() } else { 0 };
    if completed {
        network.enter_sound(host, now, bytes);
    } else {
        network.enter_from(Some(host), now, bytes);
    }
    1
}
