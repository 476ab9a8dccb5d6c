//! What a controller is told, as data: one event per call, with its arguments and the decision after it.

use ackclock_core::cc::{self, Pacing, Phase};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use serde::{Deserialize, Serialize};

fn usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One call. Times are nanoseconds, sizes bytes; what is left out is zero, false or nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The method and its arguments.
    #[serde(flatten)]
    pub call: Call,
    /// What came with it.
    pub cx: Context,
    /// What was in force after it.
    pub control: Control,
}

/// A method of the controller with its arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "call", content = "args", rename_all = "snake_case")]
pub enum Call {
    /// Before the first call: whose controller it is, and what its random stream follows from.
    Create {
        cc: String,
        flow: String,
        seed: u64,
        run: u64,
    },
    Start {
        initial_window: u64,
    },
    OnPaced {},
    Observe(Ack),
    OnAck(Ack),
    OnCongestion(Signal),
    OnPhase {},
    OnRecovered {
        cwnd: u64,
    },
    SetWindow {
        cwnd: u64,
    },
    OnUndo {
        cwnd: u64,
        ssthresh: Option<u64>,
    },
    OnRestart {
        idle_ns: u64,
        window: u64,
        ssthresh_floor: u64,
    },
    OnTransmitStart {
        /// Not there in older recordings.
        #[serde(default)]
        idle_ns: u64,
    },
    OnLimitedStart {},
    OnLost {
        pos: u64,
        len: u64,
        tx_in_flight: u64,
        lost: u64,
        app_limited: bool,
    },
    OnWake {},
    PacketPair {},
    OnPacketPair {
        bytes: [u32; 2],
        rtt_ns: [u64; 2],
    },
}

/// [`cc::Cx`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    pub now_ns: u64,
    pub mss: u32,
    pub in_flight: u64,
    pub srtt_ns: u64,
    pub min_rtt_ns: u64,
    pub nxt: u64,
    pub delivered: u64,
    #[serde(skip_serializing_if = "usual")]
    pub lost: u64,
    pub phase: Stand,
}

/// [`cc::Phase`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    #[default]
    Open,
    Disorder,
    Reduction,
    Recovery,
    Loss,
}

impl From<&cc::Cx<'_>> for Context {
    fn from(cx: &cc::Cx<'_>) -> Context {
        Context {
            now_ns: cx.now.0,
            mss: cx.mss,
            in_flight: cx.in_flight,
            srtt_ns: cx.rtt.smoothed.0,
            min_rtt_ns: cx.rtt.min.0,
            nxt: cx.nxt,
            delivered: cx.delivered,
            lost: cx.lost,
            phase: match cx.phase {
                Phase::Open => Stand::Open,
                Phase::Disorder => Stand::Disorder,
                Phase::Reduction => Stand::Reduction,
                Phase::Recovery => Stand::Recovery,
                Phase::Loss => Stand::Loss,
            },
        }
    }
}

impl Context {
    /// As the engine has it.
    pub fn cx<'a>(&self, rng: &'a mut Stream) -> cc::Cx<'a> {
        cc::Cx {
            now: Time(self.now_ns),
            mss: self.mss,
            in_flight: self.in_flight,
            rtt: cc::RttView { smoothed: Span(self.srtt_ns), min: Span(self.min_rtt_ns) },
            nxt: self.nxt,
            delivered: self.delivered,
            lost: self.lost,
            phase: match self.phase {
                Stand::Open => Phase::Open,
                Stand::Disorder => Phase::Disorder,
                Stand::Reduction => Phase::Reduction,
                Stand::Recovery => Phase::Recovery,
                Stand::Loss => Phase::Loss,
            },
            rng,
        }
    }
}

/// [`cc::Ack`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ack {
    pub delivered: u64,
    pub acked: u64,
    #[serde(skip_serializing_if = "usual")]
    pub segments: u64,
    #[serde(skip_serializing_if = "usual")]
    pub lost: u64,
    #[serde(skip_serializing_if = "usual")]
    pub marked: u64,
    #[serde(skip_serializing_if = "usual")]
    pub ece: bool,
    #[serde(skip_serializing_if = "usual")]
    pub duplicate: bool,
    pub rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "usual")]
    pub one_way_ns: Option<u64>,
    #[serde(skip_serializing_if = "usual")]
    pub rate: Option<Rate>,
    #[serde(skip_serializing_if = "usual")]
    pub departs_ns: u64,
    pub in_flight_before: u64,
    pub una: u64,
    pub nxt: u64,
    pub round: u64,
    #[serde(skip_serializing_if = "usual")]
    pub plain: bool,
    pub window_limited: bool,
    #[serde(skip_serializing_if = "usual")]
    pub grow: bool,
}

