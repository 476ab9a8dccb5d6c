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
use super::control_block::ControlBlock;
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
    /// Samples of pipeACK, bytes.
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
    /// Nothing, unless the rule is in force.
    pub fn new(config: &Config) -> Option<Validation> {
        (config.idle == IdleRule::Rfc7661).then(Validation::default)
    }

    /// Takes a sample of pipeACK; `nxt` is the next position to send.
    fn sample(&mut self, now: Time, window: Span, delivered: u64, nxt: u64) {
        match &mut self.pipe_ack {
            Some(filter) => {
                filter.update(window.0, now.0, delivered);
            }
            none => {
                *none = Some(WindowedMax::new(now.0, delivered));
                self.defined_from = nxt;
            }
        }
        self.sampled_at = now;
    }

    /// Whether a window of `cwnd` bytes is validated with `una` acknowledged.
    //= RFC 7661 §4.3 frozen
    fn validates(&self, cwnd: u64, una: u64) -> bool {
        una < self.defined_from || self.pipe_ack.is_none_or(|f| 2 * f.get() >= cwnd)
    }
}

impl ControlBlock {
    //= RFC 7661 §4.2 pipe-ack
    fn sampling_period(&self) -> Span {
        (self.rtt.smoothed() * 3).max(LEAST_SAMPLING)
    }

    /// Looks at what an acknowledgment outside any repair says of the use of the window: one that is not validated
    /// does not grow. Only where the rule is in force.
    #[cold]
    pub fn validate(&mut self, now: Time, ack: &mut Ack) {
        let cwnd = self.congestion.control().cwnd;
        let Some(v) = &mut self.validation else { return };
        if let Some(before) = v.loss.take() {
            // RFC 7661 §4.4.1: what had to be sent again was too much. Afterwards pipeACK is measured anew.
            (v.pipe_ack, v.since) = (None, None);
            let again = self.stats.retransmitted_bytes - before;
            self.set_validated(now, cwnd.saturating_sub(again / 2));
            ack.window_limited = false;
        }
        let (period, cwnd) = (self.sampling_period(), self.congestion.control().cwnd);
        let Some(v) = &mut self.validation else { return };
        if let Some(rate) = ack.rate {
            v.sample(now, period, rate.delivered, self.board.nxt());
        }
        if v.validates(cwnd, self.board.una()) {
            v.since = None;
            return;
        }
        ack.window_limited = false;
        let since = *v.since.get_or_insert(now);
        if now >= since + NON_VALIDATED_PERIOD {
            self.expire(now, since, Span::ZERO);
        }
    }

    fn set_validated(&mut self, now: Time, window: u64) {
        self.congestion.release();
        self.set_window(now, window.max(u64::from(self.mss)));
    }

    /// The window is about to be reduced with `flight` bytes outstanding, for a `loss` that recovery repairs or for
    /// another reason: one that is not validated shrinks from what is used of it. Returns the flight to signal.
    //= RFC 7661 §4.4.1 loss
    pub fn flight_to_reduce(&mut self, now: Time, flight: u64, loss: bool) -> u64 {
        let Some(v) = self.validation.as_mut().filter(|v| v.since.is_some()) else { return flight };
        if loss {
            v.loss = Some(self.stats.retransmitted_bytes);
        }
        let used = v.pipe_ack.map_or(0, |f| f.get()).max(flight);
        if used < self.congestion.control().cwnd {
            self.set_validated(now, used);
        }
        used
    }

    /// Sending resumes after an idle time: the window stays, but for the five minutes.
    #[cold]
    pub fn resume_validated(&mut self, now: Time, idle: Span) {
        let period = self.sampling_period();
        let Some(v) = &mut self.validation else { return };
        // Nothing was acknowledged meanwhile: the samples have left the filter.
        let left = v.sampled_at + period;
        let since = *v.since.get_or_insert(left);
        if v.pipe_ack.is_some() && now >= since {
            self.expire(now, since, idle);
        } else {
            v.since = None;
        }
    }

    /// Halves the window for every five minutes since `since` (RFC 7661 §4.4.3).
    //= RFC 7661 §4.4.3 five-minutes
    fn expire(&mut self, now: Time, since: Time, idle: Span) {
        let periods = now.since(since).0 / NON_VALIDATED_PERIOD.0;
        if let Some(v) = &mut self.validation {
            v.since = Some(since + NON_VALIDATED_PERIOD * periods);
        }
        let cwnd = self.window();
        let iw = self.config.initial_window(self.mss).min(cwnd);
        let window = if periods < 63 { cwnd >> periods } else { 0 };
        let ssthresh_floor = if periods > 0 { cwnd / 4 * 3 } else { 0 };
        self.restart(now, Restart { idle, window: window.max(iw), ssthresh_floor });
    }

    /// The window goes back to what `restart` says.
    pub fn restart(&mut self, now: Time, restart: Restart) {
        self.congestion.release();
        self.decide(now, |cc, cx| cc.on_restart(cx, restart));
    }
}
