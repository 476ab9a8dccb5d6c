//! What is counted, and its page in the text format of Prometheus.

use crate::ending::Why;
use crate::pipes::Pipes;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Longest request that is read, and how long that may take.
const REQUEST: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(5);

/// What is counted.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections of clients that were accepted.
    pub accepted: AtomicU64,
    /// Those that are there.
    pub open: AtomicU64,
    /// Bytes to servers that were passed on.
    pub to_server: AtomicU64,
    /// Bytes to clients that were passed on.
    pub to_client: AtomicU64,
    /// Bytes that a sender thinks delivered, of connections that were reset.
    pub undelivered: AtomicU64,
    /// Times that no more were accepted for want of descriptors or room.
    pub pauses: AtomicU64,
    ended: [AtomicU64; Why::ALL.len()],
}

impl Counts {
    /// One more has ended so.
    pub fn ended(&self, why: Why) {
        self.ended[why as usize].fetch_add(1, Relaxed);
    }

    /// As many have ended so.
    pub fn of(&self, why: Why) -> u64 {
        self.ended[why as usize].load(Relaxed)
    }

    /// The page.
    pub fn page(&self, pipes: &Pipes, dropped_lines: u64) -> String {
        let mut page = String::new();
        let numbers = [
            ("connections_accepted_total", "counter", "Connections of clients that were accepted.", &self.accepted),
            ("connections_open", "gauge", "Connections of clients that are there.", &self.open),
            ("to_server_bytes_total", "counter", "Bytes passed on to servers.", &self.to_server),
            ("to_client_bytes_total", "counter", "Bytes passed on to clients.", &self.to_client),
            (
                "undelivered_bytes_total",
                "counter",
                "Bytes acknowledged to who sent them and lost on the way, of connections that did not finish.",
                &self.undelivered,
            ),
            ("accept_pauses_total", "counter", "Times that no more were accepted for a while.", &self.pauses),
        ];
        for (name, kind, help, value) in numbers {
            number(&mut page, name, kind, help, value.load(Relaxed));
        }
        number(&mut page, "buffer_bytes", "gauge", "Room for bytes that is in use.", pipes.lent() as u64);
        number(&mut page, "lines_dropped_total", "counter", "Lines that nobody took in time.", dropped_lines);
        head(&mut page, "connections_ended_total", "counter", "Connections that ended, and why.");
        for why in Why::ALL {
            let _ =
                writeln!(page, "ackclock_proxy_connections_ended_total{{why=\"{}\"}} {}", why.word(), self.of(*why));
        }
        page
    }
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP ackclock_proxy_{name} {help}\n# TYPE ackclock_proxy_{name} {kind}");
}

fn number(page: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(page, name, kind, help);
    let _ = writeln!(page, "ackclock_proxy_{name} {value}");
}

/// Answers who asks for the page, for ever.
pub async fn serve(
    listener: TcpListener,
    may: impl Fn(std::net::IpAddr) -> bool,
    page: Arc<dyn Fn() -> String + Send + Sync>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) if may(peer.ip()) => {
                let page = Arc::clone(&page);
                tokio::spawn(async move {
                    // Who does not ask is not answered.
                    let _ = timeout(PATIENCE, answer(stream, &*page)).await;
                });
            }
            Ok(_) => {}
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, page: &(dyn Fn() -> String + Send + Sync)) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|of| of == b"\r\n\r\n") {
        if request.len() >= REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ") {
        ("200 OK", page())
    } else {
        ("404 Not Found", "the page is /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
