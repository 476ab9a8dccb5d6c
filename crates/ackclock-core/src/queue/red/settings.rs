//! RED's parameters: what the scenario says, over a preset, over what follows from the link.

use crate::math::exp;
use crate::params::{ParamError, ParamSpec, Params, choice, count, flag, float, time};
use crate::queue::registry::Site;
use crate::time::Span;

/// Every parameter. A number that is 0 and the word `preset` leave the choice to the preset.
pub(super) const PARAMS: &[ParamSpec] = &[
    choice(
        "preset",
        &["ns2", "ns2-auto", "ns3", "floyd", "ared"],
        "what holds where nothing is given: ns-2 of 2001; ns-2 since 2004 (bytes, thresholds and weight by the link); \
         ns-3; Floyd and Jacobson 1993; adaptive RED as Floyd, Gummadi and Shenker recommend it (2001)",
    ),
    choice(
        "mode",
        &["preset", "packets", "bytes"],
        "unit of the queue and its thresholds; bytes also weighs packets by size; preset: packets, ns2-auto bytes",
    ),
    float(
        "min",
        0.0,
        (0.0, 1e12),
        "average from which packets are dropped or marked; 0 is the preset's: 5 packets or by the link",
    ),
    float("max", 0.0, (0.0, 1e12), "average where the probability is max_p; 0 is the preset's: 15 packets or 3 min"),
    choice(
        "thresholds_from",
        &["preset", "link"],
        "link (and presets ns2-auto, ared): min = max(5, target_delay C / 2), max = 3 min, C in mean packets a second",
    ),
    time("target_delay", 5, (0.0, 10.0), "delay from which the link's min follows (Floyd, Gummadi and Shenker 2001)"),
    float(
        "weight",
        0.0,
        (0.0, 1.0),
        "weight of the present queue in the average; 0 is the preset's: 0.002 or by the link",
    ),
    choice(
        "weight_from",
        &["preset", "rtt", "second"],
        "rtt (ns2-auto): 1 - exp(-1/(10 RTT C)), RTT = max(0.1 s, 3 (delay + 1/C)); second (ared): 1 - exp(-1/C)",
    ),
    float(
        "max_p",
        0.0,
        (0.0, 1.0),
        "probability at max, where adaptive RED begins; 0 is the preset's: 0.1, ns3 and floyd 0.02",
    ),
    count(
        "mean_packet",
        0,
        (0.0, 65_535.0),
        "bytes of a mean packet; 0 is the preset's: 500, floyd and ared the link's packet",
    ),
    choice(
        "gentle",
        &["preset", "on", "off"],
        "between max and 2 max the probability rises from max_p to 1 (Floyd 2000); preset: on, floyd off",
    ),
    choice(
        "wait",
        &["preset", "on", "off"],
        "nobody is dropped until 1/p packets have passed since the last drop; preset: on, floyd off",
    ),
    choice(
        "variant",
        &["preset", "ns2", "floyd"],
        "ns2: idle time counts for one update more, the packet that crosses min and one that finds at most one waiting \
         pass; preset: ns2, floyd floyd",
    ),
    choice("adaptive", &["preset", "on", "off"], "max_p follows the average (Floyd et al. 2001); preset: off, ared on"),
    time("interval", 500, (1e-3, 3600.0), "adaptive: time between steps of max_p"),
    float("alpha", 0.01, (0.0, 1.0), "adaptive: largest step up of max_p, which is never more than a quarter of it"),
    float("beta", 0.9, (0.0, 1.0), "adaptive: factor by which max_p goes down"),
    float("bottom", 0.01, (1e-9, 1.0), "adaptive: below this max_p goes down no further"),
    float("top", 0.5, (0.0, 1.0), "adaptive: above this max_p goes up no further"),
    flag("ecn", false, "below max (gentle: 2 max) mark what understands ECN in place of dropping it (RFC 3168 §7)"),
    float(
        "mark_p",
        0.0,
        (0.0, 1.0),
        "ecn: drop all the same where p_b exceeds this; 0 is the preset's: 1, ns2-auto 0.1",
    ),
];

/// A rule for the weight of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weight {
    /// A number.
    Fixed(f64),
    /// Ten round trips.
    Rtt,
    /// One second.
    Second,
}

/// What a preset says.
struct Preset {
    bytes: bool,
    /// Thresholds in packets; none: from the link.
    thresholds: Option<(f64, f64)>,
    weight: Weight,
    max_p: f64,
    /// Bytes; none: the link's full-size packet.
    mean_packet: Option<u32>,
    gentle: bool,
    wait: bool,
    floyd: bool,
    adaptive: bool,
    mark_p: f64,
}

const NS2: Preset = Preset {
    bytes: false,
    thresholds: Some((5.0, 15.0)),
    weight: Weight::Fixed(0.002),
    max_p: 0.1,
    mean_packet: Some(500),
    gentle: true,
    wait: true,
    floyd: false,
    adaptive: false,
    mark_p: 1.0,
};

