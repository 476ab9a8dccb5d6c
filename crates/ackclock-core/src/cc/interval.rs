//! What a sender sees between two decisions (a monitor interval of Dong et al., "PCC: Re-architecting Congestion
//! Control for Consistent High Performance", NSDI 2015).

use super::{Ack, Cx};
use crate::math::float;
use crate::time::{Span, Time};

/// One interval, complete. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Its end.
    pub at: Time,
    /// Its length.
    pub span: Span,
    /// Bytes acknowledged within it, selectively or cumulatively.
    pub delivered: u64,
    /// Bytes declared lost within it.
    pub lost: u64,
    /// Bytes that left within it, retransmissions included, as the balance of delivered, lost and in flight has it.
    pub sent: u64,
    /// Bytes acknowledged that the network had marked (CE).
    pub marked: u64,
    /// Acknowledgments.
    pub acks: u64,
    /// Mean of the RTT samples within it, nanoseconds; that of the last interval that had any where this has none.
    pub rtt: f64,
    /// Slope of the RTT samples over the time they were taken at, by least squares, without unit; zero below two of
    /// them.
    pub rtt_gradient: f64,
    /// RTT samples.
    pub samples: u64,
    /// Smoothed round-trip time at its end.
    pub srtt: Span,
    /// Smallest RTT sample of the connection.
    pub min_rtt: Span,
    /// Largest rate of delivery in any interval so far, this one included, bytes per second.
    pub max_rate: f64,
    /// Bytes in flight at its end.
    pub in_flight: u64,
    /// Congestion window in force at its end, bytes.
    pub cwnd: u64,
    /// Pacing rate told, bytes per second; zero: none.
    pub rate: u64,
    /// Segments of so many bytes.
    pub mss: u32,
    /// Intervals before it.
    pub index: u64,
}

/// Counters at the begin of an interval, and sums over it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Monitor {
    began: Time,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    marked: u64,
    acks: u64,
    samples: u64,
    /// Sums of the samples' times since the begin (t) and values (r), in seconds: t, r, tt, tr.
    sums: [f64; 4],
    last_rtt: f64,
    max_rate: f64,
    index: u64,
}

impl Monitor {
    /// An interval begins at the time of `cx`.
    pub fn begin(&mut self, cx: &Cx<'_>) {
        (self.began, self.delivered, self.lost, self.in_flight) = (cx.now, cx.delivered, cx.lost, cx.in_flight);
        (self.marked, self.acks, self.samples, self.sums) = (0, 0, 0, [0.0; 4]);
    }

    /// An acknowledgment.
    pub fn on_ack(&mut self, cx: &Cx<'_>, ack: &Ack) {
        self.acks += 1;
        self.marked += ack.marked;
        if let Some(rtt) = ack.rtt {
            let (t, r) = (cx.now.since(self.began).as_secs_f64(), rtt.as_secs_f64());
            self.samples += 1;
            for (sum, more) in self.sums.iter_mut().zip([t, r, t * t, t * r]) {
                *sum += more;
            }
        }
    }

    /// The interval ends at the time of `cx`, under a window of `cwnd` bytes paced at `rate`; another begins.
    pub fn end(&mut self, cx: &Cx<'_>, cwnd: u64, rate: u64) -> Interval {
        let n = float(self.samples);
        let [t, r, tt, tr] = self.sums;
        if self.samples > 0 {
            self.last_rtt = r / n * 1e9;
        }
        let spread = n * tt - t * t;
        let (delivered, lost) = (cx.delivered - self.delivered, cx.lost.saturating_sub(self.lost));
        let span = cx.now.since(self.began);
        self.max_rate = self.max_rate.max(float(delivered) * 1e9 / float(span.0.max(1)));
        let complete = Interval {
            at: cx.now,
            span,
            delivered,
            lost,
            sent: (delivered + lost + cx.in_flight).saturating_sub(self.in_flight),
            marked: self.marked,
            acks: self.acks,
            rtt: self.last_rtt,
            rtt_gradient: if self.samples > 1 && spread > 0.0 { (n * tr - t * r) / spread } else { 0.0 },
            samples: self.samples,
            srtt: cx.rtt.smoothed,
            min_rtt: cx.rtt.min,
            max_rate: self.max_rate,
            in_flight: cx.in_flight,
            cwnd,
            rate,
            mss: cx.mss,
            index: self.index,
        };
        self.index += 1;
        self.begin(cx);
        complete
    }
}
