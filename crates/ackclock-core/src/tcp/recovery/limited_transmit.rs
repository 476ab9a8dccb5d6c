//! Limited transmit (RFC 3042): each of the first two duplicate acknowledgments lets one new segment out.

use super::super::control_block::ControlBlock;
use super::Recovery;
use crate::cc::Phase;

impl Recovery {
    /// Bytes beyond the window that duplicates let out (RFC 3042): each of the first two a segment.
    #[inline]
    pub fn room_for_duplicates(&self, tcb: &ControlBlock) -> u64 {
        if self.dup_acks == 0 {
            return 0;
        }
        self.limited_transmit_room(tcb)
    }

    #[cold]
    //= RFC 3042 §2 two-segments
    fn limited_transmit_room(&self, tcb: &ControlBlock) -> u64 {
        if self.is_selective() || !self.limited_transmit {
            return 0;
        }
        let c = &tcb.config;
        match self.phase {
            Phase::Open => {}
            Phase::Loss if c.limited_transmit_after_timeout && self.dup_acks < c.dupthresh => {}
            _ => return 0,
        }
        self.dup_acks.min(2) * u64::from(tcb.mss)
    }

    /// New data leaves on duplicates, and nothing is being repaired.
    #[inline]
    pub fn on_duplicates(&self) -> bool {
        self.phase == Phase::Open && self.dup_acks > 0
    }

    /// Without limited transmit what is outstanding counts until a loss is found, delivered or not.
    #[inline]
    pub fn transmits_limited(&self) -> bool {
        self.limited_transmit
    }

    /// `len` new bytes left on duplicates.
    pub fn sent_limited(&mut self, len: u64) {
        self.limited_sent += len;
    }
}
