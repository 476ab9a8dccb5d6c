//! Routes: the elements that packets pass, all of a run in one table.
//!
//! A packet knows its place in the table, so that it finds the next element without looking at its connection; flows that
//! take the same way share the entries.

use std::collections::BTreeMap;

/// Behind the last element of a route: the packet is at its destination.
pub const END: u32 = u32::MAX;

/// A way through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first element.
    pub first: u32,
    /// Where the table says what comes after it.
    pub next: u32,
}

/// The routes of a run, each ended by [`END`].
#[derive(Clone, Debug, Default)]
pub struct Routes {
    table: Vec<u32>,
    known: BTreeMap<Box<[u32]>, Route>,
}

impl Routes {
    /// The route through `elements`, which are one at least.
    pub fn add(&mut self, elements: Vec<u32>) -> Route {
        if let Some(route) = self.known.get(elements.as_slice()) {
            return *route;
        }
        let at = self.table.len() as u32;
        self.table.extend(&elements);
        self.table.push(END);
        let route = Route { first: self.table[at as usize], next: at + 1 };
        self.known.insert(elements.into(), route);
        route
    }

    /// What stands at place `at`: an element, or [`END`].
    #[inline]
    pub fn stop(&self, at: u32) -> u32 {
        self.table[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_routes_share_their_entries() {
        let mut routes = Routes::default();
        let (a, b) = (routes.add(vec![3, 1]), routes.add(vec![3, 1, 2]));
        assert_eq!((a, routes.add(vec![3, 1])), (Route { first: 3, next: 1 }, a));
        assert_eq!((b.first, b.next), (3, 4));
        let walk =
            |route: Route| (route.next..).map(|at| routes.stop(at)).take_while(|e| *e != END).collect::<Vec<_>>();
        assert_eq!((walk(a), walk(b)), (vec![1], vec![1, 2]));
    }
}
