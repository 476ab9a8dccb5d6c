//! Any bytes as headers, beside an independent reader: both read the same, or both refuse.
#![no_main]

#[path = "../../crates/ackclock-core/tests/all/beside/mod.rs"]
mod beside;

use ackclock_core::packet::wire::{set_ecn, Ip, Ipv4, Options, MOST_OPTION_BYTES};
use ackclock_core::packet::Ecn;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&what, rest)) = bytes.split_first() else { return };
    beside::ipv4_agrees(rest);
    beside::ipv6_agrees(rest);
    beside::tcp_agrees(rest);
    beside::udp_agrees(rest);
    beside::extensions_agree(what, rest);
    // No header has more than 40 bytes of options.
    let options = &rest[..rest.len().min(MOST_OPTION_BYTES)];
    assert_eq!(Options::parse(options), beside::their_options(options));
    let Ok(ip) = Ip::parse(rest) else { return };
    assert!(ip.payload.len() <= rest.len().saturating_sub(ip.header_len));
    let _ = ip.checksum_holds();
    // A mark changes two bits and the checksum of the header, nothing else, and that stays as right as it was.
    let mut marked = rest.to_vec();
    assert_eq!(set_ecn(&mut marked, Ecn::Ce), Ok(()));
    match Ip::parse(&marked) {
        Ok(after) => assert_eq!(after, Ip { ecn: Ecn::Ce, payload: after.payload, ..ip }),
        Err(fault) => panic!("marked, it is none: {fault:?}"),
    }
    if Ipv4::checksum_holds(rest) == Some(true) && rest[0] >> 4 == 4 {
        assert_eq!(Ipv4::checksum_holds(&marked), Some(true));
    }
});
