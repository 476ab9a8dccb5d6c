//! Headers that are cut off, reset, or never come to their end.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;

const V1: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.9 4711 443\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc6\x33\x64\x09\x12\x67\x01\xbb";

/// A way to say where to go: what the document says of it, and the client's parts of a header with how many bytes are answered
/// to each.
struct Header {
    mode: Value,
    more: Value,
    parts: Vec<(Vec<u8>, usize)>,
}

fn headers() -> Vec<Header> {
    let socks = |name: &[u8]| [&[5, 1, 0, 3, name.len() as u8], name, &[0, 80]].concat();
    let connect = b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n".to_vec();
    let fixed = json!({"to": "127.0.0.1:9"});
    let password = json!({"credentials": [["joe", "word"]]});
    let in_front = json!({"proxy_in": true});
    let with = |mode: Value, more: Value, parts: Vec<(Vec<u8>, usize)>| Header { mode, more, parts };
    vec![
        with(json!("socks5"), json!({}), vec![(vec![5, 1, 0], 2), (socks(b"localhost"), 0)]),
        with(
            json!("socks5"),
            password,
            vec![(vec![5, 2, 0, 2], 2), (b"\x01\x03joe\x04word".to_vec(), 2), (socks(b"localhost"), 0)],
        ),
        with(json!("http_connect"), json!({}), vec![(connect.clone(), 0)]),
        with(fixed.clone(), in_front.clone(), vec![(V1.to_vec(), 0)]),
        with(fixed, in_front.clone(), vec![(V2.to_vec(), 0)]),
        with(json!("socks5"), in_front.clone(), vec![(V1.to_vec(), 0), (vec![5, 1, 0], 2), (socks(b"a"), 0)]),
        with(json!("http_connect"), in_front, vec![([V2, &connect].concat(), 0)]),
    ]
}

/// A client that has said the first `count` bytes of a header, and heard what it was told until then.
fn said(proxy: &Proxy, header: &Header, mut count: usize) -> TcpStream {
    let mut client = proxy.connect();
    for (part, answer) in &header.parts {
        let now = count.min(part.len());
        client.write_all(&part[..now]).unwrap();
        count -= now;
        if now < part.len() {
            break;
        }
        client.read_exact(&mut vec![0; *answer]).unwrap();
    }
    client
}

#[test]
fn whoever_resets_or_ends_within_a_header_is_gone_at_once() {
    for header in headers() {
        let mut more = header.more.clone();
        more["header_s"] = json!(60);
        let proxy = Proxy::start(asked(header.mode.clone(), more));
        let descriptors = proxy.descriptors();
        let whole: usize = header.parts.iter().map(|(part, _)| part.len()).sum();
        let mut count = 0;
        for by in ["reset", "end"] {
            for length in (0..whole).step_by(7).chain([whole - 1]) {
                let mut client = said(&proxy, &header, length);
                if by == "reset" {
                    reset(client);
                } else {
                    client.shutdown(Shutdown::Write).unwrap();
                    // Told, ended or reset: in any case it is over.
                    let _ = client.read_to_end(&mut Vec::new());
                }
                count += 1;
                let line = proxy.ended(count).pop().unwrap();
                let why = if by == "reset" { "reset" } else { "header_wrong" };
                let what = format!("{}, {length} of {whole} bytes, {by}: {line}", header.mode);
                assert_eq!((&line["why"], &line["closed_by"]), (&json!(why), &json!("client")), "{what}");
                assert!(line["server"].is_null() && line["to_server_bytes"] == 0, "{what}");
            }
        }
        proxy.is_at_rest(descriptors);
    }
}

