//! First bytes that go to the server with the SYN (TCP fast open, RFC 7413).
//!
//! The kernel sends no SYN before it has such bytes. So only a connection that has some asks for it: a server that speaks first
//! is connected to at once, as ever.

use crate::sys::info::unanswered;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What a SYN has room for at most is a segment less its options.
const MOST: usize = 1400;

/// The data of a client that speaks first come right behind the end of its handshake.
const RIGHT_BEHIND: Duration = Duration::from_millis(5);

/// What `client` has sent by now, or sends at once.
pub async fn first_bytes(client: &TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; MOST];
    let read = async {
        loop {
            // An end, or a failure, is met again by who carries.
            client.readable().await.ok()?;
            match client.try_read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done.ok(),
            }
        }
    };
    let count = timeout(RIGHT_BEHIND, read).await.ok().flatten().unwrap_or(0);
    bytes.truncate(count);
    bytes.shrink_to_fit();
    bytes
}

/// Sends the beginning of `first` with the SYN if the kernel waits for it, which knows the server from an earlier connection.
/// How many bytes went, once the server has answered.
///
/// # Errors
/// The server cannot be connected to.
pub async fn sent(server: &TcpStream, first: &[u8]) -> io::Result<usize> {
    if !unanswered(server) {
        return Ok(0);
    }
    let sent = match server.try_write(first) {
        Err(error) if error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::EINPROGRESS) => 0,
        done => done?,
    };
    let answered = || if unanswered(server) { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) };
    while server.try_io(Interest::WRITABLE, answered).is_err() {
        server.writable().await?;
    }
    server.take_error()?.map_or(Ok(sent), Err)
}
