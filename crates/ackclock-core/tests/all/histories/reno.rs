//! Reno against a model.

use super::choice::forms;
use super::world::{End, Step, World, step};
use proptest::prelude::*;

const MSS: u64 = 1000;

/// RFC 5681 and RFC 3465 with L = 1, in segments.
struct Model {
    w: f64,
    ssthresh: f64,
}

impl Model {
    /// Half of what is outstanding.
    fn half(&self, flight: u64) -> f64 {
        ((flight as f64 / MSS as f64).min(self.w) / 2.0).max(2.0)
    }

    fn acknowledged(&mut self, acked: f64) {
        let mut acked = acked;
        if self.w < self.ssthresh {
            // Past the threshold, the part of the acknowledgment that is left counts for avoidance.
            let room = self.ssthresh - self.w;
            let grant = acked.min(1.0);
            (self.w, acked) = if grant < room { (self.w + grant, 0.0) } else { (self.ssthresh, grant - room) };
        }
        if self.w >= self.ssthresh {
            self.w += acked / self.w;
        }
    }

    /// A reaction that left a window `w` and half of the old as the threshold is taken back. What was before is told in
    /// whole bytes.
    fn restored(&mut self, w: f64, half: f64) {
        let bytes = |x: f64| (x * MSS as f64 + 1e-6).floor() / MSS as f64;
        self.w = bytes(self.w).max(w);
        if self.ssthresh.is_finite() {
            self.ssthresh = bytes(self.ssthresh).max(half);
        }
    }

    /// `flights`: what was outstanding at each signal of the step.
    fn play(&mut self, step: Step, outstanding: u64, flights: &[u64]) {
        match step {
            Step::Ack(a) if a.limited => self.acknowledged((a.segments.min(outstanding / MSS)) as f64),
            Step::Ack(_) | Step::Disorder(_) | Step::Pause { .. } => {}
            Step::Loss { end: End::Unfounded, .. } => self.restored(self.half(flights[0]), self.half(flights[0])),
            Step::Loss { end, .. } => {
                self.w = self.half(flights[0]);
                self.ssthresh = self.w;
                if let End::TimedOut(repeated) = end {
                    self.ssthresh = if repeated { self.w } else { self.half(flights[1]) };
                    self.w = 1.0;
                }
            }
            Step::Mark { .. } => {
                self.w = self.half(flights[0]);
                self.ssthresh = self.w;
            }
            Step::Timeout { unfounded: true, .. } => self.restored(1.0, self.half(flights[0])),
            Step::Timeout { .. } => {
                self.ssthresh = self.half(flights[0]);
                self.w = 1.0;
            }
            Step::Idle { window, floor, .. } => {
                if floor {
                    let bytes = (self.w * MSS as f64 + 1e-6).floor() as u64;
                    self.ssthresh = self.ssthresh.max((bytes / 4 * 3) as f64 / MSS as f64);
                }
                self.w = self.w.min(window as f64);
            }
        }
    }
}

#[test]
fn reno_against_a_model() {
    let forms = forms();
    let reno = forms.iter().find(|f| f.entry.name == "reno").expect("reno").usual();
    let draws = (1..40u64, prop::collection::vec(step(), 1..300));
    super::property(300, &draws, |(iw, steps)| {
        let mut world = World::new(reno.build().expect("reno"), MSS, iw, 2000);
        let mut model = Model { w: iw as f64, ssthresh: f64::INFINITY };
        for s in &steps {
            world.flights.clear();
            let outstanding = world.outstanding();
            world.play(*s);
            model.play(*s, outstanding, &world.flights);
            let c = world.control();
            let close = |bytes: u64, segments: f64| (bytes as f64 - segments * MSS as f64).abs() <= 1.0;
            let Model { w, ssthresh } = model;
            prop_assert!(close(c.cwnd, w), "after {s:?}: window {} instead of {w}", c.cwnd);
            prop_assert!(
                ssthresh.is_infinite() || close(c.ssthresh, ssthresh),
                "after {s:?}: {} {ssthresh}",
                c.ssthresh
            );
        }
        Ok(())
    });
}
