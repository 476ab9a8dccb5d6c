//! What clients say before their data: whence ([`proxied`]) and whither ([`socks5`], [`connect`]).
//!
//! What is read is judged by functions of bytes alone; [`Heard`] reads. What came behind a header is data.

pub mod connect;
pub mod proxied;
pub mod socks5;

use crate::ending::{By, Ending, Why};
use std::io;
use tokio::net::TcpStream;

/// Bytes of a header that are read at once.
const AT_ONCE: usize = 1024;

/// What some bytes are.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// The beginning of something.
    More,
    /// This, and so many bytes long.
    Done(T, usize),
    /// Nothing that is right, and why.
    Wrong(String),
}

/// Where a client wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// A name, or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// What was read of a client and is not used up.
#[derive(Debug)]
pub struct Heard<'a> {
    stream: &'a TcpStream,
    bytes: Vec<u8>,
}

impl<'a> Heard<'a> {
    /// Nothing yet.
    pub fn new(stream: &'a TcpStream) -> Heard<'a> {
        Heard { stream, bytes: Vec::new() }
    }

    /// Reads until `parse` knows what it is, which may have `most` bytes.
    ///
    /// # Errors
    /// It is nothing right, too long, or the client is gone.
    pub async fn next<T>(&mut self, most: usize, parse: impl Fn(&[u8]) -> Parsed<T>) -> Result<T, Ending> {
        loop {
            match parse(&self.bytes) {
                Parsed::Done(what, length) => {
                    self.bytes.drain(..length);
                    return Ok(what);
                }
                Parsed::Wrong(why) => return Err(Ending::with(By::Proxy, Why::HeaderWrong, why)),
                Parsed::More if self.bytes.len() >= most => {
                    let why = format!("more than {most} bytes");
                    return Err(Ending::with(By::Proxy, Why::HeaderTooLong, why));
                }
                Parsed::More => {
                    let left = most - self.bytes.len();
                    match self.read(left).await {
                        Ok(0) => return Err(Ending::with(By::Client, Why::HeaderWrong, "it ends within the header")),
                        Ok(_) => {}
                        Err(error) => return Err(Ending::with(By::Client, Why::of(&error), error)),
                    }
                }
            }
        }
    }

    async fn read(&mut self, most: usize) -> io::Result<usize> {
        loop {
            self.stream.readable().await?;
            match self.read_now(most) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Who is still silent takes no room for what it might say: that is on the stack, and no longer than this takes.
    fn read_now(&mut self, most: usize) -> io::Result<usize> {
        let mut room = [0; AT_ONCE];
        let read = self.stream.try_read(&mut room[..most.min(AT_ONCE)])?;
        self.bytes.extend_from_slice(&room[..read]);
        Ok(read)
    }

    /// What came behind.
    pub fn rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// Says `bytes` to `stream`. Whoever is gone does not hear it, which the next that is done with it tells.
pub async fn say(stream: &TcpStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        if stream.writable().await.is_err() {
            return;
        }
        match stream.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Whether this name and password are among those known. How long that takes does not tell how much of them is right.
fn known(all: &[(String, String)], name: &[u8], password: &[u8]) -> bool {
    let same = |a: &[u8], b: &[u8]| a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0;
    all.iter().fold(false, |found, (n, p)| found | (same(n.as_bytes(), name) & same(p.as_bytes(), password)))
}
