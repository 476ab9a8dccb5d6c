//! What is asked for: one JSON document, and what of it cannot be.

use crate::cidr::Cidr;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Where clients want to go, and how they say it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Always here: a name or address and a port.
    To(String),
    /// They say it by SOCKS 5 (RFC 1928).
    Socks5,
    /// They say it by the method CONNECT of HTTP (RFC 9110 §9.3.6).
    HttpConnect,
    /// Their connections were for somebody else and were led here (`IP_TRANSPARENT`).
    Transparent,
}

/// A version of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Announced {
    /// Text.
    V1,
    /// Bytes.
    V2,
}

/// Options of the sockets of one side. What is `None` is left to the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Leg {
    /// Congestion control, by the kernel's name.
    pub cc: Option<String>,
    /// Bytes of the receive buffer as tcp(7) counts them.
    pub rcvbuf: Option<usize>,
    /// Bytes of the send buffer as tcp(7) counts them.
    pub sndbuf: Option<usize>,
    /// Unsent bytes beyond which the socket takes no more.
    pub notsent_lowat: Option<u64>,
    /// Most bytes a second.
    pub pacing_rate: Option<u64>,
    /// Milliseconds after which data without acknowledgment end the connection (RFC 5482).
    pub user_timeout_ms: Option<u32>,
    /// Seconds of silence after which the other end is asked whether it is there.
    pub keepalive_s: Option<u64>,
    /// Small segments do not wait (RFC 896); without it the proxy says yes.
    pub nodelay: Option<bool>,
    /// The first bytes go with the SYN (RFC 7413); without it the proxy says no.
    pub fast_open: Option<bool>,
    /// Segments of the initial window, which routes have: the proxy changes those to its one server, if it may, and says where a
    /// connection begins with another.
    pub initcwnd: Option<u32>,
}

/// What is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Where clients connect to.
    pub listen: SocketAddr,
    /// Where they go.
    pub mode: Mode,
    /// Which addresses clients may have. Empty: those of this computer.
    #[serde(default)]
    pub allow: Vec<Cidr>,
    /// Special addresses that clients may be connected to all the same.
    #[serde(default)]
    pub allow_target: Vec<Cidr>,
    /// Names and passwords of which clients must have one.
    #[serde(default)]
    pub credentials: Vec<(String, String)>,
    /// The side of the clients.
    #[serde(default)]
    pub client: Leg,
    /// The side of the servers.
    #[serde(default)]
    pub server: Leg,
    /// Most bytes that are held for one direction of a connection.
    #[serde(default = "four_mebibytes")]
    pub buffer: usize,
    /// Most bytes that are held at all.
    #[serde(default = "one_gibibyte")]
    pub max_buffer: usize,
    /// Most connections at a time.
    #[serde(default = "ten_thousand")]
    pub connections: usize,
    /// Most of one client's address.
    #[serde(default = "thousand")]
    pub per_client: usize,
    /// Seconds that a server's side may take to be there, its name included.
    #[serde(default = "ten")]
    pub connect_s: f64,
    /// Seconds without a byte either way after which a connection ends.
    #[serde(default = "three_hundred")]
    pub idle_s: f64,
    /// The same when one end has said that it is done.
    #[serde(default = "sixty")]
    pub half_open_s: f64,
    /// Seconds within which a client has said where it wants to go.
    #[serde(default = "five")]
    pub header_s: f64,
    /// Seconds that connections have left when the proxy is told to end.
    #[serde(default = "thirty")]
    pub drain_s: f64,
    /// Seconds between lines about each connection that is there. None: one, when it has ended.
    #[serde(default)]
    pub sample_s: Option<f64>,
    /// Where metrics can be read.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
    /// The file that lines about connections are appended to. None: standard output.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Whether there are lines about connections.
    #[serde(default = "yes")]
    pub lines: bool,
    /// Whose rights the proxy has once its sockets are there, if it was root before.
    #[serde(default = "nobody")]
    pub user: String,
    /// The process can do no more than it has to, where the kernel has landlock or seccomp.
    #[serde(default = "yes")]
    pub confine: bool,
    /// Clients begin with a header of the PROXY protocol.
    #[serde(default)]
    pub proxy_in: bool,
    /// Servers get a header of the PROXY protocol.
    #[serde(default)]
    pub proxy_out: Option<Announced>,
    /// Payload stays in the kernel, but for few bytes at a time: splice(2).
    #[serde(default = "yes")]
    pub splice: bool,
    /// Servers see the client's address.
    #[serde(default)]
    pub keep_source: bool,
    /// Servers see the client's port, where it is free: whoever has both ends knows by it which connections are one.
    #[serde(default)]
    pub keep_port: bool,
}

