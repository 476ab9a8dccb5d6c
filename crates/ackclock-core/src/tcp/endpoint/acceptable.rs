//! Which segments of an established connection are taken (RFC 9293 §3.10.7.4, RFC 5961), and how others are answered.

use super::Endpoint;
use crate::tcp::config::AckPolicy;
use crate::tcp::segment::{Segment, unwrap_seq};
use crate::time::{Span, Time};

/// Segments without data that are not acceptable are answered once in this time: otherwise two endpoints that both find
/// the other's acknowledgments unacceptable would answer each other for ever (RFC 5961 §7; Linux's
/// `tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

impl Endpoint {
    /// The first check of RFC 9293 §3.10.7.4: whether `seg`, which begins at `pos`, lies where the window is, or less than a
    /// buffer below it. The RFC takes nothing of what came before: neither the acknowledgment nor the timestamp of a segment that
    /// was sent again because ours was lost, so that the peer's round-trip time would hold the timeout.
    #[inline]
    pub(super) fn is_in_window(&self, pos: u64, seg: &Segment) -> bool {
        let nxt = self.rx.nxt();
        let end = pos + u64::from(seg.seq_len());
        pos == nxt || (pos <= self.rx.edge().max(nxt) && end.saturating_add(self.rx.buffer()) >= nxt)
    }

    /// Answers a segment outside of the window, of which nothing is taken but the news that data came twice.
    #[cold]
    //= RFC 9293 §3.10.7.4 acceptable
    pub(super) fn on_out_of_window(&mut self, now: Time, pos: u64, seg: &Segment) {
        if seg.len > 0 {
            self.rx.refuse(pos, pos + u64::from(seg.len), seg.len);
        } else if pos < self.rx.nxt() {
            // A window probe or keep-alive.
            self.rx.request_ack();
        } else {
            self.challenge(now);
        }
    }

    /// Answers a segment whose acknowledgment is not acceptable. Linux says nothing to one of what it has not sent.
    #[cold]
    //= RFC 9293 §3.10.7.4 ack-of-unsent
    pub(super) fn on_unacceptable_ack(&mut self, now: Time, seg: &Segment) {
        let board = &self.tx.tcb.board;
        let of_unsent = unwrap_seq(seg.ack, self.tx.tcb.iss, board.una()) > board.nxt();
        if !of_unsent || self.tx.config().ack_policy != AckPolicy::Linux {
            self.challenge(now);
        }
    }

    /// Says where the connection stands, to a peer that may have sent something else than what came (RFC 5961 §7).
    #[cold]
    //= RFC 5961 §7 throttle
    pub(super) fn challenge(&mut self, now: Time) {
        if self.challenged_at.is_none_or(|at| now.since(at) >= CHALLENGE_INTERVAL) {
            self.challenged_at = Some(now);
            self.rx.request_ack();
        }
    }
}
