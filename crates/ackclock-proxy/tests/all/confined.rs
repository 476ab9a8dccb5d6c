//! What the process cannot do any more is nothing that it has to do, and holds for all of its threads.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;

/// The values that `key` has in the status of the threads of a process.
fn of_threads(proxy: &Proxy, key: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", proxy.pid().as_raw_nonzero())).unwrap();
    let value = |text: String| text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()));
    tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok().and_then(value)).collect()
}

#[test]
fn all_threads_are_confined_and_names_are_still_looked_up() {
    let server = echo();
    for confine in [true, false] {
        let more = json!({"allow_target": ["127.0.0.0/8"], "confine": confine});
        let proxy = Proxy::start(asked(json!("socks5"), more));
        let mut client = proxy.connect();
        client
            .write_all(&[&[5, 1, 0, 5, 1, 0, 3, 9][..], b"localhost", &server.port().to_be_bytes()].concat())
            .unwrap();
        client.read_exact(&mut [0; 12]).unwrap();
        client.write_all(b"there and back").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut client), b"there and back");
        let has = confine && !proxy.said().iter().any(|line| line.contains("seccomp"));
        let threads = of_threads(&proxy, "Seccomp:");
        assert!(threads.len() >= 3, "the proxy, who writes lines, who looks up names: {threads:?}");
        assert!(threads.iter().all(|state| (state == "2") == has), "{threads:?}");
        assert!(!has || of_threads(&proxy, "NoNewPrivs:").iter().all(|state| state == "1"));
    }
}

#[test]
fn a_log_that_was_opened_is_written_to_the_end() {
    let log = std::env::temp_dir().join(format!("ackclock-log-{}", std::process::id()));
    let mut proxy = Proxy::start(to(echo(), json!({"log": log, "sample_s": 0.01})));
    let mut client = proxy.connect();
    for _ in 0..5 {
        client.write_all(&[1; 100_000]).unwrap();
        client.read_exact(&mut [0; 100_000]).unwrap();
    }
    drop(client);
    eventually("it has ended", || (proxy.metric("connections_open") == 0.0).then_some(()));
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.wait(), 0);
    let text = fs::read_to_string(&log).unwrap();
    fs::remove_file(log).unwrap();
    assert!(text.lines().last().unwrap().contains("\"event\":\"end\""), "{text}");
    assert!(text.contains("\"to_server_bytes\":500000"), "{text}");
}
