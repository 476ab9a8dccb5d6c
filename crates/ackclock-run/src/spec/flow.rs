//! Flows in the resolved run. Flows that are equal except for their names share one copy of everything else: a crowd of
//! 100,000 flows is one group in the document and in memory.

use super::{Algorithm, App, Hop, Relay, Start};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Connections with the same application, options and route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Name of the first flow. With a `count` it is a whole number, and the names of the others follow it.
    pub id: String,
    /// Number of flows.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
    /// Route of the data.
    pub forward: Vec<Hop>,
    /// Route of the acknowledgments.
    pub reverse: Vec<Hop>,
    /// When the client opens the connection.
    pub start: Start,
    /// When the source stops.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Intervals in which the source is active, as far as they lie between start and stop; none: all the time between.
    /// An interval without an end is the last.
    #[serde(default)]
    pub schedule: Option<Vec<(u64, Option<u64>)>>,
    /// What its source does.
    pub app: App,
    /// Payload bytes of a full segment; of no use to datagrams.
    #[serde(default)]
    pub mss: u32,
    /// Bundle of endpoint options.
    #[serde(default = "rfc")]
    pub profile: String,
    /// Endpoint options set apart from the profile.
    #[serde(default)]
    pub tcp: BTreeMap<String, serde_json::Value>,
    /// Congestion controller; datagrams have none.
    #[serde(default = "no_controller")]
    pub cc: Algorithm,
    /// Slow start; none: the profile's.
    #[serde(default)]
    pub slow_start: Option<Algorithm>,
    /// Class of service of its packets, for queues with priorities or weights.
    #[serde(default)]
    pub class: u8,
    /// What splits it in two; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<Relay>,
}

fn one() -> u64 {
    1
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

fn rfc() -> String {
    "rfc".to_owned()
}

fn no_controller() -> Algorithm {
    Algorithm { name: "none".to_owned(), params: BTreeMap::new(), source: None }
}

impl FlowGroup {
    /// Whether two groups differ in names and number of flows only. The list is complete, or this does not compile.
    pub fn equals_but_names(&self, other: &FlowGroup) -> bool {
        self.equals_but_routes(other)
            && (&self.forward, &self.reverse, self.class) == (&other.forward, &other.reverse, other.class)
    }

    /// Whether two groups differ in names, number of flows, route and class only.
    pub fn equals_but_routes(&self, other: &FlowGroup) -> bool {
        let FlowGroup {
            id: _,
            count: _,
            forward: _,
            reverse: _,
            start,
            stop_ns,
            schedule,
            app,
            mss,
            profile,
            tcp,
            cc,
            slow_start,
            class: _,
            relay,
        } = self;
        (start, stop_ns, schedule, app) == (&other.start, &other.stop_ns, &other.schedule, &other.app)
            && (mss, profile, tcp) == (&other.mss, &other.profile, &other.tcp)
            && (cc, slow_start, relay) == (&other.cc, &other.slow_start, &other.relay)
    }
}

/// A connection and its application: a name, and what it shares with the other flows of its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name.
    pub id: String,
    group: Arc<FlowGroup>,
}

impl Flow {
    /// Whether both share one copy of everything but their names.
    pub fn shares(&self, other: &Flow) -> bool {
        Arc::ptr_eq(&self.group, &other.group)
    }
}

impl Deref for Flow {
    type Target = FlowGroup;

    fn deref(&self) -> &FlowGroup {
        &self.group
    }
}

impl DerefMut for Flow {
    /// From here on the flow has a copy of its own.
    fn deref_mut(&mut self) -> &mut FlowGroup {
        Arc::make_mut(&mut self.group)
    }
}

impl Serialize for Flow {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        FlowGroup { id: self.id.clone(), count: 1, ..FlowGroup::clone(self) }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Flow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Flow, D::Error> {
        let mut group = FlowGroup::deserialize(from)?;
        if group.count != 1 {
            return Err(serde::de::Error::custom(format!("count is {}, and this is one flow", group.count)));
        }
        Ok(Flow { id: std::mem::take(&mut group.id), group: Arc::new(group) })
    }
}

