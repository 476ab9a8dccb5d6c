//! The two coders: one writes into bytes, the other reads these.

use super::Coder;

/// Most bytes of numbers, a power of two: a connection with more is not made smaller.
const MOST_BYTES: usize = 2048;
/// Most numbers, likewise.
const MOST_WORDS: usize = 1024;
/// Number of the connection, how many numbers and bytes follow; latest time.
const HEADER: usize = 16;
/// Bits of how many bytes, and how many numbers; the others of the first eight bytes are those of the connection's number.
const BITS: [u32; 2] = [12, 10];
const NUMBER_AT: u32 = BITS[0] + BITS[1];
const _: () = assert!(MOST_BYTES >> BITS[0] == 0 && MOST_WORDS >> BITS[1] <= 1);
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
        if all > MOST_BYTES || count >= MOST_WORDS || number >> (64 - NUMBER_AT) != 0 {
            return None;
        }
        self.room.lengths[count] = 0;
        let lengths = &self.room.lengths[..count + count % 2];
        let needed = HEADER + all + lengths.len() / 2;
        let size = needed.next_multiple_of(STEP);
        let mut bytes = if before.len() == size { before } else { vec![0; size].into_boxed_slice() };
        let (header, rest) = bytes.split_at_mut(HEADER);
        let first = number << NUMBER_AT | (count as u64) << BITS[0] | all as u64;
        header[..8].copy_from_slice(&first.to_le_bytes());
        header[8..].copy_from_slice(&last.to_le_bytes());
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

    fn sorted(&mut self, values: &mut Vec<u32>) {
        let (least, most) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let steps = values.len().saturating_sub(1);
        let kept = rice(most - least, steps);
        self.word(&mut (values.len() as u64));
        self.word(&mut (u64::from(least) << 5 | u64::from(kept)));
        let (mut waiting, mut bits) = (0u64, 0);
        let mut push = |value: u64, size: u32| {
            waiting |= value << bits;
            bits += size;
            if bits >= 32 {
                self.put(waiting, 4);
                (waiting, bits) = (waiting >> 32, bits - 32);
            }
        };
        for pair in values.windows(2) {
            let step = u64::from(pair[1] - pair[0]);
            let mut zeros = (step >> kept) as u32;
            while zeros >= 31 {
                push(0, 31);
                zeros -= 31;
            }
            push(1 << zeros, zeros + 1);
            push(step & !(u64::MAX << kept), kept);
        }
        self.put(waiting, bits.div_ceil(8) as usize);
    }
}

/// Bits of each step that stand as they are, as many as the mean of `spread` over `steps` has; what is above stands as so many
/// zeros before a one (Rice, Plaunt, *Adaptive Variable-Length Coding for Efficient Compression of Spacecraft Television Data*,
/// 1971). The zeros of all steps together are fewer than two for each.
fn rice(spread: u32, steps: usize) -> u32 {
    (u64::from(spread) / steps.max(1) as u64).max(1).ilog2()
}

/// Number of the connection that `bytes` are of.
#[inline]
pub fn number(bytes: &[u8]) -> u64 {
    eight(bytes, 0) >> NUMBER_AT
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
        let first = eight(bytes, 0) as usize;
        let (all, count) = (first & !(usize::MAX << BITS[0]), first >> BITS[0] & (MOST_WORDS - 1));
        let data = bytes.get(HEADER..HEADER + all).unwrap_or_default();
        let halves = bytes.get(HEADER + all..HEADER + all + count.div_ceil(2)).unwrap_or_default();
        self.room.data[..data.len()].copy_from_slice(data);
        for (pair, both) in self.room.lengths.chunks_exact_mut(2).zip(halves) {
            (pair[0], pair[1]) = (both & 15, both >> 4);
        }
    }

    /// 57 bits or more, of which the first is the one of this number.
    #[inline]
    fn bits_at(&self, bit: usize) -> u64 {
        eight(&self.room.data, (bit / 8) & (MOST_BYTES - 1)) >> (bit % 8)
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

    fn sorted(&mut self, values: &mut Vec<u32>) {
        let (mut count, mut word) = (0, 0);
        self.word(&mut count);
        self.word(&mut word);
        let (mut value, kept) = ((word >> 5) as u32, (word & 31) as usize);
        values.extend((count > 0).then_some(value));
        let mut bit = 8 * self.at;
        for _ in 1..count {
            let mut zeros = 0;
            loop {
                let run = self.bits_at(bit).trailing_zeros().min(57) as usize;
                (zeros, bit) = (zeros + run as u32, bit + run);
                // Nothing that was written ends without a one.
                if run < 57 || bit > 8 * MOST_BYTES {
                    break;
                }
            }
            bit += 1;
            let low = self.bits_at(bit) & !(u64::MAX << kept);
            bit += kept;
            value = value.wrapping_add(zeros << kept | low as u32);
            values.push(value);
        }
        self.at = bit.div_ceil(8);
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
    fn sorted_numbers_come_back_in_little_more_bits_than_their_steps_have() {
        let mut writer = Writer::default();
        let mut reader = Reader::default();
        let spaced = |by: u32, n: u32| (0..n).map(|i| 1_000_000 + i * by).collect::<Vec<_>>();
        let far = vec![0, 1, 1, 2, 5, u32::MAX - 1, u32::MAX];
        for mut list in [vec![], vec![7], vec![7; 40], spaced(9_765, 32), spaced(3, 256), vec![0, u32::MAX], far] {
            writer.begin();
            writer.sorted(&mut list);
            writer.word(&mut 0xABCD);
            let bytes = writer.finish(1, 2, Box::default()).unwrap();
            let most = list.last().map_or(0, |last| last - list[0]);
            let each = 3 + rice(most, list.len().saturating_sub(1)) as usize;
            assert!(bytes.len() <= HEADER + 16 + STEP + (list.len() * each).div_ceil(8), "{} {list:?}", bytes.len());
            let (mut found, mut then) = (Vec::new(), 0);
            reader.begin(&bytes);
            reader.sorted(&mut found);
            reader.word(&mut then);
            assert_eq!((found, then), (list, 0xABCD));
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
