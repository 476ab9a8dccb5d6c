//! Places of connections: taken when one is opened, given back when it is over on both sides.

use super::Talk;
use crate::endpoint;
use crate::engine::Sim;
use crate::flow::{Conn, MAX_FLOWS, Side, snapshot};
use crate::output::failure_text;
use crate::slab::Stamp;
use crate::spec::{self, SpecError};
use ackclock_core::app::Made;
use ackclock_core::cc::CongestionControl;
use ackclock_core::rng::Stream;
use ackclock_core::tcp::endpoint::State;
use ackclock_core::tcp::{Config, Endpoint, Profile};
use ackclock_core::time::Time;
use std::sync::Arc;

/// What the endpoints of a flow's connections are made from.
pub struct Blueprint {
    spec: spec::Flow,
    profile: Profile,
    configs: [Arc<Config>; 2],
    seed: (u64, u64),
    /// Controllers made beforehand, the last one first.
    made: Vec<Box<dyn CongestionControl>>,
}

/// Makes controllers during the run: of the flow's specification, for its server or not, with its profile.
pub type Maker =
    Box<dyn FnMut(&spec::Flow, bool, Profile, &str) -> Result<Box<dyn CongestionControl>, SpecError> + Send>;

impl Blueprint {
    /// Of the flow `f`; `made` are the first controllers.
    pub(crate) fn new(
        f: &spec::Flow,
        profile: Profile,
        configs: [Arc<Config>; 2],
        seed: (u64, u64),
        made: [Box<dyn CongestionControl>; 2],
    ) -> Blueprint {
        let [first, second] = made;
        Blueprint { spec: f.clone(), profile, configs, seed, made: vec![second, first] }
    }

    /// The endpoint of one side of connection number `n` of the flow.
    fn endpoint(&mut self, n: u64, side: usize, maker: Option<&mut Maker>) -> Result<Endpoint, SpecError> {
        let made = self.made.pop();
        let cc = made.map_or_else(
            || match maker {
                Some(make) => make(&self.spec, side == 1, self.profile, "flow"),
                None => endpoint::controller(&self.spec, self.profile, "flow"),
            },
            Ok,
        )?;
        let name = format!("flow {}.{n} endpoint {side}", self.spec.id);
        let rng = Stream::named(self.seed.0, self.seed.1, &name);
        Ok(Endpoint::with_shared(&self.configs[side], self.spec.mss, cc, rng))
    }
}

impl Sim {
    /// Puts `made` in the place of the applications of flow number `flow`, before the run: one of files, whose connections
    /// are then theirs.
    ///
    /// # Errors
    /// There is no such flow, or it cannot open connections as it needs them.
    pub fn set_applications(&mut self, flow: usize, made: Made) -> Result<(), SpecError> {
        let found = self.flows.get_mut(flow).filter(|f| f.many && !f.began);
        let problem = "other applications can take the place of those of a flow of files, before it starts";
        let f = found.ok_or_else(|| SpecError::new(format!("flows.{flow}.app"), problem))?;
        f.apps = made.ends.map(Some);
        (f.opens, f.in_transfers) = (made.opens as usize, made.in_transfers);
        Ok(())
    }

    /// How many connections flows have open that they opened as they needed them, and how many places there are for such.
    pub fn connections(&self) -> (usize, usize) {
        (self.flows.iter().filter(|f| f.many).map(|f| f.open.len()).sum(), self.conns.len() - self.flows.len())
    }

