//! The row of a direction: what is known of it when its connection is over.

use super::connection::{Connection, End};
use super::limits::{Limit, Limits};
use super::sink::FlowId;

const S: f64 = 1e-9;
/// Share of bytes acknowledged that never passed, above which a capture is incomplete.
const MOST_MISSED: f64 = 0.01;

/// For how long each limited, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The handshake.
    pub handshake_s: f64,
    /// The application.
    pub app_s: f64,
    /// The receiver's window.
    pub rwnd_s: f64,
    /// The network.
    pub network_s: f64,
    /// With data out, or the window closed.
    pub busy_s: f64,
    /// What limited at least half of the time after the handshake, or `mixed`.
    pub limited_by: &'static str,
}

/// One direction of one connection. Names and units are those of the table `flows`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // docs/captures.md has the meaning of each
pub struct FlowRow {
    pub id: FlowId,
    pub interface: u32,
    pub source: End,
    pub destination: End,
    pub initiator: bool,
    pub start: i64,
    pub end: i64,
    pub goodput_bps: f64,
    pub goodput_bytes: u64,
    pub sent_bytes: u64,
    pub retransmitted_bytes: u64,
    pub sent_segments: u64,
    pub retransmitted_segments: u64,
    pub rto_segments: u64,
    pub tlp_segments: u64,
    pub fast_segments: u64,
    pub unknown_segments: u64,
    pub partial: u64,
    pub timeouts: u64,
    pub recoveries: u64,
    pub spurious_timeouts: u64,
    pub tlp_probes: u64,
    pub ambiguous: u64,
    pub spurious_segments: u64,
    pub dsacks: u64,
    pub marked_segments: u64,
    pub rtt_s: Option<[f64; 3]>,
    pub rtt_percentiles_s: Option<[f64; 3]>,
    pub rtt_samples: u64,
    pub handshake_rtt_s: Option<f64>,
    pub up_rtt_s: Option<f64>,
    pub vantage: Option<&'static str>,
    pub acks: u64,
    pub pure_acks: u64,
    pub dup_acks: u64,
    pub ack_unseen: u64,
    pub fct_s: Option<f64>,
    pub completed: bool,
    pub failed: Option<&'static str>,
    pub packets: u64,
    pub super_packets: u64,
    pub reordered_segments: u64,
    pub max_reorder_s: f64,
    pub gap_bytes: u64,
    pub missed_bytes: u64,
    pub duplicate_packets: u64,
    pub keepalives: u64,
    pub zero_windows: u64,
    pub zero_window_s: f64,
    pub probes: u64,
    pub window_updates: u64,
    pub syn_retransmissions: u64,
    pub fin_retransmissions: u64,
    pub mss_offered: Option<u16>,
    pub mss: u32,
    pub wscale: Option<u8>,
    pub sack: bool,
    pub timestamps: Option<bool>,
    pub ecn: Option<bool>,
    pub initial_window: Option<(u64, u64)>,
    pub in_flight: Option<(u64, f64)>,
    pub rwnd: Option<(u64, u64)>,
    pub shares: Option<Shares>,
    pub one_sided: bool,
    pub started_mid: bool,
    pub capture_incomplete: bool,
    pub evicted: bool,
    pub irregular: bool,
    pub stray: u64,
    pub time_back: u64,
    pub options_cut: u64,
}

/// Where the capture was taken, in a word.
fn vantage(share: f64) -> &'static str {
    if share > 0.9 {
        "sender"
    } else if share < 0.1 {
        "receiver"
    } else {
        "middle"
    }
}

impl Connection {
    /// Both rows; the connection is over.
    pub fn rows(&mut self, ends: [End; 2]) -> [FlowRow; 2] {
        let shares = [0, 1].map(|d| self.shares(d));
        [0, 1].map(|d| self.row(d, ends, shares[d]))
    }

    fn one_sided(&self) -> bool {
        self.directions.iter().any(|d| !d.seen)
    }

    fn shares(&mut self, d: usize) -> Option<Shares> {
        if !self.both_syns() || self.one_sided() {
            return None;
        }
        let path = self.path(d);
        let x = &mut self.directions[d];
        let mut none = Limits::NONE;
        let limits = if x.data {
            &mut x.sending.limits
        } else {
            none.begin(self.first, self.opened.get(), x.pieces.una(), x.edge);
            &mut none
        };
        let ns = limits.finish(self.last, &path);
        let [handshake_s, app_s, rwnd_s, network_s] = ns.map(|ns| ns as f64 * S);
        let after: i64 = ns[1..].iter().sum();
        let most = [Limit::App, Limit::Rwnd, Limit::Network].into_iter().find(|l| ns[*l as usize] * 2 >= after.max(1));
        let limited_by = most.map_or("mixed", Limit::name);
        Some(Shares { handshake_s, app_s, rwnd_s, network_s, busy_s: limits.busy as f64 * S, limited_by })
    }

    /// Payload that was delivered, as far as it is known here.
    fn goodput(&self, d: usize, at_receiver: bool) -> u64 {
        let x = &self.directions[d];
        if !self.directions[1 - d].seen {
            return x.sending.volume.sent_bytes - x.counts.retransmitted_bytes;
        }
        let to = if at_receiver { x.pieces.in_order(x.max) } else { x.pieces.una() };
        to.saturating_sub(x.origin)
    }

