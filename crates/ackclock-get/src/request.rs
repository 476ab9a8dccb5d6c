//! What is asked of a server, and what its answer says of the file.

use crate::address::{Address, REDIRECTS};
use crate::connect::{Connector, Link};
use crate::problem::{Problem, reasons};
use crate::ranges::Piece;
use crate::wanted::Wanted;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Version};
use std::time::Duration;

/// Who asks.
const AGENT: &str = concat!("ackclock/", env!("CARGO_PKG_VERSION"));

/// Headers that every request has.
#[derive(Clone, Debug)]
pub struct Asking {
    own: HeaderMap,
    home: Address,
}

impl Asking {
    /// Those that are wanted, for the host of `home` alone.
    ///
    /// # Errors
    /// A header that cannot be sent.
    pub fn new(wanted: &Wanted, home: &Address) -> Result<Asking, Problem> {
        let mut own = HeaderMap::new();
        for (name, value) in &wanted.headers {
            let wrong = || Problem::input(format!("--header {name:?}: this cannot be a header; write 'NAME: VALUE'"));
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            if [header::RANGE, header::IF_RANGE, header::CONNECTION, header::TRANSFER_ENCODING].contains(&key) {
                return Err(Problem::input(format!("--header {name:?}: this one is the download's own; leave it out")));
            }
            own.append(key, HeaderValue::from_str(value).map_err(|_| wrong())?);
        }
        Ok(Asking { own, home: home.clone() })
    }

    /// A request for a piece, or for everything; if the file is still `unchanged`, else for all of the new one.
    pub fn request(&self, at: &Address, piece: Option<Piece>, unchanged: Option<&str>) -> Request<Empty<Bytes>> {
        let mut request = Request::new(Empty::new());
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        // Ranges are those of the file, not of what compression makes of it.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if at.same_origin(&self.home) {
            for name in self.own.keys() {
                headers.remove(name);
                for value in self.own.get_all(name) {
                    headers.append(name, value.clone());
                }
            }
        }
        if let Some(piece) = piece {
            let range = format!("bytes={}-{}", piece.start, piece.end.saturating_sub(1));
            headers.extend(HeaderValue::from_str(&range).ok().map(|value| (header::RANGE, value)));
            let validator = unchanged.and_then(|text| HeaderValue::from_str(text).ok());
            headers.extend(validator.map(|value| (header::IF_RANGE, value)));
        }
        request
    }
}

/// The first answer, with the connection that it comes on.
pub struct First {
    /// The connection.
    pub link: Link,
    /// The answer, with its body to come.
    pub response: Response<Incoming>,
    /// Where the file is.
    pub address: Address,
}

/// Asks for the first piece, and follows redirects.
///
/// # Errors
/// There is no file.
pub async fn first(
    connector: &Connector,
    asking: &Asking,
    home: &Address,
    piece: Option<Piece>,
) -> Result<First, Problem> {
    let (mut address, mut piece) = (home.clone(), piece);
    let mut redirects = 0;
    loop {
        let mut link = connector.connect(&address).await?;
        let request = asking.request(&address, piece, None);
        let response = answered(&mut link, &address, request, connector.patience()).await.map_err(Problem::failed)?;
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            redirects += 1;
            if redirects > REDIRECTS {
                let home = home.text();
                return Err(Problem::failed(format!(
                    "{home}: more than {REDIRECTS} redirects, the last to {}",
                    address.text()
                )));
            }
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let location =
                location.ok_or_else(|| Problem::failed(format!("{}: a redirect to nowhere", address.text())))?;
            address = address.redirected(location)?;
        } else if piece.is_some() && may_be_the_piece(status) {
            piece = None;
        } else if status == StatusCode::OK || (status == StatusCode::PARTIAL_CONTENT && piece.is_some()) {
            return Ok(First { link, response, address });
        } else {
            return Err(Problem::failed(format!("{}: the server answers {status}", address.text())));
        }
    }
}

/// Whether an answer may refuse the piece and not the file. An empty file has no first byte, and a journal may be of a longer one;
/// some servers forbid large pieces, or the header.
fn may_be_the_piece(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::RANGE_NOT_SATISFIABLE
            | StatusCode::BAD_REQUEST
            | StatusCode::FORBIDDEN
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_ACCEPTABLE
            | StatusCode::PRECONDITION_FAILED
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::EXPECTATION_FAILED
            | StatusCode::NOT_IMPLEMENTED
    )
}

/// An answer, if it comes in time.
///
/// # Errors
/// It does not, or the connection ends.
pub async fn answered(
    link: &mut Link,
    address: &Address,
    request: Request<Empty<Bytes>>,
    patience: Duration,
) -> Result<Response<Incoming>, String> {
    match tokio::time::timeout(patience, link.ask(address, request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(why)) => Err(format!("{}: {why}", address.authority())),
        Err(_) => Err(format!("{}: no answer within {} s", address.authority(), patience.as_secs_f64())),
    }
}

