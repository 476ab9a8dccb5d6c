//! Transfers that arrive, each over a connection of its own.
//!
//! All arrivals and sizes are drawn before the run begins, from streams of their own: they depend on nothing that
//! happens in it. The endpoints of a transfer exist only while it lasts.

use super::make::{stream, variate};
use crate::endpoint;
use crate::flow::{Snapshot, MAX_FLOWS};
use crate::spec::{self, Arrivals, Run, SpecError};
use ackclock_core::cc::CongestionControl;
use ackclock_core::rng::Stream;
use ackclock_core::tcp::{Config, Endpoint, Profile};
use ackclock_core::time::Time;
use ackclock_core::variate::Variate;

/// A group of transfers.
pub struct Files {
    /// Its first connection, the next to open, and one past the last.
    pub(crate) first: usize,
    pub(crate) next: usize,
    pub(crate) end: usize,
    /// No connection before this one has endpoints.
    pub(crate) oldest: usize,
    /// Bytes with which the receiver asks for a transfer; zero: the sender begins.
    pub(crate) request: u64,
    /// Counters of the connections that have ended.
    pub(crate) ended: Snapshot,
    pub(crate) blueprint: Blueprint,
}

/// What the endpoints of a group are made from.
pub(crate) struct Blueprint {
    spec: spec::Flow,
    profile: Profile,
    config: Config,
    seed: u64,
    run: u64,
    /// Controllers that only the caller of the simulator can make, the last one first.
    made: Vec<Box<dyn CongestionControl>>,
}

impl Blueprint {
    /// Of the flow `f`; controllers made beforehand come in `made`, two for each transfer.
    pub fn new(
        f: &spec::Flow,
        profile: Profile,
        config: Config,
        run: &Run,
        mut made: Vec<Box<dyn CongestionControl>>,
    ) -> Blueprint {
        made.reverse();
        Blueprint { spec: f.clone(), profile, config, seed: run.seed, run: run.run, made }
    }

    /// The endpoint of one side of transfer number `n`.
    ///
    /// # Errors
    /// The controller cannot be made; that was tried when the run was built.
    pub fn endpoint(&mut self, n: usize, side: usize) -> Result<Endpoint, SpecError> {
        let made = self.made.pop();
        let cc = made.map_or_else(|| endpoint::controller(&self.spec, self.profile, "flow"), Ok)?;
        let rng = Stream::named(self.seed, self.run, &format!("flow {}.{n} endpoint {side}", self.spec.id));
        Ok(Endpoint::new(&self.config, self.spec.mss, cc, rng))
    }

    pub fn handshake(&self) -> bool {
        self.config.handshake
    }
}

/// When the transfers of `f` arrive, and their bytes.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub list: Vec<(Time, u64)>,
    /// More would have come than a run has room for.
    pub cut: bool,
}

/// How many transfers the group can have at most, about, in a run of this length.
pub(crate) fn expected(files: &spec::Files, duration_ns: u64) -> f64 {
    let until = files.until_ns.unwrap_or(u64::MAX).min(duration_ns) as f64;
    let n = match files.arrivals {
        Arrivals::PoissonPerS(rate) => until * 1e-9 * rate,
        Arrivals::EveryNs(ns) => until / ns.max(1) as f64 + 1.0,
    };
    n.min(files.count.map_or(f64::INFINITY, |c| c as f64)).min(MAX_FLOWS as f64)
}

/// Draws the transfers of `f`, which is active in `periods`; at most `room` of them.
///
/// # Errors
/// What is wrong with them, and where.
pub(crate) fn draw(
    f: &spec::Flow,
    files: &spec::Files,
    run: &Run,
    periods: &[(Time, Time)],
    room: usize,
    path: &str,
) -> Result<Drawn, SpecError> {
    let at = |key: &str| format!("{path}.app.{key}");
    let sizes = variate(&files.size, &at("size"))?;
    let wait = match files.arrivals {
        Arrivals::PoissonPerS(rate) if rate > 0.0 && rate.is_finite() => Variate::Exponential { mean: 1e9 / rate },
        Arrivals::EveryNs(ns) if ns > 0 => Variate::Constant(ns as f64),
        _ => return Err(SpecError::new(at("arrivals"), "transfers arrive at a rate or interval above zero")),
    };
    if files.request_bytes == Some(0) {
        return Err(SpecError::new(at("request_bytes"), "a request has a byte or more; leave it out for none"));
    }
    let poisson = matches!(files.arrivals, Arrivals::PoissonPerS(_));
    let (mut arrivals, mut size) = (stream(run, &f.id, "arrivals"), stream(run, &f.id, "sizes"));
    // Intervals of whole nanoseconds add up exactly; the others are kept with their fractions, so that they do too.
    let mut active = if poisson { wait.draw(&mut arrivals) } else { 0.0 };
    let mut n = 0u64;
    let mut drawn = Drawn { list: Vec::new(), cut: false };
    let end = Time(files.until_ns.unwrap_or(u64::MAX).min(run.duration_ns));
    while n < files.count.unwrap_or(u64::MAX) {
        let waited = match files.arrivals {
            Arrivals::EveryNs(ns) => u128::from(n) * u128::from(ns),
            Arrivals::PoissonPerS(_) => active as u128,
        };
        let Some(at) = when(periods, waited).filter(|t| *t < end) else { break };
        if drawn.list.len() >= room {
            drawn.cut = true;
            break;
        }
        drawn.list.push((at, sizes.draw_whole(&mut size, 1)));
        active += wait.draw(&mut arrivals);
        n += 1;
    }
    Ok(drawn)
}

/// The moment at which the source has been active for `ns`.
fn when(periods: &[(Time, Time)], ns: u128) -> Option<Time> {
    let mut left = ns;
    for (from, to) in periods {
        let length = u128::from(to.0 - from.0);
        if left < length {
            return Some(Time(from.0 + left as u64));
        }
        left -= length;
    }
    None
}
