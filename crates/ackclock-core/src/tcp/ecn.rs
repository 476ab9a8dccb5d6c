//! Explicit congestion notification: what both sides agree on (RFC 3168 §6.1.1, RFC 9768 §3.1), what the sender writes
//! into its packets and what it reads of marks. How it answers them: `recovery/reduction.rs`.
//!
//! Known deviation: the counts of RFC 9768 travel whole, 16 bits in every segment, where a header has the last three
//! and an option the rest. They can therefore never be ambiguous.

use super::config::{Config, EcnRule};
use super::segment::{flags, Segment};
use crate::cc::{Ack, EcnUse};
use crate::packet::Ecn;

/// How the peers report marks to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feedback {
    /// Not at all: packets are not ECN-capable.
    #[default]
    Off,
    /// ECE from the first mark until the sender's CWR (RFC 3168).
    Classic,
    /// ECE says whether the segments acknowledged were marked; every change is told at once (RFC 8257 §3.2).
    Dctcp,
    /// The number of marked packets is told (RFC 9768).
    Accurate,
}

impl Feedback {
    /// What this side would like.
    pub(super) fn wanted(config: &Config, controller: EcnUse) -> Feedback {
        match (config.ecn, controller) {
            (EcnRule::Accurate, _) => Feedback::Accurate,
            (_, EcnUse::Dctcp) => Feedback::Dctcp,
            (EcnRule::Classic, _) => Feedback::Classic,
            (EcnRule::Off, _) => Feedback::Off,
        }
    }

    /// Asks for it in a SYN.
    pub(super) fn ask(self, syn: &mut Segment) {
        if self == Feedback::Off {
            return;
        }
        syn.flags |= flags::ECE | flags::CWR;
        if self == Feedback::Accurate {
            syn.set_accurate_ecn();
        }
    }

    /// Tells the peer, in the answer to its SYN, what was agreed.
    pub(super) fn answer(self, syn_ack: &mut Segment) {
        syn_ack.flags |= match self {
            Feedback::Off => 0,
            Feedback::Classic | Feedback::Dctcp => flags::ECE,
            Feedback::Accurate => flags::CWR,
        };
    }

    /// What comes of this wish and the peer's SYN or SYN, ACK. Of one that can only echo, a controller that needs to
    /// tell marked segments apart still echoes every change itself.
    pub(super) fn agree(self, seg: &Segment, controller: EcnUse) -> Feedback {
        let (ece, cwr) = (seg.has(flags::ECE), seg.has(flags::CWR));
        let answer = seg.has(flags::ACK);
        let accurate = if answer { cwr && !ece } else { cwr && ece && seg.accurate_ecn() };
        let echoes = if answer { ece && !cwr } else { cwr && ece };
        match self {
            Feedback::Accurate if accurate => Feedback::Accurate,
            Feedback::Off => Feedback::Off,
            _ if echoes && controller == EcnUse::Dctcp => Feedback::Dctcp,
            _ if echoes => Feedback::Classic,
            _ => Feedback::Off,
        }
    }
}

/// What the sender knows and says of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    feedback: Feedback,
    /// Packets are ECN-capable also where RFC 3168 has them not (RFC 8257 §3.5).
    always_capable: bool,
    /// Everything below this position was sent before.
    sent: u64,
    /// Reductions of the window that CWR has announced.
    announced: u64,
    /// Marked packets that the peer has reported.
    counted: u16,
}

impl Marks {
    /// With what both sides agreed on, for this controller.
    pub fn new(feedback: Feedback, controller: EcnUse) -> Marks {
        Marks { feedback, always_capable: controller == EcnUse::Dctcp, ..Marks::default() }
    }

    /// How the peers report marks to each other.
    #[inline]
    pub fn feedback(&self) -> Feedback {
        self.feedback
    }

    /// Writes the ECN field and the CWR flag of a segment at `pos` with `len` bytes of payload, after so many
    /// `reductions` of the window. New data is ECN-capable, retransmissions, probes and bare acknowledgments are not
    /// (RFC 3168 §6.1.4 to §6.1.6); those of DCTCP are (RFC 8257 §3.5, as in Linux).
    #[cold]
    pub fn write(&mut self, pos: u64, len: u32, reductions: u64, seg: &mut Segment) {
        let new = len > 0 && pos >= self.sent;
        if new || self.always_capable {
            seg.ecn = Ecn::Ect0;
        }
        if !new {
            return;
        }
        self.sent = pos + u64::from(len);
        // RFC 3168 §6.1.2: the first new data after a reduction for whatever reason says so.
        if self.announced != reductions && self.feedback != Feedback::Accurate {
            seg.flags |= flags::CWR;
        }
        self.announced = reductions;
    }

    /// Notes in `ack` what the acknowledgment says of marks. `mss` is that of the sender, bytes.
    #[cold]
    pub fn take(&mut self, seg: &Segment, mss: u32, ack: &mut Ack) {
        if self.feedback == Feedback::Accurate {
            // An acknowledgment that was overtaken counts fewer.
            let more = seg.mss_or_marks.wrapping_sub(self.counted) as i16;
            if more > 0 {
                self.counted = seg.mss_or_marks;
                ack.ece = true;
                ack.marked = (more as u64 * u64::from(mss)).min(ack.delivered);
            }
        } else if seg.has(flags::ECE) {
            ack.ece = true;
            ack.marked = ack.delivered;
        }
    }
}
