//! The window a receiver offers: what the application has read makes room.

use super::Receiver;
use crate::time::Time;

impl Receiver {
    /// From now on the application reads by [`Receiver::read`]; what it does not read takes room of the window.
    pub fn read_by_hand(&mut self) {
        self.by_hand = true;
        self.plain = false;
        self.said.2 = false;
    }

    /// Bytes that are there to be read by [`Receiver::read`]; none while they are read for the application, at once or at
    /// `app_read_rate`.
    pub fn unread(&self) -> u64 {
        if self.by_hand { self.unread } else { 0 }
    }

    /// The application reads up to `most` bytes; returns how many there were. It may make an acknowledgment due: of what
    /// was read, or of a window that has opened (RFC 9293 §3.8.6.2.2).
    pub fn read(&mut self, now: Time, most: u64) -> u64 {
        let bytes = self.unread.min(most);
        if bytes == 0 {
            return 0;
        }
        self.unread -= bytes;
        self.said.2 = false;
        let offered = self.edge.saturating_sub(self.nxt);
        let (nxt, unread, waiting) = (self.nxt, self.unread, self.nxt - self.last_ack_sent);
        match &mut self.linux {
            None => self.ack_now |= offered < self.step() && self.free() >= offered + self.step(),
            Some(l) => {
                l.window.on_read_by_hand(now, nxt - unread, nxt);
                let read_all = unread == 0 && self.ooo.is_empty() && l.pushed_and_read();
                let open = nxt <= self.fin_at;
                self.ack_now |= waiting > self.mss || read_all || (open && l.window.reopened(offered));
            }
        }
        bytes
    }

    /// Bytes that are offered at most.
    pub fn room(&self) -> u64 {
        self.buffer
    }

    /// From now on at most `room` bytes are offered beyond what has arrived, but never less than was promised. It may make an
    /// acknowledgment due that says that the window has opened: as often as it does so by two segments (RFC 9293
    /// §3.8.6.2.2), whatever is left of it, of which the sender may have used everything.
    pub fn limit_offer(&mut self, room: u64) {
        self.limited = true;
        // No small steps of the edge.
        self.buffer = if room < self.mss { 0 } else { room };
        self.said.2 = false;
        let offered = self.edge.saturating_sub(self.nxt);
        self.ack_now |= self.nxt <= self.fin_at && self.free() >= offered + 2 * self.mss;
    }

    /// The application reads what its rate allows.
    #[inline]
    pub(super) fn read_by_rate(&mut self, now: Time) {
        if self.read_rate > 0 {
            self.read_slowly(now);
        }
    }

    fn read_slowly(&mut self, now: Time) {
        if self.unread == 0 {
            self.read_at = now;
            return;
        }
        let bytes = (u128::from(now.since(self.read_at).0) * u128::from(self.read_rate) / 1_000_000_000) as u64;
        if bytes > 0 {
            self.unread = self.unread.saturating_sub(bytes);
            // The rest of a byte's time is carried over.
            let spent = u128::from(bytes) * 1_000_000_000 / u128::from(self.read_rate);
            self.read_at = Time(self.read_at.0 + spent as u64);
        }
    }

    /// Room the peer may use beyond what arrived, bytes.
    #[inline]
    fn free(&self) -> u64 {
        let out_of_order = if self.count_ooo { self.ooo_bytes } else { 0 };
        match &self.linux {
            None => self.buffer.saturating_sub(self.unread + out_of_order),
            Some(l) => {
                // What the application leaves unread, Linux counts by its memory.
                let unread = if self.by_hand { 0 } else { self.unread };
                self.buffer.saturating_sub(unread + out_of_order).min(l.window.offer())
            }
        }
    }

    /// Least step of the right edge (RFC 9293 §3.8.6.2.2): a segment, or half of the room where that is less, but what
    /// the window field can express.
    #[inline]
    //= RFC 9293 §3.8.6.2.2 sws-receiver
    fn step(&self) -> u64 {
        let room = self.linux.as_ref().map_or(self.buffer, |l| l.window.offer());
        (room / 2).min(self.mss).max(1 << self.scale)
    }

    /// The application has freed enough room for a window update (RFC 9293 §3.8.6.2.2), or when it will have.
    #[inline]
    pub fn window_update_due(&mut self, now: Time) -> Option<Time> {
        if self.read_rate == 0 || self.unread == 0 {
            return None;
        }
        self.update_due(now)
    }

    fn update_due(&mut self, now: Time) -> Option<Time> {
        self.read_by_rate(now);
        let offered = self.edge.saturating_sub(self.nxt);
        let missing = (offered + self.step()).saturating_sub(self.free());
        if offered >= self.step() {
            return None;
        }
        let wait = u128::from(missing) * 1_000_000_000 / u128::from(self.read_rate);
        Some(Time(self.read_at.0.max(now.0) + wait as u64 + u64::from(missing > 0)))
    }

    /// The window field; moves the right edge, never to the left.
    //= RFC 9293 §3.8.6 no-shrinking-offer
    pub(super) fn window_field(&mut self, scale: u8) -> u16 {
        let free = self.free();
        let promised = self.edge.saturating_sub(self.nxt);
        // Silly window avoidance: no small steps of the edge (RFC 9293 §3.8.6.2.2).
        // Linux only closes what would be small, where the field is scaled.
        let by_segments = self.linux.is_none() || (scale == 0 && !self.by_hand);
        let small = by_segments && free < promised + self.step();
        let up = |bytes: u64| (bytes + (1 << scale) - 1) >> scale;
        // Rounded down to the scale (Linux: up), but never below what was promised.
        let room = if self.linux.is_some() && !self.limited { up(free) } else { free >> scale };
        let field = if room << scale >= promised && !small {
            room
        } else if self.limited {
            // The edge stays where it is, whatever the field can express of it.
            promised >> scale
        } else {
            up(promised)
        };
        let field = field.min(65_535);
        self.edge = self.edge.max(self.nxt + (field << scale));
        field as u16
    }
}
