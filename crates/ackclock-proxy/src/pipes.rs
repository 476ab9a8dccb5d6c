//! What holds the bytes of one direction: a pipe, in the kernel (splice(2)), or memory.
//!
//! Only a direction that has bytes on their way has one. Pipes that were given back are lent again; what is lent at a time has a
//! limit, and who would go beyond it waits until one comes back.

use crate::sys::options::{at_urgent, unread};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

/// As many are kept for who comes next.
const KEPT: usize = 64;

/// A pipe may be back without anybody being told: when descriptors were what was missing.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Less than a page, which is the least that a pipe holds and writes at once (pipe(7)), are few bytes.
pub const FEW: usize = 4096;

#[derive(Debug)]
struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    size: usize,
}

/// The pipes that are there.
#[derive(Debug)]
pub struct Pipes {
    free: Mutex<Vec<Pipe>>,
    /// So many are kept at least, as far as descriptors allow.
    reserved: AtomicUsize,
    spliced: bool,
    /// Most bytes that one direction holds, and that all do.
    each: usize,
    all: usize,
    lent: AtomicUsize,
    waiting: AtomicUsize,
    back: Notify,
}

impl Pipes {
    /// None yet; `spliced` says whether they are pipes, `each` and `all` how many bytes they may hold.
    pub fn new(spliced: bool, each: usize, all: usize) -> Pipes {
        let free = Mutex::new(Vec::new());
        let [reserved, lent, waiting] = [0; 3].map(AtomicUsize::new);
        Pipes { free, reserved, spliced, each, all, lent, waiting, back: Notify::new() }
    }

    /// Room for bytes that is lent.
    pub fn lent(&self) -> usize {
        self.lent.load(Relaxed)
    }

    /// Makes `count` of them, so that there are some when descriptors have run out. The most that one can be made to hold.
    ///
    /// # Errors
    /// The system has no room for them.
    pub fn reserve(&self, count: usize) -> io::Result<usize> {
        if !self.spliced {
            return Ok(self.each);
        }
        let made: Vec<Pipe> = (0..count).map(|_| make()).collect::<io::Result<_>>()?;
        let most = made.first().map_or(0, |of| {
            let mut size = self.each;
            while size > of.size && fcntl_setpipe_size(&of.write, size).is_err() {
                size /= 2;
            }
            let most = size.max(of.size);
            let _ = fcntl_setpipe_size(&of.write, of.size);
            most
        });
        self.list().extend(made);
        self.reserved.store(count, Relaxed);
        Ok(most)
    }

    /// One is not used any more. What was given up is replaced where few are left, so that the reserve does not melt away.
    fn give_back(&self, pipe: Option<Pipe>) {
        let mut free = self.list();
        let few = free.len() < self.reserved.load(Relaxed);
        let pipe = pipe.or_else(|| if few { make().ok() } else { None });
        if free.len() < KEPT {
            free.extend(pipe);
        }
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Pipe>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that is empty, as soon as there may be one.
    pub async fn take(&self) -> Held<'_> {
        loop {
            if let Some(held) = self.at_once() {
                return held;
            }
            self.waiting.fetch_add(1, Relaxed);
            let _ = timeout(LOOK_AGAIN, self.back.notified()).await;
            self.waiting.fetch_sub(1, Relaxed);
        }
    }

    fn at_once(&self) -> Option<Held<'_>> {
        let found = if self.spliced {
            let free = self.list().pop();
            Room::Pipe(match free {
                Some(pipe) => pipe,
                None => make().ok()?,
            })
        } else {
            Room::Memory(vec![0; crate::wanted::LEAST_BUFFER], 0)
        };
        let mut held = Held { room: Some(found), bytes: 0, size: 0, base: 0, pipes: self };
        let size = held.room.as_ref().map_or(0, Room::size);
        held.base = size;
        held.claim(size).then_some(held)
    }
}

fn make() -> io::Result<Pipe> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let size = fcntl_getpipe_size(&write)?;
    Ok(Pipe { read, write, size })
}

#[derive(Debug)]
enum Room {
    Pipe(Pipe),
    /// Bytes, and where those begin that were not passed on.
    Memory(Vec<u8>, usize),
}

impl Room {
    fn size(&self) -> usize {
        match self {
            Room::Pipe(pipe) => pipe.size,
            Room::Memory(bytes, _) => bytes.len(),
        }
    }
}

/// What came of asking a socket for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// So many came.
    Bytes(usize),
    /// None are there; its readiness is gone.
    Nothing,
    /// It will have no more.
    End,
    /// There may be some, but there is no room for them.
    Full,
}

/// Room for the bytes of one direction, with those in it. Dropped, it goes back.
#[derive(Debug)]
pub struct Held<'a> {
    room: Option<Room>,
    bytes: usize,
    /// What of the limit it has claimed, and what it had when it was new.
    size: usize,
    base: usize,
    pipes: &'a Pipes,
}

