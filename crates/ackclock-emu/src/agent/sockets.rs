//! Sockets: how they are made, written and read.

use super::flow::{Connection, Side};
use super::{Agent, Trouble, Work};
use crate::relay::split::PORT;
use crate::sys::{socket_address, tcp, udp};
use ackclock_core::app::{Failure, Reading};
use ackclock_core::packet::{Ecn, Family};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Of a socket that the system watches for us.
const WATCHED: u32 = 1 << 31;
/// Of one that it does not watch any more.
const DEAF: u32 = u32::MAX;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// What an event of a socket is of, in what the system keeps for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Connections that wait at this host.
    Listener(u32),
    /// Datagrams that came to this host.
    Datagrams(u32),
    /// This side of a connection.
    Side(u32),
    /// Who says that the run is over.
    Over,
}

impl Of {
    pub(super) fn data(self) -> EventData {
        let (kind, number) = match self {
            Of::Listener(n) => (0u64, n),
            Of::Datagrams(n) => (1, n),
            Of::Side(n) => (2, n),
            Of::Over => (3, 0),
        };
        EventData::new_u64(kind << 32 | u64::from(number))
    }

    pub(super) fn from(data: u64) -> Of {
        let number = data as u32;
        match data >> 32 {
            0 => Of::Listener(number),
            1 => Of::Datagrams(number),
            3 => Of::Over,
            _ => Of::Side(number),
        }
    }
}