/// The next bytes of a body, if they come in time; none at its end. Frames of HTTP/2 without bytes are no sign that anything comes.
///
/// # Errors
/// They do not, or it broke off. A stream of HTTP/2 that is reset without an error (RFC 9113 §8.1) gives no more, too, and is no
/// end: something may be missing.
pub async fn bytes(body: &mut Incoming, version: Version, patience: Duration) -> Result<Option<Bytes>, String> {
    let (two, by) = if version == Version::HTTP_2 { (true, "HTTP/2: ") } else { (false, "") };
    let next = async {
        loop {
            match body.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
                Some(Err(error)) => return Err(format!("{by}{}", reasons(&error))),
                None if two && !body.is_end_stream() => return Err(format!("{by}the server reset the stream")),
                None => return Ok(None),
            }
        }
    };
    let waited = tokio::time::timeout(patience, next).await;
    waited.unwrap_or_else(|_| Err(format!("no byte within {} s", patience.as_secs_f64())))
}

/// What an answer says of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its bytes, if that is known.
    pub total: Option<u64>,
    /// What a later answer has to say, too, for both to be of the same file.
    pub validator: Option<String>,
    /// The name that the server gives it.
    pub name: Option<String>,
}

/// Of the headers of a whole answer (200), or of a piece (206).
pub fn described(headers: &HeaderMap, partial: bool) -> File {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let total = if partial {
        text(header::CONTENT_RANGE).and_then(span).and_then(|(_, total)| total)
    } else {
        text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok())
    };
    let name = headers.get(header::CONTENT_DISPOSITION);
    let name = name.and_then(|value| crate::names::of_disposition(&String::from_utf8_lossy(value.as_bytes())));
    File { total, validator: validator(headers), name }
}

/// The size of the file in an answer that has none of the bytes asked for: `bytes */SIZE` (RFC 9110 §14.4).
pub fn size_beside_none(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    text.strip_prefix("bytes")?.trim().strip_prefix("*/")?.parse().ok()
}

/// A strong one (RFC 9110 §8.8): an entity tag that is not weak, or a time of change a second and more before the answer's.
pub fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(tag) = text(header::ETAG) {
        return (tag.starts_with('"') && tag.ends_with('"') && tag.len() >= 2).then(|| tag.to_owned());
    }
    let changed = text(header::LAST_MODIFIED)?;
    let at = |text: &str| httpdate::parse_http_date(text).ok();
    let age = at(text(header::DATE)?)?.duration_since(at(changed)?).ok()?;
    (age >= Duration::from_secs(1)).then(|| changed.to_owned())
}

/// A header `Content-Range`: the piece, and the bytes of the whole if they are known.
pub fn span(text: &str) -> Option<(Piece, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.trim().split_once('/')?;
    let (start, last) = range.split_once('-')?;
    let piece = Piece { start: start.parse().ok()?, end: last.parse::<u64>().ok()?.checked_add(1)? };
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    (piece.start < piece.end && total.is_none_or(|all| piece.end <= all)).then_some((piece, total))
}

/// Whether an answer is the piece that was asked for, or its beginning.
///
/// # Errors
/// What it is instead.
pub fn is_piece(headers: &HeaderMap, asked: Piece) -> Result<(), String> {
    let said = headers.get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    match span(said) {
        Some((piece, _)) if piece.start == asked.start && piece.end <= asked.end => Ok(()),
        _ => Err(format!(
            "bytes {}-{} were asked for, and the server says it sends {said:?}",
            asked.start,
            asked.end - 1
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn only_strong_validators_count() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (lines, strong) in [
            (vec![("etag", "\"a\"")], Some("\"a\"")),
            (vec![("etag", "W/\"a\""), ("last-modified", "Sun, 06 Nov 1994 08:00:00 GMT"), date], None),
            (vec![("etag", "a")], None),
            (vec![("last-modified", "Sun, 06 Nov 1994 08:49:36 GMT"), date], Some("Sun, 06 Nov 1994 08:49:36 GMT")),
            (vec![("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"), date], None),
            (vec![("last-modified", "Sun, 06 Nov 1994 08:49:36 GMT")], None),
            (vec![], None),
        ] {
            assert_eq!(validator(&headers(&lines)).as_deref(), strong, "{lines:?}");
        }
    }

    #[test]
    fn pieces_are_those_asked_for() {
        let asked = Piece { start: 10, end: 20 };
        let says = |text| is_piece(&headers(&[("content-range", text)]), asked).is_ok();
        assert!(says("bytes 10-19/100") && says("bytes 10-14/*"));
        for wrong in ["bytes 9-19/100", "bytes 10-20/100", "bytes 10-19/15", "bytes */100", "items 10-19/100", ""] {
            assert!(!says(wrong), "{wrong}");
        }
        assert_eq!(span("bytes 0-0/1"), Some((Piece { start: 0, end: 1 }, Some(1))));
    }
}
