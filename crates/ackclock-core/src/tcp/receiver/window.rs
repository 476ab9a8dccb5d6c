//! How far Linux opens the receive window: with the segments that arrive up to what the buffer holds, and the buffer
//! with the rate of the flow.
//!
//! Linux accounts for the memory of its buffers, of which payload is only a share; the window is that share.

use super::unread::Unread;
use crate::tcp::config::Config;
use crate::time::{Span, Time};

/// Memory of a received segment beyond its payload.
const OVERHEAD: u64 = 832;
/// Memory of out-of-order data: one unit holds two segments that came one after the other.
const OUT_OF_ORDER_UNIT: u64 = 4352;
/// Parts of a unit of memory that the window counts as payload, out of this many.
const PARTS: u64 = 256;

/// The window offered and the buffer behind it.
#[derive(Clone, Debug)]
pub(super) struct Window {
    mss: u64,
    /// Payload's share of the buffer, in [`PARTS`], and whether it has been measured.
    share: u64,
    buffer: u64,
    most: u64,
    /// Largest window the buffer allows.
    clamp: u64,
    /// The window offered, and what was said of it last.
    open: u64,
    said: u64,
    unit: u64,
    /// Out-of-order memory: units, where the last segment ended, and whether it shares its unit.
    units: u64,
    /// Units that have just come in order and are not read before the next acknowledgment leaves.
    unread: u64,
    /// So is a segment that came in order by itself, whose part of the window is `fresh_room`: what it leaves, or everything.
    beside_fresh: u64,
    fresh_room: u64,
    /// Data in order that an application has not read by hand, and its memory.
    queue: Unread,
    held: u64,
    last_end: u64,
    paired: bool,
    /// Bytes read in the best round so far, and begin and time of the present one.
    best: u64,
    mark: u64,
    marked: Time,
    /// Round-trip time as the receiver sees it, eight times; zero is unknown.
    rtt8: u64,
    round_end: u64,
    round_start: Option<Time>,
    echo: Option<u32>,
}

/// How much of the memory of segments of `mss` bytes is payload, in [`PARTS`].
fn share(mss: u64) -> u64 {
    (PARTS * mss / (mss + OVERHEAD)).max(1)
}

impl Window {
    pub fn new(config: &Config, mss: u64, scale: u8) -> Window {
        let most = config.receive_buffer;
        // Where the buffer limits it: as long as no segment has shown which share of its memory is payload, half of the
        // memory is taken for it. A window below what the field can express would be none.
        let first = config.initial_receive_window;
        let first = if first > most { most.saturating_mul(PARTS / 2) / share(mss) } else { first };
        let open = first.max(1 << scale).min(most);
        Window {
            mss,
            share: 0,
            // Half of the buffer less one segment is offered at first.
            buffer: 2 * (open + mss),
            most,
            clamp: open,
            open,
            said: 0,
            unit: 1 << scale,
            units: 0,
            unread: 0,
            beside_fresh: u64::MAX,
            fresh_room: 0,
            queue: Unread::default(),
            held: 0,
            last_end: 0,
            paired: false,
            best: open.min(10 * mss),
            mark: 1,
            marked: Time::ZERO,
            rtt8: 0,
            round_end: 0,
            round_start: None,
            echo: None,
        }
    }

    /// The peer sends segments of up to `mss` bytes.
    pub fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    /// The window that remains while `in_use` of memory is taken.
    #[inline]
    fn room(&self, in_use: u64) -> u64 {
        self.clamp.saturating_sub(in_use * self.share / PARTS)
    }

    /// The segment `from..end` came in order and joined what was held out of order up to `nxt`, and the application reads by
    /// hand: notes their memory and returns that of everything it has not read.
    #[inline(never)]
    pub fn hold(&mut self, from: u64, end: u64, nxt: u64) -> u64 {
        self.queue.take(from, end, end - from + OVERHEAD);
        if nxt > end {
            self.queue.join(end, nxt, self.mss, OUT_OF_ORDER_UNIT);
        }
        self.held = self.queue.memory();
        self.held
    }

