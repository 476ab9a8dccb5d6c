//! One connection to the server, by a proxy where the environment says so: TCP, TLS, HTTP/1.1 or HTTP/2.

use crate::address::Address;
use crate::problem::{Problem, reasons};
use crate::sys::info::{Info, info};
use crate::wanted::Wanted;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::rt::{Read, Write};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// Bytes that HTTP/2 lets the server send without being asked: the receive window of TCP has to be what limits.
const MOST_WINDOW: u32 = 64 << 20;
/// The least that a connection of HTTP/2 can have (RFC 9113 §6.9.2).
const LEAST_WINDOW: u32 = 65_535;
/// Bytes of a response's head.
const HEAD: u32 = 64 << 10;

/// The socket of a connection, which outlives it for whoever asks the kernel about it.
#[derive(Clone, Debug)]
pub struct Watched(Arc<OwnedFd>);

impl Watched {
    /// What the kernel says of it.
    pub fn info(&self) -> Option<Info> {
        info(&*self.0).ok()
    }
}

enum Sender {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

/// A connection that takes requests, one at a time. It is closed when it is dropped, whatever is under way.
pub struct Link {
    sender: Sender,
    driver: JoinHandle<()>,
    /// Its socket.
    pub socket: Watched,
    proxied: Option<Option<HeaderValue>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Link {
    /// What it speaks.
    pub fn version(&self) -> &'static str {
        match self.sender {
            Sender::One(_) => "HTTP/1.1",
            Sender::Two(_) => "HTTP/2",
        }
    }

    /// Whether it still takes requests.
    pub fn open(&self) -> bool {
        match &self.sender {
            Sender::One(sender) => !sender.is_closed(),
            Sender::Two(sender) => !sender.is_closed(),
        }
    }

    /// Asks for `address`; `request` has the headers.
    ///
    /// # Errors
    /// The connection ended before an answer.
    pub async fn ask(
        &mut self,
        address: &Address,
        mut request: Request<Empty<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        let parse = |text: &str| text.parse::<Uri>().map_err(|e| e.to_string());
        let plain_proxy = self.proxied.is_some();
        match &mut self.sender {
            Sender::Two(sender) => {
                *request.uri_mut() = parse(address.text())?;
                sender.ready().await.map_err(|e| reasons(&e))?;
                sender.send_request(request).await.map_err(|e| reasons(&e))
            }
            Sender::One(sender) => {
                let target = if plain_proxy { address.text().to_owned() } else { address.path() };
                *request.uri_mut() = parse(&target)?;
                let host = HeaderValue::from_str(&address.authority()).map_err(|e| e.to_string())?;
                request.headers_mut().entry(HOST).or_insert(host);
                if let Some(Some(login)) = &self.proxied {
                    request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
                }
                sender.ready().await.map_err(|e| reasons(&e))?;
                sender.send_request(request).await.map_err(|e| reasons(&e))
            }
        }
    }
}

/// Makes connections.
pub struct Connector {
    matcher: Matcher,
    tls: Mutex<Option<Arc<ClientConfig>>>,
    wanted: Wanted,
    /// Where the first connection went: others go to the same computer, by the same path.
    chosen: Mutex<Option<(String, u16, SocketAddr)>>,
}

impl Connector {
    /// By the environment's proxies.
    pub fn new(wanted: &Wanted) -> Connector {
        let (matcher, tls, chosen) = (Matcher::from_env(), Mutex::new(None), Mutex::new(None));
        Connector { matcher, tls, wanted: wanted.clone(), chosen }
    }

