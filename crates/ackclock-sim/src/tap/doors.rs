//! Which probe points a run has, and where they stand on its routes.

use crate::spec::relay::legs;
use crate::spec::{Run, SpecError};
use std::collections::BTreeMap;

/// Most probe points of a run: what readers of captures take interfaces for.
pub const MOST_POINTS: usize = 65_536;

/// What a probe point is for; numbers are places in [`points`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Where a packet leaves its host. Every route of a run that captures begins with one, seen or not.
    Source(Option<u32>),
    /// Where it reaches the other.
    Sink(u32),
    /// The input of a link.
    Into {
        /// Where.
        point: u32,
        /// Number of the link.
        link: u32,
    },
    /// The output of a link.
    OutOf(u32),
}

impl Door {
    /// Where what passes is seen.
    #[inline]
    pub(crate) fn point(self) -> Option<u32> {
        match self {
            Door::Source(point) => point,
            Door::Sink(point) | Door::Into { point, .. } | Door::OutOf(point) => Some(point),
        }
    }
}

/// What `capture` of the document asks for: flows, links.
struct Asked {
    flows: Vec<bool>,
    links: Vec<bool>,
}

impl Asked {
    fn of(run: &Run) -> Result<Asked, SpecError> {
        let mut asked = Asked { flows: vec![false; run.flows.len()], links: vec![false; run.links.len()] };
        for (i, what) in run.capture.iter().enumerate() {
            let (kind, id) = what.split_once('.').map_or((what.as_str(), None), |(kind, id)| (kind, Some(id)));
            let (marks, ids): (_, Vec<&str>) = match kind {
                "flows" => (&mut asked.flows, run.flows.iter().map(|f| f.id.as_str()).collect()),
                "links" => (&mut asked.links, run.links.iter().map(|l| l.id.as_str()).collect()),
                _ => {
                    let problem = format!("'{what}' cannot be captured; write flows, links, flows.ID or links.ID");
                    return Err(SpecError::new(format!("capture.{i}"), problem));
                }
            };
            let Some(id) = id else {
                marks.fill(true);
                continue;
            };
            let Some(at) = ids.iter().position(|known| *known == id) else {
                let few = ids.iter().take(20).copied().collect::<Vec<_>>().join(", ");
                let more = if ids.len() > 20 { ", ..." } else { "" };
                let known = if ids.is_empty() { "there are none".to_owned() } else { format!("there are {few}{more}") };
                let problem = format!("no {} has the id '{id}'; {known}", &kind[..kind.len() - 1]);
                return Err(SpecError::new(format!("capture.{i}"), problem));
            };
            marks[at] = true;
        }
        asked.split(run);
        let count = |marks: &[bool]| 2 * marks.iter().filter(|asked| **asked).count();
        let points = count(&asked.flows) + count(&asked.links);
        if points > MOST_POINTS {
            let problem = format!("{points} probe points are more than the {MOST_POINTS} that a capture can name");
            return Err(SpecError::new("capture", format!("{problem}; capture fewer flows, flows.0 for one")));
        }
        Ok(asked)
    }

    /// What passes the ends of a flow that is split passes those of its legs.
    fn split(&mut self, run: &Run) {
        for (leg, (whole, _)) in legs(run) {
            self.flows[leg] |= self.flows[whole];
        }
        for (asked, _) in self.flows.iter_mut().zip(&run.flows).filter(|(_, f)| f.relay.is_some()) {
            *asked = false;
        }
    }
}

/// The names of a run's probe points, in the order of their numbers: those of flows, then those of links, as the document
/// lists them. `flows.ID.source`, where the data come from, and `flows.ID.sink`; `links.ID.in` and `links.ID.out`.
///
/// # Errors
/// Something is asked for that is not there, or too much.
pub fn points(run: &Run) -> Result<Vec<String>, SpecError> {
    let asked = Asked::of(run)?;
    let flows = run.flows.iter().zip(&asked.flows).filter(|(_, asked)| **asked);
    let links = run.links.iter().zip(&asked.links).filter(|(_, asked)| **asked);
    let of_flows = flows.flat_map(|(f, _)| ["source", "sink"].map(|end| format!("flows.{}.{end}", f.id)));
    let of_links = links.flat_map(|(l, _)| ["in", "out"].map(|end| format!("links.{}.{end}", l.id)));
    Ok(of_flows.chain(of_links).collect())
}

/// The probe points as stops of routes, numbered from `first` on.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    first: u32,
    list: Vec<Door>,
    /// Doors of each link that is seen, by its number: in, and out behind it.
    links: BTreeMap<u32, u32>,
    /// The first of the doors of each flow: source and sink of one direction, then of the other. A sink that is not seen has
    /// no number there.
    flows: Vec<[Option<u32>; 4]>,
}

impl Doors {
    /// Those of `run`; none if it captures nothing.
    ///
    /// # Errors
    /// As [`points`].
    pub(crate) fn of(run: &Run, first: u32) -> Result<Doors, SpecError> {
        let mut doors = Doors { first, ..Doors::default() };
        if run.capture.is_empty() {
            return Ok(doors);
        }
        let asked = Asked::of(run)?;
        let mut point = 0;
        for seen in &asked.flows {
            let [source, sink] = if *seen { [Some(point), Some(point + 1)] } else { [None, None] };
            point += 2 * u32::from(*seen);
            let of_flow = [
                Some(doors.add(Door::Source(source))),
                sink.map(|point| doors.add(Door::Sink(point))),
                Some(doors.add(Door::Source(sink))),
                source.map(|point| doors.add(Door::Sink(point))),
            ];
            doors.flows.push(of_flow);
        }
        for (link, _) in asked.links.iter().enumerate().filter(|(_, asked)| **asked) {
            let link = link as u32;
            let number = doors.add(Door::Into { point, link });
            doors.add(Door::OutOf(point + 1));
            doors.links.insert(link, number);
            point += 2;
        }
        Ok(doors)
    }

    fn add(&mut self, door: Door) -> u32 {
        self.list.push(door);
        self.first + self.list.len() as u32 - 1
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    /// The way of flow number `flow` through `elements`, of its data or back, with the probe points on it.
    pub(crate) fn around(&self, elements: Vec<u32>, flow: usize, back: bool) -> Vec<u32> {
        let Some(doors) = self.flows.get(flow) else { return elements };
        let [source, sink] = if back { [doors[2], doors[3]] } else { [doors[0], doors[1]] };
        let within = elements.into_iter().flat_map(|element| {
            let into = self.links.get(&element).copied();
            [into, Some(element), into.map(|door| door + 1)]
        });
        [source].into_iter().chain(within).chain([sink]).flatten().collect()
    }

    /// What they are for, by number.
    pub(crate) fn into_list(self) -> Vec<Door> {
        self.list
    }
}
