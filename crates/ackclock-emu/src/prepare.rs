//! What a run needs before there are hosts. Made without playing it, this says whether it can be played: on the kernel here,
//! or on another of which is known what it has.

use crate::agent::options::Options;
use crate::kernel::Kernel;
use crate::path::Network;
use crate::play::{Orders, cells_every};
use crate::probe::Found;
use crate::relay::program::program;
use crate::relay::{Split, splits};
use crate::series::LinkSeries;
use ackclock_core::packet::Family;
use ackclock_run::{Run, SpecError};
use std::collections::BTreeMap;

/// Most flows: every one has two hosts.
const MOST_FLOWS: usize = 500;

/// What a run needs before there are hosts.
pub struct Prepared {
    /// How the endpoints of each flow are set.
    pub options: Vec<Options>,
    /// The path.
    pub network: Network,
    /// What is recorded of it.
    pub series: LinkSeries,
    /// Its flows that are split.
    pub splits: Vec<Split>,
}

/// Prepares `run` for `kernel`.
///
/// # Errors
/// What of it this kernel, or no kernel, can play, and where.
pub fn prepare(run: &Run, orders: &Orders, kernel: &Kernel) -> Result<Prepared, SpecError> {
    let options = options(run, kernel)?;
    let splits = splits(run, &options, (orders.family, &kernel.kernel))?;
    if let Some(split) = splits.first() {
        program().map_err(|problem| SpecError::new(format!("flows.{}.relay", split.whole), problem))?;
    }
    let mtu = options.iter().map(|o| o.host.mtu).max().unwrap_or_default() as usize;
    let mut network = Network::new(run, (orders.family, mtu), cells_every(run))?;
    let series = LinkSeries::of(run)?;
    for link in &mut network.links {
        link.common.stats.log = series.changes.then(Vec::new);
    }
    Ok(Prepared { options, network, series, splits })
}

/// How the endpoints of each flow of `run` are set on `kernel`.
///
/// # Errors
/// What of them this kernel, or no kernel, can do, and where.
pub fn options(run: &Run, kernel: &Kernel) -> Result<Vec<Options>, SpecError> {
    let n = run.flows.len();
    if n > MOST_FLOWS {
        return Err(SpecError::new(
            "flows",
            format!("a kernel run has at most {MOST_FLOWS}, two hosts for each, not {n}; have fewer"),
        ));
    }
    if let Some(i) = run.links.iter().position(|l| l.queue.as_ref().is_some_and(|q| q.departures_first)) {
        let problem = "only the simulator's links without an event per departure know it; leave it out";
        return Err(SpecError::new(format!("links.{i}.queue.departures_first"), problem));
    }
    let of = |(i, f)| Options::of(f, &format!("flows.{i}"), kernel);
    let mut options: Vec<Options> = run.flows.iter().enumerate().map(of).collect::<Result<_, _>>()?;
    let mut set: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (i, (name, value)) in (0..).zip(&options).flat_map(|(i, o)| o.parameters.iter().map(move |p| (i, p))) {
        let (first, other) = *set.entry(name).or_insert((i, value));
        if other != value {
            let problem =
                format!("{name} is one for all connections of a kernel: {other} by flow {first}; give both the same");
            return Err(SpecError::new(format!("flows.{i}.cc"), problem));
        }
    }
    for o in &mut options {
        o.host.offload = run.engine.offload;
        if o.controller.is_some() {
            o.host = o.with_buffers(o.buffers, &kernel.kernel);
        }
        o.share(n);
    }
    Ok(options)
}

