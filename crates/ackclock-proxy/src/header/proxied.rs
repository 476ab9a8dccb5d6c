//! The PROXY protocol, versions 1 and 2 (HAProxy Technologies, "The PROXY protocol", 2020): who the client of a proxy before this
//! one is, and who it is told to be to the server behind it.

use super::Parsed;
use crate::wanted::Announced;
use std::net::{IpAddr, SocketAddr};

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// The longest line of version 1, with its end.
const LONGEST_LINE: usize = 107;

/// The longest header of version 2 that is taken: addresses, and what else its sender knows.
pub const LONGEST: usize = 4096;

/// Who connected to whom; `None` where the sender of the header speaks for itself, or does not know.
pub type Said = Option<(SocketAddr, SocketAddr)>;

/// A header of either version.
pub fn header(bytes: &[u8]) -> Parsed<Said> {
    let begins = bytes.len().min(SIGNATURE.len());
    if bytes[..begins] == SIGNATURE[..begins] {
        return if bytes.len() < 16 { Parsed::More } else { version2(bytes) };
    }
    let begins = bytes.len().min(6);
    if bytes[..begins] == b"PROXY "[..begins] {
        return version1(bytes);
    }
    Parsed::Wrong("this is no header of the PROXY protocol".to_owned())
}

fn version1(bytes: &[u8]) -> Parsed<Said> {
    let Some(end) = bytes.windows(2).take(LONGEST_LINE - 1).position(|of| of == b"\r\n") else {
        return if bytes.len() >= LONGEST_LINE {
            Parsed::Wrong("its line has no end".to_owned())
        } else {
            Parsed::More
        };
    };
    let line = String::from_utf8_lossy(&bytes[..end]);
    let words: Vec<&str> = line.split(' ').collect();
    let said = match words[..] {
        ["PROXY", "UNKNOWN", ..] => Some(None),
        ["PROXY", family @ ("TCP4" | "TCP6"), from, to, from_port, to_port] => {
            let of = |ip: &str, port: &str| Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?));
            let both = of(from, from_port).zip(of(to, to_port));
            both.filter(|(a, b)| a.is_ipv4() == (family == "TCP4") && b.is_ipv4() == a.is_ipv4()).map(Some)
        }
        _ => None,
    };
    said.map_or_else(|| Parsed::Wrong("its line has no addresses".to_owned()), |said| Parsed::Done(said, end + 2))
}

fn version2(bytes: &[u8]) -> Parsed<Said> {
    let (what, family) = (bytes[12], bytes[13]);
    let length = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    if what >> 4 != 2 || what & 0xf > 1 {
        return Parsed::Wrong(format!("version and command are {what:#04x}"));
    }
    if 16 + length > LONGEST {
        return Parsed::Wrong(format!("its length is {length}"));
    }
    let Some(body) = bytes.get(16..16 + length) else { return Parsed::More };
    let port = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let said = match (what & 0xf, family) {
        (0, _) => None,
        (_, 0x11) if length >= 12 => {
            let ip = |at: usize| IpAddr::from([body[at], body[at + 1], body[at + 2], body[at + 3]]);
            Some((SocketAddr::new(ip(0), port(8)), SocketAddr::new(ip(4), port(10))))
        }
        (_, 0x21) if length >= 36 => {
            let ip = |at: usize| {
                let mut octets = [0; 16];
                octets.copy_from_slice(&body[at..at + 16]);
                IpAddr::from(octets)
            };
            Some((SocketAddr::new(ip(0), port(32)), SocketAddr::new(ip(16), port(34))))
        }
        (_, 0x11 | 0x21) => return Parsed::Wrong("its addresses are cut short".to_owned()),
        _ => None,
    };
    Parsed::Done(said, 16 + length)
}

/// The header that tells a server that `from` connected to `to`.
pub fn written(version: Announced, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let (a, b) = match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (a @ IpAddr::V4(_), b @ IpAddr::V4(_)) => (a, b),
        (a, b) => (six(a), six(b)),
    };
    match version {
        Announced::V1 => {
            let family = if a.is_ipv4() { "TCP4" } else { "TCP6" };
            format!("PROXY {family} {a} {b} {} {}\r\n", from.port(), to.port()).into_bytes()
        }
        Announced::V2 => {
            let mut bytes = SIGNATURE.to_vec();
            let (family, length) = if a.is_ipv4() { (0x11, 12u16) } else { (0x21, 36) };
            bytes.extend([0x21, family]);
            bytes.extend(length.to_be_bytes());
            for ip in [a, b] {
                match ip {
                    IpAddr::V4(of) => bytes.extend(of.octets()),
                    IpAddr::V6(of) => bytes.extend(of.octets()),
                }
            }
            bytes.extend(from.port().to_be_bytes());
            bytes.extend(to.port().to_be_bytes());
            bytes
        }
    }
}

fn six(of: IpAddr) -> IpAddr {
    match of {
        IpAddr::V4(of) => IpAddr::V6(of.to_ipv6_mapped()),
        six @ IpAddr::V6(_) => six,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let pairs = [
            ("192.0.2.1:1000", "198.51.100.7:80"),
            ("[2001:db8::1]:65535", "[2001:db8::2]:1"),
            ("[::ffff:192.0.2.1]:5", "198.51.100.7:80"),
        ];
        for version in [Announced::V1, Announced::V2] {
            for (from, to) in pairs {
                let bytes = written(version, of(from), of(to));
                let Parsed::Done(Some((a, b)), used) = header(&bytes) else { panic!("{from} {to}") };
                assert_eq!((a.ip(), b.ip()), (of(from).ip().to_canonical(), of(to).ip().to_canonical()));
                assert_eq!((a.port(), b.port(), used), (of(from).port(), of(to).port(), bytes.len()));
                for end in 0..bytes.len() {
                    assert_eq!(header(&bytes[..end]), Parsed::More, "{end} bytes");
                }
            }
        }
        assert_eq!(
            written(Announced::V1, of("192.0.2.1:1000"), of("198.51.100.7:80")),
            b"PROXY TCP4 192.0.2.1 198.51.100.7 1000 80\r\n"
        );
    }

    #[test]
    fn who_speaks_for_itself_is_itself() {
        assert_eq!(header(b"PROXY UNKNOWN\r\nGET"), Parsed::Done(None, 15));
        let mut local = SIGNATURE.to_vec();
        local.extend([0x20, 0, 0, 3, 1, 2, 3, 9]);
        assert_eq!(header(&local), Parsed::Done(None, 19));
    }

    #[test]
    fn what_is_wrong_is_known_before_its_end() {
        let wrong = |bytes: &[u8]| matches!(header(bytes), Parsed::Wrong(_));
        assert!(wrong(b"GET / HTTP/1.1\r\n"));
        assert!(wrong(b"PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n"));
        assert!(wrong(b"PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n"));
        assert!(wrong(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n"));
        assert!(wrong(&[b"PROXY ".as_slice(), &[b'x'; 101]].concat()));
        assert!(wrong(&[SIGNATURE.as_slice(), &[0x31, 0x11, 0, 12]].concat()));
        assert!(wrong(&[SIGNATURE.as_slice(), &[0x21, 0x11, 0xff, 0xff]].concat()));
        assert!(wrong(&[SIGNATURE.as_slice(), &[0x21, 0x11, 0, 4, 1, 2, 3, 4]].concat()));
    }
}
