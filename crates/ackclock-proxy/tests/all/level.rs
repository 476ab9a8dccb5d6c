//! Memory of a proxy that many come to and leave again, orderly or not: it does not grow with how many there were.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use rustix::fd::OwnedFd;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::Duration;

/// Rounds until the proxy has what it keeps, and rounds that add nothing to it.
const WARM: usize = 2;
const ROUNDS: usize = 8;

/// Connections of a round, all there at a time.
const EACH: usize = 1000;

/// A page here and there: 8 bytes for each connection of the rounds.
const LEVEL: usize = 8 * ROUNDS * EACH;

/// Without it glibc keeps up to seven free pieces of each of 64 sizes for a thread, wherever they lie, and each keeps its page from
/// being given back (`docs/benchmarks.md`, faults of the proxy): for the first hundred thousand connections that rises, too.
const WITHOUT_CACHE: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");

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

/// A proxy of which nothing is kept for later but by itself.
fn without_cache(document: Value) -> Proxy {
    let mut command = program();
    command.env(WITHOUT_CACHE.0, WITHOUT_CACHE.1);
    Proxy::started_by(command, document)
}

#[test]
fn what_the_last_of_many_had_is_given_back_too() {
    let more = json!({"connections": 1000, "per_client": 1000, "header_s": 600});
    let proxy = without_cache(asked(json!("http_connect"), more));
    let begun = [&b"CONNECT a:1 HTTP/1.1\r\nX: "[..], &[b'x'; 4000]].concat();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut there: Vec<TcpStream> = (0..800).map(|_| proxy.connect()).collect();
        there.iter_mut().for_each(|client| client.write_all(&begun).unwrap());
        let are =
            |count: f64| eventually("so many are left", || (proxy.metric("connections_open") == count).then_some(()));
        are(800.0);
        let before = proxy.memory();
        // Fewer than are worth it by themselves, when all others are given back.
        there.truncate(60);
        are(60.0);
        eventually("most is given back", || (proxy.memory() < before / 2).then_some(()));
        drop(there);
        are(0.0);
        seen.push(settled(&proxy));
    }
    assert!(seen.iter().all(|of| *of <= 512 << 10), "bytes of memory, each time that nobody is there: {seen:?}");
}

fn is_level(mode: Value, kinds: &[Kind]) {
    is_level_with(mode, json!({}), kinds);
}

fn is_level_with(mode: Value, mut more: Value, kinds: &[Kind]) {
    for (key, value) in [("connections", 2 * EACH), ("per_client", 2 * EACH), ("header_s", 60)] {
        more[key] = json!(value);
    }
    if mode.is_string() {
        more["allow_target"] = json!(["127.0.0.0/8"]);
    }
    let proxy = without_cache(asked(mode, more));
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
fn memory_is_level_behind_another_proxy() {
    let target = resetting();
    let header = b"PROXY TCP4 192.0.2.7 198.51.100.9 4711 443\r\n";
    let says = [&header[..], b"x"].concat();
    // The last within its header.
    let kinds =
        [kind(&says, 1, Closes), kind(&says, 1, Resets), kind(&says, 1, IsReset), kind(&header[..9], 0, Resets)];
    is_level_with(json!({"to": target.to_string()}), json!({"proxy_in": true}), &kinds);
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
