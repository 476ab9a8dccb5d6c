//! Worst-case fair weighted fair queueing (Bennett and Zhang, WF2Q: worst-case fair weighted fair queueing, INFOCOM 1996):
//! as WFQ, but only packets that the fluid system has begun to serve, S <= V, can be next.

use super::flows::Flows;
use super::gps::Gps;
use super::heap::Heap;
use super::weights::Weights;
use super::wfq::Tags;
use super::{Discipline, Fair, Scheduler, DROP, DROP_END, PER_FLOW_LIMIT};
use crate::packet::Parcel;
use crate::time::Time;

pub(super) const ENTRY: Discipline = Discipline {
    name: "wf2q",
    source: "Bennett and Zhang, WF2Q: worst-case fair weighted fair queueing, INFOCOM 1996",
    summary: "WFQ among the packets that a fluid fair server would have begun",
    params: &[DROP, DROP_END, PER_FLOW_LIMIT],
    default_limit: None,
    build: |p, site| {
        let weights = Weights::new(&site)?;
        let tags = Tags::new(Gps::new(&site, &weights)?, weights);
        Fair::boxed(p, &site, Wf2q { tags, eligible: Heap::default(), later: Heap::default() })
    },
};

struct Wf2q {
    tags: Tags,
    /// Flows whose first packet has begun, by F.
    eligible: Heap<u128>,
    /// The other flows that wait, by (S, F).
    later: Heap<(u128, u128)>,
}

impl Wf2q {
    /// Tags the first packet of `flow`, which is not known to be eligible.
    fn tag_first(&mut self, flow: u32, flows: &Flows) {
        self.eligible.remove(flow);
        match self.tags.tag_first(flow, flows) {
            Some(tags) => self.later.set(flow, tags),
            None => self.later.remove(flow),
        }
    }

    /// Moves what has begun at `v`.
    fn begin(&mut self, v: u128) {
        while let Some(((s, f), flow)) = self.later.first() {
            if s > v {
                break;
            }
            self.later.remove(flow);
            self.eligible.set(flow, f);
        }
    }
}

impl Scheduler for Wf2q {
    fn idle(&mut self, _now: Time) {
        self.tags.idle();
    }

    fn arrives(&mut self, now: Time, parcel: &Parcel) -> u128 {
        self.tags.arrives(now, parcel)
    }

    fn arrived(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) == 1 {
            self.tag_first(parcel.flow, flows);
        }
    }

    fn lost(&mut self, now: Time, parcel: &Parcel, flows: &Flows) {
        self.tags.gps.lose(now, parcel.flow, parcel.len);
        self.tag_first(parcel.flow, flows);
    }

    fn choose(&mut self, now: Time, _flows: &Flows) -> Option<u32> {
        let v = self.tags.gps.advance(now);
        self.begin(v);
        if self.eligible.first().is_none() {
            // The link is ahead of the fluid: it is faster than its mean rate, or packets were dropped. It does not wait.
            let ((s, _), _) = self.later.first()?;
            self.begin(s);
        }
        self.eligible.first().map(|(_, flow)| flow)
    }

    fn served(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        self.tags.serve(parcel.flow);
        self.tag_first(parcel.flow, flows);
    }
}
