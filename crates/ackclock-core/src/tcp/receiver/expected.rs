//! What the receiving half does with the data that it expects next, when that is all it expects: its part of header
//! prediction.

use super::Receiver;
use crate::time::{Span, Time};

impl Receiver {
    /// Nothing is held out of order, no FIN is known, and what comes in order is read at once.
    #[inline]
    pub(in crate::tcp) fn expects_nothing_else(&self) -> bool {
        self.plain && self.ooo_bytes == 0
    }

    /// Acknowledges by number and time alone, without Linux's policy.
    #[inline]
    pub(in crate::tcp) fn acknowledges_by_number(&self) -> bool {
        self.linux.is_none()
    }

    /// [`Receiver::on_data`] of the next `len` bytes when it [expects nothing else](Self::expects_nothing_else) and
    /// [acknowledges by number](Self::acknowledges_by_number). Returns how long their acknowledgment may wait, if it must
    /// not leave now.
    #[inline]
    pub(in crate::tcp) fn take_next(&mut self, len: u32, pushed: bool) -> Option<Span> {
        self.count_next(len);
        self.ack_now |= pushed || self.unacked_bytes >= self.ack_at || self.quick > 0;
        (!self.ack_now).then_some(self.delay)
    }

    /// [`Receiver::on_data`] of the next `len` bytes when it [expects nothing else](Self::expects_nothing_else), as Linux.
    #[inline]
    pub(in crate::tcp) fn take_next_as_linux(&mut self, now: Time, len: u32) {
        let from = self.nxt;
        self.count_next(len);
        self.linux_in_order(now, (from, self.nxt), false, false);
    }

    #[inline]
    fn count_next(&mut self, len: u32) {
        let len = u64::from(len);
        self.said.2 = false;
        self.nxt += len;
        self.stats.delivered += len;
        self.unacked_bytes += len;
    }

    /// Linux's decision on a segment that brought `from..end` in order; `disorder`: data was held behind it.
    #[inline(always)]
    pub(super) fn linux_in_order(&mut self, now: Time, (from, end): (u64, u64), disorder: bool, shrunk: bool) {
        let Some(l) = &mut self.linux else { return };
        l.in_order(now);
        let held = if self.by_hand { l.window.hold(from, end, self.nxt) } else { 0 };
        if l.window.in_order(now, end, held, disorder, l.at_once) {
            l.opened();
        }
        if !self.by_hand {
            l.window.on_read(now, self.nxt - self.unread);
        }
        let waiting = self.nxt - self.last_ack_sent;
        let crowded = !self.by_hand && l.crowded(waiting);
        let shrunk = shrunk || crowded || (self.by_hand && held > 0 && l.unread(waiting, held));
        if l.in_order_due(waiting, shrunk) || (disorder && self.ooo_bytes == 0) {
            self.ack_now = true;
            l.window.acknowledged_unread(l.at_once);
        } else if crowded && !disorder && l.reads_at_once(now) {
            self.ack_now = true;
        } else {
            let (due, wait) =
                if disorder { l.wait_out_of_order(self.nxt) } else { l.wait_in_order(now, waiting, self.by_hand) };
            self.ack_now |= due;
            self.wait = wait;
            // What was pushed is read first.
            if due && wait.is_none() {
                l.window.acknowledged_unread(l.at_once);
            }
        }
    }
}
