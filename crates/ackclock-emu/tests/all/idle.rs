//! While nothing passes the path, whoever plays the applications is asked often enough whether it has a processor: what it waits
//! for in seconds, a few microseconds at a time, is no long wait.
#![allow(clippy::unwrap_used)]

use ackclock_core::packet::Family;
use ackclock_core::time::Time;
use ackclock_emu::driver::drive;
use ackclock_emu::lateness::Tolerance;
use ackclock_emu::path::Network;
use ackclock_emu::series::LinkSeries;
use ackclock_emu::starved::{Found, Starved};
use ackclock_emu::sys::clock::Clock;
use ackclock_emu::sys::realtime::pin;
use ackclock_emu::sys::waits::Waits;
use ackclock_run::Run;
use std::sync::mpsc::channel;
use std::thread::spawn;
use std::time::{Duration, Instant};

const END: Time = Time(500_000_000);

/// What is found of `watched` in half a second without a packet, and how often the path woke up.
fn idle(watched: Vec<Waits>) -> (Found, u64) {
    let text = r#"{"format": 1, "seed": 1, "duration_ns": 500000000, "links": [],
        "flows": [{"id": "0", "forward": [{"delay_ns": 1000}], "reverse": [{"delay_ns": 1000}],
            "start": {"at_ns": 0}, "app": {"kind": "bulk"}, "mss": 1448, "cc": {"name": "reno"}}]}"#;
    let mut network = Network::new(&Run::from_json(text).unwrap(), (Family::V4, 1600), None).unwrap();
    let mut starved = Starved::new(watched, &Tolerance::new(0.02, 12e-6));
    let clock = Clock::ahead(1_000_000, false);
    let driven = drive(&mut network, &[], &clock, END, &mut LinkSeries::default(), &mut starved).unwrap();
    (starved.found(END), driven.wakes)
}

#[test]
fn who_is_watched_is_asked_every_ten_milliseconds() {
    let (found, wakes) = idle(vec![Waits::own().unwrap()]);
    // Fewer where the computer is busy; the first only begins.
    assert!((5..=50).contains(&wakes), "{wakes}");
    assert!(wakes - found.waited.count <= 2, "{wakes}: {:?}", found.waited);
}

#[test]
fn where_nobody_is_watched_the_path_sleeps() {
    let (found, wakes) = idle(Vec::new());
    assert_eq!((found.waited.count, wakes), (0, 1));
}

#[test]
fn of_several_the_one_counts_that_waited_longest() {
    let busy = || {
        let end = Instant::now() + Duration::from_millis(800);
        while Instant::now() < end {}
    };
    let (to, from) = channel();
    let both = spawn(move || {
        assert!((0..1024).any(|cpu| pin(cpu, false).is_ok()));
        // A thread inherits where it may run.
        let other = spawn(busy);
        to.send(Waits::own().unwrap()).unwrap();
        busy();
        other.join().unwrap();
    });
    let alone = Waits::own().unwrap();
    let (found, _) = idle(vec![from.recv().unwrap(), alone]);
    both.join().unwrap();
    // Two that share a processor wait for some milliseconds at a time.
    assert!(found.waited.worst_s > 0.001, "{:?}", found.waited);
}
