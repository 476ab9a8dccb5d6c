//! Series: typed columns with declared sampling.

use crate::flow::{Flow, Side, Split};
use crate::slab::Slab;
use crate::spec::{Sampling, SpecError};
use crate::wire::Link;
use ackclock_core::cell::Cell;
use ackclock_core::time::{Span, Time};
use ackclock_run::cells;
use ackclock_run::series::FIRST_OF_CELLS;
pub use ackclock_run::series::{
    CELL_METRICS, FLOW_METRICS, LINK_METRICS, METRICS, Owner, Sample, USER_METRICS, metric_name,
};
use std::collections::BTreeMap;

/// What is recorded and what has been.
#[derive(Debug, Default)]
pub struct Probes {
    /// Metrics recorded by the clock, with their interval and next time.
    timed: Vec<(u8, u64, Time)>,
    /// Flow metrics recorded by event: number, and whether only changes count.
    flow_events: Vec<(u8, bool)>,
    /// Queue lengths are recorded on every change.
    pub queue_events: bool,
    /// Series that cells keep by themselves.
    of_cells: Vec<u8>,
    /// Their interval.
    pub cells_every: Option<Span>,
    last: Vec<f64>,
    /// The values.
    pub samples: Vec<Sample>,
}

/// The number of the series of what is delivered.
const DELIVERED: u8 = 4;

fn flow_value(metric: u8, client: &Side, server: &Side) -> Option<f64> {
    let (Some(client), Some(server)) = (client.endpoint.as_deref(), server.endpoint.as_deref()) else { return None };
    let tx = &client.tx;
    Some(match metric {
        0 => tx.cwnd() as f64,
        1 if tx.ssthresh() == u64::MAX => f64::INFINITY,
        1 => tx.ssthresh() as f64,
        2 => tx.rtt().smoothed().as_secs_f64(),
        3 => tx.in_flight() as f64,
        DELIVERED => server.rx.stats.delivered as f64,
        5 => tx.stats().sent_bytes as f64,
        6 => tx.stats().retransmitted_bytes as f64,
        7 => tx.stats().recoveries as f64,
        8 => tx.stats().timeouts as f64,
        9 => tx.pacing_rate().map_or(f64::INFINITY, |bytes| 8.0 * bytes),
        10 => tx.rtt().min().as_secs_f64(),
        11 => tx.held_for_lost() as f64,
        // Numbered as Linux's states are (TCP_CA_Open and so on).
        13 => f64::from(tx.phase() as u8),
        17 => tx.unacknowledged() as f64,
        18 => tx.delivered() as f64,
        _ => return None,
    })
}

/// The leg at whose connections series number `metric` of a flow that is split is taken: what is delivered is so at its
/// sink, and everything else is of the sender at its source.
fn leg_of(metric: u8) -> usize {
    usize::from(metric == DELIVERED)
}

/// The value of flow number `f` of `flows`; none where the series means nothing for its application.
fn value_of(metric: u8, f: usize, flows: &[Flow], sides: &[Side]) -> Option<f64> {
    let f = match flows[f].split.as_deref() {
        Some(Split::Whole(legs, ..)) => legs[leg_of(metric)] as usize,
        _ => f,
    };
    let flow = &flows[f];
    if let Some(d) = &flow.datagrams {
        return match metric {
            DELIVERED => Some(d.total_received as f64),
            5 => Some(d.total_sent as f64),
            _ => None,
        };
    }
    if !flow.many {
        return flow_value(metric, &sides[2 * f], &sides[2 * f + 1]);
    }
    let open = flow.open.iter().map(|c| 2 * *c as usize);
    let sum = open.filter_map(|s| flow_value(metric, &sides[s], &sides[s + 1])).sum::<f64>();
    let ended = flow.ended();
    match metric {
        // Windows, what is in flight, lost or not acknowledged add up; a threshold or a round-trip time does not.
        0 | 3 | 11 | 17 => Some(sum),
        DELIVERED => Some(sum + ended.delivered as f64),
        5 => Some(sum + ended.sender.sent_bytes as f64),
        6 => Some(sum + ended.sender.retransmitted_bytes as f64),
        7 => Some(sum + ended.sender.recoveries as f64),
        8 => Some(sum + ended.sender.timeouts as f64),
        18 => Some(sum + ended.acknowledged as f64),
        _ => None,
    }
}

fn link_value(metric: u8, link: &Link) -> f64 {
    match metric {
        0 => link.backlog().0 as f64,
        1 => link.backlog().1 as f64,
        2 => link.stats().total_bytes as f64,
        _ => link.stats().total_drops as f64,
    }
}

impl Probes {
    /// From the declarations of a run with `flows` flows.
    ///
    /// # Errors
    /// An unknown series, a zero interval, or event sampling of a link series other than `queue`.
    pub fn new(spec: &BTreeMap<String, Sampling>, flows: usize) -> Result<Probes, SpecError> {
        let mut probes = Probes { last: vec![f64::NAN; flows * FLOW_METRICS.len()], ..Probes::default() };
        for (name, sampling) in spec {
            let path = || format!("probes.{name}");
            let of_cells = CELL_METRICS.iter().chain(&USER_METRICS).position(|m| m == name);
            if let Some(metric) = of_cells {
                probes.add_of_cells(FIRST_OF_CELLS + metric as u8, *sampling).map_err(|e| SpecError::new(path(), e))?;
                continue;
            }
            let flow = FLOW_METRICS.iter().position(|m| m == name);
            let link = LINK_METRICS.iter().position(|m| m == name);
            let Some(metric) = flow.or(link.map(|l| l + FLOW_METRICS.len())) else {
                let known = [&FLOW_METRICS[..], &LINK_METRICS, &CELL_METRICS, &USER_METRICS].concat().join(", ");
                return Err(SpecError::new(path(), format!("unknown series; known are {known}")));
            };
            match *sampling {
                Sampling::Every { every_ns: 0 } => {
                    return Err(SpecError::new(path(), "an interval must be above zero"));
                }
                Sampling::Every { every_ns } => probes.timed.push((metric as u8, every_ns, Time::ZERO)),
                mode if flow.is_some() => probes.flow_events.push((metric as u8, mode == Sampling::OnChange)),
                _ if link == Some(0) => probes.queue_events = true,
                _ => {
                    return Err(SpecError::new(
                        path(),
                        "of the link series only queue can follow events; give an interval",
                    ));
                }
            }
        }
        Ok(probes)
    }