    /// The application has read everything before `pos` by hand, of what has come up to `nxt`.
    #[inline(never)]
    pub fn on_read_by_hand(&mut self, now: Time, pos: u64, nxt: u64) {
        // Linux looks at the rate whenever a buffer has been read, so that the first one of a turn ends the round.
        let read = self.queue.first_end().map_or(pos, |end| end.min(pos));
        self.follow(now, read, nxt - read);
        self.queue.release(pos);
        self.held = self.queue.memory();
    }

    /// Linux's choice of a window: nothing while less than a segment or a sixteenth of the buffer is free.
    pub fn select(&self, held: u64) -> u64 {
        let room = self.room(self.units * OUT_OF_ORDER_UNIT + held);
        let low = room & !(self.unit - 1);
        if self.is_low(held) && (low < self.payload() / 16 || low < self.mss) {
            return 0;
        }
        self.scaled(room.min(self.open))
    }

    /// Whether so many full segments that are unread make the window smaller than said.
    #[inline]
    pub fn crowded(&self, segments: u64) -> bool {
        let room = self.clamp.saturating_sub(self.fresh_room);
        if segments == 1 && self.units == 0 && room >= self.fresh_room {
            return self.scaled(room.min(self.open)) < self.said;
        }
        self.is_crowded(segments)
    }

    #[inline(never)]
    fn is_crowded(&self, segments: u64) -> bool {
        self.select(segments * (self.mss + OVERHEAD)) < self.said
    }

    /// Less than half of the buffer is free while `held` of memory is unread.
    pub fn is_low(&self, held: u64) -> bool {
        self.room(self.units * OUT_OF_ORDER_UNIT + held) < self.clamp.min(self.payload()) / 2
    }

    /// Less than half of the buffer is free, and the application is the reason.
    #[inline]
    pub fn keeps_low(&self) -> bool {
        self.held > 0 && self.is_low(self.held)
    }

    /// The window said last.
    pub fn said(&self) -> u64 {
        self.said
    }

    /// Whether a read that leaves `offered` bytes of the window open is told at once: when it can be twice as large.
    pub fn reopened(&self, offered: u64) -> bool {
        let window = self.select(self.held);
        2 * offered <= self.clamp && window > 0 && window >= 2 * offered
    }

    /// Bytes offered.
    #[inline]
    pub fn offer(&self) -> u64 {
        if self.held > 0 {
            return self.select(self.held);
        }
        if self.units + self.unread == 0 {
            return self.open.min(self.beside_fresh);
        }
        let arrived = if self.unread > 0 || self.beside_fresh < u64::MAX { self.mss + OVERHEAD } else { 0 };
        self.open.min(self.room((self.units + self.unread) * OUT_OF_ORDER_UNIT + arrived))
    }

    /// `window` as the peer gets to know it.
    #[inline]
    fn scaled(&self, window: u64) -> u64 {
        (window + self.unit - 1) & !(self.unit - 1)
    }

    /// The window is told to the peer, which has `promised` from before. Whether the next one may be larger, since something that
    /// took room has been read by then, and whether it may be so much larger that the peer is told of it at once.
    #[inline]
    pub fn say(&mut self, promised: u64) -> (bool, bool) {
        self.said = self.scaled(self.offer().max(promised));
        let unread = std::mem::take(&mut self.unread) > 0;
        let fresh = std::mem::replace(&mut self.beside_fresh, u64::MAX) < self.open;
        (unread || fresh, unread || (fresh && 2 * self.fresh_room >= self.clamp))
    }

    /// Whether the window is smaller than said while what has just come is not yet read.
    pub fn shrunk(&self) -> bool {
        let unread = self.units * OUT_OF_ORDER_UNIT + self.held.max(self.mss + OVERHEAD);
        self.scaled(self.open.min(self.room(unread))) < self.said
    }

    /// The round-trip time seen.
    pub fn rtt(&self) -> Option<Span> {
        (self.rtt8 > 0).then_some(Span(self.rtt8 / 8))
    }

    fn measure(&mut self) {
        if self.share == 0 {
            self.share = share(self.mss);
            self.fresh_room = (self.mss + OVERHEAD) * self.share / PARTS;
            self.clamp = self.clamp.max(self.payload());
        }
    }

    /// What has just come in order, so many `segments` at this moment, is acknowledged before the application reads it, which is
    /// why a window that the buffer limits is so much smaller than that.
    #[inline]
    pub fn acknowledged_unread(&mut self, segments: u64) {
        self.beside_fresh = self.clamp.saturating_sub(segments * self.fresh_room);
    }

