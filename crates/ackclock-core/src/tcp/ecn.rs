//! Explicit congestion notification: what both sides agree on (RFC 3168 §6.1.1, RFC 9768 §3.1), what the sender writes
//! into its packets and what it reads of marks. How it answers them: `recovery/reduction.rs`.
//!
//! Of RFC 9768 there is what the three bits of the ACE field carry, which an implementation may do with (§3.2.3): the
//! AccECN Option, which repeats it in bytes, is not. Known deviation: the acknowledgment that ends the handshake carries
//! the count at once, and not the ECN field of the SYN, ACK (§3.2.2.1); a mark on it is in both.

use super::config::{Config, EcnRule};
use super::segment::{Segment, flags};
use crate::cc::{Ack, EcnUse, Needs};
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
            (EcnRule::Accurate, _) | (_, EcnUse::Accurate) => Feedback::Accurate,
            (_, EcnUse::Dctcp) => Feedback::Dctcp,
            (EcnRule::Classic, _) => Feedback::Classic,
            (EcnRule::Off, _) => Feedback::Off,
        }
    }

    /// Asks for it in a SYN.
    pub(super) fn ask(self, syn: &mut Segment) {
        syn.set_ace(match self {
            Feedback::Off => 0,
            Feedback::Classic | Feedback::Dctcp => 0b011,
            Feedback::Accurate => 0b111,
        });
    }

    /// Tells the peer, in the answer to its SYN, what was agreed, and if marks are counted with which ECN field the SYN
    /// came (RFC 9768 table 2).
    //= RFC 9768 §3.1 negotiation
    pub(super) fn answer(self, syn_came_with: Ecn, syn_ack: &mut Segment) {
        syn_ack.set_ace(match (self, syn_came_with) {
            (Feedback::Off, _) => 0,
            (Feedback::Classic | Feedback::Dctcp, _) => 0b001,
            (Feedback::Accurate, Ecn::NotEct) => 0b010,
            (Feedback::Accurate, Ecn::Ect1) => 0b011,
            (Feedback::Accurate, Ecn::Ect0) => 0b100,
            (Feedback::Accurate, Ecn::Ce) => 0b110,
        });
    }

    /// What comes of this wish and the peer's SYN or SYN, ACK. Of one that can only echo, a controller that needs to
    /// tell marked segments apart still echoes every change itself.
    //= RFC 3168 §6.1.1 negotiation
    pub(super) fn agree(self, seg: &Segment, controller: EcnUse) -> Feedback {
        let (accurate, echoes) = match (seg.has(flags::ACK), seg.ace()) {
            (true, 0b010 | 0b011 | 0b100 | 0b110) | (false, 0b111) => (true, !seg.has(flags::ACK)),
            (true, 0b001) | (false, 0b011) => (false, true),
            // Reserved: who counts takes it for a later form of counts (RFC 9768 §3.1.3); the answer was once that of a nonce
            // (RFC 3540), and one that echoes all the same.
            (true, 0b101) => (true, true),
            (false, 1..) => (true, false),
            _ => (false, false),
        };
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
    /// What ECN-capable packets carry.
    ect: Ecn,
    /// Packets are ECN-capable also where RFC 3168 has them not (RFC 8257 §3.5).
    always_capable: bool,
    syn_came_with: Ecn,
    /// Everything below this position was sent before.
    sent: u64,
    /// Reductions of the window that CWR has announced.
    announced: u64,
    /// Marked packets that the peer has reported, as the ACE field has them (s.cep).
    counted: u8,
}

/// What both counters of marked packets begin with (RFC 9768 §3.2.1): no field of zeros that a middlebox wrote is taken
/// for a count.
//= RFC 9768 §3.2.1 first-count
pub(super) const FIRST_COUNT: u8 = 5;
/// The largest number that the ACE field carries.
const MOST_IN_ACE: u8 = 7;

/// What the ECN-capable packets of this controller carry.
pub(super) fn codepoint(needs: &Needs) -> Ecn {
    if needs.ect1 { Ecn::Ect1 } else { Ecn::Ect0 }
}

