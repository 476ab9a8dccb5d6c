//! The method CONNECT of HTTP/1.1 (RFC 9110 §9.3.6, RFC 9112 §3.2.3), with names and passwords (RFC 7617).

use super::{Heard, Parsed, Wish, say};
use crate::ending::{By, Ending, Why};
use crate::wanted::host_and_port;
use tokio::net::TcpStream;

/// The longest head of a request.
pub const LONGEST: usize = 8192;

/// A request, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where it is for; of another method none.
    pub wish: Option<Wish>,
    /// Name and password.
    pub credentials: Option<(Vec<u8>, Vec<u8>)>,
}

/// The head of a request.
pub fn request(bytes: &[u8]) -> Parsed<Asked> {
    let Some(end) = bytes.windows(4).position(|of| of == b"\r\n\r\n") else {
        return not_yet(bytes);
    };
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else {
        return Parsed::Wrong("the head is no text".to_owned());
    };
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else {
        return Parsed::Wrong("the first line is not a method, a target and a version".to_owned());
    };
    if !version.starts_with("HTTP/1.") {
        return Parsed::Wrong(format!("version {version:?}, not HTTP/1.1"));
    }
    if method != "CONNECT" {
        return Parsed::Done(Asked { wish: None, credentials: None }, end + 4);
    }
    let wish = match host_and_port(target) {
        Ok((host, port)) => Wish { host: host.to_owned(), port },
        Err(why) => return Parsed::Wrong(why),
    };
    let mut credentials = None;
    for line in lines {
        // A line that is folded, or has a space before its colon, is read in different ways (RFC 9112 §5).
        let Some((name, value)) = line.split_once(':').filter(|(name, _)| name.bytes().all(|of| of.is_ascii_graphic()))
        else {
            return Parsed::Wrong("a line of the head has no name".to_owned());
        };
        if name.eq_ignore_ascii_case("proxy-authorization") {
            credentials = basic(value.trim());
        }
    }
    Parsed::Done(Asked { wish: Some(wish), credentials }, end + 4)
}

/// What cannot become a request is none before it has ended.
fn not_yet<T>(bytes: &[u8]) -> Parsed<T> {
    match bytes.first() {
        Some(first) if !first.is_ascii_uppercase() => Parsed::Wrong("this is no request of HTTP".to_owned()),
        _ => Parsed::More,
    }
}

fn basic(value: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (scheme, code) = value.split_once(' ')?;
    let plain = scheme.eq_ignore_ascii_case("basic").then(|| base64(code.trim())).flatten()?;
    let colon = plain.iter().position(|of| *of == b':')?;
    Some((plain[..colon].to_vec(), plain[colon + 1..].to_vec()))
}

/// What `text` stands for in base64 (RFC 4648 §4).
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if text.len() % 4 != 0 || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// Asks the client where it wants to go.
///
/// # Errors
/// It does not say, or may not.
pub async fn ask(heard: &mut Heard<'_>, known: &[(String, String)]) -> Result<Wish, Ending> {
    let asked = match heard.next(LONGEST, request).await {
        Ok(asked) => asked,
        Err(ending) => {
            match ending.why {
                Why::HeaderWrong if ending.by == By::Proxy => status(heard.stream, "400 Bad Request", "").await,
                Why::HeaderTooLong => status(heard.stream, "431 Request Header Fields Too Large", "").await,
                _ => {}
            }
            return Err(ending);
        }
    };
    let Some(wish) = asked.wish else {
        status(heard.stream, "405 Method Not Allowed", "Allow: CONNECT\r\n").await;
        return Err(Ending::new(By::Proxy, Why::Unsupported));
    };
    let good = || asked.credentials.as_ref().is_some_and(|(name, password)| super::known(known, name, password));
    if !known.is_empty() && !good() {
        let how = "Proxy-Authenticate: Basic realm=\"ackclock\", charset=\"UTF-8\"\r\n";
        status(heard.stream, "407 Proxy Authentication Required", how).await;
        return Err(Ending::new(By::Proxy, Why::Unauthorized));
    }
    Ok(wish)
}

/// Tells the client how it went.
pub async fn answer(stream: &TcpStream, how: Result<(), Why>) {
    match how {
        // No length and no body: what follows is the connection (RFC 9110 §9.3.6).
        Ok(()) => say(stream, b"HTTP/1.1 200 Connection established\r\n\r\n").await,
        Err(Why::Forbidden | Why::Loop) => status(stream, "403 Forbidden", "").await,
        Err(Why::ConnectTimedOut) => status(stream, "504 Gateway Timeout", "").await,
        Err(Why::Descriptors) => status(stream, "503 Service Unavailable", "").await,
        Err(_) => status(stream, "502 Bad Gateway", "").await,
    }
}

/// Says that the header did not come in time.
pub async fn too_late(stream: &TcpStream) {
    status(stream, "408 Request Timeout", "").await;
}

async fn status(stream: &TcpStream, status: &str, more: &str) {
    let text = format!("HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n");
    say(stream, text.as_bytes()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(host: &str, port: u16) -> Option<Wish> {
        Some(Wish { host: host.to_owned(), port })
    }

    #[test]
    fn a_request_says_where_and_who() {
        let head = b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nproxy-authorization: basic am9lOnA6dw==\r\n\r\nrest";
        let Parsed::Done(asked, used) = request(head) else { panic!("{:?}", request(head)) };
        assert_eq!(asked.wish, wish("example.com", 443));
        assert_eq!(asked.credentials, Some((b"joe".to_vec(), b"p:w".to_vec())));
        assert_eq!(&head[used..], b"rest");
        for end in 0..used {
            assert_eq!(request(&head[..end]), Parsed::More, "{end} bytes");
        }
        let Parsed::Done(asked, _) = request(b"CONNECT [2001:db8::1]:80 HTTP/1.0\r\n\r\n") else { panic!() };
        assert_eq!(asked, Asked { wish: wish("2001:db8::1", 80), credentials: None });
        let Parsed::Done(asked, _) = request(b"GET / HTTP/1.1\r\n\r\n") else { panic!() };
        assert_eq!(asked.wish, None);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_wrong() {
        for head in [
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "CONNECT example.com:0 HTTP/1.1\r\n\r\n",
            "CONNECT http://example.com:80 HTTP/1.1\r\n\r\n",
            "CONNECT joe@example.com:80 HTTP/1.1\r\n\r\n",
            "CONNECT  example.com:80 HTTP/1.1\r\n\r\n",
            "CONNECT example.com:80 HTTP/2\r\n\r\n",
            "CONNECT example.com:80 HTTP/1.1\r\nHost : a\r\n\r\n",
            "CONNECT example.com:80 HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "\x16\x03\x01",
        ] {
            assert!(matches!(request(head.as_bytes()), Parsed::Wrong(_)), "{head:?}: {:?}", request(head.as_bytes()));
        }
        assert!(matches!(request(b"CONNECT \xff:80 HTTP/1.1\r\n\r\n"), Parsed::Wrong(_)));
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        // RFC 4648 §10.
        let vectors =
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmFy", "foobar")];
        for (code, plain) in vectors {
            assert_eq!(base64(code), Some(plain.as_bytes().to_vec()), "{code}");
        }
        for wrong in ["Z", "Zg=", "Zg", "Z===", "Zg=v", "Zm9\n"] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
    }
}
