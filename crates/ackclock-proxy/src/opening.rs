//! A client's wish heard, and the server's side of its connection opened.

use crate::early;
use crate::ending::{By, Ending, Why, without_descriptors};
use crate::header::{Heard, Wish, connect, proxied, socks5};
use crate::legs;
use crate::proxy::Proxy;
use crate::sys::options::{Setting, set};
use crate::targets::{Nowhere, resolve};
use crate::wanted::{Announced, Mode, seconds};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant as At, sleep, timeout, timeout_at};

/// What a refused client may still send before it is gone, and how long that may take.
const LAST_BYTES: usize = 64 << 10;
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Before the next try where descriptors are missing.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// What is known of a connection, as soon as it is.
#[derive(Debug)]
pub struct Known {
    /// Who the client is: the other end of its connection, or who the proxy before this one says.
    pub client: SocketAddr,
    /// Where the client wants to go.
    pub wish: Option<Wish>,
    /// What it is connected to.
    pub target: Option<SocketAddr>,
    /// How long the client took to say where it wants to go.
    pub header: Option<Duration>,
    /// How long the server took to be there: from the first segment to it on.
    pub server_handshake: Option<Duration>,
    /// How many segments the first window to the server has.
    pub server_window: Option<u32>,
}

impl Known {
    /// Who the client is.
    pub fn of(client: SocketAddr) -> Known {
        Known { client, wish: None, target: None, header: None, server_handshake: None, server_window: None }
    }
}

/// The server's side.
#[derive(Debug)]
pub struct Opened {
    /// Its socket.
    pub server: TcpStream,
    /// What it is to be given before anything else.
    pub first: Vec<u8>,
    /// How many bytes of that it has got with the SYN.
    pub sent: usize,
}

/// Opens the server's side.
///
/// # Errors
/// The client has to be sent away, which it was told if there is a way to tell it.
pub async fn open(proxy: &Proxy, client: &TcpStream, known: &mut Known) -> Result<Opened, Ending> {
    let wanted = &proxy.wanted;
    let begin = Instant::now();
    // One time for all of it: a header behind a header has none of its own.
    let until = At::now() + seconds(wanted.header_s);
    let mut heard = Heard::new(client);
    let mut met = None;
    if wanted.proxy_in {
        let header = heard.next(proxied::LONGEST, proxied::header);
        if let Some((from, to)) = in_time(until, header).await? {
            known.client = from;
            met = Some(to);
        }
    }
    let asked = match wanted.mode {
        Mode::Socks5 => Some(in_time(until, socks5::ask(&mut heard, &wanted.credentials)).await),
        Mode::HttpConnect => Some(in_time(until, connect::ask(&mut heard, &wanted.credentials)).await),
        Mode::To(_) | Mode::Transparent => None,
    };
    if asked.is_some() || wanted.proxy_in {
        known.header = Some(begin.elapsed());
    }
    known.wish = match asked.transpose() {
        Ok(wish) => wish,
        Err(ending) => {
            if wanted.mode == Mode::HttpConnect && ending.why == Why::HeaderTimedOut {
                let _ = timeout(LAST_WORDS, connect::too_late(client)).await;
            }
            return Err(sent_away(client, ending).await);
        }
    };
    let mut rest = heard.rest();
    let met = match met {
        None if wanted.mode == Mode::Transparent || wanted.proxy_out.is_some() => client.local_addr().ok(),
        known => known,
    };
    let early = wanted.server.fast_open == Some(true);
    if early && rest.is_empty() && wanted.proxy_out.is_none() && !wanted.asks() {
        rest = early::first_bytes(client).await;
    }
    let first = with_announcement(wanted.proxy_out, known.client, met, rest);
    let found = found(proxy, known, met, if early { &first } else { &[] }).await;
    let how = found.as_ref().map(|(server, _)| server).map_err(|ending| ending.why);
    let telling = async {
        match wanted.mode {
            Mode::Socks5 => socks5::answer(client, how.map(|server| server.local_addr().ok())).await,
            Mode::HttpConnect => connect::answer(client, how.map(|_| ())).await,
            Mode::To(_) | Mode::Transparent => {}
        }
    };
    let told = timeout(seconds(wanted.header_s), telling).await.is_ok();
    let (server, sent) = match found {
        Ok(found) if told => found,
        Ok(_) => return Err(Ending::with(By::Proxy, Why::HeaderTimedOut, "it does not read the answer")),
        Err(ending) if wanted.asks() => return Err(sent_away(client, ending).await),
        Err(ending) => return Err(ending),
    };
    Ok(Opened { server, first, sent })
}

fn with_announcement(version: Option<Announced>, from: SocketAddr, to: Option<SocketAddr>, rest: Vec<u8>) -> Vec<u8> {
    match version.zip(to) {
        None => rest,
        Some((version, to)) => {
            let mut first = proxied::written(version, from, to);
            first.extend(rest);
            first
        }
    }
}

