//! SACK blocks as they arrive (RFC 2018 §3): in the order of the stream, and each once.

use super::scoreboard::{Delivery, Scoreboard};
use super::segment::{MAX_SACK_BLOCKS, SackBlock, Segment, unwrap_seq};

/// The SACK blocks of the last acknowledgment. A receiver repeats them; what they report is known.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct SackBlocks {
    count: u8,
    blocks: [SackBlock; MAX_SACK_BLOCKS],
}

impl SackBlocks {
    /// Nothing is known of what they reported.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Takes the blocks of `seg`, which acknowledges `ack` and counts from `iss`, into the scoreboard: in the order of
    /// the stream, because what one of them reports is not reordered by the next.
    #[inline(never)]
    pub fn take(&mut self, seg: &Segment, iss: u32, ack: u64, board: &mut Scoreboard, d: &mut Delivery) {
        let mut ranges = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        for block in seg.sack() {
            if self.blocks[..usize::from(self.count)].contains(block) {
                continue;
            }
            let range = (unwrap_seq(block.start, iss, ack), unwrap_seq(block.end, iss, ack));
            if range.1 <= ack {
                continue;
            }
            let mut i = count;
            while i > 0 && ranges[i - 1] > range {
                ranges[i] = ranges[i - 1];
                i -= 1;
            }
            ranges[i] = range;
            count += 1;
        }
        let blocks = seg.sack();
        self.count = blocks.len() as u8;
        self.blocks[..blocks.len()].copy_from_slice(blocks);
        for &(start, end) in &ranges[..count] {
            board.sack(start, end, d);
        }
    }
}