impl Agent<'_> {
    fn socket(&self, host: usize, kind: SocketType) -> io::Result<OwnedFd> {
        self.hosts[host].namespace.enter()?;
        let family = match self.family {
            Family::V4 => AddressFamily::INET,
            Family::V6 => AddressFamily::INET6,
        };
        Ok(net::socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?)
    }

    fn address(&self, host: usize, port: u16) -> SocketAddr {
        socket_address(self.hosts[host].address, port)
    }

    /// A socket of TCP at `host`, set as its options say.
    fn stream(&self, host: usize) -> io::Result<OwnedFd> {
        let socket = self.socket(host, SocketType::STREAM)?;
        let options = &self.options[host];
        if let Some(name) = &options.controller {
            net::sockopt::set_tcp_congestion(&socket, name)?;
        }
        tcp::set(&socket, tcp::Setting::MaxSegment, options.segment)?;
        net::sockopt::set_tcp_nodelay(&socket, !options.nagle)?;
        if options.unsent_low_water > 0 {
            tcp::set(&socket, tcp::Setting::UnsentLowWater, options.unsent_low_water)?;
        }
        if options.paced {
            tcp::pace(&socket)?;
        }
        Ok(socket)
    }

    /// Makes what must be there before flow number `flow` begins: who accepts its connections, or takes its datagrams.
    pub(super) fn listen(&mut self, flow: usize) -> Result<(), Trouble> {
        let id = &self.run.flows[flow].id;
        let trouble = |e: io::Error| Trouble::System(format!("a socket of flow {id}"), e);
        if let Some(kind) = self.flows[flow].datagrams {
            return self.datagram_sockets(flow, kind.ect).map_err(trouble);
        }
        if self.flows[flow].leg_of.is_some() {
            return Ok(());
        }
        let end = self.flows[flow].opens ^ 1;
        if self.flows[flow].applications[end].as_ref().is_some_and(|app| !app.listens()) {
            return Ok(());
        }
        let host = 2 * flow + end;
        let made = (|| {
            let socket = self.stream(host)?;
            net::sockopt::set_socket_reuseaddr(&socket, true)?;
            net::bind(&socket, &self.address(host, PORT))?;
            net::listen(&socket, BACKLOG)?;
            epoll::add(&self.poll, &socket, Of::Listener(host as u32).data(), EventFlags::IN)?;
            Ok(socket)
        })();
        self.listeners[host] = Some(made.map_err(trouble)?);
        Ok(())
    }

    fn datagram_sockets(&mut self, flow: usize, ect: bool) -> io::Result<()> {
        for host in [2 * flow, 2 * flow + 1] {
            let socket = self.socket(host, SocketType::DGRAM)?;
            net::bind(&socket, &self.address(host, PORT))?;
            net::connect(&socket, &self.address(host ^ 1, PORT))?;
            net::sockopt::set_socket_recv_buffer_size(&socket, 8 << 20)?;
            udp::send_ecn(&socket, self.family, if ect { Ecn::Ect0 } else { Ecn::NotEct })?;
            udp::tell_ecn(&socket, self.family)?;
            epoll::add(&self.poll, &socket, Of::Datagrams(host as u32).data(), EventFlags::IN)?;
            self.datagrams[host] = Some(socket);
        }
        Ok(())
    }

    /// Opens a connection from end `end` of flow number `flow`. Its number; none if there cannot be one.
    pub(super) fn open(&mut self, flow: usize, end: usize) -> Option<usize> {
        if !self.flows[flow].many && self.flows[flow].opened > 0 {
            return None;
        }
        let number = self.connections.len();
        let here = 2 * flow + end;
        let there = self.far[here];
        let made: io::Result<(OwnedFd, u16)> = (|| {
            let socket = self.stream(here)?;
            net::bind(&socket, &self.address(here, 0))?;
            match net::connect(&socket, &self.address(there, PORT)) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(error) => return Err(error.into()),
            }
            let name: SocketAddr = net::getsockname(&socket)?.try_into()?;
            Ok((socket, name.port()))
        })();
        let (socket, port) = match made {
            Ok(made) => made,
            Err(error) => {
                let id = &self.flows[flow].id;
                let single = || format!("flow {id}: a connection cannot be opened: {error}");
                self.warnings.add_once(format!("flows cannot open connections: {error}"), (flow as u64, id), single);
                return None;
            }
        };
        self.ports.insert((flow as u32, port), number as u32);
        let side = |opener: bool, reading: Reading| Side {
            opener,
            there: true,
            by_hand: !opener && reading == Reading::ByHand,
            ..Side::default()
        };
        let reading = |end: usize| self.flows[flow].applications[end].as_ref().map_or(Reading::AtOnce, |a| a.reading());
        let mut sides = [0, 1].map(|e| side(e == end, reading(e)));
        sides[end].socket = Some(socket);
        self.connections.push(Connection { flow: flow as u32, port, sides, totals: Default::default() });
        self.flows[flow].open.push(number as u32);
        self.flows[flow].opened += 1;
        self.watch(2 * number + end);
        Some(number)
    }

    /// Takes the connections that wait at `host`.
    pub(super) fn accept(&mut self, host: usize) {
        loop {
            let Some(listener) = &self.listeners[host] else { return };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let Ok((socket, Some(peer))) = net::acceptfrom_with(listener, flags) else { return };
            let Ok(peer) = SocketAddr::try_from(peer) else { continue };
            let key = ((host / 2) as u32, peer.port());
            let Some(number) = self.ports.get(&key).copied() else { continue };
            let number = number as usize;
            let side = &mut self.connections[number].sides[host % 2];
            if !side.there {
                continue;
            }
            side.socket = Some(socket);
            side.established = true;
            let nagle = self.options[host].nagle;
            if let Some(socket) = &self.connections[number].sides[host % 2].socket {
                // What else was set is inherited.
                let _ = net::sockopt::set_tcp_nodelay(socket, !nagle);
                if self.options[host].paced {
                    let _ = tcp::pace(socket);
                }
            }
            self.watch(2 * number + host % 2);
            self.work.push_back(Work::Tell((2 * number + host % 2) as u32));
            self.work.push_back(Work::Write((2 * number + host % 2) as u32));
        }
    }

    /// Side number `number` of all connections.
    pub(super) fn side(&mut self, number: usize) -> &mut Side {
        &mut self.connections[number / 2].sides[number % 2]
    }

    /// Tells the system what is waited for at the socket of side `number`.
    pub(super) fn watch(&mut self, number: usize) {
        let poll = self.poll.as_fd();
        let side = &mut self.connections[number / 2].sides[number % 2];
        let Some(socket) = &side.socket else { return };
        if side.interest == DEAF {
            return;
        }
        if side.ended && side.shut || side.failure.is_some() {
            // The system would tell of the hang-up again and again.
            side.interest = DEAF;
            let _ = epoll::delete(poll, socket);
            return;
        }
        let reads = !side.ended && (!side.by_hand || side.hungry);
        let writes = side.blocked || !side.established || side.low.is_some();
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, reads);
        flags.set(EventFlags::RDHUP, !side.ended && side.by_hand);
        flags.set(EventFlags::OUT, writes);
        let wanted = flags.bits() | WATCHED;
        if side.interest == wanted {
            return;
        }
        let data = Of::Side(number as u32).data();
        let said = if side.interest == 0 {
            epoll::add(poll, socket, data, flags)
        } else {
            epoll::modify(poll, socket, data, flags)
        };
        if said.is_ok() {
            side.interest = wanted;
        }
    }

    /// Writes what side `number` has to write, as far as its socket takes it, and ends its stream behind.
    pub(super) fn write(&mut self, number: usize) {
        let host = 2 * self.connections[number / 2].flow as usize + number % 2;
        let at_once = self.options[host].write.min(self.scratch.len() as u64);
        let side = &mut self.connections[number / 2].sides[number % 2];
        let Some(socket) = &side.socket else { return };
        if !side.established {
            return self.watch(number);
        }
        side.blocked = false;
        while side.pending > 0 {
            let bytes = side.pending.min(at_once) as usize;
            match net::send(socket, &self.scratch[..bytes], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(taken) => {
                    side.written += taken as u64;
                    if side.pending != u64::MAX {
                        side.pending -= taken as u64;
                    }
                    if taken < bytes {
                        side.blocked = true;
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    side.blocked = true;
                    break;
                }
                Err(error) => {
                    side.failure.get_or_insert(failure(error, side.told));
                    self.work.push_back(Work::Tell(number as u32));
                    return;
                }
            }
        }
        if side.pending == 0 && side.closing && !side.shut {
            side.shut = net::shutdown(socket, Shutdown::Write).is_ok();
            self.work.push_back(Work::Tell(number as u32));
        }
        self.watch(number);
    }

    /// Reads up to `most` bytes at side `number`; how many came.
    pub(super) fn read(&mut self, number: usize, most: u64) -> u64 {
        let mut all = 0;
        let side = &mut self.connections[number / 2].sides[number % 2];
        let Some(socket) = &side.socket else { return 0 };
        while all < most {
            let bytes = (most - all).min(1 << 30) as usize;
            match tcp::discard(socket, bytes) {
                Ok(0) => {
                    side.ended = true;
                    break;
                }
                Ok(read) => {
                    all += read as u64;
                    // What is short of a whole turn was all there was: no call in vain.
                    if read < bytes {
                        break;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let errno = Errno::from_io_error(&e).unwrap_or(Errno::CONNRESET);
                    side.failure.get_or_insert(failure(errno, side.told));
                    break;
                }
            }
        }
        side.read += all;
        all
    }

    /// Ends the connection of side `number` at once: the peer is reset.
    pub(super) fn abort_socket(&mut self, number: usize) {
        self.note(number / 2);
        let side = self.side(number);
        side.there = false;
        if let Some(socket) = side.socket.take() {
            let _ = net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
        }
    }

    /// Keeps the counters of a connection, which may be over soon.
    pub(super) fn note(&mut self, connection: usize) {
        let c = &mut self.connections[connection];
        if let Some(info) = c.sides[0].socket.as_ref().and_then(|socket| tcp::info(socket).ok()) {
            c.totals = super::totals::Totals::of(&info, c.sides[1].read);
        }
        c.totals.read = c.sides[1].read;
    }

    /// If everything is said on both sides of a connection it is over: its sockets go, its counters stay.
    pub(super) fn reap(&mut self, connection: usize) {
        let c = &self.connections[connection];
        if !c.sides.iter().all(Side::over) || !self.flows[c.flow as usize].open.contains(&(connection as u32)) {
            return;
        }
        self.note(connection);
        let c = &mut self.connections[connection];
        for side in &mut c.sides {
            (side.socket, side.there) = (None, false);
        }
        let (flow, port, totals) = (c.flow as usize, c.port, c.totals);
        let flow_state = &mut self.flows[flow];
        flow_state.open.retain(|open| *open != connection as u32);
        flow_state.ended = flow_state.ended.plus(totals);
        self.ports.remove(&(flow as u32, port));
    }
}

/// What `error` means for a connection that was `established`.
pub(super) fn failure(error: Errno, established: bool) -> Failure {
    match error {
        Errno::TIMEDOUT if established => Failure::Timeout,
        Errno::CONNRESET | Errno::PIPE if established => Failure::Reset,
        _ if established => Failure::Reset,
        _ => Failure::Connect,
    }
}
