//! What is asked of the kernel at fixed times: series, and what means are taken over.

use super::Agent;
use super::totals::Totals;
use crate::sys::tcp::{self, Info};
use ackclock_core::time::Time;
use ackclock_run::series::{FLOW_METRICS, Sample};
use ackclock_run::spec::Sampling;
use ackclock_run::{Run, SpecError};

/// How often the kernel is asked for what means are taken over, and for series that were to follow events: a kernel tells of
/// none. Nanoseconds; with many flows less often.
const EVERY: u64 = 10_000_000;
/// Flows that may be asked as often as that.
const FEW: usize = 64;

/// The threshold that Linux has where there is none (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The series of fast recoveries, which no connection is asked for: its host counts them.
const RECOVERIES: u8 = 7;
/// The series of retransmission timeouts: before Linux 6.7, too, only its host counts them.
const TIMEOUTS: u8 = 8;

/// Sums over samples of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Means {
    /// Windows, bytes, and how many.
    pub windows: (f64, u64),
    /// Smoothed round-trip times, seconds, and how many.
    pub rtts: (f64, u64),
    /// The smallest round-trip time, seconds, as the kernel filters it over its window, and the largest smoothed one.
    pub least: Option<f64>,
    /// See `least`.
    pub most: Option<f64>,
}

/// When samples are taken, and what came of them.
#[derive(Debug)]
pub struct Sampler {
    /// Number of the metric, interval, and when it is due.
    timed: Vec<(u8, u64, Time)>,
    means_every: u64,
    means_due: Time,
    baseline_due: Time,
    /// Whether a connection has shown that the kernel counts no timeouts for each.
    no_timeouts: bool,
    /// Sums, by flow.
    pub means: Vec<Means>,
    /// Series.
    pub samples: Vec<Sample>,
}

impl Sampler {
    /// For what `run` asks for.
    ///
    /// # Errors
    /// An interval that is none.
    pub fn of(run: &Run) -> Result<Sampler, SpecError> {
        let means_every = if run.flows.len() <= FEW { EVERY } else { 10 * EVERY };
        let mut timed = Vec::new();
        for (name, sampling) in &run.probes {
            let Some(metric) = FLOW_METRICS.iter().position(|m| m == name) else { continue };
            let every = match *sampling {
                Sampling::Every { every_ns: 0 } => {
                    let problem = "an interval must be above zero".to_owned();
                    return Err(SpecError { path: format!("probes.{name}"), problem });
                }
                Sampling::Every { every_ns } => every_ns,
                Sampling::OnChange | Sampling::EveryEvent => means_every,
            };
            timed.push((metric as u8, every, Time::ZERO));
        }
        let means = vec![Means::default(); run.flows.len()];
        let baseline_due = Time(run.warmup_ns);
        let means_due = Time::ZERO;
        Ok(Sampler { timed, means_every, means_due, baseline_due, no_timeouts: false, means, samples: Vec::new() })
    }

    /// When samples are due.
    pub fn due(&self) -> Time {
        let timed = self.timed.iter().map(|t| t.2).min().unwrap_or(Time::NEVER);
        timed.min(self.means_due).min(self.baseline_due)
    }
}

/// The next of the times that lie `every` apart, behind `now`.
fn next(due: Time, every: u64, now: Time) -> Time {
    let behind = now.since(due).0 / every;
    Time(due.0.saturating_add(every.saturating_mul(behind + 1)))
}

/// What is counted in the series with number `metric`, of connections with these counters; none where it counts nothing.
fn counted(metric: u8, totals: &Totals) -> Option<f64> {
    Some(match metric {
        4 => totals.read as f64,
        5 => totals.sent_bytes as f64,
        6 => totals.repeated_bytes as f64,
        TIMEOUTS => totals.timeouts as f64,
        14 => totals.busy as f64 * 1e-6,
        15 => totals.window_limited as f64 * 1e-6,
        16 => totals.buffer_limited as f64 * 1e-6,
        18 => totals.acknowledged as f64,
        _ => return None,
    })
}

/// The value of a metric of one connection whose counters are `totals`; none where it means nothing. Without `info` its socket is
/// gone.
fn value(metric: u8, info: Option<&Info>, totals: &Totals) -> Option<f64> {
    let Some(info) = info else { return counted(metric, totals) };
    let mss = f64::from(info.snd_mss);
    Some(match metric {
        0 => f64::from(info.snd_cwnd) * mss,
        1 if info.snd_ssthresh >= NO_THRESHOLD => f64::INFINITY,
        1 => f64::from(info.snd_ssthresh) * mss,
        2 => f64::from(info.rtt) * 1e-6,
        3 => f64::from((info.unacked + info.retrans).saturating_sub(info.sacked + info.lost)) * mss,
        9 if info.pacing_rate == u64::MAX => f64::INFINITY,
        9 => info.pacing_rate as f64 * 8.0,
        10 if info.min_rtt == u32::MAX => 0.0,
        10 => f64::from(info.min_rtt) * 1e-6,
        11 => f64::from(info.lost) * mss,
        12 => info.delivery_rate as f64 * 8.0,
        13 => f64::from(info.ca_state),
        17 => f64::from(info.unacked) * mss,
        _ => return counted(metric, totals),
    })
}

