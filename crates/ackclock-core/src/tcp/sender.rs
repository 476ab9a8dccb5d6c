//! The sending half: its state. What arrives is handled in `input`, losses in `recovery`, what leaves in `output`.

use super::config::{Config, LossDetection, Recovery};
use super::ecn::Marks;
use super::input::Heard;
use super::pacer::Pacer;
use super::pair::Pair;
use super::pushes::Pushes;
use super::recovery::probe::TailProbe;
use super::recovery::prr::Prr;
use super::recovery::undo::{Episode, ReoWnd};
use super::recovery::Repair;
use super::scoreboard::{RackSegment, Scoreboard};
use super::timers::{Timer, Timers};
use super::validation::Validation;
use crate::cc::{CongestionControl, Control, Cx, Needs, RecoveryBy, RttView, Signal};
use crate::estimator::rtt::RttEstimator;
use crate::rng::Stream;
use crate::time::Time;

pub use crate::cc::Phase;

/// Counters of the sending half; bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Segments with payload sent, retransmissions included.
    pub sent_segments: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Acknowledgments received.
    pub acks: u64,
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

/// The sending half of an endpoint.
pub struct Sender {
    pub(super) config: Config,
    pub(super) mss: u32,
    pub(super) iss: u32,
    pub(super) board: Scoreboard,
    pub(super) heard: Heard,
    pub(super) rtt: RttEstimator,
    pub(super) cc: Box<dyn CongestionControl>,
    pub(super) control: Control,
    /// What the controller asked for.
    pub(super) needs: Needs,
    pub(super) pacer: Pacer,
    pub(super) pair: Pair,
    pub(super) marks: Marks,
    pub(super) validation: Validation,
    pub(super) rng: Stream,
    /// The window in force, bytes: the controller's, or recovery's while it runs.
    pub(super) window: u64,
    pub(super) phase: Phase,
    /// The phase that the controller was told last.
    pub(super) told: Phase,
    pub(super) repair: Repair,
    /// Where the present or last recovery ends.
    pub(super) recover: u64,
    /// `recover` was set by a timeout.
    pub(super) careful: bool,
    pub(super) prr: Prr,
    pub(super) dup_acks: u64,
    /// New bytes sent on duplicate acknowledgments, which FlightSize does not count (RFC 5681 §3.2).
    pub(super) limited_sent: u64,
    pub(super) first_partial: bool,
    /// RFC 6675's rescue retransmission was used in this recovery.
    pub(super) rescued: bool,
    pub(super) rack: RackSegment,
    pub(super) reo_wnd: ReoWnd,
    pub(super) tail: TailProbe,
    pub(super) episode: Episode,
    /// When F-RTO's present step began, while it runs.
    pub(super) frto: Option<Time>,
    /// What is lost waits for the next acknowledgment; new data may leave.
    pub(super) hold: bool,
    /// Segments that the receiver reported as duplicates so far.
    pub(super) dsacked: u64,
    pub(super) reordering_seen: bool,
    /// Send the first lost segment whatever the window.
    pub(super) force: bool,
    /// The last recovery that retransmitted, by its number in `stats.recoveries`.
    pub(super) repaired_last: u64,
    /// Send a window probe.
    pub(super) probe: bool,
    pub(super) persist_backoff: u32,
    /// Timeouts of the head in a row, and the head at the last one.
    pub(super) retries: u64,
    pub(super) timed_out_at: u64,
    /// Right edge of the peer's window.
    pub(super) peer_edge: u64,
    pub(super) peer_scale: u8,
    /// Largest window it ever offered.
    pub(super) largest_window: u64,
    /// One past the last payload position, `u64::MAX` while the source is unbounded.
    pub(super) stream_end: u64,
    /// The application closed: a FIN follows the stream.
    pub(super) closing: bool,
    pub(super) fin_sent: bool,
    pub(super) last_sent: Time,
    pub(super) pushes: Pushes,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) round: u64,
    pub(super) round_end: u64,
    pub(super) limited: bool,
    pub(super) max_outstanding: u64,
    pub(super) usage_end: u64,
    /// Counters.
    pub stats: SenderStats,
}

