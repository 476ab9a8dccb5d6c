//! Sockets of either side with their options, and whether the kernel takes these.

use crate::sys::options::{self, Setting};
use crate::wanted::Leg;
use rustix::fd::AsFd;
use rustix::net::sockopt;
use std::fs;
use std::io;
use std::time::Duration;

/// How often an end that does not answer is asked again (tcp(7)), and how much sooner than the first time.
const PROBES: u32 = 4;

/// Sets what `leg` says of `socket`. Of a socket that listens those that it accepts have it, too.
///
/// # Errors
/// The name of the option that the kernel does not take, and why.
pub fn prepare(socket: &impl AsFd, leg: &Leg) -> Result<(), (&'static str, io::Error)> {
    let said = |name: &'static str, done: rustix::io::Result<()>| done.map_err(|e| (name, e.into()));
    said("nodelay", sockopt::set_tcp_nodelay(socket, leg.nodelay.unwrap_or(true)))?;
    if let Some(name) = &leg.cc {
        said("cc", sockopt::set_tcp_congestion(socket, name))?;
    }
    if let Some(bytes) = leg.rcvbuf {
        said("rcvbuf", sockopt::set_socket_recv_buffer_size(socket, bytes))?;
    }
    if let Some(bytes) = leg.sndbuf {
        said("sndbuf", sockopt::set_socket_send_buffer_size(socket, bytes))?;
    }
    if let Some(bytes) = leg.notsent_lowat {
        options::set(socket, Setting::UnsentLowWater, bytes).map_err(|e| ("notsent_lowat", e))?;
    }
    if let Some(rate) = leg.pacing_rate {
        options::set(socket, Setting::PacingRate, rate).map_err(|e| ("pacing_rate", e))?;
    }
    if let Some(ms) = leg.user_timeout_ms {
        said("user_timeout", sockopt::set_tcp_user_timeout(socket, ms))?;
    }
    if let Some(s) = leg.keepalive_s {
        let every = Duration::from_secs((s / u64::from(PROBES)).max(1));
        let all = sockopt::set_socket_keepalive(socket, true)
            .and_then(|()| sockopt::set_tcp_keepidle(socket, Duration::from_secs(s)))
            .and_then(|()| sockopt::set_tcp_keepintvl(socket, every))
            .and_then(|()| sockopt::set_tcp_keepcnt(socket, PROBES));
        said("keepalive", all)?;
    }
    Ok(())
}

/// Connections whose SYN has data that wait for the end of their handshake: more than that anybody could send who lies about
/// the address.
const EARLY: u64 = 256;

/// Bits of `net.ipv4.tcp_fastopen`.
const FAST_OPEN: &str = "/proc/sys/net/ipv4/tcp_fastopen";

/// Lets SYNs have data: those of clients to a socket that is to listen, or those to servers, on a socket to try it with.
///
/// # Errors
/// The kernel does not allow it, in one line.
fn fast_open(side: &str, socket: &impl AsFd) -> Result<(), String> {
    let allowed = fs::read_to_string(FAST_OPEN).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // A socket that listens takes the option whatever the kernel does with it then.
    let (bit, done) = match side {
        "client" => (2, options::set(socket, Setting::FastOpenQueue, EARLY)),
        _ => (1, options::set(socket, Setting::FastOpenConnect, 1)),
    };
    match (allowed, done) {
        (Some(allowed), _) if allowed & bit == 0 => Err(format!(
            "{side} fast_open: net.ipv4.tcp_fastopen is {allowed}, which does not allow it; sysctl -w net.ipv4.tcp_fastopen={}",
            allowed | bit
        )),
        (_, Err(error)) => Err(format!("{side} fast_open: the kernel refuses it: {error}")),
        _ => Ok(()),
    }
}

/// Tries what `leg` says of one `side` on a socket that nothing else is done with.
///
/// # Errors
/// The option that the kernel does not take or does not keep, and what it has instead, in one line.
pub fn check(side: &str, leg: &Leg, socket: &impl AsFd) -> Result<(), String> {
    prepare(socket, leg).map_err(|(name, error)| refusal(side, name, leg, &error))?;
    // The kernel doubles both, for what it needs itself, and keeps silent about what is beyond its limit (socket(7)).
    let kept = |name, asked: Option<usize>, has: rustix::io::Result<usize>, limit| match (asked, has) {
        (Some(asked), Ok(has)) if has < 2 * asked => Err(format!(
            "{side} {name}: {asked} bytes are more than the kernel gives, {}; raise net.core.{limit}, or leave it to the kernel",
            has / 2
        )),
        _ => Ok(()),
    };
    kept("rcvbuf", leg.rcvbuf, sockopt::socket_recv_buffer_size(socket), "rmem_max")?;
    kept("sndbuf", leg.sndbuf, sockopt::socket_send_buffer_size(socket), "wmem_max")?;
    if leg.fast_open == Some(true) {
        fast_open(side, socket)?;
    }
    Ok(())
}

fn refusal(side: &str, name: &str, leg: &Leg, error: &io::Error) -> String {
    if name == "cc" {
        let asked = leg.cc.as_deref().unwrap_or_default();
        let has = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
        let only = if error.kind() == io::ErrorKind::PermissionDenied {
            format!(
                "; who is not root may use {}; add it to net.ipv4.tcp_allowed_congestion_control, or take --user root",
                allowed.trim()
            )
        } else {
            String::new()
        };
        return format!("{side} cc: the kernel refuses {asked:?}; it has {}{only}", has.trim());
    }
    format!("{side} {name}: the kernel refuses it: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn socket() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn options_are_those_of_the_socket() {
        let leg = Leg {
            cc: Some("reno".to_owned()),
            rcvbuf: Some(65_536),
            sndbuf: Some(32_768),
            notsent_lowat: Some(16_384),
            pacing_rate: Some(1_000_000),
            user_timeout_ms: Some(7000),
            keepalive_s: Some(20),
            nodelay: Some(false),
            fast_open: None,
            initcwnd: None,
        };
        let socket = socket();
        check("client", &leg, &socket).unwrap();
        assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), "reno");
        assert_eq!(sockopt::socket_recv_buffer_size(&socket).unwrap(), 2 * 65_536);
        assert_eq!(sockopt::socket_send_buffer_size(&socket).unwrap(), 2 * 32_768);
        assert_eq!(sockopt::tcp_user_timeout(&socket).unwrap(), 7000);
        assert_eq!(options::get::<libc::c_int>(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), 16_384);
        assert_eq!(options::get::<u64>(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), 1_000_000);
        assert!(sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(sockopt::tcp_keepcnt(&socket).unwrap(), 4);
        assert_eq!(sockopt::tcp_keepidle(&socket).unwrap(), Duration::from_secs(20));
        assert_eq!(sockopt::tcp_keepintvl(&socket).unwrap(), Duration::from_secs(5));
        assert!(!sockopt::tcp_nodelay(&socket).unwrap());
    }

    #[test]
    fn what_the_kernel_does_not_have_is_named_with_what_it_has() {
        let leg = Leg { cc: Some("vegetarian".to_owned()), ..Leg::default() };
        let said = check("server", &leg, &socket()).unwrap_err();
        assert!(
            said.starts_with("server cc: the kernel refuses \"vegetarian\"; it has ") && said.contains("reno"),
            "{said}"
        );
        let most: usize = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
        let leg = Leg { rcvbuf: Some(most + 4096), ..Leg::default() };
        let said = check("client", &leg, &socket()).unwrap_err();
        assert!(said.contains(&format!("the kernel gives, {most}; raise net.core.rmem_max")), "{said}");
    }
}