fn four_mebibytes() -> usize {
    4 << 20
}
fn one_gibibyte() -> usize {
    1 << 30
}
fn ten_thousand() -> usize {
    10_000
}
fn thousand() -> usize {
    1000
}
fn ten() -> f64 {
    10.0
}
fn three_hundred() -> f64 {
    300.0
}
fn sixty() -> f64 {
    60.0
}
fn five() -> f64 {
    5.0
}
fn thirty() -> f64 {
    30.0
}
fn yes() -> bool {
    true
}
fn nobody() -> String {
    "nobody".to_owned()
}

/// The least that a direction can hold: what a pipe has that was just made.
pub const LEAST_BUFFER: usize = 64 << 10;

impl Wanted {
    /// Reads the document.
    ///
    /// # Errors
    /// It is none, or asks for what cannot be; in one line.
    pub fn from_json(text: &str) -> Result<Wanted, String> {
        let wanted: Wanted = serde_json::from_str(text).map_err(|e| format!("what is asked for: {e}"))?;
        wanted.check()?;
        Ok(wanted)
    }

    /// Whether clients say where they go.
    pub fn asks(&self) -> bool {
        matches!(self.mode, Mode::Socks5 | Mode::HttpConnect)
    }

    fn check(&self) -> Result<(), String> {
        let times = [
            ("connect", self.connect_s),
            ("idle", self.idle_s),
            ("half_open", self.half_open_s),
            ("header", self.header_s),
            ("sample", self.sample_s.unwrap_or(1.0)),
        ];
        if let Some((name, s)) = times.into_iter().find(|(_, s)| !(*s >= 0.001 && *s <= 1e6)) {
            return Err(format!("{name}: {s} s; write from 0.001 to 1000000 s"));
        }
        if !(self.drain_s >= 0.0 && self.drain_s <= 1e6) {
            return Err(format!("drain: {} s; write from 0 to 1000000 s", self.drain_s));
        }
        if self.buffer < LEAST_BUFFER || self.buffer > 1 << 30 {
            return Err(format!(
                "buffer: {} bytes; write from {LEAST_BUFFER} (64 KiB) to 1073741824 (1 GiB)",
                self.buffer
            ));
        }
        if self.max_buffer < 2 * self.buffer {
            return Err(format!(
                "max_buffer: {} bytes are less than both directions of one connection hold; write at least {}",
                self.max_buffer,
                2 * self.buffer
            ));
        }
        if self.connections == 0 || self.per_client == 0 {
            return Err("connections, per_client: 0 of them would be no proxy; write at least 1".to_owned());
        }
        if let Some(n) =
            [&self.client, &self.server].iter().find_map(|leg| leg.initcwnd.filter(|n| !(1..=1000).contains(n)))
        {
            return Err(format!("initcwnd: {n} segments; write from 1 to 1000"));
        }
        self.check_doors()
    }

    /// Nobody is to find an open relay.
    fn check_doors(&self) -> Result<(), String> {
        if !self.credentials.is_empty() && !self.asks() {
            return Err(
                "credentials: clients do not say who they are; leave it out, or take --socks5 or --http-connect"
                    .to_owned(),
            );
        }
        let short = |of: &String| !of.is_empty() && of.len() <= 255;
        if !self.credentials.iter().all(|(name, password)| short(name) && short(password) && !name.contains(':')) {
            return Err(
                "credentials: names and passwords have 1 to 255 bytes (RFC 1929), names no colon (RFC 7617)".to_owned()
            );
        }
        if !self.allow_target.is_empty() && !self.asks() {
            return Err(
                "allow_target: clients do not choose where they go; leave it out, or take --socks5 or --http-connect"
                    .to_owned(),
            );
        }
        let open = !self.listen.ip().to_canonical().is_loopback();
        if open && self.allow.is_empty() && (self.credentials.is_empty() || self.mode == Mode::Transparent) {
            let or = if self.asks() { ", or --credentials" } else { "" };
            return Err(format!(
                "listen: {} can be reached from elsewhere; say who may: --allow 192.0.2.0/24{or}",
                self.listen
            ));
        }
        if self.mode == Mode::Transparent && self.allow.is_empty() {
            return Err("transparent: clients come from elsewhere; say which: --allow 192.0.2.0/24".to_owned());
        }
        if let Some(metrics) = self.metrics.filter(|of| !of.ip().to_canonical().is_loopback() && self.allow.is_empty())
        {
            return Err(format!("metrics: {metrics} can be reached from elsewhere; say who may: --allow 192.0.2.0/24"));
        }
        if self.keep_source && self.mode != Mode::Transparent {
            return Err(
                "keep_source: servers see the client's address only with --transparent; leave it out, or take --proxy-out"
                    .to_owned()
            );
        }
        if self.keep_port && self.keep_source {
            return Err("keep_port: not with keep_source, whose connections have the client's address".to_owned());
        }
        if let Mode::To(target) = &self.mode {
            host_and_port(target).map_err(|e| format!("to: {e}"))?;
        }
        Ok(())
    }
}

