//! Drives a path by a clock: reads what hosts send, writes what reaches them, and says how late it was.

use crate::lateness::Lateness;
use crate::path::Network;
use crate::ports::Ports;
use crate::series::LinkSeries;
use crate::sys::clock::{Clock, timespec};
use crate::sys::tun::Device;
use ackclock_core::time::Time;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// Hosts looked at at a time.
const EVENTS: usize = 64;

/// Who looks on while a path is driven, and says when it is over. Hosts are numbered as their devices are.
pub trait Beside {
    /// Once this can be read it is over, before its time.
    fn over(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// A host has sent `packet`.
    fn sent(&mut self, _host: usize, _at: Time, _packet: &[u8]) {}

    /// A host is given `packet`.
    fn given(&mut self, _host: usize, _at: Time, _packet: &[u8]) {}

    /// When it wants to look again at the latest, whether or not anything is due by then.
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// Everything that was due at `now` has been done.
    fn done(&mut self, _network: &mut Network, _now: Time) {}
}

/// Nobody.
impl Beside for () {}

/// What of epoll says that it is over.
const OVER: u64 = u64::MAX;

/// What came of it.
#[derive(Debug, Default)]
pub struct Driven {
    /// Of the packets that passed each link last, how late they were handed to the receiving host.
    pub links: Vec<Lateness>,
    /// Of packets that passed no link.
    pub elsewhere: Lateness,
    /// Times in which arrivals were not looked for, because others were worked on.
    pub gaps: Lateness,
    /// Times it woke up.
    pub wakes: u64,
    /// Packets read, and handed on.
    pub packets: [u64; 2],
    /// Calls by which they were handed on.
    pub writes: u64,
    /// Packets that the receiving host did not take.
    pub refused: u64,
}

/// Drives `network` between the devices `tuns` of its hosts (the source of flow 0, its sink, the source of flow 1, ...) from the
/// begin of `clock` until `end`, or until `beside` says so.
///
/// # Errors
/// The system does not let it wait, or a device is gone.
pub fn drive(
    network: &mut Network,
    tuns: &[Option<Device>],
    clock: &Clock,
    end: Time,
    series: &mut LinkSeries,
    beside: &mut impl Beside,
) -> Result<Driven, Errno> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    for (i, tun) in tuns.iter().enumerate() {
        let Some(tun) = tun else { continue };
        epoll::add(&poll, tun, EventData::new_u64(i as u64), EventFlags::IN)?;
    }
    if let Some(over) = beside.over() {
        epoll::add(&poll, over, EventData::new_u64(OVER), EventFlags::IN)?;
    }
    let mut driven = Driven { links: vec![Lateness::default(); network.links.len()], ..Driven::default() };
    let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
    let mut ports = Ports::new(tuns);
    clock.await_begin();
    let mut now = clock.now();
    let mut woke = now;
    while now < end {
        now = clock.space_out(woke, now);
        driven.gaps.took(now.since(woke));
        let due = network.next_due().min(series.due()).min(beside.next()).min(end);
        let wait = timespec(due.since(now).0);
        let ready = match epoll::wait(&poll, &mut events, Some(&wait)) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => &mut [],
            Err(error) => return Err(error),
        };
        woke = clock.now();
        driven.wakes += 1;
        now = woke.min(end);
        series.settle(network, now);
        for event in &*ready {
            if event.data.u64() == OVER {
                return Ok(driven);
            }
            let host = event.data.u64() as usize;
            driven.packets[0] += ports.take(host, (&mut *network, clock), now, beside)?;
        }
        let at = ports.give((&mut *network, clock), (now, woke), &mut driven, beside);
        beside.done(network, now);
        now = clock.after_work(at);
    }
    Ok(driven)
}