    /// A connection of flow number `f`: its place. None when it cannot have another.
    pub(super) fn take_place(&mut self, now: Time, f: usize) -> Option<usize> {
        let number = self.flows[f].opened;
        if !self.flows[f].many {
            // Its own, whose endpoints wait for it.
            return (number == 0 && self.sides[2 * f].endpoint.is_some()).then_some(f);
        }
        if self.work.free.is_empty() && self.conns.len() >= MAX_FLOWS {
            let id = &self.flows[f].id;
            let why = format!("only {MAX_FLOWS} connections can be open in a run at a time");
            let single = || format!("flow {id}: {why}");
            self.warnings.add_once(format!("flows cannot have all their connections: {why}"), (f as u64, id), single);
            return None;
        }
        let [source, sink] = match self.endpoints(f, number) {
            Ok(both) => both,
            Err(problem) => {
                self.warnings.add_text(problem.to_string());
                return None;
            }
        };
        let c = self.work.free.pop_front().map_or_else(|| self.add_place(), |c| c as usize);
        if let Some(taps) = &mut self.taps {
            taps.leaves(c, self.sides[2 * c].stamp.generation, &self.conns[c]);
        }
        self.conns[c] = Conn::new(f, number, now);
        for (end, endpoint) in [source, sink].into_iter().enumerate() {
            self.events.forget(self.layout.sides + (2 * c + end) as u32);
            let (own, place) = (&self.sides[2 * f + end], &self.sides[2 * c + end]);
            let stamp = Stamp { generation: place.stamp.generation.wrapping_add(1), class: own.stamp.class };
            let endpoint = Some(Box::new(endpoint));
            let side = Side { endpoint, route: own.route, stamp, flow: f as u32, watch: u64::MAX };
            self.sides[2 * c + end] = side;
        }
        (2 * c..2 * c + 2).for_each(|side| self.note_blocks(side));
        self.flows[f].open.push(c as u32);
        Some(c)
    }

    /// Both endpoints of connection number `n` of flow number `f`.
    fn endpoints(&mut self, f: usize, n: u64) -> Result<[Endpoint; 2], SpecError> {
        let flow = &mut self.flows[f];
        let Some(blueprint) = &mut flow.blueprint else {
            return Err(SpecError::new(&flow.id, "a flow of datagrams has no connections"));
        };
        let mut endpoint = |side| blueprint.endpoint(n, side, self.maker.as_mut());
        Ok([endpoint(0)?, endpoint(1)?])
    }

    /// A new place behind all others.
    fn add_place(&mut self) -> usize {
        let c = self.conns.len();
        self.conns.push(Conn::new(0, 0, Time::ZERO));
        for _ in 0..2 {
            self.sides.push(Side {
                endpoint: None,
                route: self.sides[0].route,
                stamp: Stamp::default(),
                flow: 0,
                watch: u64::MAX,
            });
            self.talks.push(Talk::default());
        }
        self.events.grow(2);
        c
    }

    /// Whether nothing comes any more from `side`, whose other side is over or was never reached.
    fn is_over(&self, side: usize) -> bool {
        let Some(endpoint) = &self.sides[side].endpoint else { return true };
        let given_up = |e: &Endpoint| e.state() == State::Failed;
        let unreached =
            endpoint.state() == State::Listen && self.sides[side ^ 1].endpoint.as_deref().is_none_or(given_up);
        // What has come is read before the place is given back.
        let talk = &self.talks[side];
        (endpoint.finished() && (talk.closed || !talk.there)) || given_up(endpoint) || unreached
    }

    /// Gives the place of connection `c` back if it is over on both sides; its counters stay.
    #[cold]
    pub(crate) fn reap(&mut self, now: Time, c: usize) {
        // Of those that a flow has for all its life the state is shown to the end.
        if c < self.flows.len() || !self.is_over(2 * c) || !self.is_over(2 * c + 1) {
            return;
        }
        let [Some(source), Some(sink)] = [0, 1].map(|s| self.sides[2 * c + s].endpoint.take()) else { return };
        let (from, conn) = (self.from, &mut self.conns[c]);
        conn.account_window(now, from);
        let flow = &mut self.flows[conn.flow as usize];
        flow.ended.get_or_insert_default().add(&snapshot(&source, &sink));
        flow.ended_area += conn.cwnd_area;
        let aborted = self.talks[2 * c].aborted || self.talks[2 * c + 1].aborted;
        if let Some(why) = source.failure().or(sink.failure()).filter(|_| !aborted) {
            let first = (conn.number, failure_text(why), 0);
            let (number, text, n) = flow.failed.unwrap_or(first);
            let (number, text) = if first.0 < number { (first.0, first.1) } else { (number, text) };
            flow.failed = Some((number, text, n + 1));
        }
        flow.open.retain(|open| *open as usize != c);
        for side in [2 * c, 2 * c + 1] {
            self.sides[side].watch = u64::MAX;
            self.talks[side] = Talk::default();
        }
        self.work.free.push_back(c as u32);
    }
}
