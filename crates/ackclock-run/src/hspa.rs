//! HSPA: from the resolved run to the element.

use crate::links;
use crate::spec::{self, Run, SpecError};
use ackclock_core::cell::hspa::{self, Hspa, HspaParams};
use ackclock_core::path::Setting;
use ackclock_core::time::{Span, Time};

/// What packets find at best: who, the least delay, and the rates down and up.
#[derive(Debug)]
pub struct Named {
    /// Name of the element.
    pub id: String,
    users: usize,
    least: Span,
    bps: [u64; 2],
}

impl Named {
    /// What packets that enter by `port` find at best: the least delay, and the rate in bit/s.
    pub fn best(&self, port: usize) -> (Span, u64) {
        (self.least, self.bps[usize::from(port >= self.users)])
    }
}

/// The element `h` of `run`.
///
/// # Errors
/// What is wrong with it, and where.
pub fn element(h: &spec::Hspa, run: &Run, path: &str) -> Result<(Box<Hspa>, Named), SpecError> {
    let params = HspaParams {
        name: h.id.clone(),
        users: h.users,
        down_bps: h.down_bps,
        up_bps: h.up_bps,
        delay: Span(h.delay_ns),
        jitter: Span(h.jitter_ns),
        down_queue: links::queue(&h.down_queue, &format!("{path}.down_queue"))?,
        up_queue: links::queue(&h.up_queue, &format!("{path}.up_queue"))?,
    };
    let setting = Setting { seed: run.seed, run: run.run, from: Time(run.warmup_ns), to: Time(run.duration_ns) };
    let made = params.build(&setting).map_err(|e| SpecError::new(format!("{path}.{}", e.key), e.problem))?;
    // A packet that arrives just before a TTI leaves with its end.
    let least = params.delay + hspa::TTI;
    Ok((Box::new(made), Named { id: h.id.clone(), users: h.users, least, bps: [h.down_bps, h.up_bps] }))
}
