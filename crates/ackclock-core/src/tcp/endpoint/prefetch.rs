//! Reading ahead: with a thousand connections every segment finds its connection's state in a distant cache. Who knows
//! which segment comes next has the state fetched while the present one is handled.

use super::Endpoint;

impl Endpoint {
    /// Reads a word of every cache line that a segment of data (or, `acks`, an acknowledgment of data) will touch, and
    /// returns a sum of them: it means nothing, but it must be used for the reads to be made.
    #[inline]
    pub fn prefetch(&self, acks: bool) -> u64 {
        let tcb = &self.tx.tcb;
        let lines = u64::from(self.ts_recent)
            + self.timers.bound().0
            + self.rx.nxt()
            + u64::from(self.rx.finished())
            + u64::from(tcb.iss)
            + tcb.board.una()
            + self.tx.peer.edge()
            + self.tx.pacer.gate().0;
        if acks {
            lines ^ self.tx.prefetch()
        } else {
            lines ^ self.rx.stats.delivered
        }
    }
}
