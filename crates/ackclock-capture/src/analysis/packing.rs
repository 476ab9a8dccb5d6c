//! Numbers as a string of bytes, each in as many as it needs: what connections without packets for a while are kept as.
//!
//! A [`Coder`] either writes what it is shown or puts back what was written. So one list of fields, `code` of each part of a
//! connection, says both, and cannot differ from itself. The bytes: number and latest time of the connection, how many bytes and
//! numbers follow, these without their leading zeros, and four bits for each, how many bytes it has.

use super::moment::Moment;

/// Writes numbers, or reads them back in the same order.
pub trait Coder {
    /// Whether it puts back what was written.
    const READS: bool;

    /// A number, which is mostly small.
    fn word(&mut self, value: &mut u64);

    /// Some of these.
    #[inline]
    fn words<const N: usize>(&mut self, values: [&mut u64; N]) {
        values.into_iter().for_each(|value| self.word(value));
    }

    /// So many numbers, which are mostly near each other.
    fn array(&mut self, values: &mut Vec<u32>);

    /// A number that is mostly near `base`.
    #[inline]
    fn near(&mut self, value: &mut u64, base: u64) {
        let mut off = folded(value.wrapping_sub(base) as i64);
        self.word(&mut off);
        *value = base.wrapping_add(unfolded(off) as u64);
    }

    /// A time, which is mostly near `base`.
    #[inline]
    fn time(&mut self, value: &mut i64, base: i64) {
        let mut off = folded(value.wrapping_sub(base));
        self.word(&mut off);
        *value = base.wrapping_add(unfolded(off));
    }

    /// A time that may not have come.
    #[inline]
    fn moment(&mut self, value: &mut Moment, base: i64) {
        let mut off = value.get().map_or(0, |at| folded(at.wrapping_sub(base)).wrapping_add(1));
        self.word(&mut off);
        *value = match off {
            0 => Moment::NEVER,
            off => Moment::at(base.wrapping_add(unfolded(off.wrapping_sub(1)))),
        };
    }

    /// The same of one that has a flag of its own.
    #[inline]
    fn maybe_time(&mut self, value: &mut Option<i64>, base: i64) {
        if self.is_there(value) {
            self.time(value.get_or_insert(base), base);
        }
    }

    /// A number that may not be known, which is mostly near `base`.
    #[inline]
    fn maybe_near(&mut self, value: &mut Option<u64>, base: u64) {
        if self.is_there(value) {
            self.near(value.get_or_insert(base), base);
        }
    }

    /// Whether there is a value; one that was not there is none.
    #[inline]
    fn is_there<T>(&mut self, value: &mut Option<T>) -> bool {
        let mut there = u64::from(value.is_some());
        self.word(&mut there);
        if there == 0 {
            *value = None;
        }
        there != 0
    }

    /// A number of 32 bits.
    #[inline]
    fn int(&mut self, value: &mut u32) {
        let mut word = u64::from(*value);
        self.word(&mut word);
        *value = word as u32;
    }

    /// A number of 32 bits that is mostly near `base`, around which it goes.
    #[inline]
    fn int_near(&mut self, value: &mut u32, base: u32) {
        let mut off = folded(i64::from(value.wrapping_sub(base) as i32));
        self.word(&mut off);
        *value = base.wrapping_add(unfolded(off) as u32);
    }

    /// A small number that may not be known.
    #[inline]
    fn maybe<T: Copy + Into<u64> + TryFrom<u64>>(&mut self, value: &mut Option<T>) {
        let mut word = value.map_or(0, |known| known.into() + 1);
        self.word(&mut word);
        *value = word.checked_sub(1).and_then(|known| T::try_from(known).ok());
    }

    /// Up to 64 of these.
    #[inline]
    fn flags<const N: usize>(&mut self, values: [&mut bool; N]) {
        let mut word = (0..).zip(&values).fold(0, |word, (bit, value)| word | u64::from(**value) << bit);
        self.word(&mut word);
        (0..).zip(values).for_each(|(bit, value)| *value = word >> bit & 1 != 0);
    }

    /// Flags, numbers of few bits, and a number behind these, all in one.
    #[inline]
    fn small<const N: usize, const M: usize>(
        &mut self,
        flags: [&mut bool; N],
        bits: [(&mut u8, u32); M],
        rest: &mut u32,
    ) {
        let mut word = u64::from(*rest);
        for (value, bits) in &bits {
            word = word << bits | u64::from(**value);
        }
        word = flags.iter().fold(word, |word, flag| word << 1 | u64::from(**flag));
        self.word(&mut word);
        for flag in flags.into_iter().rev() {
            *flag = word & 1 != 0;
            word >>= 1;
        }
        for (value, bits) in bits.into_iter().rev() {
            *value = (word & !(u64::MAX << bits)) as u8;
            word >>= bits;
        }
        *rest = word as u32;
    }