impl Sender {
    /// A sender with these options, using `cc`.
    pub fn new(config: &Config, mss: u32, cc: Box<dyn CongestionControl>, rng: Stream) -> Sender {
        Sender {
            mss,
            iss: config.iss as u32,
            board: Scoreboard::new(0),
            heard: Heard::default(),
            rtt: RttEstimator::new(config),
            control: cc.control(),
            needs: cc.needs(),
            pacer: Pacer::new(config, mss),
            pair: Pair::default(),
            marks: Marks::default(),
            validation: Validation::new(config),
            repair: Repair::NewReno,
            cc,
            rng,
            window: 0,
            phase: Phase::Open,
            told: Phase::Open,
            recover: 0,
            careful: true,
            prr: Prr::default(),
            dup_acks: 0,
            limited_sent: 0,
            first_partial: false,
            rescued: false,
            rack: RackSegment::default(),
            reo_wnd: ReoWnd::default(),
            tail: TailProbe::default(),
            episode: Episode::default(),
            frto: None,
            hold: false,
            dsacked: 0,
            reordering_seen: false,
            force: false,
            repaired_last: 0,
            probe: false,
            persist_backoff: 0,
            retries: 0,
            timed_out_at: 0,
            peer_edge: 0,
            peer_scale: 0,
            largest_window: 0,
            stream_end: 1,
            closing: false,
            fin_sent: false,
            last_sent: Time::ZERO,
            pushes: Pushes::new(config, mss),
            delivered: 0,
            lost: 0,
            round: 0,
            round_end: 0,
            limited: true,
            max_outstanding: 0,
            usage_end: 0,
            stats: SenderStats::default(),
            config: config.clone(),
        }
    }

    /// The connection is established: `sack` says whether both sides agreed on it.
    pub fn established(&mut self, now: Time, sack: bool, syn_was_lost: bool) {
        let by_slow_start = self.needs.recovery == RecoveryBy::SlowStart;
        let own = self.needs.recovery == RecoveryBy::Controller;
        self.repair = match self.config.recovery {
            Recovery::Tahoe => Repair::Tahoe,
            _ if by_slow_start => Repair::Tahoe,
            Recovery::Reno => Repair::Reno,
            Recovery::NewReno => Repair::NewReno,
            Recovery::Sack if sack && !own => Repair::Sack,
            Recovery::Sack if sack => Repair::Prr,
            Recovery::Auto | Recovery::Prr if sack => Repair::Prr,
            _ => Repair::NewReno,
        };
        let iw = if syn_was_lost { u64::from(self.mss) } else { self.config.initial_window(self.mss) };
        let una = self.board.una();
        self.round_end = una;
        self.usage_end = una;
        self.needs.rate |= self.validation.on;
        self.board.track_rate(self.needs.rate);
        self.decide_on_probes();
        // The application writes its first data into an empty buffer (Linux too counts this as a gap).
        self.board.note_app_limited(self.delivered);
        self.with_cc(now, |cc, cx| cc.start(cx, iw));
        self.window = self.control.cwnd;
    }

    /// The controller's window is in force at all times.
    #[inline]
    pub(super) fn controller_recovers(&self) -> bool {
        self.needs.recovery == RecoveryBy::Controller
    }

    /// Tells the controller of a change of phase.
    #[inline]
    pub(super) fn tell_phase(&mut self, now: Time) {
        let doubtful = self.phase == Phase::Open && (self.board.sacked() > 0 || self.dup_acks > 0);
        let phase = if doubtful { Phase::Disorder } else { self.phase };
        let phase = if self.marks.reducing && self.phase == Phase::Open { Phase::Reduction } else { phase };
        if phase != self.told {
            self.told = phase;
            self.with_cc(now, |cc, cx| cc.on_phase(cx));
        }
    }

    /// Tells the controller of the segments declared lost since it heard of them last.
    pub(super) fn tell_losses(&mut self, now: Time) {
        let losses = self.board.take_losses(self.lost);
        for lost in &losses {
            self.with_cc(now, |cc, cx| cc.on_lost(cx, lost));
        }
        self.board.told(losses);
    }

    /// Calls the controller and reads its decision.
    #[inline]
    pub(super) fn with_cc<R>(&mut self, now: Time, f: impl FnOnce(&mut dyn CongestionControl, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now,
            mss: self.mss,
            in_flight: self.board.pipe(),
            nxt: self.board.nxt(),
            rtt: RttView { smoothed: self.rtt.smoothed(), min: self.rtt.min() },
            delivered: self.delivered,
            lost: self.lost,
            phase: self.told,
            rng: &mut self.rng,
        };
        let out = f(self.cc.as_mut(), &mut cx);
        self.control = self.cc.control();
        out
    }

