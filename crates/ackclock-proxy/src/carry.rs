//! One direction of a connection: bytes from one socket into the other, and then its end.

use crate::pipes::{FEW, Filled, Held, Pipes};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::yield_now;

/// After so many turns others have theirs.
const TURNS: u32 = 16;

/// How far a direction is.
#[derive(Debug, Default)]
pub struct Way {
    moved: AtomicU64,
    held: AtomicU64,
    ended: AtomicBool,
    finished: AtomicBool,
}

impl Way {
    /// Bytes that were passed on.
    pub fn moved(&self) -> u64 {
        self.moved.load(Relaxed)
    }

    /// Bytes that were taken and not yet passed on.
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// Whether all has come that will come.
    pub fn ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// Whether its end was passed on, too, while the other direction went on.
    pub fn finished(&self) -> bool {
        self.finished.load(Relaxed)
    }

    /// Passes its end on to `to`.
    pub fn finish(&self, to: &TcpStream) {
        // The other end may have gone already, which its own direction says.
        let _ = shutdown(to, Shutdown::Write);
        self.finished.store(true, Relaxed);
    }

    /// So many bytes were passed on.
    pub fn passed(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Relaxed);
    }
}

/// When something last went either way.
#[derive(Debug)]
pub struct Pulse {
    since: Instant,
    last_ms: AtomicU64,
}

