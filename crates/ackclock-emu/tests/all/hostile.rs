//! Whatever hosts send, the path goes on, and the flows of others with it: bytes that are no packets, packets with wrong
//! lengths, fragments, options, extension headers, super-packets that are none.
#![allow(clippy::unwrap_used)]

use ackclock_core::packet::wire::{Ipv4, Ipv6};
use ackclock_core::packet::{Address, Ecn, Family};
use ackclock_core::time::Time;
use ackclock_emu::path::{Addresses, Network, OFFLOAD_HEADER, Offload, Split, complete};
use ackclock_run::Run;
use proptest::collection::vec;
use proptest::prelude::*;

const MOST: usize = 1600;
/// From source to sink of the good flow, nanoseconds, and the time that a byte takes.
const FLIGHT: u64 = 3_000_000;
const BYTE: u64 = 1_000;

/// Flow 0 is the hostile one; flow 1 has a link of its own, which nobody else fills.
fn network(family: Family) -> Network {
    let flow = |id: u32, link: &str| {
        format!(
            r#"{{"id": "{id}", "forward": [{{"link": "{link}"}}], "reverse": [{{"delay_ns": 1000}}],
            "start": {{"at_ns": 0}}, "app": {{"kind": "bulk"}}, "mss": 1448, "cc": {{"name": "reno"}}}}"#
        )
    };
    let text = format!(
        r#"{{"format": 1, "seed": 1, "duration_ns": 1000000000,
        "links": [{{"id": "a", "rate_bps": 8000000, "delay_ns": 1000000, "overhead_bytes": 14, "duplicate": 0.1,
            "queue": {{"kind": "droptail", "limit_packets": 20, "limit_bytes": null, "mark_above_packets": 2,
                "limit_includes_service": true}}}},
            {{"id": "b", "rate_bps": 8000000, "delay_ns": 3000000,
            "queue": {{"kind": "droptail", "limit_packets": 20, "limit_bytes": null, "limit_includes_service": true}}}}],
        "flows": [{}, {}]}}"#,
        flow(0, "a"),
        flow(1, "b")
    );
    Network::new(&Run::from_json(&text).unwrap(), (family, MOST), None).unwrap()
}

/// What a packet says of itself: whether it goes back, what it carries, its length, an identification, a place in a fragment.
type Head = (bool, u8, u16, u16, u16);

fn header(flow: u32, family: Family, (back, protocol, length, id, offset): Head) -> Vec<u8> {
    let ends = Addresses::new(family, 2);
    let (from, to) = (ends.of(flow, usize::from(back)), ends.of(flow, usize::from(!back)));
    let mut bytes = vec![0; 40];
    let written = match (from, to) {
        (Address::V4(source), Address::V4(destination)) => Ipv4 {
            source,
            destination,
            protocol,
            total_len: length,
            id,
            fragment_offset: if id % 5 == 0 { offset } else { 0 },
            more_fragments: id % 3 == 0,
            ecn: Ecn::of_bits(id as u8),
            ..Ipv4::default()
        }
        .write(&mut bytes),
        (Address::V6(source), Address::V6(destination)) => Ipv6 {
            source,
            destination,
            next_header: protocol,
            payload_len: length,
            flow_label: u32::from(id),
            ecn: Ecn::of_bits(id as u8),
            hop_limit: 64,
            ..Ipv6::default()
        }
        .write(&mut bytes),
        _ => None,
    };
    bytes.truncate(written.unwrap());
    bytes
}

/// An extension header of version 6: a number that says what comes behind it, its length in units of 8 bytes, and octets.
fn extension() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![Just(0u8), Just(43), Just(44), Just(60), Just(50), Just(51), Just(59), any::<u8>()];
    (kind, prop_oneof![3 => 0u8..3, 1 => any::<u8>()], vec(any::<u8>(), 22)).prop_map(|(next, units, octets)| {
        let mut bytes = vec![next, units];
        // As long as it says, unless it says that it is longer than this.
        bytes.extend(&octets[..octets.len().min((usize::from(units) + 1) * 8 - 2)]);
        bytes
    })
}

/// A packet between the ends of flow 0, with extension headers, bytes behind them, and some of all replaced.
fn packet(family: Family) -> impl Strategy<Value = Vec<u8>> {
    let protocol =
        prop_oneof![2 => Just(6u8), 1 => Just(17), 2 => Just(0), 1 => Just(43), 2 => Just(44), 1 => any::<u8>()];
    let head = (any::<bool>(), protocol, 0u16..1500, any::<u16>(), 0u16..0x2000);
    let changes = vec((0usize..120, any::<u8>()), 0..4);
    let exact = any::<bool>();
    (head, vec(extension(), 0..4), vec(any::<u8>(), 0..1400), changes, exact).prop_map(
        move |(mut head, extensions, payload, changes, exact)| {
            let extensions = if family == Family::V6 { extensions.concat() } else { Vec::new() };
            if exact {
                let own = if family == Family::V4 { 20 } else { 0 };
                head.2 = (own + extensions.len() + payload.len()) as u16;
            }
            let mut bytes = header(0, family, head);
            bytes.extend(extensions);
            bytes.extend(payload);
            for (at, value) in changes {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(MOST);
            bytes
        },
    )
}

fn hostile(family: Family) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => vec(any::<u8>(), 0..100), 4 => packet(family)]
}

