//! Addresses and ports: what tells the packets of one connection from those of another on a wire.
//!
//! No decision of an endpoint, queue or link depends on them, so they stand with the connection and cost its packets
//! nothing. Hosts of a simulation get theirs by number: the same run has the same addresses.

use std::fmt;

/// Which Internet protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Version 4 (RFC 791).
    #[default]
    V4,
    /// Version 6 (RFC 8200).
    V6,
}

/// The address of a host, in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// Of version 4.
    V4([u8; 4]),
    /// Of version 6.
    V6([u8; 16]),
}

impl Address {
    /// Host number `host` of a private network: in 10.0.0.0/8 (RFC 1918), which has room for 2^24, or in fd00::/8 (RFC
    /// 4193) with a network of its own for each 2^16 hosts.
    pub fn of_host(family: Family, host: u32) -> Address {
        let [high, a, b, c] = host.to_be_bytes();
        match family {
            Family::V4 => Address::V4([10, a, b, c]),
            Family::V6 => {
                let mut octets = [0; 16];
                (octets[0], octets[4], octets[5], octets[14], octets[15]) = (0xfd, high, a, b, c);
                Address::V6(octets)
            }
        }
    }

    /// Which protocol it belongs to.
    pub fn family(&self) -> Family {
        match self {
            Address::V4(_) => Family::V4,
            Address::V6(_) => Family::V6,
        }
    }

    /// Its octets, 4 or 16.
    pub fn octets(&self) -> &[u8] {
        match self {
            Address::V4(octets) => octets,
            Address::V6(octets) => octets,
        }
    }
}

impl fmt::Display for Address {
    /// Dotted decimal, or RFC 5952's form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::V4([a, b, c, d]) => write!(f, "{a}.{b}.{c}.{d}"),
            Address::V6(octets) => {
                let mut groups = [0u16; 8];
                for (group, pair) in groups.iter_mut().zip(octets.chunks_exact(2)) {
                    *group = u16::from_be_bytes([pair[0], pair[1]]);
                }
                let (zeros, length) = longest_zeros(&groups);
                let text = |part: &[u16]| part.iter().map(|g| format!("{g:x}")).collect::<Vec<_>>().join(":");
                if length < 2 {
                    return f.write_str(&text(&groups));
                }
                write!(f, "{}::{}", text(&groups[..zeros]), text(&groups[zeros + length..]))
            }
        }
    }
}

/// Where the first of the longest runs of zeros begins, and how long it is (RFC 5952 §4.2).
fn longest_zeros(groups: &[u16; 8]) -> (usize, usize) {
    let mut longest = (0, 0);
    for begin in 0..groups.len() {
        let length = groups[begin..].iter().take_while(|g| **g == 0).count();
        if length > longest.1 {
            longest = (begin, length);
        }
    }
    longest
}

/// Source and destination of a packet, addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FourTuple {
    /// Who sent it.
    pub source: Address,
    /// From which port.
    pub source_port: u16,
    /// Whom it is for.
    pub destination: Address,
    /// At which port.
    pub destination_port: u16,
}

/// Where connections are accepted: that of `iperf`, which means nothing else.
const SERVER_PORT: u16 = 5001;
/// The first of the ports that connections are opened from: those above the system ports (RFC 6335 §6).
const FIRST_PORT: u32 = 1024;
/// How many there are.
const PORTS: u32 = 65_536 - FIRST_PORT;

impl FourTuple {
    /// Most flows that version 4 has private addresses for, two hosts each; the first and the last address are no hosts'.
    pub const MOST_FLOWS_V4: usize = (1 << 23) - 1;

    /// Of connection number `connection` between the hosts of flow number `flow`, as the packets of its first side have it:
    /// hosts 2 `flow` + 1 and 2 `flow` + 2 (number 0 is the network itself), and a port for every connection. Connections
    /// `n` and `n` + 64512 of a flow have different server ports, so none is like another before four billion.
    pub fn of_connection(family: Family, flow: u32, connection: u64) -> FourTuple {
        let connection = connection as u32;
        FourTuple {
            source: Address::of_host(family, 2 * flow + 1),
            source_port: (FIRST_PORT + connection % PORTS) as u16,
            destination: Address::of_host(family, 2 * flow + 2),
            destination_port: SERVER_PORT.wrapping_add((connection / PORTS) as u16),
        }
    }

    /// Of the packets in the other direction.
    pub fn reversed(self) -> FourTuple {
        FourTuple {
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn addresses_are_written_as_their_standards_say() {
        assert_eq!(Address::of_host(Family::V4, 0x01_02_03).to_string(), "10.1.2.3");
        let v6 = |groups: [u16; 8]| {
            let mut octets = [0; 16];
            for (pair, group) in octets.chunks_exact_mut(2).zip(groups) {
                pair.copy_from_slice(&group.to_be_bytes());
            }
            Address::V6(octets).to_string()
        };
        // RFC 5952 §4.2: the longest run, of equal ones the first, and no run of one.
        assert_eq!(v6([0x2001, 0xdb8, 0, 0, 0, 0, 2, 1]), "2001:db8::2:1");
        assert_eq!(v6([0x2001, 0xdb8, 0, 1, 1, 1, 1, 1]), "2001:db8:0:1:1:1:1:1");
        assert_eq!(v6([0x2001, 0, 0, 1, 0, 0, 0, 1]), "2001:0:0:1::1");
        assert_eq!(v6([0x2001, 0xdb8, 0, 0, 1, 0, 0, 1]), "2001:db8::1:0:0:1");
        assert_eq!((v6([0; 8]), v6([0, 0, 0, 0, 0, 0, 0, 1])), ("::".to_owned(), "::1".to_owned()));
    }

    #[test]
    fn every_connection_has_a_tuple_of_its_own() {
        for family in [Family::V4, Family::V6] {
            let mut seen = BTreeSet::new();
            for flow in [0, 1, 255, 70_000, (1 << 23) - 1] {
                for connection in [0, 1, 64_511, 64_512, 200_000] {
                    let tuple = FourTuple::of_connection(family, flow, connection);
                    assert_eq!((tuple.source.family(), tuple.reversed().reversed()), (family, tuple));
                    assert!(seen.insert(tuple) && seen.insert(tuple.reversed()), "{tuple:?}");
                }
            }
        }
    }
}