    fn add_of_cells(&mut self, metric: u8, sampling: Sampling) -> Result<(), &'static str> {
        let Sampling::Every { every_ns } = sampling else {
            return Err("cells keep their series by the clock; give an interval");
        };
        let every = Span(every_ns);
        if self.cells_every.is_some_and(|other| other != every) {
            return Err("the series of cells have one interval; give all of them the same");
        }
        self.cells_every = Some(every);
        self.of_cells.push(metric);
        Ok(())
    }

    /// The run has ended: takes the series that cell number `number` kept, whose users are numbered from `first` on.
    pub(crate) fn take_of_cell(&mut self, cell: &Cell, numbers: (u32, u32)) {
        if let Some(every) = self.cells_every {
            cells::samples(cell, numbers, &self.of_cells, every, &mut self.samples);
        }
    }

    /// When the clock asks for samples next.
    pub fn next_due(&self) -> Time {
        self.timed.iter().map(|t| t.2).min().unwrap_or(Time::NEVER)
    }

    /// True when flow series follow events.
    #[inline]
    pub fn follows_flow_events(&self) -> bool {
        !self.flow_events.is_empty()
    }

    /// Something happened at flow number `flow`, whose part in one that is split is `split`.
    pub(crate) fn on_flow_event(
        &mut self,
        now: Time,
        (flow, split): (usize, Option<&Split>),
        client: &Side,
        server: &Side,
    ) {
        for &(metric, changes_only) in &self.flow_events {
            let Some(value) = flow_value(metric, client, server) else { continue };
            let whole = match split {
                Some(Split::Leg(whole, which, _)) if *which == leg_of(metric) => Some(*whole as usize),
                _ => None,
            };
            for of in [Some(flow), whole].into_iter().flatten() {
                let last = &mut self.last[of * FLOW_METRICS.len() + metric as usize];
                if changes_only && *last == value {
                    continue;
                }
                *last = value;
                self.samples.push(Sample { at: now, metric, of: of as u32, value });
            }
        }
    }

    /// Records what is due at `now`.
    pub fn sample(&mut self, now: Time, flows: &[Flow], sides: &[Side], links: &mut [Link], slab: &mut Slab) {
        for (metric, every, due) in &mut self.timed {
            if *due > now {
                continue;
            }
            *due = Time(now.0.saturating_add(*every));
            let m = *metric as usize;
            if m < FLOW_METRICS.len() {
                for f in 0..flows.len() {
                    let Some(value) = value_of(*metric, f, flows, sides) else { continue };
                    self.samples.push(Sample { at: now, metric: *metric, of: f as u32, value });
                }
            } else {
                for (l, link) in links.iter_mut().enumerate() {
                    link.settle(now, slab);
                    let value = link_value((m - FLOW_METRICS.len()) as u8, link);
                    self.samples.push(Sample { at: now, metric: *metric, of: l as u32, value });
                }
            }
        }
    }

    /// The run has ended: takes the links' own records and puts everything in order.
    pub fn finish(&mut self, links: &mut [Link]) {
        self.collect(links, Time::NEVER);
    }

    /// Takes the links' own records from before `until`, and puts everything in order.
    fn collect(&mut self, links: &mut [Link], until: Time) {
        let queue = FLOW_METRICS.len() as u8;
        for (l, link) in links.iter_mut().enumerate() {
            let Some(log) = &mut link.stats_mut().log else { continue };
            let (taken, rest) = std::mem::take(log).into_iter().partition(|entry| entry.0 < until);
            *log = rest;
            let taken: Vec<(Time, u64)> = taken;
            let sample = |(at, packets)| Sample { at, metric: queue, of: l as u32, value: packets as f64 };
            self.samples.extend(taken.into_iter().map(sample));
        }
        self.samples.sort_by_key(|s| s.at);
    }

    /// Takes everything recorded before `now`, in order. Of the same instant more may come: all of it waits.
    pub fn drain(&mut self, links: &mut [Link], now: Time) -> Vec<Sample> {
        self.collect(links, now);
        let rest = self.samples.split_off(self.samples.partition_point(|s| s.at < now));
        std::mem::replace(&mut self.samples, rest)
    }

    /// Bytes the records of a run of this length will take, for the events that are predictable.
    pub fn estimate(&self, duration: u64, flows: usize, links: usize, users: usize) -> u64 {
        let per = std::mem::size_of::<Sample>() as u64;
        let intervals = self.cells_every.map_or(0, |every| duration / every.0.max(1));
        let of_cells = intervals.saturating_mul((self.of_cells.len() + 1) as u64).saturating_mul(users as u64);
        self.timed
            .iter()
            .map(|&(m, every, _)| {
                let of = if (m as usize) < FLOW_METRICS.len() { flows } else { links } as u64;
                (duration / every.max(1) + 1).saturating_mul(of).saturating_mul(per)
            })
            .fold(of_cells.saturating_mul(per), u64::saturating_add)
    }
}
