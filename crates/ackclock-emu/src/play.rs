//! A whole run: hosts, path, applications, results.

use crate::agent::options::Options;
use crate::agent::{Agent, Report, Trouble};
use crate::driver::{Driven, drive};
use crate::host::Host;
use crate::kernel::Kernel;
use crate::lateness::{Summary, Tolerance};
use crate::path::{Addresses, Network};
use crate::prepare::{Prepared, prepare};
use crate::probe::with_remedy;
use crate::relay::{Proxies, Split};
use crate::series::LinkSeries;
use crate::starved::{self, Starved};
use crate::sys::clock::Clock;
use crate::sys::realtime::{self, Granted};
use crate::sys::tun::Device;
use crate::sys::waits::Waits;
use crate::sys::{process, settings};
use ackclock_core::packet::Family;
use ackclock_core::time::{Span, Time};
use ackclock_run::others::Other;
use ackclock_run::output::{LinkRow, Measure};
use ackclock_run::series::{CELL_METRICS, FIRST_OF_CELLS, USER_METRICS};
use ackclock_run::spec::Sampling;
use ackclock_run::warnings::{Warning, Warnings};
use ackclock_run::{Output, Run, cells, ways};
use serde::Serialize;

/// How a run is to be played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Orders {
    /// Version of the Internet protocol.
    pub family: Family,
    /// The processor of the path; the applications get the others.
    pub pin: Option<usize>,
    /// The kernel's time stands still while it works.
    pub time_stands_still: bool,
}

/// From the making of hosts to the begin of a run: both threads are there by then. Nanoseconds.
const AHEAD: u64 = 20_000_000;
/// Most packets that room is made for beforehand.
const MOST_RESERVED: u64 = 65_536;
/// Bytes of a packet that holds a full segment over Ethernet.
const FULL: u64 = 1500;

/// What a run yields.
#[derive(Debug, Serialize)]
pub struct Played {
    /// The tables.
    pub output: Output,
    /// How it went.
    pub emulation: Emulation,
}

/// By flow, names of settings below `net` and their values.
pub type Settings = Vec<(String, Vec<(String, String)>)>;

/// By flow, times in seconds.
pub type Limits = Vec<(String, [f64; 3])>;

/// How a run went, and where.
#[derive(Debug, Serialize)]
pub struct Emulation {
    /// Release of the kernel.
    pub kernel: String,
    /// What is set in the hosts of each flow.
    pub settings: Settings,
    /// Which version of the Internet protocol.
    pub ip: u8,
    /// What the system granted the thread that drives the path.
    pub granted: Granted,
    /// What the run tolerates.
    pub tolerance: Tolerance,
    /// By flow: time in which something was under way, and in which the peer's window and the send buffer held it back, seconds.
    pub limits: Vec<(String, [f64; 3])>,
    /// How late packets were that passed each link last.
    pub links: Vec<(String, Summary)>,
    /// How late those were that passed none.
    pub elsewhere: Summary,
    /// Times in which arrivals were not looked for.
    pub gaps: Summary,
    /// How long the applications waited for a processor.
    pub applications: starved::Found,
    /// Whether it can be used: nothing was later than it tolerates, or it was to be used all the same.
    pub valid: bool,
    /// It was to be used, however late things are.
    pub allow_late: bool,
    /// What was too late, or lost on the way to the path.
    pub problems: Vec<String>,
    /// Times the path woke up, packets that it read and handed on.
    pub wakes: u64,
    /// See `wakes`.
    pub packets: [u64; 2],
    /// Calls by which they were handed on: with offload one for several.
    pub writes: u64,
    /// Hosts leave segmentation to the path.
    pub offload: bool,
    /// CPU time of the thread that drives the path, seconds.
    pub cpu_s: Option<f64>,
    /// Packets that hosts sent to others than the other end of a flow.
    pub astray: u64,
    /// Packets that a receiving host did not take.
    pub refused: u64,
    /// Packets lost in the devices of hosts, before the path saw them.
    pub unseen: u64,
}

