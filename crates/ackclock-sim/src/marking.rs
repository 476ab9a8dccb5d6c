//! Warnings about explicit congestion notification: marks that nobody makes, and marks that nobody would see.

use crate::spec::{Cell, Flow, Hop, Hspa, Link, Queue, Run, Through};
use ackclock_core::cc::{EcnUse, Needs};
use ackclock_core::params::{Default, Value};
use ackclock_core::queue::registry;
use ackclock_core::tcp::Config;
use ackclock_run::warnings::Warnings;
use std::collections::BTreeSet;

/// How the sender of a flow comes to use ECN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Use {
    /// It does not.
    None,
    /// Its options ask for it.
    Asked,
    /// Its controller works with marks and has ECN whatever the options say.
    Needed {
        /// With ECT(1), which `dualpi2` serves with low latency.
        ect1: bool,
        /// It must know how many packets were marked, so that no other feedback will do.
        counted: bool,
    },
}

impl Use {
    /// Of a sender with these options and a controller with this need.
    pub(crate) fn of(config: &Config, controller: &Needs) -> Use {
        match config.get("ecn") {
            _ if controller.ecn != EcnUse::Classic => {
                Use::Needed { ect1: controller.ect1, counted: controller.ecn == EcnUse::Accurate }
            }
            Some(Value::Text(rule)) if rule != "off" => Use::Asked,
            _ => Use::None,
        }
    }

    /// Whether its packets carry ECT(1).
    fn ect1(self) -> bool {
        matches!(self, Use::Needed { ect1: true, .. })
    }
}

/// Whether a queue marks.
fn marks(queue: Option<&Queue>) -> bool {
    let Some(Queue { kind, mark_above_packets, mark_above_bytes, params, .. }) = queue else { return false };
    if mark_above_packets.is_some() || mark_above_bytes.is_some() {
        return true;
    }
    let spec = registry::find(kind).and_then(|d| d.params.iter().find(|p| p.name == "ecn"));
    let default = spec.is_some_and(|p| p.default == Default::Bool(true));
    params.get("ecn").map_or(default, |asked| asked == true) || kind == "dualpi2"
}

/// Whether the queue of `link` has one queue for scalable and one for other controllers.
fn couples(link: &Link) -> bool {
    link.queue.as_ref().is_some_and(|queue| queue.kind == "dualpi2")
}

/// Disciplines with a queue of its own for every flow: what one takes there the others do not miss.
const APART: [&str; 6] = ["fq_codel", "drr", "fq", "scfq", "wfq", "wf2q"];

/// Links on which a connection that sends no ECT(1) meets others in one queue.
fn shared_with_classic<'a>(run: &'a Run, uses: &[Use]) -> BTreeSet<&'a str> {
    let classic = run.flows.iter().zip(uses).filter(|(flow, how)| flow.app.datagrams().is_none() && !how.ect1());
    let crossed: BTreeSet<&str> = classic.flat_map(|(flow, _)| &flow.forward).filter_map(link_of).collect();
    let together = |link: &&Link| link.queue.as_ref().is_some_and(|queue| !APART.contains(&queue.kind.as_str()));
    run.links.iter().filter(together).map(|link| link.id.as_str()).filter(|id| crossed.contains(id)).collect()
}

/// The link of a hop.
fn link_of(hop: &Hop) -> Option<&str> {
    match hop {
        Hop::Link(id) => Some(id),
        _ => None,
    }
}

/// What to know of ECT(1) through the queue of `link`, which marks it like ECT(0); `shared` with connections that take
/// every mark for a loss. A threshold alone is what scalable controllers expect.
fn as_rfc_3168(name: &str, link: &Link, shared: bool, to: &mut Warnings) {
    let Some(queue) = &link.queue else { return };
    let (id, kind) = (&link.id, &queue.kind);
    if !shared && (queue.mark_above_packets.is_some() || queue.mark_above_bytes.is_some()) {
        return;
    }
    let effect = if shared {
        format!("{name} takes far more there than flows that halve on a mark (RFC 9331 section 4.3)")
    } else {
        format!("{name} has its delay, not that of a low-latency queue")
    };
    let alike = "RFC 3168 has it, ECT(1) and ECT(0) alike";
    to.add(
        format!("links have a queue ({kind}) that marks as {alike}: {effect}; give them a dualpi2 queue"),
        id,
        || format!("the queue of {id} ({kind}) marks as {alike}: {effect}; give the link a dualpi2 queue"),
    );
}

/// What in the scenario asks the queue of `link` to mark, if something does: a default is no request.
fn asked(link: &Link) -> Option<&'static str> {
    let queue = link.queue.as_ref()?;
    if queue.mark_above_packets.is_some() || queue.mark_above_bytes.is_some() {
        return Some("a mark_above");
    }
    (queue.params.get("ecn").is_some_and(|ecn| ecn == true)).then_some("ecn = true")
}