    /// How long nothing may happen.
    pub fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.wanted.timeout_s)
    }

    /// A connection for requests of `address`.
    ///
    /// # Errors
    /// There is none to be had.
    pub async fn connect(&self, address: &Address) -> Result<Link, Problem> {
        let waited = tokio::time::timeout(self.patience(), self.opened(address)).await;
        waited.unwrap_or_else(|_| {
            let seconds = self.wanted.timeout_s;
            Err(Problem::failed(format!("{}: no connection within {seconds} s", address.authority())))
        })
    }

    async fn opened(&self, address: &Address) -> Result<Link, Problem> {
        let proxy = self.matcher.intercept(&address.uri()?);
        let stream = match &proxy {
            Some(proxy) => self.to_proxy(proxy).await?,
            None => self.tcp(address.host(), address.port()).await?,
        };
        let copy = stream.as_fd().try_clone_to_owned();
        let socket = Watched(Arc::new(copy.map_err(|e| Problem::failed(format!("a descriptor more: {e}")))?));
        if !address.encrypted() {
            let proxied = proxy.map(|of| of.basic_auth().cloned());
            return spoken(TokioIo::new(stream), None, socket, proxied).await;
        }
        match proxy {
            Some(proxy) => {
                let tunnel = tunnelled(stream, address, proxy.basic_auth().cloned()).await?;
                self.encrypted(TokioIo::new(tunnel), address, socket).await
            }
            None => self.encrypted(stream, address, socket).await,
        }
    }

    async fn to_proxy(&self, proxy: &Intercept) -> Result<TcpStream, Problem> {
        let uri = proxy.uri();
        if uri.scheme_str() != Some("http") {
            let scheme = uri.scheme_str().unwrap_or("none");
            return Err(Problem::input(format!("the proxy of the environment: {scheme} is not spoken here; http is")));
        }
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        self.tcp(host, uri.port_u16().unwrap_or(80)).await
    }

    async fn encrypted<S>(&self, stream: S, address: &Address, socket: Watched) -> Result<Link, Problem>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let name = ServerName::try_from(address.host().to_owned())
            .map_err(|_| Problem::input(format!("{}: no certificate can have this name", address.host())))?;
        let stream = TlsConnector::from(self.tls()?)
            .connect(name, stream)
            .await
            .map_err(|e| Problem::failed(format!("{}: TLS: {}", address.authority(), reasons(&e))))?;
        let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        spoken(TokioIo::new(stream), two.then(|| self.window()), socket, None).await
    }

    /// The window of HTTP/2. Whatever it allows is read from the socket at once, so that with a rate that is not to be exceeded
    /// it is a second of it.
    fn window(&self) -> u32 {
        let second = self.wanted.limit_rate.map_or(MOST_WINDOW, |rate| u32::try_from(rate).unwrap_or(MOST_WINDOW));
        second.clamp(LEAST_WINDOW, MOST_WINDOW)
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, Problem> {
        let mut kept = self.tls.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(config) = &*kept {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(crate::tls::config(self.wanted.ca.as_deref(), self.wanted.insecure)?);
        *kept = Some(Arc::clone(&config));
        Ok(config)
    }

    async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, Problem> {
        let wrong = |e: &std::io::Error| Problem::failed(format!("{host}:{port}: {e}"));
        let before = self.chosen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if let Some((_, _, to)) = before.filter(|(name, number, _)| name == host && *number == port) {
            return self.dialled(to).await.map_err(|e| wrong(&e));
        }
        let found = tokio::net::lookup_host((host, port)).await.map_err(|e| wrong(&e))?;
        let mut last = Problem::failed(format!("{host}: the name has no address"));
        for to in found {
            match self.dialled(to).await {
                Ok(stream) => {
                    let chosen = (host.to_owned(), port, to);
                    *self.chosen.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(chosen);
                    return Ok(stream);
                }
                Err(error) => last = wrong(&error),
            }
        }
        Err(last)
    }

    async fn dialled(&self, to: SocketAddr) -> std::io::Result<TcpStream> {
        let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(bytes) = self.wanted.rcvbuf {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.set_nodelay(true)?;
        socket.connect(to).await
    }
}

/// HTTP on a stream: HTTP/2 if there is a window for it.
async fn spoken<S>(
    io: S,
    window: Option<u32>,
    socket: Watched,
    proxied: Option<Option<HeaderValue>>,
) -> Result<Link, Problem>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let wrong = |e: hyper::Error| Problem::failed(format!("HTTP: {}", reasons(&e)));
    if let Some(window) = window {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window).initial_connection_window_size(window).max_header_list_size(HEAD);
        let (sender, connection) = builder.handshake(io).await.map_err(wrong)?;
        let driver = tokio::spawn(async move { drop(connection.await) });
        return Ok(Link { sender: Sender::Two(sender), driver, socket, proxied });
    }
    let (sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .max_header_size(HEAD as usize)
        .handshake(io)
        .await
        .map_err(wrong)?;
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok(Link { sender: Sender::One(sender), driver, socket, proxied })
}

/// A tunnel through a proxy (RFC 9110 §9.3.6).
async fn tunnelled(
    stream: TcpStream,
    address: &Address,
    login: Option<HeaderValue>,
) -> Result<hyper::upgrade::Upgraded, Problem> {
    let wrong = |why: String| Problem::failed(format!("the proxy: {why}"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| wrong(reasons(&e)))?;
    tokio::spawn(async move { drop(connection.with_upgrades().await) });
    let host = if address.host().contains(':') { format!("[{}]", address.host()) } else { address.host().to_owned() };
    let target = format!("{host}:{}", address.port());
    let mut request = Request::builder().method(Method::CONNECT).uri(&target).header(HOST, &target);
    if let Some(login) = login {
        request = request.header(PROXY_AUTHORIZATION, login);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|e| wrong(e.to_string()))?;
    let response = sender.send_request(request).await.map_err(|e| wrong(reasons(&e)))?;
    if !response.status().is_success() {
        return Err(wrong(format!("it answers {} when asked for {target}", response.status())));
    }
    hyper::upgrade::on(response).await.map_err(|e| wrong(reasons(&e)))
}
