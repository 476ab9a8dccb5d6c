//! What a controller decides, and what may be decided for it.

use crate::time::Time;

/// How segments are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// The controller does not ask for it: segments leave as acknowledgments allow, or as the endpoint's own option
    /// `pacing` says.
    #[default]
    Off,
    /// `percent` / 100 windows per smoothed round-trip time.
    ByWindow {
        /// The gain, per cent.
        percent: u32,
    },
    /// Payload bytes per second.
    Rate(u64),
}

/// What a controller wants: read by the endpoint after every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes; [`Control::NO_THRESHOLD`] if there is none: a controller need not have one.
    pub ssthresh: u64,
    /// How segments are spread over time.
    pub pacing: Pacing,
    /// Bytes that may leave together when pacing lets something out; a single segment always may.
    pub burst: u32,
    /// When [`on_wake`](super::CongestionControl::on_wake) is wanted, [`Time::NEVER`] for never. One that has passed
    /// means at once; one that has been is not minded again.
    pub wake_at: Time,
}

impl Control {
    /// The threshold of a controller that has none.
    pub const NO_THRESHOLD: u64 = u64::MAX;

    /// A window without pacing.
    pub const fn window(cwnd: u64, ssthresh: u64) -> Control {
        Control { cwnd, ssthresh, pacing: Pacing::Off, burst: 0, wake_at: Time::NEVER }
    }
}

/// A decision that somebody outside takes for a controller. What is none stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    /// Slow start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// How segments are spread over time.
    pub pacing: Option<Pacing>,
    /// When the controller is to be woken next, instead of when it would ask for it.
    pub wake_at: Option<Time>,
}
