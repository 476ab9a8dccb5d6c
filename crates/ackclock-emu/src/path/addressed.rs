//! Whose a packet is: every end of every flow has an address of its own, so the addresses say it, of fragments too.

use ackclock_core::packet::wire::{Ip, Tcp, protocol};
use ackclock_core::packet::{Address, Ecn, Family, FourTuple};

/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// What the path is told of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// Twice the number of the flow, plus one if its sink has sent it.
    pub side: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Bytes of payload of its transport; of what is neither TCP nor UDP all that IP carries.
    pub payload: u32,
    /// Ports of sender and receiver; none of other protocols and of fragments behind the first.
    pub ports: Option<(u16, u16)>,
    /// Which larger packet it is a part of.
    pub fragment: Option<u32>,
}

/// The addresses of the flows of a run.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    family: Family,
    flows: u32,
}

impl Addresses {
    /// For so many flows.
    pub fn new(family: Family, flows: usize) -> Addresses {
        Addresses { family, flows: flows as u32 }
    }

    /// The address of an end of flow number `flow`: 0 its source, 1 its sink.
    pub fn of(&self, flow: u32, end: usize) -> Address {
        let tuple = FourTuple::of_connection(self.family, flow, 0);
        [tuple.source, tuple.destination][end]
    }

    /// The side that sends from `source` to `destination`.
    fn side(&self, source: Address, destination: Address) -> Option<u32> {
        let host = host(source)?;
        let flow = host.checked_sub(1)? / 2;
        let end = (host - 1) % 2;
        let both = (self.of(flow, end as usize), self.of(flow, 1 - end as usize));
        (flow < self.flows && both == (source, destination)).then_some(2 * flow + end)
    }

    /// What `packet` is, which begins with its IP header; none if it is no packet between the two ends of a flow.
    pub fn read(&self, packet: &[u8]) -> Option<Addressed> {
        let ip = Ip::parse(packet).ok()?;
        let side = self.side(ip.source, ip.destination)?;
        Some(Addressed::of(&ip, side))
    }
}

impl Addressed {
    /// What `packet` is, sent by `side`, whatever its addresses are; none if it is no packet, or for the neighbours of who
    /// sent it only.
    pub fn sent_by(side: u32, packet: &[u8]) -> Option<Addressed> {
        let ip = Ip::parse(packet).ok()?;
        let near = match ip.destination {
            // RFC 5771 §4, RFC 919; RFC 4291 §2.7.
            Address::V4([224, 0, 0, _] | [255, 255, 255, 255]) => true,
            Address::V4(_) => false,
            Address::V6(octets) => octets[0] == 0xff && octets[1] & 0xf <= 2,
        };
        (!near).then(|| Addressed::of(&ip, side))
    }

    fn of(ip: &Ip<'_>, side: u32) -> Addressed {
        let carried = ip.payload_len.map_or(ip.payload.len(), |stated| stated as usize);
        let first = ip.fragment.is_none_or(|f| f.offset == 0);
        let header = match ip.protocol {
            protocol::TCP if first => Tcp::parse(ip.payload).map_or(0, |tcp| tcp.header_len),
            protocol::UDP if first => UDP_HEADER,
            _ => 0,
        };
        let has_ports = first && matches!(ip.protocol, protocol::TCP | protocol::UDP);
        let ports = ip.payload.first_chunk::<4>().filter(|_| has_ports);
        Addressed {
            side,
            ecn: ip.ecn,
            payload: carried.saturating_sub(header) as u32,
            ports: ports.map(|p| (u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]]))),
            fragment: ip.fragment.map(|f| f.id),
        }
    }
}

/// The number of the host that has this address, if it is one of [`Address::of_host`].
fn host(address: Address) -> Option<u32> {
    let number = match address {
        Address::V4([10, a, b, c]) => u32::from_be_bytes([0, a, b, c]),
        Address::V6(o) => u32::from_be_bytes([o[4], o[5], o[14], o[15]]),
        Address::V4(_) => return None,
    };
    (Address::of_host(address.family(), number) == address).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::wire::{Ipv4, Ipv6};

    /// A packet of `protocol` from an end of flow 70 with the first bytes of its payload.
    fn packet(family: Family, back: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let addresses = Addresses::new(family, 71);
        let (from, to) = (addresses.of(70, usize::from(back)), addresses.of(70, usize::from(!back)));
        let mut bytes = vec![0; 1500];
        let length = match (from, to) {
            (Address::V4(source), Address::V4(destination)) => Ipv4 {
                source,
                destination,
                protocol,
                ecn: Ecn::Ect0,
                ttl: 64,
                total_len: 20 + payload.len() as u16,
                ..Ipv4::default()
            }
            .write(&mut bytes),
            (Address::V6(source), Address::V6(destination)) => Ipv6 {
                source,
                destination,
                next_header: protocol,
                ecn: Ecn::Ect0,
                hop_limit: 64,
                payload_len: payload.len() as u16,
                ..Ipv6::default()
            }
            .write(&mut bytes),
            _ => None,
        }
        .unwrap();
        bytes.truncate(length);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn addresses_say_whose_a_packet_is() {
        let mut tcp = [0u8; 52];
        (tcp[1], tcp[3], tcp[12]) = (7, 9, 0x80);
        for family in [Family::V4, Family::V6] {
            let addresses = Addresses::new(family, 71);
            for back in [false, true] {
                let found = addresses.read(&packet(family, back, protocol::TCP, &tcp)).unwrap();
                let expected = Addressed {
                    side: 140 + u32::from(back),
                    ecn: Ecn::Ect0,
                    payload: 20,
                    ports: Some((7, 9)),
                    fragment: None,
                };
                assert_eq!(found, expected);
            }
            assert_eq!(Addresses::new(family, 70).read(&packet(family, false, protocol::TCP, &tcp)), None);
            let udp = addresses.read(&packet(family, false, protocol::UDP, &tcp)).unwrap();
            assert_eq!((udp.payload, udp.ports), (44, Some((7, 9))));
            let other = addresses.read(&packet(family, false, 132, &tcp)).unwrap();
            assert_eq!((other.payload, other.ports), (52, None));
        }
    }

    #[test]
    fn whose_a_packet_is_may_be_known_without_its_addresses() {
        for family in [Family::V4, Family::V6] {
            let mut sent = packet(family, false, protocol::UDP, &[0; 40]);
            assert_eq!(Addressed::sent_by(5, &sent).map(|a| (a.side, a.payload)), Some((5, 32)));
            // Reports of groups and solicitations of routers are for the neighbours, and there are none.
            let destination = if family == Family::V4 { 16 } else { 24 };
            sent[destination..destination + 4]
                .copy_from_slice(&[[0xff, 2, 0, 0], [224, 0, 0, 22]][usize::from(family == Family::V4)]);
            assert_eq!(Addressed::sent_by(5, &sent), None);
        }
        assert_eq!(Addressed::sent_by(0, &[0x45; 12]), None);
    }

    #[test]
    fn nothing_that_a_host_sends_is_taken_for_what_it_is_not() {
        let addresses = Addresses::new(Family::V4, 71);
        let good = packet(Family::V4, false, protocol::UDP, &[0; 40]);
        for cut in 0..20 {
            assert_eq!(addresses.read(&good[..cut]), None);
        }
        // From the source of one flow to the sink of another.
        let mut astray = good.clone();
        astray[19] += 2;
        assert_eq!(addresses.read(&astray), None);
        astray[12] = 192;
        assert_eq!(addresses.read(&astray), None);
    }
}