/// The name or address and the port that `text` has, `example.com:80` or `[2001:db8::1]:80`.
///
/// # Errors
/// It has none.
pub fn host_and_port(text: &str) -> Result<(&str, u16), String> {
    let wrong = || format!("{text:?} is no host with its port; write example.com:80 or [2001:db8::1]:80");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').filter(|of| of.parse::<std::net::Ipv6Addr>().is_ok()).ok_or_else(wrong)?,
        None => host,
    };
    let plain = |c: char| c.is_ascii_graphic() && !"/@?#[]%\\".contains(c);
    if host.is_empty() || host.len() > 255 || !host.chars().all(plain) || (host.contains(':') && !text.starts_with('['))
    {
        return Err(wrong());
    }
    Ok((host, port))
}

/// `seconds` that were found to be some.
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        Wanted::from_json(text).unwrap_err()
    }

    #[test]
    fn nobody_gets_an_open_relay_by_leaving_something_out() {
        let open = r#"{"listen": "0.0.0.0:1080", "mode": "socks5"}"#;
        assert!(said(open).contains("--allow 192.0.2.0/24, or --credentials"));
        assert!(said(r#"{"listen": "[::]:80", "mode": {"to": "example.com:80"}}"#).ends_with("--allow 192.0.2.0/24"));
        assert!(said(r#"{"listen": "127.0.0.1:80", "mode": "transparent"}"#).contains("transparent"));
        let metrics = r#"{"listen": "127.0.0.1:80", "mode": "socks5", "metrics": "0.0.0.0:9000"}"#;
        assert!(said(metrics).starts_with("metrics: 0.0.0.0:9000"));
        for good in [
            r#"{"listen": "127.0.0.1:1080", "mode": "socks5"}"#,
            r#"{"listen": "[::1]:1080", "mode": "http_connect"}"#,
            r#"{"listen": "0.0.0.0:1080", "mode": "socks5", "allow": ["10.0.0.0/8"]}"#,
            r#"{"listen": "0.0.0.0:1080", "mode": "socks5", "credentials": [["a", "b"]]}"#,
        ] {
            assert!(Wanted::from_json(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn what_has_no_effect_or_no_sense_is_refused() {
        let with = |more: &str| said(&format!(r#"{{"listen": "127.0.0.1:1", "mode": {{"to": "a:1"}}, {more}}}"#));
        // Options of the command, as they are typed: the key before the colon becomes one as well.
        for (key, value, remedy) in [
            ("credentials", r#"[["a", "b"]]"#, "take --socks5 or --http-connect"),
            ("allow_target", r#"["10.0.0.0/8"]"#, "take --socks5 or --http-connect"),
            ("keep_source", "true", "take --proxy-out"),
        ] {
            let said = with(&format!("\"{key}\": {value}"));
            assert!(said.starts_with(&format!("{key}: ")) && said.ends_with(remedy), "{said}");
        }
        assert!(with(r#""buffer": 1"#).starts_with("buffer"));
        assert!(with(r#""buffer": 4194304, "max_buffer": 4194304"#).starts_with("max_buffer"));
        assert!(with(r#""idle_s": 0"#).starts_with("idle"));
        assert!(with(r#""connections": 0"#).starts_with("connections"));
        assert!(with(r#""speed": 1"#).contains("speed"));
    }

    #[test]
    fn hosts_have_ports() {
        assert_eq!(host_and_port("example.com:80"), Ok(("example.com", 80)));
        assert_eq!(host_and_port("[::1]:443"), Ok(("::1", 443)));
        for wrong in ["", ":80", "a", "a:", "a:0", "a:65536", "::1:80", "[::1]", "[a]:1", "a b:1", "user@a:1", "a/b:1"]
        {
            assert!(host_and_port(wrong).is_err(), "{wrong}");
        }
    }
}
