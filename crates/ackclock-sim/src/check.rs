//! Whether a run can be built, found out without building it: everything is made once and let go again, and what is
//! there many times is made the first time only.

use crate::build::Router;
use crate::endpoint::Make;
use crate::engine::Sim;
use crate::links;
use crate::marking;
use crate::network::{NO_CAP, Network};
use crate::probe::Probes;
use crate::spec::{Flow, Link, Run, SpecError};
use ackclock_run::check;
use ackclock_run::others::Others;
use ackclock_run::warnings::{Warning, Warnings};
use ackclock_run::ways::Path;

/// Most different flows or links that are remembered; any more are made each time.
const REMEMBERED: usize = 16;

impl Sim {
    /// Checks `run` as [`Sim::new_with`] would, at a cost that hardly grows with the number of equal flows and links.
    /// Returns what there is to know about it, as far as that shows before it is played.
    ///
    /// # Errors
    /// As [`Sim::new_with`].
    pub fn check_with(run: &Run, make: &mut Make<'_>) -> Result<Vec<Warning>, SpecError> {
        check(run)?;
        let probes = Probes::new(&run.probes, run.flows.len())?;
        let others = Others::of(run, probes.cells_every)?;
        let mut router = Router::new(run, &others.ports())?;
        let mut known: Vec<(&Flow, marking::Use)> = Vec::new();
        let mut uses = Vec::with_capacity(run.flows.len());
        for (i, f) in run.flows.iter().enumerate() {
            let path = format!("flows.{i}");
            if let Some((_, how)) = known.last().filter(|(other, _)| f.shares(other)) {
                uses.push(*how);
                continue;
            }
            let routes = router.both(f, i, &path)?;
            if let Some((_, how)) = known.iter().find(|(other, _)| f.equals_but_routes(other)) {
                uses.push(*how);
                continue;
            }
            let mut net = Network::default();
            net.flow(f, run, (routes, Path::default()), NO_CAP, &path, make)?;
            let how = net.marks.first().copied().unwrap_or(marking::Use::None);
            uses.push(how);
            if known.len() < REMEMBERED {
                known.push((f, how));
            }
        }
        let mut known: Vec<&Link> = Vec::new();
        for (i, l) in run.links.iter().enumerate() {
            if known.iter().any(|other| same_link(l, other)) {
                continue;
            }
            links::link(l, run, &format!("links.{i}"), false)?;
            if known.len() < REMEMBERED {
                known.push(l);
            }
        }
        let mut warnings = Warnings::default();
        warnings.extend(others.warnings);
        marking::warn(run, &uses, &mut warnings);
        Ok(warnings.into_list())
    }
}

/// Whether two links differ in name only.
fn same_link(a: &Link, b: &Link) -> bool {
    let Link {
        id: _,
        rate_bps,
        delay_ns,
        overhead_bytes,
        queue,
        schedule,
        trace,
        shaper,
        policer,
        loss,
        jitter,
        preserve_order,
        reorder,
        duplicate,
        events,
    } = a;
    (rate_bps, delay_ns, overhead_bytes, queue) == (&b.rate_bps, &b.delay_ns, &b.overhead_bytes, &b.queue)
        && (schedule, trace, shaper, policer) == (&b.schedule, &b.trace, &b.shaper, &b.policer)
        && (loss, jitter, preserve_order, reorder) == (&b.loss, &b.jitter, &b.preserve_order, &b.reorder)
        && (duplicate, events) == (&b.duplicate, &b.events)
}

#[cfg(test)]
mod tests {
    use crate::endpoint;
    use crate::{Run, Sim};

