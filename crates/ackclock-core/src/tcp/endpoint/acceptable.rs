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
        let end = pos + u64::from(seg.seq_len());
        pos <= self.rx.edge().max(self.rx.nxt()) && end.saturating_add(self.rx.buffer()) >= self.rx.nxt()
    }

    /// Answers a segment outside of the window, of which nothing is taken but the news that data came twice.
    #[cold]
    pub(super) fn on_out_of_window(&mut self, now: Time, pos: u64, seg: &Segment) {
        if seg.len > 0 {
            self.rx.on_data(now, pos, seg.len, false);
        } else if pos < self.rx.nxt() {
            // A window probe or keep-alive.
            self.rx.request_ack();
        } else {
            self.challenge(now);
        }
    }

    /// The fifth check: whether the acknowledgment in `seg` is of something that was sent, and not older than the largest
    /// window (RFC 5961 §5.2). Otherwise nothing of the segment is taken.
    #[inline]
    pub(super) fn accepts_ack(&mut self, now: Time, seg: &Segment) -> bool {
        let board = &self.tx.tcb.board;
        let ack = unwrap_seq(seg.ack, self.tx.tcb.iss, board.una());
        let unsent = ack > board.nxt();
        if !unsent && ack >= self.tx.oldest_ack() {
            return true;
        }
        // Linux says nothing to an acknowledgment of what it has not sent.
        if !unsent || self.tx.config().ack_policy != AckPolicy::Linux {
            self.challenge(now);
        }
        false
    }

    /// Says where the connection stands, to a peer that may have sent something else than what came (RFC 5961 §7).
    #[cold]
    pub(super) fn challenge(&mut self, now: Time) {
        if self.challenged_at.is_none_or(|at| now.since(at) >= CHALLENGE_INTERVAL) {
            self.challenged_at = Some(now);
            self.rx.request_ack();
        }
    }
}