    /// One of a few.
    #[inline]
    fn choice<T: Copy + PartialEq, const N: usize>(&mut self, value: &mut T, all: [T; N]) {
        let mut word = all.iter().position(|one| one == value).unwrap_or(0) as u64;
        self.word(&mut word);
        *value = all.get(word as usize).copied().unwrap_or(*value);
    }

    /// A sum.
    #[inline]
    fn float(&mut self, value: &mut f64) {
        let mut word = value.to_bits().swap_bytes();
        self.word(&mut word);
        *value = f64::from_bits(word.swap_bytes());
    }
}

/// Small numbers of either sign as small numbers.
#[inline]
fn folded(off: i64) -> u64 {
    (off << 1 ^ off >> 63) as u64
}

#[inline]
fn unfolded(off: u64) -> i64 {
    (off >> 1) as i64 ^ -((off & 1) as i64)
}

/// Most bytes of numbers, a power of two: a connection with more is not made smaller.
const MOST_BYTES: usize = 2048;
/// Most numbers, likewise.
const MOST_WORDS: usize = 1024;
/// Number and latest time of the connection, how many bytes and numbers follow.
const HEADER: usize = 20;
/// Bytes are kept in multiples of this, so that they often fit where they were before.
const STEP: usize = 16;

/// Numbers, each in eight bytes of which the next one takes what it does not need; and how many it needs.
///
/// Positions are taken within the room whatever they are, which costs less than to ask: what was too much is seen at the end.
#[derive(Debug)]
struct Room {
    data: [u8; MOST_BYTES + 8],
    lengths: [u8; MOST_WORDS],
}

impl Room {
    fn new() -> Box<Room> {
        Box::new(Room { data: [0; MOST_BYTES + 8], lengths: [0; MOST_WORDS] })
    }
}

/// Writes. It is used again and again.
#[derive(Debug)]
pub struct Writer {
    room: Box<Room>,
    at: usize,
    count: usize,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { room: Room::new(), at: 0, count: 0 }
    }
}

impl Writer {
    /// Forgets what was written.
    pub fn begin(&mut self) {
        (self.at, self.count) = (0, 0);
    }

    /// What was written since, behind number and latest time of the connection; in the room `before` if it fits that. None: it
    /// was too much.
    pub fn finish(&mut self, number: u64, last: i64, before: Box<[u8]>) -> Option<Box<[u8]>> {
        let (all, count) = (self.at, self.count);
        if all > MOST_BYTES || count >= MOST_WORDS {
            return None;
        }
        self.room.lengths[count] = 0;
        let lengths = &self.room.lengths[..count + count % 2];
        let needed = HEADER + all + lengths.len() / 2;
        let size = needed.next_multiple_of(STEP);
        let mut bytes = if before.len() == size { before } else { vec![0; size].into_boxed_slice() };
        let (header, rest) = bytes.split_at_mut(HEADER);
        header[..8].copy_from_slice(&number.to_le_bytes());
        header[8..16].copy_from_slice(&last.to_le_bytes());
        header[16..18].copy_from_slice(&(all as u16).to_le_bytes());
        header[18..].copy_from_slice(&(count as u16).to_le_bytes());
        let (data, halves) = rest.split_at_mut(all);
        data.copy_from_slice(&self.room.data[..all]);
        for (place, pair) in halves.iter_mut().zip(lengths.chunks_exact(2)) {
            *place = pair[0] | pair[1] << 4;
        }
        Some(bytes)
    }

    #[inline]
    fn put(&mut self, word: u64, bytes: usize) {
        let at = self.at & (MOST_BYTES - 1);
        self.room.data[at..at + 8].copy_from_slice(&word.to_le_bytes());
        self.at += bytes;
    }
}

impl Coder for Writer {
    const READS: bool = false;

    #[inline]
    fn word(&mut self, value: &mut u64) {
        let bytes = (71 - value.leading_zeros() as usize) / 8;
        self.put(*value, bytes);
        self.room.lengths[self.count & (MOST_WORDS - 1)] = bytes as u8;
        self.count += 1;
    }

