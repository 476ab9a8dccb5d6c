//! Worst-case fair weighted fair queueing (Bennett and Zhang, WF2Q: worst-case fair weighted fair queueing, INFOCOM 1996):
//! as WFQ, but only packets that the fluid system has begun to serve, S <= V, can be next.

use super::gps::Gps;
use super::heap::Heap;
use super::weights::Weights;
use super::wfq::{ByTags, Order, Tags};
use super::{DROP, DROP_END, Discipline, Fair, PER_FLOW_LIMIT};
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
        Fair::boxed(p, &site, ByTags::new(tags, Eligible::default()))
    },
};

#[derive(Default)]
struct Eligible {
    /// Flows whose first packet has begun, by F.
    eligible: Heap<u128>,
    /// The other flows that wait, by (S, F).
    later: Heap<(u128, u128)>,
}

impl Eligible {
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

impl Order for Eligible {
    fn wait(&mut self, flow: u32, tags: (u128, u128)) {
        // A new first packet is not known to have begun.
        self.eligible.remove(flow);
        self.later.set(flow, tags);
    }

    fn leave(&mut self, flow: u32) {
        self.eligible.remove(flow);
        self.later.remove(flow);
    }

    fn next(&mut self, tags: &mut Tags, now: Time) -> Option<u32> {
        let v = tags.gps.advance(now);
        self.begin(v);
        if self.eligible.first().is_none() {
            // The link is ahead of the fluid: it is faster than its mean rate, or packets were dropped. It does not wait.
            let ((s, _), _) = self.later.first()?;
            self.begin(s);
        }
        self.eligible.first().map(|(_, flow)| flow)
    }
}
