//! What is counted of a direction.

use super::packing::Coder;
use std::ops::{Deref, DerefMut};

/// What is counted of every direction; and [`Rare`], whose fields are those of this too.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Of the data: acknowledgments while some were out.
    pub acks: u64,
    /// Packets of the other end with nothing but an acknowledgment.
    pub pure_acks: u64,
    rwnd: Rwnd,
    rare: Rare,
}

/// Smallest and largest window that was left, bytes: never more than the widest, 2^30. Before the first the smallest is larger.
#[derive(Clone, Copy, Debug)]
struct Rwnd {
    least: u32,
    most: u32,
}

impl Default for Rwnd {
    fn default() -> Rwnd {
        Rwnd { least: u32::MAX, most: 0 }
    }
}

/// What is counted of a direction with data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// Packets with payload.
    pub packets: u64,
    /// Of these, larger than a segment.
    pub super_packets: u64,
    /// Payload.
    pub sent_bytes: u64,
    /// In segments.
    pub sent_segments: u64,
    /// Largest flight, bytes.
    pub max_in_flight: u64,
    /// Integral of the flight, byte ns, and time with data out, ns.
    pub flight: (f64, i64),
}

impl Volume {
    /// Nothing.
    pub const NONE: Volume =
        Volume { packets: 0, super_packets: 0, sent_bytes: 0, sent_segments: 0, max_in_flight: 0, flight: (0.0, 0) };

    /// All of it. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C) {
        let Volume { packets, super_packets, sent_bytes, sent_segments, max_in_flight, flight } = self;
        c.words([packets, super_packets, sent_bytes, sent_segments, max_in_flight]);
        c.float(&mut flight.0);
        c.time(&mut flight.1, 0);
    }
}

/// What is counted of few.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rare {
    /// Bytes acknowledged that never passed.
    pub missed_bytes: u64,
    /// Packets with payload and the mark CE.
    pub marked: u64,
    /// Packets with options cut off.
    pub options_cut: u64,
    /// Packets earlier than one before.
    pub time_back: u64,
    /// More holes, ranges or cuts than are kept.
    pub irregular: bool,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// In segments, by cause: rto, rto_recovery, tlp, fast, unknown.
    pub retransmitted: [u64; 5],
    /// Retransmissions with new data behind the old.
    pub partial: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts whose first retransmission was needless.
    pub spurious_timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Tail loss probes that resend.
    pub tlp_probes: u64,
    /// Tail loss probes that look like a timeout.
    pub ambiguous: u64,
    /// Needless segments.
    pub spurious_segments: u64,
    /// Segments that were overtaken.
    pub reordered_segments: u64,
    /// By how much at most, ns.
    pub max_reorder: i64,
    /// Bytes that a later segment passed before.
    pub gap_bytes: u64,
    /// Acknowledgments of what had not passed.
    pub ack_unseen: u64,
    /// Copies of packets.
    pub duplicate_packets: u64,
    /// Keepalives.
    pub keepalives: u64,
    /// Probes of a closed window.
    pub probes: u64,
    /// SYN again.
    pub syn_retransmissions: u64,
    /// FIN again.
    pub fin_retransmissions: u64,
    /// Far from what was expected.
    pub stray: u64,
    /// Duplicates.
    pub dup_acks: u64,
    /// DSACK blocks.
    pub dsacks: u64,
    /// Acknowledgments that only moved the window.
    pub window_updates: u64,
    /// How often the window closed.
    pub zero_windows: u64,
    /// For how long, ns.
    pub zero_window: i64,
}

impl Rare {
    /// All of it. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C) {
        let mut any = !C::READS && *self != Rare::default();
        c.flags([&mut any]);
        if !any {
            if C::READS {
                *self = Rare::default();
            }
            return;
        }
        let Rare {
            missed_bytes,
            marked,
            options_cut,
            time_back,
            irregular,
            retransmitted_bytes,
            retransmitted,
            partial,
            timeouts,
            spurious_timeouts,
            recoveries,
            tlp_probes,
            ambiguous,
            spurious_segments,
            reordered_segments,
            max_reorder,
            gap_bytes,
            ack_unseen,
            duplicate_packets,
            keepalives,
            probes,
            syn_retransmissions,
            fin_retransmissions,
            stray,
            dup_acks,
            dsacks,
            window_updates,
            zero_windows,
            zero_window,
        } = self;
        c.flags([irregular]);
        c.words(retransmitted.each_mut());
        c.words([missed_bytes, marked, options_cut, time_back, retransmitted_bytes, partial, timeouts]);
        c.words([spurious_timeouts, recoveries, tlp_probes, ambiguous, spurious_segments]);
        c.words([reordered_segments, gap_bytes, ack_unseen, duplicate_packets, keepalives, probes]);
        c.words([syn_retransmissions, fin_retransmissions, stray, dup_acks, dsacks, window_updates]);
        c.word(zero_windows);
        c.time(max_reorder, 0);
        c.time(zero_window, 0);
    }
}

impl Deref for Counts {
    type Target = Rare;

    #[inline]
    fn deref(&self) -> &Rare {
        &self.rare
    }
}

impl DerefMut for Counts {
    #[inline]
    fn deref_mut(&mut self) -> &mut Rare {
        &mut self.rare
    }
}

impl Counts {
    /// All of it. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C) {
        let Counts { acks, pure_acks, rwnd: Rwnd { least, most }, rare } = self;
        c.word(acks);
        c.word(pure_acks);
        c.int(most);
        c.int_near(least, *most);
        rare.code(c);
    }

    /// The window leaves room for `left` bytes.
    #[inline]
    pub fn leave(&mut self, left: u64) {
        let left = left.min(u64::from(u32::MAX - 1)) as u32;
        self.rwnd = Rwnd { least: self.rwnd.least.min(left), most: self.rwnd.most.max(left) };
    }

    /// Smallest and largest room that was left, bytes.
    #[inline]
    pub fn rwnd(&self) -> Option<(u64, u64)> {
        let Rwnd { least, most } = self.rwnd;
        (least <= most).then_some((u64::from(least), u64::from(most)))
    }

    /// All retransmitted segments.
    pub fn retransmitted_segments(&self) -> u64 {
        self.retransmitted.iter().sum()
    }
}