/// [`cc::RateSample`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub delivered: u64,
    pub interval_ns: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: u64,
    pub prior_lost: u64,
    pub app_limited: bool,
}

impl From<&cc::Ack> for Ack {
    fn from(a: &cc::Ack) -> Ack {
        Ack {
            delivered: a.delivered,
            acked: a.acked,
            segments: a.segments,
            lost: a.lost,
            marked: a.marked,
            ece: a.ece,
            duplicate: a.duplicate,
            rtt_ns: a.rtt.map(|s| s.0),
            one_way_ns: a.one_way.map(|s| s.0),
            rate: a.rate.map(|r| Rate {
                delivered: r.delivered,
                interval_ns: r.interval.0,
                prior_delivered: r.prior_delivered,
                tx_in_flight: r.tx_in_flight,
                prior_lost: r.prior_lost,
                app_limited: r.app_limited,
            }),
            departs_ns: a.departs.0,
            in_flight_before: a.in_flight_before,
            una: a.una,
            nxt: a.nxt,
            round: a.round,
            plain: a.plain,
            window_limited: a.window_limited,
            grow: a.grow,
        }
    }
}

impl From<&Ack> for cc::Ack {
    fn from(a: &Ack) -> cc::Ack {
        cc::Ack {
            delivered: a.delivered,
            acked: a.acked,
            segments: a.segments,
            lost: a.lost,
            marked: a.marked,
            ece: a.ece,
            duplicate: a.duplicate,
            rtt: a.rtt_ns.map(Span),
            one_way: a.one_way_ns.map(Span),
            rate: a.rate.map(|r| cc::RateSample {
                delivered: r.delivered,
                interval: Span(r.interval_ns),
                prior_delivered: r.prior_delivered,
                tx_in_flight: r.tx_in_flight,
                prior_lost: r.prior_lost,
                app_limited: r.app_limited,
            }),
            departs: Time(a.departs_ns),
            in_flight_before: a.in_flight_before,
            una: a.una,
            nxt: a.nxt,
            round: a.round,
            plain: a.plain,
            window_limited: a.window_limited,
            grow: a.grow,
        }
    }
}

/// [`cc::Signal`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Signal {
    Loss { flight: u64 },
    Ecn { flight: u64 },
    Timeout { flight: u64, repeated: bool },
}

impl From<cc::Signal> for Signal {
    fn from(s: cc::Signal) -> Signal {
        match s {
            cc::Signal::Loss { flight } => Signal::Loss { flight },
            cc::Signal::Ecn { flight } => Signal::Ecn { flight },
            cc::Signal::Timeout { flight, repeated } => Signal::Timeout { flight, repeated },
        }
    }
}

impl From<Signal> for cc::Signal {
    fn from(s: Signal) -> cc::Signal {
        match s {
            Signal::Loss { flight } => cc::Signal::Loss { flight },
            Signal::Ecn { flight } => cc::Signal::Ecn { flight },
            Signal::Timeout { flight, repeated } => cc::Signal::Timeout { flight, repeated },
        }
    }
}

/// [`cc::Control`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    pub cwnd: u64,
    /// None: no threshold yet.
    pub ssthresh: Option<u64>,
    #[serde(default, skip_serializing_if = "usual")]
    pub pacing: Option<Spread>,
    /// When it wants to be woken; none: never.
    #[serde(default, skip_serializing_if = "usual")]
    pub wake_at_ns: Option<u64>,
}

/// [`cc::Pacing`], when it is not off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    Percent(u32),
    Rate(u64),
}

/// No threshold is nothing in JSON.
pub fn threshold(bytes: u64) -> Option<u64> {
    (bytes != u64::MAX).then_some(bytes)
}

impl From<cc::Control> for Control {
    fn from(c: cc::Control) -> Control {
        let pacing = match c.pacing {
            Pacing::Off => None,
            Pacing::ByWindow { percent } => Some(Spread::Percent(percent)),
            Pacing::Rate(rate) => Some(Spread::Rate(rate)),
        };
        let wake_at_ns = c.wake_at.is_set().then_some(c.wake_at.0);
        Control { cwnd: c.cwnd, ssthresh: threshold(c.ssthresh), pacing, wake_at_ns }
    }
}
