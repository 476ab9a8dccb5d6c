//! Any bytes as the deeds of a peer: an endpoint is audited after each.
#![no_main]

#[path = "../../crates/testing/hostile_peer.rs"]
mod hostile_peer;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(why) = hostile_peer::play(bytes) {
        panic!("{why}");
    }
});
