//! Series of links, as the simulator keeps them.

use crate::path::Network;
use ackclock_core::time::Time;
use ackclock_run::series::{FLOW_METRICS, LINK_METRICS, Sample};
use ackclock_run::spec::Sampling;
use ackclock_run::{Run, SpecError};

/// Which series of links are kept, and what has been.
#[derive(Debug, Default)]
pub struct LinkSeries {
    /// Number of the metric among those of links, its interval, and when it is due.
    timed: Vec<(u8, u64, Time)>,
    /// Every change of the queues' lengths is kept, by the links.
    pub changes: bool,
    /// What was recorded by the clock.
    pub samples: Vec<Sample>,
}

impl LinkSeries {
    /// Those that `run` asks for.
    ///
    /// # Errors
    /// One that cannot be kept in this way.
    pub fn of(run: &Run) -> Result<LinkSeries, SpecError> {
        let mut series = LinkSeries::default();
        for (name, sampling) in &run.probes {
            let Some(metric) = LINK_METRICS.iter().position(|m| m == name) else { continue };
            match *sampling {
                Sampling::Every { every_ns: 0 } => {
                    let problem = "an interval must be above zero".to_owned();
                    return Err(SpecError { path: format!("probes.{name}"), problem });
                }
                Sampling::Every { every_ns } => series.timed.push((metric as u8, every_ns, Time::ZERO)),
                _ if metric == 0 => series.changes = true,
                _ => {
                    let problem = "of the link series only queue can follow events; give an interval".to_owned();
                    return Err(SpecError { path: format!("probes.{name}"), problem });
                }
            }
        }
        Ok(series)
    }

    /// When it is to look at the links next.
    pub fn due(&self) -> Time {
        self.timed.iter().map(|t| t.2).min().unwrap_or(Time::NEVER)
    }

    /// Everything due in `network` until `now` happens, and what is recorded between.
    pub fn settle(&mut self, network: &mut Network, now: Time) {
        while self.due() <= now {
            let at = self.due();
            network.settle(at);
            for i in 0..network.links.len() {
                let (packets, bytes) = network.backlog(i, at);
                let stats = &network.links[i].common.stats;
                let values = [packets, bytes, stats.total_bytes, stats.total_drops];
                for (metric, _, _) in self.timed.iter().filter(|t| t.2 == at) {
                    let value = values[usize::from(*metric)] as f64;
                    let metric = *metric + FLOW_METRICS.len() as u8;
                    self.samples.push(Sample { at, metric, of: i as u32, value });
                }
            }
            for (_, every, due) in self.timed.iter_mut().filter(|t| t.2 == at) {
                *due = Time(at.0.saturating_add(*every));
            }
        }
        network.settle(now);
    }

    /// The run is over: what the clock recorded, and what the links did.
    pub fn finish(mut self, network: &mut Network) -> Vec<Sample> {
        let metric = FLOW_METRICS.len() as u8;
        for (i, link) in (0u32..).zip(&mut network.links) {
            let log = link.common.stats.log.take().unwrap_or_default();
            self.samples.extend(log.into_iter().map(|(at, n)| Sample { at, metric, of: i, value: n as f64 }));
        }
        self.samples
    }
}
