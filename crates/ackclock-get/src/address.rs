//! Where a URL leads, and where a server may send a download.

use crate::problem::Problem;
use hyper::Uri;
use url::Url;

/// Redirects that are followed.
pub const REDIRECTS: usize = 10;

/// A URL that can be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    url: Url,
}

impl Address {
    /// From what a user wrote.
    ///
    /// # Errors
    /// It is none of HTTP.
    pub fn parse(text: &str) -> Result<Address, Problem> {
        let url = Url::parse(text)
            .map_err(|e| Problem::input(format!("{text:?} is no URL ({e}); write http(s)://HOST/PATH")))?;
        Address::of(url).map_err(|why| Problem::input(format!("{text:?}: {why}")))
    }

    fn of(mut url: Url) -> Result<Address, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{} is neither http nor https", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("names and passwords do not belong into a URL; give --header 'Authorization: ...'".to_owned());
        }
        if url.host_str().is_none() {
            return Err("it names no host".to_owned());
        }
        url.set_fragment(None);
        Ok(Address { url })
    }

    /// Where `location` leads from here.
    ///
    /// # Errors
    /// It must not be followed.
    pub fn redirected(&self, location: &str) -> Result<Address, Problem> {
        let wrong = |why: String| Problem::failed(format!("the server sends it to {location:?}: {why}"));
        let url = self.url.join(location).map_err(|e| wrong(e.to_string()))?;
        if self.encrypted() && url.scheme() == "http" {
            return Err(wrong("from https to http, which is not followed".to_owned()));
        }
        Address::of(url).map_err(wrong)
    }

    /// Whether it is https.
    pub fn encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The host, without the brackets of an address of IPv6.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// Host, and port where it is not the scheme's, as in a header `Host`.
    pub fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether both have scheme, host and port in common: what is secret goes to nobody else.
    pub fn same_origin(&self, other: &Address) -> bool {
        self.url.origin() == other.url.origin()
    }

    /// Path and query, as in a request.
    pub fn path(&self) -> String {
        let path = self.url.path();
        self.url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
    }

    /// The last part of the path, with its escapes.
    pub fn last(&self) -> &str {
        self.url.path().rsplit('/').next().unwrap_or_default()
    }

    /// The whole, as it was understood.
    pub fn text(&self) -> &str {
        self.url.as_str()
    }

    /// The same as the HTTP library has it.
    ///
    /// # Errors
    /// It is none for that library.
    pub fn uri(&self) -> Result<Uri, Problem> {
        self.url.as_str().parse().map_err(|e| Problem::input(format!("{}: {e}", self.url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_http_is_an_address() {
        let address = Address::parse("http://a.example:8080/x/y%20z?q=1#part").unwrap();
        assert_eq!(
            (address.host(), address.port(), address.authority()),
            ("a.example", 8080, "a.example:8080".to_owned())
        );
        assert_eq!((address.path(), address.last()), ("/x/y%20z?q=1".to_owned(), "y%20z"));
        assert_eq!(Address::parse("https://[2001:db8::1]/").unwrap().host(), "2001:db8::1");
        for bad in
            ["file:///etc/passwd", "ftp://a.example/b", concat!("http://", "u:p@a.example/b"), "nothing", "http://"]
        {
            assert_eq!(Address::parse(bad).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn redirects_never_lead_from_https_to_http() {
        let https = Address::parse("https://a.example/x/y").unwrap();
        assert!(https.redirected("http://a.example/z").unwrap_err().text.contains("from https to http"));
        assert_eq!(https.redirected("../z").unwrap().text(), "https://a.example/z");
        assert!(https.redirected("file:///etc/passwd").is_err());
        let http = Address::parse("http://a.example/x").unwrap();
        assert_eq!(http.redirected("https://b.example/").unwrap().text(), "https://b.example/");
        assert_eq!(http.redirected("//b.example/").unwrap().text(), "http://b.example/");
    }

    #[test]
    fn the_same_origin_is_scheme_host_and_port() {
        let at = |text| Address::parse(text).unwrap();
        assert!(at("http://a.example/x").same_origin(&at("http://a.example:80/y")));
        for other in ["https://a.example/x", "http://a.example:81/x", "http://b.example/x"] {
            assert!(!at("http://a.example/x").same_origin(&at(other)), "{other}");
        }
    }
}
