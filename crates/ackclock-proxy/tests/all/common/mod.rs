//! A proxy to test, as a program of its own on this computer's loopback, and servers to go to.
#![allow(dead_code, clippy::unwrap_used)] // no test needs all of it, and each of them may fail

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy computer.
pub const LONG: Duration = Duration::from_secs(40);

/// Pipes that the proxy makes before anybody is there, and that it keeps at most.
const RESERVED: usize = 8;
const KEPT: usize = 64;

/// How many descriptors of each kind a process has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptors {
    pub sockets: usize,
    pub pipes: usize,
    pub others: usize,
}

impl Descriptors {
    pub fn all(self) -> usize {
        self.sockets + self.pipes + self.others
    }

    /// Not one more or less than `before`, but for pipes that are kept for who comes next.
    fn are_back_at(self, before: Descriptors) -> bool {
        (self.sockets, self.others) == (before.sockets, before.others)
            && self.pipes <= before.pipes + 2 * (KEPT - RESERVED)
    }
}

pub struct Proxy {
    child: Child,
    pub address: SocketAddr,
    pub metrics: Option<SocketAddr>,
    lines: Arc<Mutex<Vec<Value>>>,
    said: Arc<Mutex<Vec<String>>>,
}

/// A document: to `target`, changed by `changes`.
pub fn to(target: SocketAddr, changes: Value) -> Value {
    asked(json!({"to": target.to_string()}), changes)
}

pub fn asked(mode: Value, changes: Value) -> Value {
    let mut document = json!({"listen": "127.0.0.1:0", "mode": mode, "metrics": "127.0.0.1:0", "user": "root",
                              "buffer": 1 << 20});
    for (key, value) in changes.as_object().unwrap() {
        document[key] = value.clone();
    }
    document
}

pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ackclock-proxy"))
}

impl Proxy {
    pub fn start(document: Value) -> Proxy {
        Proxy::started_by(program(), document)
    }

    pub fn started_by(mut command: Command, document: Value) -> Proxy {
        let child = command.args(["run", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
        let (lines, said) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (out, to) = (child.stdout.take().unwrap(), Arc::clone(&lines));
        spawn(move || {
            for line in BufReader::new(out).lines() {
                to.lock().unwrap().push(serde_json::from_str(&line.unwrap()).unwrap());
            }
        });
        let (err, to) = (child.stderr.take().unwrap(), Arc::clone(&said));
        spawn(move || {
            for line in BufReader::new(err).lines() {
                to.lock().unwrap().push(line.unwrap());
            }
        });
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut proxy = Proxy { child, address: nowhere, metrics: None, lines, said };
        let line = eventually("it listens", || {
            let said = proxy.said();
            if let Ok(Some(status)) = proxy.child.try_wait() {
                panic!("{status}: {said:?}");
            }
            said.into_iter().find_map(|line| Some(line.split_once("listens at ")?.1.to_owned()))
        });
        let mut places = line.split("; metrics at ").map(|at| at.parse().unwrap());
        proxy.address = places.next().unwrap();
        proxy.metrics = places.next();
        proxy
    }

    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32).unwrap()
    }

    pub fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    pub fn descriptors(&self) -> Descriptors {
        let mut found = Descriptors::default();
        for entry in fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap() {
            // What is closed in the meantime is none.
            let Ok(to) = entry.and_then(|entry| fs::read_link(entry.path())) else { continue };
            let to = to.to_string_lossy();
            let of = match to.split_once(":[") {
                Some(("socket", _)) => &mut found.sockets,
                Some(("pipe", _)) => &mut found.pipes,
                _ => &mut found.others,
            };
            *of += 1;
        }
        found
    }

    /// It comes to have so many sockets: each that is one too many belongs to nobody.
    pub fn has_sockets(&self, count: usize) {
        self.comes_to(&format!("{count} sockets"), |now| now.sockets == count);
    }

    fn comes_to(&self, what: &str, so: impl Fn(Descriptors) -> bool) {
        let begin = Instant::now();
        loop {
            let now = self.descriptors();
            if so(now) {
                return;
            }
            assert!(begin.elapsed() < LONG, "not after {LONG:?}: {what}; it has {now:?}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Bytes of memory that are the process's own.
    pub fn memory(&self) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    }

    /// The value of a metric.
    pub fn metric(&self, name: &str) -> f64 {
        let mut stream = connect(self.metrics.unwrap());
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let found =
            page.lines().find_map(|line| line.strip_prefix("ackclock_proxy_")?.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{name}: {page}")).parse().unwrap()
    }

    /// The lines about connections that have ended, once there are `count`.
    pub fn ended(&self, count: usize) -> Vec<Value> {
        eventually(&format!("{count} connections have ended"), || {
            let all = self.events("connection");
            (all.len() >= count).then_some(all)
        })
    }

    pub fn events(&self, event: &str) -> Vec<Value> {
        self.lines.lock().unwrap().iter().filter(|line| line["event"] == event).cloned().collect()
    }

    /// Everything is as before anybody was there: no connection, no room in use, not one socket more, and of other descriptors
    /// none but the pipes that are kept.
    pub fn is_at_rest(&self, before: Descriptors) {
        eventually("nothing is open", || (self.metric("connections_open") == 0.0).then_some(()));
        eventually("no room is in use", || (self.metric("buffer_bytes") == 0.0).then_some(()));
        self.comes_to(&format!("descriptors as before, {before:?}"), |now| now.are_back_at(before));
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end; the exit code.
    pub fn wait(&mut self) -> i32 {
        let status = eventually("it has ended", || self.child.try_wait().unwrap());
        status.code().unwrap_or_else(|| panic!("{status}: {:?}", self.said()))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// What `of` says, as soon as it says something.
pub fn eventually<T>(what: &str, mut of: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = of() {
            return found;
        }
        assert!(begin.elapsed() < LONG, "not after {LONG:?}: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// A server that does this with every connection.
pub fn server(with: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let with = Arc::new(with);
    spawn(move || {
        for stream in listener.incoming() {
            let (stream, with) = (stream.unwrap(), Arc::clone(&with));
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.set_write_timeout(Some(LONG)).unwrap();
            spawn(move || with(stream));
        }
    });
    address
}

/// A server that sends back what it gets, and ends when its client does.
pub fn echo() -> SocketAddr {
    server(|mut stream| {
        let mut bytes = [0; 65_536];
        while let Ok(n) = stream.read(&mut bytes) {
            if n == 0 || stream.write_all(&bytes[..n]).is_err() {
                return;
            }
        }
    })
}

/// A server whose connections are handed over, unread.
pub fn handed() -> (SocketAddr, std::sync::mpsc::Receiver<TcpStream>) {
    let (to, from) = std::sync::mpsc::channel();
    let address = server(move |stream| to.send(stream).unwrap_or(()));
    (address, from)
}

/// Bytes of which no two places look alike.
pub fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut all = Vec::with_capacity(count + 8);
    while all.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend(state.to_le_bytes());
    }
    all.truncate(count);
    all
}

/// Reads to the end.
pub fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

/// Closing it resets the connection.
pub fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// The connection is reset, whatever was still to be read.
pub fn assert_reset(stream: &mut TcpStream) {
    let mut all = Vec::new();
    let error = stream.read_to_end(&mut all).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
}

/// An address that answers nobody: its queue is full.
pub struct Hole {
    pub address: SocketAddr,
    _listener: TcpListener,
    _full: Vec<std::io::Result<TcpStream>>,
}

pub fn hole() -> Hole {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let full = (0..4).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(300))).collect();
    Hole { address, _listener: listener, _full: full }
}
