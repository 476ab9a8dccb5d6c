//! What networks and programs do to a proxy: nothing is lost, and nothing stays behind.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use rustix::process::{Resource, Rlimit, Signal, prlimit};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

#[test]
fn who_reads_slowly_holds_up_who_writes_and_gets_every_byte() {
    let all = bytes(12_000_000, 5);
    let copy = all.clone();
    let written = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&written);
    let target = server(move |mut stream| {
        for chunk in copy.chunks(20_000) {
            stream.write_all(chunk).unwrap();
            count.fetch_add(chunk.len(), std::sync::atomic::Ordering::Relaxed);
        }
    });
    for splice in [true, false] {
        written.store(0, std::sync::atomic::Ordering::Relaxed);
        let sides =
            json!({"splice": splice, "buffer": 1 << 18, "client": {"sndbuf": 65_536}, "server": {"rcvbuf": 65_536}});
        let proxy = Proxy::start(to(target, sides));
        let descriptors = proxy.descriptors();
        let memory = proxy.memory();
        let mut client = proxy.connect();
        // Nothing is read until nothing more is written for a while: the window is zero at both ends.
        let held = eventually("the server is held up", || {
            let before = written.load(std::sync::atomic::Ordering::Relaxed);
            sleep(Duration::from_millis(1000));
            let now = written.load(std::sync::atomic::Ordering::Relaxed);
            (now > 0 && now == before).then_some(now)
        });
        // The proxy holds what it may, its sockets as much as they were given, and the ends what they have themselves.
        assert!(held < 12_000_000 - 100_000, "{held}");
        assert!(proxy.metric("buffer_bytes") <= f64::from(1 << 18));
        let mut got = Vec::new();
        let mut chunk = [0; 4096];
        while got.len() < 200_000 {
            let n = client.read(&mut chunk).unwrap();
            got.extend(&chunk[..n]);
            sleep(Duration::from_millis(2));
        }
        client.read_to_end(&mut got).unwrap();
        assert!(got == all, "{} bytes", got.len());
        drop(client);
        proxy.is_at_rest(descriptors);
        assert!(proxy.memory() < memory + (1 << 20), "{} {memory}", proxy.memory());
    }
}

#[test]
fn the_room_of_all_is_shared_and_comes_back() {
    let (target, servers) = handed();
    // Room for two directions, and four want some.
    let proxy = Proxy::start(to(target, json!({"buffer": 65_536, "max_buffer": 131_072})));
    let descriptors = proxy.descriptors();
    let mut pairs: Vec<_> = (0..4).map(|_| (proxy.connect(), servers.recv().unwrap())).collect();
    for (client, _) in &mut pairs {
        client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        while client.write(&[1; 65_536]).is_ok() {}
    }
    assert!(proxy.metric("buffer_bytes") <= 131_072.0);
    let readers: Vec<_> = pairs
        .into_iter()
        .map(|(client, mut server)| {
            client.shutdown(Shutdown::Write).unwrap();
            spawn(move || (rest(&mut server).len(), client))
        })
        .collect();
    let got: Vec<usize> = readers.into_iter().map(|reader| reader.join().unwrap().0).collect();
    let lines = proxy.ended(4);
    let mut passed: Vec<_> = lines.iter().map(|line| line["to_server_bytes"].as_u64().unwrap() as usize).collect();
    let mut got_sorted = got.clone();
    passed.sort_unstable();
    got_sorted.sort_unstable();
    assert_eq!(passed, got_sorted);
    assert!(got.iter().all(|n| *n > 65_536), "{got:?}");
    proxy.is_at_rest(descriptors);
}

#[test]
fn segments_of_one_byte_come_as_they_went() {
    for splice in [true, false] {
        let proxy = Proxy::start(to(echo(), json!({"splice": splice})));
        let descriptors = proxy.descriptors();
        let mut client = proxy.connect();
        client.set_nodelay(true).unwrap();
        let all = bytes(3000, 9);
        let mut reading = client.try_clone().unwrap();
        let reader = spawn(move || rest(&mut reading));
        for byte in &all {
            client.write_all(&[*byte]).unwrap();
        }
        client.shutdown(Shutdown::Write).unwrap();
        assert!(reader.join().unwrap() == all);
        drop(client);
        proxy.is_at_rest(descriptors);
    }
}