async fn in_time<T>(until: At, what: impl Future<Output = Result<T, Ending>>) -> Result<T, Ending> {
    timeout_at(until, what).await.unwrap_or_else(|_| Err(Ending::new(By::Proxy, Why::HeaderTimedOut)))
}

/// Lets the client read what it was told: closing a socket with unread bytes would reset it (RFC 1122 §4.2.2.13).
async fn sent_away(client: &TcpStream, ending: Ending) -> Ending {
    let _ = rustix::net::shutdown(client, rustix::net::Shutdown::Write);
    let silence = async {
        let mut read = 0;
        while read < LAST_BYTES && client.readable().await.is_ok() {
            match client.try_read(&mut [0; 4096]) {
                Ok(0) => return,
                Ok(n) => read += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = timeout(LAST_WORDS, silence).await;
    ending
}

/// Somebody where the client wants to go, and how many of the bytes that may go with the SYN, `early`, did.
async fn found(
    proxy: &Proxy,
    known: &mut Known,
    met: Option<SocketAddr>,
    early: &[u8],
) -> Result<(TcpStream, usize), Ending> {
    let wanted = &proxy.wanted;
    let until = At::now() + seconds(wanted.connect_s);
    let late = || Ending::new(By::Server, Why::ConnectTimedOut);
    let addresses = match (&known.wish, &wanted.mode) {
        (Some(wish), _) => {
            let found = timeout_at(until, resolve(&wish.host, wish.port, &wanted.allow_target)).await;
            found.map_err(|_| late())?.map_err(|nowhere| match nowhere {
                Nowhere::Unknown(error) => Ending::with(By::Proxy, Why::Unknown, error),
                Nowhere::Forbidden(why) => Ending::with(By::Proxy, Why::Forbidden, why),
            })?
        }
        (None, Mode::Transparent) => match met {
            Some(met) if !own(met.ip()) => vec![met],
            Some(met) => return Err(Ending::with(By::Proxy, Why::Loop, format!("{met} is this computer's own"))),
            // The client has reset it in the meantime.
            None => return Err(Ending::new(By::Client, Why::Reset)),
        },
        (None, _) => proxy.fixed.clone(),
    };
    let mut last = late();
    for (number, address) in addresses.iter().enumerate() {
        known.target = Some(*address);
        let left = until.saturating_duration_since(At::now()) / (addresses.len() - number) as u32;
        let begin = Instant::now();
        match timeout(left, connected(proxy, *address, known.client, early)).await {
            Ok(Ok(found)) => {
                known.server_handshake = Some(begin.elapsed());
                known.server_window = proxy.begins(By::Server, &found.0, *address).map(|of| of.snd_cwnd);
                return Ok(found);
            }
            Ok(Err(error)) => {
                let why = Why::of_connecting(&error);
                last = Ending::with(if why == Why::Refused { By::Server } else { By::Proxy }, why, error);
            }
            Err(_) => last = late(),
        }
    }
    Err(last)
}

/// A socket, as soon as there is a descriptor for it.
async fn socket(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    loop {
        match socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)).map_err(io::Error::from) {
            Err(error) if without_descriptors(&error) => sleep(TRY_AGAIN).await,
            made => return made,
        }
    }
}

async fn connected(proxy: &Proxy, to: SocketAddr, client: SocketAddr, early: &[u8]) -> io::Result<(TcpStream, usize)> {
    let socket = socket(to).await?;
    legs::prepare(&socket, &proxy.wanted.server)
        .map_err(|(name, e)| io::Error::new(e.kind(), format!("{name}: {e}")))?;
    if proxy.wanted.keep_source {
        set(&socket, if to.is_ipv4() { Setting::Transparent4 } else { Setting::Transparent6 }, 1)?;
        bind(&socket, &SocketAddr::new(client.ip().to_canonical(), 0))?;
    } else if proxy.wanted.keep_port {
        let any = if to.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
        set_socket_reuseaddr(&socket, true)?;
        // Another port will do as well for a server that does not look at it.
        let _ = bind(&socket, &SocketAddr::new(any, client.port()));
    }
    if !early.is_empty() {
        // The kernel took it at the start. Where it does not any more, the bytes follow the handshake.
        let _ = set(&socket, Setting::FastOpenConnect, 1);
    }
    let server = there(socket, to).await?;
    let sent = if early.is_empty() { 0 } else { early::sent(&server, early).await? };
    Ok((server, sent))
}

/// The connection of `socket` to `to`, once it is there. Only where something went wrong the kernel is asked what.
async fn there(socket: OwnedFd, to: SocketAddr) -> io::Result<TcpStream> {
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let server = TcpStream::from_std(socket.into())?;
    let ready = server.ready(Interest::WRITABLE | Interest::ERROR).await?;
    match ready.is_error() || ready.is_write_closed() {
        true => server.take_error()?.map_or(Ok(server), Err),
        false => Ok(server),
    }
}

/// Whether `address` is one of this computer: only then a socket can have it.
fn own(address: IpAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}