    /// Losses are found by transmission time (RFC 8985).
    #[inline]
    pub(super) fn uses_rack(&self) -> bool {
        self.config.loss_detection == LossDetection::Rack && self.repairs_selectively()
    }

    /// Losses are repaired with SACK.
    #[inline]
    pub(super) fn repairs_selectively(&self) -> bool {
        matches!(self.repair, Repair::Sack | Repair::Prr)
    }

    /// The application offers `bytes` more; `u64::MAX` for ever.
    pub fn write(&mut self, bytes: u64) {
        self.stream_end = self.stream_end.saturating_add(bytes);
    }

    /// The application offers nothing beyond what has been sent.
    pub fn stop(&mut self) {
        self.stream_end = self.stream_end.min(self.board.nxt().max(1));
    }

    /// Everything offered, FIN included, is acknowledged.
    pub fn all_acknowledged(&self) -> bool {
        self.board.outstanding() == 0 && self.fin_sent
    }

    /// The retransmission timer expired. False when it did so too often: the connection has failed.
    pub(super) fn on_timeout(&mut self, now: Time, timers: &mut Timers) -> bool {
        let una = self.board.una();
        if self.board.outstanding() == 0 {
            return true;
        }
        let again = self.phase == Phase::Loss && self.timed_out_at == una;
        self.retries = if again { self.retries + 1 } else { 1 };
        if self.retries > self.config.data_retries {
            return false;
        }
        // Linux does not reduce a second time when a timeout interrupts a fast recovery.
        let reducing = self.marks.reducing || (self.phase == Phase::Recovery && una < self.recover);
        let in_recovery = reducing && self.uses_rack();
        self.timed_out_at = una;
        self.stats.timeouts += 1;
        let flight = self.board.outstanding();
        let repeated = again || in_recovery;
        let before = (self.window, self.control.ssthresh);
        let flight = self.before_reduction(now, flight, false);
        let signal = Signal::Timeout { flight, repeated };
        self.with_cc(now, |cc, cx| cc.on_congestion(cx, signal));
        if self.config.clear_sack_on_rto {
            self.board.forget_sacks();
            self.heard.clear();
        }
        self.lost += if self.uses_rack() { self.board.mark_older(now, self.rack.rtt) } else { self.board.mark_all() };
        if !repeated {
            self.begin_episode(before);
        }
        self.begin_frto(now, self.phase, again);
        if self.uses_rack() {
            // What is still in flight does not keep the repair waiting.
            let window = self.board.pipe() + u64::from(self.mss);
            self.with_cc(now, |cc, cx| cc.set_window(cx, window));
        }
        self.phase = Phase::Loss;
        self.told = Phase::Loss;
        self.with_cc(now, |cc, cx| cc.on_phase(cx));
        self.window = self.control.cwnd;
        self.recover = self.board.nxt();
        self.careful = true;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.force = true;
        self.rtt.back_off();
        self.tail.end = None;
        self.hold = false;
        timers.clear(Timer::Reorder);
        timers.clear(Timer::Probe);
        timers.set_after(Timer::Rto, now, self.rtt.rto());
        true
    }

    /// Congestion window in force, bytes.
    pub fn cwnd(&self) -> u64 {
        self.window
    }

    /// Slow start threshold, bytes; `u64::MAX` before the first congestion.
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh
    }

    /// Payload bytes per second at which segments leave; `None` when they are not paced.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.pacer.rate(&self.control, self.board.outstanding(), self.rtt.smoothed())
    }

    /// Bytes believed to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.board.pipe()
    }

    /// Round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Where the sender stands with respect to losses.
    pub fn phase(&self) -> Phase {
        if self.marks.reducing && self.phase == Phase::Open {
            return Phase::Reduction;
        }
        self.phase
    }

    /// Positions of the scoreboard, for tests: first unacknowledged, next to send, peer's right edge.
    pub fn positions(&self) -> (u64, u64, u64) {
        (self.board.una(), self.board.nxt(), self.peer_edge)
    }
}
