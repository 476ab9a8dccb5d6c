//! The byte stream that the application writes: how far it goes, whether a FIN follows it, when it last left.

use super::config::Config;
use super::peer_window::PeerWindow;
use super::pushes::{Progress, Pushes};
use super::scoreboard::Scoreboard;
use crate::time::{Span, Time};

/// The outgoing stream.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct SendStream {
    pushes: Pushes,
    /// When a segment with data left last, for the first time or again.
    last_sent: Time,
    /// One past the last payload position, `u64::MAX` while the source is unbounded.
    end: u64,
    /// End of the short segment that left last, a position of the stream (Minshall's SND.SML).
    short_end: u64,
    /// The application closed: a FIN follows the stream.
    closing: bool,
    fin_sent: bool,
}

impl SendStream {
    pub fn new(config: &Config, mss: u32) -> SendStream {
        let pushes = Pushes::new(config, mss);
        SendStream { end: 1, last_sent: Time::ZERO, short_end: 0, closing: false, fin_sent: false, pushes }
    }

    /// The application offers `bytes` more, `u64::MAX` for ever, to a stream that is acknowledged up to `una` and sent up
    /// to `nxt`, to this peer.
    pub fn write(&mut self, bytes: u64, (una, nxt): (u64, u64), peer: &PeerWindow) {
        let start = self.end;
        self.end = start.saturating_add(bytes);
        if start < self.end {
            self.pushes.write((start - 1, self.written()), progress((una, nxt), peer));
        }
    }

    /// An acknowledgment is in the books. `freed`: what is acknowledged up to this position, as if everything that is SACKed
    /// moved it on.
    #[inline]
    pub fn acknowledged(&mut self, freed: u64, board: &Scoreboard, mss: u32, peer: &PeerWindow) {
        if self.pushes.may_wake(freed) {
            let merged = board.sacked_behind_others(mss);
            self.pushes.refill(Progress { merged, ..progress((board.una(), board.nxt()), peer) });
        }
    }

    /// The application offers nothing more of a stream that is acknowledged up to `una` and sent up to `nxt`: what has not
    /// left is taken back, but for what the rule of writes keeps ([`Pushes::stop`]). Before the handshake is over there is none.
    pub fn stop(&mut self, (una, nxt): (u64, u64), peer: &PeerWindow) {
        let kept = self.pushes.stop(progress((una, nxt), peer), una > 0);
        self.end = self.end.min(nxt.max(1 + kept));
    }

    /// Bytes from `nxt` on that have not left.
    pub fn unsent(&self, nxt: u64) -> u64 {
        self.end.saturating_sub(nxt.max(1))
    }

    /// A short segment is outstanding, with everything acknowledged up to `una`.
    pub fn short_is_outstanding(&self, una: u64) -> bool {
        self.short_end > una
    }

    /// Bytes offered so far; `u64::MAX` while the source is unbounded.
    pub fn written(&self) -> u64 {
        if self.end == u64::MAX { u64::MAX } else { self.end - 1 }
    }

    /// A FIN follows what was written.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Its FIN has left.
    #[inline]
    pub fn fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// Position `pos` is its end, which is known.
    #[inline]
    pub fn ends_at(&self, pos: u64) -> bool {
        self.end != u64::MAX && pos == self.end
    }

    /// Position `pos` is at its end or beyond.
    #[inline]
    pub fn ended_by(&self, pos: u64) -> bool {
        pos >= self.end
    }

    /// Nothing new can leave from position `nxt` on, neither data nor FIN.
    #[inline]
    pub fn exhausted(&self, nxt: u64) -> bool {
        self.end <= nxt && (self.fin_sent || !self.closing)
    }

    /// Payload bytes ready from `nxt` on, at most `mss`, and whether a FIN follows them.
    #[inline]
    pub fn available(&self, nxt: u64, mss: u32) -> (u32, bool) {
        let left = self.end.saturating_sub(nxt);
        let len = left.min(u64::from(mss)) as u32;
        let fin = self.end != u64::MAX && left == u64::from(len) && self.closing && !self.fin_sent;
        (len, fin)
    }

    /// New data up to position `end`, and a FIN behind it, leaves; `short`: in less than a full segment. True when the
    /// application's data was pushed there.
    #[inline]
    pub fn leaves(&mut self, now: Time, end: u64, fin: bool, short: bool) -> bool {
        self.fin_sent |= fin;
        if short {
            self.short_end = end;
        }
        self.last_sent = now;
        self.pushes.take(end)
    }

    /// Data up to position `end` leaves again. True when it was pushed there.
    pub fn leaves_again(&mut self, now: Time, end: u64) -> bool {
        self.last_sent = now;
        self.pushes.is(end)
    }

    /// How long nothing has left.
    pub fn idle(&self, now: Time) -> Span {
        now.since(self.last_sent)
    }

    /// The same by a clock that shows whole ticks; 0 is a nanosecond.
    pub fn idle_ticks(&self, now: Time, tick: Span) -> u64 {
        let tick = tick.0.max(1);
        now.0 / tick - self.last_sent.0.min(now.0) / tick
    }

    /// An idle time that ends now has been accounted for.
    pub fn resume(&mut self, now: Time) {
        self.last_sent = now;
    }
}

/// How far a stream has come that is acknowledged up to `una` and sent up to `nxt`. Before the handshake is over there are
/// no positions, and the peer's largest window is zero while only that of its SYN, or of its answer to ours, is known.
fn progress((una, nxt): (u64, u64), peer: &PeerWindow) -> Progress {
    Progress { acked: una.saturating_sub(1), sent: nxt.saturating_sub(1), merged: 0, window: peer.largest() }
}
