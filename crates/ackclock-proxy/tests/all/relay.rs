//! Bytes both ways, ends and resets, as they were without a proxy.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Sends `up` and gets `down` at the same time.
fn both(stream: TcpStream, up: Vec<u8>) -> Vec<u8> {
    let mut writing = stream.try_clone().unwrap();
    let writer = spawn(move || {
        writing.write_all(&up).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let mut reading = stream;
    let down = rest(&mut reading);
    writer.join().unwrap();
    down
}

#[test]
fn every_byte_comes_both_ways_at_once() {
    let sizes = [0, 1, 1000, 65_536, 65_537, 3_000_000, 20_000_001];
    for splice in [true, false] {
        let target = server(|stream| {
            let up = both(stream.try_clone().unwrap(), bytes(5_000_003, 7));
            assert_eq!(up, bytes(up.len(), up.len() as u64));
        });
        let proxy = Proxy::start(to(target, json!({"splice": splice})));
        let descriptors = proxy.descriptors();
        for size in sizes {
            assert_eq!(both(proxy.connect(), bytes(size, size as u64)), bytes(5_000_003, 7), "{size} bytes");
        }
        let ended = proxy.ended(sizes.len());
        for (line, size) in ended.iter().zip(sizes) {
            assert_eq!((&line["to_server_bytes"], &line["to_client_bytes"]), (&json!(size), &json!(5_000_003)));
            assert_eq!(line["why"], "finished");
            // The kernel counts the FIN that it got as a byte.
            assert_eq!(line["client_tcp"]["bytes_received"], json!(size + 1));
            assert!(
                line["client_handshake_s"].as_f64().unwrap() > 0.0
                    && line["server_handshake_s"].as_f64().unwrap() > 0.0
            );
        }
        proxy.is_at_rest(descriptors);
    }
}

#[test]
fn who_is_done_may_go_on_listening() {
    let (target, servers) = handed();
    let proxy = Proxy::start(to(target, json!({})));
    let descriptors = proxy.descriptors();
    // The client is done, and gets its answer much later.
    let mut client = proxy.connect();
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut server = servers.recv().unwrap();
    assert_eq!(rest(&mut server), b"question");
    for _ in 0..3 {
        sleep(Duration::from_millis(300));
        server.write_all(b"answer").unwrap();
    }
    drop(server);
    assert_eq!(rest(&mut client), b"answeranswer".repeat(2)[..18]);
    // The server is done, and is told more.
    let mut client = proxy.connect();
    let mut server = servers.recv().unwrap();
    server.write_all(b"all that there is").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), b"all that there is");
    for _ in 0..3 {
        sleep(Duration::from_millis(300));
        client.write_all(b"more").unwrap();
    }
    drop(client);
    assert_eq!(rest(&mut server), b"moremoremore");
    let by: Vec<_> = proxy.ended(2).iter().map(|line| line["closed_by"].clone()).collect();
    assert_eq!(by, ["client", "server"]);
    drop(server);
    proxy.is_at_rest(descriptors);
}

#[test]
fn a_server_may_speak_first() {
    let target = server(|mut stream| {
        stream.write_all(b"220 ready\r\n").unwrap();
        assert_eq!(rest(&mut stream), b"QUIT\r\n");
    });
    let proxy = Proxy::start(to(target, json!({})));
    let mut client = proxy.connect();
    let mut greeting = [0; 11];
    client.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"220 ready\r\n");
    client.write_all(b"QUIT\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), b"");
}

#[test]
fn a_reset_is_passed_on_whenever_it_comes() {
    let (target, servers) = handed();
    let proxy = Proxy::start(to(target, json!({})));
    let descriptors = proxy.descriptors();
    type Before = fn(&mut TcpStream, &mut TcpStream);
    let states: [Before; 4] = [
        |_, _| {},
        // In the midst of data that nobody reads.
        |from, to| {
            for stream in [from, to] {
                stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
                while stream.write(&[0; 65_536]).is_ok() {}
            }
        },
        // The other end was done already.
        |_, to| {
            to.shutdown(Shutdown::Write).unwrap();
            sleep(Duration::from_millis(100));
        },
        // Data one way only, which the other end has read.
        |from, to| {
            from.write_all(b"abc").unwrap();
            to.read_exact(&mut [0; 3]).unwrap();
        },
    ];
    let mut count = 0;
    for state in states {
        for by in ["client", "server"] {
            let mut client = proxy.connect();
            let mut server = servers.recv().unwrap();
            let (mut one, mut other) = if by == "client" { (client, server) } else { (server, client) };
            state(&mut one, &mut other);
            let begin = Instant::now();
            reset(one);
            assert_reset(&mut other);
            assert!(begin.elapsed() < Duration::from_secs(10));
            count += 1;
            let line = proxy.ended(count).pop().unwrap();
            assert_eq!((&line["closed_by"], &line["why"]), (&json!(by), &json!("reset")), "{line}");
            (client, server) = (proxy.connect(), servers.recv().unwrap());
            drop((client, server));
            count += 1;
            proxy.ended(count);
        }
    }
    proxy.is_at_rest(descriptors);
}

