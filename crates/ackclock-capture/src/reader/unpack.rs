//! Compressed files: gzip, known by its magic (RFC 1952), several members in a row as one.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Chain, Cursor, Read};

/// Compressed bytes that are read at a time.
const CHUNK: usize = 1 << 17;

type Begun<R> = Chain<Cursor<Vec<u8>>, R>;

/// The bytes of a file, unpacked if it is compressed.
pub enum Stream<R> {
    /// As they are.
    Plain(Begun<R>),
    /// Unpacked.
    Gzip(Box<MultiGzDecoder<BufReader<Begun<R>>>>),
}

impl<R: Read> Stream<R> {
    /// Looks at the first two bytes.
    pub fn new(mut from: R) -> io::Result<Stream<R>> {
        let mut begin = Vec::with_capacity(2);
        from.by_ref().take(2).read_to_end(&mut begin)?;
        let packed = begin == [0x1f, 0x8b];
        let begun = Cursor::new(begin).chain(from);
        Ok(match packed {
            true => Stream::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, begun)))),
            false => Stream::Plain(begun),
        })
    }
}

impl<R: Read> Read for Stream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(from) => from.read(out),
            Stream::Gzip(from) => from.read(out),
        }
    }
}