fn preset(name: &str) -> Preset {
    match name {
        "ns2-auto" => Preset { bytes: true, thresholds: None, weight: Weight::Rtt, mark_p: 0.1, ..NS2 },
        "ns3" => Preset { max_p: 0.02, ..NS2 },
        "floyd" => Preset { max_p: 0.02, mean_packet: None, gentle: false, wait: false, floyd: true, ..NS2 },
        "ared" => Preset { thresholds: None, weight: Weight::Second, mean_packet: None, adaptive: true, ..NS2 },
        _ => NS2,
    }
}

/// How `max_p` follows the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Adaptation {
    pub interval: Span,
    pub alpha: f64,
    pub beta: f64,
    pub bottom: f64,
    pub top: f64,
}

/// RED as it will run: every value fixed, lengths in the unit of `bytes`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub bytes: bool,
    pub min: f64,
    pub max: f64,
    pub weight: f64,
    pub max_p: f64,
    pub gentle: bool,
    pub wait: bool,
    pub floyd: bool,
    pub adaptation: Option<Adaptation>,
    pub ecn: bool,
    pub mark_p: f64,
    pub mean_packet: u32,
    pub rate_bps: u64,
}

fn conflict(name: &str, problem: String) -> ParamError {
    ParamError::Conflict { name: name.to_owned(), problem }
}

impl Settings {
    /// What `p` means at `site`.
    ///
    /// # Errors
    /// Parameters that contradict each other.
    pub fn new(p: &Params, site: &Site) -> Result<Settings, ParamError> {
        let d = preset(p.text("preset"));
        let word = |name: &str, yes: &str, preset: bool| match p.text(name) {
            "preset" => preset,
            w => w == yes,
        };
        let number = |name: &str, preset: f64| match p.float(name) {
            0.0 => preset,
            x => x,
        };
        let bytes = word("mode", "bytes", d.bytes);
        let mean_packet = match p.int("mean_packet") as u32 {
            0 => d.mean_packet.unwrap_or(site.packet).max(1),
            n => n,
        };
        let rate_bps = site.rate_bps.max(1);
        let per_second = rate_bps as f64 / (8.0 * f64::from(mean_packet));
        let (min, max) = thresholds(p, &d, if bytes { f64::from(mean_packet) } else { 1.0 }, per_second)?;
        let settings = Settings {
            bytes,
            min,
            max,
            weight: weight(p, &d, site.delay, per_second)?,
            max_p: number("max_p", d.max_p),
            gentle: word("gentle", "on", d.gentle),
            wait: word("wait", "on", d.wait),
            floyd: word("variant", "floyd", d.floyd),
            adaptation: word("adaptive", "on", d.adaptive).then(|| Adaptation {
                interval: p.duration("interval"),
                alpha: p.float("alpha"),
                beta: p.float("beta"),
                bottom: p.float("bottom"),
                top: p.float("top"),
            }),
            ecn: p.bool("ecn"),
            mark_p: number("mark_p", d.mark_p),
            mean_packet,
            rate_bps,
        };
        match settings.adaptation {
            Some(a) if a.bottom >= a.top => {
                let problem =
                    format!("{} is not below top = {}: max_p could not move; set bottom below top", a.bottom, a.top);
                Err(conflict("bottom", problem))
            }
            _ => Ok(settings),
        }
    }
}

/// The thresholds; `unit` is a packet in the unit of the queue.
fn thresholds(p: &Params, d: &Preset, unit: f64, per_second: f64) -> Result<(f64, f64), ParamError> {
    let given = (p.float("min"), p.float("max"));
    // ns-2: half of the queue aimed at, but not less than five packets, and three times that.
    let aimed = p.duration("target_delay").as_secs_f64() * per_second / 2.0;
    let link = p.text("thresholds_from") == "link";
    let preset = d.thresholds.filter(|_| !link);
    let min = if given.0 > 0.0 { given.0 } else { unit * preset.map_or(aimed.max(5.0), |t| t.0) };
    let max = if given.1 > 0.0 { given.1 } else { preset.map_or(3.0 * min, |t| unit * t.1) };
    if min < max {
        return Ok((min, max));
    }
    let of = |given: f64| if given > 0.0 { "" } else { " (not given, so of the preset)" };
    let remedy = format!("set min below max; max = {} is the usual 3 min", 3.0 * min);
    let problem = format!("min = {min}{} is not below max = {max}{}: {remedy}", of(given.0), of(given.1));
    Err(conflict(if given.0 > 0.0 { "min" } else { "max" }, problem))
}

/// The weight of the average.
fn weight(p: &Params, d: &Preset, delay: Span, per_second: f64) -> Result<f64, ParamError> {
    let given = p.float("weight");
    let rule = match p.text("weight_from") {
        "preset" if given > 0.0 => Weight::Fixed(given),
        "preset" => d.weight,
        from if given > 0.0 => {
            let problem =
                format!("{given} is given and weight_from = {from} asks to compute it: leave one of them out");
            return Err(conflict("weight", problem));
        }
        "rtt" => Weight::Rtt,
        _ => Weight::Second,
    };
    Ok(match rule {
        Weight::Fixed(w) => w,
        Weight::Rtt => {
            let rtt = (3.0 * (delay.as_secs_f64() + 1.0 / per_second)).max(0.1);
            1.0 - exp(-1.0 / (10.0 * rtt * per_second))
        }
        Weight::Second => 1.0 - exp(-1.0 / per_second),
    })
}
