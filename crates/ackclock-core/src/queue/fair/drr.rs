//! Deficit round robin (Shreedhar and Varghese, Efficient fair queueing using deficit round robin, SIGCOMM 1995).
//!
//! The flows that wait stand in a ring. At its turn a flow gets its quantum, sends what it can pay for, and keeps the
//! rest if it still waits; a flow that has nothing left loses it. The work per packet is constant if the quantum is at
//! least the largest packet.

use super::flows::{Flows, reach};
use super::{DROP, DROP_END, Discipline, Fair, PER_FLOW_LIMIT, Scheduler};
use crate::packet::Parcel;
use crate::params::{Default as Or, Kind, ParamSpec};
use crate::queue::registry::Site;
use crate::time::Time;

/// What a flow gets at its turn.
const QUANTUM: ParamSpec = ParamSpec {
    name: "quantum",
    kind: Kind::Bytes,
    default: Or::Int(1500),
    range: Some((1.0, 1e6)),
    doc: "bytes a flow of weight 1 gets at its turn (Shreedhar and Varghese 1995: at least the largest packet; ns-2: 250)",
};

pub(super) const ENTRY: Discipline = Discipline {
    name: "drr",
    source: "Shreedhar and Varghese, Efficient fair queueing using deficit round robin, SIGCOMM 1995",
    summary: "flows in turn, each for a quantum of bytes",
    params: &[QUANTUM, DROP, DROP_END, PER_FLOW_LIMIT],
    default_limit: None,
    build: |p, site| {
        // Weights are checked as the others check them.
        super::weights::Weights::new(&site)?;
        let (quantum, weights) = (p.int("quantum") as f64, site.clone());
        Fair::boxed(p, &site, Drr { quantum, site: weights, flows: Vec::new(), turn: None, paid: false })
    },
};

#[derive(Clone, Copy, Debug, Default)]
struct State {
    quantum: u64,
    deficit: u64,
    before: u32,
    after: u32,
}

struct Drr {
    /// Bytes for weight 1.
    quantum: f64,
    /// Knows the weights.
    site: Site,
    flows: Vec<State>,
    /// Whose turn it is, if anybody waits.
    turn: Option<u32>,
    /// Whether it has had its quantum.
    paid: bool,
}

impl Drr {
    fn at(&mut self, flow: u32) -> &mut State {
        &mut self.flows[flow as usize]
    }

    /// Puts `flow` behind all others: before the one whose turn it is.
    fn join(&mut self, flow: u32) {
        match self.turn {
            None => {
                (self.at(flow).before, self.at(flow).after) = (flow, flow);
                (self.turn, self.paid) = (Some(flow), false);
            }
            Some(after) => {
                let before = std::mem::replace(&mut self.at(after).before, flow);
                self.at(before).after = flow;
                (self.at(flow).before, self.at(flow).after) = (before, after);
            }
        }
    }

    /// Takes `flow` out of the ring: it has nothing left.
    fn leave(&mut self, flow: u32) {
        self.at(flow).deficit = 0;
        let State { before, after, .. } = self.flows[flow as usize];
        (self.at(before).after, self.at(after).before) = (after, before);
        if self.turn == Some(flow) {
            self.turn = (after != flow).then_some(after);
            self.paid = false;
        }
    }
}

impl Scheduler for Drr {
    fn arrives(&mut self, _now: Time, _parcel: &Parcel) -> u128 {
        0
    }

    fn arrived(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) == 1 {
            let quantum = self.quantum * self.site.weight(parcel.class);
            // Every turn must bring it nearer to its next packet.
            reach(&mut self.flows, parcel.flow).quantum = ((quantum + 0.5) as u64).max(1);
            self.join(parcel.flow);
        }
    }

    fn lost(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) == 0 {
            self.leave(parcel.flow);
        }
    }

    fn choose(&mut self, _now: Time, flows: &Flows) -> Option<u32> {
        loop {
            let flow = self.turn?;
            if !self.paid {
                let state = self.at(flow);
                state.deficit += state.quantum;
                self.paid = true;
            }
            let (parcel, _) = flows.first(flow)?;
            if u64::from(parcel.len) <= self.at(flow).deficit {
                return Some(flow);
            }
            self.turn = Some(self.at(flow).after);
            self.paid = false;
        }
    }

    fn served(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        self.at(parcel.flow).deficit -= u64::from(parcel.len);
        if flows.packets(parcel.flow) == 0 {
            self.leave(parcel.flow);
        }
    }
}
