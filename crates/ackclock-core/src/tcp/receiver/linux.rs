//! When Linux acknowledges: quick, delayed and compressed acknowledgments.

use super::window::Window;
use crate::tcp::config::Config;
use crate::time::{Span, Time};

/// Longest delay of an acknowledgment, and how much longer than the least it gets when the peer waits for more.
const MAX_DELAY: Span = Span::from_millis(199);
const MAX_DELAY_PUSHED: Span = Span::from_millis(200);
/// Smallest timeout term: what RTT + this exceeds is a pause.
const PAUSE: Span = Span::from_millis(200);
/// What a full segment is taken for until a longer one has come (TCP_MSS_DEFAULT).
const FIRST_MSS: u32 = 536;
/// Out-of-order segments acknowledged at once before their acknowledgments are compressed.
const UNCOMPRESSED: u32 = 3;
/// Most acknowledgments put off.
const MAX_COMPRESSED: u32 = 44;
/// Longest delay of a compressed acknowledgment, and the slack of its timer.
const COMPRESSION_DELAY: Span = Span::from_millis(1);
const COMPRESSION_SLACK: Span = Span::from_micros(100);

/// What a received segment calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckWait {
    /// Acknowledge after this time at the latest.
    Delayed(Span),
    /// Acknowledge after this time unless something is acknowledged before.
    Compressed(Span),
}

impl AckWait {
    /// Acknowledge when the application has read what came at this moment, unless something is acknowledged before.
    pub const READ: AckWait = AckWait::Compressed(Span::ZERO);
}

/// Linux's part of a receiver.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    /// The offered window.
    pub window: Window,
    /// Bytes in order that may wait for their acknowledgment, and the segments that stand behind them.
    may_wait: u64,
    per_ack: u64,
    least_delay: Span,
    /// The stream flows while this does not pass from segment to segment: half of the least delay, however the ticks fall.
    flows: u64,
    most_quick: u64,
    compression: bool,
    /// Acknowledgments still sent at once, one per segment.
    quick: u64,
    /// The application answers what arrives (Linux's pingpong mode): acknowledgments wait for its data.
    interactive: bool,
    /// The segment that came, or one before it since the last acknowledgment, was pushed, or shorter than a full one.
    pushed: bool,
    /// And a short one came after it (ICSK_ACK_PUSHED2).
    pushed_again: bool,
    /// An acknowledgment leaves when it has been read.
    reading: bool,
    /// Acknowledgments of out-of-order segments wait for the timer.
    compressing: bool,
    /// The longest segment so far: what a full one is taken for.
    longest: u32,
    /// Length of a tick of the clock that the delay is measured and kept in; zero: exact.
    tick: u64,
    /// The adaptive delay, whole ticks; zero before the first segment.
    delay: Span,
    last_data: Time,
    /// Segments that have come in order at that moment, one unless they come in blocks: nothing of them has been read.
    pub at_once: u64,
    /// More may follow at the same moment, so that nothing is read before the moment is over.
    pub in_blocks: bool,
    /// A delayed acknowledgment is due by then, if one is.
    until: Time,
    /// Out-of-order acknowledgments sent at once since the stream advanced to this position.
    uncompressed: (u64, u32),
    compressed: u32,
    path_rtt: Span,
}

impl Linux {
    pub fn new(config: &Config, mss: u64, scale: u8) -> Linux {
        Linux {
            window: Window::new(config, mss, scale),
            may_wait: (config.delayed_ack - 1) * mss,
            per_ack: config.delayed_ack,
            least_delay: config.delayed_ack_timeout,
            flows: (config.delayed_ack_timeout.0 / 2 + 1).saturating_sub(config.timer_tick.0),
            most_quick: config.quick_acks,
            compression: config.ack_compression,
            quick: 0,
            interactive: false,
            pushed: false,
            pushed_again: false,
            longest: FIRST_MSS,
            tick: config.timer_tick.0,
            delay: Span::ZERO,
            last_data: Time::ZERO,
            at_once: 1,
            in_blocks: false,
            reading: false,
            until: Time::NEVER,
            uncompressed: (0, 0),
            compressed: 0,
            compressing: false,
            path_rtt: Span::ZERO,
        }
    }

