//! The sending half of an endpoint: its parts, and what the endpoint and its owner call.
//!
//! What arrives is handled in `input`, what leaves in `output`, losses in `recovery`. Every part keeps its state to
//! itself; the controller is asked and its window put into force in one place, `congestion`.

use super::config::{AppLimitedRule, Config};
use super::control_block::ControlBlock;
use super::ecn::Marks;
use super::pacer::Pacer;
use super::pair::Pair;
use super::peer_window::PeerWindow;
use super::recovery::Recovery;
use super::repeated::Cause;
use super::send_stream::SendStream;
use super::timers::Timers;
use crate::cc::{CongestionControl, StartEstimate};
use crate::estimator::rtt::RttEstimator;
use crate::rng::Stream;
use crate::time::Time;
use std::sync::Arc;

pub use crate::cc::Phase;

/// Counters of the sending half; bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Segments with payload sent, retransmissions included.
    pub sent_segments: u64,
    /// Acknowledgments received.
    pub acks: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Duplicate acknowledgments (RFC 5681 §2, RFC 6675 §2).
    pub dup_acks: u64,
    /// Duplicate deliveries the receiver reported (RFC 2883).
    pub dsacks: u64,
    /// Tail loss probes sent (RFC 8985).
    pub tlp_probes: u64,
    /// Losses repaired by a tail loss probe alone, for which the window was reduced.
    pub tlp_recoveries: u64,
    /// Timeouts that turned out to be spurious and were taken back.
    pub spurious_timeouts: u64,
    /// Reductions of the window taken back, for whatever evidence.
    pub undos: u64,
    /// Reductions of the window for congestion marks.
    pub ecn_reductions: u64,
    /// Payload bytes that the receiver reported as delivered with a mark.
    pub marked_bytes: u64,
}

/// The sending half of an endpoint; in the order of use, so that one of many connections needs few cache lines.
#[repr(C, align(64))]
pub struct Sender {
    pub(super) stream: SendStream,
    pub(super) peer: PeerWindow,
    /// What is outstanding, the congestion state, the options.
    pub(super) tcb: ControlBlock,
    pub(super) recovery: Recovery,
    pub(super) pacer: Pacer,
    pub(super) marks: Marks,
    pub(super) pair: Pair,
}

impl Sender {
    /// A sender with these options, using `cc`.
    pub fn new(config: &Arc<Config>, mss: u32, cc: Box<dyn CongestionControl>, rng: Stream) -> Sender {
        Sender {
            tcb: ControlBlock::new(config, mss, cc, rng),
            recovery: Recovery::new(config),
            peer: PeerWindow::default(),
            stream: SendStream::new(config, mss),
            pacer: Pacer::new(config, mss),
            marks: Marks::default(),
            pair: Pair::default(),
        }
    }

    /// The connection is established: `sack` says whether both sides agreed on it.
    pub fn established(&mut self, now: Time, sack: bool, syn_was_lost: bool) {
        let tcb = &mut self.tcb;
        let iw = if syn_was_lost { u64::from(tcb.mss) } else { tcb.config.initial_window(tcb.mss) };
        self.recovery.start(&tcb.config, sack, tcb.congestion.needs().recovery);
        tcb.start(now, iw);
        if self.pacer.acts(tcb.congestion.control()) {
            tcb.decide(now, |cc, cx| cc.on_paced(cx));
        }
    }

    /// The options of the endpoint.
    pub(super) fn config(&self) -> &Config {
        &self.tcb.config
    }

    /// The segments that the peer takes have at most `mss` bytes of payload.
    pub(super) fn set_mss(&mut self, mss: u32) {
        self.tcb.mss = mss;
        self.tcb.congestion.set_mss(mss);
    }

    /// The application offers `bytes` more; `u64::MAX` for ever.
    pub fn write(&mut self, bytes: u64) {
        self.look_for_gap();
        let board = &self.tcb.board;
        self.stream.write(bytes, (board.una(), board.nxt()), &self.peer);
    }

