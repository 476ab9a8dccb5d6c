//! Bytes of a file in order, in a buffer that grows with what was read, never with what a length in the file says.

use std::io::{self, Read};

const CHUNK: usize = 1 << 18;

/// A stream and what was read of it ahead.
pub struct Source<R> {
    from: R,
    bytes: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes before the buffer.
    before: u64,
    /// How many more may be read.
    left: u64,
}

impl<R: Read> Source<R> {
    /// Of which nothing is read, and no more than `most` bytes will be.
    pub fn new(from: R, most: Option<u64>) -> Source<R> {
        let left = most.unwrap_or(u64::MAX);
        Source { from, bytes: vec![0; CHUNK], at: 0, filled: 0, before: 0, left }
    }

    /// Makes the next `n` bytes available, as far as there are so many; answers how many are.
    #[inline]
    pub fn fill(&mut self, n: usize) -> io::Result<usize> {
        if self.filled - self.at < n {
            self.read(n)?;
        }
        Ok((self.filled - self.at).min(n))
    }

    #[cold]
    fn read(&mut self, n: usize) -> io::Result<()> {
        self.before += self.at as u64;
        self.bytes.copy_within(self.at..self.filled, 0);
        (self.at, self.filled) = (0, self.filled - self.at);
        while self.filled < n {
            if self.filled == self.bytes.len() {
                self.bytes.resize(self.bytes.len() + CHUNK, 0);
            }
            let room = (self.bytes.len() - self.filled).min(usize::try_from(self.left).unwrap_or(usize::MAX));
            match self.from.read(&mut self.bytes[self.filled..self.filled + room]) {
                Ok(0) => break,
                Ok(more) => {
                    self.filled += more;
                    self.left -= more as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// What is available.
    #[inline]
    pub fn ahead(&self) -> &[u8] {
        &self.bytes[self.at..self.filled]
    }

    /// Goes on by `n` bytes that are available.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        self.at = (self.at + n).min(self.filled);
    }

    /// The last `n` bytes that were gone over.
    #[inline]
    pub fn behind(&self, n: usize) -> &[u8] {
        &self.bytes[self.at.saturating_sub(n)..self.at]
    }

    /// Bytes that were gone over.
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Whether as much was read as may be.
    pub fn spent(&self) -> bool {
        self.left == 0
    }
}