/// Why `run` cannot be played on a computer of which `found` was found; none: it can.
pub fn refusal(run: &Run, orders: &Orders, found: &Found) -> Option<SpecError> {
    let version_6 = orders.family == Family::V6;
    if !found.hosts[usize::from(version_6)] {
        let of = if version_6 { " of IPv6" } else { "" };
        let why = found.problems.first().map_or("nobody said why", |problem| problem.as_str());
        return Some(SpecError::new("engine", format!("no hosts{of} can be made here; {why}")));
    }
    prepare(run, orders, &found.kernel).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(links: &str, flows: &[&str]) -> Run {
        let flow = |cc: &&str| {
            format!(
                r#"{{"id": "{cc}", "forward": [{{"link": "a"}}], "reverse": [{{"delay_ns": 1000}}], "start": {{"at_ns": 0}},
                "app": {{"kind": "bulk"}}, "mss": 1448, "profile": "linux", "cc": {cc}}}"#
            )
            .replace(&format!("\"id\": \"{cc}\""), "\"id\": \"f\"")
        };
        let flows = flows.iter().map(flow).collect::<Vec<_>>().join(",");
        let text = format!(
            r#"{{"format": 1, "seed": 1, "duration_ns": 1000000000, "flows": [{flows}],
            "links": [{{"id": "a", "rate_bps": 8000000, "delay_ns": 1000000, "queue": {{"kind": "droptail",
            "limit_packets": 20, "limit_bytes": null, "limit_includes_service": true{links}}}}}]}}"#
        );
        Run::from_json(&text).unwrap()
    }

    fn found(more: &str) -> Found {
        let text = format!(
            r#"{{"kernel": "6.12", "controllers": ["reno", "cubic"], "parameters": {{"tcp_cubic.beta": "717"}}, "own": true,
            "granted": {{"real_time": true, "locked": true, "exact_timers": true}}, "processors": 2, {more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    const ABLE: &str = r#""right": "own", "hosts": [true, true], "problems": []"#;

    fn said(run: &Run, found: &Found) -> Option<String> {
        refusal(run, &Orders::default(), found).map(|e| e.to_string())
    }

    #[test]
    fn what_can_be_played_is_not_refused() {
        assert_eq!(said(&run("", &[r#"{"name": "reno"}"#]), &found(ABLE)), None);
    }

    #[test]
    fn where_no_hosts_can_be_made_it_is_said_why() {
        let flows = run("", &[r#"{"name": "reno"}"#]);
        for why in ["/dev/net/tun cannot be used: No such file", "networks cannot be made: this is not root"] {
            let unable = found(&format!(r#""right": null, "hosts": [false, false], "problems": ["{why}"]"#));
            assert_eq!(said(&flows, &unable).unwrap(), format!("engine: no hosts can be made here; {why}"));
        }
        let four = found(r#""right": "own", "hosts": [true, false], "problems": ["no IPv6"]"#);
        assert_eq!(said(&flows, &four), None);
        let six = refusal(&flows, &Orders { family: Family::V6, ..Orders::default() }, &four).unwrap();
        assert_eq!(six.to_string(), "engine: no hosts of IPv6 can be made here; no IPv6");
    }

    #[test]
    fn what_no_kernel_does_is_refused() {
        let first = run(r#", "departures_first": true"#, &[r#"{"name": "reno"}"#]);
        let text = said(&first, &found(ABLE)).unwrap();
        assert!(text.starts_with("links.0.queue.departures_first: only the simulator's links"), "{text}");
        let text = said(&run("", &[r#"{"name": "reno"}"#; 501]), &found(ABLE)).unwrap();
        assert_eq!(text, "flows: a kernel run has at most 500, two hosts for each, not 501; have fewer");
    }

    #[test]
    fn send_buffers_of_many_flows_share_what_those_of_sixteen_have() {
        let first = |more: &str, flows: usize| {
            let cc = format!(r#"{{"name": "reno"}}{more}"#);
            let run = run("", &vec![cc.as_str(); flows]);
            let wanted = options(&run, &found(ABLE).kernel).unwrap();
            let (_, value) = wanted[0].host.settings.iter().find(|(name, _)| name == "ipv4.tcp_wmem").unwrap().clone();
            value
        };
        assert_eq!(first("", 1), "4096 16777216 268435456");
        assert_eq!(first("", 16), "4096 16777216 268435456");
        assert_eq!(first("", 500), "4096 536870 268435456");
        assert_eq!(first(r#", "tcp": {"send_buffer": 65536}"#, 500), "4096 65536 65536");
    }

    #[test]
    fn a_kernel_has_one_value_of_a_parameter() {
        let cubic = |beta: f64| format!(r#"{{"name": "cubic", "params": {{"beta": {beta}}}}}"#);
        assert_eq!(said(&run("", &[&cubic(0.5), &cubic(0.5)]), &found(ABLE)), None);
        let text = said(&run("", &[&cubic(0.5), &cubic(0.6)]), &found(ABLE)).unwrap();
        assert!(
            text.starts_with("flows.1.cc: tcp_cubic.beta is one for all connections of a kernel: 512 by flow 0"),
            "{text}"
        );
    }
}
