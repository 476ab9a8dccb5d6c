//! The options of a TCP header: MSS (RFC 9293 §3.7.1), window scale and timestamps (RFC 7323), SACK (RFC 2018).

use crate::tcp::segment::{self, MAX_SACK_BLOCKS, SackBlock, Segment};

/// Most that a header has room for.
pub const MOST_OPTION_BYTES: usize = 40;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const STAMPS: u8 = 8;

/// What the options of one header say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment that the other end may send, bytes; SYN segments.
    pub mss: Option<u16>,
    /// By how many bits window fields are shifted, as written: above 14 means 14; SYN segments.
    pub window_scale: Option<u8>,
    /// Whether SACK is offered; SYN segments.
    pub sack_permitted: bool,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Whether the list ended at an option that says it is shorter than any or goes past the header.
    pub irregular: bool,
    /// The SACK blocks.
    pub sack: SackList,
}

/// SACK blocks, at most four; a slice of them where one is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackList {
    count: u8,
    blocks: [SackBlock; MAX_SACK_BLOCKS],
}

impl std::ops::Deref for SackList {
    type Target = [SackBlock];

    #[inline]
    fn deref(&self) -> &[SackBlock] {
        self.blocks.get(..usize::from(self.count)).unwrap_or_default()
    }
}

impl SackList {
    /// Becomes the first four of these.
    #[inline]
    fn set(&mut self, all: impl Iterator<Item = SackBlock>) {
        *self = SackList::default();
        for (slot, block) in self.blocks.iter_mut().zip(all) {
            *slot = block;
            self.count += 1;
        }
    }
}

impl FromIterator<SackBlock> for SackList {
    /// The first four.
    #[inline]
    fn from_iter<T: IntoIterator<Item = SackBlock>>(all: T) -> SackList {
        let mut list = SackList::default();
        list.set(all.into_iter());
        list
    }
}

impl Options {
    /// Reads a list. Others than those above are stepped over, as are those above with a length that they cannot have; of
    /// repeated ones the last counts. An option with a length below 2 or past the end of `bytes` ends the list.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Options {
        let mut found = Options::default();
        found.read(bytes);
        found
    }

    /// Becomes what [`Options::parse`] answers.
    #[inline]
    pub fn read(&mut self, bytes: &[u8]) {
        *self = Options::default();
        // Nearly every segment has none or these (RFC 7323 appendix A).
        let mut rest = bytes;
        if let Some(([NOP, NOP, STAMPS, 10, stamps @ ..], behind)) = bytes.split_first_chunk::<12>() {
            self.timestamps = Some(two_words(stamps));
            rest = behind;
        }
        if !rest.is_empty() {
            self.walk(rest);
        }
    }

    fn walk(&mut self, mut rest: &[u8]) {
        while let [kind, behind @ ..] = rest {
            match *kind {
                END => return,
                NOP => rest = behind,
                kind => {
                    let length = behind.first().map_or(0, |length| usize::from(*length));
                    let Some((option, others)) = (length >= 2).then(|| rest.split_at_checked(length)).flatten() else {
                        self.irregular = true;
                        return;
                    };
                    self.take(kind, &option[2..]);
                    rest = others;
                }
            }
        }
    }

    #[inline]
    fn take(&mut self, kind: u8, content: &[u8]) {
        match (kind, content) {
            (MSS, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
            (SCALE, [shift]) => self.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (STAMPS, stamps) => {
                if let Ok(stamps) = stamps.try_into() {
                    self.timestamps = Some(two_words(stamps));
                }
            }
            (SACK, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => {
                self.sack.set(blocks.chunks_exact(8).filter_map(<[u8]>::first_chunk).map(block));
            }
            _ => {}
        }
    }

    /// Those of a segment: the MSS, the scale and the offer of SACK only where SYN is set.
    #[inline]
    pub fn of(from: &Segment) -> Options {
        let syn = from.has(segment::flags::SYN);
        Options {
            mss: syn.then_some(from.mss),
            window_scale: from.window_scale().filter(|_| syn),
            sack_permitted: syn && from.sack_permitted(),
            timestamps: from.has_timestamps().then(|| (from.tsval(), from.tsecr())),
            sack: from.sack().iter().copied().filter(|_| !syn).collect(),
            irregular: false,
        }
    }

    /// Writes them to the begin of `out`, in Linux's order (MSS, SACK permitted, timestamps, NOP, scale; otherwise two NOPs
    /// before timestamps and before SACK blocks), and answers how many bytes they take, a multiple of 4. Nothing if they
    /// do not fit into a header.
    #[inline]
    pub fn write(&self, out: &mut [u8; MOST_OPTION_BYTES]) -> Option<usize> {
        let mut at = 0;
        let mut put = |bytes: &[u8]| -> Option<()> {
            out.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
            at += bytes.len();
            Some(())
        };
        if let Some(mss) = self.mss {
            let [a, b] = mss.to_be_bytes();
            put(&[MSS, 4, a, b])?;
        }
        if let Some((value, echo)) = self.timestamps {
            let [a, b] = if self.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
            let ([c, d, e, f], [g, h, i, j]) = (value.to_be_bytes(), echo.to_be_bytes());
            put(&[a, b, STAMPS, 10, c, d, e, f, g, h, i, j])?;
        } else if self.sack_permitted {
            put(&[NOP, NOP, SACK_PERMITTED, 2])?;
        }
        if let Some(shift) = self.window_scale {
            put(&[NOP, SCALE, 3, shift])?;
        }
        if self.sack.count > 0 {
            put(&[NOP, NOP, SACK, 2 + 8 * self.sack.count])?;
            for block in self.sack.iter() {
                let ([a, b, c, d], [e, f, g, h]) = (block.start.to_be_bytes(), block.end.to_be_bytes());
                put(&[a, b, c, d, e, f, g, h])?;
            }
        }
        Some(at)
    }
}

#[inline]
fn block(bytes: &[u8; 8]) -> SackBlock {
    let (start, end) = two_words(bytes);
    SackBlock { start, end }
}

#[inline]
fn two_words(bytes: &[u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}