    fn failed(&self, d: usize, completed: bool) -> Option<&'static str> {
        if completed {
            return None;
        }
        if self.handshake[0].is_known()
            && !self.handshake[1].is_known()
            && !self.directions[0].data
            && self.reset.is_none()
        {
            return Some("no answer to the connection request");
        }
        self.reset.map(|by| if usize::from(by) == d { "reset" } else { "reset by the peer" })
    }

    fn row(&self, d: usize, ends: [End; 2], shares: Option<Shares>) -> FlowRow {
        let (x, peer) = (&self.directions[d], &self.directions[1 - d]);
        let (c, v) = (&x.counts, &x.sending.volume);
        let rtt = x.rtt.as_sender.as_deref().unwrap_or(&x.rtt);
        let one_sided = self.one_sided();
        let share = self.vantage(d).filter(|_| !one_sided);
        let at_receiver = share.is_some_and(|share| share < 0.1);
        let completed = x.ending.done.is_some();
        let end = x.ending.done.map_or(self.last, |(acked, passed)| if at_receiver { passed } else { acked });
        let start = self.handshake[0].get().unwrap_or(self.first);
        let goodput_bytes = self.goodput(d, at_receiver);
        let seconds = (end - start) as f64 * S;
        let carried = x.pieces.una().saturating_sub(x.origin);
        let known = self.both_syns() && !one_sided;
        let short = x.sending.rounds.initial.2 < self.mss(d);
        let since = x.loss.closed_since.map_or(0, |since| (self.last - since).max(0));
        FlowRow {
            id: self.id(d),
            interface: self.interface,
            source: ends[d],
            destination: ends[1 - d],
            initiator: usize::from(self.initiator.unwrap_or(0)) == d,
            start: self.first,
            end: self.last,
            goodput_bps: if seconds > 0.0 { goodput_bytes as f64 * 8.0 / seconds } else { 0.0 },
            goodput_bytes,
            sent_bytes: v.sent_bytes,
            retransmitted_bytes: c.retransmitted_bytes,
            sent_segments: v.sent_segments,
            retransmitted_segments: c.retransmitted_segments(),
            rto_segments: c.retransmitted[0] + c.retransmitted[1],
            tlp_segments: c.retransmitted[2],
            fast_segments: c.retransmitted[3],
            unknown_segments: c.retransmitted[4],
            partial: c.partial,
            timeouts: c.timeouts,
            recoveries: c.recoveries,
            spurious_timeouts: c.spurious_timeouts,
            tlp_probes: c.tlp_probes,
            ambiguous: c.ambiguous,
            spurious_segments: c.spurious_segments,
            dsacks: c.dsacks,
            marked_segments: c.marked,
            rtt_s: rtt
                .spread_s()
                .map(|[least, mean, most]| [x.rtt.least_s().map_or(least, |own| own.min(least)), mean, most])
                .filter(|_| !one_sided),
            rtt_percentiles_s: rtt.percentiles_s().filter(|_| !one_sided),
            rtt_samples: rtt.samples(),
            handshake_rtt_s: self.handshake_rtt().map(|ns| ns as f64 * S),
            up_rtt_s: x.up.get().map(|ns| ns as f64 * S),
            vantage: share.map(vantage),
            acks: c.acks,
            pure_acks: c.pure_acks,
            dup_acks: c.dup_acks,
            ack_unseen: c.ack_unseen,
            fct_s: completed.then_some(seconds).filter(|_| self.handshake[0].is_known()),
            completed,
            failed: self.failed(d, completed),
            packets: v.packets,
            super_packets: v.super_packets,
            reordered_segments: c.reordered_segments,
            max_reorder_s: c.max_reorder as f64 * S,
            gap_bytes: c.gap_bytes,
            missed_bytes: c.missed_bytes,
            duplicate_packets: c.duplicate_packets,
            keepalives: c.keepalives,
            zero_windows: c.zero_windows,
            zero_window_s: (c.zero_window + since) as f64 * S,
            probes: c.probes,
            window_updates: c.window_updates,
            syn_retransmissions: c.syn_retransmissions,
            fin_retransmissions: c.fin_retransmissions,
            mss_offered: x.offer.and_then(|o| o.mss),
            mss: self.mss(d),
            wscale: x.offer.and_then(|o| o.scale),
            sack: self.sack(),
            timestamps: self.timestamps(),
            ecn: x.offer.zip(peer.offer).map(|(a, b)| a.ecn && b.ecn),
            initial_window: (x.data && x.initial_over && x.offer.is_some() && !short)
                .then_some((x.sending.rounds.initial.0, x.sending.rounds.initial.1)),
            in_flight: (x.data && !one_sided && v.flight.1 > 0)
                .then(|| (v.max_in_flight, v.flight.0 / v.flight.1 as f64)),
            rwnd: c.rwnd().filter(|_| known),
            shares,
            one_sided,
            started_mid: !self.handshake[0].is_known() && !self.handshake[1].is_known(),
            capture_incomplete: c.missed_bytes as f64 > MOST_MISSED * carried.max(1) as f64,
            evicted: self.evicted,
            irregular: c.irregular,
            stray: c.stray,
            time_back: c.time_back,
            options_cut: c.options_cut,
        }
    }
}
