//! From what is asked for to a proxy that runs: sockets, rights, limits.

use crate::confine::confine;
use crate::journal::Journal;
use crate::legs;
use crate::pipes::Pipes;
use crate::proxy::{Doors, Proxy};
use crate::routes::Routes;
use crate::sys::options::{Setting, set};
use crate::sys::rights;
use crate::targets::fixed;
use crate::wanted::{Mode, Wanted, host_and_port};
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};
use rustix::thread::CapabilitySet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// Connections of clients that wait for the proxy.
const BACKLOG: i32 = 4096;

/// Descriptors beside those of connections: the program's own, and pipes that are kept for when there are no others.
const OTHERS: u64 = 48;
const RESERVED: usize = 8;

/// Runs what is asked for, to its end.
///
/// # Errors
/// It cannot be run; in one line.
pub fn run(mut wanted: Wanted) -> Result<(), String> {
    let clients = door(wanted.listen, &wanted)?;
    legs::check("server", &wanted.server, &server_socket(&wanted)?)?;
    let metrics =
        wanted.metrics.map(|at| TcpListener::bind(at).map_err(|e| format!("metrics: {at}: {e}"))).transpose()?;
    let to: Box<dyn Write + Send> = match &wanted.log {
        None => Box::new(io::stdout()),
        Some(path) => {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            Box::new(opened.map_err(|e| format!("log: {}: {e}", path.display()))?)
        }
    };
    limit(&mut wanted);
    let segments = wanted.server.initcwnd.filter(|_| matches!(wanted.mode, Mode::To(_)));
    let mut routes =
        segments.map(Routes::begin).transpose().map_err(|e| format!("server initcwnd: cannot change routes: {e}"))?;
    give_up_rights(&wanted)?;
    // Once more: connections have the rights that are left now, and root may set what others may not.
    legs::check("server", &wanted.server, &server_socket(&wanted)?)?;
    // There is one thread until here, and others have what it has.
    let without = if wanted.confine { confine(&wanted) } else { Vec::new() };
    let pipes = Pipes::new(wanted.splice, wanted.buffer, wanted.max_buffer);
    let most = pipes.reserve(RESERVED).map_err(|e| format!("pipes: {e}"))?;
    if most < wanted.buffer {
        eprintln!(
            "ackclock proxy: buffer: a pipe holds {most} bytes at most, not {}; raise fs.pipe-max-size for more",
            wanted.buffer
        );
    }
    let runtime = runtime()?;
    let servers = runtime.block_on(servers(&wanted))?;
    if servers.iter().any(|server| same(*server, wanted.listen)) {
        return Err(format!("to: {} is where the proxy itself listens", wanted.listen));
    }
    if let Some(routes) = &mut routes {
        routes.lead(&servers);
    }
    let doors = {
        let _inside = runtime.enter();
        let door = |of: TcpListener| of.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(of));
        let made = door(clients).and_then(|clients| Ok(Doors { clients, metrics: metrics.map(door).transpose()? }));
        made.map_err(|e| format!("listen: {e}"))?
    };
    tell_where(&doors, &without)?;
    let proxy = Arc::new(Proxy::new(wanted, servers, pipes, Journal::new(to)));
    let done = runtime.block_on(proxy.run(doors)).map_err(|e| format!("signals: {e}"));
    proxy.journal.finish();
    // Names that are still looked up are nobody's any more.
    runtime.shutdown_background();
    done
}

fn runtime() -> Result<Runtime, String> {
    Builder::new_current_thread().enable_all().max_blocking_threads(16).build().map_err(|e| format!("tokio: {e}"))
}

fn same(a: SocketAddr, b: SocketAddr) -> bool {
    a.port() == b.port() && (a.ip() == b.ip() || (b.ip().is_unspecified() && a.ip().is_loopback()))
}

async fn servers(wanted: &Wanted) -> Result<Vec<SocketAddr>, String> {
    match &wanted.mode {
        Mode::To(target) => {
            let (host, port) = host_and_port(target)?;
            fixed(host, port).await.map_err(|e| format!("to: {target}: {e}"))
        }
        _ => Ok(Vec::new()),
    }
}

