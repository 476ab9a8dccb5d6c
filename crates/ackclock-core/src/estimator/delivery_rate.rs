//! Delivery rate: how fast the network delivered what was sent (draft-ietf-ccwg-bbr §4.1, after Cheng and Cardwell's
//! delivery-rate draft and Linux's implementation of it).

use crate::cc::{Lost, RateSample};
use crate::ring::Ring;
use crate::time::{Span, Time};

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
    /// What the next segment to leave will remember.
    next: Sent,
    /// Segments declared lost that the controller has not heard of: `lost` is what was lost before they were sent.
    losses: Vec<Lost>,
    /// The most recently sent segment delivered by this acknowledgment, and its end.
    newest: Option<(Sent, u64)>,
}

impl DeliveryRate {
    /// A segment is about to leave while `outstanding` bytes are unacknowledged and `pipe` are in flight.
    pub fn leaves(&mut self, now: Time, outstanding: u64, pipe: u64, delivered: u64, lost: u64) {
        if outstanding == 0 {
            (self.first, self.delivered_at) = (now, now);
        }
        self.next = Sent {
            at: now,
            first: self.first,
            delivered,
            delivered_at: self.delivered_at,
            lost,
            in_flight: pipe,
            app_limited: self.limited_until > 0,
        };
    }

    /// A new segment of `len` bytes left.
    pub fn sent(&mut self, len: u32) {
        self.next.in_flight += u64::from(len);
        self.segments.push(self.next);
    }

    /// Segment `number` of `len` bytes left again.
    pub fn sent_again(&mut self, number: u64, len: u32) {
        self.next.in_flight += u64::from(len);
        *self.segments.get_mut(number) = self.next;
    }

    /// Segment `number`, which ends at `end`, was delivered.
    pub fn delivered(&mut self, number: u64, end: u64) {
        let sent = *self.segments.get(number);
        if self.newest.is_none_or(|(s, e)| (sent.at, end) > (s.at, e)) {
            self.newest = Some((sent, end));
            self.first = sent.at;
        }
    }

    /// Segment `number`, `len` bytes from `pos`, was declared lost.
    pub fn lost(&mut self, number: u64, pos: u64, len: u64) {
        let sent = self.segments.get(number);
        let (tx_in_flight, lost, app_limited) = (sent.in_flight, sent.lost, sent.app_limited);
        self.losses.push(Lost { pos, len, tx_in_flight, lost, app_limited });
    }

    /// Takes the losses to be told, `total` bytes having been lost so far; [`DeliveryRate::told`] gives the list back.
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
    pub fn told(&mut self, mut losses: Vec<Lost>) {
        losses.clear();
        self.losses = losses;
    }

    /// The first segment is acknowledged cumulatively.
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
        let (sent, _) = self.newest.take()?;
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
            r.leaves(Time::ZERO, 1250 * n, 1250 * n, 0, 0);
            r.sent(1250);
        }
        let mut last = None;
        for n in 0..10u64 {
            let now = Time(1_000_000 * (41 + n));
            r.delivered(n, 1250 * (n + 1));
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
            r.leaves(Time::ZERO, 1000 * n, 1000 * n, 0, 0);
            r.sent(1000);
        }
        for n in 0..3u64 {
            r.delivered(n, 1000 * (n + 1));
            r.pop();
            let s = r.sample(Time(50_000_000), 1000 * (n + 1), 1000, Span::from_millis(40)).unwrap();
            assert!(s.app_limited);
        }
        r.leaves(Time(60_000_000), 0, 0, 3000, 0);
        r.sent(1000);
        r.delivered(3, 4000);
        assert!(!r.sample(Time(110_000_000), 4000, 1000, Span::from_millis(40)).unwrap().app_limited);
    }

    #[test]
    fn intervals_below_a_round_trip_are_no_sample() {
        let mut r = DeliveryRate::default();
        r.leaves(Time::ZERO, 0, 0, 0, 0);
        r.sent(1000);
        r.delivered(0, 1000);
        assert_eq!(r.sample(Time(30_000_000), 1000, 1000, Span::from_millis(40)), None);
    }
}
