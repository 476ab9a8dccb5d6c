//! Congestion window validation (RFC 7661): a window that is not used neither grows nor is lost at once.
//!
//! `pipeACK` is the most that was acknowledged within one round-trip time, over the last three of them or a second.
//! While it is below half of the window, the window is not validated: it does not grow, a loss reduces what was used
//! instead of it, and after five minutes it is halved. `idle = "rfc7661"`.
//!
//! Known deviations: what is acknowledged in one round-trip time is measured with every acknowledgment, as the bytes
//! delivered since the acknowledged segment left, where the RFC leaves the measurement open. A loss takes the share of
//! `max(pipeACK, LossFlightSize)` that the controller takes of a window; RFC 7661 §4.4.1 takes half, which is Reno's.

use super::config::{Config, IdleRule};
use super::sender::{Phase, Sender};
use crate::cc::{Ack, Restart};
use crate::estimator::windowed_filter::WindowedMax;
use crate::time::{Span, Time};

/// The non-validated period (RFC 7661 §4.4.3).
const NON_VALIDATED_PERIOD: Span = Span::from_secs(300);
/// Least length of the sampling period (RFC 7661 §4.2).
const LEAST_SAMPLING: Span = Span::from_secs(1);

/// What is known of the use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validation {
    /// The rule is in force.
    pub on: bool,
    /// Samples of pipeACK.
    pipe_ack: Option<WindowedMax>,
    /// It is undefined, and the window held for valid, until this position is acknowledged: for a round trip.
    defined_from: u64,
    sampled_at: Time,
    /// The window has not been validated since.
    since: Option<Time>,
    /// A loss is being repaired that came while it was not: bytes retransmitted before.
    loss: Option<u64>,
}

impl Validation {
    pub fn new(config: &Config) -> Validation {
        Validation { on: config.idle == IdleRule::Rfc7661, ..Validation::default() }
    }
}

impl Sender {
    fn sampling_period(&self) -> Span {
        (self.rtt.smoothed() * 3).max(LEAST_SAMPLING)
    }

    /// Looks at what an acknowledgment says of the use of the window: one that is not validated does not grow.
    #[cold]
    pub(super) fn validate(&mut self, now: Time, ack: &mut Ack) {
        if self.phase != Phase::Open {
            return;
        }
        if let Some(before) = self.validation.loss.take() {
            // RFC 7661 §4.4.1: what had to be sent again was too much. Afterwards pipeACK is measured anew.
            let again = self.stats.retransmitted_bytes - before;
            self.set_validated(now, self.control.cwnd.saturating_sub(again / 2));
            (self.validation.pipe_ack, self.validation.since) = (None, None);
            ack.window_limited = false;
        }
        if let Some(rate) = ack.rate {
            let window = self.sampling_period().0;
            match &mut self.validation.pipe_ack {
                Some(filter) => {
                    filter.update(window, now.0, rate.delivered);
                }
                none => {
                    *none = Some(WindowedMax::new(now.0, rate.delivered));
                    self.validation.defined_from = self.board.nxt();
                }
            }
            self.validation.sampled_at = now;
        }
        let undefined = self.board.una() < self.validation.defined_from;
        if undefined || self.validation.pipe_ack.is_none_or(|f| 2 * f.get() >= self.control.cwnd) {
            self.validation.since = None;
            return;
        }
        ack.window_limited = false;
        let since = *self.validation.since.get_or_insert(now);
        if now >= since + NON_VALIDATED_PERIOD {
            self.expire(now, since, Span::ZERO);
        }
    }

    fn set_validated(&mut self, now: Time, window: u64) {
        let window = window.max(u64::from(self.mss));
        self.with_cc(now, |cc, cx| cc.set_window(cx, window));
        self.window = self.control.cwnd;
    }

    /// The window is about to be reduced with `flight` bytes outstanding, for a `loss` that recovery repairs or for
    /// another reason: one that is not validated shrinks from what is used of it. Returns the flight to signal.
    #[cold]
    pub(super) fn before_reduction(&mut self, now: Time, flight: u64, loss: bool) -> u64 {
        let v = &mut self.validation;
        if v.since.is_none() {
            return flight;
        }
        if loss {
            v.loss = Some(self.stats.retransmitted_bytes);
        }
        let used = v.pipe_ack.map_or(0, |f| f.get()).max(flight);
        if used < self.control.cwnd {
            self.set_validated(now, used);
        }
        used
    }

    /// Sending resumes after an idle time: the window stays, but for the five minutes.
    #[cold]
    pub(super) fn resume_validated(&mut self, now: Time, idle: Span) {
        // Nothing was acknowledged meanwhile: the samples have left the filter.
        let left = self.validation.sampled_at + self.sampling_period();
        let defined = self.validation.pipe_ack.is_some();
        let since = *self.validation.since.get_or_insert(left);
        if defined && now >= since {
            self.expire(now, since, idle);
        } else {
            self.validation.since = None;
        }
    }

    /// Halves the window for every five minutes since `since` (RFC 7661 §4.4.3).
    fn expire(&mut self, now: Time, since: Time, idle: Span) {
        let periods = now.since(since).0 / NON_VALIDATED_PERIOD.0;
        self.validation.since = Some(since + NON_VALIDATED_PERIOD * periods);
        let iw = self.config.initial_window(self.mss).min(self.window);
        let window = if periods < 63 { self.window >> periods } else { 0 };
        let ssthresh_floor = if periods > 0 { self.window / 4 * 3 } else { 0 };
        let restart = Restart { idle, window: window.max(iw), ssthresh_floor };
        self.with_cc(now, |cc, cx| cc.on_restart(cx, restart));
        self.window = self.control.cwnd;
    }
}
