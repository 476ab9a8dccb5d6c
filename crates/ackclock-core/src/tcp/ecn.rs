//! Explicit congestion notification: what both sides agree on (RFC 3168 §6.1.1, RFC 9768 §3.1) and what the sender makes of the
//! marks that its peer reports (RFC 3168 §6.1.2, RFC 8257 §3.3).
//!
//! Known deviation: the counts of RFC 9768 travel whole, 16 bits in every segment, where a header has the last three
//! and an option the rest. They can therefore never be ambiguous.

use super::config::{Config, EcnRule, PrrRule};
use super::recovery::prr::Prr;
use super::recovery::Repair;
use super::segment::{flags, Segment};
use super::sender::{Phase, Sender};
use crate::cc::{Ack, EcnUse, RecoveryBy, Signal};
use crate::packet::Ecn;
use crate::time::Time;

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

/// The sender's part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub feedback: Feedback,
    /// The window is being reduced for a mark: until something sent after `end` is acknowledged.
    pub reducing: bool,
    end: u64,
    /// Everything below this position was sent before.
    sent: u64,
    /// Reductions of the window that the peer was told of.
    told: u64,
    /// Marked packets that the peer has reported.
    counted: u16,
}

impl Sender {
    /// Writes the ECN field and the CWR flag of a segment at `pos` with `len` bytes of payload. New data is
    /// ECN-capable, retransmissions, probes and bare acknowledgments are not (RFC 3168 §6.1.4 to §6.1.6); those of
    /// DCTCP are (RFC 8257 §3.5, as in Linux).
    #[cold]
    pub(super) fn write_ecn(&mut self, pos: u64, len: u32, seg: &mut Segment) {
        let new = len > 0 && pos >= self.marks.sent;
        if new || self.needs.ecn == EcnUse::Dctcp {
            seg.ecn = Ecn::Ect0;
        }
        if !new {
            return;
        }
        self.marks.sent = pos + u64::from(len);
        // RFC 3168 §6.1.2: the first new data after a reduction for whatever reason says so.
        let s = &self.stats;
        let reductions = s.recoveries + s.timeouts + s.tlp_recoveries + s.ecn_reductions;
        if self.marks.told != reductions && self.marks.feedback != Feedback::Accurate {
            seg.flags |= flags::CWR;
        }
        self.marks.told = reductions;
    }

    /// Notes in `ack` what the acknowledgment says of marks.
    #[cold]
    pub(super) fn take_marks(&mut self, seg: &Segment, ack: &mut Ack) {
        if self.marks.feedback == Feedback::Accurate {
            // An acknowledgment that was overtaken counts fewer.
            let more = seg.mss_or_marks.wrapping_sub(self.marks.counted) as i16;
            if more > 0 {
                self.marks.counted = seg.mss_or_marks;
                ack.ece = true;
                ack.marked = (more as u64 * u64::from(self.mss)).min(ack.delivered);
            }
        } else if seg.has(flags::ECE) {
            ack.ece = true;
            ack.marked = ack.delivered;
        }
        self.stats.marked_bytes += ack.marked;
        if ack.ece {
            // Whatever the losses turn out to be, there is congestion: no reduction is taken back.
            self.episode.stands();
        }
    }

    /// Ends the reduction when something sent after its begin is acknowledged: so long CWR takes to reach the receiver.
    #[cold]
    pub(super) fn end_reduction(&mut self, now: Time) {
        if self.phase != Phase::Open {
            self.marks.reducing = false;
        } else if self.board.una() > self.marks.end {
            self.marks.reducing = false;
            if self.reduces_by_prr() {
                let ssthresh = self.control.ssthresh;
                self.with_cc(now, |cc, cx| cc.on_recovered(cx, ssthresh));
                self.window = self.control.cwnd;
            }
        }
    }

    /// After the repair of losses, which said whether the window may `grow`: reduces it for marks. Returns whether it
    /// may still grow.
    #[cold]
    pub(super) fn respond_to_marks(&mut self, now: Time, ack: &Ack, advanced: bool, safe: bool, grow: bool) -> bool {
        if self.phase != Phase::Open {
            return grow;
        }
        let una = self.board.una();
        let linux = self.config.prr == PrrRule::Linux;
        // At most once per window; what was sent before the last reduction was accounted for by it.
        let fresh = if linux { una >= self.recover } else { una > self.recover };
        if ack.ece && !self.marks.reducing && fresh {
            self.begin_reduction(now, ack);
        }
        if self.marks.reducing && self.reduces_by_prr() {
            if ack.delivered > 0 {
                let (pipe, ssthresh, mss) = (self.board.pipe(), self.control.ssthresh, u64::from(self.mss));
                self.window = self.prr.on_ack(ack.delivered, pipe, ssthresh, advanced && safe, mss);
            }
            return false;
        }
        // The window does not grow on an acknowledgment that says that it is too large (RFC 3168 §6.1.2).
        grow && (!ack.ece || linux)
    }

    /// Linux reduces for a mark as it does for a loss, with PRR; the RFCs do at once.
    fn reduces_by_prr(&self) -> bool {
        self.config.prr == PrrRule::Linux && self.needs.recovery == RecoveryBy::Endpoint
    }

    fn begin_reduction(&mut self, now: Time, ack: &Ack) {
        let flight = self.board.outstanding() + ack.acked;
        let flight = self.before_reduction(now, flight, false);
        let before = self.window;
        let mss = u64::from(self.mss);
        self.with_cc(now, |cc, cx| cc.on_congestion(cx, Signal::Ecn { flight }));
        self.stats.ecn_reductions += 1;
        self.marks.reducing = true;
        self.marks.end = self.board.nxt();
        self.episode.stands();
        if self.reduces_by_prr() {
            self.prr = Prr::new(before, self.config.prr);
            return;
        }
        if before <= mss && self.needs.recovery != RecoveryBy::Controller {
            // RFC 3168 §6.1.2: the window cannot be smaller, so the next segment waits for a retransmission timeout.
            self.with_cc(now, |cc, cx| cc.set_window(cx, mss));
            self.pacer.hold(now + self.rtt.rto());
        }
        self.window = self.control.cwnd;
    }

    /// A loss was found while the window is being reduced for a mark: the same window is not reduced twice. True when
    /// Linux's reduction goes on as a recovery. DCTCP halves what is left (Linux; RFC 8257 §3.4).
    #[cold]
    pub(super) fn reduction_becomes_recovery(&mut self, now: Time, flight: u64) -> bool {
        if !self.marks.reducing || !self.reduces_by_prr() {
            return false;
        }
        self.marks.reducing = false;
        if self.needs.ecn == EcnUse::Dctcp {
            let window = self.window;
            self.with_cc(now, |cc, cx| cc.set_window(cx, window));
            self.with_cc(now, |cc, cx| cc.on_congestion(cx, Signal::Loss { flight }));
        }
        self.stats.recoveries += 1;
        self.phase = Phase::Recovery;
        self.recover = self.marks.end;
        self.rescued = false;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.board.begin_recovery();
        if self.repair == Repair::Sack {
            self.window = self.control.ssthresh;
            self.force = true;
        }
        true
    }

    /// Tells the controller of losses, unless a mark has just reduced the window for this flight.
    #[cold]
    pub(super) fn signal_loss(&mut self, now: Time, flight: u64) {
        if std::mem::take(&mut self.marks.reducing) && self.needs.ecn != EcnUse::Dctcp {
            return;
        }
        let flight = self.before_reduction(now, flight, true);
        self.with_cc(now, |cc, cx| cc.on_congestion(cx, Signal::Loss { flight }));
    }
}
