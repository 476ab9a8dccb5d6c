//! What an application can do with sockets.

use super::{Agent, Work};
use crate::sys::tcp;
use ackclock_core::app::{Conn, Datagram, Host};
use ackclock_core::time::Time;
use rustix::net::{SendFlags, send};

/// The name of a connection that could not be opened; those that could have their number in place of it.
const NOWHERE: u64 = u64::MAX >> 1;

/// The host of the application at end `end` (0: the source) of flow number `flow`, during one call.
pub(super) struct Acting<'a, 'b> {
    pub agent: &'a mut Agent<'b>,
    pub flow: usize,
    pub end: usize,
}

impl Acting<'_, '_> {
    /// The number of the side that `conn` names, if it is still there.
    fn side(&self, conn: Conn) -> Option<usize> {
        let connection = self.agent.connections.get(usize::try_from(conn.0).ok()?)?;
        let there = connection.flow as usize == self.flow && connection.sides[self.end].there;
        there.then_some(2 * conn.0 as usize + self.end)
    }

    fn later(&mut self, work: Work) {
        self.agent.work.push_back(work);
    }
}

impl Host for Acting<'_, '_> {
    fn now(&self) -> Time {
        self.agent.now
    }

    fn open(&mut self) -> Conn {
        // A request on a connection that is there leaves before the SYN of another one that is opened after it.
        self.agent.write_out();
        match self.agent.open(self.flow, self.end) {
            Some(number) => Conn(number as u64),
            None => {
                self.later(Work::Refused(self.flow as u32, self.end, NOWHERE));
                Conn(NOWHERE)
            }
        }
    }

    fn write(&mut self, conn: Conn, bytes: u64) {
        let Some(number) = self.side(conn) else { return };
        let side = self.agent.side(number);
        side.pending = side.pending.saturating_add(bytes);
        self.later(Work::Write(number as u32));
    }

    fn say(&mut self, conn: Conn, bytes: u64, word: u64) {
        let Some(number) = self.side(conn) else { return };
        self.write(conn, bytes.max(1));
        // Both ends are here: the word need not be written into the bytes that it comes with.
        let end = self.agent.side(number).offered();
        self.agent.side(number ^ 1).messages.push_back((end, word));
    }

    fn cancel(&mut self, conn: Conn) {
        let Some(number) = self.side(conn) else { return };
        let side = self.agent.side(number);
        side.pending = 0;
        let end = side.written;
        self.agent.side(number ^ 1).messages.retain(|m| m.0 <= end);
        self.later(Work::Write(number as u32));
    }

    fn receive(&mut self, conn: Conn, bytes: u64) {
        let Some(number) = self.side(conn) else { return };
        let side = self.agent.side(number);
        side.asked = side.asked.saturating_add(bytes);
        side.mark = Some(side.asked);
        self.later(Work::Tell(number as u32));
    }

    fn read_by_hand(&mut self, conn: Conn) {
        let Some(number) = self.side(conn) else { return };
        self.agent.side(number).by_hand = true;
        self.agent.watch(number);
    }

    fn read(&mut self, conn: Conn, most: u64) -> u64 {
        let Some(number) = self.side(conn) else { return 0 };
        let bytes = self.agent.read(number, most);
        self.agent.side(number).hungry |= bytes < most;
        self.agent.watch(number);
        self.later(Work::Tell(number as u32));
        bytes
    }

    fn received(&self, conn: Conn) -> u64 {
        self.side(conn).map_or(0, |n| self.agent.connections[n / 2].sides[n % 2].read)
    }

    fn out_of_order(&self, conn: Conn) -> u64 {
        let socket = self.side(conn).and_then(|n| self.agent.connections[n / 2].sides[n % 2].socket.as_ref());
        socket.and_then(|s| tcp::info(s).ok()).map_or(0, |info| u64::from(info.rcv_ooopack))
    }

    fn unsent(&self, conn: Conn) -> u64 {
        let Some(number) = self.side(conn) else { return 0 };
        self.agent.unsent(number)
    }

    fn await_unsent(&mut self, conn: Conn, least: u64) {
        let Some(number) = self.side(conn) else { return };
        let side = self.agent.side(number);
        side.low = Some(least);
        if let Some(socket) = &side.socket {
            // Linux says that there is room when less than half of this waits.
            let mark = u32::try_from(2 * least + 2).unwrap_or(u32::MAX);
            let _ = tcp::set(socket, tcp::Setting::UnsentLowWater, mark);
        }
        self.agent.watch(number);
    }

    fn close(&mut self, conn: Conn) {
        let Some(number) = self.side(conn) else { return };
        self.agent.side(number).closing = true;
        self.later(Work::Write(number as u32));
    }

    fn abort(&mut self, conn: Conn) {
        let Some(number) = self.side(conn) else { return };
        self.agent.abort_socket(number);
        self.later(Work::Tell(number as u32));
    }

    fn send(&mut self, datagram: Datagram) {
        let host = 2 * self.flow + self.end;
        let now = self.agent.now;
        let payload = datagram.payload as usize;
        let agent = &mut *self.agent;
        let Some(socket) = &agent.datagrams[host] else { return };
        let Some(bytes) = agent.scratch.get_mut(..payload) else { return };
        let stamp = now.0.to_le_bytes();
        let stamped = stamp.len().min(payload);
        bytes[..stamped].copy_from_slice(&stamp[..stamped]);
        let sent = send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        bytes[..stamped].fill(0);
        if sent.is_ok() && self.end == 0 {
            let flow = &mut agent.flows[self.flow];
            flow.payload[0] += payload as u64;
            flow.payload[2] += if now >= agent.from { payload as u64 } else { 0 };
        }
    }

    fn begun(&mut self, transfer: u64, bytes: u64) {
        let now = self.now();
        let transfers = &mut self.agent.flows[self.flow].transfers;
        debug_assert_eq!(transfer, transfers.len() as u64, "transfers are numbered without gaps");
        transfers.push((now, None, bytes));
    }

    fn done(&mut self, transfer: u64) {
        let now = self.now();
        if let Some(t) = self.agent.flows[self.flow].transfers.get_mut(transfer as usize) {
            t.1.get_or_insert(now);
        }
    }

    fn completed(&mut self) {
        let now = self.now();
        self.agent.flows[self.flow].completed.get_or_insert(now);
    }
}
