//! Fair schedulers: a FIFO per flow, and a law that says whose turn it is.
//!
//! All share the buffer: when there is no room, the longest queue in bytes loses a packet (McKenney, Stochastic fairness
//! queueing, INFOCOM 1990, §3), or the arriving packet is dropped; and a flow may have a limit of its own. A flow has the
//! weight of its class: of the class of the packet that finds nothing of it waiting.

mod drr;
mod flows;
mod fq;
mod gps;
mod heap;
mod scfq;
mod weights;
mod wf2q;
mod wfq;

use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink};
use crate::packet::Parcel;
use crate::params::{ParamError, ParamSpec, Params, choice, count};
use crate::time::Time;
use flows::Flows;

/// The entry of SCFQ.
pub(super) const SCFQ: Discipline = scfq::ENTRY;
/// The entry of WFQ.
pub(super) const WFQ: Discipline = wfq::ENTRY;
/// The entry of WF2Q.
pub(super) const WF2Q: Discipline = wf2q::ENTRY;
/// The entry of ns-2's FQ.
pub(super) const FQ: Discipline = fq::ENTRY;
/// The entry of DRR.
pub(super) const DRR: Discipline = drr::ENTRY;

/// Who loses a packet when there is no room.
const DROP: ParamSpec = choice(
    "drop",
    &["longest", "tail"],
    "what is dropped when there is no room: a packet of the longest queue in bytes (the arriving one counts), or the \
     arriving packet",
);
/// At which end.
const DROP_END: ParamSpec = choice(
    "drop_end",
    &["tail", "head"],
    "at which end of its queue a flow loses a packet; head only with drop = longest",
);
/// The room of a flow.
const PER_FLOW_LIMIT: ParamSpec = per_flow_limit(0);

const fn per_flow_limit(default: u64) -> ParamSpec {
    count("per_flow_limit", default, (0.0, 1e9), "most packets of one flow that wait; 0: as many as the queue holds")
}

/// Whose turn it is.
trait Scheduler: Send {
    /// Nothing waits and nothing is in transmission.
    fn idle(&mut self, _now: Time) {}
    /// `parcel` arrives and is about to be appended to its flow: what to note about it.
    fn arrives(&mut self, now: Time, parcel: &Parcel) -> u128;
    /// `parcel` was appended. It is the first of its flow if `flows` says that there is one.
    fn arrived(&mut self, now: Time, parcel: &Parcel, flows: &Flows);
    /// `parcel` was dropped out of the queue: the first of its flow, or the last.
    fn lost(&mut self, now: Time, parcel: &Parcel, flows: &Flows);
    /// The flow whose first packet is next.
    fn choose(&mut self, now: Time, flows: &Flows) -> Option<u32>;
    /// That packet has been taken.
    fn served(&mut self, now: Time, parcel: &Parcel, flows: &Flows);
}

/// An end of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Head,
    Tail,
}

/// A fair queue.
#[derive(Clone, Debug)]
struct Fair<S> {
    limits: Limits,
    /// Whether the longest queue loses; else the arriving packet is dropped.
    longest: bool,
    end: End,
    per_flow: u64,
    flows: Flows,
    scheduler: S,
}

impl<S: Scheduler + 'static> Fair<S> {
    /// A queue at `site` with these parameters, served by `scheduler`.
    fn boxed(p: &Params, site: &Site, scheduler: S) -> Result<Box<dyn Queue>, ParamError> {
        let longest = p.text("drop") == "longest";
        let end = if p.text("drop_end") == "head" { End::Head } else { End::Tail };
        if end == End::Head && !longest {
            let problem = "'head' contradicts drop = 'tail', which drops the arriving packet; leave one of them out";
            return Err(ParamError::Conflict { name: "drop_end".to_owned(), problem: problem.to_owned() });
        }
        let per_flow = match p.int("per_flow_limit") {
            0 => u64::MAX,
            n => n,
        };
        Ok(Box::new(Fair { limits: site.limits, longest, end, per_flow, flows: Flows::new(), scheduler }))
    }

    /// Drops a packet of `flow`.
    fn drop_one(&mut self, now: Time, flow: u32, sink: &mut dyn Sink) {
        let parcel = match self.end {
            End::Head => self.flows.pop_first(flow),
            End::Tail => self.flows.pop_last(flow),
        };
        if let Some(parcel) = parcel {
            self.scheduler.lost(now, &parcel, &self.flows);
            sink.dropped(now, parcel, Reason::Full);
        }
    }

    /// Makes room for `parcel` and says whether there is some.
    fn make_room(&mut self, now: Time, parcel: &Parcel, in_service: Backlog, sink: &mut dyn Sink) -> bool {
        if self.flows.packets(parcel.flow) >= self.per_flow {
            if self.end == End::Tail {
                return false;
            }
            self.drop_one(now, parcel.flow, sink);
        }
        while !self.limits.admit(self.flows.total(), in_service, parcel.len) {
            // What would not fit into an empty queue drives nobody out.
            if !self.longest || !self.limits.admit(Backlog::default(), in_service, parcel.len) {
                return false;
            }
            let own = self.flows.bytes(parcel.flow) + u64::from(parcel.len);
            let victim = match self.flows.longest() {
                Some((flow, bytes)) if bytes > own => flow,
                _ => parcel.flow,
            };
            if victim == parcel.flow && (self.end == End::Tail || self.flows.packets(victim) == 0) {
                return false;
            }
            self.drop_one(now, victim, sink);
        }
        true
    }
}

impl<S: Scheduler + 'static> Queue for Fair<S> {
    fn enqueue(&mut self, now: Time, parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        if self.flows.total().packets == 0 && in_service.packets == 0 {
            self.scheduler.idle(now);
        }
        if !self.make_room(now, &parcel, in_service, sink) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        let tag = self.scheduler.arrives(now, &parcel);
        self.flows.push(parcel, tag);
        self.scheduler.arrived(now, &parcel, &self.flows);
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn Sink) -> Option<Parcel> {
        let flow = self.scheduler.choose(now, &self.flows)?;
        let parcel = self.flows.pop_first(flow)?;
        self.scheduler.served(now, &parcel, &self.flows);
        Some(parcel)
    }

    fn backlog(&self) -> Backlog {
        self.flows.total()
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
