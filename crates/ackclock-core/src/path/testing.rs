//! For the tests of elements.

use super::{Element, Store};
use crate::packet::Parcel;
use crate::time::Time;

/// A store of nothing: what elements decide has no consequence.
pub struct Nobody;

impl Store for Nobody {
    fn drop(&mut self, _id: u32) {}
    fn mark(&mut self, _id: u32) {}
    fn duplicate(&mut self, _id: u32) -> Option<u32> {
        None
    }
}

/// Parcels of 1000 bytes reach `element` at these times, named from 0: when they come out, and who.
pub fn pushed(element: &mut dyn Element, times: &[u64]) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    let mut until = |element: &mut dyn Element, now: Time| {
        while element.next_due() <= now && element.next_due().is_set() {
            while let Some(o) = element.pull(element.next_due(), &mut Nobody) {
                out.push((o.at.0, o.parcel.id));
            }
        }
    };
    for (at, id) in times.iter().zip(0..) {
        until(element, Time(*at).max(Time(1)) - crate::time::Span(1));
        element.push(Time(*at), 0, Parcel { id, len: 1000, ..Parcel::default() }, &mut Nobody);
    }
    until(element, Time(u64::MAX - 1));
    out
}
