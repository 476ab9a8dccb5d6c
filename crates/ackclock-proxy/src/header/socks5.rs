//! SOCKS 5 (RFC 1928) with names and passwords (RFC 1929): only its command CONNECT.

use super::{Heard, Parsed, Wish, say};
use crate::ending::{By, Ending, Why};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::TcpStream;

const VERSION: u8 = 5;
const OPEN: u8 = 0;
const BY_PASSWORD: u8 = 2;
const NONE_OF_THESE: u8 = 0xff;

/// The longest of each: greeting, name and password, request.
const LONGEST: usize = 1 + 1 + 255 + 1 + 255;

/// The methods that a client offers.
pub fn greeting(bytes: &[u8]) -> Parsed<Vec<u8>> {
    match bytes {
        [first, ..] if *first != VERSION => Parsed::Wrong(format!("version {first} of SOCKS, not {VERSION}")),
        [_, count, rest @ ..] if rest.len() >= usize::from(*count) => {
            let count = usize::from(*count);
            Parsed::Done(rest[..count].to_vec(), 2 + count)
        }
        _ => Parsed::More,
    }
}

/// A name and a password.
pub fn credentials(bytes: &[u8]) -> Parsed<(Vec<u8>, Vec<u8>)> {
    match bytes {
        [first, ..] if *first != 1 => Parsed::Wrong(format!("version {first} of name and password, not 1")),
        [_, name, rest @ ..] => {
            let name = usize::from(*name);
            match rest.get(name) {
                Some(password) if rest.len() > name + usize::from(*password) => {
                    let end = name + 1 + usize::from(*password);
                    Parsed::Done((rest[..name].to_vec(), rest[name + 1..end].to_vec()), 2 + end)
                }
                _ => Parsed::More,
            }
        }
        _ => Parsed::More,
    }
}

/// The command and where it is for. The reply to what is wrong stands with it.
pub fn request(bytes: &[u8]) -> Parsed<Result<Wish, u8>> {
    let (kind, rest) = match bytes {
        [first, ..] if *first != VERSION => return Parsed::Wrong(format!("version {first} in the request")),
        [_, command, _, kind, rest @ ..] => {
            if *command != 1 {
                return Parsed::Done(Err(reply::NO_SUCH_COMMAND), bytes.len());
            }
            (*kind, rest)
        }
        _ => return Parsed::More,
    };
    let (host, used) = match (kind, rest) {
        (1, [a, b, c, d, ..]) => (Ipv4Addr::new(*a, *b, *c, *d).to_string(), 4),
        (4, rest) if rest.len() >= 16 => {
            let mut octets = [0; 16];
            octets.copy_from_slice(&rest[..16]);
            (Ipv6Addr::from(octets).to_string(), 16)
        }
        (3, [length, rest @ ..]) if rest.len() >= usize::from(*length) => {
            let length = usize::from(*length);
            match std::str::from_utf8(&rest[..length]) {
                Ok(name) if !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic()) => {
                    (name.to_owned(), 1 + length)
                }
                _ => return Parsed::Wrong("the name is none".to_owned()),
            }
        }
        (1 | 3 | 4, _) => return Parsed::More,
        _ => return Parsed::Done(Err(reply::NO_SUCH_ADDRESS), bytes.len()),
    };
    match rest.get(used..used + 2) {
        Some([high, low]) => Parsed::Done(Ok(Wish { host, port: u16::from_be_bytes([*high, *low]) }), 4 + used + 2),
        _ => Parsed::More,
    }
}

/// Codes of replies (RFC 1928 §6).
mod reply {
    pub const DONE: u8 = 0;
    pub const FAILED: u8 = 1;
    pub const NOT_ALLOWED: u8 = 2;
    pub const NETWORK_UNREACHABLE: u8 = 3;
    pub const HOST_UNREACHABLE: u8 = 4;
    pub const REFUSED: u8 = 5;
    pub const NO_SUCH_COMMAND: u8 = 7;
    pub const NO_SUCH_ADDRESS: u8 = 8;
}

/// Asks the client where it wants to go.
///
/// # Errors
/// It does not say, or may not.
pub async fn ask(heard: &mut Heard<'_>, known: &[(String, String)]) -> Result<Wish, Ending> {
    let methods = heard.next(LONGEST, greeting).await?;
    let method = if known.is_empty() { OPEN } else { BY_PASSWORD };
    if !methods.contains(&method) {
        say(heard.stream, &[VERSION, NONE_OF_THESE]).await;
        let what =
            if known.is_empty() { "it does not offer to come without a password" } else { "it offers no password" };
        return Err(Ending::with(By::Proxy, Why::Unauthorized, what));
    }
    say(heard.stream, &[VERSION, method]).await;
    if method == BY_PASSWORD {
        let (name, password) = heard.next(LONGEST, credentials).await?;
        let good = super::known(known, &name, &password);
        say(heard.stream, &[1, u8::from(!good)]).await;
        if !good {
            return Err(Ending::new(By::Proxy, Why::Unauthorized));
        }
    }
    match heard.next(LONGEST, request).await? {
        Ok(wish) if wish.port > 0 => Ok(wish),
        Ok(_) => {
            answer_code(heard.stream, reply::FAILED, None).await;
            Err(Ending::with(By::Proxy, Why::HeaderWrong, "port 0"))
        }
        Err(code) => {
            answer_code(heard.stream, code, None).await;
            Err(Ending::new(By::Proxy, Why::Unsupported))
        }
    }
}

