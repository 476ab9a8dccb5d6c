//! The receiving half: reassembly, the advertised window, when to acknowledge and what to say (RFC 9293, 5681, 2018).

use super::config::{AckPolicy, Config};
use super::intervals::IntervalSet;
use super::segment::{SackBlock, Segment, MAX_SACK_BLOCKS};
use crate::time::{Span, Time};

/// Longest delay of Linux's adaptive delayed acknowledgment.
const LINUX_MAX_DELAY: Span = Span::from_millis(200);
/// Linux: out-of-order segments acknowledged at once before their acknowledgments are compressed.
const UNCOMPRESSED: u32 = 3;
/// Linux: most acknowledgments put off.
const MAX_COMPRESSED: u32 = 44;
/// Linux: longest delay of a compressed acknowledgment, and the slack of its timer.
const COMPRESSION_DELAY: Span = Span::from_millis(1);
const COMPRESSION_SLACK: Span = Span::from_micros(100);

/// Counters of the receiving half.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStats {
    /// Payload bytes delivered to the application in order.
    pub delivered: u64,
    /// Payload bytes that arrived again.
    pub duplicate: u64,
    /// Segments that arrived out of order.
    pub out_of_order: u64,
}

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: AckPolicy,
    delayed_ack: u64,
    delay: Span,
    buffer: u64,
    count_ooo: bool,
    read_rate: u64,
    mss: u64,
    /// Wire number of position 0: the peer's ISS.
    origin: u32,
    /// Next position expected (RCV.NXT).
    nxt: u64,
    ooo: IntervalSet,
    ooo_bytes: u64,
    /// Intervals to report, most recent first (RFC 2018 §4).
    recent: [(u64, u64); MAX_SACK_BLOCKS],
    /// Duplicate data to report first (RFC 2883).
    dsack: Option<(u64, u64)>,
    fin_at: Option<u64>,
    /// Right edge advertised: it never moves left (RFC 9293 §3.8.6).
    edge: u64,
    scale: u8,
    /// Bytes the application has not read, and when that was true.
    unread: u64,
    read_at: Time,
    last_ack_sent: u64,
    /// The last acknowledgment and window, and whether they still hold.
    said: (u32, u16, bool),
    unacked_bytes: u64,
    ack_now: bool,
    /// Linux: acknowledgments still to be sent at once, how far the offered window has opened, and how far it opens
    /// with the data received (which asks for an acknowledgment of every segment).
    quick: u64,
    offered: u64,
    offered_limit: u64,
    /// Linux: out-of-order acknowledgments at this `nxt` sent at once, and put off.
    uncompressed: (u64, u32),
    compressed: u32,
    compression: bool,
    path_rtt: Span,
    interval: Span,
    last_data: Option<Time>,
    /// Counters.
    pub stats: ReceiverStats,
}

impl Receiver {
    /// For a connection with these options.
    pub fn new(config: &Config, mss: u32) -> Receiver {
        let buffer = config.receive_buffer;
        let mut scale = 0;
        while buffer >> scale > 65_535 && scale < 14 {
            scale += 1;
        }
        Receiver {
            policy: config.ack_policy,
            delayed_ack: config.delayed_ack,
            delay: config.delayed_ack_timeout,
            buffer,
            count_ooo: config.window_counts_ooo,
            read_rate: config.app_read_rate,
            mss: u64::from(mss),
            origin: 0,
            nxt: 0,
            ooo: IntervalSet::default(),
            ooo_bytes: 0,
            recent: [(0, 0); MAX_SACK_BLOCKS],
            dsack: None,
            fin_at: None,
            edge: 0,
            scale,
            unread: 0,
            read_at: Time::ZERO,
            last_ack_sent: 0,
            said: (0, 0, false),
            unacked_bytes: 0,
            ack_now: false,
            quick: config.quick_acks,
            // A window below what the field can express would be none.
            offered: config.initial_receive_window.max(1 << scale).min(buffer),
            offered_limit: config.window_growth_limit.min(buffer),
            uncompressed: (0, 0),
            compressed: 0,
            compression: config.ack_compression,
            path_rtt: Span::ZERO,
            interval: Span::ZERO,
            last_data: None,
            stats: ReceiverStats::default(),
        }
    }

