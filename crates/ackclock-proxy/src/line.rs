//! What is told of a connection: a line of JSON when it has ended, and on request others before.

use crate::carry::Way;
use crate::ending::{By, Ending};
use crate::opening::Known;
use crate::proxy::Proxy;
use crate::sys::info::{Info, info};
use serde::Serialize;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;

/// One connection. Times are seconds; a handshake of the client is what the kernel measured between its answer and the
/// acknowledgment of that.
#[derive(Debug, Serialize)]
pub struct Line {
    event: &'static str,
    /// Its number.
    pub id: u64,
    opened: f64,
    client: SocketAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    wish: Option<String>,
    server: Option<SocketAddr>,
    duration_s: f64,
    header_s: Option<f64>,
    client_handshake_s: Option<f64>,
    server_handshake_s: Option<f64>,
    client_initcwnd: Option<u32>,
    server_initcwnd: Option<u32>,
    to_server_bytes: u64,
    to_client_bytes: u64,
    /// Bytes that who sent them thinks delivered: at the end they were not. Of a connection that finished they are on their way.
    undelivered_to_server_bytes: u64,
    undelivered_to_client_bytes: u64,
    closed_by: Option<By>,
    why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    client_tcp: Option<Info>,
    server_tcp: Option<Info>,
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |of| of.as_secs_f64())
}

impl Line {
    /// Of a connection that has just been opened, or could not be; this was said of the client's when it was new.
    pub fn new(proxy: &Proxy, known: &Known, client: Option<&Info>) -> Line {
        Line {
            event: "connection",
            id: proxy.number(),
            opened: 0.0,
            client: known.client,
            wish: known.wish.as_ref().map(|of| match of.host.contains(':') {
                true => format!("[{}]:{}", of.host, of.port),
                false => format!("{}:{}", of.host, of.port),
            }),
            server: known.target,
            duration_s: 0.0,
            header_s: known.header.map(|of| of.as_secs_f64()),
            client_handshake_s: client.and_then(Info::answered_after).map(|us| f64::from(us) * 1e-6),
            server_handshake_s: known.server_handshake.map(|of| of.as_secs_f64()),
            client_initcwnd: client.map(|of| of.snd_cwnd),
            server_initcwnd: known.server_window,
            to_server_bytes: 0,
            to_client_bytes: 0,
            undelivered_to_server_bytes: 0,
            undelivered_to_client_bytes: 0,
            closed_by: None,
            why: "",
            detail: None,
            client_tcp: None,
            server_tcp: None,
        }
    }

    /// What was carried up and down, what of it was not delivered, and what the kernel said then of the sockets of both sides.
    pub fn carried(
        &mut self,
        (up, down): (&Way, &Way),
        undelivered: (u64, u64),
        (client, server): (Option<Info>, Option<Info>),
    ) {
        (self.to_server_bytes, self.to_client_bytes) = (up.moved(), down.moved());
        (self.undelivered_to_server_bytes, self.undelivered_to_client_bytes) = undelivered;
        (self.client_tcp, self.server_tcp) = (client, server);
    }

    /// It has ended so, after this time; which is counted and told.
    pub fn end(mut self, proxy: &Proxy, ending: &Ending, age: Duration) {
        proxy.counts.ended(ending.why);
        if !proxy.wanted.lines {
            return;
        }
        self.duration_s = age.as_secs_f64();
        self.opened = now() - self.duration_s;
        self.closed_by = Some(ending.by);
        self.why = ending.why.word();
        self.detail.clone_from(&ending.detail);
        proxy.journal.json(&self);
    }
}

/// One that goes on.
#[derive(Debug, Serialize)]
pub struct Sample {
    event: &'static str,
    id: u64,
    age_s: f64,
    to_server_bytes: u64,
    to_client_bytes: u64,
    client_tcp: Option<Info>,
    server_tcp: Option<Info>,
}

impl Sample {
    /// As it is now.
    pub fn new(id: u64, age: Duration, (up, down): (&Way, &Way), (client, server): (&TcpStream, &TcpStream)) -> Sample {
        Sample {
            event: "sample",
            id,
            age_s: age.as_secs_f64(),
            to_server_bytes: up.moved(),
            to_client_bytes: down.moved(),
            client_tcp: info(client).ok(),
            server_tcp: info(server).ok(),
        }
    }
}