#[test]
fn an_answer_is_whole_although_its_server_resets_what_comes_after_it() {
    let answer = bytes(700_000, 3);
    let copy = answer.clone();
    // A server that closes with unread bytes sends its answer, the end, and a reset.
    let target = server(move |mut stream| {
        stream.read_exact(&mut [0; 1]).unwrap();
        stream.write_all(&copy).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        sleep(Duration::from_millis(100));
    });
    let proxy = Proxy::start(to(target, json!({})));
    let descriptors = proxy.descriptors();
    let mut client = proxy.connect();
    client.write_all(&[0; 1000]).unwrap();
    sleep(Duration::from_millis(400));
    let mut got = vec![0; answer.len()];
    client.read_exact(&mut got).unwrap();
    assert!(got == answer);
    let line = proxy.ended(1).remove(0);
    assert_eq!((&line["why"], &line["closed_by"]), (&json!("reset"), &json!("server")), "{line}");
    assert_eq!(line["undelivered_to_client_bytes"], 0, "{line}");
    proxy.is_at_rest(descriptors);
}

#[test]
fn what_was_acknowledged_and_is_lost_is_counted() {
    let target = server(|mut stream| {
        stream.write_all(&[0; 300_000]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // All of it is acknowledged, by the proxy.
        while rustix_outq(&stream) > 0 {
            sleep(Duration::from_millis(5));
        }
        let _ = stream.read(&mut [0; 1]);
    });
    let proxy = Proxy::start(to(target, json!({"client": {"sndbuf": 16_384}})));
    let descriptors = proxy.descriptors();
    let client = proxy.connect();
    sleep(Duration::from_millis(500));
    reset(client);
    let line = proxy.ended(1).remove(0);
    assert_eq!(line["closed_by"], "client", "{line}");
    let lost = line["undelivered_to_client_bytes"].as_u64().unwrap();
    let acknowledged = line["client_tcp"]["bytes_acked"].as_u64().unwrap();
    assert_eq!(lost + acknowledged, 300_000, "{line}");
    assert_eq!(proxy.metric("undelivered_bytes_total"), lost as f64);
    proxy.is_at_rest(descriptors);
}

fn rustix_outq(stream: &TcpStream) -> u64 {
    ackclock_proxy::sys::options::unacknowledged(stream).saturating_sub(1)
}

#[test]
fn who_refuses_or_does_not_answer_is_not_connected_to() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let proxy = Proxy::start(to(address, json!({})));
    let descriptors = proxy.descriptors();
    assert_reset(&mut proxy.connect());
    let line = proxy.ended(1).remove(0);
    assert_eq!((&line["why"], &line["closed_by"]), (&json!("refused"), &json!("server")));
    proxy.is_at_rest(descriptors);
    let hole = hole();
    let address = hole.address;
    let proxy = Proxy::start(to(address, json!({"connect_s": 0.5})));
    let descriptors = proxy.descriptors();
    let begin = Instant::now();
    assert_reset(&mut proxy.connect());
    assert!(begin.elapsed() >= Duration::from_millis(450), "{:?}", begin.elapsed());
    let line = proxy.ended(1).remove(0);
    assert_eq!((&line["why"], &line["server"]), (&json!("connect_timed_out"), &json!(address.to_string())));
    proxy.is_at_rest(descriptors);
    // A client that goes while its server is awaited is gone at once.
    let proxy = Proxy::start(to(address, json!({"connect_s": 30})));
    let descriptors = proxy.descriptors();
    reset(proxy.connect());
    let line = proxy.ended(1).remove(0);
    assert_eq!((&line["why"], &line["closed_by"]), (&json!("reset"), &json!("client")));
    proxy.is_at_rest(descriptors);
}

#[test]
fn silence_ends_after_its_time() {
    let (target, servers) = handed();
    let proxy = Proxy::start(to(target, json!({"idle_s": 0.6, "half_open_s": 0.3})));
    let descriptors = proxy.descriptors();
    let begin = Instant::now();
    let mut client = proxy.connect();
    let _server = servers.recv().unwrap();
    for _ in 0..4 {
        sleep(Duration::from_millis(300));
        client.write_all(b"x").unwrap();
    }
    assert_reset(&mut client);
    assert!(begin.elapsed() >= Duration::from_millis(1750), "{:?}", begin.elapsed());
    let mut client = proxy.connect();
    client.shutdown(Shutdown::Write).unwrap();
    let _server = servers.recv().unwrap();
    assert_reset(&mut client);
    let why: Vec<_> = proxy.ended(2).iter().map(|line| line["why"].clone()).collect();
    assert_eq!(why, ["idle", "half_open"]);
    proxy.is_at_rest(descriptors);
}

#[test]
fn a_signal_lets_connections_finish_and_ends_those_that_do_not() {
    let mut proxy = Proxy::start(to(echo(), json!({"drain_s": 1.5})));
    let (mut one, mut other) = (proxy.connect(), proxy.connect());
    for stream in [&mut one, &mut other] {
        stream.write_all(b"a").unwrap();
        stream.read_exact(&mut [0; 1]).unwrap();
    }
    proxy.signal(Signal::TERM);
    eventually("it says so", || proxy.said().iter().any(|line| line.contains("no more are accepted")).then_some(()));
    assert!(TcpStream::connect(proxy.address).is_err());
    one.write_all(b"last").unwrap();
    one.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut one), b"last");
    assert_reset(&mut other);
    assert_eq!(proxy.wait(), 0);
    let end = eventually("its report", || proxy.events("end").pop());
    assert_eq!((&end["connections"], &end["cut"]), (&json!(2), &json!(1)), "{end}");
    assert_eq!(end["ended"], json!({"finished": 1, "drained": 1}));
    assert_eq!(end["to_server_bytes"], 6);
}