    /// The peer's SYN came: its ISS is `origin`.
    pub fn open(&mut self, origin: u32) {
        self.origin = origin;
        self.nxt = 1;
        self.last_ack_sent = 1;
        self.said.2 = false;
        self.edge = self.edge.max(1);
    }

    /// The peer sends segments of up to `mss` bytes.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = u64::from(mss);
    }

    /// A window was offered outside of an acknowledgment: in a SYN, or by assumption.
    pub fn note_promise(&mut self, window: u64) {
        self.edge = self.edge.max(1 + window);
    }

    /// The handshake's round-trip time, which bounds the compression of acknowledgments.
    pub fn set_path_rtt(&mut self, rtt: Span) {
        self.path_rtt = rtt;
    }

    /// Next position expected.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Right edge advertised so far.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// The window scale to offer.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Wire number of position 0.
    #[inline]
    pub fn origin(&self) -> u32 {
        self.origin
    }

    /// The peer closed and everything before its FIN was delivered.
    pub fn finished(&self) -> bool {
        self.fin_at.is_some_and(|f| self.nxt > f)
    }

    /// Position up to which acknowledgments were sent (Last.ACK.sent of RFC 7323).
    #[inline]
    pub fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }

    /// Takes the payload at `pos..pos + len`, and a FIN behind it.
    pub fn on_data(&mut self, now: Time, pos: u64, len: u32, fin: bool) {
        self.said.2 = false;
        self.read(now);
        if fin {
            self.fin_at = Some(pos + u64::from(len));
        }
        let end = pos + u64::from(len) + u64::from(fin);
        if self.policy == AckPolicy::Linux {
            self.linux_event(now);
        }
        if end <= self.nxt || pos >= self.edge.max(self.nxt + 1) {
            // Duplicate, or a probe beyond the window: say where we are.
            if end <= self.nxt && end > pos {
                self.stats.duplicate += u64::from(len);
                self.dsack = Some((pos, end));
            }
            self.ack_now = true;
            return;
        }
        if pos > self.nxt {
            self.store(pos, end);
            self.open_window(end - pos);
            self.acknowledge_disorder();
            return;
        }
        if pos < self.nxt {
            self.stats.duplicate += self.nxt - pos;
            self.dsack = Some((pos, self.nxt));
            self.ack_now = true;
        }
        let from = self.nxt;
        self.nxt = end;
        self.open_window(end - from);
        if !self.ooo.is_empty() {
            self.fill_gap(end);
            self.ack_now = true;
        }
        let got = self.nxt - from;
        self.deliver(got);
        self.unacked_bytes += got;
        self.ack_now |= fin || self.finished() || self.should_ack();
    }

    /// Linux: each new segment opens the offered window by twice its size up to a limit, and whenever it opens the
    /// sender is told at once.
    #[inline]
    fn open_window(&mut self, bytes: u64) {
        if self.policy == AckPolicy::Linux && self.offered < self.offered_limit {
            self.offered = (self.offered + 2 * bytes).min(self.offered_limit);
            self.quick |= 1;
            if self.offered == self.offered_limit {
                // Beyond the limit Linux enlarges the buffer itself as the flow needs it.
                self.offered = self.buffer;
            }
        }
    }

    /// Out-of-order data is acknowledged at once (RFC 5681 §4.2), or, with Linux's compression, the first few times.
    fn acknowledge_disorder(&mut self) {
        if !self.compression || self.quick > 0 {
            self.ack_now = true;
            return;
        }
        if self.uncompressed.0 != self.nxt {
            self.uncompressed = (self.nxt, 0);
        }
        if self.uncompressed.1 < UNCOMPRESSED {
            self.uncompressed.1 += 1;
            self.ack_now = true;
        } else {
            self.compressed += 1;
            self.ack_now = self.compressed > MAX_COMPRESSED;
        }
    }

    fn store(&mut self, pos: u64, end: u64) {
        self.stats.out_of_order += 1;
        let mut new = 0;
        // A FIN is no payload.
        let fin_again = self.fin_at.is_some_and(|f| f + 1 == end && self.ooo.covers(f, end));
        let merged = self.ooo.insert(pos, end, |a, b| new += b - a);
        if new < end - pos {
            self.stats.duplicate += end - pos - new - u64::from(fin_again);
            self.dsack = Some((pos, end));
        }
        self.ooo_bytes += new;
        self.report_first(merged);
    }

    /// Moves `range` to the front of what is reported; what it swallowed goes.
    fn report_first(&mut self, range: (u64, u64)) {
        let mut keep = [(0, 0); MAX_SACK_BLOCKS];
        keep[0] = range;
        let others = self.recent.iter().filter(|r| r.1 > r.0 && (r.1 < range.0 || range.1 < r.0));
        for (slot, r) in keep[1..].iter_mut().zip(others) {
            *slot = *r;
        }
        self.recent = keep;
    }

    fn fill_gap(&mut self, end: u64) {
        // One segment can reach over several islands and up to another.
        while let Some((start, stop)) = self.ooo.get(0).filter(|island| island.0 <= self.nxt) {
            let again = stop.min(end) - start;
            self.stats.duplicate += again - u64::from(self.fin_at.is_some_and(|f| f + 1 == start + again));
            self.nxt = self.nxt.max(stop);
            self.ooo_bytes -= stop - start;
            self.ooo.trim_below(self.nxt);
        }
        let nxt = self.nxt;
        self.recent.iter_mut().filter(|r| r.1 <= nxt).for_each(|r| *r = (0, 0));
        let mut keep = [(0, 0); MAX_SACK_BLOCKS];
        for (slot, r) in keep.iter_mut().zip(self.recent.iter().filter(|r| r.1 > r.0)) {
            *slot = *r;
        }
        self.recent = keep;
    }

    fn deliver(&mut self, bytes: u64) {
        let payload = bytes - u64::from(self.finished() && bytes > 0 && self.fin_at.is_some_and(|f| self.nxt == f + 1));
        self.stats.delivered += payload;
        if self.read_rate > 0 {
            self.unread += payload;
        }
    }

    /// The application reads what its rate allows.
    fn read(&mut self, now: Time) {
        if self.read_rate == 0 || self.unread == 0 {
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

    #[inline]
    fn should_ack(&self) -> bool {
        match self.policy {
            AckPolicy::Rfc => {
                self.quick > 0 || self.delayed_ack <= 1 || self.unacked_bytes >= self.delayed_ack * self.mss
            }
            AckPolicy::Linux => self.quick > 0 || self.unacked_bytes > (self.delayed_ack - 1) * self.mss,
        }
    }

    /// Tracks the time between data segments, which Linux's delayed acknowledgment follows.
    fn linux_event(&mut self, now: Time) {
        if let Some(last) = self.last_data {
            let gap = now.since(last);
            let half_min = Span(self.delay.0 / 2);
            if gap <= half_min {
                self.interval = Span(self.interval.0 / 2 + half_min.0);
            } else if gap < self.interval {
                self.interval = Span(self.interval.0 / 2 + gap.0);
            }
        } else {
            self.interval = self.delay;
        }
        self.last_data = Some(now);
    }

    /// An acknowledgment must leave now.
    #[inline]
    pub fn wants_ack_now(&self) -> bool {
        self.ack_now
    }

    /// When what arrived must be acknowledged at the latest, counted from now.
    #[inline]
    pub fn ack_delay(&self) -> Option<Span> {
        if self.ack_now {
            return None;
        }
        if self.compressed > 0 {
            return Some(Span(self.path_rtt.0 / 20).min(COMPRESSION_DELAY) + COMPRESSION_SLACK);
        }
        (self.unacked_bytes > 0).then(|| match self.policy {
            AckPolicy::Rfc => self.delay,
            AckPolicy::Linux => self.interval.min(LINUX_MAX_DELAY).max(self.delay),
        })
    }

    /// The next segment must carry an acknowledgment at once.
    pub fn request_ack(&mut self) {
        self.ack_now = true;
    }

    /// Room the peer may use beyond what arrived, bytes.
    fn free(&self) -> u64 {
        let used = self.unread + if self.count_ooo { self.ooo_bytes } else { 0 };
        let room = self.buffer.saturating_sub(used);
        match self.policy {
            AckPolicy::Linux => room.min(self.offered),
            AckPolicy::Rfc => room,
        }
    }

    /// Least step of the right edge (RFC 9293 §3.8.6.2.2): a segment, or half of the room where that is less, but what
    /// the window field can express.
    fn step(&self) -> u64 {
        let room = match self.policy {
            AckPolicy::Linux => self.offered,
            AckPolicy::Rfc => self.buffer,
        };
        (room / 2).min(self.mss).max(1 << self.scale)
    }

    /// The application has freed enough room for a window update (RFC 9293 §3.8.6.2.2), or when it will have.
    pub fn window_update_due(&mut self, now: Time) -> Option<Time> {
        if self.read_rate == 0 || self.unread == 0 {
            return None;
        }
        self.read(now);
        let offered = self.edge.saturating_sub(self.nxt);
        let missing = (offered + self.step()).saturating_sub(self.free());
        if offered >= self.step() {
            return None;
        }
        let wait = u128::from(missing) * 1_000_000_000 / u128::from(self.read_rate);
        Some(Time(self.read_at.0.max(now.0) + wait as u64 + u64::from(missing > 0)))
    }

    /// Writes acknowledgment, window and SACK blocks into `seg` and notes that they left.
    #[inline]
    pub fn acknowledge(&mut self, now: Time, seg: &mut Segment, sack: bool, scaled: bool) {
        if self.said.2 {
            // Nothing arrived since: a sender of data repeats itself.
            (seg.ack, seg.window) = (self.said.0, self.said.1);
            self.ack_now = false;
            return;
        }
        self.say(now, seg, sack, scaled);
    }

    fn say(&mut self, now: Time, seg: &mut Segment, sack: bool, scaled: bool) {
        self.read(now);
        seg.ack = self.origin.wrapping_add(self.nxt as u32);
        seg.window = self.window_field(if scaled { self.scale } else { 0 });
        if sack {
            let room = if seg.has_timestamps() { 3 } else { MAX_SACK_BLOCKS };
            let wire = |(a, b): (u64, u64)| SackBlock {
                start: self.origin.wrapping_add(a as u32),
                end: self.origin.wrapping_add(b as u32),
            };
            let mut left = room;
            if let Some(d) = self.dsack {
                seg.push_sack(wire(d));
                left -= 1;
            }
            for r in self.recent.iter().take(left).take_while(|r| r.1 > r.0) {
                seg.push_sack(wire(*r));
            }
        }
        self.dsack = None;
        if self.unacked_bytes > 0 || self.ack_now || self.compressed > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        self.unacked_bytes = 0;
        self.compressed = 0;
        self.ack_now = false;
        self.last_ack_sent = self.nxt;
        self.said = (seg.ack, seg.window, self.read_rate == 0 && self.ooo.is_empty());
    }

    /// The window field; moves the right edge, never to the left.
    fn window_field(&mut self, scale: u8) -> u16 {
        let free = self.free();
        let promised = self.edge.saturating_sub(self.nxt);
        // Silly window avoidance: no small steps of the edge (RFC 9293 §3.8.6.2.2).
        let small = free < promised + self.step();
        // Rounded down to the scale, but never below what was promised.
        let field = if (free >> scale) << scale >= promised && !small {
            free >> scale
        } else {
            (promised + (1 << scale) - 1) >> scale
        };
        let field = field.min(65_535);
        self.edge = self.edge.max(self.nxt + (field << scale));
        field as u16
    }

    /// Bytes held out of order.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.ooo_bytes
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
