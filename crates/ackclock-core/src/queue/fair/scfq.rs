//! Self-clocked fair queueing (Golestani, A self-clocked fair queueing scheme for broadband applications, INFOCOM 1994):
//! virtual time is the finish tag of the packet in service, F = max(F', V) + L/w, and the least F is next.

use super::flows::{Flows, reach};
use super::heap::Heap;
use super::weights::{Share, Weights};
use super::{DROP, DROP_END, Discipline, Fair, PER_FLOW_LIMIT, Scheduler};
use crate::packet::Parcel;
use crate::time::Time;

pub(super) const ENTRY: Discipline = Discipline {
    name: "scfq",
    source: "Golestani, A self-clocked fair queueing scheme for broadband applications, INFOCOM 1994",
    summary: "fair queueing whose virtual time is the finish tag of the packet in service",
    params: &[DROP, DROP_END, PER_FLOW_LIMIT],
    default_limit: None,
    build: |p, site| {
        let weights = Weights::new(&site)?;
        Fair::boxed(p, &site, Scfq { weights, v: 0, next: Heap::default(), flows: Vec::new() })
    },
};

#[derive(Clone, Copy, Debug, Default)]
struct State {
    share: Share,
    /// Where the tag of its next packet starts: F of its last one served, or V when it came back, if that was later.
    begin: u128,
}

struct Scfq {
    weights: Weights,
    /// F of the packet in service. It stands still while the link idles, which for whole numbers is as good as starting
    /// from 0: no tag is beyond it.
    v: u128,
    /// Flows that wait, by F of their first packet.
    next: Heap<u128>,
    flows: Vec<State>,
}

impl Scfq {
    /// Tags the first packet of `flow`. While a flow waits, its F' is at least V: the least F is in service.
    fn tag_first(&mut self, flow: u32, flows: &Flows) {
        let state = self.flows[flow as usize];
        match flows.first(flow) {
            Some((parcel, _)) => self.next.set(flow, state.begin + state.share.tags(parcel.len)),
            None => self.next.remove(flow),
        }
    }
}

impl Scheduler for Scfq {
    fn arrives(&mut self, _now: Time, _parcel: &Parcel) -> u128 {
        0
    }

    fn arrived(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) == 1 {
            let state = reach(&mut self.flows, parcel.flow);
            state.share = self.weights.of(parcel.class);
            state.begin = state.begin.max(self.v);
            self.tag_first(parcel.flow, flows);
        }
    }

    fn lost(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        self.tag_first(parcel.flow, flows);
    }

    fn choose(&mut self, _now: Time, _flows: &Flows) -> Option<u32> {
        let (f, flow) = self.next.first()?;
        self.v = f;
        self.flows[flow as usize].begin = f;
        Some(flow)
    }

    fn served(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        self.tag_first(parcel.flow, flows);
    }
}
