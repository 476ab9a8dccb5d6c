//! Parameters of BBRv1 and what they become: whole numbers in the units of the variant.

use crate::params::{Default, Kind, ParamSpec, Params, count, float, time};

/// Gains are fixed-point numbers with sixteen fractional bits: exact for Linux, which has eight.
pub(super) const GAIN_UNIT: u64 = 1 << 16;

const fn switch(name: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Choice(&["auto", "on", "off"]), default: Default::Text("auto"), range: None, doc }
}

/// Parameters of `bbr1`.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["draft", "linux"]),
        default: Default::Text("draft"),
        range: None,
        doc: "draft: draft-cardwell-iccrg-bbr-congestion-control-00, in bytes; linux: tcp_bbr of Linux 6.12, in segments and \
              with its arithmetic, pacing margin, ACK aggregation and policer detection. Profile linux: linux",
    },
    float("startup_gain", 2.885, (1.05, 16.0), "pacing and window gain of STARTUP, 2/ln 2; DRAIN paces at its inverse"),
    float("cwnd_gain", 2.0, (1.0, 16.0), "window gain of PROBE_BW, bandwidth-delay products"),
    float("probe_gain", 1.25, (1.0, 4.0), "pacing gain of PROBE_BW's phase that probes for bandwidth"),
    float("drain_gain", 0.75, (0.1, 1.0), "pacing gain of the phase after it"),
    count("cycle_length", 8, (3.0, 64.0), "phases of PROBE_BW, each about one minimum RTT"),
    count("bw_rounds", 10, (1.0, 1000.0), "window of the bandwidth filter, round trips"),
    time("min_rtt_window", 10_000, (0.1, 3600.0), "window of the minimum RTT; PROBE_RTT follows its end"),
    time("probe_rtt_time", 200, (0.0, 10.0), "shortest stay at the smallest window in PROBE_RTT"),
    ParamSpec {
        name: "min_window",
        kind: Kind::Segments,
        default: Default::Int(4),
        range: Some((1.0, 1000.0)),
        doc: "smallest window, and that of PROBE_RTT",
    },
    float("full_bw_growth", 1.25, (1.0, 4.0), "growth of the bandwidth per round that says the pipe is not full"),
    count("full_bw_rounds", 3, (1.0, 100.0), "rounds without it that say the pipe is full"),
    float(
        "pacing_margin",
        -1.0,
        (-1.0, 0.5),
        "share of the estimated bandwidth that pacing leaves free; below zero the variant's own: draft 0, linux 0.01",
    ),
    switch(
        "ack_aggregation",
        "adds the excess of aggregated acknowledgments to the window; auto is on in variant linux",
    ),
    count("extra_acked_rounds", 5, (1.0, 31.0), "half of the window of the filter of that excess, round trips"),
    time("extra_acked_max", 100, (0.0, 10.0), "most that is added, as time at the estimated bandwidth"),
    switch(
        "policer_detection",
        "takes the long-term rate of a policed path for the bandwidth; auto is on in variant linux",
    ),
    count("policer_min_rounds", 4, (1.0, 31.0), "shortest interval that may show a policer, round trips"),
    float("policer_loss", 0.1953125, (0.0, 1.0), "lost / delivered of such an interval (Linux: 50/256)"),
    float("policer_ratio", 0.125, (0.0, 1.0), "largest relative difference of the rates of two such intervals"),
    count("policer_rounds", 48, (1.0, 127.0), "round trips that the long-term rate is in force"),
    count("hz", 1000, (1.0, 1e6), "clock ticks per second of variant linux, which count the 10 s and 200 ms"),
];

/// What the parameters become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Whole segments and Linux's additions; else bytes.
    pub linux: bool,
    pub startup_gain: u64,
    pub startup_drain_gain: u64,
    pub cwnd_gain: u64,
    pub probe_gain: u64,
    pub drain_gain: u64,
    pub cycle_length: u64,
    pub bw_rounds: u64,
    /// Nanoseconds of a tick of the clock that counts the following two, and they in ticks.
    pub tick: u64,
    pub min_rtt_window: u64,
    pub probe_rtt_time: u64,
    pub min_segments: u64,
    pub full_bw_growth: u64,
    pub full_bw_rounds: u64,
    /// Millionths of the bandwidth that pacing uses.
    pub paced_millionths: u64,
    pub ack_aggregation: bool,
    pub extra_acked_rounds: u64,
    pub extra_acked_max_us: u64,
    pub policer: bool,
    pub policer_min_rounds: u64,
    pub policer_loss: u64,
    pub policer_ratio: u64,
    pub policer_rounds: u64,
}

impl Settings {
    pub fn new(p: &Params) -> Settings {
        let linux = p.text("variant") == "linux";
        // Linux's gains have eight fractional bits and are rounded down; that of STARTUP is then one up, so as not to
        // be below 2/ln 2.
        let fixed = |x: f64| if linux { (x * 256.0) as u64 * 256 } else { (x * GAIN_UNIT as f64 + 0.5) as u64 };
        let gain = |name| fixed(p.float(name));
        let auto = |name| match p.text(name) {
            "auto" => linux,
            word => word == "on",
        };
        let margin = match p.float("pacing_margin") {
            m if m >= 0.0 => m,
            _ if linux => 0.01,
            _ => 0.0,
        };
        let tick = if linux { 1_000_000_000 / p.int("hz").clamp(1, 1_000_000_000) } else { 1 };
        let startup = p.float("startup_gain");
        Settings {
            linux,
            startup_gain: fixed(startup) + if linux { 256 } else { 0 },
            startup_drain_gain: fixed(1.0 / startup),
            cwnd_gain: gain("cwnd_gain"),
            probe_gain: gain("probe_gain"),
            drain_gain: gain("drain_gain"),
            cycle_length: p.int("cycle_length"),
            bw_rounds: p.int("bw_rounds"),
            tick,
            min_rtt_window: p.duration("min_rtt_window").0 / tick,
            probe_rtt_time: p.duration("probe_rtt_time").0.div_ceil(tick),
            min_segments: p.int("min_window"),
            full_bw_growth: gain("full_bw_growth"),
            full_bw_rounds: p.int("full_bw_rounds"),
            paced_millionths: ((1.0 - margin) * 1e6 + 0.5) as u64,
            ack_aggregation: auto("ack_aggregation"),
            extra_acked_rounds: p.int("extra_acked_rounds"),
            extra_acked_max_us: p.duration("extra_acked_max").0 / 1000,
            policer: auto("policer_detection"),
            policer_min_rounds: p.int("policer_min_rounds"),
            policer_loss: gain("policer_loss"),
            policer_ratio: gain("policer_ratio"),
            policer_rounds: p.int("policer_rounds"),
        }
    }
}
