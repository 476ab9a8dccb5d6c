//! The scoreboard recomputed from scratch: what tests and fuzzers hold the incremental counters against.

use super::{EVER, FORGOTTEN, LOST, RETRANS, SACKED, Scoreboard};
use crate::time::Time;

/// What the sender knows of one outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its first position and one past its last.
    pub span: (u64, u64),
    /// Time of the last transmission.
    pub xmit: Time,
    /// Selectively acknowledged.
    pub sacked: bool,
    /// Declared lost and not delivered since.
    pub lost: bool,
    /// A retransmission of it is believed to be in the network.
    pub retransmitting: bool,
    /// It was sent more than once.
    pub ever_retransmitted: bool,
}

impl Scoreboard {
    /// The outstanding segment that contains `pos`.
    pub fn known(&self, pos: u64) -> Option<Known> {
        if pos < self.una || pos >= self.nxt {
            return None;
        }
        let r = self.records.get(self.find(pos));
        Some(Known {
            span: (r.seq, r.end()),
            xmit: r.xmit,
            sacked: r.is(SACKED),
            lost: r.is(LOST),
            retransmitting: r.is(RETRANS),
            ever_retransmitted: r.is(EVER),
        })
    }

    /// Recomputes every counter from the records and checks the order of everything. Takes time in proportion to the
    /// window.
    ///
    /// # Errors
    /// What does not agree.
    pub fn audit(&self) -> Result<(), String> {
        let (mut sacked, mut lost, mut retrans, mut pending) = (0, 0, 0, 0);
        let mut padding = 0_u64;
        let mut at = self.una;
        let mut delivered: Vec<(u64, u64)> = Vec::new();
        for n in self.records.head()..self.records.tail() {
            let r = self.records.get(n);
            if r.seq != at || r.len == 0 {
                return Err(format!("record {n} covers {}..{} where {at} is next", r.seq, r.end()));
            }
            at = r.end();
            let len = self.count(r.len);
            padding = padding.wrapping_add(len).wrapping_sub(u64::from(r.len));
            if r.is(SACKED) {
                if r.is(LOST) || r.is(RETRANS) {
                    return Err(format!("record {n} is delivered and lost or under way at once"));
                }
                sacked += len;
                match delivered.last_mut() {
                    Some(last) if last.1 == r.seq => last.1 = at,
                    _ => delivered.push((r.seq, at)),
                }
            }
            lost += if r.is(LOST) { len } else { 0 };
            retrans += if r.is(RETRANS) { len } else { 0 };
            if r.flags & (LOST | RETRANS) == LOST {
                pending += len;
                if n < self.hint || n >= self.lost_tail {
                    return Err(format!(
                        "record {n} waits for retransmission outside {}..{}",
                        self.hint, self.lost_tail
                    ));
                }
            }
            if r.flags & !FORGOTTEN == 0 && n < self.rack_from {
                return Err(format!("record {n} in its first transmission was passed over by {}", self.rack_from));
            }
        }
        if at != self.nxt {
            return Err(format!("the records end at {at}, SND.NXT is {}", self.nxt));
        }
        let counters = (self.sacked, self.lost, self.retrans, self.pending);
        if (sacked, lost, retrans, pending) != counters {
            return Err(format!(
                "SACKed, lost, resent, pending {counters:?} != {:?}",
                (sacked, lost, retrans, pending)
            ));
        }
        if padding != self.padding {
            return Err(format!("padding {} != {padding}", self.padding));
        }
        if self.pipe() != (self.nxt - self.una).wrapping_add(padding) - sacked - lost + retrans {
            return Err(format!("pipe {}", self.pipe()));
        }
        let ranges: Vec<(u64, u64)> = (0..self.ranges.len()).filter_map(|i| self.ranges.get(i)).collect();
        if ranges != delivered {
            return Err(format!("SACKed ranges {ranges:?} are not the SACKed records {delivered:?}"));
        }
        Ok(())
    }
}