impl Marks {
    /// With what both sides agreed on, for this controller.
    pub fn new(feedback: Feedback, needs: &Needs) -> Marks {
        // RFC 9331 §4.2: one that needs counts is not served by an echo.
        let served = needs.ecn != EcnUse::Accurate || feedback == Feedback::Accurate;
        Marks {
            feedback,
            ect: if served { codepoint(needs) } else { Ecn::NotEct },
            always_capable: needs.ecn != EcnUse::Classic,
            counted: FIRST_COUNT,
            ..Marks::default()
        }
    }

    /// The peer's SYN, or its answer to ours, came: with its own ECN field, which the answer tells, and in an answer with
    /// that of ours, of which a mark is the first that is counted.
    pub fn on_syn(&mut self, seg: &Segment) {
        self.syn_came_with = seg.ecn;
        if self.feedback == Feedback::Accurate && seg.has(flags::ACK) {
            self.counted = FIRST_COUNT + u8::from(seg.ace() == 0b110);
        }
    }

    /// The ECN field of the peer's SYN.
    pub fn syn_came_with(&self) -> Ecn {
        self.syn_came_with
    }

    /// How the peers report marks to each other.
    #[inline]
    pub fn feedback(&self) -> Feedback {
        self.feedback
    }

    /// Writes the ECN field and the CWR flag of a segment at `pos` with `len` bytes of payload, after so many
    /// `reductions` of the window. New data is ECN-capable, retransmissions, probes and bare acknowledgments are not
    /// (RFC 3168 §6.1.4 to §6.1.6); those of scalable controllers are (RFC 8257 §3.5, as in Linux).
    #[cold]
    //= RFC 3168 §6.1.4 pure-acks
    pub fn write(&mut self, pos: u64, len: u32, reductions: u64, seg: &mut Segment) {
        let new = len > 0 && pos >= self.sent;
        //= RFC 3168 §6.1.5 retransmissions
        if new || self.always_capable {
            seg.ecn = self.ect;
        }
        if !new {
            return;
        }
        self.sent = pos + u64::from(len);
        // RFC 3168 §6.1.2: the first new data after a reduction for whatever reason says so.
        //= RFC 3168 §6.1.2 cwr
        if self.announced != reductions && self.feedback != Feedback::Accurate {
            seg.flags |= flags::CWR;
        }
        self.announced = reductions;
    }

    /// Notes in `ack` what the acknowledgment says of marks. `mss` is that of the sender, bytes.
    #[cold]
    pub fn take(&mut self, seg: &Segment, mss: u32, ack: &mut Ack) {
        if self.feedback == Feedback::Accurate {
            // An acknowledgment that was overtaken counts fewer; one that brings nothing new may be such a one
            // (RFC 9768 §3.2.2.5.2).
            let more = self.reported(seg, ack.delivered.div_ceil(u64::from(mss.max(1))), ack.acked > 0);
            if more > 0 {
                ack.ece = true;
                ack.marked = (more * u64::from(mss)).min(ack.delivered);
            }
        } else if seg.has(flags::ECE) {
            ack.ece = true;
            ack.marked = ack.delivered;
        }
    }

    /// Marked packets that `seg` tells of for the first time. Of eight the field shows none: where it may have gone
    /// round it is taken to have (RFC 9768 §3.2.2.5.2, appendix A.2.1).
    //= RFC 9768 §3.2.2.5.2 wrap
    fn reported(&mut self, seg: &Segment, packets: u64, advanced: bool) -> u64 {
        if packets == 0 && !advanced {
            return 0;
        }
        let more = u64::from(seg.ace().wrapping_sub(self.counted) & MOST_IN_ACE);
        self.counted = seg.ace();
        if packets <= u64::from(MOST_IN_ACE) {
            return more;
        }
        packets - (packets - more) % (u64::from(MOST_IN_ACE) + 1)
    }
}
