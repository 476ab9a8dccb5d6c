//! Which packets belong to one stream: queues that share fairly, and scripts of loss, tell streams apart by number.
//!
//! The connection that a flow has for itself has the number of the flow, as in the simulator. Of flows that open many each
//! has a number of its own, by its ports; a fragment has that of the packet it is a part of.

use super::Addressed;
use std::collections::BTreeMap;

/// Numbers of streams.
#[derive(Debug)]
pub struct Streams {
    /// Of each flow, whether it opens many connections.
    many: Vec<bool>,
    /// Of the source of each such flow: its port, and the port it sends to.
    numbers: BTreeMap<(u32, u16, u16), u32>,
    /// Of each side, the larger packet whose fragments come, and its stream.
    fragments: Vec<Option<(u32, u32)>>,
}

impl Streams {
    /// For flows that open `many` connections, or not.
    pub fn new(many: Vec<bool>) -> Streams {
        let fragments = vec![None; 2 * many.len()];
        Streams { many, numbers: BTreeMap::new(), fragments }
    }

    /// From now on each connection of flow number `flow` is a stream of its own.
    pub fn apart(&mut self, flow: usize) {
        self.many[flow] = true;
    }

    /// The stream of `packet`.
    pub fn of(&mut self, packet: &Addressed) -> u32 {
        let flow = packet.side / 2;
        if !self.many[flow as usize] {
            return flow;
        }
        let whole = &mut self.fragments[packet.side as usize];
        let Some((from, to)) = packet.ports else {
            return whole.filter(|(id, _)| packet.fragment == Some(*id)).map_or(flow, |(_, stream)| stream);
        };
        let ports = if packet.side % 2 == 0 { (flow, from, to) } else { (flow, to, from) };
        let next = (self.many.len() + self.numbers.len()) as u32;
        let stream = *self.numbers.entry(ports).or_insert(next);
        if let Some(id) = packet.fragment {
            *whole = Some((id, stream));
        }
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::Ecn;

    #[test]
    fn both_directions_and_fragments_are_of_one_stream() {
        let mut streams = Streams::new(vec![false, true]);
        let packet = |side, ports, fragment| Addressed { side, ecn: Ecn::NotEct, payload: 1, ports, fragment };
        assert_eq!(streams.of(&packet(0, Some((1, 2)), None)), 0);
        assert_eq!(streams.of(&packet(2, Some((1, 2)), None)), 2);
        assert_eq!(streams.of(&packet(2, Some((3, 2)), None)), 3);
        assert_eq!(streams.of(&packet(3, Some((2, 1)), None)), 2);
        assert_eq!(streams.of(&packet(3, Some((2, 3)), Some(77))), 3);
        assert_eq!(streams.of(&packet(3, None, Some(77))), 3);
        assert_eq!(streams.of(&packet(3, None, Some(78))), 1);
    }
}