/// The begin of a header that may go on for longer than anybody waits, and what it goes on with.
fn endless() -> Vec<(Value, Value, Vec<u8>, u8)> {
    let in_front = json!({"proxy_in": true});
    vec![
        (json!("socks5"), json!({}), vec![5, 255], 0),
        (json!("socks5"), json!({"credentials": [["joe", "word"]]}), vec![5, 1, 2, 1, 255], b'x'),
        (json!("http_connect"), json!({}), b"CONNECT a:1 HTTP/1.1\r\nX: ".to_vec(), b'x'),
        (json!({"to": "127.0.0.1:9"}), in_front.clone(), b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\xff".to_vec(), 0),
        // The time is one for both headers.
        (json!("socks5"), in_front, [V1, &[5, 255]].concat(), 0),
    ]
}

#[test]
fn a_header_that_comes_byte_by_byte_has_no_more_time_than_another() {
    for (mode, mut more, begin, next) in endless() {
        more["header_s"] = json!(0.7);
        let proxy = Proxy::start(asked(mode.clone(), more));
        let descriptors = proxy.descriptors();
        let mut slow = proxy.connect();
        slow.set_nodelay(true).unwrap();
        let started = Instant::now();
        for byte in begin {
            slow.write_all(&[byte]).unwrap();
        }
        let mut bytes = 0;
        // Nobody waits for a byte for long: silence is not what ends it. 200 of them are fewer than any of these headers wants.
        while bytes < 200 && proxy.events("connection").is_empty() && slow.write_all(&[next]).is_ok() {
            bytes += 1;
            sleep(Duration::from_millis(20));
        }
        let line = proxy.ended(1).remove(0);
        assert_eq!(line["why"], "header_timed_out", "{mode}, {bytes} bytes in {:?}: {line}", started.elapsed());
        let lasted = line["duration_s"].as_f64().unwrap();
        assert!(lasted >= 0.7 && bytes < 200, "{mode}: {lasted} s, {bytes} bytes");
        proxy.is_at_rest(descriptors);
    }
}

/// The longest head of a request that is read (`docs/proxy.md`).
const LONGEST: usize = 8192;

/// A request to `target` whose head has `length` bytes, the empty line at its end included.
fn request(target: SocketAddr, length: usize) -> Vec<u8> {
    let begin = format!("CONNECT {target} HTTP/1.1\r\nX: ");
    [begin.as_bytes(), &vec![b'x'; length - begin.len() - 4], b"\r\n\r\n"].concat()
}

#[test]
fn a_head_that_is_too_long_is_told_so_and_the_longest_is_taken() {
    let server = echo();
    let proxy = Proxy::start(asked(json!("http_connect"), json!({"allow_target": ["127.0.0.0/8"], "header_s": 60})));
    let descriptors = proxy.descriptors();
    let mut client = proxy.connect();
    client.write_all(&[&request(server, LONGEST)[..], b"behind it"].concat()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), b"HTTP/1.1 200 Connection established\r\n\r\nbehind it");
    assert_eq!(proxy.ended(1)[0]["why"], "finished");
    let begun = &request(server, LONGEST)[..LONGEST - 4];
    let many = [begun, &[b'x'; 40_000]].concat();
    // One byte too many; what has no end by then, at once or in small parts; much more than is read.
    let cases = [
        (&request(server, LONGEST + 1)[..], usize::MAX),
        (&many[..LONGEST], usize::MAX),
        (&many[..LONGEST], 700),
        (&many, usize::MAX),
    ];
    for (number, (bytes, part)) in cases.into_iter().enumerate() {
        let mut client = proxy.connect();
        client.set_nodelay(true).unwrap();
        for of in bytes.chunks(part) {
            client.write_all(of).unwrap();
        }
        // The answer is whole: it is not reset by bytes that nobody has read.
        let answer = String::from_utf8(rest(&mut client)).unwrap();
        let (status, length) = ("HTTP/1.1 431 Request Header Fields Too Large\r\n", bytes.len());
        assert!(answer.starts_with(status) && answer.ends_with("\r\n\r\n"), "{length} bytes by {part}: {answer:?}");
        drop(client);
        let line = proxy.ended(number + 2).pop().unwrap();
        assert_eq!(
            (&line["why"], &line["closed_by"]),
            (&json!("header_too_long"), &json!("proxy")),
            "{length}: {line}"
        );
        assert_eq!(line["detail"], "more than 8192 bytes");
        assert!(line["server"].is_null() && line["to_server_bytes"] == 0, "{line}");
    }
    assert_eq!(proxy.metric("connections_ended_total{why=\"header_too_long\"}"), 4.0);
    proxy.is_at_rest(descriptors);
}

#[test]
fn of_one_client_so_many_are_heard_at_a_time_and_no_more() {
    let proxy = Proxy::start(asked(json!("socks5"), json!({"per_client": 20, "header_s": 10.0})));
    let descriptors = proxy.descriptors();
    let mut slow: Vec<_> = (0..60).map(|_| proxy.connect()).collect();
    eventually("the others are reset", || {
        (proxy.metric("connections_ended_total{why=\"too_many\"}") == 40.0).then_some(())
    });
    assert!(proxy.metric("connections_open") <= 20.0);
    let reset = slow.iter_mut().map(|stream| stream.read(&mut [0; 1]).is_err()).filter(|reset| *reset).count();
    assert_eq!(reset, 40);
    let lines = proxy.ended(20);
    assert!(lines.iter().all(|line| line["why"] == "header_timed_out"), "{lines:?}");
    proxy.is_at_rest(descriptors);
}

#[test]
fn of_all_clients_so_many_are_heard_at_a_time_and_others_get_their_turn() {
    let server = echo();
    let more = json!({"connections": 10, "header_s": 0.5, "allow_target": ["127.0.0.0/8"]});
    let proxy = Proxy::start(asked(json!("socks5"), more));
    let descriptors = proxy.descriptors();
    // Each from an address of its own, so that no client has too many.
    let from = |last: u8| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        let there = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        there.block_on(socket.connect(proxy.address)).unwrap().into_std().unwrap()
    };
    let slow: Vec<_> = (2..42).map(from).collect();
    let most = spawn({
        let metrics = proxy.metrics.unwrap();
        move || (0..20).map(|_| open_now(metrics)).fold(0.0, f64::max)
    });
    // Behind 40 that say nothing, of whom ten at a time are waited for.
    let mut good = proxy.connect();
    good.write_all(&[&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1][..], &server.port().to_be_bytes(), b"at last"].concat())
        .unwrap();
    let mut answer = [0; 19];
    good.read_exact(&mut answer).unwrap();
    assert_eq!(&answer[12..], b"at last");
    let most = most.join().unwrap();
    assert!((1.0..=10.0).contains(&most), "{most}");
    drop((good, slow));
    assert_eq!(proxy.ended(41).iter().filter(|line| line["why"] == "header_timed_out").count(), 40);
    proxy.is_at_rest(descriptors);
}

fn open_now(metrics: SocketAddr) -> f64 {
    let mut stream = connect(metrics);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix("ackclock_proxy_connections_open "));
    sleep(Duration::from_millis(20));
    line.unwrap().parse().unwrap()
}