    fn array(&mut self, values: &mut Vec<u32>) {
        let least = values.iter().copied().min().unwrap_or(0);
        let spread = values.iter().copied().max().unwrap_or(0) - least;
        let bytes = (39 - spread.leading_zeros() as usize) / 8;
        self.word(&mut (values.len() as u64));
        self.word(&mut (u64::from(least) << 3 | bytes as u64));
        if self.at + values.len() * bytes > MOST_BYTES {
            self.at = MOST_BYTES + 1;
            return;
        }
        values.iter().for_each(|value| self.put(u64::from(value - least), bytes));
    }
}

/// Number of the connection that `bytes` are of.
#[inline]
pub fn number(bytes: &[u8]) -> u64 {
    eight(bytes, 0)
}

/// Latest time of the connection that `bytes` are of.
#[inline]
pub fn last(bytes: &[u8]) -> i64 {
    eight(bytes, 8) as i64
}

#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Reads what a [`Writer`] wrote. It is used again and again.
#[derive(Debug)]
pub struct Reader {
    room: Box<Room>,
    at: usize,
    count: usize,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { room: Room::new(), at: 0, count: 0 }
    }
}

/// The low bytes of a word.
const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut n = 0;
    while n < 8 {
        masks[n] = !(u64::MAX << (8 * n));
        n += 1;
    }
    masks
};

impl Reader {
    /// From the begin of these.
    pub fn begin(&mut self, bytes: &[u8]) {
        (self.at, self.count) = (0, 0);
        let two = |at: usize| bytes.get(at..at + 2).map_or(0, |two| usize::from(two[0]) | usize::from(two[1]) << 8);
        let (all, count) = (two(16), two(18));
        let data = bytes.get(HEADER..HEADER + all).unwrap_or_default();
        let halves = bytes.get(HEADER + all..HEADER + all + count.div_ceil(2)).unwrap_or_default();
        self.room.data[..data.len()].copy_from_slice(data);
        for (pair, both) in self.room.lengths.chunks_exact_mut(2).zip(halves) {
            (pair[0], pair[1]) = (both & 15, both >> 4);
        }
    }

    #[inline]
    fn get(&mut self, bytes: usize) -> u64 {
        let at = self.at & (MOST_BYTES - 1);
        self.at += bytes;
        eight(&self.room.data, at) & MASKS[bytes & 15]
    }
}

impl Coder for Reader {
    const READS: bool = true;

    #[inline]
    fn word(&mut self, value: &mut u64) {
        let bytes = self.room.lengths[self.count & (MOST_WORDS - 1)];
        self.count += 1;
        *value = self.get(usize::from(bytes));
    }

    fn array(&mut self, values: &mut Vec<u32>) {
        let (mut count, mut word) = (0, 0);
        self.word(&mut count);
        self.word(&mut word);
        let (least, bytes) = ((word >> 3) as u32, (word & 7) as usize);
        values.extend((0..count).map(|_| least + self.get(bytes) as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded<C: Coder>(c: &mut C, words: &mut [u64], times: &mut [i64], list: &mut Vec<u32>, odd: &mut Option<u16>) {
        words.iter_mut().for_each(|word| c.word(word));
        times.iter_mut().for_each(|time| c.time(time, 1 << 60));
        c.array(list);
        c.maybe(odd);
    }

    #[test]
    fn what_was_written_is_read() {
        let mut writer = Writer::default();
        let mut words: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([0, u64::MAX]).collect();
        let mut times = [0, 1 << 60, i64::MAX, i64::MIN, (1 << 60) - 1];
        for (mut list, mut odd) in [(vec![], None), (vec![7; 3], Some(0)), (vec![0, u32::MAX, 12], Some(u16::MAX))] {
            writer.begin();
            coded(&mut writer, &mut words, &mut times, &mut list, &mut odd);
            let bytes = writer.finish(5, -6, Box::default()).unwrap();
            assert_eq!((number(&bytes), last(&bytes), bytes.len() % STEP), (5, -6, 0));
            let (mut again, mut then, mut found, mut other) = (vec![9; words.len()], [1; 5], Vec::new(), Some(3));
            let mut reader = Reader::default();
            reader.begin(&bytes);
            coded(&mut reader, &mut again, &mut then, &mut found, &mut other);
            assert_eq!((again, then, found, other), (words.clone(), times, list, odd));
        }
    }

    #[test]
    fn what_is_too_much_is_not_written() {
        let mut writer = Writer::default();
        (0..MOST_WORDS).for_each(|_| writer.word(&mut 0));
        assert!(writer.finish(0, 0, Box::default()).is_none());
        writer.begin();
        writer.array(&mut (0..3000).collect());
        assert!(writer.finish(0, 0, Box::default()).is_none());
        writer.begin();
        writer.word(&mut 3);
        assert!(writer.finish(0, 0, Box::default()).is_some());
    }
}