impl Pulse {
    /// Now.
    pub fn new() -> Pulse {
        Pulse { since: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    /// It is now.
    pub fn beat(&self) {
        self.last_ms.store(self.since.elapsed().as_millis() as u64, Relaxed);
    }

    /// When it was.
    pub fn last(&self) -> Instant {
        self.since + std::time::Duration::from_millis(self.last_ms.load(Relaxed))
    }

    /// The time since this was made.
    pub fn age(&self) -> std::time::Duration {
        self.since.elapsed()
    }
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse::new()
    }
}

/// Whose connection failed.
#[derive(Debug)]
pub enum Broken {
    /// Where bytes came from.
    Source(io::Error),
    /// Where they went.
    Sink(io::Error),
}

/// Carries `first`, and then what comes, until the end, which the caller passes on.
///
/// # Errors
/// One of the two failed; what is held is given up.
pub async fn carry(
    (from, to): (&TcpStream, &TcpStream),
    first: Vec<u8>,
    way: &Way,
    pipes: &Pipes,
    pulse: &Pulse,
) -> Result<(), Broken> {
    begin(to, &first, way).await.map_err(Broken::Sink)?;
    drop(first);
    // Requests, and the beginnings of answers, are short as a rule.
    let mut few = true;
    loop {
        let ready = from.ready(Interest::READABLE).await.map_err(Broken::Source)?;
        let mut held = pipes.take().await;
        let before = way.moved();
        if burst((from, to), &mut held, few || ready.is_read_closed(), way, pulse).await? {
            return Ok(());
        }
        few = way.moved() - before < FEW as u64;
    }
}

async fn begin(to: &TcpStream, mut first: &[u8], way: &Way) -> io::Result<()> {
    while !first.is_empty() {
        to.writable().await?;
        match to.try_write(first) {
            Ok(n) => {
                way.passed(n);
                first = &first[n..];
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Carries what is there. Whether it was the last.
async fn burst(
    (from, to): (&TcpStream, &TcpStream),
    held: &mut Held<'_>,
    mut few: bool,
    way: &Way,
    pulse: &Pulse,
) -> Result<bool, Broken> {
    let (mut more, mut blocked, mut turns) = (true, false, 0);
    loop {
        if more {
            let filled = match few && held.bytes() == 0 {
                true => hand_over((from, to), held, way)?,
                false => held.fill(from).map_err(Broken::Source)?,
            };
            match filled {
                Filled::Bytes(n) => {
                    pulse.beat();
                    few = n < FEW;
                    turns += 1;
                }
                Filled::Nothing => more = false,
                Filled::End => {
                    way.ended.store(true, Relaxed);
                    more = false;
                }
                Filled::Full if blocked && held.grow() => continue,
                Filled::Full => {
                    if blocked {
                        to.writable().await.map_err(Broken::Sink)?;
                    }
                }
            }
        }
        if held.bytes() == 0 {
            if !more {
                return Ok(way.ended());
            }
            let_others(&mut turns).await;
            continue;
        }
        // Where draining fails, all of it is lost.
        way.held.store(held.bytes() as u64, Relaxed);
        let passed = held.drain(to).map_err(Broken::Sink)?;
        way.held.store(held.bytes() as u64, Relaxed);
        blocked = passed == 0;
        if blocked {
            if !more && way.ended() {
                to.writable().await.map_err(Broken::Sink)?;
            } else if !more {
                tokio::select! {
                    done = to.writable() => done.map_err(Broken::Sink)?,
                    done = from.readable() => {
                        done.map_err(Broken::Source)?;
                        more = true;
                    }
                }
            }
            continue;
        }
        way.passed(passed);
        pulse.beat();
        let_others(&mut turns).await;
    }
}

async fn let_others(turns: &mut u32) {
    if *turns >= TURNS {
        *turns = 0;
        yield_now().await;
    }
}

/// Takes few bytes and gives them on at once, if there are any: two calls that cost less than splicing them into a pipe and out of
/// it. What is not taken for now is held.
fn hand_over((from, to): (&TcpStream, &TcpStream), held: &mut Held<'_>, way: &Way) -> Result<Filled, Broken> {
    let mut room = [MaybeUninit::uninit(); FEW];
    let bytes = match from.try_io(Interest::READABLE, || Ok(recv(from, &mut room, RecvFlags::DONTWAIT)?)) {
        Ok((([], _), _)) => return Ok(Filled::End),
        Ok(((bytes, _), _)) => bytes,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Filled::Nothing),
        Err(error) => return Err(Broken::Source(error)),
    };
    let given = to.try_io(Interest::WRITABLE, || Ok(send(to, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?));
    let given = match given {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => {
            way.held.store(bytes.len() as u64, Relaxed);
            return Err(Broken::Sink(error));
        }
        Ok(given) => given,
    };
    keep_rest(bytes, given, held, way).map_err(Broken::Source)?;
    Ok(Filled::Bytes(bytes.len()))
}

/// Of `bytes` the first are given on, and the others follow.
fn keep_rest(bytes: &[u8], given: usize, held: &mut Held<'_>, way: &Way) -> io::Result<()> {
    way.passed(given);
    match &bytes[given..] {
        [] => Ok(()),
        rest => held.put(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream as Plain};

    /// A connection: the end that others have, and ours.
    fn pair() -> (Plain, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = Plain::connect(listener.local_addr().unwrap()).unwrap();
        let ours = listener.accept().unwrap().0;
        ours.set_nonblocking(true).unwrap();
        (theirs, TcpStream::from_std(ours).unwrap())
    }

    #[tokio::test]
    async fn few_bytes_that_are_not_taken_are_held_and_follow() {
        for spliced in [true, false] {
            let ((mut writes, from), (mut reads, to)) = (pair(), pair());
            let pipes = Pipes::new(spliced, 1 << 16, 1 << 20);
            let (way, mut held) = (Way::default(), pipes.take().await);
            writes.write_all(b"one").unwrap();
            from.readable().await.unwrap();
            to.writable().await.unwrap();
            assert_eq!(hand_over((&from, &to), &mut held, &way).unwrap(), Filled::Bytes(3));
            assert_eq!((held.bytes(), way.moved()), (0, 3));
            // There may be more: only who asks in vain waits for what comes.
            assert_eq!(hand_over((&from, &to), &mut held, &way).unwrap(), Filled::Nothing);
            let mut full = 0;
            while let Ok(n) = to.try_write(&[0; 65_536]) {
                full += n;
            }
            writes.write_all(b"two").unwrap();
            from.readable().await.unwrap();
            assert_eq!(hand_over((&from, &to), &mut held, &way).unwrap(), Filled::Bytes(3));
            assert_eq!((held.bytes(), way.moved()), (3, 3));
            let mut got = vec![0; 3 + full];
            reads.read_exact(&mut got).unwrap();
            while held.bytes() > 0 {
                to.writable().await.unwrap();
                held.drain(&to).unwrap();
            }
            reads.read_exact(&mut got[..3]).unwrap();
            assert_eq!(&got[..3], b"two", "spliced {spliced}");
            writes.shutdown(std::net::Shutdown::Write).unwrap();
            from.readable().await.unwrap();
            assert_eq!(hand_over((&from, &to), &mut held, &way).unwrap(), Filled::End);
        }
    }

    #[tokio::test]
    async fn of_few_bytes_the_rest_follows_what_was_taken() {
        for spliced in [true, false] {
            let (mut reads, to) = pair();
            let pipes = Pipes::new(spliced, 1 << 16, 1 << 20);
            let (way, mut held) = (Way::default(), pipes.take().await);
            keep_rest(b"abcdef", 2, &mut held, &way).unwrap();
            assert_eq!((held.bytes(), way.moved()), (4, 2));
            to.writable().await.unwrap();
            assert_eq!(held.drain(&to).unwrap(), 4, "spliced {spliced}");
            let mut got = [0; 4];
            reads.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"cdef");
        }
    }

    /// What was just taken counts, too, when the other end does not take it.
    #[tokio::test]
    async fn all_that_a_dead_end_does_not_take_is_said_to_be_held() {
        for few in [true, false] {
            let ((mut writes, from), (reads, to)) = (pair(), pair());
            drop(reads);
            to.writable().await.unwrap();
            while to.try_write(b"x").is_ok() {
                tokio::task::yield_now().await;
            }
            let pipes = Pipes::new(true, 1 << 16, 1 << 20);
            let (way, pulse, mut held) = (Way::default(), Pulse::new(), pipes.take().await);
            writes.write_all(&[1; 3000]).unwrap();
            from.readable().await.unwrap();
            to.writable().await.unwrap();
            assert!(matches!(burst((&from, &to), &mut held, few, &way, &pulse).await, Err(Broken::Sink(_))));
            assert_eq!((way.held(), way.moved()), (3000, 0), "few {few}");
        }
    }

    #[tokio::test]
    async fn few_bytes_that_a_dead_end_does_not_take_are_said_to_be_held() {
        let ((mut writes, from), (reads, to)) = (pair(), pair());
        drop(reads);
        let pipes = Pipes::new(true, 1 << 16, 1 << 20);
        let (way, mut held) = (Way::default(), pipes.take().await);
        // The first is answered with a reset.
        to.writable().await.unwrap();
        while to.try_write(b"x").is_ok() {
            tokio::task::yield_now().await;
        }
        writes.write_all(b"gone").unwrap();
        from.readable().await.unwrap();
        to.writable().await.unwrap();
        assert!(matches!(hand_over((&from, &to), &mut held, &way), Err(Broken::Sink(_))));
        assert_eq!((way.held(), way.moved()), (4, 0));
    }
}
