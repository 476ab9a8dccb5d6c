//! Resets after SIGTERM: whoever is waited for is waited for no longer.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::net::Shutdown;

fn told_to_end(proxy: &Proxy) {
    proxy.signal(Signal::TERM);
    eventually("it says so", || proxy.said().iter().any(|line| line.contains("no more are accepted")).then_some(()));
}

/// The proxy is over, long before it would have cut anybody off, and these are why its connections ended.
fn is_over(mut proxy: Proxy, ended: serde_json::Value) {
    assert_eq!(proxy.wait(), 0);
    let end = eventually("its report", || proxy.events("end").pop());
    assert_eq!((&end["cut"], &end["ended"]), (&json!(0), &ended), "{end}");
}

#[test]
fn a_reset_by_either_end_while_draining_is_passed_on_and_ends_it() {
    let (target, servers) = handed();
    let proxy = Proxy::start(to(target, json!({"drain_s": 600})));
    let sockets = proxy.descriptors().sockets;
    let mut pairs: Vec<_> = (0..4).map(|_| (proxy.connect(), servers.recv().unwrap())).collect();
    for (number, (client, server)) in pairs.iter_mut().enumerate() {
        client.write_all(b"there").unwrap();
        server.read_exact(&mut [0; 5]).unwrap();
        if number >= 2 {
            // Half of it is over already.
            server.shutdown(Shutdown::Write).unwrap();
            assert_eq!(rest(client), b"");
        }
    }
    told_to_end(&proxy);
    // Two for each, and no door any more.
    proxy.has_sockets(sockets - 1 + 8);
    for (number, (client, server)) in pairs.into_iter().enumerate() {
        let (gone, mut left) = if number % 2 == 0 { (client, server) } else { (server, client) };
        reset(gone);
        // Who has heard that the other end is done reads no more than that.
        if number != 3 {
            assert_reset(&mut left);
        }
        let line = proxy.ended(number + 1).pop().unwrap();
        let by = if number % 2 == 0 { "client" } else { "server" };
        assert_eq!((&line["why"], &line["closed_by"]), (&json!("reset"), &json!(by)), "{number}: {line}");
        // With the last of them it is over itself.
        if number < 3 {
            proxy.has_sockets(sockets - 1 + 2 * (3 - number));
        }
    }
    is_over(proxy, json!({"reset": 4}));
}

#[test]
fn a_reset_within_a_header_or_before_the_server_is_there_while_draining_ends_it() {
    let more = json!({"drain_s": 600, "header_s": 600, "connect_s": 600, "allow_target": ["127.0.0.0/8"]});
    let proxy = Proxy::start(asked(json!("socks5"), more));
    let sockets = proxy.descriptors().sockets;
    let hole = hole();
    let mut hears = proxy.connect();
    hears.write_all(&[5, 1, 0, 5, 1, 0]).unwrap();
    hears.read_exact(&mut [0; 2]).unwrap();
    let mut waits = proxy.connect();
    waits.write_all(&[&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1][..], &hole.address.port().to_be_bytes()].concat()).unwrap();
    waits.read_exact(&mut [0; 2]).unwrap();
    told_to_end(&proxy);
    // Who is heard has no server yet.
    proxy.has_sockets(sockets - 1 + 3);
    reset(hears);
    proxy.ended(1);
    proxy.has_sockets(sockets - 1 + 2);
    reset(waits);
    is_over(proxy, json!({"reset": 2}));
}