/// What makes the packets of the flows of `run` ECN-capable.
fn remedy(run: &Run) -> &'static str {
    let datagrams = run.flows.iter().filter(|f| f.app.datagrams().is_some()).count();
    match datagrams {
        0 => "tcp.ecn",
        n if n == run.flows.len() => "ect = true in their app",
        _ => "tcp.ecn, or ect = true in the app of datagrams",
    }
}

/// Adds what to know about `run`, whose flows use ECN as `uses` says, one entry per flow. Each line stands once, however
/// many flows it is true of.
pub(crate) fn warn(run: &Run, uses: &[Use], to: &mut Warnings) {
    let mut met: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut last: Option<(&Flow, Use)> = None;
    let mut marking: BTreeSet<&str> =
        run.links.iter().filter(|l| marks(l.queue.as_ref())).map(|l| l.id.as_str()).collect();
    let of_cell = |c: &&Cell| {
        let queues = c.users.iter().map(|u| u.down_queue.as_ref());
        queues.chain([c.params.down_queue.as_ref(), c.params.up_queue.as_ref()]).any(marks)
    };
    marking.extend(run.cells.iter().filter(of_cell).map(|c| c.id.as_str()));
    let of_hspa = |h: &&Hspa| [&h.down_queue, &h.up_queue].into_iter().any(|q| marks(Some(q)));
    marking.extend(run.hspa.iter().filter(of_hspa).map(|h| h.id.as_str()));
    let passes = |hop: &Hop| match hop {
        Hop::Link(id) | Hop::Element(Through { id, .. }) => marking.contains(id.as_str()),
        Hop::Delay(_) | Hop::Uniform(_) => false,
    };
    let coupled = |hop: &Hop| matches!(hop, Hop::Link(id) if run.links.iter().any(|l| l.id == *id && couples(l)));
    let low_latency = uses.iter().any(|how| how.ect1());
    let shared = if low_latency { shared_with_classic(run, uses) } else { BTreeSet::new() };
    for (flow, how) in run.flows.iter().zip(uses) {
        // What is true of a flow is true of those that are equal but for their names.
        if last.replace((flow, *how)).is_some_and(|(other, of_it)| other.shares(flow) && of_it == *how) {
            continue;
        }
        let name = if flow.app.datagrams().is_some() { "datagrams" } else { flow.cc.name.as_str() };
        if matches!(how, Use::Needed { .. }) && flow.tcp.get("ecn").is_some_and(|rule| rule == "off") {
            to.add_text(format!("tcp.ecn = \"off\" has no effect: {name} asks for ECN by itself"));
        }
        if matches!(how, Use::Needed { counted: true, .. }) && flow.tcp.get("ecn").is_some_and(|rule| rule == "classic")
        {
            to.add_text(format!(
                "tcp.ecn = \"classic\" has no effect: {name} needs the number of marks and asks for accurate ECN by \
                 itself; remove it, or set \"accurate\""
            ));
        }
        if how.ect1() {
            let marked = flow.forward.iter().filter_map(link_of).filter(|id| marking.contains(id));
            for link in marked.filter_map(|id| run.links.iter().find(|l| l.id == id && !couples(l))) {
                if met.insert((link.id.as_str(), name)) {
                    as_rfc_3168(name, link, shared.contains(link.id.as_str()), to);
                }
            }
        }
        if matches!(how, Use::Needed { ect1: false, .. }) && flow.forward.iter().any(coupled) {
            let remedy = if name == "dctcp" { "ect1 = true in its cc" } else { "ecn = \"l4s\" in its class" };
            to.add_text(format!(
                "{name} sends ECT(0): dualpi2 serves it in the classic queue, with its delay and its marks; set {remedy}"
            ));
        }
        if *how == Use::None || flow.forward.iter().any(passes) {
            continue;
        }
        to.add_text(if name == "prague" {
            "no queue marks: prague behaves like reno; give the bottleneck a dualpi2 queue".to_owned()
        } else if name == "dctcp" {
            format!("no queue marks: {name} behaves like reno; give the bottleneck's queue a mark_above")
        } else {
            format!(
                "no queue marks: ECN does nothing for {name}; give the bottleneck's queue a mark_above or an AQM with ecn = true"
            )
        });
    }
    if uses.iter().all(|how| *how == Use::None) {
        if let Some((link, key)) = run.links.iter().find_map(|l| asked(l).map(|key| (l, key))) {
            let id = &link.id;
            let remedy = remedy(run);
            to.add_text(format!("the queue of {id} has {key} but no flow uses ECN: nothing is marked; set {remedy}"));
        }
    }
}
