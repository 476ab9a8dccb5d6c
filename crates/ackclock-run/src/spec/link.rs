//! Links of the resolved run: pace, queue, and what happens at the output.

use super::yes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A one-way link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name.
    pub id: String,
    /// Bits per second; none: unlimited, no queue.
    pub rate_bps: Option<u64>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Bytes added to every packet.
    #[serde(default)]
    pub overhead_bytes: u32,
    /// What waits for it.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// Rates that change at known instants, in place of `rate_bps`.
    #[serde(default)]
    pub schedule: Option<Schedule>,
    /// Recorded transmission opportunities, in place of `rate_bps`.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// A token bucket that holds packets back, before a line of `rate_bps`.
    #[serde(default)]
    pub shaper: Option<Bucket>,
    /// A token bucket that drops what exceeds it, before the queue.
    #[serde(default)]
    pub policer: Option<Bucket>,
    /// Loss at its output.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Extra delay of single packets.
    #[serde(default)]
    pub jitter: Option<Jitter>,
    /// Whether jitter keeps the order of packets.
    #[serde(default = "yes")]
    pub preserve_order: bool,
    /// Packets held back so that others overtake them.
    #[serde(default)]
    pub reorder: Option<Reorder>,
    /// Share of packets that come out twice.
    #[serde(default)]
    pub duplicate: f64,
    /// What changes in the run besides the rate.
    #[serde(default)]
    pub events: Vec<Event>,
}

impl Link {
    /// Whether nothing ever waits for it.
    pub fn unlimited(&self) -> bool {
        self.rate_bps.is_none() && self.schedule.is_none() && self.trace.is_none()
    }

    /// Its propagation delay at the start. `delay_ns` is the smallest of the run; where that comes later, an event at 0
    /// says what it is before.
    pub fn first_delay_ns(&self) -> u64 {
        let set = self.events.iter().filter(|e| e.at_ns == 0).filter_map(|e| e.delay_ns).next_back();
        set.unwrap_or(self.delay_ns)
    }

    /// Its highest rate, bit/s, that of a shaper at most; of a trace the mean.
    pub fn fastest(&self) -> Option<u64> {
        let steps = self.schedule.as_ref().and_then(|s| s.steps.iter().map(|step| step[1]).max());
        let trace = self.trace.as_ref().and_then(|t| {
            let bits = t.times_ms.len() as u64 * u64::from(t.opportunity_bytes) * 8;
            Some(bits * 1000 / t.times_ms.last().filter(|ms| **ms > 0)?)
        });
        let line = self.rate_bps.or(steps).or(trace)?;
        Some(self.shaper.as_ref().map_or(line, |bucket| line.min(bucket.rate_bps)))
    }
}

/// A piecewise constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Beginnings, nanoseconds, the first 0, and rates, bit/s; 0 is off.
    pub steps: Vec<[u64; 2]>,
    /// The steps repeat after this time; none: the last rate stays.
    #[serde(default)]
    pub period_ns: Option<u64>,
}

/// A trace in the form of mahimahi.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// An opportunity each, milliseconds, not decreasing.
    pub times_ms: Vec<u64>,
    /// Bytes an opportunity carries.
    #[serde(default = "opportunity")]
    pub opportunity_bytes: u32,
}

fn opportunity() -> u32 {
    ackclock_core::link::OPPORTUNITY
}

/// A token bucket, full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Bits per second.
    pub rate_bps: u64,
    /// Bytes it holds.
    pub burst_bytes: u32,
}

/// A distribution of extra delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Jitter {
    /// Uniform between two delays.
    Uniform {
        /// The least.
        low_ns: u64,
        /// The most.
        high_ns: u64,
    },
    /// Normal, truncated at zero.
    Normal {
        /// Mean before the truncation.
        mean_ns: u64,
        /// Standard deviation before the truncation.
        sd_ns: u64,
    },
    /// Pareto.
    Pareto {
        /// The least.
        scale_ns: u64,
        /// Exponent, above 1.
        shape: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean_ns: u64,
    },
    /// As measured.
    Empirical {
        /// Delays, of equal weight.
        values_ns: Vec<u64>,
    },
}

/// Packets that are held back, each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of packets.
    pub probability: f64,
    /// How much later they come.
    pub extra_ns: u64,
}

/// What a link's medium becomes at an instant; what is not given stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// Propagation delay, not below the link's own.
    #[serde(default)]
    pub delay_ns: Option<u64>,
    /// Loss.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Jitter.
    #[serde(default)]
    pub jitter: Option<Jitter>,
    /// Reordering.
    #[serde(default)]
    pub reorder: Option<Reorder>,
    /// Share of packets that come out twice.
    #[serde(default)]
    pub duplicate: Option<f64>,
}

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Its name in the registry.
    pub kind: String,
    /// Most packets; none: no limit.
    #[serde(default)]
    pub limit_packets: Option<u64>,
    /// Most bytes; none: no limit.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    /// Whether the packet in transmission counts.
    #[serde(default = "yes")]
    pub limit_includes_service: bool,
    /// Whether a packet finds those gone that leave at its own instant; only in the fused form of a link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub departures_first: bool,
    /// ECN-capable packets that find more packets than this before them are marked (`droptail`); none: nothing is marked.
    #[serde(default)]
    pub mark_above_packets: Option<u64>,
    /// The same in bytes.
    #[serde(default)]
    pub mark_above_bytes: Option<u64>,
    /// Weights of the classes of flows, for schedulers that share by weight; a class without one has weight 1.
    #[serde(default)]
    pub weights: Vec<f64>,
    /// Bytes of a full-size packet on this link.
    #[serde(default = "full_size")]
    pub packet_bytes: u32,
    /// Parameters of the discipline.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

fn full_size() -> u32 {
    1514
}

impl Queue {
    /// First in, first out, without a limit.
    pub fn unlimited() -> Queue {
        Queue {
            kind: "droptail".to_owned(),
            limit_packets: None,
            limit_bytes: None,
            limit_includes_service: true,
            departures_first: false,
            mark_above_packets: None,
            mark_above_bytes: None,
            weights: Vec::new(),
            packet_bytes: full_size(),
            params: BTreeMap::new(),
        }
    }
}

/// A loss process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// Independent, with probability `p`.
    Bernoulli {
        /// Probability.
        p: f64,
    },
    /// In bursts, by a chain of two states (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of turning bad, per packet.
        p: f64,
        /// Probability of turning good, per packet.
        r: f64,
        /// Share of packets that survive in the bad state.
        #[serde(default)]
        h: f64,
        /// Share of packets that survive in the good state.
        #[serde(default = "one")]
        k: f64,
    },
    /// Independent errors of bits.
    BitErrors {
        /// Bit error rate.
        ber: f64,
    },
    /// Every `n`-th packet.
    Every {
        /// Period.
        n: u64,
    },
    /// Listed data segments.
    Scripted {
        /// Which.
        drops: Vec<Drop>,
    },
}

fn one() -> f64 {
    1.0
}

/// A data segment to lose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// Flow.
    pub flow: String,
    /// Which data segment of the flow through this link, from 1.
    pub nth: u64,
}
