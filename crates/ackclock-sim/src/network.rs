//! Flows and connections of a run as they are put together.

use crate::app::files::{self, Blueprint, Files};
use crate::app::{make, App};
use crate::endpoint::{self, Make};
use crate::flow::{Conn, Flow, Path, Side, Snapshot, MAX_FLOWS};
use crate::marking;
use crate::routes::Route;
use crate::spec::{self, Hop, Run, SpecError, Start};
use ackclock_core::cc::registry;
use ackclock_core::rng::Stream;
use ackclock_core::tcp::Endpoint;
use ackclock_core::time::Time;

/// What has been put together so far.
#[derive(Default)]
pub(crate) struct Network {
    pub sides: Vec<Side>,
    pub flows: Vec<Flow>,
    pub conns: Vec<Conn>,
    /// How each flow comes to use ECN.
    pub marks: Vec<marking::Use>,
    pub warnings: Vec<String>,
    /// Arrivals and sizes of the transfers of each group, which is named by its flow's number.
    arrivals: Vec<(usize, Vec<(Time, u64)>)>,
}

impl Network {
    /// Adds flow `f` with its own connection, if it has one.
    pub fn flow(
        &mut self,
        f: &spec::Flow,
        run: &Run,
        routes: [Route; 2],
        path: &str,
        make: &mut Make<'_>,
    ) -> Result<(), SpecError> {
        let i = self.flows.len();
        let start = match f.start {
            Start::At(ns) => Time(ns),
            Start::Uniform([a, b]) => {
                let mut rng = Stream::named(run.seed, run.run, &format!("flow {} start", f.id));
                Conn::draw_start(&mut rng, a, b)
            }
        };
        let periods = make::periods(f, start, path)?;
        let start = periods.all().first().map_or(start, |p| p.0);
        let bytes = if let spec::App::Bulk { bytes: Some(bytes) } = f.app { bytes } else { 0 };
        let mut conn = Conn::new(i, start, bytes);
        conn.due = start;
        let mut endpoints = [None, None];
        let mut handshake = false;
        let app = if let Some(packets) = f.app.datagrams() {
            self.marks.push(if packets.ect { marking::Use::Asked } else { marking::Use::None });
            make::app(f, run, path)?
        } else {
            let (profile, config) = endpoint::config(f, path)?;
            handshake = config.handshake;
            let mut both = || Ok::<_, SpecError>([make(f, false, profile, path)?, make(f, true, profile, path)?]);
            let cc = both()?;
            self.marks.push(marking::Use::of(&config, cc[0].needs().ecn));
            if let spec::App::Files(files) = &f.app {
                let taken: usize = self.arrivals.iter().map(|(_, list)| list.len()).sum();
                let room = MAX_FLOWS - run.flows.len() - taken;
                let drawn = files::draw(f, files, run, periods.all(), room, path)?;
                let n = drawn.list.len();
                if drawn.cut {
                    self.warnings.push(format!("flow {}: only the first {n} transfers fit into a run", f.id));
                }
                // What the registry makes can be made when it is needed.
                let mut made = Vec::new();
                if registry::find(&f.cc.name).is_none() && n > 0 {
                    made.extend(cc);
                    for _ in 1..n {
                        made.extend(both()?);
                    }
                }
                conn.due = drawn.list.first().map_or(Time::NEVER, |t| t.0);
                self.arrivals.push((i, drawn.list));
                App::Files(Box::new(Files {
                    first: 0,
                    next: 0,
                    end: 0,
                    oldest: 0,
                    request: files.request_bytes.unwrap_or(0),
                    ended: Snapshot::default(),
                    blueprint: Blueprint::new(f, profile, config, run, made),
                }))
            } else {
                let mut sides = [false, true].into_iter().zip(cc).map(|(server, cc)| {
                    let name = format!("flow {} endpoint {}", f.id, u8::from(server));
                    let rng = Stream::named(run.seed, run.run, &name);
                    Some(Box::new(Endpoint::new(&config, f.mss, cc, rng)))
                });
                endpoints = [sides.next().flatten(), sides.next().flatten()];
                make::app(f, run, path)?
            }
        };
        for (endpoint, route) in endpoints.into_iter().zip(routes) {
            self.sides.push(Side { endpoint, route, watch: u64::MAX });
        }
        self.conns.push(conn);
        self.flows.push(Flow {
            id: f.id.clone(),
            cc: if f.app.datagrams().is_some() { "none".to_owned() } else { f.cc.name.clone() },
            kind: f.app.kind(),
            start,
            periods,
            app,
            handshake,
            path: best(f, run),
            baseline: Snapshot::default(),
        });
        Ok(())
    }

    /// Adds the connections of all transfers, behind those of the flows.
    pub fn add_transfers(&mut self) {
        for (g, list) in std::mem::take(&mut self.arrivals) {
            let first = self.conns.len();
            let routes = [2 * g, 2 * g + 1].map(|s| self.sides[s].route);
            for (at, bytes) in &list {
                self.conns.push(Conn::new(g, *at, *bytes));
                self.sides.extend(routes.map(|route| Side { endpoint: None, route, watch: u64::MAX }));
            }
            if let App::Files(files) = &mut self.flows[g].app {
                (files.first, files.next, files.oldest) = (first, first, first);
                files.end = self.conns.len();
            }
        }
    }
}

/// What the way of `f` allows at best.
fn best(f: &spec::Flow, run: &Run) -> Path {
    let link = |hop: &Hop| match hop {
        Hop::Link(id) => run.links.iter().find(|l| l.id == *id),
        Hop::Delay(_) | Hop::Uniform(_) => None,
    };
    let delay = |hop: &Hop| match hop {
        Hop::Delay(ns) | Hop::Uniform([ns, _]) => *ns,
        Hop::Link(_) => link(hop).map_or(0, |l| l.first_delay_ns()),
    };
    let rtt = f.forward.iter().chain(&f.reverse).map(delay).fold(0, u64::saturating_add);
    Path { rtt, rate: f.forward.iter().filter_map(link).filter_map(|l| l.fastest()).min() }
}