    /// The peer sends segments of up to `mss` bytes.
    pub fn set_mss(&mut self, mss: u64) {
        self.may_wait = (self.per_ack - 1) * mss;
        self.window.set_mss(mss);
    }

    /// The handshake's round-trip time is known.
    pub fn established(&mut self, now: Time, rtt: Span) {
        self.path_rtt = rtt;
        self.window.established(now);
    }

    /// A segment of `len` bytes with its header's PSH flag came (tcp_measure_rcv_mss).
    #[inline]
    pub fn push(&mut self, len: u32, pushed: bool) {
        let short = len < self.longest;
        if !short && !pushed {
            self.longest = len;
            return;
        }
        self.longest = self.longest.max(len);
        self.pushed_again |= short && self.pushed;
        self.pushed |= pushed || short;
    }

    /// What was pushed is acknowledged when it has been read; of an application that answers, with the answer, unless a second
    /// short segment has come.
    #[inline]
    fn pushed_out(&self) -> bool {
        self.pushed_again || (self.pushed && !self.interactive)
    }

    /// New data came in order: the delay follows the time between segments.
    #[inline]
    pub fn in_order(&mut self, now: Time) {
        let before = std::mem::replace(&mut self.last_data, now);
        if self.in_blocks {
            self.at_once = if now == before { self.at_once + 1 } else { 1 };
        }
        if now.since(before).0 < self.flows && self.delay == self.least_delay {
            // The stream flows, and the delay is what becomes of it then.
            return;
        }
        self.follow(Span(self.whole(now.0) - self.whole(before.0)), self.whole(self.least_delay.0 / 2));
    }

    /// The delay after a `gap` between segments; `half` of the least.
    #[inline(never)]
    fn follow(&mut self, gap: Span, half: u64) {
        if self.delay == Span::ZERO {
            self.quicken();
        } else if gap.0 <= half {
            self.delay = Span(self.whole(self.delay.0 / 2) + half);
        } else if gap < self.delay {
            self.delay = Span(self.whole(self.delay.0 / 2) + gap.0).min(MAX_DELAY_PUSHED);
        } else if gap > self.path_rtt + PAUSE.max(Span(2 * self.path_rtt.0)) {
            self.quick = self.quick.max(self.most_quick);
        }
    }

    /// The ticks of the clock that `ns` has seen.
    fn whole(&self, ns: u64) -> u64 {
        match self.tick {
            0 => ns,
            tick => ns - ns % tick,
        }
    }

    /// Nothing is known of the sender's window any more: tell it quickly what arrives.
    pub fn quicken(&mut self) {
        self.quicken_for(self.most_quick);
    }

    /// The next `segments` at least are acknowledged at once.
    pub fn quicken_for(&mut self, segments: u64) {
        self.quick = self.quick.max(segments.min(self.most_quick));
        self.interactive = false;
        self.delay = self.least_delay.max(Span(1));
    }

    /// Acknowledgments are sent at once.
    #[inline]
    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// The window has opened: the sender is told at once.
    #[inline]
    pub fn opened(&mut self) {
        self.quick |= 1;
    }

    /// `waiting` bytes in order are not acknowledged, `shrunk`: and the window is smaller than said. True when they are
    /// to be acknowledged now.
    #[inline]
    pub fn in_order_due(&self, waiting: u64, shrunk: bool) -> bool {
        (waiting > self.may_wait && !shrunk) || self.is_quick()
    }

    /// The application has read everything: what was pushed is acknowledged.
    pub fn pushed_and_read(&self) -> bool {
        self.pushed_out() && self.until.is_set()
    }

