//! The whole proxy: what its connections share, who is accepted, and its end.

use crate::clients::Clients;
use crate::connection::serve;
use crate::ending::{By, Why, without_descriptors};
use crate::journal::Journal;
use crate::metrics::{self, Counts};
use crate::pipes::Pipes;
use crate::sys::info::{Info, info};
use crate::sys::memory::give_back;
use crate::sys::options::reset_when_closed;
use crate::wanted::{Wanted, seconds};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Between two lines about the same trouble, and before the next try where descriptors are missing.
const SAID_AGAIN: Duration = Duration::from_secs(1);
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// A deadline that is earlier than those of most connections: one that is the earliest of all costs tokio's timer a system call to
/// say so, and there would be one with each connection.
const EARLIER: Duration = Duration::from_secs(1);

/// So many connections at a time have taken memory that is worth being given back.
const MANY: u64 = 64;

/// Lines of some fifty connections: they are worth no waiting.
const FEW_LINES: usize = 64 << 10;

/// How long connections that were told to end may take to do it.
const LAST: Duration = Duration::from_secs(2);

/// What connections share.
#[derive(Debug)]
pub struct Proxy {
    /// What is asked for.
    pub wanted: Wanted,
    /// The server's addresses, where there is one server.
    pub fixed: Vec<SocketAddr>,
    /// What is counted.
    pub counts: Counts,
    /// What holds bytes.
    pub pipes: Pipes,
    /// Where lines go.
    pub journal: Journal,
    clients: Arc<Clients>,
    stop: watch::Sender<bool>,
    numbers: AtomicU64,
    /// Most connections that were there at a time since memory was given back.
    most: AtomicU64,
    /// Whether some were still there when it was.
    some_left: AtomicBool,
    /// Whether it was said that a client's, or a server's, connection begins with another window than is asked for.
    said: [AtomicBool; 2],
}

/// Sockets that were bound before rights were given up.
#[derive(Debug)]
pub struct Doors {
    /// For clients.
    pub clients: TcpListener,
    /// For who reads metrics.
    pub metrics: Option<TcpListener>,
}

impl Proxy {
    /// One that nobody is connected to.
    pub fn new(wanted: Wanted, fixed: Vec<SocketAddr>, pipes: Pipes, journal: Journal) -> Proxy {
        let known = !wanted.credentials.is_empty();
        let clients = Arc::new(Clients::new(wanted.allow.clone(), known, wanted.per_client));
        let (counts, numbers, most) = (Counts::default(), AtomicU64::new(0), AtomicU64::new(0));
        let (stop, some_left, said) = (watch::Sender::new(false), AtomicBool::new(false), Default::default());
        Proxy { wanted, fixed, counts, pipes, journal, clients, stop, numbers, most, some_left, said }
    }

    /// What becomes true when connections are to end.
    pub fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// The number of the next connection.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }

    /// What the kernel says of the connection of `side` to `peer` that is new, if anybody wants to know; and says once if its
    /// window is not what is asked for.
    pub fn begins(&self, side: By, stream: &TcpStream, peer: SocketAddr) -> Option<Info> {
        let (leg, name, said) = match side {
            By::Client => (&self.wanted.client, "client", &self.said[0]),
            _ => (&self.wanted.server, "server", &self.said[1]),
        };
        if !self.wanted.lines && leg.initcwnd.is_none() {
            return None;
        }
        let found = info(stream).ok()?;
        if let Some(asked) = leg.initcwnd.filter(|asked| *asked != found.snd_cwnd && !said.swap(true, Relaxed)) {
            eprintln!(
                "ackclock proxy: {name} initcwnd: a connection to {} begins with {} segments, not {asked}: its route has no other; ip route change ... initcwnd {asked}",
                peer.ip(),
                found.snd_cwnd
            );
        }
        Some(found)
    }

