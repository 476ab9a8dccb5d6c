//! Ranges of addresses (RFC 4632), and what an address stands for.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// All addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    length: u8,
}

impl Cidr {
    /// Whether `address` is one of them. One of version 4 that is written in version 6 counts as what it stands for.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => same(own.to_bits().into(), other.to_bits().into(), 32, self.length),
            (IpAddr::V6(own), IpAddr::V6(other)) => same(own.to_bits(), other.to_bits(), 128, self.length),
            _ => false,
        }
    }
}

fn same(a: u128, b: u128, width: u8, length: u8) -> bool {
    length == 0 || (a ^ b) >> (width - length) == 0
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Cidr, String> {
        let wrong = || format!("{text} is no range of addresses; write 192.0.2.0/24 or 2001:db8::/32");
        let (address, length) = text.split_once('/').map_or((text, None), |(of, length)| (of, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let widest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(widest), str::parse).map_err(|_| wrong())?;
        let cidr = Cidr { address, length };
        let rest = match address {
            _ if length > widest => return Err(wrong()),
            IpAddr::V4(of) => u128::from(of.to_bits()) & low(32 - length),
            IpAddr::V6(of) => of.to_bits() & low(128 - length),
        };
        if rest != 0 {
            return Err(format!("{text} has bits beyond its length; write the first address of the range"));
        }
        Ok(cidr)
    }
}

fn low(bits: u8) -> u128 {
    1u128.checked_shl(bits.into()).map_or(u128::MAX, |above| above - 1)
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cidr {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Cidr, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Why nobody is connected to `address` on another's behalf, unless that was allowed; `None` if it is one of the whole network.
///
/// Addresses that stand for one of version 4 are judged as that one: mapped and compatible (RFC 4291 §2.5.5), translated
/// (RFC 6052, RFC 8215), 6to4 (RFC 3056) and Teredo (RFC 4380). The ranges are those of IANA's registries of special-purpose
/// addresses (RFC 6890).
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(of) => special4(of),
        IpAddr::V6(of) => special6(of),
    }
}

fn special4(of: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = of.octets();
    match (a, b, c) {
        (0, ..) => Some("unspecified"),
        (127, ..) => Some("loopback"),
        (169, 254, _) => Some("link-local"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some("private"),
        (100, 64..=127, _) => Some("shared by a provider's customers"),
        (192, 0, 0) | (198, 18..=19, _) | (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Some("reserved"),
        (224..=239, ..) => Some("multicast"),
        (240.., ..) => Some("reserved"),
        _ => None,
    }
}

fn special6(of: Ipv6Addr) -> Option<&'static str> {
    let s = of.segments();
    let last = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => special4(last(high, low)),
        [0x64, 0xff9b, 1, ..] => Some("translated within a network"),
        [0x2002, high, low, ..] => special4(last(high, low)),
        [0x2001, 0, .., high, low] => special4(last(!high, !low)).or(Some("tunnelled")),
        [0x2001, 0xdb8, ..] | [0x100, 0, 0, 0, ..] | [0x3fff, 0..=0xfff, ..] => Some("reserved"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] | [0xfc00..=0xfdff, ..] => Some("private"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_begins_like_it() {
        let of = |text: &str| text.parse::<Cidr>().unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(of("192.0.2.0/24").contains(ip("192.0.2.255")));
        assert!(!of("192.0.2.0/24").contains(ip("192.0.3.0")));
        assert!(of("0.0.0.0/0").contains(ip("203.0.113.9")));
        assert!(!of("0.0.0.0/0").contains(ip("2001:db8::1")));
        assert!(of("::/0").contains(ip("2001:db8::1")));
        assert!(of("10.0.0.0/8").contains(ip("::ffff:10.1.2.3")));
        assert!(of("2001:db8::/33").contains(ip("2001:db8:7fff::")));
        assert!(!of("2001:db8::/33").contains(ip("2001:db8:8000::")));
        assert!(of("198.51.100.7").contains(ip("198.51.100.7")));
    }

    #[test]
    fn what_is_no_range_is_said_to_be_none() {
        for text in ["", "/8", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0/8", "x/8", "10.0.0.0/8/8"] {
            assert!(text.parse::<Cidr>().unwrap_err().contains("no range"), "{text}");
        }
        assert!("10.0.0.1/8".parse::<Cidr>().unwrap_err().contains("beyond its length"));
    }

    #[test]
    fn special_addresses_are_known_in_every_dress() {
        let cases = [
            ("127.8.9.1", "loopback"),
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("10.0.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.168.1.1", "private"),
            ("169.254.169.254", "link-local"),
            ("100.64.0.1", "shared by a provider's customers"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::7f00:1", "loopback"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:0:127.0.0.1", "loopback"),
            ("64:ff9b::a9fe:a9fe", "link-local"),
            ("64:ff9b:1::808:808", "translated within a network"),
            ("2002:7f00:1::", "loopback"),
            ("2002:c0a8:101::1", "private"),
            ("2001:0:808:808::80ff:fffe", "loopback"),
            ("fe80::1", "link-local"),
            ("fec0::1", "private"),
            ("fd00::1", "private"),
            ("ff02::1", "multicast"),
            ("4000::1", "reserved"),
        ];
        for (text, why) in cases {
            assert_eq!(special(text.parse().unwrap()), Some(why), "{text}");
        }
        for text in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"] {
            assert_eq!(special(text.parse().unwrap()), None, "{text}");
        }
    }
}
