//! A run driven from outside: stopped between any two events, asked, and told what a controller shall do.
//!
//! Stopping changes nothing: however a run is cut into steps, it yields the same tables to the last byte. Only
//! decisions do.

use crate::engine::{INTERRUPT_INTERVAL, Interrupted, Sim};
use ackclock_core::cc::Decision;
use ackclock_core::tcp::Endpoint;
use ackclock_core::time::Time;

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time asked for is reached: nothing that is due until then is left.
    Time,
    /// The controller of this flow was woken: a decision taken now is in force before anything leaves.
    Wake(usize),
    /// The controller of this flow was to be woken, but everything its flow had to send is acknowledged and closed.
    Closed(usize),
    /// The run is over; nothing happens any more.
    End,
}

/// Why a decision was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No flow has this number.
    #[error("a run of {0} flows has no flow {1}")]
    NoFlow(usize, usize),
    /// The run has come to its end, and nothing happens any more.
    #[error("the run is over; nothing is left to decide")]
    Over,
    /// The flow has no connection of its own that is open.
    #[error("flow {0} has no established connection to decide for")]
    NotOpen(usize),
    /// The controller decides that itself.
    #[error(
        "the controller of flow {0} decides this itself; it takes a window only, cc = \"external\" takes everything"
    )]
    DecidesItself(usize),
}

impl Sim {
    /// The time that the run has come to.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// When the next event is; none once the run is over.
    pub fn next_event(&mut self) -> Option<Time> {
        self.events.earliest().map(|next| next.0).filter(|at| *at <= self.end)
    }

    /// Handles one event, the first that is left, and says when it was; none once the run is over.
    pub fn step(&mut self) -> Option<Time> {
        let (at, element) = self.events.earliest().filter(|next| next.0 <= self.end)?;
        self.now = at;
        self.visits += 1;
        self.visit(at, element);
        Some(at)
    }

    /// Plays the run until the controller of a flow is woken, or up to and including `until`. `interrupted` is asked now
    /// and then whether to give up.
    ///
    /// # Errors
    /// [`Interrupted`] when it said so.
    pub fn play_until(&mut self, until: Time, mut interrupted: impl FnMut() -> bool) -> Result<Stop, Interrupted> {
        let sides = self.layout.sides..self.layout.sides + 2 * self.flows.len() as u32;
        let last = until.min(self.end);
        while let Some((at, element)) = self.events.earliest().filter(|next| next.0 <= last) {
            self.now = at;
            if sides.contains(&element) {
                if let Some(stop) = self.waking(at, (element - sides.start) as usize) {
                    // The event is still there: the next step begins with it.
                    return Ok(stop);
                }
            }
            self.visits += 1;
            if self.visits % INTERRUPT_INTERVAL == 0 && interrupted() {
                return Err(Interrupted);
            }
            self.visit(at, element);
        }
        self.now = self.now.max(last);
        Ok(if self.next_event().is_none() { Stop::End } else { Stop::Time })
    }

    /// The first part of what a client does when it is due: up to and including the waking of its controller.
    fn waking(&mut self, now: Time, side: usize) -> Option<Stop> {
        let due = self.sides[side].endpoint.as_deref().is_some_and(|e| e.wakes(now));
        if !due || side & 1 != 0 {
            return None;
        }
        self.on_application_due(now, side);
        let endpoint = self.sides[side].endpoint.as_deref_mut()?;
        let woken = endpoint.wake(now);
        self.conns[side / 2].decided = true;
        Some(if woken { Stop::Wake(side / 2) } else { Stop::Closed(side / 2) })
    }

    /// Has the controller of a flow's own connection measure up to now, as if it had been woken: for the last interval,
    /// which the end of the run cuts short.
    pub fn measure(&mut self, flow: usize) {
        let now = self.now;
        if let Some(endpoint) = self.sides[2 * flow].endpoint.as_deref_mut() {
            if endpoint.tx.interval().is_none_or(|last| last.at < now) {
                endpoint.wake_early(now);
            }
        }
    }

    /// The sender of a flow's own connection, where it has one.
    pub(crate) fn sender(&self, flow: usize) -> Option<&Endpoint> {
        self.sides[2 * flow].endpoint.as_deref()
    }

    /// Lets somebody outside decide for the controller of flow number `flow`, now.
    ///
    /// # Errors
    /// [`Refused`], and nothing is changed.
    pub fn decide(&mut self, flow: usize, decision: &Decision) -> Result<(), Refused> {
        if flow >= self.flows.len() {
            return Err(Refused::NoFlow(self.flows.len(), flow));
        }
        let now = self.now;
        // An event at the very end, such as the waking that asks for this decision, may still be to come.
        if now >= self.end && self.next_event().is_none() {
            return Err(Refused::Over);
        }
        let sender = self.sides[2 * flow].endpoint.as_deref_mut();
        let Some(sender) = sender.filter(|s| s.is_established()) else { return Err(Refused::NotOpen(flow)) };
        if !sender.decide(now, decision) {
            return Err(Refused::DecidesItself(flow));
        }
        // What may leave by it leaves when the side is visited, which is before time goes on.
        self.events.schedule(self.layout.sides + 2 * flow as u32, now);
        self.conns[flow].decided = true;
        Ok(())
    }
}