    /// Serves until a signal says that it is enough, and then until connections are done.
    ///
    /// # Errors
    /// The system does not let it hear signals.
    pub async fn run(self: &Arc<Proxy>, doors: Doors) -> io::Result<()> {
        let mut ends = Ends { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? };
        if let Some(listener) = doors.metrics {
            let (of, clients) = (Arc::clone(self), Arc::clone(&self.clients));
            let page = Arc::new(move || of.counts.page(&of.pipes, of.journal.dropped()));
            tokio::spawn(metrics::serve(listener, move |address| clients.may(address), page));
        }
        let of = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                sleep(EARLIER).await;
                of.give_back();
            }
        });
        let slots = Arc::new(Semaphore::new(self.wanted.connections));
        tokio::select! {
            () = self.accept(&doors.clients, &slots) => {}
            () = ends.next() => {}
        }
        drop(doors.clients);
        let whole = self.wanted.connections as u32;
        let open = self.counts.open.load(Relaxed);
        if open > 0 {
            eprintln!("ackclock proxy: no more are accepted; {open} connections have {} s", self.wanted.drain_s);
            tokio::select! {
                _ = timeout(seconds(self.wanted.drain_s), slots.acquire_many(whole)) => {}
                () = ends.next() => {}
            }
        }
        let cut = self.counts.open.load(Relaxed);
        self.stop.send_replace(true);
        let _ = timeout(LAST, slots.acquire_many(whole)).await;
        self.report(cut);
        Ok(())
    }

    /// What many connections have needed goes back to the system when half of them are gone, and their lines too; what the last of
    /// them have when nobody is there any more, however few they were.
    fn give_back(&self) {
        let (open, most) = (self.counts.open.load(Relaxed), self.most.load(Relaxed));
        let last = open == 0 && most > 0 && self.some_left.load(Relaxed);
        if (most >= MANY || last) && open <= most / 2 && self.journal.held() <= FEW_LINES {
            give_back();
            self.most.store(open, Relaxed);
            self.some_left.store(open > 0, Relaxed);
        }
    }

    fn report(&self, cut: u64) {
        let counts = &self.counts;
        let ended: serde_json::Map<String, serde_json::Value> = Why::ALL
            .iter()
            .filter(|why| counts.of(**why) > 0)
            .map(|why| (why.word().to_owned(), counts.of(*why).into()))
            .collect();
        let (accepted, up, down) =
            (counts.accepted.load(Relaxed), counts.to_server.load(Relaxed), counts.to_client.load(Relaxed));
        if self.wanted.lines {
            let line = serde_json::json!({
                "event": "end", "connections": accepted, "ended": ended, "cut": cut, "to_server_bytes": up,
                "to_client_bytes": down, "undelivered_bytes": counts.undelivered.load(Relaxed),
                "lines_dropped": self.journal.dropped(),
            });
            self.journal.json(&line);
        }
        eprintln!(
            "ackclock proxy: {accepted} connections, {up} bytes to servers, {down} to clients; {cut} were cut off at the end"
        );
    }

    /// Accepts for ever. Whoever has no room waits in the queue of the socket.
    async fn accept(self: &Arc<Proxy>, listener: &TcpListener, slots: &Arc<Semaphore>) {
        let mut pause = Pause::default();
        loop {
            let permit = match Arc::clone(slots).try_acquire_owned() {
                Ok(permit) => permit,
                Err(_) => {
                    pause.began(&self.counts, &format!("{} connections are there", self.wanted.connections));
                    match Arc::clone(slots).acquire_owned().await {
                        Ok(permit) => permit,
                        Err(_) => return,
                    }
                }
            };
            match listener.accept().await {
                Ok((client, peer)) => {
                    pause.over();
                    self.welcome(client, peer, permit);
                }
                Err(error) if without_descriptors(&error) => {
                    pause.began(&self.counts, &error.to_string());
                    sleep(TRY_AGAIN).await;
                }
                // The client went before it was accepted, or the network says something of another connection (accept(2)).
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    fn welcome(self: &Arc<Proxy>, client: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit) {
        self.counts.accepted.fetch_add(1, Relaxed);
        let place = if self.clients.may(peer.ip()) {
            self.clients.place(peer.ip()).ok_or(Why::TooMany)
        } else {
            Err(Why::NotAllowed)
        };
        let place = match place {
            Ok(place) => place,
            Err(why) => {
                self.counts.ended(why);
                reset_when_closed(&client);
                return;
            }
        };
        let counted = Counted::new(Arc::clone(self));
        let proxy = Arc::clone(self);
        tokio::spawn(async move {
            // What is spawned is copied several times: only this is large.
            Box::pin(serve(proxy, client, peer, place)).await;
            drop((counted, permit));
        });
    }
}

/// One of the connections that are open. Dropped, it is not any more, however its task ended.
struct Counted(Arc<Proxy>);

impl Counted {
    fn new(proxy: Arc<Proxy>) -> Counted {
        let open = proxy.counts.open.fetch_add(1, Relaxed) + 1;
        proxy.most.fetch_max(open, Relaxed);
        Counted(proxy)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.counts.open.fetch_sub(1, Relaxed);
    }
}

#[derive(Debug)]
struct Ends {
    term: Signal,
    int: Signal,
}

impl Ends {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

/// A time without anybody being accepted, and when that was last said.
#[derive(Debug, Default)]
struct Pause {
    lasts: bool,
    said: Option<Instant>,
}

impl Pause {
    fn began(&mut self, counts: &Counts, why: &str) {
        if !self.lasts {
            counts.pauses.fetch_add(1, Relaxed);
        }
        self.lasts = true;
        if self.said.is_none_or(|said| said.elapsed() >= SAID_AGAIN) {
            self.said = Some(Instant::now());
            eprintln!("ackclock proxy: nobody is accepted for now: {why}");
        }
    }

    fn over(&mut self) {
        self.lasts = false;
    }
}
