//! A medium: what happens to packets between the output of a link and its far end.
//!
//! Loss, jitter, reordering and duplication each draw from a stream of their own, as many numbers per packet whatever
//! the others do. So switching one on changes nothing in the others: the packets that survive a loss have the delays
//! they would have had without it. That includes order: a packet that is lost still holds back those behind it.

use super::{Jitter, Loss, probability};
use crate::packet::Parcel;
use crate::params::ParamError;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// Packets that are held back, each independently, so that others overtake them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reorder {
    /// Share of packets.
    pub probability: f64,
    /// How much later they come.
    pub extra: Span,
}

/// Something about the medium that changes at an instant.
#[derive(Clone, Debug)]
pub enum Change {
    /// The loss process, from its beginning.
    Loss(Loss),
    /// The delay of every packet besides the link's own.
    Delay(Span),
    /// The distribution of extra delay.
    Jitter(Jitter),
    /// Reordering.
    Reorder(Reorder),
    /// The share of packets that come twice.
    Duplicate(f64),
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// It does not come out.
    pub lost: bool,
    /// It comes out this much later than the link's propagation delay says.
    pub extra: Span,
    /// It comes out twice, both at once. Never of a lost packet.
    pub duplicate: bool,
}

/// The medium behind a link.
///
/// The extra delay of a packet is `delay` and a draw of jitter. With `preserve_order`, a packet that would overtake one
/// before it comes out together with that one (a radio that retransmits in order); otherwise jitter reorders. A packet
/// chosen for reordering comes `reorder.extra` later than all this, and holds back nobody with it.
#[derive(Clone, Debug)]
pub struct Medium {
    loss: Loss,
    delay: Span,
    jitter: Jitter,
    preserve_order: bool,
    reorder: Reorder,
    duplicate: f64,
    /// What changes and when, the next last.
    events: Vec<(Time, Change)>,
    next_event: Time,
    jitter_rng: Stream,
    reorder_rng: Stream,
    duplicate_rng: Stream,
    /// When the latest packet in order comes out, without the link's propagation delay.
    latest: Time,
}

impl Medium {
    /// An ideal medium, which keeps order. Its streams are derived from `owner` ("link bottleneck").
    pub fn new(seed: u64, run: u64, owner: &str) -> Medium {
        let stream = |what: &str| Stream::named(seed, run, &format!("{owner} {what}"));
        Medium {
            loss: Loss::None,
            delay: Span::ZERO,
            jitter: Jitter::none(),
            preserve_order: true,
            reorder: Reorder::default(),
            duplicate: 0.0,
            events: Vec::new(),
            next_event: Time::NEVER,
            jitter_rng: stream("jitter"),
            reorder_rng: stream("reorder"),
            duplicate_rng: stream("duplicate"),
            latest: Time::ZERO,
        }
    }

    /// With this loss process, which brings its own stream.
    pub fn with_loss(mut self, loss: Loss) -> Medium {
        self.loss = loss;
        self
    }

    /// With this delay of every packet.
    pub fn with_delay(mut self, delay: Span) -> Medium {
        self.delay = delay;
        self
    }

    /// With this jitter, in order or not.
    pub fn with_jitter(mut self, jitter: Jitter, preserve_order: bool) -> Medium {
        self.jitter = jitter;
        self.preserve_order = preserve_order;
        self
    }

    /// With this reordering.
    ///
    /// # Errors
    /// A probability outside 0..1.
    pub fn with_reorder(mut self, reorder: Reorder) -> Result<Medium, ParamError> {
        probability("reorder.probability", reorder.probability)?;
        self.reorder = reorder;
        Ok(self)
    }

    /// With this share of packets duplicated.
    ///
    /// # Errors
    /// A probability outside 0..1.
    pub fn with_duplicate(mut self, share: f64) -> Result<Medium, ParamError> {
        self.duplicate = probability("duplicate", share)?;
        Ok(self)
    }

    /// With these changes. A packet whose transmission ends at the instant of a change or later sees it; changes of the
    /// same instant apply in the order given.
    ///
    /// # Errors
    /// A probability outside 0..1.
    pub fn with_events(mut self, mut events: Vec<(Time, Change)>) -> Result<Medium, ParamError> {
        for (_, change) in &events {
            match change {
                Change::Reorder(r) => probability("reorder.probability", r.probability)?,
                Change::Duplicate(p) => probability("duplicate", *p)?,
                Change::Loss(_) | Change::Delay(_) | Change::Jitter(_) => 0.0,
            };
        }
        events.sort_by_key(|e| e.0);
        events.reverse();
        // Equal instants stand in reverse now, as all do: the last is the next.
        self.next_event = events.last().map_or(Time::NEVER, |e| e.0);
        self.events = events;
        Ok(self)
    }

    /// Whether it does nothing and never will: the caller may leave it out.
    pub fn is_ideal(&self) -> bool {
        matches!(self.loss, Loss::None)
            && self.delay == Span::ZERO
            && self.jitter.is_none()
            && self.reorder.probability == 0.0
            && self.duplicate == 0.0
            && self.events.is_empty()
    }

    /// Whether packets are sure to come out in the order they were sent, duplicates and all, now and after every
    /// change: a first-in-first-out buffer is enough for them.
    pub fn keeps_order(&self) -> bool {
        let swaps = |r: &Reorder| r.probability > 0.0 && r.extra > Span::ZERO;
        let scatters = |e: &(Time, Change)| match &e.1 {
            Change::Reorder(r) => swaps(r),
            Change::Jitter(_) | Change::Delay(_) => !self.preserve_order,
            Change::Loss(_) | Change::Duplicate(_) => false,
        };
        !swaps(&self.reorder) && (self.preserve_order || self.jitter.is_none()) && !self.events.iter().any(scatters)
    }

    /// Applies the changes due at `end`.
    #[cold]
    fn change(&mut self, end: Time) {
        while self.events.last().is_some_and(|e| e.0 <= end) {
            let Some((_, change)) = self.events.pop() else { return };
            match change {
                Change::Loss(loss) => self.loss = loss,
                Change::Delay(delay) => self.delay = delay,
                Change::Jitter(jitter) => self.jitter = jitter,
                Change::Reorder(reorder) => self.reorder = reorder,
                Change::Duplicate(share) => self.duplicate = share,
            }
        }
        self.next_event = self.events.last().map_or(Time::NEVER, |e| e.0);
    }

    /// What becomes of `parcel`, whose transmission ends at `end`; these times do not run back.
    #[inline]
    pub fn fate(&mut self, parcel: &Parcel, end: Time) -> Fate {
        if end >= self.next_event {
            self.change(end);
        }
        let lost = self.loss.strikes(parcel);
        let mut extra = self.delay;
        if !self.jitter.is_none() {
            extra = extra + self.jitter.draw(self.jitter_rng.uniform());
        }
        if self.preserve_order {
            self.latest = self.latest.max(end + extra);
            extra = self.latest.since(end);
        }
        if self.reorder.probability > 0.0 && self.reorder_rng.uniform() < self.reorder.probability {
            extra = extra + self.reorder.extra;
        }
        let twice = self.duplicate > 0.0 && self.duplicate_rng.uniform() < self.duplicate;
        Fate { lost, extra, duplicate: twice && !lost }
    }
}

#[cfg(test)]
#[path = "medium_tests.rs"]
mod tests;
