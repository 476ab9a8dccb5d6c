//! F-RTO with SACK (P. Sarolahti, M. Kojo, K. Yamamoto, M. Hata, *Forward RTO-Recovery*, RFC 5682 §3, 2009): after a
//! timeout the first acknowledgment that advances lets new data out instead of the rest of the window again. What is
//! acknowledged then tells a lost flight from a late one.

use super::super::control_block::ControlBlock;
use super::super::scoreboard::Delivery;
use super::{AckEvent, Recovery};
use crate::cc::Phase;
use crate::time::Time;

/// The state of F-RTO.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    on: bool,
    /// When the present step began, while it runs.
    since: Option<Time>,
}

impl Frto {
    /// `on`: it is used at all.
    pub fn new(on: bool) -> Frto {
        Frto { on, since: None }
    }

    /// The repair of a timeout from `phase` begins; `again`: the same segment timed out before. RFC 5682 §3.1 step 1
    /// and §3.2: not when a recovery was under way.
    //= RFC 5682 §3.1 step-1
    pub fn begin(&mut self, now: Time, phase: Phase, again: bool) {
        let calm = matches!(phase, Phase::Open | Phase::Disorder | Phase::Reduction);
        self.since = (self.on && (calm || again)).then_some(now);
    }

    /// It has come to an end.
    pub fn end(&mut self) {
        self.since = None;
    }
}

impl Recovery {
    /// An acknowledgment while a timeout is being repaired: was the timeout spurious, and what leaves next?
    pub(super) fn repair_timeout(&mut self, e: &AckEvent<'_>, d: &Delivery, tcb: &mut ControlBlock) {
        if e.advanced && self.undo_timeout(e, false, tcb) {
            return;
        }
        let Some(since) = self.frto.since else { return };
        //= RFC 5682 §3.1 step-3
        // Step 3.b: something sent once, before the timeout, has arrived.
        let before = |sent: Option<(Time, Time)>| sent.is_some_and(|(first, _)| first < since);
        if (before(d.ack_xmit) || before(d.sack_xmit)) && self.undo_timeout(e, true, tcb) {
            return;
        }
        let (una, nxt) = (tcb.board.una(), tcb.board.nxt());
        if nxt > self.point {
            if d.sacked > 0 || e.duplicate {
                // Step 3.a: the new data arrived and the old did not.
                self.frto.end();
            }
        } else if e.advanced && una < self.point {
            //= RFC 5682 §3.1 step-2
            // Step 2.b: up to two new segments, or, without any, the conventional repair.
            self.point = nxt;
            self.repairs_wait = !e.stream.exhausted(nxt) && nxt < e.peer.edge();
            self.frto.since = self.repairs_wait.then_some(e.now);
        }
    }

    /// F-RTO let nothing new out: what is lost is sent again after all. True when that changes what may leave.
    pub fn end_frto_step(&mut self, nxt: u64) -> bool {
        if !self.repairs_wait || self.phase != Phase::Loss || nxt > self.point {
            return false;
        }
        self.repairs_wait = false;
        self.frto.end();
        true
    }
}
