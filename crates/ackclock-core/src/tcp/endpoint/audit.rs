//! Self-checks of an endpoint, for tests and fuzzers.

use super::{Endpoint, State};
use crate::tcp::scoreboard::Known;
use crate::tcp::timers::Timer;
use crate::time::Span;

/// The timeout after a lost SYN (RFC 6298 §5.7).
const AFTER_LOST_SYN: Span = Span::from_secs(3);

impl Endpoint {
    /// Checks what must hold between any two calls. Takes time in proportion to the window.
    ///
    /// # Errors
    /// What does not hold.
    pub fn audit(&self) -> Result<(), String> {
        self.tx.tcb.board.audit()?;
        if self.timers.bound() > self.timers.earliest() {
            return Err("a timer is due before its bound".to_owned());
        }
        if self.state != State::Established {
            return Ok(());
        }
        // Every kind of repair can fail; the retransmission timer is what always remains (RFC 6298 §5.1).
        if self.tx.tcb.board.outstanding() > 0 && !self.timers.is_set(Timer::Rto) {
            return Err("data is outstanding without a retransmission timer".to_owned());
        }
        let (rto, c) = (self.tx.tcb.rtt.rto(), self.tx.config());
        let sampled = self.tx.tcb.rtt.totals().1 > 0;
        let most = if sampled { c.max_rto } else { c.max_rto.max(c.initial_rto).max(AFTER_LOST_SYN) };
        if rto > most || (sampled && rto < c.min_rto) {
            return Err(format!("RTO {rto:?} is outside {:?}..{most:?}", c.min_rto));
        }
        Ok(())
    }

    /// What the sender knows of the outstanding segment that contains stream position `pos`.
    pub fn known(&self, pos: u64) -> Option<Known> {
        self.tx.tcb.board.known(pos)
    }
}
