//! The receiving half: reassembly, the advertised window, when to acknowledge and what to say (RFC 9293, 5681, 2018).

mod blocks;
mod ecn;
mod expected;
mod linux;
mod offer;
mod reading;
mod reassembly;
mod unread;
mod window;

use super::config::{AckPolicy, Config};
use super::intervals::IntervalSet;
use super::segment::Segment;
use crate::time::{Span, Time};
use blocks::Blocks;
use ecn::Marks;
pub use linux::AckWait;
use linux::Linux;

/// Counters of the receiving half.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStats {
    /// Payload bytes delivered to the application in order.
    pub delivered: u64,
    /// Payload bytes that arrived again.
    pub duplicate: u64,
    /// Segments that arrived out of order.
    pub out_of_order: u64,
    /// Segments with payload that arrived marked (CE) on a connection that uses ECN.
    pub ce_segments: u64,
}

/// The receiving half of an endpoint.
///
/// The fields stand in memory as they stand here: what a segment in order touches comes first, in three cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// Wire number of position 0: the peer's ISS.
    origin: u32,
    scale: u8,
    ack_now: bool,
    /// What comes in order is read at once, and no FIN is known.
    plain: bool,
    /// There are SACK blocks to write.
    blocks_due: bool,
    /// The last acknowledgment and window, and whether they still hold.
    said: (u32, u16, bool),
    /// Next position expected (RCV.NXT).
    nxt: u64,
    /// Right edge advertised: it never moves left (RFC 9293 §3.8.6).
    edge: u64,
    unacked_bytes: u64,
    last_ack_sent: u64,
    /// Bytes that are acknowledged at once; 0: any.
    ack_at: u64,
    /// State of `ack_policy` linux.
    linux: Option<Box<Linux>>,

    /// Bytes the application has not read.
    unread: u64,
    read_rate: u64,
    delay: Span,
    /// Position of the peer's FIN; `u64::MAX` while none came.
    fin_at: u64,
    buffer: u64,
    mss: u64,
    ooo_bytes: u64,
    /// Segments still acknowledged at once, without Linux's policy.
    quick: u32,
    delayed_ack: u8,
    /// The application reads by [`Receiver::read`]; otherwise everything at once.
    by_hand: bool,
    count_ooo: bool,
    /// What waited is acknowledged without the segment that came.
    flushed: bool,

    /// Counters.
    pub stats: ReceiverStats,
    ooo: IntervalSet,
    /// How long the acknowledgment may wait.
    wait: Option<AckWait>,
    /// When `unread` was true.
    read_at: Time,
    blocks: Blocks,
    marks: Marks,
    /// What is offered has a limit that nothing may round up ([`Receiver::limit_offer`]).
    limited: bool,
}

const _: () = assert!(std::mem::offset_of!(Receiver, unread) == 64 && std::mem::offset_of!(Receiver, stats) == 128);

impl Receiver {
    /// For a connection with these options.
    pub fn new(config: &Config, mss: u32) -> Receiver {
        let buffer = config.receive_buffer;
        let mut scale = 0;
        while buffer >> scale > 65_535 && scale < 14 {
            scale += 1;
        }
        let mut receiver = Receiver {
            linux: (config.ack_policy == AckPolicy::Linux).then(|| Box::new(Linux::new(config, u64::from(mss), scale))),
            delayed_ack: config.delayed_ack.min(u64::from(u8::MAX)) as u8,
            ack_at: 0,
            plain: config.app_read_rate == 0,
            quick: config.quick_acks.min(u64::from(u32::MAX)) as u32,
            delay: config.delayed_ack_timeout,
            buffer,
            count_ooo: config.window_counts_ooo,
            read_rate: config.app_read_rate,
            mss: u64::from(mss),
            origin: 0,
            nxt: 0,
            ooo: IntervalSet::default(),
            ooo_bytes: 0,
            blocks: Blocks::default(),
            blocks_due: false,
            fin_at: u64::MAX,
            edge: 0,
            scale,
            by_hand: false,
            limited: false,
            unread: 0,
            read_at: Time::ZERO,
            last_ack_sent: 0,
            said: (0, 0, false),
            unacked_bytes: 0,
            ack_now: false,
            wait: None,
            flushed: false,
            marks: Marks::default(),
            stats: ReceiverStats::default(),
        };
        receiver.set_mss(mss);
        receiver
    }