    /// Five flows over a link each, with `flow` and `link` as further keys of the last ones.
    fn run(flow: &str, link: &str) -> Run {
        let flows: Vec<String> = (0..5)
            .map(|i| {
                let more = if i == 4 { flow } else { "" };
                format!(
                    r#"{{"id": "{i}", "forward": [{{"link": "{i}"}}], "reverse": [{{"delay_ns": 1000}}],
                    "start": {{"at_ns": 0}}, "app": {{"kind": "bulk"}}, "mss": 1448, "cc": {{"name": "reno"}}{more}}}"#
                )
            })
            .collect();
        let links: Vec<String> = (0..5)
            .map(|i| {
                let more = if i == 4 { link } else { "" };
                format!(r#"{{"id": "{i}", "rate_bps": 1000000, "delay_ns": 1000{more}}}"#)
            })
            .collect();
        let text = format!(
            r#"{{"format": 1, "seed": 1, "duration_ns": 1000, "links": [{}], "flows": [{}]}}"#,
            links.join(","),
            flows.join(",")
        );
        Run::from_json(&text).unwrap()
    }

    fn checked(run: &Run) -> (Result<Vec<ackclock_run::warnings::Warning>, String>, usize) {
        let mut made = 0;
        let said = Sim::check_with(run, &mut |flow, _, profile, path| {
            made += 1;
            endpoint::controller(flow, profile, path)
        });
        (said.map_err(|e| e.to_string()), made)
    }

    #[test]
    fn equal_flows_are_made_once() {
        assert_eq!(checked(&run("", "")), (Ok(vec![]), 2));
        assert_eq!(checked(&run(r#", "tcp": {"iw": 4}"#, "")), (Ok(vec![]), 4));
    }

    #[test]
    fn what_cannot_be_built_is_refused_in_the_same_words() {
        let cases = [
            (r#", "tcp": {"min_rto": 2000000000, "max_rto": 1000000000}"#, "", "flows.4.tcp.max_rto"),
            (r#", "slow_start": {"kind": "limitd"}"#, "", "flows.4.slow_start"),
            (r#", "schedule": [[5, 4]]"#, "", "flows.4.schedule"),
            ("", r#", "policer": {"rate_bps": 1000, "burst_bytes": 100}"#, "links.4.policer.burst_bytes"),
            ("", r#", "queue": {"kind": "codel", "params": {"target": 200000000}}"#, "links.4.queue.target"),
            ("", r#", "loss": {"kind": "scripted", "drops": [{"flow": "7", "nth": 1}]}"#, "links.4.loss"),
        ];
        for (flow, link, path) in cases {
            let run = run(flow, link);
            let built = Sim::new(&run).map(|_| ()).map_err(|e| e.to_string());
            let said = checked(&run).0.map(|_| ());
            assert_eq!(said, built, "{flow}{link}");
            assert!(said.unwrap_err().starts_with(path), "{flow}{link}");
        }
    }

    #[test]
    fn transfers_are_not_drawn() {
        let files =
            r#"{"kind": "files", "arrivals": {"poisson_per_s": 1e6}, "size": {"kind": "constant", "value": 0}}"#;
        let flow = format!(
            r#"{{"id": "0", "forward": [{{"delay_ns": 1}}], "reverse": [{{"delay_ns": 1}}], "start": {{"at_ns": 0}},
            "app": {files}, "mss": 1448, "cc": {{"name": "reno"}}}}"#
        );
        // As many in ten years as a run has room for: millions.
        let text =
            format!(r#"{{"format": 1, "seed": 1, "duration_ns": 316224000000000000, "links": [], "flows": [{flow}]}}"#);
        assert_eq!(checked(&Run::from_json(&text).unwrap()).0, Ok(vec![]));
    }

    #[test]
    fn what_only_a_warning_says_comes_too() {
        let marks = r#", "queue": {"kind": "droptail", "limit_packets": 9, "mark_above_packets": 3}"#;
        let said = checked(&run("", marks)).0.unwrap();
        assert!(said.len() == 1 && said[0].contains("4 has a mark_above"), "{said:?}");
        // It is one of those that the run will give.
        assert!(Sim::new(&run("", marks)).unwrap().output().warnings.contains(&said[0]));
    }
}
