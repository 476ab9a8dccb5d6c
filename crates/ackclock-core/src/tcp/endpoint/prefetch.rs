//! Reading ahead: with a thousand connections every segment finds its connection's state in a distant cache. Who knows
//! which segment comes next has the state fetched while the present one is handled.

use super::Endpoint;

impl Endpoint {
    /// Reads a word of every cache line that a segment of data (or, `acks`, an acknowledgment of data) will touch, and
    /// returns a sum of them: it means nothing, but it must be used for the reads to be made.
    #[inline]
    pub fn prefetch(&self, acks: bool) -> u64 {
        let tx = &self.tx;
        let lines =
            u64::from(self.ts_recent) ^ self.timers.bound().0 ^ self.rx.nxt() ^ tx.tcb.board.una() ^ tx.peer.edge();
        if acks {
            lines ^ tx.prefetch()
        } else {
            lines ^ u64::from(self.rx.finished()) ^ self.rx.stats.delivered
        }
    }
}