    /// The application is about to write. Linux's samples of the delivery rate are limited by it when it has left the
    /// sender with nothing to do.
    fn look_for_gap(&mut self) {
        let tcb = &mut self.tcb;
        if tcb.config.app_limited != AppLimitedRule::Write || !tcb.congestion.needs().rate {
            return;
        }
        let little = self.stream.unsent(tcb.board.nxt()) < u64::from(tcb.mss);
        if little && tcb.board.pipe() < tcb.window() && tcb.board.pending() == 0 {
            tcb.board.note_app_limited(tcb.congestion.delivered());
        }
    }

    /// The application offers nothing beyond what has been sent, or with `notsent_lowat` beyond what it has written.
    pub fn stop(&mut self) {
        let board = &self.tcb.board;
        self.stream.stop((board.una(), board.nxt()), &self.peer);
    }

    /// Bytes that the application has offered so far; [`u64::MAX`]: without end.
    pub fn offered(&self) -> u64 {
        self.stream.written()
    }

    /// Bytes offered that have not left.
    pub fn unsent(&self) -> u64 {
        self.stream.unsent(self.tcb.board.nxt())
    }

    /// Bytes offered that are acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.tcb.board.una().saturating_sub(1).min(self.stream.written())
    }

    /// Everything offered, FIN included, is acknowledged.
    pub fn all_acknowledged(&self) -> bool {
        self.tcb.board.outstanding() == 0 && self.stream.fin_sent()
    }

    /// The retransmission timer expired. False when it did so too often: the connection has failed.
    pub(super) fn on_timeout(&mut self, now: Time, timers: &mut Timers) -> bool {
        self.recovery.on_timeout(now, &mut self.tcb, timers)
    }

    /// The reordering timer expired (RFC 8985 §6.3).
    pub(super) fn on_reorder_timer(&mut self, now: Time, timers: &mut Timers) {
        self.recovery.on_reorder_timer(now, &mut self.tcb, timers);
    }

    /// The probe timer expired (RFC 8985 §7.3).
    pub(super) fn on_probe_timer(&mut self, now: Time, timers: &mut Timers) {
        self.recovery.on_probe_timer(now, &self.tcb, timers);
    }

    /// Congestion window in force, bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.tcb.window()
    }

    /// Slow start threshold, bytes; `u64::MAX` before the first congestion.
    pub fn ssthresh(&self) -> u64 {
        self.tcb.ssthresh()
    }

    /// Payload bytes per second at which segments leave; `None` when they are not paced.
    pub fn pacing_rate(&self) -> Option<f64> {
        let tcb = &self.tcb;
        self.pacer.rate(tcb.congestion.control(), tcb.board.outstanding(), tcb.rtt.smoothed())
    }

    /// Bytes believed to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.tcb.board.pipe()
    }

    /// Bytes sent and not acknowledged cumulatively, wherever they are.
    pub fn unacknowledged(&self) -> u64 {
        self.tcb.board.occupied()
    }

    /// Bytes held for lost and not delivered yet, sent again or not.
    pub fn held_for_lost(&self) -> u64 {
        self.tcb.board.lost()
    }

    /// Round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.tcb.rtt
    }

    /// Where the sender stands with respect to losses.
    pub fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// Why the segment that has just left did so before; nothing if it is new. Asked for once.
    pub fn take_repeated(&mut self) -> Option<Cause> {
        self.recovery.take_repeated()
    }

    /// Counters.
    pub fn stats(&self) -> &SenderStats {
        &self.tcb.stats
    }

    /// The oldest acknowledgment that is acceptable, for tests: SND.UNA less the largest window ever offered (RFC 5961 §5.2).
    pub fn oldest_ack(&self) -> u64 {
        self.tcb.board.una().saturating_sub(self.peer.widest())
    }

    /// Positions of the stream, for tests: first unacknowledged, next to send, peer's right edge.
    pub fn positions(&self) -> (u64, u64, u64) {
        (self.tcb.board.una(), self.tcb.board.nxt(), self.peer.edge())
    }

    /// Where the packet pair under way ends in the stream, for tests.
    pub fn pair_end(&self) -> Option<u64> {
        self.pair.end()
    }

    /// What the slow start measured to set its threshold by, if it does.
    pub fn start_estimate(&self) -> Option<StartEstimate> {
        self.tcb.congestion.start_estimate()
    }
}
