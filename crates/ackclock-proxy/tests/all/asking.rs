//! Clients that say where they want to go: SOCKS 5, CONNECT, the PROXY protocol; who may, and where to.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;

/// To anywhere on this computer.
fn local(mode: &str, more: Value) -> Proxy {
    let mut changes = json!({"allow_target": ["127.0.0.0/8"]});
    for (key, value) in more.as_object().unwrap() {
        changes[key] = value.clone();
    }
    Proxy::start(asked(json!(mode), changes))
}

/// A port at which nobody listens, and what keeps others from it.
fn nobody() -> (TcpSocket, u16) {
    let held = TcpSocket::new_v4().unwrap();
    held.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = held.local_addr().unwrap().port();
    (held, port)
}

fn exactly(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn socks_request(host: &[u8], port: u16) -> Vec<u8> {
    [&[5, 1, 0, 3, host.len() as u8], host, &port.to_be_bytes()].concat()
}

/// A client of SOCKS that was told this about its wish.
fn socks(proxy: &Proxy, host: &str, port: u16) -> (TcpStream, u8) {
    let mut client = proxy.connect();
    client.write_all(&[5, 1, 0]).unwrap();
    assert_eq!(exactly(&mut client, 2), [5, 0]);
    client.write_all(&socks_request(host.as_bytes(), port)).unwrap();
    let reply = exactly(&mut client, 10);
    assert_eq!((reply[0], reply[3]), (5, 1));
    (client, reply[1])
}

/// The head of the answer to a request with this head.
fn http(proxy: &Proxy, head: &str) -> (TcpStream, String) {
    let mut client = proxy.connect();
    client.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.extend(exactly(&mut client, 1));
    }
    (client, String::from_utf8(answer).unwrap())
}

fn echoes(mut client: TcpStream) {
    client.write_all(b"there and back").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), b"there and back");
}

#[test]
fn socks_goes_where_it_is_asked_to() {
    let server = echo();
    let proxy = local("socks5", json!({}));
    for host in ["127.0.0.1", "localhost"] {
        let (client, code) = socks(&proxy, host, server.port());
        assert_eq!(code, 0);
        echoes(client);
    }
    // An address in bytes, and everything at once: what comes behind the request is for the server.
    let mut client = proxy.connect();
    let mut all = vec![5, 2, 0, 2, 5, 1, 0, 1, 127, 0, 0, 1];
    all.extend(server.port().to_be_bytes());
    all.extend(b"early");
    client.write_all(&all).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let answer = rest(&mut client);
    assert_eq!((&answer[..4], &answer[12..]), (&[5, 0, 5, 0][..], &b"early"[..]));
    let lines = proxy.ended(3);
    assert_eq!(lines[1]["wish"], format!("localhost:{}", server.port()));
    assert_eq!(lines[2]["to_server_bytes"], 5);
    assert!(lines.iter().all(|line| line["why"] == "finished" && line["header_s"].as_f64().unwrap() > 0.0));
}

#[test]
fn a_header_may_come_a_byte_at_a_time() {
    let server = echo();
    let proxy = local("socks5", json!({}));
    let mut client = proxy.connect();
    client.set_nodelay(true).unwrap();
    for byte in [&[5, 1, 0][..], &socks_request(b"127.0.0.1", server.port())].concat() {
        client.write_all(&[byte]).unwrap();
        sleep(Duration::from_millis(3));
    }
    assert_eq!(exactly(&mut client, 4), [5, 0, 5, 0]);
    exactly(&mut client, 8);
    echoes(client);
}

#[test]
fn nobody_gets_to_this_computer_or_its_neighbours_unless_allowed() {
    let server = echo();
    let proxy = Proxy::start(asked(json!("socks5"), json!({})));
    let hosts = [
        "127.0.0.1",
        "localhost",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
    ];
    for host in hosts {
        assert_eq!(socks(&proxy, host, server.port()).1, 2, "{host}");
    }
    assert!(proxy.ended(hosts.len()).iter().all(|line| line["why"] == "forbidden" && line["server"].is_null()));
    let proxy = Proxy::start(asked(json!("http_connect"), json!({"allow_target": ["127.0.0.2/32"]})));
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"] {
        let (_, answer) = http(&proxy, &format!("CONNECT {host}:{} HTTP/1.1\r\n\r\n", server.port()));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
    }
}

#[test]
fn socks_says_why_not() {
    let (_held, gone) = nobody();
    let proxy = local("socks5", json!({}));
    assert_eq!(socks(&proxy, "127.0.0.1", gone).1, 5);
    assert_eq!(socks(&proxy, "no-such-name.invalid", 80).1, 4);
    for (command, code) in [(2, 7), (3, 7)] {
        let mut client = proxy.connect();
        client.write_all(&[5, 1, 0, 5, command, 0, 1, 127, 0, 0, 1, 0, 80]).unwrap();
        assert_eq!(rest(&mut client)[..4], [5, 0, 5, code]);
    }
    // Another version, or another protocol, is no client of ours.
    for bytes in [&b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00"[..], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut client = proxy.connect();
        client.write_all(bytes).unwrap();
        assert_eq!(rest(&mut client), b"");
    }
    let why: Vec<_> = proxy.ended(6).iter().map(|line| line["why"].clone()).collect();
    for word in ["refused", "unknown_name", "unsupported", "header_wrong"] {
        assert!(why.contains(&json!(word)), "{why:?}");
    }
}

