//! Flows that a relay splits: how they are put together, and what is counted of them as wholes.

use crate::engine::Sim;
use crate::flow::{Snapshot, Split};
use crate::network::{NO_CAP, Network};
use crate::spec::{Run, SpecError};
use ackclock_core::app::relay::Relay;
use ackclock_core::time::Time;
use ackclock_run::periods::Periods;
use std::collections::BTreeMap;

/// The most that the receive buffers of both ends of flow number `f` hold: that of a relay has its limit.
pub(crate) fn cap(run: &Run, legs: &BTreeMap<usize, (usize, usize)>, f: usize) -> [u64; 2] {
    let mut cap = NO_CAP;
    if let Some((whole, which)) = legs.get(&f) {
        cap[1 - which] = run.flows[*whole].relay.as_ref().map_or(u64::MAX, |r| r.buffer_bytes);
    }
    cap
}

impl Network {
    /// Gives the applications of split flows the connections of the legs, and these their relays.
    pub fn split(&mut self, run: &Run, legs: &BTreeMap<usize, (usize, usize)>) -> Result<(), SpecError> {
        let mut of_whole: BTreeMap<usize, [u32; 2]> = BTreeMap::new();
        for (leg, (whole, which)) in legs {
            of_whole.entry(*whole).or_default()[*which] = *leg as u32;
            let buffer = run.flows[*whole].relay.as_ref().map_or(0, |r| r.buffer_bytes);
            let flow = &mut self.flows[*leg];
            flow.split = Some(Box::new(Split::Leg(*whole as u32, *which, buffer)));
            (flow.apps, flow.periods, flow.began, flow.in_transfers) =
                ([None, None], Periods::new(Vec::new()), true, false);
            self.conns[*leg].due = Time::NEVER;
        }
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        for (whole, legs) in of_whole {
            let Some(relay) = &run.flows[whole].relay else { continue };
            let mss = legs.map(|leg| u64::from(run.flows[leg as usize].mss));
            let setting = relay.setting(mss, &format!("flows.{whole}.relay"))?;
            let next = self.nodes.len() as u32;
            let node = relay.node.as_deref().map_or(next, |name| *known.entry(name).or_insert(next));
            if node == next {
                self.nodes.push(relay.node());
            }
            for leg in legs {
                self.flows[leg as usize].start = self.flows[whole].start;
            }
            let flow = &mut self.flows[whole];
            flow.split = Some(Box::new(Split::Whole(legs, Some(Relay::new(setting)), node)));
            flow.open.clear();
            flow.blueprint = None;
            for side in &mut self.sides[2 * whole..2 * whole + 2] {
                side.endpoint = None;
            }
        }
        Ok(())
    }
}

impl Sim {
    /// The flow that has the connections at the source of flow number `i`.
    pub(crate) fn at_source(&self, i: usize) -> usize {
        match self.flows[i].split.as_deref() {
            Some(Split::Whole(legs, ..)) => legs[0] as usize,
            _ => i,
        }
    }

    /// The flow that flow number `i` is a leg of, or itself.
    pub(crate) fn whole(&self, i: usize) -> usize {
        match self.flows[i].split.as_deref() {
            Some(Split::Leg(whole, ..)) => *whole as usize,
            _ => i,
        }
    }

    /// The counters of flow number `i` so far. Of a split flow: those that its two hosts have, the source's of what it
    /// sends, the sink's of what it gets.
    pub(crate) fn totals(&self, i: usize) -> Snapshot {
        let of = |f: usize| self.flows[f].totals(&self.sides);
        match self.flows[i].split.as_deref() {
            Some(Split::Whole([source, sink], ..)) => {
                let got = of(*sink as usize);
                let (delivered, marked_segments) = (got.delivered, got.marked_segments);
                Snapshot { delivered, marked_segments, ..of(*source as usize) }
            }
            _ => of(i),
        }
    }

    /// What the relay of flow number `i` has measured, if it has one.
    pub(crate) fn relay_measures(&self, i: usize) -> Vec<(&'static str, f64)> {
        match self.flows[i].split.as_deref() {
            Some(Split::Whole(_, Some(relay), _)) => relay.measures(),
            _ => Vec::new(),
        }
    }
}
