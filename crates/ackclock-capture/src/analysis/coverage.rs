//! What an acknowledgment covers for the first time: cumulatively, and by SACK blocks.

use super::direction::Direction;
use super::pieces::{Kind, NEVER, Piece};
use super::segment::{Segment, unwrapped};
use ackclock_core::tcp::segment::SackBlock;

/// Sending times of the segments that one acknowledgment covers newly, of those that were sent once, and what else it
/// tells.
#[derive(Debug, Default)]
pub struct Covered {
    /// Of those acknowledged cumulatively: oldest and latest.
    cumulative: Option<(i64, i64)>,
    /// Of those in SACK blocks.
    sacked: Option<(i64, i64)>,
    /// Whether one that was repeated is acknowledged cumulatively.
    pub repeated: bool,
    /// The timestamp that it echoes, and when the first of the repeated ones passed that had it.
    pub echo: Option<u32>,
    /// See `echo`.
    pub echoed: Option<i64>,
    /// When the latest of the repeated ones passed last.
    repeated_sent: Option<i64>,
    /// Bytes that SACK blocks cover for the first time.
    pub fresh: u64,
    /// Where they are, first and end of each stretch, if somebody wants to know.
    pub stretches: Option<Vec<(u64, u64)>>,
    /// The block that reports a duplicate.
    pub dsack: Option<(u64, u64)>,
}

fn widen(range: &mut Option<(i64, i64)>, at: i64) {
    *range = Some(range.map_or((at, at), |(oldest, latest)| (oldest.min(at), latest.max(at))));
}

impl Covered {
    /// Of what `s` acknowledges, of which nothing is known yet.
    #[inline]
    pub fn of(s: &Segment, stretches: bool) -> Covered {
        let echo = s.options.timestamps.map(|(_, echo)| echo);
        Covered { echo, stretches: stretches.then(Vec::new), ..Covered::default() }
    }

    /// A SACK block covers the bytes from `from` to `to` for the first time.
    fn freshly(&mut self, from: u64, to: u64) {
        self.fresh += to - from;
        if let Some(stretches) = &mut self.stretches {
            match stretches.last_mut().filter(|last| last.1 == from) {
                Some(last) => last.1 = to,
                None => stretches.push((from, to)),
            }
        }
    }

    /// When the latest of all of them passed that must have arrived: of a repeated segment the first copy may have, so that
    /// it counts from `least` ns after it was sent on.
    #[inline]
    pub fn latest(&self, now: i64, least: i64) -> Option<i64> {
        let once = [self.cumulative, self.sacked].into_iter().flatten().map(|range| range.1);
        once.chain(self.repeated_sent.filter(|at| now - at >= least)).max()
    }

    /// Whether one of those sent once was sent before `time`.
    #[inline]
    pub fn sent_once_before(&self, time: i64) -> bool {
        [self.cumulative, self.sacked].into_iter().flatten().any(|range| range.0 < time)
    }

    /// When the segment was sent that the sample is of: the latest.
    #[inline]
    pub fn sent(&self) -> Option<i64> {
        let cumulative = self.cumulative.filter(|_| !self.repeated);
        cumulative.map(|r| r.1).max(self.sacked.map(|r| r.1))
    }

    /// When that was sent which senders take: the oldest.
    pub fn oldest(&self) -> Option<i64> {
        let cumulative = self.cumulative.filter(|_| !self.repeated);
        cumulative.or(self.sacked).map(|r| r.0)
    }

    /// The FIN of a direction is `acknowledged`, or reported by a SACK block: one that passed alone is a segment like others.
    pub fn take_fin_of(&mut self, of: &Direction, acknowledged: bool, selectively: bool) {
        let Some((sent, once)) = of.ending.bare.filter(|_| acknowledged && (selectively || !of.ending.sacked)) else {
            return;
        };
        if once {
            widen(if selectively { &mut self.sacked } else { &mut self.cumulative }, sent);
        } else {
            self.repeated |= !selectively;
        }
    }
}

impl Direction {
    /// Everything below `ack` is acknowledged. Retransmissions that it covers go to `repairs`.
    #[inline]
    pub fn cover(&mut self, ack: u64, covered: &mut Covered, repairs: &mut Vec<u32>) {
        let mut missed = 0;
        self.pieces.acknowledge(ack, |piece, bytes| {
            match piece.kind {
                Kind::Hole => missed += bytes,
                Kind::Seen if piece.sends > 1 => {
                    covered.repeated = true;
                    if covered.echo == Some(piece.tsval) {
                        covered.echoed = covered.echoed.or(Some(piece.sent));
                    }
                    covered.repeated_sent = covered.repeated_sent.max(Some(piece.sent).filter(|_| !piece.sacked));
                }
                Kind::Seen if !piece.sacked => widen(&mut covered.cumulative, piece.sent),
                _ => {}
            }
            if piece.rtx != NEVER && !piece.sacked {
                repairs.push(piece.rtx);
            }
        });
        if missed > 0 {
            self.counts.missed_bytes += missed;
        }
        if !self.loss.sacked.is_empty() {
            self.loss.sacked.forget_below(ack);
        }
    }

    /// The SACK blocks of `s`, which acknowledges up to `ack`.
    pub fn cover_blocks(&mut self, s: &Segment, ack: u64, covered: &mut Covered, repairs: &mut Vec<u32>) {
        let blocks: &[SackBlock] = &s.options.sack;
        let wide = |i: usize| {
            let block = blocks.get(i)?;
            Some((unwrapped(block.start, self.max), unwrapped(block.end, self.max)))
        };
        let (first, second) = (wide(0), wide(1));
        let dsack = first.filter(|b| b.0 < b.1).filter(|b| {
            // RFC 2883 §4: below the acknowledgment, or inside the second block.
            b.0 < ack || second.is_some_and(|around| around.0 <= b.0 && b.1 <= around.1)
        });
        self.blocks |= !blocks.is_empty();
        covered.dsack = dsack;
        let una = self.pieces.una();
        for block in blocks.iter().skip(usize::from(dsack.is_some())) {
            let start = unwrapped(block.start, self.max).max(una);
            let end = unwrapped(block.end, self.max);
            if !self.ending.sacked && self.ending.fin.is_some_and(|fin| start <= fin && fin < end) {
                // FIN has a number of its own, above all data.
                self.ending.sacked = true;
                covered.freshly(end - 1, end);
                covered.take_fin_of(self, true, true);
            }
            let end = end.min(self.max);
            if start >= end {
                continue;
            }
            let (pieces, mut whole) = (&mut self.pieces, true);
            let regular = self.loss.sacked.add(start, end, |from, to| {
                covered.freshly(from, to);
                let cut = pieces.change(from, to, |_, piece: &mut Piece| {
                    if piece.sacked {
                        return;
                    }
                    if piece.kind == Kind::Seen && piece.sends == 1 {
                        widen(&mut covered.sacked, piece.sent);
                    } else if piece.kind == Kind::Seen {
                        covered.repeated_sent = covered.repeated_sent.max(Some(piece.sent));
                    }
                    if piece.rtx != NEVER {
                        repairs.push(piece.rtx);
                    }
                    piece.sacked = true;
                });
                whole &= cut;
            });
            if !(regular && whole) {
                self.counts.irregular = true;
            }
        }
    }
}
