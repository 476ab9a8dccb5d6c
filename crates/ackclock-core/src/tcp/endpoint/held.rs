//! A handshake that waits for its owner: the peer's SYN, or its answer to ours, is kept until it is released.

use super::{Endpoint, State};
use crate::tcp::segment::{Segment, flags};
use crate::time::Time;

/// What is held.
#[derive(Debug)]
pub(super) enum Held {
    Not,
    /// The next one shall be.
    Next,
    /// This one is.
    Kept(Box<Segment>),
    /// This SYN is refused.
    Refused(Box<Segment>),
}

impl Endpoint {
    /// From now on the peer's SYN, or its answer to ours, waits for [`Endpoint::release`].
    pub fn hold(&mut self) {
        if matches!(self.state, State::Closed | State::Listen | State::SynSent) {
            self.held = Held::Next;
        }
    }

    /// One is waiting.
    pub fn holds(&self) -> bool {
        matches!(self.held, Held::Kept(_))
    }

    /// The peer's SYN, or its answer to ours, waits or is to wait for its owner.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self.held, Held::Not)
    }

    /// It is taken as if it came at `now`; without one the next is no longer held.
    pub fn release(&mut self, now: Time) {
        if let Held::Kept(seg) = std::mem::replace(&mut self.held, Held::Not) {
            self.on_segment(now, &seg);
        }
    }

    /// Whether `seg` is to wait, and does from now on. One that is repeated takes the place of the first.
    pub(super) fn keeps(&mut self, seg: &Segment) -> bool {
        let due = match self.state {
            State::Listen => seg.has(flags::SYN),
            _ => seg.has(flags::SYN | flags::ACK) && seg.ack == self.tx.tcb.iss.wrapping_add(1),
        };
        if !due || !matches!(self.held, Held::Next | Held::Kept(_)) {
            return false;
        }
        self.held = Held::Kept(Box::new(*seg));
        self.news = true;
        true
    }

    /// The connection is given up: the peer whose segment waits is reset (RFC 9293 §3.10.7.1).
    pub(super) fn refuse_held(&mut self) {
        let Held::Kept(seg) = std::mem::replace(&mut self.held, Held::Not) else { return };
        if seg.has(flags::ACK) {
            self.reset_due = Some(seg.ack);
        } else {
            self.refuse_request(&seg);
        }
    }

    /// The SYN `seg` is answered by a reset, which has no sequence number to begin at.
    pub(super) fn refuse_request(&mut self, seg: &Segment) {
        self.reset_due = Some(0);
        self.held = Held::Refused(Box::new(*seg));
    }

    /// A reset that answers a SYN acknowledges it: nothing else says what it is about.
    pub(super) fn answer_held(&mut self, reset: &mut Segment) {
        if let Held::Refused(seg) = std::mem::replace(&mut self.held, Held::Not) {
            reset.flags |= flags::ACK;
            reset.ack = seg.seq.wrapping_add(1);
        }
    }
}