/// The socket that listens, with the options of the clients' side.
fn door(at: SocketAddr, wanted: &Wanted) -> Result<TcpListener, String> {
    let wrong = |e: io::Error| format!("listen: {at}: {e}");
    let socket = stream_socket(at.is_ipv6()).map_err(wrong)?;
    set_socket_reuseaddr(&socket, true).map_err(|e| wrong(e.into()))?;
    if at.is_ipv6() {
        // One address is one address: who wants both versions runs two proxies.
        sockopt::set_ipv6_v6only(&socket, true).map_err(|e| wrong(e.into()))?;
    }
    if wanted.mode == Mode::Transparent {
        may_be_others(&socket, at.is_ipv6())?;
    }
    legs::check("client", &wanted.client, &socket)?;
    bind(&socket, &at).map_err(|e| wrong(e.into()))?;
    listen(&socket, BACKLOG).map_err(|e| wrong(e.into()))?;
    Ok(socket.into())
}

fn server_socket(wanted: &Wanted) -> Result<rustix::fd::OwnedFd, String> {
    let socket = stream_socket(wanted.listen.is_ipv6()).map_err(|e| format!("server: {e}"))?;
    if wanted.keep_source {
        may_be_others(&socket, wanted.listen.is_ipv6())?;
    }
    Ok(socket)
}

fn stream_socket(six: bool) -> io::Result<rustix::fd::OwnedFd> {
    let family = if six { AddressFamily::INET6 } else { AddressFamily::INET };
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))?)
}

fn may_be_others(socket: &rustix::fd::OwnedFd, six: bool) -> Result<(), String> {
    let what = if six { Setting::Transparent6 } else { Setting::Transparent4 };
    set(socket, what, 1)
        .map_err(|e| format!("transparent: IP_TRANSPARENT is refused ({e}); run it as root, or with CAP_NET_ADMIN"))
}

/// As many connections as there are descriptors for: two each, and pipes for those that have something to carry.
fn limit(wanted: &mut Wanted) {
    let each = |connections: u64| connections.saturating_mul(2).saturating_add(OTHERS + 2 * RESERVED as u64);
    let needed = each(wanted.connections as u64);
    // Half of all directions may be busy at a time.
    let has = rights::descriptors(needed.saturating_add(2 * wanted.connections as u64));
    if has < needed {
        let most = (has.saturating_sub(each(0)) / 2).max(1) as usize;
        eprintln!(
            "ackclock proxy: connections: {most} at a time, not {}, for {has} descriptors are all that the system gives (ulimit -n)",
            wanted.connections
        );
        wanted.connections = most;
    }
}

fn give_up_rights(wanted: &Wanted) -> Result<(), String> {
    let kept = if wanted.keep_source { CapabilitySet::NET_ADMIN } else { CapabilitySet::empty() };
    if !rights::is_root() {
        return rights::give_up_all_but(kept)
            .map_err(|e| format!("the system does not let capabilities be given up ({e})"));
    }
    if wanted.user == "root" {
        return Ok(());
    }
    let user = rights::user(&wanted.user)?;
    rights::become_user(user, kept).map_err(|e| {
        format!("user {}: the system does not let root become it ({e}); give another, or --user root", wanted.user)
    })
}

fn tell_where(doors: &Doors, without: &[&str]) -> Result<(), String> {
    let of = |door: &tokio::net::TcpListener| door.local_addr().map_err(|e| format!("listen: {e}"));
    let metrics = match &doors.metrics {
        Some(door) => format!("; metrics at {}", of(door)?),
        None => String::new(),
    };
    let not_confined = match without {
        [] => String::new(),
        _ => format!("not confined by {}, which the kernel does not have; ", without.join(" or ")),
    };
    eprintln!("ackclock proxy: {not_confined}listens at {}{metrics}", of(&doors.clients)?);
    Ok(())
}
