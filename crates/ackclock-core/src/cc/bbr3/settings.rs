//! Parameters of BBRv3.

use crate::params::{Default, Kind, ParamSpec, Params, count, float, time};
use crate::time::Span;

/// Parameters of `bbr3`; the draft's name of each stands in its sentence.
pub(super) const PARAMS: &[ParamSpec] = &[
    float("startup_gain", 2.77, (1.05, 16.0), "pacing gain of Startup (StartupPacingGain, 4 ln 2)"),
    float(
        "startup_drain_gain",
        0.5,
        (0.1, 1.0),
        "pacing gain of Drain (DrainPacingGain); 0.35 in BBRv3 as first released",
    ),
    float("cwnd_gain", 2.0, (1.0, 16.0), "window gain, bandwidth-delay products (DefaultCwndGain)"),
    float("down_gain", 0.9, (0.1, 1.0), "pacing gain of ProbeBW_DOWN"),
    float("up_gain", 1.25, (1.0, 4.0), "pacing gain of ProbeBW_UP"),
    float("up_cwnd_gain", 2.25, (1.0, 16.0), "window gain of ProbeBW_UP"),
    float("probe_rtt_cwnd_gain", 0.5, (0.01, 1.0), "window gain of ProbeRTT (ProbeRTTCwndGain)"),
    float("loss_threshold", 0.02, (0.0, 0.9), "share of lost data that is too much (LossThresh)"),
    float("beta", 0.7, (0.1, 1.0), "kept fraction of the model's bounds per round with loss (Beta)"),
    float("headroom", 0.15, (0.0, 0.9), "share of inflight_longterm left to others when cruising (Headroom)"),
    ParamSpec {
        name: "min_window",
        kind: Kind::Segments,
        default: Default::Int(4),
        range: Some((1.0, 1000.0)),
        doc: "smallest window (MinPipeCwnd)",
    },
    count("bw_cycles", 2, (1.0, 100.0), "window of the bandwidth filter, ProbeBW cycles (MaxBwFilterLen)"),
    time("min_rtt_window", 10_000, (0.1, 3600.0), "window of the minimum RTT (MinRTTFilterLen)"),
    time(
        "probe_rtt_interval",
        5_000,
        (0.1, 3600.0),
        "longest time without a smaller RTT before ProbeRTT (ProbeRTTInterval)",
    ),
    time("probe_rtt_time", 200, (0.0, 10.0), "shortest stay in ProbeRTT with a small window (ProbeRTTDuration)"),
    count(
        "extra_acked_rounds",
        10,
        (1.0, 1000.0),
        "window of the ACK aggregation filter, round trips (ExtraAckedFilterLen)",
    ),
    count("startup_loss_ranges", 6, (1.0, 1000.0), "lost ranges in a round that end Startup (StartupFullLossCnt)"),
    float("full_bw_growth", 1.25, (1.0, 4.0), "growth of the bandwidth per round that says the pipe is not full"),
    count("full_bw_rounds", 3, (1.0, 100.0), "rounds without it that say the pipe is full"),
    count("drain_rounds", 3, (1.0, 1000.0), "longest stay in Drain, round trips"),
    float(
        "pacing_margin",
        0.01,
        (0.0, 0.5),
        "share of the estimated bandwidth that pacing leaves free (PacingMarginPercent)",
    ),
    time("probe_wait", 2_000, (0.01, 3600.0), "shortest time from one bandwidth probe to the next"),
    time("probe_wait_spread", 1_000, (0.0, 3600.0), "random time added to it, uniform from zero to this"),
    count("reno_rounds", 63, (1.0, 10_000.0), "most round trips from one bandwidth probe to the next, for Reno's sake"),
];

/// The parameters as values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub startup_gain: f64,
    pub startup_drain_gain: f64,
    pub cwnd_gain: f64,
    pub down_gain: f64,
    pub up_gain: f64,
    pub up_cwnd_gain: f64,
    pub probe_rtt_cwnd_gain: f64,
    pub loss_threshold: f64,
    pub beta: f64,
    pub headroom: f64,
    pub min_segments: u64,
    pub bw_cycles: u64,
    pub min_rtt_window: Span,
    pub probe_rtt_interval: Span,
    pub probe_rtt_time: Span,
    pub extra_acked_rounds: u64,
    pub startup_loss_ranges: u64,
    pub full_bw_growth: f64,
    pub full_bw_rounds: u64,
    pub drain_rounds: u64,
    /// Share of the bandwidth that pacing uses.
    pub paced: f64,
    pub probe_wait: Span,
    pub probe_wait_spread: Span,
    pub reno_rounds: u64,
}

impl Settings {
    pub fn new(p: &Params) -> Settings {
        Settings {
            startup_gain: p.float("startup_gain"),
            startup_drain_gain: p.float("startup_drain_gain"),
            cwnd_gain: p.float("cwnd_gain"),
            down_gain: p.float("down_gain"),
            up_gain: p.float("up_gain"),
            up_cwnd_gain: p.float("up_cwnd_gain"),
            probe_rtt_cwnd_gain: p.float("probe_rtt_cwnd_gain"),
            loss_threshold: p.float("loss_threshold"),
            beta: p.float("beta"),
            headroom: p.float("headroom"),
            min_segments: p.int("min_window"),
            bw_cycles: p.int("bw_cycles"),
            min_rtt_window: p.duration("min_rtt_window"),
            probe_rtt_interval: p.duration("probe_rtt_interval"),
            probe_rtt_time: p.duration("probe_rtt_time"),
            extra_acked_rounds: p.int("extra_acked_rounds"),
            startup_loss_ranges: p.int("startup_loss_ranges"),
            full_bw_growth: p.float("full_bw_growth"),
            full_bw_rounds: p.int("full_bw_rounds"),
            drain_rounds: p.int("drain_rounds"),
            paced: 1.0 - p.float("pacing_margin"),
            probe_wait: p.duration("probe_wait"),
            probe_wait_spread: p.duration("probe_wait_spread"),
            reno_rounds: p.int("reno_rounds"),
        }
    }
}