    /// An acknowledgment is due when the application has read what came at this moment.
    #[inline]
    pub fn awaits_reading(&self) -> bool {
        self.reading
    }

    /// `waiting` bytes in order would be acknowledged, but what came at this moment makes the window smaller than said, since
    /// nothing of it has been read.
    #[inline]
    pub fn crowded(&self, waiting: u64) -> bool {
        waiting > self.may_wait && self.window.crowded(self.at_once)
    }

    /// What calls for an acknowledgment but for a [crowded](Self::crowded) window is read at once, and no delayed one is due
    /// soon that would leave before that.
    #[inline]
    pub fn reads_at_once(&self, now: Time) -> bool {
        !self.in_blocks && now + Span(self.delay.0 / 2 + self.tick) < self.until
    }

    /// `waiting` bytes are not acknowledged and `held` of memory is unread. True when the window is smaller than said; a
    /// buffer that is half full ends the quick acknowledgments.
    pub fn unread(&mut self, waiting: u64, held: u64) -> bool {
        if waiting > self.may_wait && self.window.is_low(held) {
            self.quick = 0;
        }
        self.window.select(held) < self.window.said()
    }

    /// `waiting` bytes in order are not acknowledged, none is held out of order: how long. True: not at all. `by_hand`: the
    /// application reads when it wants to.
    #[inline]
    pub fn wait_in_order(&mut self, now: Time, waiting: u64, by_hand: bool) -> (bool, Option<AckWait>) {
        let mut delay = self.delay;
        if delay > self.least_delay {
            let most = if self.pushed || self.interactive { MAX_DELAY_PUSHED } else { Span(2 * MAX_DELAY_PUSHED.0) };
            let rtt = self.whole((self.path_rtt.0 + self.tick).saturating_sub(1));
            delay = delay.min(most).min(self.least_delay.max(Span(rtt)));
        }
        delay = delay.min(MAX_DELAY);
        if self.until.is_set() {
            let left = self.whole(self.until.0).saturating_sub(self.whole(now.0));
            if left <= self.whole(delay.0 / 4) {
                return (true, None);
            }
            delay = delay.min(Span(left));
        }
        self.until = now + delay;
        // What was pushed is acknowledged when the application has read it, and so is what is enough: by default at once.
        let read = (waiting > self.may_wait || self.pushed_out()) && !by_hand;
        if read && self.in_blocks {
            self.reading = true;
            return (false, Some(AckWait::READ));
        }
        (read, Some(AckWait::Delayed(delay)))
    }

    /// A segment came while data is held out of order behind `nxt`. True when it is acknowledged at once.
    pub fn wait_out_of_order(&mut self, nxt: u64) -> (bool, Option<AckWait>) {
        if !self.compression || self.is_quick() || self.compressed >= MAX_COMPRESSED {
            return (true, None);
        }
        if self.uncompressed.0 != nxt {
            self.uncompressed = (nxt, 0);
        }
        if self.uncompressed.1 < UNCOMPRESSED {
            self.uncompressed.1 += 1;
            return (true, None);
        }
        self.compressed += 1;
        if std::mem::replace(&mut self.compressing, true) {
            return (false, None);
        }
        let rtt = self.window.rtt().map_or(self.path_rtt, |r| r.min(self.path_rtt));
        (false, Some(AckWait::Compressed(Span(rtt.0 / 20).min(COMPRESSION_DELAY) + COMPRESSION_SLACK)))
    }

    /// Acknowledgments of out-of-order segments are waiting.
    #[inline]
    pub fn compressing(&self) -> bool {
        self.compressed > 0
    }