/// The flows of a document.
pub(crate) mod groups {
    use super::{Flow, FlowGroup};
    use crate::check::MAX_FLOWS;
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(flows: &[Flow], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(flows)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Flow>, D::Error> {
        from.deserialize_seq(Groups)
    }

    struct Groups;

    impl<'de> Visitor<'de> for Groups {
        type Value = Vec<Flow>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a list of flows")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Flow>, A::Error> {
            let mut flows: Vec<Flow> = Vec::new();
            let mut last: Option<Arc<FlowGroup>> = None;
            while let Some(mut found) = list.next_element::<FlowGroup>()? {
                if found.count == 0 || found.count > (MAX_FLOWS - flows.len()) as u64 {
                    let problem = format!("a run has 1 to {MAX_FLOWS} flows, and those of '{}' are", found.id);
                    return Err(A::Error::custom(format!("{problem} {} more; correct its count", found.count)));
                }
                let (id, count) = (std::mem::take(&mut found.id), std::mem::replace(&mut found.count, 1));
                // Older documents have a copy of everything for each flow.
                let group = match last.take() {
                    Some(group) if group.equals_but_names(&found) => group,
                    _ => Arc::new(found),
                };
                if count == 1 {
                    flows.push(Flow { id, group: group.clone() });
                } else {
                    let first: u64 =
                        id.parse().ok().filter(|n: &u64| n.checked_add(count).is_some()).ok_or_else(|| {
                            A::Error::custom(format!("the id '{id}' of {count} flows must be a whole number, as '0'"))
                        })?;
                    flows.extend((first..first + count).map(|n| Flow { id: n.to_string(), group: group.clone() }));
                }
                last = Some(group);
            }
            Ok(flows)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::Run;

    fn run(flows: &str) -> Result<Run, String> {
        let text = format!(r#"{{"format": 1, "seed": 1, "duration_ns": 1000, "links": [], "flows": [{flows}]}}"#);
        Run::from_json(&text).map_err(|e| e.to_string())
    }

    fn flow(names: &str, mss: u32) -> String {
        format!(
            r#"{{{names}, "forward": [{{"delay_ns": 9}}], "reverse": [{{"delay_ns": 9}}], "start": {{"at_ns": 0}},
            "app": {{"kind": "bulk"}}, "mss": {mss}, "cc": {{"name": "reno"}}}}"#
        )
    }

    #[test]
    fn count_stands_for_flows_with_consecutive_names() {
        let text = [flow(r#""id": "0", "count": 3"#, 1448), flow(r#""id": "3""#, 1448), flow(r#""id": "4""#, 500)];
        let mut found = run(&text.join(",")).unwrap();
        let ids: Vec<_> = found.flows.iter().map(|f| (f.id.as_str(), f.mss)).collect();
        assert_eq!(ids, [("0", 1448), ("1", 1448), ("2", 1448), ("3", 1448), ("4", 500)]);
        let shared: Vec<_> = found.flows.windows(2).map(|pair| pair[0].shares(&pair[1])).collect();
        assert_eq!(shared, [true, true, true, false], "equal flows share, whether they were written together or not");
        let again = Run::from_json(&serde_json::to_string(&found).unwrap()).unwrap();
        assert_eq!(again.flows, found.flows);
        found.flows[1].mss = 1000;
        assert_eq!([0, 1, 2].map(|i| found.flows[i].mss), [1448, 1000, 1448], "a change is that of one flow");
    }

    #[test]
    fn impossible_counts_are_refused_before_anything_is_made_of_them() {
        let refused = |names: &str| run(&flow(names, 1448)).unwrap_err();
        for count in ["0", "16777217", "18446744073709551615"] {
            let problem = refused(&format!(r#""id": "0", "count": {count}"#));
            assert!(problem.contains("1 to 16777216 flows") && problem.contains(count), "{problem}");
        }
        let problem = refused(r#""id": "a", "count": 2"#);
        assert!(problem.contains("the id 'a' of 2 flows must be a whole number"), "{problem}");
        let problem = refused(r#""id": "18446744073709551615", "count": 2"#);
        assert!(problem.contains("must be a whole number"), "{problem}");
    }
}
