//! Flows and their own connections as they are put together.

use crate::endpoint::{self, Make};
use crate::flow::{Conn, Flow, Side};
use crate::host::{Blueprint, Datagrams};
use crate::marking;
use crate::routes::Route;
use crate::slab::Stamp;
use crate::spec::{self, Run, SpecError};
use ackclock_core::app::Connections;
use ackclock_core::app::relay::Node;
use ackclock_core::rng::Stream;
use ackclock_core::tcp::{Config, Endpoint, Profile};
use ackclock_core::time::Time;
use ackclock_run::periods::Periods;
use ackclock_run::ways;
use std::sync::Arc;

/// What connections have in common whose flows are equal but for their names.
struct Shared {
    flow: spec::Flow,
    cap: [u64; 2],
    profile: Profile,
    configs: [Arc<Config>; 2],
}

impl Shared {
    /// Of `flow`, whose ends' receive buffers hold no more than `cap`.
    fn new(flow: &spec::Flow, cap: [u64; 2], path: &str) -> Result<Shared, SpecError> {
        let (profile, config) = endpoint::config(flow, path)?;
        let capped = |most| Config { receive_buffer: config.receive_buffer.min(most), ..config.clone() };
        let first = Arc::new(capped(cap[0]));
        let second = if cap[0] == cap[1] { first.clone() } else { Arc::new(capped(cap[1])) };
        Ok(Shared { flow: flow.clone(), cap, profile, configs: [first, second] })
    }
}

/// The receive buffers of the ends of a flow without relays.
pub(crate) const NO_CAP: [u64; 2] = [u64::MAX; 2];

/// What has been put together so far.
#[derive(Default)]
pub(crate) struct Network {
    pub sides: Vec<Side>,
    pub flows: Vec<Flow>,
    pub conns: Vec<Conn>,
    /// How each flow comes to use ECN.
    pub marks: Vec<marking::Use>,
    /// Those with relays.
    pub nodes: Vec<Node>,
    /// What the last connection shares with those that are configured alike.
    shared: Option<Shared>,
}

impl Network {
    /// Adds flow `f` with its own connection, if it has one; `routes` are its ways, and `best` what they allow.
    pub fn flow(
        &mut self,
        f: &spec::Flow,
        run: &Run,
        (routes, best): ([Route; 2], ways::Path),
        cap: [u64; 2],
        path: &str,
        make: &mut Make<'_>,
    ) -> Result<(), SpecError> {
        let i = self.flows.len();
        let start = ways::start(f, run);
        let periods = Periods::of(f, start, path)?;
        let entry = f.app.entry(path)?;
        let mut endpoints = [None, None];
        let mut handshake = false;
        let mut blueprint = None;
        if let Some(datagrams) = f.app.datagrams() {
            self.marks.push(if datagrams.ect { marking::Use::Asked } else { marking::Use::None });
        }
        let made = if f.app.datagrams().is_some() {
            spec::made(f, run, path)?
        } else {
            let shared = match self.shared.take().filter(|shared| shared.flow.shares(f) && shared.cap == cap) {
                Some(shared) => shared,
                None => Shared::new(f, cap, path)?,
            };
            let (profile, configs) = (shared.profile, shared.configs.clone());
            self.shared = Some(shared);
            handshake = configs[0].handshake;
            let cc = [make(f, false, profile, path)?, make(f, true, profile, path)?];
            self.marks.push(marking::Use::of(&configs[0], &cc[0].needs()));
            let made = spec::made(f, run, path)?;
            if let Connections::Many(_) = made.connections {
                blueprint = Some(Box::new(Blueprint::new(f, profile, configs, (run.seed, run.run), cc)));
            } else {
                for ((server, cc), endpoint) in [false, true].into_iter().zip(cc).zip(&mut endpoints) {
                    let name = format!("flow {} endpoint {}", f.id, u8::from(server));
                    let rng = Stream::named(run.seed, run.run, &name);
                    *endpoint = Some(Box::new(Endpoint::with_shared(&configs[usize::from(server)], f.mss, cc, rng)));
                }
            }
            made
        };
        if made.once && periods.all().len() > 1 {
            let problem = "several intervals are for sources without an end; leave bytes out";
            return Err(SpecError::new(format!("{path}.schedule"), problem));
        }
        let own = endpoints[0].is_some();
        for (endpoint, route) in endpoints.into_iter().zip(routes) {
            let stamp = Stamp { generation: 0, class: f.class };
            self.sides.push(Side { endpoint, route, stamp, flow: i as u32, watch: u64::MAX });
        }
        let start = periods.all().first().map_or(start, |p| p.0);
        self.conns.push(Conn { due: start, ..Conn::new(i, 0, start) });
        self.flows.push(Flow {
            id: f.id.clone(),
            cc: if f.app.datagrams().is_some() { "none".to_owned() } else { f.cc.name.clone() },
            kind: entry.kind,
            start,
            periods,
            apps: made.ends.map(Some),
            opens: made.opens as usize,
            began: false,
            many: matches!(made.connections, Connections::Many(_)),
            in_transfers: made.in_transfers,
            blueprint,
            open: if own { vec![i as u32] } else { Vec::new() },
            opened: 0,
            ended: None,
            ended_area: 0,
            failed: None,
            transfers: Vec::new(),
            completed: None,
            datagrams: f.app.datagrams().map(|_| Box::new(Datagrams::new(Time(run.warmup_ns)))),
            handshake,
            path: best,
            baseline: None,
            split: None,
        });
        Ok(())
    }
}
