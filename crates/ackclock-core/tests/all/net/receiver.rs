//! The receiving side of one direction, held against a model that keeps true 64-bit positions.

use super::Truth;
use super::spans::Spans;
use super::view::{Check, View, holds};
use ackclock_core::tcp::Segment;
use ackclock_core::tcp::endpoint::State;
use ackclock_core::tcp::segment::flags;

/// What the receiver of one direction has been given and has said.
pub struct ReceiverCheck {
    timestamps: bool,
    /// True positions that it took.
    got: Spans,
    /// Payload that it took and that it refused.
    taken: u64,
    refused: u64,
    /// Furthest right edge it ever advertised, as the wire tells it.
    pub edge: u64,
    /// Largest timestamp it was given.
    newest: u64,
    /// Position of the FIN, once it came.
    fin: Option<u64>,
}

impl ReceiverCheck {
    pub fn new(timestamps: bool, edge: u64) -> ReceiverCheck {
        let got = Spans(vec![(0, 1)]);
        ReceiverCheck { timestamps, got, taken: 0, refused: 0, edge, newest: 0, fin: None }
    }

    /// The receiver was given `seg`.
    pub fn on_arrival(&mut self, before: &View, after: &View, seg: &Segment, truth: &Truth) -> Check {
        holds!(3, after.rcv_nxt >= before.rcv_nxt, "RCV.NXT fell from {} to {}", before.rcv_nxt, after.rcv_nxt);
        let newest = self.newest;
        self.newest = newest.max(truth.tsval);
        let n = u64::from(seg.seq_len());
        if n == 0 || seg.has(flags::SYN) {
            return Ok(());
        }
        let established = before.state == State::Established || after.state == State::Established;
        let counted = after.accounted - before.accounted;
        if !established || counted == 0 {
            let beyond = truth.pos >= before.rcv_edge.max(before.rcv_nxt + 1);
            let old = self.timestamps && truth.tsval < newest;
            // A FIN alone counts no byte when it comes again.
            let fin_again = seg.len == 0 && self.has((truth.pos, truth.pos + 1));
            let old_ack = truth.ack < before.oldest_ack;
            holds!(
                2,
                !established || beyond || old || old_ack || fin_again,
                "data at {} was refused: {before:?}",
                truth.pos
            );
            self.refused += u64::from(seg.len);
            return Ok(());
        }
        holds!(
            4,
            counted == n || (seg.has(flags::FIN) && counted + 1 == n),
            "{counted} of {n} positions accounted for"
        );
        self.taken += u64::from(seg.len);
        if seg.has(flags::FIN) {
            self.fin = Some(truth.pos + n - 1);
        }
        self.got.insert(truth.pos, truth.pos + n);
        let model = self.got.contiguous(0);
        holds!(2, after.rcv_nxt == model, "the stream is delivered up to {}, not {model}", after.rcv_nxt);
        let fin = u64::from(self.fin.is_some_and(|f| f < model));
        holds!(2, after.delivered == model - 1 - fin, "{} bytes delivered at {model}", after.delivered);
        Ok(())
    }

    /// It has taken all of `span`.
    pub fn has(&self, span: (u64, u64)) -> bool {
        self.got.covers(span.0, span.1)
    }

    /// The receiver says `seg`, whose acknowledgment is for this direction.
    pub fn on_acknowledgment(&mut self, seg: &Segment, truth: &Truth) -> Check {
        holds!(3, truth.edge >= self.edge, "the right edge moved left from {} to {}", self.edge, truth.edge);
        self.edge = truth.edge;
        holds!(2, self.got.covers(0, truth.ack), "{} is acknowledged, {:?} came", truth.ack, self.got);
        let mut told = Spans::default();
        for (i, &(start, end)) in truth.blocks[..seg.sack().len()].iter().enumerate() {
            holds!(8, start < end && self.got.covers(start, end), "SACK {start}..{end}, {:?} came", self.got);
            holds!(8, i == 0 || start > truth.ack, "SACK {start}..{end} touches the acknowledgment {}", truth.ack);
            // Only a duplicate, reported first, may lie within another block.
            let twice = i > 0 && start <= truth.blocks[0].0 && truth.blocks[0].1 <= end;
            holds!(8, twice || !told.touches(start, end), "SACK blocks overlap: {:?}", truth.blocks);
            if !twice {
                told.insert(start, end);
            }
        }
        Ok(())
    }

    /// The transfer is over: `handed` payload bytes came in all, `duplicate` of them again.
    pub fn at_end(&self, end: &View, duplicate: u64, handed: u64) -> Check {
        holds!(4, self.taken + self.refused == handed, "{} + {} of {handed} bytes", self.taken, self.refused);
        holds!(4, end.delivered + duplicate == self.taken, "{} + {duplicate} of {}", end.delivered, self.taken);
        Ok(())
    }
}