#[test]
fn urgent_bytes_are_dropped_and_nothing_else_is() {
    let urgent = |stream: &TcpStream| {
        assert_eq!(rustix::net::send(stream, b"!", rustix::net::SendFlags::OOB).unwrap(), 1);
    };
    for splice in [true, false] {
        let proxy = Proxy::start(to(echo(), json!({"splice": splice})));
        let descriptors = proxy.descriptors();
        // Between data, alone, before the end, with and without time between them.
        for wait in [0, 30] {
            let pause = || sleep(Duration::from_millis(wait));
            let mut client = proxy.connect();
            client.write_all(b"before").unwrap();
            pause();
            urgent(&client);
            pause();
            client.write_all(b"behind").unwrap();
            pause();
            let mut got = [0; 12];
            client.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"beforebehind");
            urgent(&client);
            pause();
            client.write_all(b"end").unwrap();
            urgent(&client);
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(rest(&mut client), b"end", "splice {splice}, {wait} ms");
        }
        proxy.is_at_rest(descriptors);
    }
}

#[test]
fn a_client_that_is_killed_is_gone() {
    let (target, servers) = handed();
    let proxy = Proxy::start(to(target, json!({})));
    let descriptors = proxy.descriptors();
    // With bytes that it has not read its kernel resets the connection, without them it ends it.
    for unread in [true, false] {
        let there = format!("exec 3<>/dev/tcp/127.0.0.1/{}; echo hello >&3; echo there", proxy.address.port());
        let script = format!("{there}; kill -STOP $$");
        let mut process = Command::new("bash").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        process.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
        let mut server = servers.recv().unwrap();
        server.read_exact(&mut [0; 6]).unwrap();
        if unread {
            server.write_all(&[7; 1000]).unwrap();
            sleep(Duration::from_millis(200));
        }
        process.kill().unwrap();
        process.wait().unwrap();
        if unread {
            assert_reset(&mut server);
        } else {
            assert_eq!(rest(&mut server), b"");
        }
    }
    let why: Vec<_> = proxy.ended(2).iter().map(|line| line["why"].clone()).collect();
    assert_eq!(why, ["reset", "finished"]);
    proxy.is_at_rest(descriptors);
}

#[test]
fn of_two_proxies_the_one_that_is_left_is_at_rest() {
    for kill_first in [true, false] {
        let (target, servers) = handed();
        let second = Proxy::start(to(target, json!({})));
        let first = Proxy::start(to(second.address, json!({})));
        let (killed, left) = if kill_first { (&first, &second) } else { (&second, &first) };
        let descriptors = left.descriptors();
        let mut pairs: Vec<_> = (0..20).map(|_| (first.connect(), servers.recv().unwrap())).collect();
        for (client, server) in &mut pairs {
            client.write_all(&[1; 100_000]).unwrap();
            server.read_exact(&mut [0; 1]).unwrap();
        }
        killed.signal(Signal::KILL);
        for (mut client, mut server) in pairs {
            // Reset or ended, by whether its kernel had unread bytes; but over.
            for stream in [&mut client, &mut server] {
                if let Err(error) = stream.read_to_end(&mut Vec::new()) {
                    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
                }
            }
        }
        left.ended(20);
        left.is_at_rest(descriptors);
    }
}

