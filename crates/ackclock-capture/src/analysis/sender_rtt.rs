//! Round trip times as the sender takes them: of the handshake, and of the oldest segment that an acknowledgment covers; by
//! timestamps where all of these were repeated (RFC 6298 §3, RFC 7323 §4).

use super::connection::{Connection, Context};
use super::coverage::Covered;
use super::moment::Moment;
use super::segment::Segment;
use super::sink::{Metric, Sink};
use ackclock_core::packet::wire::flags;

impl Connection {
    /// A packet of the handshake that direction `d` sent ends it for the other one: what that has measured.
    pub(super) fn time_handshake<S: Sink>(&mut self, s: &Segment, d: usize, cx: &mut Context<S>) {
        let e = 1 - d;
        let sent = match self.handshake.map(Moment::get) {
            [Some(syn), Some(answer), None] if s.has(flags::SYN | flags::ACK) && answer == s.time => syn,
            [_, Some(answer), Some(third)] if !s.has(flags::SYN) && third == s.time => answer,
            _ => return,
        };
        if self.initiator.map(usize::from) != Some(if s.has(flags::SYN) { e } else { d })
            || self.directions[e].rtt.as_sender.is_some()
        {
            return;
        }
        // Repeated, because the other end repeated its own: nothing is known then. Linux asks timestamps of one that timed out.
        let [again, asked] = [e, d].map(|d| self.directions[d].counts.syn_retransmissions);
        let sent = match again {
            0 => Some(sent),
            _ if s.has(flags::SYN) || again > asked => self.echoed(s, e),
            _ => None,
        };
        self.take_as_sender(s.time, sent, e, cx);
    }

    /// An acknowledgment of direction `e` has `covered` something; `moved`: cumulatively.
    pub(super) fn time_as_sender<S: Sink>(
        &mut self,
        s: &Segment,
        e: usize,
        covered: &Covered,
        moved: bool,
        cx: &mut Context<S>,
    ) {
        let sent = covered.oldest().or_else(|| if moved { covered.echoed.or_else(|| self.echoed(s, e)) } else { None });
        self.take_as_sender(s.time, sent, e, cx);
    }

    /// When that of direction `e` passed first whose timestamp `s` echoes.
    fn echoed(&self, s: &Segment, e: usize) -> Option<i64> {
        s.options.timestamps.and_then(|(_, echo)| self.directions[e].stamps.last_echoed(echo))
    }

    fn take_as_sender<S: Sink>(&mut self, time: i64, sent: Option<i64>, e: usize, cx: &mut Context<S>) {
        let Some(ns) = sent.map(|sent| time - sent) else { return };
        if self.directions[e].rtt.as_sender.get_or_insert_default().sample(ns) {
            self.record(cx, time, e, Metric::Rtt, ns as f64 * 1e-9);
        }
    }
}
