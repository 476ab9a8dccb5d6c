//! The loop: waits for sockets, applications and samples.

use super::sockets::{Of, failure};
use super::{Agent, Trouble, Work};
use crate::sys::clock::timespec;
use crate::sys::udp;
use ackclock_core::app::Arrival;
use ackclock_core::packet::Ecn;
use ackclock_core::time::Time;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use std::mem::MaybeUninit;

/// Sockets looked at at a time.
const EVENTS: usize = 256;
/// Bytes read at a socket before others are looked at.
const TURN: u64 = 4 << 20;

impl Agent<'_> {
    /// Plays the applications from the begin of the clock until the end of the run.
    ///
    /// # Errors
    /// The system does not let it wait.
    pub fn play(&mut self) -> Result<(), Trouble> {
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        self.clock.await_begin();
        self.now = self.clock.now();
        let mut due = self.due();
        while self.now < self.end {
            if due <= self.now || self.sampler.due() <= self.now {
                if self.sampler.due() <= self.now {
                    self.sample();
                }
                for flow in 0..self.flows.len() {
                    if self.flows[flow].due() <= self.now {
                        self.on_due(flow);
                    }
                }
                self.settle();
                due = self.due();
            }
            let rested = self.clock.space_out(self.now, self.now);
            let next = due.min(self.sampler.due()).min(self.end);
            // Something that is due at once again is due after what others wait for.
            let wait = timespec(next.since(rested).0);
            let ready = match epoll::wait(&self.poll, &mut events, Some(&wait)) {
                Ok((ready, _)) => ready,
                Err(Errno::INTR) => &mut [],
                Err(error) => return Err(Trouble::System("epoll".into(), error.into())),
            };
            self.now = self.clock.now();
            if self.now >= self.end {
                break;
            }
            let any = !ready.is_empty();
            for event in &*ready {
                let flags = event.flags;
                match Of::from(event.data.u64()) {
                    Of::Listener(host) => self.accept(host as usize),
                    Of::Datagrams(host) => self.take_datagrams(host as usize),
                    Of::Side(number) => self.on_side(number as usize, flags),
                    Of::Over => self.end = self.now,
                }
            }
            if any {
                self.settle();
                due = self.due();
            }
        }
        self.now = self.end;
        Ok(())
    }

    fn on_side(&mut self, number: usize, flags: EventFlags) {
        let side = self.side(number);
        let Some(socket) = &side.socket else { return };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            if let Ok(Err(error)) = socket_error(socket) {
                side.failure.get_or_insert(failure(error, side.told));
            }
        }
        if flags.contains(EventFlags::OUT) {
            side.established |= side.failure.is_none();
            self.work.push_back(Work::Write(number as u32));
        }
        let side = self.side(number);
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP) && side.by_hand {
            side.ended = true;
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP) && !side.by_hand {
            self.read(number, TURN);
        }
        self.work.push_back(Work::Tell(number as u32));
    }

    fn take_datagrams(&mut self, host: usize) {
        let (flow, end) = (host / 2, host % 2);
        let mut stamp = [0; 8];
        for _ in 0..EVENTS {
            let Some(socket) = &self.datagrams[host] else { return };
            let Ok(came) = udp::receive(socket, &mut stamp) else { return };
            let sent = if came.bytes < stamp.len() { self.now } else { Time(u64::from_le_bytes(stamp)) };
            if end == 1 {
                let (now, from) = (self.now, self.from);
                let state = &mut self.flows[flow];
                state.payload[1] += came.bytes as u64;
                if now >= from {
                    state.payload[3] += came.bytes as u64;
                    state.last = now;
                }
            }
            let marked = came.ecn == Ecn::Ce;
            let arrival = Arrival { payload: came.bytes as u32, sent, marked };
            self.call(flow, end, |app, host| app.on_datagram(host, arrival));
        }
    }
}
