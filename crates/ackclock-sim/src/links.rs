//! From a link of the resolved run to that of the network.

use crate::spec::{self, Run, SpecError};
use crate::wire::{FusedLink, Link};
use ackclock_core::path::{Pace, Refusal};
use ackclock_run::links;

/// The link `l` of `run`; `log` keeps every change of its queue's length.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn link(l: &spec::Link, run: &Run, path: &str, log: bool) -> Result<Link, SpecError> {
    let params = links::params(l, run, path)?;
    let setting = links::setting(run);
    let wrong = |e: Refusal| links::refused(path, e);
    let departures_first = l.queue.as_ref().is_some_and(|q| q.departures_first);
    // What the fused form knows: a constant rate and a plain queue, or no rate, and nothing at the output but losses.
    let rate = match params.pace {
        None => Some(None),
        Some(Pace::Constant(rate)) if run.engine.fused && params.queue.plain() => Some(Some(rate)),
        Some(_) => None,
    };
    let mut link = match rate.filter(|_| params.policer.is_none() && params.only_loses()) {
        Some(rate) => {
            params.check(&setting).map_err(wrong)?;
            let loss = params.build_loss(&setting).map_err(wrong)?;
            let fused = FusedLink::new(params.common(&setting), loss, rate, params.queue.limits, params.queue.step);
            Link::Fused(fused.with_departures_first(departures_first))
        }
        None if departures_first => {
            let problem = "only a droptail queue at a constant rate, with nothing but losses behind it, can let departures go first";
            return Err(SpecError::new(format!("{path}.queue.departures_first"), problem));
        }
        None => Link::General(Box::new(params.build(&setting).map_err(wrong)?)),
    };
    link.stats_mut().log = log.then(Vec::new);
    Ok(link)
}
