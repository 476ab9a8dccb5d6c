//! One-way delays of the packets of each flow.

use ackclock_core::histogram::Histogram;
use ackclock_core::time::{Span, Time};

/// Delays that are counted together: finding their bins in one go costs half as much as one by one.
const TOGETHER: usize = u8::MAX as usize + 1;

/// Of each flow the delays of its segments with payload that arrived within the measurement.
#[derive(Debug)]
pub(crate) struct OneWay {
    /// When the packet in each slot of the slab left its sender.
    left: Vec<Time>,
    /// Number of the flow and delay of the latest, which the histograms have not counted yet.
    latest: Box<[(u32, Span); TOGETHER]>,
    waiting: u8,
    flows: Vec<Histogram>,
}

impl OneWay {
    /// Of so many flows.
    pub fn new(flows: usize) -> OneWay {
        OneWay {
            left: Vec::new(),
            latest: Box::new([(0, Span::ZERO); TOGETHER]),
            waiting: 0,
            flows: vec![Histogram::default(); flows],
        }
    }

    /// The packet in slot `id` leaves its sender.
    #[inline(always)]
    pub fn left(&mut self, now: Time, id: u32) {
        match self.left.get_mut(id as usize) {
            Some(left) => *left = now,
            None => self.reach(now, id),
        }
    }

    #[cold]
    #[inline(never)]
    fn reach(&mut self, now: Time, id: u32) {
        self.left.resize(id as usize + 1, now);
    }

    /// A segment of `flow`, in slot `id`, arrived.
    #[inline(always)]
    pub fn arrived(&mut self, now: Time, id: u32, flow: u32) {
        self.latest[usize::from(self.waiting)] = (flow, now.since(self.left[id as usize]));
        self.waiting = self.waiting.wrapping_add(1);
        if self.waiting == 0 {
            self.count(TOGETHER);
        }
    }

    /// The measurement begins: what arrived before does not count.
    pub fn begin(&mut self) {
        self.waiting = 0;
        self.flows.fill(Histogram::default());
    }

    /// Counts the latest.
    pub fn settle(&mut self) {
        self.count(usize::from(self.waiting));
        self.waiting = 0;
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self, latest: usize) {
        for (flow, delay) in &self.latest[..latest] {
            self.flows[*flow as usize].record(delay.0);
        }
    }

    /// Those of a flow that are counted: see [`OneWay::settle`].
    pub fn of(&self, flow: usize) -> &Histogram {
        &self.flows[flow]
    }
}
