//! F-RTO with SACK (P. Sarolahti, M. Kojo, K. Yamamoto, M. Hata, *Forward RTO-Recovery*, RFC 5682 §3, 2009): after a
//! timeout the first acknowledgment that advances lets new data out instead of the rest of the window again. What is
//! acknowledged then tells a lost flight from a late one.

use super::super::input::AckEvent;
use super::super::scoreboard::Delivery;
use super::super::sender::{Phase, Sender};
use crate::time::Time;

impl Sender {
    /// The repair of a timeout from `phase` begins; `again`: the same segment timed out before. RFC 5682 §3.1 step 1
    /// and §3.2: not when a recovery was under way.
    pub(in super::super) fn begin_frto(&mut self, now: Time, phase: Phase, again: bool) {
        let calm = matches!(phase, Phase::Open | Phase::Disorder | Phase::Reduction);
        self.frto = (self.config.frto && self.repairs_selectively() && (calm || again)).then_some(now);
    }

    /// An acknowledgment while a timeout is being repaired: was the timeout spurious, and what leaves next?
    pub(in super::super) fn repair_timeout(&mut self, e: &AckEvent<'_>, d: &Delivery) {
        if e.advanced && self.undo_timeout(e, false) {
            return;
        }
        let Some(since) = self.frto else { return };
        // Step 3.b: something sent once, before the timeout, has arrived.
        let before = |sent: Option<(Time, Time)>| sent.is_some_and(|(first, _)| first < since);
        if (before(d.ack_xmit) || before(d.sack_xmit)) && self.undo_timeout(e, true) {
            return;
        }
        if self.board.nxt() > self.recover {
            if d.sacked > 0 || e.duplicate {
                // Step 3.a: the new data arrived and the old did not.
                self.frto = None;
            }
        } else if e.advanced && self.board.una() < self.recover {
            // Step 2.b: up to two new segments, or, without any, the conventional repair.
            self.recover = self.board.nxt();
            let (len, fin) = self.available();
            let room = self.board.nxt() < self.peer_edge;
            self.hold = (len > 0 || fin) && room;
            self.frto = self.hold.then_some(e.now);
        }
    }

    /// F-RTO let nothing new out: what is lost is sent again after all. True when that changes what may leave.
    pub(in super::super) fn end_hold(&mut self) -> bool {
        if !self.hold || self.phase != Phase::Loss || self.board.nxt() > self.recover {
            return false;
        }
        self.hold = false;
        self.frto = None;
        true
    }
}
