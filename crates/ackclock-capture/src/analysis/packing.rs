//! Numbers as a string of bytes, each in as many as it needs: what connections without packets for a while are kept as.
//!
//! A [`Coder`] either writes what it is shown or puts back what was written. So one list of fields, `code` of each part of a
//! connection, says both, and cannot differ from itself. The bytes: number and latest time of the connection, how many bytes and
//! numbers follow, these without their leading zeros, and four bits for each, how many bytes it has.

mod bytes;

use super::moment::Moment;
pub use bytes::{Reader, Writer, last, number};

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

    /// So many numbers, the least first.
    fn sorted(&mut self, values: &mut Vec<u32>);

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
