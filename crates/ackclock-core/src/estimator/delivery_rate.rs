//! Delivery rate: how fast the network delivered what was sent (draft-ietf-ccwg-bbr §4.1, after Cheng and Cardwell's
//! delivery-rate draft and Linux's implementation of it).

use crate::cc::{Lost, RateSample};
use crate::ring::Ring;
use crate::time::{Span, Time};

/// What the connection has seen so far, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// C.delivered.
    pub delivered: u64,
    /// Declared lost.
    pub lost: u64,
}

/// What a segment remembers of the moment it was last sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// P.send_time.
    at: Time,
    /// P.first_send_time: when the segment was sent whose delivery began the sending interval.
    first: Time,
    /// P.delivered and P.delivered_time.
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// State of one connection; segments have the numbers of the scoreboard's records.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    segments: Ring<Sent>,
    first: Time,
    delivered_at: Time,
    /// C.app_limited: samples are limited until so many bytes are delivered; zero when they are not.
    limited_until: u64,
    /// Segments declared lost not yet reported to the controller: `lost` is what was lost before they were sent.
    losses: Vec<Lost>,
    /// The most recently sent segment delivered by this acknowledgment: when it was sent, its end, its number.
    newest: Option<(Time, u64, u64)>,
}

impl DeliveryRate {
    /// A segment is about to leave while nothing is outstanding.
    pub fn starts(&mut self, now: Time) {
        (self.first, self.delivered_at) = (now, now);
    }

    #[inline]
    fn leaving(&self, at: Time, in_flight: u64, t: Totals) -> Sent {
        Sent {
            at,
            first: self.first,
            delivered: t.delivered,
            delivered_at: self.delivered_at,
            lost: t.lost,
            in_flight,
            app_limited: self.limited_until > 0,
        }
    }

    /// A new segment left, with which `in_flight` bytes are in the network.
    #[inline]
    pub fn sent(&mut self, now: Time, in_flight: u64, totals: Totals) {
        self.segments.push(self.leaving(now, in_flight, totals));
    }

    /// Segment `number` left again; see [`DeliveryRate::sent`].
    pub fn sent_again(&mut self, number: u64, now: Time, in_flight: u64, totals: Totals) {
        *self.segments.get_mut(number) = self.leaving(now, in_flight, totals);
    }

    /// Segment `number`, sent last at `at`, which ends at `end`, was delivered.
    #[inline]
    pub fn delivered(&mut self, number: u64, at: Time, end: u64) {
        if self.newest.is_none_or(|(t, e, _)| (at, end) > (t, e)) {
            self.newest = Some((at, end, number));
        }
    }

    /// Segment `number`, `len` bytes from `pos`, was declared lost.
    pub fn lost(&mut self, number: u64, pos: u64, len: u64) {
        let sent = self.segments.get(number);
        let (tx_in_flight, lost, app_limited) = (sent.in_flight, sent.lost, sent.app_limited);
        self.losses.push(Lost { pos, len, tx_in_flight, lost, app_limited });
    }

    /// Whether losses are to be reported.
    #[inline]
    pub fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// Takes the losses to report, `total` bytes having been lost so far; [`DeliveryRate::give_back`] gives the list back.
    pub fn take_losses(&mut self, total: u64) -> Vec<Lost> {
        let newly: u64 = self.losses.iter().map(|l| l.len).sum();
        let mut sum = total.saturating_sub(newly);
        for l in &mut self.losses {
            sum += l.len;
            l.lost = sum.saturating_sub(l.lost);
        }
        std::mem::take(&mut self.losses)
    }

    /// Gives an empty list of losses back for later use.
    pub fn give_back(&mut self, mut losses: Vec<Lost>) {
        losses.clear();
        self.losses = losses;
    }

    /// The first segment is acknowledged cumulatively.
    #[inline]
    pub fn pop(&mut self) {
        self.segments.pop();
    }

    /// The sender has nothing more to send: samples are limited until `bytes` are delivered.
    pub fn limited(&mut self, bytes: u64) {
        self.limited_until = bytes.max(1);
    }

    /// Whether samples are limited by the application at present.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The sample of an acknowledgment that delivered `newly` bytes and brought the sum to `delivered`.
    pub fn sample(&mut self, now: Time, delivered: u64, newly: u64, min_rtt: Span) -> Option<RateSample> {
        if delivered > self.limited_until {
            self.limited_until = 0;
        }
        if newly > 0 {
            self.delivered_at = now;
        }
        let (_, _, number) = self.newest.take()?;
        let sent = self.segments.get_left(number);
        self.first = sent.at;
        let send = sent.at.since(sent.first);
        let interval = send.max(now.since(sent.delivered_at));
        // A shorter interval than a round trip comes from compressed acknowledgments or the like.
        if interval < min_rtt || interval == Span::ZERO {
            return None;
        }
        Some(RateSample {
            delivered: delivered - sent.delivered,
            interval,
            prior_delivered: sent.delivered,
            tx_in_flight: sent.in_flight,
            prior_lost: sent.lost,
            app_limited: sent.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets of 1250 bytes back to back through 10 Mbit/s, base RTT 40 ms: acknowledged at 41 .. 50 ms.
    #[test]
    fn first_flight() {
        let mut r = DeliveryRate::default();
        for n in 0..10u64 {
            r.sent(Time::ZERO, 1250 * (n + 1), Totals::default());
        }
        let mut last = None;
        for n in 0..10u64 {
            let now = Time(1_000_000 * (41 + n));
            r.delivered(n, Time::ZERO, 1250 * (n + 1));
            r.pop();
            last = r.sample(now, 1250 * (n + 1), 1250, Span::from_millis(41));
        }
        let s = last.unwrap();
        assert_eq!((s.delivered, s.interval, s.tx_in_flight), (12_500, Span::from_millis(50), 12_500));
        assert_eq!(s.rate(), 250_000.0);
    }

    #[test]
    fn limited_by_the_application_until_the_bubble_is_through() {
        let mut r = DeliveryRate::default();
        r.limited(2500);
        for n in 0..3u64 {
            r.sent(Time::ZERO, 1000 * (n + 1), Totals::default());
        }
        for n in 0..3u64 {
            r.delivered(n, Time::ZERO, 1000 * (n + 1));
            r.pop();
            let s = r.sample(Time(50_000_000), 1000 * (n + 1), 1000, Span::from_millis(40)).unwrap();
            assert!(s.app_limited);
        }
        r.starts(Time(60_000_000));
        r.sent(Time(60_000_000), 1000, Totals { delivered: 3000, lost: 0 });
        r.delivered(3, Time(60_000_000), 4000);
        assert!(!r.sample(Time(110_000_000), 4000, 1000, Span::from_millis(40)).unwrap().app_limited);
    }

    #[test]
    fn intervals_below_a_round_trip_are_no_sample() {
        let mut r = DeliveryRate::default();
        r.sent(Time::ZERO, 1000, Totals::default());
        r.delivered(0, Time::ZERO, 1000);
        assert_eq!(r.sample(Time(30_000_000), 1000, 1000, Span::from_millis(40)), None);
    }
}