/// Plays `run`.
///
/// # Errors
/// What of it this host cannot play, and why.
pub fn play(run: &Run, orders: &Orders) -> Result<Played, Trouble> {
    let Prepared { options, mut network, mut series, splits } =
        prepare(run, orders, &Kernel::here(orders.time_stands_still))?;
    set_parameters(&options)?;
    network.reserve(under_way(run) as usize);
    process::many_files();
    let (hosts, devices) = hosts(run, orders, &options, &splits)?;
    let ids: Vec<String> = run.flows.iter().map(|f| f.id.clone()).collect();
    let proxies = Proxies::begin(&splits, &ids, &hosts, orders.pin)?;
    let set = run.flows.iter().zip(&options).map(|(f, o)| (f.id.clone(), o.host.settings.clone())).collect();
    let tolerance = tolerance(run, &network);
    let spacing = if orders.time_stands_still { Span::ZERO } else { tolerance.spacing() };
    let clock = Clock::ahead(AHEAD, orders.time_stands_still).spaced(spacing);
    let mut agent = Agent::new(run, (orders.family, clock), &hosts, options, &splits)?;
    let end = Time(run.duration_ns);
    // Opened in virtual time, too, where nobody waits: what a guest has opened moves the random numbers of its kernel, which bbr draws.
    let watched = Waits::own().into_iter().chain(proxies.waits());
    let applications = watched.filter(|_| !orders.time_stands_still).collect();
    let driven = std::thread::scope(|scope| {
        let path = scope.spawn(|| {
            if let Some(processor) = orders.pin {
                realtime::pin(processor, false).map_err(Trouble::Host)?;
            }
            let granted = realtime::ask();
            let mut starved = Starved::new(applications, &tolerance);
            let driven = drive(&mut network, &devices, &clock, end, &mut series, &mut starved);
            let driven = driven.map_err(|e| Trouble::System("the path cannot be driven".into(), e.into()))?;
            Ok::<_, Trouble>((driven, granted, process::cpu_of_thread(), starved.found(end)))
        });
        if let Some(processor) = orders.pin {
            realtime::pin(processor, true).map_err(Trouble::Host)?;
        }
        realtime::behind();
        agent.play()?;
        path.join().map_err(|_| Trouble::Host("the thread of the path has panicked".into()))?
    })?;
    network.finish(end);
    let told = proxies.end()?;
    let (notes, limits) = (agent.notes(), agent.limits());
    let report = agent.report(&network.tallies, &told);
    let (driven, granted, cpu_s, waited) = driven;
    let emulation =
        emulation(run, orders, (&driven, granted, cpu_s, waited), (&network, set, limits, unseen(&hosts, &devices)));
    Ok(Played { output: output(run, network, series, (report, notes), driven.wakes), emulation })
}

/// Sets the parameters that all connections of this kernel share.
pub(crate) fn set_parameters(options: &[Options]) -> Result<(), Trouble> {
    let mut all = options.iter().flat_map(|o| &o.parameters);
    all.try_for_each(|(name, value)| settings::set_parameter(name, value)).map_err(Trouble::Host)
}

/// The hosts of `run` and their devices: of each flow its source's and its sink's. Those of a flow that is split are the outer
/// ones of its legs, whose inner ones are one host with two devices.
pub(crate) fn hosts(
    run: &Run,
    orders: &Orders,
    options: &[Options],
    splits: &[Split],
) -> Result<(Vec<Host>, Vec<Option<Device>>), Trouble> {
    let addresses = Addresses::new(orders.family, run.flows.len());
    let mut made: Vec<Option<(Host, Option<Device>)>> = (0..2 * options.len()).map(|_| None).collect();
    let at = |place: usize| addresses.of((place / 2) as u32, place % 2);
    let wrong =
        |place: usize, e: &str| Trouble::Host(format!("hosts of flow {}: {}", run.flows[place / 2].id, with_remedy(e)));
    for split in splits {
        let [source, sink] = [2 * split.legs[0] + 1, 2 * split.legs[1]];
        let (first, device) = Host::new(at(source), &split.host[0]).map_err(|e| wrong(source, &e))?;
        let (second, other) = first.second(at(sink), &split.host[1]).map_err(|e| wrong(sink, &e))?;
        first.leads_to(at(source ^ 1), &split.host[0]).map_err(|e| wrong(source, &e))?;
        second.leads_to(at(sink ^ 1), &split.host[1]).map_err(|e| wrong(sink, &e))?;
        (made[source], made[sink]) = (Some((first, Some(device))), Some((second, Some(other))));
    }
    for place in 0..made.len() {
        if made[place].is_none() && splits.iter().all(|split| split.whole != place / 2) {
            let (host, device) = Host::new(at(place), &options[place / 2].host).map_err(|e| wrong(place, &e))?;
            made[place] = Some((host, Some(device)));
        }
    }
    for split in splits {
        for (end, leg) in split.legs.iter().enumerate() {
            made[2 * split.whole + end] = made[2 * leg + end].as_ref().map(|(host, _)| (host.clone(), None));
        }
    }
    Ok(made.into_iter().flatten().unzip())
}

/// Packets lost in the `devices` of `hosts`.
pub(crate) fn unseen(hosts: &[Host], devices: &[Option<Device>]) -> u64 {
    let own = hosts.iter().zip(devices).filter(|(_, device)| device.is_some());
    own.filter_map(|(host, _)| host.counters().ok()).map(|(_, drops)| drops).sum()
}

/// The interval of the series of cells, if one is asked for.
pub(crate) fn cells_every(run: &Run) -> Option<Span> {
    let of_cells = |name: &str| CELL_METRICS.iter().chain(&USER_METRICS).any(|m| *m == name);
    run.probes.iter().filter(|(name, _)| of_cells(name)).find_map(|(_, sampling)| match sampling {
        Sampling::Every { every_ns } => Some(Span(*every_ns)),
        _ => None,
    })
}

