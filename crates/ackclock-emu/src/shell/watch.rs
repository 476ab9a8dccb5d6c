//! Who looks on while a shell's path is driven: what passes is counted, shown and written down.

use crate::driver::Beside;
use crate::path::{Addressed, Network};
use ackclock_capture::write::Writer;
use ackclock_core::time::Time;
use ackclock_run::Run;
use ackclock_run::spec::Hop;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

/// Of one direction of the path, as it is now.
#[derive(Debug, Default)]
pub struct Way {
    /// Bytes and packets that have come out for the shell's host there, from the begin.
    pub bytes: AtomicU64,
    /// See `bytes`.
    pub packets: AtomicU64,
    /// What waits in its queues.
    pub queued_bytes: AtomicU64,
    /// See `queued_bytes`.
    pub queued_packets: AtomicU64,
    /// How long that takes to leave, nanoseconds, as far as its links have a rate.
    pub queued_ns: AtomicU64,
    /// Packets that its links have dropped or lost, from the begin.
    pub dropped: AtomicU64,
}

/// What can be looked at from outside: to the client, and to the server.
pub type Live = Arc<[Way; 2]>;

/// Nanoseconds between looks at the queues.
const LOOK: u64 = 50_000_000;

/// What it needs.
pub struct Watch<'a> {
    over: &'a OwnedFd,
    live: Live,
    /// The first host of the shell.
    first: usize,
    /// The links of either direction, and their rates.
    links: [Vec<(usize, Option<u64>)>; 2],
    looked: u64,
    capture: Option<Writer<Pages>>,
}

/// What is to be written is handed to who has time for it.
pub struct Pages(pub Sender<Vec<u8>>);

impl Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Who wrote them has said what was in the way.
        self.0.send(bytes.to_vec()).map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Watch<'a> {
    /// For flow number `flow` of `run`, until `over` can be read.
    pub fn new(run: &Run, flow: usize, over: &'a OwnedFd, live: Live, capture: Option<Writer<Pages>>) -> Watch<'a> {
        let of = |hops: &[Hop]| {
            let links = hops.iter().filter_map(|hop| match hop {
                Hop::Link(link) => run.links.iter().position(|l| l.id == *link),
                _ => None,
            });
            links.map(|i| (i, run.links[i].rate_bps)).collect::<Vec<_>>()
        };
        let links = [of(&run.flows[flow].forward), of(&run.flows[flow].reverse)];
        Watch { over, live, first: 2 * flow, links, looked: 0, capture }
    }

    /// It is over: the rest of what was to be written.
    ///
    /// # Errors
    /// It could not be written.
    pub fn finish(self) -> io::Result<u64> {
        self.capture.map_or(Ok(0), |writer| writer.finish().map(|(_, packets)| packets))
    }

    fn look(&self, network: &mut Network, now: Time) {
        for (way, links) in self.live.iter().zip(&self.links) {
            let (mut bytes, mut packets, mut ns, mut dropped) = (0, 0, 0, 0);
            for (i, rate) in links {
                let (own_packets, own_bytes) = network.backlog(*i, now);
                let stats = &network.links[*i].common.stats;
                dropped += stats.total_drops + stats.lost;
                packets += own_packets;
                bytes += own_bytes;
                ns += rate
                    .filter(|r| *r > 0)
                    .map_or(0, |r| (u128::from(own_bytes) * 8_000_000_000 / u128::from(r)) as u64);
            }
            let to = [&way.queued_bytes, &way.queued_packets, &way.queued_ns, &way.dropped];
            to.into_iter().zip([bytes, packets, ns, dropped]).for_each(|(to, value)| to.store(value, Relaxed));
        }
    }

    fn see(&mut self, host: usize, at: Time, packet: &[u8]) {
        if let (Some(capture), Some(end)) = (&mut self.capture, host.checked_sub(self.first)) {
            capture.bytes(at, end as u32, packet);
        }
    }
}

impl Beside for Watch<'_> {
    fn over(&self) -> Option<BorrowedFd<'_>> {
        Some(self.over.as_fd())
    }

    fn sent(&mut self, host: usize, at: Time, packet: &[u8]) {
        // What is for neighbours only does not get into the path.
        if self.capture.is_some() && Addressed::sent_by(0, packet).is_some() {
            self.see(host, at, packet);
        }
    }

    fn given(&mut self, host: usize, at: Time, packet: &[u8]) {
        self.see(host, at, packet);
        if let Some(end) = host.checked_sub(self.first) {
            // The client's host is the second, and what goes there is the first of the ways.
            let way = &self.live[end ^ 1];
            way.bytes.fetch_add(packet.len() as u64, Relaxed);
            way.packets.fetch_add(1, Relaxed);
        }
    }

    fn done(&mut self, network: &mut Network, now: Time) {
        if now.0 >= self.looked {
            self.looked = now.0 + LOOK;
            self.look(network, now);
        }
    }
}
