//! Applications in the resolved run.

use serde::{Deserialize, Serialize};

/// What the source of a flow does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum App {
    /// As fast as the transport allows.
    Bulk {
        /// How much; none: unbounded.
        #[serde(default)]
        bytes: Option<u64>,
    },
    /// Packets, or writes into a connection, at a constant rate.
    Cbr(Packets),
    /// The same while on, nothing while off.
    OnOff(Packets),
    /// Transfers that arrive one after another, each over a connection of its own.
    Files(Files),
    /// Requests and answers over one connection.
    RequestResponse(Requests),
}

impl App {
    /// Its name in documents and tables.
    pub fn kind(&self) -> &'static str {
        match self {
            App::Bulk { .. } => "bulk",
            App::Cbr(_) => "cbr",
            App::OnOff(_) => "on_off",
            App::Files(_) => "files",
            App::RequestResponse(_) => "request_response",
        }
    }

    /// A source of datagrams, if it is one.
    pub fn datagrams(&self) -> Option<&Packets> {
        match self {
            App::Cbr(p) | App::OnOff(p) if p.transport == Transport::Udp => Some(p),
            _ => None,
        }
    }
}

/// What carries packets at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A datagram each.
    Udp,
    /// A write into the send buffer each.
    Tcp,
}

/// Packets of one size at a given rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packets {
    /// What carries them.
    pub transport: Transport,
    /// Payload per time while on, bit/s.
    pub rate_bps: u64,
    /// Payload of a packet, or bytes of a write.
    pub packet_bytes: u32,
    /// What a datagram has on the wire beside its payload: UDP and IP headers, link framing not included.
    #[serde(default = "udp_and_ip")]
    pub header_bytes: u32,
    /// From the begin of an interval of activity to the first packet; none: drawn from one gap between packets.
    #[serde(default)]
    pub phase_ns: Option<u64>,
    /// Every gap is multiplied by a uniform number between 0.5 and 1.5 (ns-2's `random_`).
    #[serde(default)]
    pub jitter: bool,
    /// Datagrams are ECN-capable.
    #[serde(default)]
    pub ect: bool,
    /// Lengths of the times on, nanoseconds (`on_off` only).
    #[serde(default)]
    pub on: Option<Dist>,
    /// Lengths of the times off, nanoseconds.
    #[serde(default)]
    pub off: Option<Dist>,
}

fn udp_and_ip() -> u32 {
    28
}

/// Transfers that arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// When.
    pub arrivals: Arrivals,
    /// Bytes of each.
    pub size: Dist,
    /// How many at most.
    #[serde(default)]
    pub count: Option<u64>,
    /// When the last may arrive.
    #[serde(default)]
    pub until_ns: Option<u64>,
    /// The receiver opens the connection and asks with this many bytes; none: the sender opens it and sends.
    #[serde(default)]
    pub request_bytes: Option<u64>,
}

/// When transfers arrive, counted from the flow's start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// A Poisson process with this many arrivals per second.
    PoissonPerS(f64),
    /// One at the start and one after each interval.
    EveryNs(u64),
}

/// Requests and answers. The answers take the forward route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Bytes of a request.
    pub request: Dist,
    /// Bytes of its answer.
    pub response: Dist,
    /// From the end of an answer to the next request, nanoseconds; none: no time.
    #[serde(default)]
    pub think: Option<Dist>,
    /// How many requests; none: until the flow stops.
    #[serde(default)]
    pub count: Option<u64>,
}

/// A distribution of sizes in bytes or times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Dist {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Pareto, given by its mean or its smallest value; truncated if it has a largest value.
    Pareto {
        /// Exponent of its tail.
        shape: f64,
        /// Its mean, which needs a shape above 1 and no `max`.
        #[serde(default)]
        mean: Option<f64>,
        /// The smallest value.
        #[serde(default)]
        min: Option<f64>,
        /// The largest value.
        #[serde(default)]
        max: Option<f64>,
    },
    /// Lognormal, truncated to `[min, max]`.
    Lognormal {
        /// Its mean before truncation.
        mean: f64,
        /// Its standard deviation before truncation.
        sd: f64,
        /// The smallest value.
        #[serde(default)]
        min: Option<f64>,
        /// The largest value.
        #[serde(default)]
        max: Option<f64>,
    },
    /// Listed values.
    Empirical {
        /// Values and their cumulative probabilities.
        points: Vec<(f64, f64)>,
        /// Values between the points occur too.
        #[serde(default)]
        interpolate: bool,
    },
}