impl Agent<'_> {
    /// What is due to be asked is asked.
    pub(super) fn sample(&mut self) {
        let now = self.now;
        if self.sampler.baseline_due <= now {
            self.sampler.baseline_due = Time::NEVER;
            for flow in 0..self.flows.len() {
                self.flows[flow].baseline = self.totals(flow);
                if self.from > Time::ZERO {
                    self.counted[flow] = self.hosts[2 * flow].counters().map(|c| c.0).unwrap_or_default();
                }
            }
        }
        let means = self.sampler.means_due <= now;
        let metrics: Vec<u8> = self.sampler.timed.iter().filter(|t| t.2 <= now).map(|t| t.0).collect();
        for flow in 0..self.flows.len() {
            self.sample_flow(flow, &metrics, means);
        }
        for (_, every, due) in self.sampler.timed.iter_mut().filter(|t| t.2 <= now) {
            *due = next(*due, *every, now);
        }
        if means {
            self.sampler.means_due = next(self.sampler.means_due, self.sampler.means_every, now);
        }
    }

    /// What the kernel says of the connections of flow number `flow` that are not over, with their counters. Of one whose source has
    /// failed it says nothing more: the counters are those of that moment.
    fn asked(&self, flow: usize) -> Vec<(Option<Info>, Totals)> {
        let open = &self.flows[flow].open;
        let of = |c: &u32| {
            let connection = &self.connections[*c as usize];
            let [source, sink] = &connection.sides;
            match source.socket.as_ref().and_then(|socket| tcp::info(socket).ok()) {
                Some(info) => (Some(info), Totals::of(&info, sink.read)),
                None => (None, Totals { read: sink.read, ..connection.totals }),
            }
        };
        open.iter().map(of).collect()
    }

    /// The counters of flow number `flow`, of all its connections.
    pub(super) fn totals(&mut self, flow: usize) -> Totals {
        let open = self.asked(flow);
        open.iter().fold(self.flows[flow].ended, |sum, (_, totals)| sum.plus(*totals))
    }

    /// What the source's host of flow number `flow` has counted by these names so far: nobody else uses it.
    fn counted_by_host(&self, flow: usize, names: &[&str]) -> f64 {
        let counted = self.hosts[2 * flow].counters().map(|c| c.0).unwrap_or_default();
        names.iter().filter_map(|name| counted.get(*name)).sum::<u64>() as f64
    }

    fn sample_flow(&mut self, flow: usize, metrics: &[u8], means: bool) {
        if self.flows[flow].leg_of.is_some() {
            return;
        }
        let (now, of) = (self.now, flow as u32);
        let many = self.flows[flow].many;
        let state = &self.flows[flow];
        if state.datagrams.is_some() {
            let payload = state.payload;
            for metric in metrics {
                let value = match metric {
                    4 => payload[1],
                    5 => payload[0],
                    _ => continue,
                };
                self.sampler.samples.push(Sample { at: now, metric: *metric, of, value: value as f64 });
            }
            return;
        }
        let measured = means && now >= self.from.max(state.start) && state.completed.is_none();
        let ended = state.ended;
        let open = self.asked(flow);
        self.sampler.no_timeouts |=
            open.iter().any(|(info, _)| info.as_ref().is_some_and(|info| !info.counts_timeouts()));
        for metric in metrics {
            let before = counted(*metric, &ended);
            let mut each = open.iter().filter_map(|(info, totals)| value(*metric, info.as_ref(), totals));
            let value = match *metric {
                RECOVERIES => self.counted_by_host(flow, &["TCPSackRecovery", "TCPRenoRecovery"]),
                TIMEOUTS if self.sampler.no_timeouts => self.counted_by_host(flow, &["TCPTimeouts"]),
                // Windows, what is in flight, lost or not acknowledged add up; a threshold or a round-trip time does not.
                0 | 3 | 11 | 17 if many => each.sum::<f64>(),
                _ if many => match before {
                    Some(before) => each.sum::<f64>() + before,
                    None => continue,
                },
                _ => match each.next_back().or(before) {
                    Some(value) => value,
                    None => continue,
                },
            };
            self.sampler.samples.push(Sample { at: now, metric: *metric, of, value });
        }
        if !measured {
            return;
        }
        let sums = &mut self.sampler.means[flow];
        let told = || open.iter().filter_map(|(info, _)| info.as_ref());
        let window: f64 = told().map(|info| f64::from(info.snd_cwnd) * f64::from(info.snd_mss)).sum();
        sums.windows = (sums.windows.0 + window, sums.windows.1 + 1);
        for info in told().filter(|info| info.rtt > 0 && info.data_segs_out > 0) {
            let (rtt, least) = (f64::from(info.rtt) * 1e-6, f64::from(info.min_rtt) * 1e-6);
            sums.rtts = (sums.rtts.0 + rtt, sums.rtts.1 + 1);
            sums.least = Some(sums.least.map_or(least, |l| l.min(least)));
            sums.most = Some(sums.most.map_or(rtt, |m| m.max(rtt)));
        }
    }
}
