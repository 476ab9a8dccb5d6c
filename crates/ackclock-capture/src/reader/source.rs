//! Bytes of a file in order, in a buffer that grows with what was read, never with what a length in the file says.

use std::io::{self, Read};

const CHUNK: usize = 1 << 18;

/// A stream and what was read of it ahead.
pub struct Source<R> {
    from: R,
    bytes: Vec<u8>,
    at: usize,
    filled: usize,
}

impl<R: Read> Source<R> {
    /// Of which nothing is read.
    pub fn new(from: R) -> Source<R> {
        Source { from, bytes: vec![0; CHUNK], at: 0, filled: 0 }
    }

    /// Makes the next `n` bytes available, as far as there are so many; answers how many are.
    #[inline]
    pub fn fill(&mut self, n: usize) -> io::Result<usize> {
        while self.filled - self.at < n {
            if self.at > 0 {
                self.bytes.copy_within(self.at..self.filled, 0);
                (self.at, self.filled) = (0, self.filled - self.at);
            }
            if self.filled == self.bytes.len() {
                self.bytes.resize(self.bytes.len() + CHUNK, 0);
            }
            match self.from.read(&mut self.bytes[self.filled..]) {
                Ok(0) => break,
                Ok(more) => self.filled += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok((self.filled - self.at).min(n))
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
}
