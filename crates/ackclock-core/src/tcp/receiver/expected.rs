//! What the receiving half does with the data that it expects next, when that is all it expects: its part of header
//! prediction.

use super::Receiver;
use crate::time::Span;

impl Receiver {
    /// Nothing is held out of order, no FIN is known, and what comes in order is read at once and acknowledged by number
    /// and time alone.
    #[inline]
    pub(in crate::tcp) fn expects_nothing_else(&self) -> bool {
        self.ooo_bytes == 0 && self.fin_at == u64::MAX && self.linux.is_none() && !self.by_hand && self.read_rate == 0
    }

    /// [`Receiver::on_data`] of the next `len` bytes when it [expects nothing else](Self::expects_nothing_else). Returns
    /// how long their acknowledgment may wait, if it must not leave now.
    #[inline]
    pub(in crate::tcp) fn take_next(&mut self, len: u32, pushed: bool) -> Option<Span> {
        let len = u64::from(len);
        self.said.2 = false;
        self.nxt += len;
        self.stats.delivered += len;
        self.unacked_bytes += len;
        self.ack_now |= pushed || self.unacked_bytes >= self.ack_at || self.delayed_ack <= 1 || self.quick > 0;
        (!self.ack_now).then_some(self.delay)
    }
}