impl Held<'_> {
    /// Bytes in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Claims `more` of what may be lent.
    fn claim(&mut self, more: usize) -> bool {
        let before = self.pipes.lent.fetch_add(more, Relaxed);
        if before + more > self.pipes.all {
            self.pipes.lent.fetch_sub(more, Relaxed);
            return false;
        }
        self.size += more;
        true
    }

    /// Makes more room, up to what a direction may have. Whether there is more now.
    pub fn grow(&mut self) -> bool {
        let Some(Room::Pipe(pipe)) = &self.room else { return false };
        let size = (2 * pipe.size).min(self.pipes.each);
        let more = size.saturating_sub(pipe.size);
        if more == 0 || !self.claim(more) {
            return false;
        }
        let grown = match &mut self.room {
            Some(Room::Pipe(pipe)) => match fcntl_setpipe_size(&pipe.write, size) {
                Ok(_) => {
                    pipe.size = size;
                    true
                }
                Err(_) => false,
            },
            _ => false,
        };
        if !grown {
            self.size -= more;
            self.pipes.lent.fetch_sub(more, Relaxed);
        }
        grown
    }

    /// Holds `few` bytes, where it holds none yet.
    /// # Errors
    /// It takes less, which no pipe does that is empty.
    pub fn put(&mut self, few: &[u8]) -> io::Result<()> {
        match &mut self.room {
            Some(Room::Memory(bytes, start)) => {
                *start = 0;
                bytes[..few.len()].copy_from_slice(few);
            }
            Some(Room::Pipe(pipe)) => written(few, pipe)?,
            None => {}
        }
        self.bytes = few.len();
        Ok(())
    }

    /// Takes bytes out of `from`.
    ///
    /// # Errors
    /// Its connection failed.
    pub fn fill(&mut self, from: &TcpStream) -> io::Result<Filled> {
        let held = self.bytes;
        // A pipe counts buffers, not bytes, and one that comes from a socket may be many pages: what it is made for is no limit.
        let room = self.pipes.each.saturating_sub(held);
        let found = from.try_io(Interest::READABLE, || match &mut self.room {
            Some(Room::Pipe(_)) if room == 0 => behind(from),
            Some(Room::Pipe(pipe)) => spliced(from, pipe, held, room),
            Some(Room::Memory(bytes, start)) => read(from, bytes, start, held),
            None => Ok(Filled::Full),
        });
        match found {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Filled::Nothing),
            Ok(Filled::Bytes(n)) => {
                self.bytes += n;
                Ok(Filled::Bytes(n))
            }
            other => other,
        }
    }

    /// Gives bytes to `to`. How many; 0 if it takes none for now.
    ///
    /// # Errors
    /// Its connection failed.
    pub fn drain(&mut self, to: &TcpStream) -> io::Result<usize> {
        let held = self.bytes;
        let done = to.try_io(Interest::WRITABLE, || match &mut self.room {
            Some(Room::Pipe(pipe)) => {
                Ok(splice(&pipe.read, None, to, None, held, SpliceFlags::NONBLOCK | SpliceFlags::MOVE)?)
            }
            Some(Room::Memory(bytes, start)) => {
                let n = send(to, &bytes[*start..*start + held], SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
                *start += n;
                Ok(n)
            }
            None => Ok(0),
        });
        match done {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Ok(n) => {
                self.bytes -= n;
                Ok(n)
            }
            other => other,
        }
    }
}

fn spliced(from: &TcpStream, pipe: &mut Pipe, held: usize, room: usize) -> io::Result<Filled> {
    match splice(from, None, &pipe.write, None, room, SpliceFlags::NONBLOCK | SpliceFlags::MOVE) {
        // Nothing is there, or the end, or an urgent byte: that looks like nothing, or like the end where a FIN came behind it.
        Ok(0) | Err(Errno::AGAIN) if held == 0 => read_few(from, pipe),
        Ok(0) if !at_urgent(from) => Ok(Filled::End),
        Ok(0) => Ok(Filled::Full),
        Ok(n) => Ok(Filled::Bytes(n)),
        // The kernel says the same of a pipe that is full and of a socket that is empty.
        Err(Errno::AGAIN) => behind(from),
        Err(error) => Err(error.into()),
    }
}

/// What is behind bytes that may fill their pipe to the last: with the end there, a socket is ready for ever, and splice does
/// not get to it.
fn behind(from: &TcpStream) -> io::Result<Filled> {
    if unread(from) > 0 || at_urgent(from) {
        return Ok(Filled::Full);
    }
    match recv(from, &mut [0u8; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK)? {
        (_, 0) => Ok(Filled::End),
        _ => Ok(Filled::Full),
    }
}

/// Reads, and writes into the pipe, which is empty. Urgent data is dropped by it: whoever reads, instead of splicing, gets what is
/// behind it. One call tells nothing from the end, for which splice takes a second one.
fn read_few(from: &TcpStream, pipe: &mut Pipe) -> io::Result<Filled> {
    let mut room = [MaybeUninit::uninit(); FEW];
    match recv(from, &mut room, RecvFlags::DONTWAIT)?.0.0 {
        [] => Ok(Filled::End),
        bytes => written(bytes, pipe).map(|()| Filled::Bytes(bytes.len())),
    }
}

fn written(bytes: &[u8], pipe: &Pipe) -> io::Result<()> {
    match rustix::io::write(&pipe.write, bytes) {
        Ok(n) if n == bytes.len() => Ok(()),
        said => Err(io::Error::other(format!("a pipe that is empty took {said:?} bytes of {}", bytes.len()))),
    }
}

fn read(from: &TcpStream, bytes: &mut [u8], start: &mut usize, held: usize) -> io::Result<Filled> {
    if held == 0 {
        *start = 0;
    }
    let room = &mut bytes[*start + held..];
    if room.is_empty() {
        return Ok(Filled::Full);
    }
    match recv(from, room, RecvFlags::DONTWAIT)? {
        (_, 0) => Ok(Filled::End),
        (_, n) => Ok(Filled::Bytes(n)),
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.pipes.lent.fetch_sub(self.size, Relaxed);
        // What has bytes in it is nobody else's, and what has grown is not for who needs little.
        if let Some(Room::Pipe(pipe)) = self.room.take() {
            self.pipes.give_back((self.bytes == 0 && self.size == self.base).then_some(pipe));
        }
        if self.pipes.waiting.load(Relaxed) > 0 {
            self.pipes.back.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
