//! From the resolved run to applications.

use super::pulse::{Pulse, Turns};
use super::{App, Datagrams, Periods, Requests};
use crate::histogram::Histogram;
use crate::spec::{self, Dist, Packets, Run, SpecError, Transport};
use ackclock_core::packet::Ecn;
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;
use ackclock_core::variate::Variate;

/// Most payload of a datagram or write.
const MAX_PACKET: u32 = 65_507;
/// Longest wait between two packets, relative to the mean time on: more turns than this would be idle ones.
const MAX_TURNS_PER_PACKET: f64 = 1e4;

/// The distribution `d`; `path` is its key's.
///
/// # Errors
/// Parameters that make no sense.
pub(crate) fn variate(d: &Dist, path: &str) -> Result<Variate, SpecError> {
    let err = |problem: &str| Err(SpecError::new(path, problem));
    let v = match *d {
        Dist::Constant { value } => Variate::Constant(value),
        Dist::Exponential { mean } => Variate::Exponential { mean },
        Dist::Pareto { shape, mean: None, min: Some(min), max: None } => Variate::Pareto { shape, min },
        Dist::Pareto { shape, mean: None, min: Some(min), max: Some(max) } => {
            Variate::BoundedPareto { shape, min, max }
        }
        Dist::Pareto { shape, mean: Some(mean), min: None, max: None } if shape > 1.0 => {
            Variate::Pareto { shape, min: mean * (shape - 1.0) / shape }
        }
        Dist::Pareto { .. } => return err(
            "a Pareto distribution is given by shape and min, with max if it is truncated, or by shape > 1 and mean",
        ),
        Dist::Lognormal { mean, sd, min, max } => {
            Variate::lognormal(mean, sd, min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY))
        }
        Dist::Empirical { ref points, interpolate } => Variate::Empirical { points: points.clone(), interpolate },
    };
    match v.check() {
        Ok(()) => Ok(v),
        Err(problem) => err(problem),
    }
}

/// The stream of `flow` for `what`.
pub(crate) fn stream(run: &Run, flow: &str, what: &str) -> Stream {
    Stream::named(run.seed, run.run, &format!("flow {flow} {what}"))
}

/// When the source of `f`, which starts at `start`, is active.
///
/// # Errors
/// Intervals that overlap or are empty.
pub(crate) fn periods(f: &spec::Flow, start: Time, path: &str) -> Result<Periods, SpecError> {
    // A source told to stop before it starts does so at once: time never runs back.
    let stop = f.stop_ns.map_or(Time::NEVER, |ns| Time(ns).max(start));
    let Some(schedule) = &f.schedule else { return Ok(Periods::new(vec![(start, stop)])) };
    let at = || format!("{path}.schedule");
    let mut list: Vec<(Time, Time)> = Vec::with_capacity(schedule.len());
    let mut last = Time::ZERO;
    for &(from, to) in schedule {
        let (from, to) = (Time(from), to.map_or(Time::NEVER, Time));
        if from >= to || from < last {
            return Err(SpecError::new(at(), "intervals follow one another, and each ends after it begins"));
        }
        last = to;
        let cut = (from.max(start), to.min(stop));
        if cut.0 < cut.1 {
            list.push(cut);
        }
    }
    if list.is_empty() {
        list.push((start, start));
    }
    if list.len() > 1 && matches!(f.app, spec::App::Bulk { bytes: Some(_) }) {
        return Err(SpecError::new(at(), "several intervals are for sources without an end; leave bytes out"));
    }
    Ok(Periods::new(list))
}

fn pulse(p: &Packets, f: &spec::Flow, run: &Run, path: &str) -> Result<Pulse, SpecError> {
    let at = |key: &str| format!("{path}.app.{key}");
    if p.packet_bytes == 0 || p.packet_bytes > MAX_PACKET || p.header_bytes > 1000 {
        let problem = format!("a packet has 1 to {MAX_PACKET} bytes of payload and at most 1000 of headers");
        return Err(SpecError::new(at("packet_bytes"), problem));
    }
    let gap = f64::from(p.packet_bytes) * 8e9 / p.rate_bps as f64;
    if !(1.0..1e18).contains(&gap) {
        let problem = format!("a packet of {} B every {gap} ns; from 1 ns to 30 years make sense", p.packet_bytes);
        return Err(SpecError::new(at("rate_bps"), problem));
    }
    let turns = match (&f.app, &p.on, &p.off) {
        (spec::App::OnOff(_), on, off) => {
            let usual = Dist::Exponential { mean: 5e8 };
            let on = variate(on.as_ref().unwrap_or(&usual), &at("on"))?;
            let off = variate(off.as_ref().unwrap_or(&usual), &at("off"))?;
            if on.mean() * MAX_TURNS_PER_PACKET < gap {
                let problem = format!("the mean time on is too short for packets that are {gap} ns apart");
                return Err(SpecError::new(at("on"), problem));
            }
            Some(Turns { times: [on, off], rng: [stream(run, &f.id, "on"), stream(run, &f.id, "off")] })
        }
        (_, None, None) => None,
        _ => {
            return Err(SpecError::new(at("on"), "a source at a constant rate is always on; its kind would be on_off"))
        }
    };
    let jitter = p.jitter.then(|| stream(run, &f.id, "jitter"));
    Ok(Pulse::new(p.packet_bytes, p.rate_bps, p.phase_ns, stream(run, &f.id, "phase"), jitter, turns))
}

/// The application of `f`, one of transfers excepted.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn app(f: &spec::Flow, run: &Run, path: &str) -> Result<App, SpecError> {
    Ok(match &f.app {
        spec::App::Bulk { bytes } => App::Bulk(*bytes),
        spec::App::Cbr(p) | spec::App::OnOff(p) if p.transport == Transport::Tcp => {
            App::Writes(u64::from(p.packet_bytes), Box::new(pulse(p, f, run, path)?))
        }
        spec::App::Cbr(p) | spec::App::OnOff(p) => App::Datagrams(Box::new(Datagrams {
            pulse: pulse(p, f, run, path)?,
            payload: p.packet_bytes,
            wire: p.packet_bytes + p.header_bytes,
            next: 0,
            ecn: if p.ect { Ecn::Ect0 } else { Ecn::NotEct },
            from: Time(run.warmup_ns),
            total_sent: 0,
            total_received: 0,
            sent: 0,
            received: 0,
            last: Time::ZERO,
            of_sent: 0,
            marked: 0,
            delay: Histogram::default(),
            in_flight: 0,
        })),
        spec::App::RequestResponse(r) => {
            let at = |key: &str| format!("{path}.app.{key}");
            if r.count == Some(0) {
                return Err(SpecError::new(at("count"), "there is a request at least; leave count out for no end"));
            }
            let draw = |d: &Dist, key: &str, name: &str| Ok((variate(d, &at(key))?, stream(run, &f.id, name)));
            let think = r.think.clone().unwrap_or(Dist::Constant { value: 0.0 });
            let draws = [
                draw(&r.request, "request", "requests")?,
                draw(&r.response, "response", "sizes")?,
                draw(&think, "think", "think")?,
            ];
            App::Requests(Box::new(Requests {
                draws,
                left: r.count.unwrap_or(u64::MAX),
                asked: 0,
                answered: 0,
                size: 0,
                begun: None,
                next: Time::NEVER,
                done: Vec::new(),
            }))
        }
        spec::App::Files(_) => {
            let problem = "transfers are made with their connections";
            return Err(SpecError::new(format!("{path}.app"), problem));
        }
    })
}
