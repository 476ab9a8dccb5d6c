//! Flows and their own connections as they are put together.

use crate::endpoint::{self, Make};
use crate::flow::{Conn, Flow, Side, Snapshot};
use crate::host::{Blueprint, Datagrams};
use crate::marking;
use crate::routes::Route;
use crate::slab::Stamp;
use crate::spec::{self, Run, SpecError};
use ackclock_core::app::Connections;
use ackclock_core::app::relay::Node;
use ackclock_core::rng::Stream;
use ackclock_core::tcp::{Config, Endpoint};
use ackclock_core::time::Time;
use ackclock_run::others::Others;
use ackclock_run::periods::Periods;
use ackclock_run::ways;

/// The options of both ends, whose receive buffers hold no more than this.
fn capped(config: &Config, cap: [u64; 2]) -> [Config; 2] {
    cap.map(|most| Config { receive_buffer: config.receive_buffer.min(most), ..config.clone() })
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
}

impl Network {
    /// Adds flow `f` with its own connection, if it has one.
    pub fn flow(
        &mut self,
        f: &spec::Flow,
        run: &Run,
        (others, routes): (&Others, [Route; 2]),
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
            let (profile, config) = endpoint::config(f, path)?;
            handshake = config.handshake;
            let cc = [make(f, false, profile, path)?, make(f, true, profile, path)?];
            self.marks.push(marking::Use::of(&config, &cc[0].needs()));
            let made = spec::made(f, run, path)?;
            if let Connections::Many(_) = made.connections {
                blueprint = Some(Box::new(Blueprint::new(f, profile, capped(&config, cap), (run.seed, run.run), cc)));
            } else {
                let configs = capped(&config, cap);
                for ((server, cc), endpoint) in [false, true].into_iter().zip(cc).zip(&mut endpoints) {
                    let name = format!("flow {} endpoint {}", f.id, u8::from(server));
                    let rng = Stream::named(run.seed, run.run, &name);
                    *endpoint = Some(Box::new(Endpoint::new(&configs[usize::from(server)], f.mss, cc, rng)));
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
            ended: Snapshot::default(),
            ended_area: 0,
            failed: None,
            transfers: Vec::new(),
            completed: None,
            datagrams: f.app.datagrams().map(|_| Box::new(Datagrams::new(Time(run.warmup_ns)))),
            handshake,
            path: ways::best(f, run, others),
            baseline: Snapshot::default(),
            split: None,
        });
        Ok(())
    }
}
