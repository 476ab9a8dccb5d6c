//! Why a segment was sent again, as far as acknowledgments and times before it tell; and rounds of a sender that the
//! network limits.

use super::connection::{Connection, Context};
use super::limits::{Limit, Path};
use super::moment::Moment;
use super::repairs::{Cause, Open};
use super::segment::Segment;
use super::sink::{Happening, Sink};

const MS: i64 = 1_000_000;
/// What comes so soon after something is an answer to it.
const AT_ONCE: i64 = MS / 10;
/// Linux's timer for reordering has two ticks more than it asks for, and is late by up to one; of a clock of 250 Hz.
const REORDERING_SLACK: i64 = 10 * MS;

impl Connection {
    /// The cause of a retransmission of `start..end` of direction `d`.
    pub(super) fn cause(&mut self, s: &Segment, d: usize, start: u64, end: u64) -> Cause {
        let round = self.round(d);
        let silence = s.time - self.directions[d].stirred.max(self.first);
        let silent = silence.saturating_mul(4) > round * 5 + 8 * MS;
        let sack = self.sack();
        // At the sender what acknowledgments let out follows them: at once, by pacing, or as RFC 8985 waits for late ones.
        let at_sender = self.path(d).at_sender;
        let x = &self.directions[d];
        let waits = if sack && x.counts.dsacks > 0 { round } else { round / 4 } + REORDERING_SLACK;
        let clocked = at_sender && s.time.saturating_sub(x.answered) <= AT_ONCE;
        let timed = !clocked && (silent || at_sender && silence > waits);
        let x = &mut self.directions[d];
        let una = x.pieces.una();
        let first = start == una;
        let (sent, repaired) = x.passed_last(start);
        let overdue = at_sender && !clocked && x.loss.overtaken.is_some_and(|at| s.time.saturating_sub(at) > waits);
        if x.loss.episode.open == Open::Rto && start < x.loss.episode.end {
            let once_more = repaired && sent >= x.loss.episode.timed_out;
            return match first
                && (silent && !clocked || once_more && (timed || overdue || sent > x.sending.arrived && !clocked))
            {
                true => Cause::Rto,
                // What was sent again after the timeout was lost again (RFC 8985 §6.2).
                false if once_more && x.sending.arrived > sent => Cause::Fast,
                false => Cause::RtoRecovery,
            };
        }
        let undisturbed = x.loss.sacked.is_empty()
            && !x.ending.sacked
            && x.dups == 0
            && x.loss.episode.open == Open::No
            && !x.repaired;
        if (silent || timed) && sack && end == x.max && undisturbed {
            let more = if first { 250 * MS } else { 50 * MS };
            if silence <= 3 * round + more || at_sender && !first {
                x.counts.ambiguous += u64::from(first);
                return Cause::Tlp;
            }
        }
        if sack && repaired && x.loss.episode.open == Open::Fast && (clocked || silence <= AT_ONCE) {
            // The last one again, so that acknowledgments keep coming, too (RFC 6675 §4, NextSeg 4). A timeout comes at any time.
            let late = x.loss.overtaken.is_some_and(|at| s.time.saturating_sub(at) > waits);
            x.counts.ambiguous += u64::from(first && late);
            return Cause::Fast;
        }
        if first && repaired && x.loss.episode.open == Open::Fast && (!sack || sent > x.sending.arrived || overdue) {
            // What was sent again is not lost by what acknowledgments say, or would have been sent again long ago.
            return Cause::Rto;
        }
        // The third duplicate lets it out without SACK, and none of those that come later.
        let late = !sack && at_sender && silence > MS && !clocked && x.dups > 3;
        if (silent || timed) && !first && at_sender && sack && x.loss.episode.open == Open::No {
            // A timeout repeats the first; a probe the last that has not come.
            return Cause::Tlp;
        }
        if (timed || late) && first || silent && !clocked && x.loss.episode.open == Open::No {
            let last = sack && first && x.pipe() == end - start && x.loss.episode.open == Open::No;
            // Slow pacing lets out late what acknowledgments have shown to be lost.
            let paced = !silent && x.is_lost(start, end);
            x.counts.ambiguous += u64::from(last || paced);
            return Cause::Rto;
        }
        let loss = x.loss.sacked.end() > end
            || x.ending.sacked
            || x.dups >= 3
            || x.loss.episode.open == Open::Fast
            || x.dups > 0 && first;
        let by_timer = at_sender && !clocked && silence > AT_ONCE;
        if loss || sent < x.sending.arrived {
            let possible = repaired || s.time.saturating_sub(sent) >= round;
            x.counts.ambiguous += u64::from(first && by_timer && possible);
            Cause::Fast
        } else if sack
            && end == x.max
            && x.loss.episode.open == Open::No
            && (by_timer || undisturbed && silence >= round)
        {
            // Nothing but a probe sends the end again then, however short the round trip; or a timeout, if it is the first, too.
            x.counts.ambiguous += u64::from(first);
            Cause::Tlp
        } else if first && (by_timer || silence.saturating_mul(2) >= round) {
            Cause::Rto
        } else {
            Cause::Unknown
        }
    }

    /// New data of direction `d` leave. After a timeout they come behind all that is taken for lost; if they do not, and data
    /// sent before have arrived, the sender has found the timeout spurious (F-RTO, RFC 5682).
    pub(super) fn leave_timeout(&mut self, d: usize) {
        let x = &mut self.directions[d];
        if x.loss.episode.open == Open::Rto && std::mem::take(&mut x.loss.episode.survived) {
            let (end, before) = (x.loss.episode.end, x.loss.episode.given_up);
            if x.pieces.waits(|piece| piece.end <= end && piece.sends == 1 && !piece.sacked && piece.sent < before) {
                x.loss.episode.open = Open::No;
            }
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
            x.sending.rounds.level.0 = Moment::NEVER;
            return;
        }
        x.sending.rounds.largest = x.sending.rounds.largest.max(pipe);
        let near = 2 * u64::from(path.mss);
        let (since, level) = x.sending.rounds.level;
        match since.get() {
            Some(since) if level.abs_diff(pipe) <= near => {
                if !x.sending.rounds.told && s.time - since >= 10 * path.round {
                    x.sending.rounds.told = true;
                    self.tell(cx, s, d, Happening::Plateau, self.directions[d].max, pipe);
                }
            }
            _ => (x.sending.rounds.level, x.sending.rounds.told) = ((Moment::at(s.time), pipe), false),
        }
    }
}