#[test]
fn who_has_no_password_is_sent_away() {
    let server = echo();
    let known = json!({"credentials": [["ann", "first"], ["joe", "p:w"]]});
    let proxy = local("socks5", known.clone());
    let mut client = proxy.connect();
    client.write_all(&[5, 1, 0]).unwrap();
    assert_eq!(rest(&mut client), [5, 0xff]);
    for (password, good) in [("p:w", true), ("p:W", false), ("", false), ("p:w2", false)] {
        let mut client = proxy.connect();
        client.write_all(&[5, 1, 2]).unwrap();
        assert_eq!(exactly(&mut client, 2), [5, 2]);
        client.write_all(&[&[1, 3][..], b"joe", &[password.len() as u8], password.as_bytes()].concat()).unwrap();
        assert_eq!(exactly(&mut client, 2), [1, u8::from(!good)], "{password}");
        if good {
            client.write_all(&socks_request(b"127.0.0.1", server.port())).unwrap();
            assert_eq!(exactly(&mut client, 10)[1], 0);
            echoes(client);
        } else {
            assert_eq!(rest(&mut client), b"");
        }
    }
    let proxy = local("http_connect", known);
    let head = |more: &str| format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n{more}\r\n", server.port());
    let (_, answer) = http(&proxy, &head(""));
    assert!(answer.starts_with("HTTP/1.1 407 ") && answer.contains("\r\nProxy-Authenticate: Basic "), "{answer}");
    assert!(http(&proxy, &head("Proxy-Authorization: Basic am9lOnA6Vw==\r\n")).1.starts_with("HTTP/1.1 407 "));
    let (client, answer) = http(&proxy, &head("Proxy-Authorization: Basic am9lOnA6dw==\r\n"));
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\n");
    echoes(client);
}

#[test]
fn connect_goes_where_it_is_asked_to_and_says_why_not() {
    let server = echo();
    let (_held, gone) = nobody();
    let proxy = local("http_connect", json!({}));
    let (client, answer) = http(&proxy, &format!("CONNECT localhost:{} HTTP/1.1\r\nHost: a\r\n\r\n", server.port()));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    echoes(client);
    let cases = [
        (format!("CONNECT 127.0.0.1:{gone} HTTP/1.1\r\n\r\n"), "502"),
        ("CONNECT no-such-name.invalid:80 HTTP/1.1\r\n\r\n".to_owned(), "502"),
        ("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n".to_owned(), "405"),
        ("CONNECT example.com HTTP/1.1\r\n\r\n".to_owned(), "400"),
        (format!("CONNECT a:1 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000)), "431"),
    ];
    for (head, status) in cases {
        let (mut client, answer) = http(&proxy, &head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert_eq!(rest(&mut client), b"", "it ends, and is not reset before the answer is read");
    }
}

#[test]
fn who_does_not_come_to_the_point_is_sent_away_in_time() {
    for (mode, word) in [("socks5", &b"\x05"[..]), ("http_connect", b"CONNECT a:1 HTTP/1.1\r\nX: ")] {
        let proxy = local(mode, json!({"header_s": 0.5}));
        let descriptors = proxy.descriptors();
        let begin = Instant::now();
        let mut slow = proxy.connect();
        slow.write_all(word).unwrap();
        let silent: Vec<_> = (0..200).map(|_| proxy.connect()).collect();
        let mut said = 0;
        while said < 100 && slow.write_all(b"x").is_ok() && begin.elapsed() < Duration::from_secs(3) {
            said += 1;
            sleep(Duration::from_millis(40));
        }
        let lines = proxy.ended(201);
        assert!(
            lines.iter().all(|line| matches!(line["why"].as_str(), Some("header_timed_out" | "header_wrong"))),
            "{mode}"
        );
        let late: Vec<f64> = lines.iter().map(|line| line["duration_s"].as_f64().unwrap()).collect();
        assert!(late.iter().all(|s| *s < 10.0));
        drop(silent);
        proxy.is_at_rest(descriptors);
    }
}

#[test]
fn the_client_of_a_proxy_before_this_one_is_told_on() {
    let (target, servers) = handed();
    for (version, begins) in [
        ("v1", &b"PROXY TCP4 192.0.2.7 198.51.100.9 4711 443\r\n"[..]),
        ("v2", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\x00\x02\x07\xc6\x33\x64\x09\x12\x67\x01\xbb"),
    ] {
        let proxy = Proxy::start(to(target, json!({"proxy_in": true, "proxy_out": version})));
        let mut client = proxy.connect();
        client.write_all(b"PROXY TCP4 192.0.2.7 198.51.100.9 4711 443\r\nhello").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut servers.recv().unwrap()), [begins, b"hello"].concat(), "{version}");
        assert_eq!(proxy.ended(1)[0]["client"], "192.0.2.7:4711");
        // Who does not begin so is nobody.
        let mut client = proxy.connect();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_reset(&mut client);
        assert_eq!(proxy.ended(2)[1]["why"], "header_wrong");
    }
    // Without one before it, the client is who connected.
    let proxy = Proxy::start(to(target, json!({"proxy_out": "v1"})));
    let client = proxy.connect();
    let from: SocketAddr = client.local_addr().unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let expected = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} {}\r\n", from.port(), proxy.address.port());
    assert_eq!(rest(&mut servers.recv().unwrap()), expected.as_bytes());
}

#[test]
fn who_may_not_connect_or_does_too_often_is_reset() {
    let server = echo();
    let proxy = Proxy::start(to(server, json!({"allow": ["192.0.2.0/24"], "metrics": null})));
    assert_reset(&mut proxy.connect());
    let proxy = Proxy::start(to(server, json!({"per_client": 2})));
    let two = [proxy.connect(), proxy.connect()];
    eventually("both are there", || (proxy.metric("connections_open") == 2.0).then_some(()));
    assert_reset(&mut proxy.connect());
    assert_eq!(proxy.metric("connections_ended_total{why=\"too_many\"}"), 1.0);
    drop(two);
    proxy.ended(2);
    echoes(proxy.connect());
}
