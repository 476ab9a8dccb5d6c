//! Endpoints against a peer that sends anything, audited after every call.
//!
//! `fuzz/fuzz_targets/endpoint.rs` plays the same with inputs that look for new paths. The draws are the same in every run;
//! `ACKCLOCK_CASES` sets how many connections are played, `ACKCLOCK_SEED` draws others.

use crate::hostile_peer::{Met, play};
use crate::random_cases::{cases, seed, share};
use ackclock_core::rng::Stream;

const CASES: u64 = 200_000;

#[test]
//= test: RFC 9293 §3.8.6 shrinking-peer
fn nothing_that_a_peer_sends_breaks_an_endpoint() {
    let mut all = Met::default();
    for case in 0..cases(CASES) {
        let mut rng = Stream::named(seed(), case, "hostile");
        let bytes: Vec<u8> = (0..400 + rng.below(1200)).map(|_| rng.below(256) as u8).collect();
        let met = play(&bytes).unwrap_or_else(|why| panic!("case {case}: {why}\n{bytes:?}"));
        all.add(&met);
    }
    let enough = |met: u64, count: u64| met > share(count, CASES);
    assert!(enough(all.established, 100_000) && enough(all.given, 2_500_000) && enough(all.sent, 2_500_000), "{all:?}");
    assert!(enough(all.delivered, 5_000_000) && enough(all.acknowledged, 5_000_000), "{all:?}");
    assert!(enough(all.simultaneous, 10_000) && enough(all.reneged, 10_000), "{all:?}");
    assert!(enough(all.read, 100_000) && enough(all.closed, 200), "{all:?}");
    assert!(enough(all.recoveries, 5000) && enough(all.timeouts, 5000) && enough(all.failed, 5000), "{all:?}");
}
