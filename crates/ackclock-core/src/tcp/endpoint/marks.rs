//! Congestion marks where the two halves meet; not in the way of connections without ECN.

use super::Endpoint;
use crate::tcp::output::Output;
use crate::tcp::segment::{Segment, flags};

impl Endpoint {
    /// A segment at `pos` came on a connection with ECN.
    #[cold]
    pub(super) fn on_marking(&mut self, pos: u64, seg: &Segment) {
        if seg.len == 0 {
            return self.rx.on_bare_marking(seg.ecn);
        }
        let end = pos + u64::from(seg.len);
        self.bare_ack_due |= self.rx.on_marking(seg.ecn, seg.has(flags::CWR), pos, end);
    }

    /// Writes ECN into a header. True when the segment is complete with it.
    #[cold]
    pub(super) fn write_marks(&mut self, out: Output, seg: &mut Segment) -> bool {
        self.tx.marks.write(out.pos, out.len, self.tx.tcb.reductions(), seg);
        self.rx.write_marks(seg, self.scaled)
    }
}
