//! What every engine refuses: what cannot be played by anybody.

use crate::series::KERNELS_ALONE;
use crate::spec::{self, Hop, Run, SpecError, Start, Through};
use std::collections::BTreeMap;

/// Most connections of a run.
pub const MAX_FLOWS: usize = 1 << 24;
/// Longest run, delay and interval: 10 years, so that sums of times cannot overflow.
const MAX_DURATION: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Most bytes of link framing.
const MAX_OVERHEAD: u32 = 65_535;
/// Fastest link, bit/s.
const MAX_RATE: u64 = 1_000_000_000_000_000;

/// Checks `run` as far as that needs no network.
///
/// # Errors
/// What is wrong with it, and where.
pub fn check(run: &Run) -> Result<(), SpecError> {
    let err = |path: &str, problem: String| Err(SpecError::new(path, problem));
    if run.duration_ns == 0 || run.duration_ns > MAX_DURATION {
        return err("duration_ns", "a run lasts more than nothing and at most ten years".into());
    }
    if run.warmup_ns >= run.duration_ns {
        return err("warmup_ns", format!("the warm-up of {} ns must end before the run does", run.warmup_ns));
    }
    if run.flows.is_empty() || run.flows.len() > MAX_FLOWS {
        return err("flows", format!("a run has 1 to {MAX_FLOWS} flows, not {}", run.flows.len()));
    }
    for (i, f) in run.flows.iter().enumerate() {
        if f.app.datagrams().is_none() && (f.mss == 0 || f.mss > 65_535) {
            return err(&format!("flows.{i}.mss"), format!("a segment has 1 to 65535 bytes, not {}", f.mss));
        }
        if let Start::Uniform([a, b]) = f.start {
            if b < a {
                return err(&format!("flows.{i}.start"), "the interval ends before it begins".into());
            }
        }
    }
    spec::relay::check(run)?;
    let mut takes_time = BTreeMap::new();
    for (i, l) in run.links.iter().enumerate() {
        if takes_time.insert(l.id.as_str(), l.delay_ns > 0 || !l.unlimited()).is_some() {
            return err(&format!("links.{i}.id"), format!("two links have the id '{}'", l.id));
        }
        if l.delay_ns > MAX_DURATION {
            return err(&format!("links.{i}.delay_ns"), format!("{} ns is more than ten years", l.delay_ns));
        }
        if l.overhead_bytes > MAX_OVERHEAD {
            let problem = format!("{} B of framing; at most {MAX_OVERHEAD}", l.overhead_bytes);
            return err(&format!("links.{i}.overhead_bytes"), problem);
        }
        let steps = l.schedule.iter().flat_map(|s| s.steps.iter().map(|step| step[1]));
        if l.rate_bps.into_iter().chain(steps).any(|r| r > MAX_RATE) {
            return err(&format!("links.{i}.rate_bps"), format!("faster than {MAX_RATE} bit/s"));
        }
    }
    for (i, e) in run.elements.iter().enumerate() {
        if run.elements[..i].iter().any(|other| other.id == e.id) {
            return err(&format!("elements.{i}.id"), format!("two elements have the id '{}'", e.id));
        }
    }
    for (i, c) in run.cells.iter().enumerate() {
        let taken = run.elements.iter().any(|e| e.id == c.id) || run.cells[..i].iter().any(|other| other.id == c.id);
        if taken {
            return err(&format!("cells.{i}.id"), format!("two elements have the id '{}'", c.id));
        }
    }
    for (i, h) in run.hspa.iter().enumerate() {
        let others = run.elements.iter().map(|e| &e.id).chain(run.cells.iter().map(|c| &c.id));
        if others.chain(run.hspa[..i].iter().map(|other| &other.id)).any(|id| *id == h.id) {
            return err(&format!("hspa.{i}.id"), format!("two elements have the id '{}'", h.id));
        }
    }
    for (i, f) in run.flows.iter().enumerate() {
        let hops = || f.forward.iter().chain(&f.reverse);
        if hops().any(|h| matches!(h, Hop::Uniform([low, high]) if low > high)) {
            return err(&format!("flows.{i}"), "the least delay is above the largest".into());
        }
        if hops().any(|h| matches!(h, Hop::Delay(ns) | Hop::Uniform([_, ns]) if *ns > MAX_DURATION)) {
            return err(&format!("flows.{i}"), "a delay of more than ten years".into());
        }
        // A packet must be later behind its route than before it. Unknown links are told of when routes are made.
        let later = |h: &Hop| match h {
            Hop::Delay(ns) | Hop::Uniform([ns, _]) => *ns > 0,
            Hop::Link(id) => takes_time.get(id.as_str()).copied().unwrap_or(true),
            // Elements may, but nobody says so; a cell does.
            Hop::Element(Through { id, .. }) => {
                run.cells.iter().any(|c| c.id == *id) || run.hspa.iter().any(|h| h.id == *id)
            }
        };
        if !hops().any(later) {
            return err(&format!("flows.{i}"), "nothing on its way takes time; give a link a rate or a delay".into());
        }
    }
    let kernels = run.probes.keys().find(|name| KERNELS_ALONE.contains(&name.as_str()));
    if let Some(name) = kernels.filter(|_| run.engine.kind == spec::Player::Sim) {
        let problem = "only a kernel tells this of its flows; leave it out, or take engine kernel".to_owned();
        return err(&format!("probes.{name}"), problem);
    }
    if run.probes.values().any(|p| matches!(p, spec::Sampling::Every { every_ns } if *every_ns > MAX_DURATION)) {
        return err("probes", "an interval of more than ten years".into());
    }
    Ok(())
}
