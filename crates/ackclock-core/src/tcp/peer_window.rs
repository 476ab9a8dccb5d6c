//! The window that the peer offers (SND.WND), and what happens when it is closed (RFC 9293 §3.8.6).

use super::timers::{Timer, Timers};
use crate::time::{Span, Time};

/// Doublings of the interval between probes.
const MOST_DOUBLINGS: u32 = 20;

/// The peer's window and the probes into a closed one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct PeerWindow {
    /// Right edge of the window, a position of the stream (SND.UNA + SND.WND at its furthest).
    edge: u64,
    /// Largest window ever offered from what was acknowledged, bytes (Max(SND.WND)).
    largest: u64,
    /// Largest window field of any segment, bytes (MAX.SND.WND of RFC 5961).
    widest: u64,
    /// The peer's window scale (Snd.Wind.Shift).
    scale: u8,
    /// A window probe, or what fits a small window, is to leave now.
    probe_due: bool,
    /// Window probes in a row.
    probes: u32,
}

impl PeerWindow {
    /// A window up to position `edge`, whose size comes in units of `1 << scale` bytes.
    pub fn new(edge: u64, scale: u8) -> PeerWindow {
        PeerWindow { edge, scale, widest: edge.saturating_sub(1), ..PeerWindow::default() }
    }

    /// Right edge of the window.
    #[inline]
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// Largest window ever offered, bytes.
    #[inline]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Largest window field of any segment, bytes.
    #[inline]
    pub fn widest(&self) -> u64 {
        self.widest
    }

    /// A segment with this window field acknowledges `ack`. Returns by how much the right edge moved.
    #[inline]
    //= RFC 9293 §3.8.6 shrinking-peer
    pub fn offer(&mut self, ack: u64, field: u16) -> u64 {
        let before = self.edge;
        let window = u64::from(field) << self.scale;
        self.edge = before.max(ack + window);
        self.widest = self.widest.max(window);
        self.edge - before
    }

    /// The acknowledgment that ends the handshake has this window field: the first that is scaled.
    pub fn established(&mut self, field: u16) {
        self.offer(1, field);
        self.largest = self.largest.max(self.edge - 1);
    }

    /// Whether [`PeerWindow::offer`] would move the right edge.
    #[inline]
    pub fn would_open(&self, ack: u64, field: u16) -> bool {
        ack + (u64::from(field) << self.scale) > self.edge
    }

    /// The window has opened: probing ends.
    #[inline]
    pub fn opened(&mut self, una: u64, timers: &mut Timers) {
        self.largest = self.largest.max(self.edge - una);
        self.probes = 0;
        self.probe_due = false;
        timers.clear(Timer::Persist);
    }

    /// The next segment does not fit and nothing is outstanding: the bytes of it to send, if any. A window smaller
    /// than a segment is filled when it is half of the largest ever or the persist timer overrides (§3.8.6.2.1).
    //= RFC 9293 §3.8.6.2.1 sws-sender
    pub fn part(&mut self, nxt: u64) -> Option<u32> {
        let open = self.edge.saturating_sub(nxt);
        if open > 0 && (self.probe_due || 2 * open >= self.largest) {
            self.probe_due = false;
            return Some(open as u32);
        }
        None
    }

    /// How long the persist timer runs (§3.8.6.1): the timeout, doubled with every probe, at most `max`.
    //= RFC 9293 §3.8.6.1 probe-interval
    pub fn persist_interval(&self, rto: Span, max: Span) -> Span {
        Span((u128::from(rto.0) << self.probes.min(MOST_DOUBLINGS)).min(u128::from(max.0)) as u64)
    }

    /// The persist timer expired: probe.
    //= RFC 9293 §3.8.6.1 probe-for-ever
    pub fn persist(&mut self, now: Time, rto: Span, max: Span, timers: &mut Timers) {
        self.probe_due = true;
        self.probes += 1;
        timers.set_after(Timer::Persist, now, self.persist_interval(rto, max));
    }

    /// A probe is to leave.
    #[inline]
    pub fn probe_due(&self) -> bool {
        self.probe_due
    }

    /// Takes the probe that is to leave.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }

    #[cfg(test)]
    pub fn with_largest(self, largest: u64) -> PeerWindow {
        PeerWindow { largest, ..self }
    }
}
