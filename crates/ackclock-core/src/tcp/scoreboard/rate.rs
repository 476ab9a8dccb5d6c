//! Delivery-rate samples: which segment's delivery they are taken from.

use super::Scoreboard;
use crate::cc::{Lost, RateSample};
use crate::estimator::delivery_rate::{DeliveryRate, Totals};
use crate::time::{Span, Time};

impl Scoreboard {
    /// Switches delivery-rate samples on or off; before anything is sent.
    pub fn track_rate(&mut self, on: bool) {
        self.rate = on.then(Box::default);
    }

    /// A segment is about to leave while nothing is outstanding.
    pub fn note_start(&mut self, now: Time) {
        if let Some(rate) = &mut self.rate {
            rate.starts(now);
        }
    }

    /// Whether delivery-rate samples are taken.
    #[inline]
    pub fn is_measured(&self) -> bool {
        self.rate.is_some()
    }

    /// The segment recorded last left; with it `pipe` bytes are in flight.
    #[inline]
    pub fn note_sent(&mut self, now: Time, pipe: u64, totals: Totals) {
        if let Some(rate) = &mut self.rate {
            rate.sent(now, pipe, totals);
        }
    }

    /// The sender ran out of data with `delivered` bytes delivered so far.
    pub fn note_app_limited(&mut self, delivered: u64) {
        let bytes = delivered + self.pipe();
        if let Some(rate) = &mut self.rate {
            rate.limited(bytes);
        }
    }

    /// Samples of what leaves now are limited by the application.
    #[inline]
    pub fn app_limited(&self) -> bool {
        self.rate.as_ref().is_some_and(|r| r.is_limited())
    }

    /// Whether [`Scoreboard::take_losses`] has something.
    #[inline]
    pub fn has_losses_to_report(&self) -> bool {
        self.rate.as_ref().is_some_and(|r| r.has_losses())
    }

    /// See [`DeliveryRate::take_losses`].
    pub fn take_losses(&mut self) -> Vec<Lost> {
        let total = self.total_lost;
        self.rate.as_mut().map_or_else(Vec::new, |r| r.take_losses(total))
    }

    /// See [`DeliveryRate::give_back`].
    pub fn give_back(&mut self, losses: Vec<Lost>) {
        if let Some(rate) = &mut self.rate {
            rate.give_back(losses);
        }
    }

    /// The sample of the acknowledgment just taken, if it gives one.
    pub fn rate_sample(&mut self, now: Time, delivered: u64, newly: u64, min_rtt: Span) -> Option<RateSample> {
        self.rate.as_deref_mut().and_then(|r: &mut DeliveryRate| r.sample(now, delivered, newly, min_rtt))
    }
}
