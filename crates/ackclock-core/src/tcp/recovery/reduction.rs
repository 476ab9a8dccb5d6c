//! The answer to marks (RFC 3168 §6.1.2, RFC 8257 §3.3): the window is reduced once per round trip, and nothing is
//! repaired. The RFCs reduce it at once, Linux as it does for a loss, with proportional rate reduction.

use super::super::control_block::ControlBlock;
use super::super::pacer::Pacer;
use super::prr::Prr;
use super::{Recovery, Repair};
use crate::cc::{Ack, EcnUse, Phase, RecoveryBy, Signal};
use crate::time::Time;

/// The window is being reduced for a mark (RFC 3168's window of data, Linux's CWR).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    active: bool,
    /// It ends when something sent from this position on is acknowledged.
    end: u64,
}

impl Reduction {
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Breaks it off; the controller's window is in force from its next decision on. True when there was one.
    pub fn stop(&mut self, tcb: &mut ControlBlock) -> bool {
        if self.active {
            tcb.congestion.release();
        }
        std::mem::take(&mut self.active)
    }
}

impl Recovery {
    /// Marks were reported. Whatever the losses turn out to be, there is congestion: no reduction is taken back.
    #[cold]
    pub fn on_echo(&mut self) {
        self.undo.stands();
    }

    /// Ends the reduction when something sent after its begin is acknowledged: so long CWR takes to reach the receiver.
    #[inline]
    pub fn end_reduction(&mut self, now: Time, tcb: &mut ControlBlock) {
        if self.reduction.active {
            self.end_active_reduction(now, tcb);
        }
    }

    #[cold]
    fn end_active_reduction(&mut self, now: Time, tcb: &mut ControlBlock) {
        if self.phase != Phase::Open {
            self.reduction.active = false;
        } else if tcb.board.una() > self.reduction.end {
            self.reduction.active = false;
            if Self::reduces_by_prr(tcb) {
                tcb.recovered(now, tcb.recovery_target());
            }
        }
    }

    /// After the repair of losses, which said whether the window may `grow`: reduces it for marks. `safe`: SND.UNA
    /// advanced and no loss was found. `flight`: what was outstanding before the acknowledgment. Returns whether it may still grow.
    #[cold]
    //= RFC 3168 §6.1.2 once-a-window
    pub fn respond_to_marks(
        &mut self,
        now: Time,
        ack: &Ack,
        (safe, grow, flight): (bool, bool, u64),
        tcb: &mut ControlBlock,
        pacer: &mut Pacer,
    ) -> bool {
        if self.phase != Phase::Open {
            return grow;
        }
        let una = tcb.board.una();
        let linux = Self::is_linux(tcb);
        // At most once per window; what was sent before the last reduction was accounted for by it.
        let fresh = if linux { una >= self.point } else { una > self.point };
        if ack.ece && !self.reduction.active && fresh {
            self.begin_reduction(now, flight, tcb, pacer);
        }
        if self.reduction.active && Self::reduces_by_prr(tcb) {
            if ack.delivered > 0 {
                self.reduce(ack.delivered, safe, tcb);
            }
            return false;
        }
        // The window does not grow on an acknowledgment that says that it is too large (RFC 3168 §6.1.2).
        grow && (!ack.ece || linux || tcb.congestion.needs().ecn == EcnUse::Accurate)
    }

    fn reduces_by_prr(tcb: &ControlBlock) -> bool {
        let needs = tcb.congestion.needs();
        Self::is_linux(tcb) && needs.recovery == RecoveryBy::Endpoint && needs.ecn != EcnUse::Accurate
    }

    fn begin_reduction(&mut self, now: Time, flight: u64, tcb: &mut ControlBlock, pacer: &mut Pacer) {
        let flight = tcb.flight_to_reduce(now, flight, false);
        let (before, mss) = (tcb.window(), u64::from(tcb.mss));
        if Self::reduces_by_prr(tcb) {
            tcb.congestion.hold();
            self.prr = Prr::new(before, tcb.config.prr);
        }
        tcb.signal(now, Signal::Ecn { flight });
        tcb.stats.ecn_reductions += 1;
        self.reduction = Reduction { active: true, end: tcb.board.nxt() };
        self.undo.stands();
        let minds = tcb.congestion.needs().ecn != EcnUse::Accurate && !tcb.congestion.recovers();
        //= RFC 3168 §6.1.2 one-segment
        if before <= mss && minds && !Self::reduces_by_prr(tcb) {
            // RFC 3168 §6.1.2: the window cannot be smaller, so the next segment waits for a retransmission timeout.
            tcb.set_window(now, mss);
            pacer.hold(now + tcb.rtt.rto());
        }
    }

    /// A loss was found while the window is being reduced for a mark: the same window is not reduced twice. True when
    /// Linux's reduction goes on as a recovery. DCTCP halves what is left (Linux; RFC 8257 §3.4).
    #[cold]
    pub(super) fn reduction_becomes_recovery(&mut self, now: Time, flight: u64, tcb: &mut ControlBlock) -> bool {
        if !self.reduction.active || !Self::reduces_by_prr(tcb) {
            return false;
        }
        self.reduction.active = false;
        if tcb.congestion.needs().ecn == EcnUse::Dctcp {
            tcb.congestion.hold();
            tcb.set_window(now, tcb.window());
            tcb.signal(now, Signal::Loss { flight });
        }
        self.begin_recovery(self.reduction.end, tcb);
        if self.repair == Repair::Sack {
            tcb.congestion.hold_at(tcb.recovery_target());
            self.forced = true;
        }
        true
    }
}
