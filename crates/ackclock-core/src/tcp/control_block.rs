//! What every part of the sending half works with: what is outstanding, the round-trip time, the congestion state, the
//! options and the counters (the send variables of RFC 9293 §3.3.1 and RFC 9040's control block).

use super::config::{Config, WindowUnit};
use super::congestion::{Congestion, Measured};
use super::sack_blocks::SackBlocks;
use super::scoreboard::Scoreboard;
use super::sender::SenderStats;
use super::usage::Usage;
use super::validation::Validation;
use crate::cc::{CongestionControl, Cx, Phase, RttView, Signal};
use crate::estimator::delivery_rate::Totals;
use crate::estimator::rtt::RttEstimator;
use crate::rng::Stream;
use crate::time::Time;
use std::sync::Arc;

/// The sender's control block. Its order is that of use: what one acknowledgment touches stands in few cache lines,
/// with what is seldom needed between them.
#[repr(C)]
pub(super) struct ControlBlock {
    /// Maximum segment size, payload bytes (SMSS).
    pub mss: u32,
    /// Initial send sequence number (ISS).
    pub iss: u32,
    /// What is outstanding (SND.UNA, SND.NXT, SACKed, lost).
    pub board: Scoreboard,
    /// RFC 7661; nothing where the rule is not in force.
    pub validation: Option<Box<Validation>>,
    /// The options; connections that are configured alike share them.
    pub config: Arc<Config>,
    /// The controller and the window in force.
    pub congestion: Congestion,
    /// Round-trip time and retransmission timeout.
    pub rtt: RttEstimator,
    usage: Usage,
    /// End of the new segment that left last while nothing was outstanding.
    pub alone_end: u64,
    /// Rounds so far, and the position whose acknowledgment ends the present one.
    round: u64,
    round_end: u64,
    /// The SACK blocks that arrived last.
    pub blocks: SackBlocks,
    /// Counters.
    pub stats: SenderStats,
}

impl ControlBlock {
    pub fn new(config: &Arc<Config>, mss: u32, cc: Box<dyn CongestionControl>, rng: Stream) -> ControlBlock {
        ControlBlock {
            board: Scoreboard::new(0),
            congestion: Congestion::new(cc, mss, rng),
            rtt: RttEstimator::new(config),
            mss,
            iss: config.iss as u32,
            usage: Usage::new(0, !config.window_validation),
            alone_end: 0,
            round: 0,
            round_end: 0,
            blocks: SackBlocks::default(),
            stats: SenderStats::default(),
            validation: Validation::new(config).map(Box::new),
            config: Arc::clone(config),
        }
    }

    /// The connection is established: data begins at position 1 with a window of `initial_window` bytes.
    pub fn start(&mut self, now: Time, initial_window: u64) {
        let unit = if self.config.window_unit == WindowUnit::Packets { self.mss } else { 0 };
        self.board = Scoreboard::new(1).counting(unit);
        self.round_end = 1;
        self.usage = Usage::new(1, !self.config.window_validation);
        if self.validation.is_some() {
            self.congestion.need_rate();
        }
        self.board.track_rate(self.congestion.needs().rate);
        // The application writes its first data into an empty buffer (Linux too counts this as a gap).
        self.board.note_app_limited(self.congestion.delivered());
        self.decide(now, |cc, cx| cc.start(cx, initial_window));
    }

    /// Brings `event` before the controller and applies what it decides: see [`Congestion::decide`].
    #[inline]
    pub fn decide<R>(&mut self, now: Time, event: impl FnOnce(&mut dyn CongestionControl, &mut Cx<'_>) -> R) -> R {
        let measured = Measured {
            in_flight: self.board.pipe(),
            nxt: self.board.nxt(),
            lost: self.board.total_lost(),
            rtt: RttView { smoothed: self.rtt.smoothed(), min: self.rtt.min() },
        };
        self.congestion.decide(now, measured, event)
    }

    /// Reports the phase to the controller if it has changed.
    #[inline]
    pub fn report_phase(&mut self, now: Time, phase: Phase) {
        if phase != self.congestion.reported() {
            self.enter_phase(now, phase);
        }
    }

    /// Reports the phase to the controller, changed or not.
    pub fn enter_phase(&mut self, now: Time, phase: Phase) {
        self.congestion.set_reported(phase);
        self.decide(now, |cc, cx| cc.on_phase(cx));
    }

    /// Reports the segments declared lost since the last report to the controller.
    #[cold]
    pub fn report_losses(&mut self, now: Time) {
        let losses = self.board.take_losses();
        for lost in &losses {
            self.decide(now, |cc, cx| cc.on_lost(cx, lost));
        }
        self.board.give_back(losses);
    }

    /// The controller's window is to be `bytes`.
    pub fn set_window(&mut self, now: Time, bytes: u64) {
        self.decide(now, |cc, cx| cc.set_window(cx, bytes));
    }

    /// Tells the controller of congestion.
    pub fn signal(&mut self, now: Time, signal: Signal) {
        self.decide(now, |cc, cx| cc.on_congestion(cx, signal));
        self.congestion.check_threshold();
    }

    /// Recovery, or a reduction, leaves a window of `bytes` to the controller, unless that runs its own recovery.
    pub fn recovered(&mut self, now: Time, bytes: u64) {
        self.congestion.release();
        if self.congestion.recovers() {
            return;
        }
        self.decide(now, |cc, cx| cc.on_recovered(cx, bytes));
    }

    /// All that is outstanding was sent once and is neither SACKed nor lost, and the controller knows of no trouble.
    #[inline]
    pub fn is_undisturbed(&self) -> bool {
        self.board.is_pristine() && self.congestion.reported() == Phase::Open
    }

    /// The window in force, bytes.
    #[inline]
    pub fn window(&self) -> u64 {
        self.congestion.window()
    }

    /// What recovery reduces the window to, bytes.
    #[inline]
    pub fn recovery_target(&self) -> u64 {
        self.congestion.recovery_target()
    }

    /// Slow start threshold, bytes; [`Control::NO_THRESHOLD`] if there is none.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.congestion.control().ssthresh
    }

    /// What delivery-rate samples remember of the connection.
    #[inline]
    pub fn totals(&self) -> Totals {
        Totals { delivered: self.congestion.delivered(), lost: self.board.total_lost() }
    }

    /// The sender stops with `pipe` bytes in the network, and more to send if data is `waiting`: whether the window made
    /// it.
    #[inline]
    pub fn note_usage(&mut self, pipe: u64, waiting: bool) {
        let limited = pipe + u64::from(self.mss) > self.window();
        self.usage.note(limited, waiting, (self.board.una(), self.board.nxt()), self.board.occupied());
    }

    /// Whether the window was what held the sender back.
    #[inline]
    pub fn window_limited(&self) -> bool {
        self.usage.is_limited(self.congestion.control())
    }

    /// Counts rounds: one ends when something sent after its begin is acknowledged.
    #[inline]
    pub fn count_round(&mut self) -> u64 {
        if self.board.una() > self.round_end {
            self.round += 1;
            self.round_end = self.board.nxt();
        }
        self.round
    }

    /// Reductions of the window so far, for whatever reason.
    pub fn reductions(&self) -> u64 {
        let s = &self.stats;
        s.recoveries + s.timeouts + s.tlp_recoveries + s.ecn_reductions
    }
}