    /// The peer's SYN came: its ISS is `origin`.
    pub fn open(&mut self, origin: u32) {
        self.origin = origin;
        self.nxt = 1;
        self.last_ack_sent = 1;
        self.said.2 = false;
        self.edge = self.edge.max(1);
    }

    /// The handshake took `rtt`.
    pub fn established(&mut self, now: Time, rtt: Span) {
        if let Some(l) = &mut self.linux {
            l.established(now, rtt);
        }
    }

    /// What the header of a segment of `len` payload bytes says besides: whether it was pushed, and which timestamp of ours
    /// it echoes. True when the age of that is wanted.
    #[inline]
    pub fn on_header(&mut self, len: u32, pushed: bool, echo: u32) -> bool {
        self.ack_now |= pushed && self.linux.is_none();
        self.linux.as_mut().is_some_and(|l| {
            l.push(len, pushed);
            l.window.echoes(echo)
        })
    }

    /// The timestamp echoed is `age` old.
    pub fn on_echo(&mut self, age: Span) {
        if let Some(l) = &mut self.linux {
            l.window.on_echo(age);
        }
    }

    /// The peer sends segments of up to `mss` bytes.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = u64::from(mss);
        self.ack_at = if self.delayed_ack > 1 { u64::from(self.delayed_ack) * self.mss } else { 0 };
        if let Some(l) = &mut self.linux {
            l.set_mss(self.mss);
        }
    }

    /// A window was offered outside of an acknowledgment: in a SYN, or by assumption.
    pub fn note_promise(&mut self, window: u64) {
        self.edge = self.edge.max(1 + window);
    }

    /// Next position expected.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Wire number of [`Receiver::nxt`].
    #[inline]
    pub fn next_seq(&self) -> u32 {
        self.origin.wrapping_add(self.nxt as u32)
    }

    /// The most that it may offer, bytes.
    #[inline]
    pub fn buffer(&self) -> u64 {
        self.buffer
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
        self.nxt > self.fin_at
    }

    /// Position up to which acknowledgments were sent (Last.ACK.sent of RFC 7323).
    #[inline]
    pub fn last_ack_sent(&self) -> u64 {
        self.last_ack_sent
    }

    /// Takes the payload at `pos..pos + len`, and a FIN behind it.
    pub fn on_data(&mut self, now: Time, pos: u64, len: u32, fin: bool) {
        self.said.2 = false;
        self.read_by_rate(now);
        let end = pos + u64::from(len) + u64::from(fin);
        let outside = pos >= self.edge.max(self.nxt + 1);
        if end <= self.nxt || outside || self.contradicts_fin(pos + u64::from(len), fin) {
            return self.refuse(pos, end, len);
        }
        if fin {
            self.fin_at = pos + u64::from(len);
            self.plain = false;
        }
        if pos > self.nxt {
            self.store(pos, end);
            self.acknowledge_disorder();
            return;
        }
        if pos < self.nxt {
            self.stats.duplicate += self.nxt - pos;
            self.report_duplicate(pos, self.nxt);
            self.ack_now = true;
        }
        let from = self.nxt;
        self.nxt = end;
        let disorder = self.ooo_bytes > 0;
        let shrunk = disorder && self.linux.as_ref().is_some_and(|l| l.window.shrunk());
        if disorder {
            self.fill_gap(end);
        }
        let got = self.nxt - from;
        self.deliver(got);
        self.unacked_bytes += got;
        //= RFC 9293 §3.10.7.4 fin
        self.ack_now |= fin || self.finished();
        match &mut self.linux {
            None => {
                //= RFC 9293 §3.8.6.3 second-segment
                self.ack_now |= disorder || self.unacked_bytes >= self.ack_at || self.quick > 0;
            }
            Some(_) => self.linux_in_order(now, (from, end), disorder, shrunk),
        }
    }

    /// Data `pos..end` came again, or lies beyond the window like a probe, or behind the end of the stream: says where we are.
    #[cold]
    pub fn refuse(&mut self, pos: u64, end: u64, len: u32) {
        self.said.2 = false;
        if end <= self.nxt && end > pos {
            self.stats.duplicate += u64::from(len);
            self.report_duplicate(pos, end);
        }
        if let Some(l) = &mut self.linux {
            l.quicken();
        }
        self.ack_now = true;
    }

    /// A segment at `pos` is refused for its old timestamp (PAWS). What it brings again is reported all the same, as in
    /// Linux: an original that its own retransmission has overtaken looks like this.
    pub fn on_old_timestamp(&mut self, pos: u64, len: u64) {
        if len > 0 && pos < self.nxt {
            self.said.2 = false;
            self.report_duplicate(pos, self.nxt.min(pos + len));
        }
        self.ack_now = true;
    }

    /// Out-of-order data is acknowledged at once (RFC 5681 §4.2), or, with Linux's compression, the first few times.
    //= RFC 5681 §4.2 ack-disorder
    fn acknowledge_disorder(&mut self) {
        let nxt = self.nxt;
        let (due, wait) = match &mut self.linux {
            None => (true, None),
            // The acknowledgment of what came before takes the place of this segment's.
            Some(_) if std::mem::take(&mut self.flushed) => (true, None),
            Some(l) => l.wait_out_of_order(nxt),
        };
        self.ack_now |= due;
        self.wait = wait;
    }

    /// An acknowledgment must leave now.
    #[inline]
    pub fn wants_ack_now(&self) -> bool {
        self.ack_now
    }

    /// How long the acknowledgment of what arrived may wait, if it must not leave now.
    #[inline]
    //= RFC 9293 §3.8.6.3 ack-delay
    pub fn ack_wait(&mut self) -> Option<AckWait> {
        match self.linux {
            Some(_) => self.wait.take(),
            None => (!self.ack_now && self.unacked_bytes > 0).then_some(AckWait::Delayed(self.delay)),
        }
    }

    /// The timer of delayed acknowledgments runs on when one leaves: Linux only looks at it when it expires.
    #[inline]
    pub fn keeps_timer(&self) -> bool {
        self.linux.is_some()
    }

    /// The timer of delayed acknowledgments expired.
    pub fn on_delay_expired(&mut self) {
        self.ack_now |= self.linux.as_mut().is_none_or(|l| l.on_timer());
    }

    /// The next segment must carry an acknowledgment at once.
    pub fn request_ack(&mut self) {
        self.ack_now = true;
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
        self.read_by_rate(now);
        let promised = self.edge.saturating_sub(self.nxt);
        seg.ack = self.origin.wrapping_add(self.nxt as u32);
        seg.window = self.window_field(if scaled { self.scale } else { 0 });
        if self.blocks_due {
            self.write_blocks(seg, sack);
        }
        let owed = self.unacked_bytes > 0 || self.ack_now;
        let at_once = self.read_rate == 0 && !self.by_hand;
        let mut holds = self.read_rate == 0 && self.unread == 0 && self.ooo_bytes == 0;
        let mut reopens = false;
        match &mut self.linux {
            // The acknowledgment that ends the handshake is none of data.
            None => self.quick -= u32::from(self.quick > 0 && owed && (self.nxt > 1 || self.ooo_bytes > 0)),
            Some(l) => {
                let (unread, much) = l.window.say(promised);
                // What took room has been read when this has left, and Linux tells at once of a window twice as large.
                reopens = much && at_once && l.window.reopened(self.edge.saturating_sub(self.nxt));
                holds &= !unread;
                holds &= l.acknowledged(now, owed || l.compressing(), seg.len > 0);
            }
        }
        self.unacked_bytes = 0;
        self.ack_now = reopens && self.nxt <= self.fin_at;
        self.last_ack_sent = self.nxt;
        self.said = (seg.ack, seg.window, holds);
    }

    #[inline]
    fn write_blocks(&mut self, seg: &mut Segment, sack: bool) {
        //= RFC 2018 §2 permitted
        if sack {
            self.blocks.write(seg, self.origin);
        }
        //= RFC 2883 §4 once
        self.blocks.clear_duplicate();
        // As long as something is held out of order, its blocks are repeated.
        self.blocks_due = self.ooo_bytes > 0;
    }

    /// Bytes held out of order.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.ooo_bytes
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