/// Tells the client how it went: `local` is the proxy's own end of the server's side.
pub async fn answer(stream: &TcpStream, how: Result<Option<SocketAddr>, Why>) {
    let (code, local) = match how {
        Ok(local) => (reply::DONE, local),
        Err(Why::Forbidden | Why::Loop) => (reply::NOT_ALLOWED, None),
        Err(Why::Refused) => (reply::REFUSED, None),
        Err(Why::Unreachable) => (reply::NETWORK_UNREACHABLE, None),
        Err(Why::Unknown | Why::ConnectTimedOut) => (reply::HOST_UNREACHABLE, None),
        Err(_) => (reply::FAILED, None),
    };
    answer_code(stream, code, local).await;
}

async fn answer_code(stream: &TcpStream, code: u8, local: Option<SocketAddr>) {
    let mut bytes = vec![VERSION, code, 0];
    match local.map(|of| of.ip()) {
        Some(IpAddr::V6(of)) => {
            bytes.push(4);
            bytes.extend(of.octets());
        }
        Some(IpAddr::V4(of)) => {
            bytes.push(1);
            bytes.extend(of.octets());
        }
        None => bytes.extend([1, 0, 0, 0, 0]),
    }
    bytes.extend(local.map_or(0, |of| of.port()).to_be_bytes());
    say(stream, &bytes).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_and_requests_are_those_of_the_rfc() {
        assert_eq!(greeting(&[5, 2, 0, 2]), Parsed::Done(vec![0, 2], 4));
        assert_eq!(greeting(&[5, 2, 0, 2, 5]), Parsed::Done(vec![0, 2], 4));
        assert!(matches!(greeting(&[4, 1, 0, 80]), Parsed::Wrong(_)));
        assert_eq!(credentials(b"\x01\x03joe\x02pw"), Parsed::Done((b"joe".to_vec(), b"pw".to_vec()), 8));
        let wish = |host: &str, port| Ok(Wish { host: host.to_owned(), port });
        assert_eq!(request(&[5, 1, 0, 1, 192, 0, 2, 1, 0, 80]), Parsed::Done(wish("192.0.2.1", 80), 10));
        assert_eq!(request(b"\x05\x01\x00\x03\x0bexample.com\x01\xbbGET"), Parsed::Done(wish("example.com", 443), 18));
        let mut six = vec![5, 1, 0, 4, 0x20, 1, 0xd, 0xb8];
        six.extend([0; 11]);
        six.extend([1, 0x1f, 0x90]);
        assert_eq!(request(&six), Parsed::Done(wish("2001:db8::1", 8080), 22));
    }

    #[test]
    fn what_this_proxy_does_not_do_has_its_code() {
        assert!(matches!(request(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 80]), Parsed::Done(Err(7), _)));
        assert!(matches!(request(&[5, 3, 0, 1, 1, 2, 3, 4, 0, 80]), Parsed::Done(Err(7), _)));
        assert!(matches!(request(&[5, 1, 0, 9, 1, 2, 3, 4, 0, 80]), Parsed::Done(Err(8), _)));
        assert!(matches!(request(b"\x05\x01\x00\x03\x00\x00\x50"), Parsed::Wrong(_)));
        assert!(matches!(request(b"\x05\x01\x00\x03\x01\x0a\x00\x50"), Parsed::Wrong(_)));
    }

    #[test]
    fn every_beginning_asks_for_more() {
        fn beginnings<T: std::fmt::Debug + PartialEq>(whole: &[u8], parse: impl Fn(&[u8]) -> Parsed<T>) {
            for end in 0..whole.len() {
                assert_eq!(parse(&whole[..end]), Parsed::More, "{end} bytes");
            }
            assert!(matches!(parse(whole), Parsed::Done(_, used) if used == whole.len()));
        }
        beginnings(&[5, 3, 0, 1, 2], greeting);
        beginnings(b"\x01\x03joe\x02pw", credentials);
        beginnings(&[5, 1, 0, 1, 192, 0, 2, 1, 0, 80], request);
        beginnings(b"\x05\x01\x00\x03\x0bexample.com\x01\xbb", request);
    }
}
