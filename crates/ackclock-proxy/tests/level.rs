//! Memory of a proxy that many come to and leave again, orderly or not: it does not grow with how many there were.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use rustix::fd::OwnedFd;
use serde_json::{json, Value};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::Duration;

/// Rounds until the proxy has what it keeps, and rounds that add nothing to it.
const WARM: usize = 2;
const ROUNDS: usize = 8;

/// Connections of a round, all there at a time.
const EACH: usize = 1000;

/// What an allocator keeps here and there (0.3 MB were seen on a busy computer): 64 bytes for each connection of the rounds.
const LEVEL: usize = 64 * ROUNDS * EACH;

/// How a client ends that has said `says` and heard so many bytes.
#[derive(Clone, Copy)]
enum End {
    Closes,
    Resets,
    IsReset,
}
use End::{Closes, IsReset, Resets};

struct Kind {
    says: Vec<u8>,
    hears: usize,
    end: End,
}

fn kind(says: &[u8], hears: usize, end: End) -> Kind {
    Kind { says: says.to_vec(), hears, end }
}

/// A server that sends back what it gets, until that is an r: then it resets.
fn resetting() -> SocketAddr {
    server(|mut stream| {
        // However long a busy computer takes until all of a round are there.
        stream.set_read_timeout(None).unwrap();
        let mut bytes = [0; 64];
        while let Ok(n) = stream.read(&mut bytes) {
            if bytes[..n].contains(&b'r') {
                return reset(stream);
            }
            if n == 0 || stream.write_all(&bytes[..n]).is_err() {
                return;
            }
        }
    })
}

/// An address at which nobody listens, for as long as this is kept.
fn nobody() -> (SocketAddr, OwnedFd) {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
    (address, socket)
}

/// Memory, once it does not change: what is given back is so a second later.
fn settled(proxy: &Proxy) -> usize {
    eventually("memory does not change", || {
        let before = proxy.memory();
        sleep(Duration::from_millis(1500));
        (proxy.memory() == before).then_some(before)
    })
}

fn is_level(mode: Value, kinds: &[Kind]) {
    let mut more = json!({"connections": 2 * EACH, "per_client": 2 * EACH, "header_s": 60});
    if mode.is_string() {
        more["allow_target"] = json!(["127.0.0.0/8"]);
    }
    let proxy = Proxy::start(asked(mode, more));
    let descriptors = proxy.descriptors();
    let mut seen = Vec::new();
    for round in 1..=WARM + ROUNDS {
        let there: Vec<(TcpStream, End)> = (0..EACH)
            .map(|number| {
                let kind = &kinds[number % kinds.len()];
                let mut client = proxy.connect();
                client.write_all(&kind.says).unwrap();
                client.read_exact(&mut vec![0; kind.hears]).unwrap();
                (client, kind.end)
            })
            .collect();
        for (mut client, end) in there {
            match end {
                Closes => drop(client),
                Resets => reset(client),
                IsReset => {
                    client.write_all(b"r").unwrap();
                    assert_reset(&mut client);
                }
            }
        }
        proxy.ended(round * EACH);
        proxy.is_at_rest(descriptors);
        // Between these it may not have been given back yet.
        seen.push(if round == WARM || round == WARM + ROUNDS { settled(&proxy) } else { proxy.memory() });
    }
    let (warm, last) = (seen[WARM - 1], seen[WARM + ROUNDS - 1]);
    assert!(last <= warm + LEVEL, "bytes of memory after each {EACH} connections: {seen:?}");
}

#[test]
fn memory_is_level_with_one_server() {
    let target = resetting();
    let kinds = [kind(b"x", 1, Closes), kind(b"x", 1, Resets), kind(b"x", 1, IsReset), kind(b"", 0, Closes)];
    is_level(json!({"to": target.to_string()}), &kinds);
}

#[test]
fn memory_is_level_with_socks() {
    let (target, (nobody, _kept)) = (resetting(), nobody());
    let hello = [5, 1, 0];
    let to = |address: [u8; 4], port: u16, more: &[u8]| {
        [&hello[..], &[5, 1, 0, 1], &address, &port.to_be_bytes(), more].concat()
    };
    let there = to([127, 0, 0, 1], target.port(), b"x");
    let kinds = [
        kind(&there, 13, Closes),
        kind(&there, 13, Resets),
        kind(&there, 13, IsReset),
        // Within the header; refused by the server; forbidden.
        kind(&hello, 2, Closes),
        kind(&[5, 1, 0, 5, 1], 2, Resets),
        kind(&to([127, 0, 0, 1], nobody.port(), b""), 12, Closes),
        kind(&to([10, 0, 0, 1], 80, b""), 12, Closes),
    ];
    is_level(json!("socks5"), &kinds);
}

#[test]
fn memory_is_level_with_connect() {
    let target = resetting();
    let there = format!("CONNECT {target} HTTP/1.1\r\n\r\nx");
    let heard = "HTTP/1.1 200 Connection established\r\n\r\nx".len();
    let begun = b"CONNECT a:1 HTTP/1.1\r\nX: ";
    let kinds = [
        kind(there.as_bytes(), heard, Closes),
        kind(there.as_bytes(), heard, Resets),
        kind(there.as_bytes(), heard, IsReset),
        // Within the header; one that is too long; another protocol.
        kind(begun, 0, Closes),
        kind(begun, 0, Resets),
        kind(&[&begun[..], &[b'x'; 9000]].concat(), 12, Closes),
        kind(b"GET / HTTP/1.1\r\n\r\n", 12, Closes),
    ];
    is_level(json!("http_connect"), &kinds);
}
