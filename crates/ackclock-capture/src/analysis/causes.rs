//! Why a segment was sent again, as far as acknowledgments and times before it tell; and rounds of a sender that the
//! network limits.

use super::connection::{Connection, Context};
use super::limits::{Limit, Path};
use super::repairs::{Cause, Open};
use super::segment::Segment;
use super::sink::{Happening, Sink};

const MS: i64 = 1_000_000;

impl Connection {
    /// The cause of a retransmission of `start..end` of direction `d`.
    pub(super) fn cause(&mut self, s: &Segment, d: usize, start: u64, end: u64) -> Cause {
        let round = self.round(d);
        let silence = s.time - self.directions[d].stirred.max(self.first);
        let silent = silence.saturating_mul(4) > round * 5 + 8 * MS;
        let sack = self.sack();
        let x = &mut self.directions[d];
        let una = x.pieces.una();
        let first = start == una;
        if x.episode.open == Open::Rto && start < x.episode.end {
            return if silent && first { Cause::Rto } else { Cause::RtoRecovery };
        }
        let undisturbed =
            x.sacked.is_empty() && !x.fin_sacked && x.dups == 0 && x.episode.open == Open::No && !x.repaired;
        if silent && sack && end == x.max && undisturbed {
            let more = if first { 250 * MS } else { 50 * MS };
            if silence <= 3 * round + more {
                x.counts.ambiguous += u64::from(first);
                return Cause::Tlp;
            }
        }
        if silent && (first || x.episode.open == Open::No) {
            return Cause::Rto;
        }
        let loss =
            x.sacked.end() > end || x.fin_sacked || x.dups >= 3 || x.episode.open == Open::Fast || x.dups > 0 && first;
        if loss || x.sent_before(start, x.arrived) {
            Cause::Fast
        } else {
            Cause::Unknown
        }
    }

    /// New data of direction `d`, sent as `limit` allowed: the pipe of this round, and whether it stays the same.
    pub(super) fn in_network<S: Sink>(
        &mut self,
        s: &Segment,
        d: usize,
        limit: Limit,
        path: &Path,
        cx: &mut Context<S>,
    ) {
        let x = &mut self.directions[d];
        let pipe = x.pipe();
        if limit != Limit::Network {
            x.rounds.level = None;
            return;
        }
        x.rounds.largest = x.rounds.largest.max(pipe);
        let near = 2 * u64::from(path.mss);
        match x.rounds.level {
            Some((since, level)) if level.abs_diff(pipe) <= near => {
                if !x.rounds.told && s.time - since >= 10 * path.round {
                    x.rounds.told = true;
                    self.tell(cx, s, d, Happening::Plateau, self.directions[d].max, pipe);
                }
            }
            _ => (x.rounds.level, x.rounds.told) = (Some((s.time, pipe)), false),
        }
    }
}
