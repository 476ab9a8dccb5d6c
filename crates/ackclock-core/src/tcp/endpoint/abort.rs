//! The end of a connection, in order and before its time, and what its owner is to know of it.

use super::{Endpoint, State};
use crate::tcp::segment::{Segment, flags};

impl Endpoint {
    /// Both directions are closed and acknowledged.
    pub fn finished(&self) -> bool {
        self.tx.all_acknowledged() && self.rx.finished()
    }

    /// The peer closed: everything it sent was delivered.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// The application gives the connection up: what was not sent is lost, and the peer is reset (RFC 9293 §3.10.5, ABORT).
    //= RFC 9293 §3.10.5 abort
    pub fn abort(&mut self) {
        if matches!(self.state, State::SynReceived | State::Established) && !self.finished() {
            self.reset_due = Some(self.tx.tcb.iss.wrapping_add(self.tx.tcb.board.nxt().max(1) as u32));
        }
        self.refuse_held();
        self.state = State::Failed;
        self.timers.clear_all();
    }

    /// Nobody is here: who asks for a connection is reset.
    pub fn refuse(&mut self) {
        self.state = State::Failed;
    }

    /// A segment comes to a connection that is over, or never was: it is reset, unless it is a reset (RFC 9293 §3.10.7.1).
    #[cold]
    //= RFC 9293 §3.5.2 reset-for-closed
    pub(super) fn on_segment_when_over(&mut self, seg: &Segment) {
        //= RFC 9293 §3.10.7.1 no-reset-for-reset
        if seg.has(flags::RST) {
            return;
        }
        if seg.has(flags::ACK) {
            self.reset_due = Some(seg.ack);
        } else if seg.has(flags::SYN) {
            self.refuse_request(seg);
        }
    }

    /// Writes the reset that is due into `segment`, if one is.
    #[cold]
    pub(super) fn reset(&mut self, segment: &mut Segment) -> bool {
        let Some(seq) = self.reset_due.take() else { return false };
        *segment = Segment { seq, flags: flags::RST, ..Segment::default() };
        self.answer_held(segment);
        true
    }

    /// The connection was established or failed since [`Endpoint::take_news`], or the peer has closed.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.news | self.peer_closed
    }

    /// The news are known.
    pub fn take_news(&mut self) {
        self.news = false;
    }

    /// The connection has failed, and nobody knows yet.
    #[inline]
    pub fn has_failed_now(&self) -> bool {
        self.news && self.state == State::Failed
    }
}