#[test]
fn without_descriptors_nobody_is_accepted_and_nobody_is_lost() {
    let proxy = Proxy::start(to(echo(), json!({})));
    let descriptors = proxy.descriptors();
    let mut there: Vec<_> = (0..5).map(|_| proxy.connect()).collect();
    let talk = |client: &mut TcpStream, what: &[u8]| {
        client.write_all(what).unwrap();
        let mut got = vec![0; what.len()];
        client.read_exact(&mut got).unwrap();
        assert_eq!(got, what);
    };
    there.iter_mut().for_each(|client| talk(client, b"hello"));
    let before = prlimit(Some(proxy.pid()), Resource::Nofile, limit(proxy.descriptors().all() as u64)).unwrap();
    let mut late: Vec<_> = (0..3).map(|_| proxy.connect()).collect();
    let begin = Instant::now();
    let said = || proxy.said().iter().filter(|line| line.contains("nobody is accepted for now")).count();
    eventually("it says so", || (said() > 0).then_some(()));
    while begin.elapsed() < Duration::from_millis(2500) {
        let data = bytes(100_000, 1);
        there.iter_mut().for_each(|client| talk(client, &data));
        sleep(Duration::from_millis(100));
    }
    let most = begin.elapsed().as_secs() as usize + 1;
    assert!(said() <= most, "{} lines in {:?}", said(), begin.elapsed());
    prlimit(Some(proxy.pid()), Resource::Nofile, before).unwrap();
    late.iter_mut().for_each(|client| talk(client, b"at last"));
    assert!(proxy.metric("accept_pauses_total") >= 1.0);
    drop((there, late));
    proxy.is_at_rest(descriptors);
}

fn limit(of: u64) -> Rlimit {
    Rlimit { current: Some(of), maximum: Some(20_000) }
}

#[test]
fn who_is_one_too_many_of_all_waits() {
    let proxy = Proxy::start(to(echo(), json!({"connections": 2})));
    let descriptors = proxy.descriptors();
    let first = [proxy.connect(), proxy.connect()];
    eventually("both are there", || (proxy.metric("connections_open") == 2.0).then_some(()));
    let mut third = proxy.connect();
    third.write_all(b"x").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    assert!(third.read(&mut [0; 1]).is_err());
    drop(first);
    third.set_read_timeout(Some(LONG)).unwrap();
    third.read_exact(&mut [0; 1]).unwrap();
    assert!(proxy.said().iter().any(|line| line.ends_with("nobody is accepted for now: 2 connections are there")));
    drop(third);
    proxy.is_at_rest(descriptors);
}

#[test]
fn thousands_that_are_silent_cost_little_and_leave_nothing() {
    const MANY: usize = 3000;
    let proxy = Proxy::start(to(echo(), json!({"connections": 5000, "per_client": 5000})));
    let descriptors = proxy.descriptors();
    let memory = proxy.memory();
    let mut clients: Vec<_> = (0..MANY).map(|_| proxy.connect()).collect();
    for client in &mut clients {
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0; 1]).unwrap();
    }
    eventually("no room is in use", || (proxy.metric("buffer_bytes") == 0.0).then_some(()));
    let each = (proxy.memory() - memory) / MANY;
    assert!(each < 64 << 10, "{each} bytes of memory for a connection that is silent");
    proxy.has_sockets(descriptors.sockets + 2 * MANY);
    drop(clients);
    proxy.ended(MANY);
    proxy.is_at_rest(descriptors);
    // What most of them needed is given back; tests/level.rs looks whether anything stays of each of them.
    eventually("memory is given back", || (proxy.memory() < memory + (1 << 20)).then_some(()));
}

#[test]
fn a_scan_of_ports_is_nothing() {
    let proxy = Proxy::start(to(echo(), json!({})));
    let descriptors = proxy.descriptors();
    for number in 0..300 {
        let stream = proxy.connect();
        if number % 2 == 0 {
            reset(stream);
        }
    }
    eventually("all are gone", || {
        let done: f64 = ["finished", "reset"]
            .iter()
            .map(|why| proxy.metric(&format!("connections_ended_total{{why=\"{why}\"}}")))
            .sum();
        (done == 300.0 && proxy.metric("connections_open") == 0.0).then_some(())
    });
    proxy.is_at_rest(descriptors);
}
