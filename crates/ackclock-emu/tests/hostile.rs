//! Whatever hosts send, the path goes on: bytes that are no packets, packets with wrong lengths, fragments, options.
#![allow(clippy::unwrap_used)]

use ackclock_core::packet::wire::Ipv4;
use ackclock_core::packet::{Address, Ecn, Family};
use ackclock_core::time::Time;
use ackclock_emu::path::{Addresses, Network};
use ackclock_run::Run;
use proptest::collection::vec;
use proptest::prelude::*;

const MOST: usize = 1600;

fn network() -> Network {
    let text = r#"{"format": 1, "seed": 1, "duration_ns": 1000000000,
        "links": [{"id": "a", "rate_bps": 8000000, "delay_ns": 1000000, "overhead_bytes": 14, "duplicate": 0.1,
            "queue": {"kind": "droptail", "limit_packets": 20, "limit_bytes": null, "mark_above_packets": 2,
                "limit_includes_service": true}}],
        "flows": [{"id": "0", "forward": [{"link": "a"}], "reverse": [{"delay_ns": 1000}], "start": {"at_ns": 0},
            "app": {"kind": "bulk"}, "mss": 1448, "cc": {"name": "reno"}}]}"#;
    Network::new(&Run::from_json(text).unwrap(), (Family::V4, MOST), None).unwrap()
}

/// A packet between the ends of the flow, with bytes behind its header and some of all replaced.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let header = (any::<bool>(), any::<u8>(), 0u16..1500, any::<u16>(), 0u16..0x2000);
    (header, vec(any::<u8>(), 0..1500), vec((0usize..60, any::<u8>()), 0..4)).prop_map(|(header, payload, changes)| {
        let (back, protocol, total_len, id, fragment_offset) = header;
        let ends = Addresses::new(Family::V4, 1);
        let address = |end| match ends.of(0, end) {
            Address::V4(octets) => octets,
            Address::V6(_) => [0; 4],
        };
        let (source, destination) = (address(usize::from(back)), address(usize::from(!back)));
        let more_fragments = id % 3 == 0;
        let fragment_offset = if id % 5 == 0 { fragment_offset } else { 0 };
        let protocol = if protocol % 2 == 0 { 6 } else { protocol };
        let ecn = Ecn::of_bits(id as u8);
        let header = Ipv4 {
            source,
            destination,
            protocol,
            total_len,
            id,
            fragment_offset,
            more_fragments,
            ecn,
            ..Ipv4::default()
        };
        let mut bytes = vec![0; 20];
        header.write(&mut bytes).unwrap();
        bytes.extend(payload);
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes
    })
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => vec(any::<u8>(), 0..100), 4 => packet()]
}

proptest! {
    #[test]
    fn nothing_that_hosts_send_stops_the_path(sent in vec((0u64..3_000_000, anything()), 1..80)) {
        let mut network = network();
        let (mut now, mut entered, mut out) = (Time::ZERO, 0u64, 0u64);
        let pull = |network: &mut Network, now: Time| {
            let mut pulled = 0;
            while let Some(delivered) = network.pull(now) {
                assert!(delivered.at <= now && !network.bytes(&delivered).is_empty());
                network.done(&delivered);
                pulled += 1;
            }
            pulled
        };
        for (gap, bytes) in &sent {
            now = Time(now.0 + gap);
            out += pull(&mut network, now);
            network.room()[..bytes.len()].copy_from_slice(bytes);
            let astray = network.astray;
            network.enter(now, bytes.len());
            entered += u64::from(network.astray == astray);
        }
        out += pull(&mut network, Time(now.0 + 1_000_000_000));
        prop_assert_eq!(network.next_due(), Time::NEVER);
        let stats = &network.links[0].common.stats;
        let dropped: u64 = stats.drops.iter().sum();
        prop_assert_eq!(entered + stats.duplicated, out + dropped, "what enters comes out or is dropped");
    }
}
