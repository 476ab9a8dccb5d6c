//! What this computer can do for the proxy.

use crate::pipes::Pipes;
use crate::sys::options::{Setting, set};
use crate::sys::rights;
use serde::Serialize;
use std::fs;
use std::net::TcpListener;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Found {
    /// Names of congestion controls.
    controllers: Vec<String>,
    /// Most bytes that a pipe holds; `None` if there are no pipes.
    pipe: Option<usize>,
    /// Whether connections of others can be taken over (`IP_TRANSPARENT`); if not, why.
    transparent: Result<(), String>,
    /// How many descriptors it may have.
    descriptors: u64,
}

/// Looks.
pub fn probe() -> Found {
    let has = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let transparent = TcpListener::bind("127.0.0.1:0").and_then(|socket| set(&socket, Setting::Transparent4, 1));
    Found {
        controllers: has.split_whitespace().map(str::to_owned).collect(),
        pipe: Pipes::new(true, 4 << 20, 4 << 20).reserve(1).ok(),
        transparent: transparent.map_err(|e| e.to_string()),
        descriptors: rights::descriptors(0),
    }
}
