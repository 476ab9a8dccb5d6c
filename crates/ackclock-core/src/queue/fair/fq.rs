//! Fair queueing as ns-2 has it (`Queue/FQ`): bit rounds approximated by real time.
//!
//! The first packet of a flow starts at S, the time when it became the first, or the finish of the packet before it if
//! that is later. When the link is free, it finishes at F = S + L n/R, with n the flows that wait at that moment, and the
//! least F is next. Bit rounds would slow V down and leave L alone: this differs from WFQ while flows come and go, and
//! when sizes differ.
//!
//! With weights, n is the sum of the weights of the flows that wait over the weight of the flow (ns-2 has none).

use super::flows::{Flows, reach};
use super::gps::work;
use super::weights::{Share, Weights};
use super::{DROP, DROP_END, Discipline, Fair, Scheduler, per_flow_limit};
use crate::packet::Parcel;
use crate::time::Time;

pub(super) const ENTRY: Discipline = Discipline {
    name: "fq",
    source: "ns-2 Queue/FQ, after Demers, Keshav and Shenker, SIGCOMM 1989",
    summary: "fair queueing as ns-2 has it: finish times in real time, with the flows that wait",
    // ns-2's Queue limit_ 50 for each flow, and 32 flows.
    params: &[DROP, DROP_END, per_flow_limit(50)],
    default_limit: Some(1600),
    build: |p, site| {
        let weights = Weights::new(&site)?;
        let (rate, unit) = work(&site)?;
        let scheduler = Fq {
            instant: u128::from(rate) * u128::from(weights.scale),
            byte: u128::from(unit),
            weights,
            sum: 0,
            waiting: Vec::new(),
            flows: Vec::new(),
            chosen: 0,
        };
        Fair::boxed(p, &site, scheduler)
    },
};

#[derive(Clone, Copy, Debug, Default)]
struct State {
    share: Share,
    /// S of its first packet.
    begin: u128,
    /// F of its last packet served.
    served: u128,
    /// Where it stands among those that wait.
    place: u32,
}

/// Tags are times in units that make them whole numbers.
struct Fq {
    /// Units of a nanosecond.
    instant: u128,
    /// Units of a byte at weight 1 and scale 1.
    byte: u128,
    weights: Weights,
    /// The sum of the weights of the flows that wait.
    sum: u64,
    /// The flows that wait, in no order. Which F is least changes with their number, so all are looked at, as in ns-2.
    waiting: Vec<u32>,
    flows: Vec<State>,
    /// F of the packet chosen.
    chosen: u128,
}

impl Fq {
    fn leave(&mut self, flow: u32) {
        let State { share, place, .. } = self.flows[flow as usize];
        self.sum -= share.weight;
        self.waiting.swap_remove(place as usize);
        if let Some(moved) = self.waiting.get(place as usize) {
            self.flows[*moved as usize].place = place;
        }
    }

    fn units(&self, now: Time) -> u128 {
        u128::from(now.0).saturating_mul(self.instant)
    }
}

impl Scheduler for Fq {
    fn arrives(&mut self, _now: Time, _parcel: &Parcel) -> u128 {
        0
    }

    fn arrived(&mut self, now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) != 1 {
            return;
        }
        let (begin, share) = (self.units(now), self.weights.of(parcel.class));
        let place = self.waiting.len() as u32;
        let state = reach(&mut self.flows, parcel.flow);
        *state = State { share, begin: state.served.max(begin), place, ..*state };
        self.waiting.push(parcel.flow);
        self.sum += share.weight;
    }

    fn lost(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) == 0 {
            self.leave(parcel.flow);
        }
    }

    fn choose(&mut self, _now: Time, flows: &Flows) -> Option<u32> {
        let per_tag = self.byte * u128::from(self.sum);
        let finish = |flow: &u32| {
            let (state, (parcel, _)) = (&self.flows[*flow as usize], flows.first(*flow)?);
            Some((state.begin + state.share.tags(parcel.len) * per_tag, *flow))
        };
        let (f, flow) = self.waiting.iter().filter_map(finish).min()?;
        self.chosen = f;
        Some(flow)
    }

    fn served(&mut self, now: Time, parcel: &Parcel, flows: &Flows) {
        let now = self.units(now);
        let state = &mut self.flows[parcel.flow as usize];
        state.served = self.chosen;
        state.begin = self.chosen.max(now);
        if flows.packets(parcel.flow) == 0 {
            self.leave(parcel.flow);
        }
    }
}