/// Packets that may be under way at a time, roughly.
pub(crate) fn under_way(run: &Run) -> u64 {
    let of = |l: &ackclock_run::spec::Link| {
        let rate = l.fastest().unwrap_or(0);
        let flight = (u128::from(rate) * u128::from(l.delay_ns) / 8_000_000_000) as u64 / FULL;
        let queue = l.queue.as_ref().map_or(0, |q| q.limit_packets.or(q.limit_bytes.map(|b| b / FULL)).unwrap_or(1000));
        flight.saturating_add(queue)
    };
    run.links.iter().map(of).fold(0, u64::saturating_add).min(MOST_RESERVED)
}

/// What `run` tolerates: by its smallest propagation and its fastest bottleneck.
pub(crate) fn tolerance(run: &Run, network: &Network) -> Tolerance {
    let best = run.flows.iter().map(|f| ways::best(&ways::drawn(f, run), run, &network.others));
    let (mut rtt, mut packet) = (u64::MAX, f64::INFINITY);
    for path in best {
        rtt = rtt.min(path.rtt);
        packet = packet.min(path.rate.map_or(f64::INFINITY, |rate| (FULL + 14) as f64 * 8.0 / rate as f64));
    }
    Tolerance::new(rtt as f64 * 1e-9, if packet.is_finite() { packet } else { 0.0 })
}

pub(crate) fn emulation(
    run: &Run,
    orders: &Orders,
    (driven, granted, cpu_s, waited): (&Driven, Granted, Option<f64>, starved::Found),
    (network, settings, limits, unseen): (&Network, Settings, Limits, u64),
) -> Emulation {
    let tolerance = tolerance(run, network);
    let links: Vec<(String, Summary)> =
        run.links.iter().zip(&driven.links).map(|(l, late)| (l.id.clone(), late.summary())).collect();
    let (elsewhere, gaps) = (driven.elsewhere.summary(), driven.gaps.summary());
    let mut problems: Vec<String> =
        links.iter().flat_map(|(id, late)| tolerance.late(&format!("link {id}"), late)).collect();
    problems.extend(tolerance.late("ways without a link", &elsewhere));
    problems.extend(tolerance.gaps(&gaps));
    problems.extend(waited.problems(&tolerance));
    if unseen > 0 {
        problems.push(format!("{unseen} packets were lost in the devices of hosts because nobody read them in time"));
    }
    if driven.refused > 0 {
        problems.push(format!("{} packets were not taken by the host that they reached", driven.refused));
    }
    Emulation {
        kernel: settings::kernel(),
        settings,
        ip: if orders.family == Family::V4 { 4 } else { 6 },
        granted,
        tolerance,
        limits,
        links,
        elsewhere,
        gaps,
        applications: waited,
        valid: problems.is_empty() || run.engine.allow_late,
        allow_late: run.engine.allow_late,
        problems,
        wakes: driven.wakes,
        packets: driven.packets,
        writes: driven.writes,
        offload: run.engine.offload,
        cpu_s,
        astray: network.astray,
        refused: driven.refused,
        unseen,
    }
}

pub(crate) fn output(
    run: &Run,
    mut network: Network,
    series: LinkSeries,
    (report, notes): (Report, Warnings),
    wakes: u64,
) -> Output {
    let Report { flows, transfers, pages, objects, measures, samples, packets } = report;
    let (from, end) = (Time(run.warmup_ns), Time(run.duration_ns));
    let mut all = series.finish(&mut network);
    all.extend(samples);
    let links = run.links.iter().zip(&network.links);
    let links =
        links.map(|(l, link)| LinkRow::of(&l.id, l.rate_bps, link.varying_capacity(from, end), &link.common.stats));
    let links = links.collect();
    let (mut rows, mut users) = (Vec::new(), Vec::new());
    let metrics: Vec<u8> = (FIRST_OF_CELLS..)
        .zip(CELL_METRICS.iter().chain(&USER_METRICS))
        .filter(|(_, name)| run.probes.contains_key(**name))
        .map(|(metric, _)| metric)
        .collect();
    let radio = network.others.list.iter().filter_map(Other::cell).zip(&network.others.cells);
    for (number, (cell, named)) in (0u32..).zip(radio) {
        if let Some(every) = cells_every(run) {
            cells::samples(cell, (number, users.len() as u32), &metrics, every, &mut all);
        }
        let (row, of_it) = cells::rows(cell, named);
        rows.push(row);
        users.extend(of_it);
    }
    all.sort_by_key(|sample| sample.at);
    let of_cells = std::mem::take(&mut network.others.warnings);
    let warnings = of_cells.into_iter().map(Warning::from).chain(notes.into_list()).collect();
    let measure = |(flow, name, value): (u32, &'static str, f64)| Measure { flow, name: name.into(), value };
    Output {
        flows,
        links,
        cells: rows,
        users,
        transfers,
        pages,
        objects,
        measures: measures.into_iter().map(measure).collect(),
        series: all,
        events: wakes,
        packets,
        warnings,
    }
}