    /// The window that the buffer allows.
    fn payload(&self) -> u64 {
        (self.buffer * self.share / PARTS).min(self.most)
    }

    /// A segment came and `in_use` of memory is taken: opens the window by two segments while the buffer allows it.
    #[inline]
    fn grow(&mut self, in_use: u64) -> bool {
        if self.open >= self.clamp {
            return false;
        }
        let room = self.room(in_use).saturating_sub(self.open);
        self.open += room.min(2 * self.mss);
        room > 0
    }

    /// A segment came in order and moved the stream to `nxt`, while `held` of memory is unread, or so many `segments` that came at
    /// this moment; `disorder`: data was held behind it, and what it has joined of that still takes its memory. True when the
    /// window opened.
    #[inline]
    pub fn in_order(&mut self, now: Time, nxt: u64, held: u64, disorder: bool, segments: u64) -> bool {
        self.measure();
        if nxt >= self.round_end {
            if let Some(start) = self.round_start {
                self.sample(now.since(start), true);
            }
            self.round_start = Some(now);
            self.round_end = nxt + self.open;
        }
        if self.open >= self.clamp {
            return false;
        }
        let units = self.units + if disorder { self.unread } else { 0 };
        self.grow(units * OUT_OF_ORDER_UNIT + held.max(segments * (self.mss + OVERHEAD)))
    }

    /// A segment `pos..end` is kept out of order. True when the window opened.
    pub fn out_of_order(&mut self, pos: u64, end: u64) -> bool {
        self.measure();
        self.unread = 0;
        let grew = self.grow(self.units * OUT_OF_ORDER_UNIT + self.held);
        self.paired = pos == self.last_end && !self.paired && self.units > 0;
        self.units += u64::from(!self.paired);
        self.last_end = end;
        grew
    }

    /// Of `before` bytes out of order `after` remain.
    pub fn released(&mut self, before: u64, after: u64) {
        let left = (u128::from(self.units) * u128::from(after)).div_ceil(u128::from(before.max(1))) as u64;
        self.unread = self.units - left;
        self.units = left;
    }

    /// The connection is established.
    pub fn established(&mut self, now: Time) {
        self.marked = now;
    }

    /// Whether the timestamp echoed to us is another than last time.
    #[inline]
    pub fn echoes(&mut self, echo: u32) -> bool {
        self.echo.replace(echo) != Some(echo)
    }

    /// The timestamp echoed is `age` old.
    pub fn on_echo(&mut self, age: Span) {
        if age > Span::ZERO {
            self.sample(age, false);
        }
    }

    /// Takes a round-trip time; the time that a window takes to arrive only bounds it.
    fn sample(&mut self, rtt: Span, bound: bool) {
        let rtt = rtt.0.max(1);
        if self.rtt8 == 0 || 8 * rtt < self.rtt8 {
            self.rtt8 = 8 * rtt;
        } else if !bound {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + rtt;
        }
    }

    /// The application has read everything before `read`: once per round trip the buffer follows the rate.
    #[inline]
    pub fn on_read(&mut self, now: Time, read: u64) {
        self.follow(now, read, 0);
    }

    /// [`Window::on_read`] while `left` bytes behind `read` have come: what waits does not count for the rate.
    #[inline]
    fn follow(&mut self, now: Time, read: u64, left: u64) {
        // A round-trip time that is not known, 0, wraps to more than any time.
        if 8 * now.since(self.marked).0 + 7 <= self.rtt8.wrapping_sub(1) {
            return;
        }
        let bytes = read.saturating_sub(self.mark + left);
        if bytes > self.best && self.share > 0 {
            // Room for twice the rate, and twice its growth, which slow start needs.
            let mut window = 2 * bytes + 16 * self.mss;
            window += 2 * (u128::from(window) * u128::from(bytes - self.best) / u128::from(self.best.max(1))) as u64;
            self.buffer = self.buffer.max(window.min(self.most) * PARTS / self.share);
            self.clamp = self.clamp.max(self.payload());
            self.best = bytes;
        }
        self.mark = read;
        self.marked = now;
    }
}