/// Who sends a packet, how long after the one before, and its bytes.
fn sent(family: Family) -> impl Strategy<Value = Vec<(u64, bool, Vec<u8>)>> {
    let good = vec(any::<u8>(), 8..1400).prop_map(move |payload| {
        let length = payload.len() as u16 + if family == Family::V4 { 20 } else { 0 };
        let mut bytes = header(1, family, (false, 17, length, 1, 0));
        bytes.extend(payload);
        bytes
    });
    let one = prop_oneof![3 => hostile(family).prop_map(|b| (false, b)), 1 => good.prop_map(|b| (true, b))];
    vec((0u64..3_000_000, one).prop_map(|(gap, (good, bytes))| (gap, good, bytes)), 1..80)
}

/// When and with which bytes the packets of the good flow are to leave; those that its queue has no room for do not.
#[derive(Default)]
struct Good {
    free: u64,
    leaving: Vec<u64>,
    expected: Vec<(Time, Vec<u8>)>,
}

impl Good {
    fn enters(&mut self, now: u64, bytes: &[u8]) {
        self.leaving.retain(|leaves| *leaves >= now);
        if self.leaving.len() < 20 {
            self.free = self.free.max(now) + bytes.len() as u64 * BYTE;
            self.leaving.push(self.free);
            self.expected.push((Time(self.free + FLIGHT), bytes.to_vec()));
        }
    }
}

/// Plays what is `sent`, by host if the hostile flow may send to any address.
fn play(family: Family, sent: &[(u64, bool, Vec<u8>)], anywhere: bool) -> Result<(), TestCaseError> {
    let mut network = network(family);
    if anywhere {
        network.open(0);
    }
    let (mut now, mut entered, mut out) = (Time::ZERO, 0u64, 0u64);
    let (mut good, mut came) = (Good::default(), Vec::new());
    let mut pull = |network: &mut Network, now: Time| {
        let mut pulled = 0;
        while let Some(delivered) = network.pull(now) {
            assert!(delivered.at <= now && !network.bytes(&delivered).is_empty());
            if delivered.side / 2 == 1 {
                came.push((delivered.at, network.bytes(&delivered).to_vec()));
            } else {
                pulled += 1;
            }
            network.done(&delivered);
        }
        pulled
    };
    for (gap, of_good, bytes) in sent {
        now = Time(now.0 + gap);
        out += pull(&mut network, now);
        network.room()[..bytes.len()].copy_from_slice(bytes);
        let astray = network.astray;
        network.enter_from(anywhere.then_some(2 * usize::from(*of_good)), now, bytes.len());
        if *of_good {
            prop_assert_eq!(network.astray, astray);
            good.enters(now.0, bytes);
        } else {
            entered += u64::from(network.astray == astray);
        }
    }
    out += pull(&mut network, Time(now.0 + 1_000_000_000));
    prop_assert_eq!(network.next_due(), Time::NEVER);
    let stats = &network.links[0].common.stats;
    let dropped: u64 = stats.drops.iter().sum();
    prop_assert_eq!(entered + stats.duplicated, out + dropped, "what enters comes out or is dropped");
    prop_assert_eq!(came, good.expected, "the other flow's packets leave when they would, as they were");
    Ok(())
}

proptest! {
    #[test]
    fn nothing_that_hosts_send_stops_the_path_of_version_4(sent in sent(Family::V4), anywhere in any::<bool>()) {
        play(Family::V4, &sent, anywhere)?;
    }

    #[test]
    fn nothing_that_hosts_send_stops_the_path_of_version_6(sent in sent(Family::V6), anywhere in any::<bool>()) {
        play(Family::V6, &sent, anywhere)?;
    }

    #[test]
    fn super_packets_of_any_bytes_are_split_or_left(
        six in any::<bool>(),
        told in vec(any::<u8>(), OFFLOAD_HEADER),
        segment in 0u16..2000,
        mut whole in prop_oneof![packet(Family::V4), packet(Family::V6), vec(any::<u8>(), 0..9000)],
    ) {
        if six && !whole.is_empty() {
            whole[0] = 0x60 | whole[0] & 15;
        }
        let offload = Offload::read(told.first_chunk().unwrap());
        if let Some(partial) = offload.partial {
            let length = whole.len();
            complete(&mut whole, partial);
            prop_assert_eq!(whole.len(), length);
        }
        if let Some(split) = Split::new(&whole, segment) {
            let mut room = [0; MOST];
            let longest = (0..split.segments()).filter_map(|i| split.write(i, &mut room)).max();
            prop_assert!(longest.is_none_or(|longest| longest <= MOST));
        }
    }
}
