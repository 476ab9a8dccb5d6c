//! Packet pairs: two segments that leave back to back for a controller that compares their round-trip times.
//!
//! The first waits for room in the window as any segment does; the second follows at once, whatever the window and the
//! pacing. Both are pushed, so that the receiver does not delay their acknowledgments. A pair of which a segment is
//! sent again, or whose two segments are acknowledged together, says nothing and is given up.

use super::control_block::ControlBlock;
use super::output::Output;
use super::sender::Sender;
use super::timers::Timers;
use crate::cc::PacketPair;
use crate::time::Time;

/// Largest segment an IP packet can carry.
const MOST: u64 = 65_000;
/// Bytes of the timestamp option, which every segment may carry.
const OPTIONS: u64 = 12;

/// The pair under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    /// Ends of its segments in the stream; zeros: there is none.
    ends: [u64; 2],
    /// The second segment has not left.
    half: bool,
    sent: Time,
    /// Its lengths, and the round-trip times known so far.
    measured: PacketPair,
}

impl Pair {
    /// The segment at `pos` is sent again.
    pub fn resent(&mut self, pos: u64) {
        if pos < self.ends[1] {
            *self = Pair::default();
        }
    }

    /// Where it ends in the stream, if there is one.
    pub fn end(&self) -> Option<u64> {
        (self.ends[1] > 0).then_some(self.ends[1])
    }

    /// The cumulative acknowledgment may have advanced.
    pub fn acknowledged(&mut self, now: Time, tcb: &mut ControlBlock) {
        let una = tcb.board.una();
        if self.ends[1] == 0 || una < self.ends[0] {
            return;
        }
        let rtt = now.since(self.sent);
        if una < self.ends[1] {
            // Not when a part of the second is acknowledged with the first.
            if una == self.ends[0] {
                self.measured.rtt[0] = rtt;
            }
            return;
        }
        let mut measured = std::mem::take(self).measured;
        measured.rtt[1] = rtt;
        if measured.rtt[0].0 > 0 {
            tcb.decide(now, |cc, cx| cc.on_packet_pair(cx, &measured));
        }
    }
}

impl Sender {
    /// The next segment of a pair, if the controller wants one and it may leave now.
    #[inline(never)]
    pub(super) fn pair_segment(&mut self, now: Time, timers: &mut Timers) -> Option<Output> {
        if self.pair.half {
            self.pair.half = false;
            return Some(self.emit_pushed(now, self.pair.measured.bytes[1], timers));
        }
        let calm = self.recovery.is_calm() && self.tcb.board.pending() == 0;
        let full = self.tcb.window() <= self.tcb.board.pipe();
        if self.pair.ends[1] > 0 || !calm || self.pacer.gate() > now || full {
            return None;
        }
        let [first, second] = self.tcb.decide(now, |cc, cx| cc.packet_pair(cx))?;
        let most = match self.tcb.config.mtu {
            0 => MOST,
            mtu => mtu.saturating_sub(self.tcb.config.header_bytes + OPTIONS).min(MOST),
        };
        let second = second.min(most as u32);
        if first == 0 || second <= first {
            return None;
        }
        let nxt = self.tcb.board.nxt();
        let ends = [nxt + u64::from(first), nxt + u64::from(first) + u64::from(second)];
        // Data that ends with the pair would have to carry the FIN.
        if ends[1] > self.peer.edge() || self.stream.ended_by(ends[1]) {
            return None;
        }
        if self.tcb.board.outstanding() == 0 {
            self.resume_from_idle(now);
        }
        if self.tcb.board.pipe() + self.tcb.board.count(first) > self.tcb.window() {
            return None;
        }
        let measured = PacketPair { bytes: [first, second], ..PacketPair::default() };
        self.pair = Pair { ends, half: true, sent: now, measured };
        Some(self.emit_pushed(now, first, timers))
    }

    fn emit_pushed(&mut self, now: Time, len: u32, timers: &mut Timers) -> Output {
        Output { push: true, ..self.emit(now, (len, false), self.tcb.board.pipe(), timers) }
    }
}