    /// The timer of delayed acknowledgments expired; it is not stopped when one leaves early. True when one is due.
    pub fn on_timer(&mut self) -> bool {
        if self.compressed == 0 && self.until.is_set() {
            // An answer that does not come ends the mode.
            let longer = Span(2 * self.delay.0).min(MAX_DELAY_PUSHED);
            self.delay = if std::mem::take(&mut self.interactive) { self.least_delay.max(Span(1)) } else { longer };
            return true;
        }
        self.compressed > 0
    }

    #[inline(never)]
    fn left_with_data(&mut self, now: Time) {
        self.interactive |= now.since(self.last_data) < self.delay;
    }

    /// An acknowledgment left, on data of our own if `with_data`. `owed`: segments had come since the last. Data that leaves
    /// sooner after the last that came than an acknowledgment is delayed is an answer. False: the next data may be the first.
    #[inline]
    pub fn acknowledged(&mut self, now: Time, owed: bool, with_data: bool) -> bool {
        if self.window.keeps_low() {
            self.quick = 0;
        }
        if self.quick > 0 && owed {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.least_delay.max(Span(1));
            }
        }
        (self.pushed, self.pushed_again) = (false, false);
        self.until = Time::NEVER;
        self.compressed = 0;
        self.compressing = false;
        self.reading = false;
        if with_data {
            self.left_with_data(now);
        }
        self.interactive || self.delay == Span::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    /// Data in order at these times, microseconds, on the kernel's clock of 1 ms; the first is at once on its way.
    fn after(micros: &[u64]) -> Linux {
        let mut l = Linux::new(&Config::profile(Profile::Linux), 1448, 7);
        l.established(Time::ZERO, Span::from_micros(40_030));
        micros.iter().for_each(|&at| l.in_order(Time(at * 1000)));
        l.quick = 0;
        l
    }

    fn wait(l: &mut Linux, micros: u64) -> (bool, Option<u64>) {
        let (now, wait) = l.wait_in_order(Time(micros * 1000), 0, false);
        let length = |wait| if let AckWait::Delayed(s) = wait { s.0 / 1000 } else { 0 };
        (now, wait.map(length))
    }

    /// tcp_event_data_recv of Linux 6.12 in jiffies of 1 ms: 40/2 + 21 = 41 after a gap of 21, 41/2 + 20 = 40 after a short one.
    #[test]
    fn the_delay_is_kept_in_whole_ticks() {
        let mut l = after(&[1_000_000, 1_021_900]);
        assert_eq!(wait(&mut l, 1_021_900), (false, Some(41_000)));
        let mut l = after(&[1_000_000, 1_021_900, 1_022_900]);
        assert_eq!(wait(&mut l, 1_022_900), (false, Some(40_000)));
        // 20.4 ms that see 21 ticks of the clock, 20.9 that see 20.
        assert_eq!(wait(&mut after(&[1_000_800, 1_021_200]), 1_021_200), (false, Some(41_000)));
        assert_eq!(wait(&mut after(&[1_000_000, 1_020_900]), 1_020_900), (false, Some(40_000)));
    }

    /// The delay is bounded by the round trip in ticks, rounded up (usecs_to_jiffies): 41 of 40.03 ms, here from 20 + 30 = 50.
    #[test]
    fn the_round_trip_that_bounds_the_delay_is_rounded_up_to_a_tick() {
        assert_eq!(wait(&mut after(&[1_000_000, 1_030_000]), 1_030_000), (false, Some(41_000)));
    }

    /// tcp_send_delayed_ack: due at the tick of the first segment and 40, at once if that is 10 ticks away or nearer.
    #[test]
    fn a_second_segment_waits_no_longer_than_the_first() {
        let mut l = after(&[1_000_000, 1_000_900]);
        assert_eq!(wait(&mut l, 1_000_900), (false, Some(40_000)));
        assert_eq!(wait(&mut l, 1_010_100), (false, Some(30_000)));
        assert_eq!(wait(&mut l, 1_029_950), (false, Some(11_000)));
        assert_eq!(wait(&mut l, 1_030_000), (true, None));
    }
}
