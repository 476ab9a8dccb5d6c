//! The tables of web pages and their objects.

use crate::tables::{Table, floats, ints, some_floats, table, text};
use ackclock_core::app::web::report::{Object, Page, Split};
use ackclock_core::time::{Span, Time};
use ackclock_sim::Output;
use arrow_array::{ArrayRef, BooleanArray, UInt64Array};
use pyo3::prelude::*;
use std::sync::Arc;

fn seconds(time: Option<Time>) -> Option<f64> {
    time.map(Time::as_secs_f64)
}

fn some_ints(it: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(it.collect::<UInt64Array>())
}

/// The pages of runs, one run after the other.
pub fn pages(outs: &[Output]) -> PyResult<Table> {
    let id = outs.iter().flat_map(|out| out.pages.iter().map(|p| out.flows[p.flow as usize].id.as_str()));
    let r = || outs.iter().flat_map(|out| out.pages.iter().map(|row| &row.page));
    let took = |p: &Page| p.split.and(p.end).map(|end| end.since(p.start).as_secs_f64());
    let part = |part: fn(&Split) -> Span| {
        some_floats(r().map(move |p| p.split.as_ref().map(|split| part(split).as_secs_f64())))
    };
    table(vec![
        ("id", text(id), false),
        ("page", ints(r().map(|p| p.number)), false),
        ("start_s", floats(r().map(|p| p.start.as_secs_f64())), false),
        ("end_s", some_floats(r().map(|p| seconds(p.end))), true),
        ("plt_s", some_floats(r().map(took)), true),
        ("outcome", text(r().map(|p| p.outcome.word())), false),
        ("deferred", Arc::new(r().map(|p| Some(p.deferred)).collect::<BooleanArray>()), false),
        ("objects", ints(r().map(|p| u64::from(p.objects))), false),
        ("objects_done", ints(r().map(|p| u64::from(p.done))), false),
        ("bytes", ints(r().map(|p| p.bytes)), false),
        ("connections", ints(r().map(|p| u64::from(p.connections))), false),
        ("allowed", ints(r().map(|p| u64::from(p.allowed))), false),
        ("handshake_s", part(|s| s.handshake), true),
        ("queueing_s", part(|s| s.queueing), true),
        ("first_byte_s", part(|s| s.first_byte), true),
        ("transfer_s", part(|s| s.transfer), true),
        ("parse_s", part(|s| s.parse), true),
    ])
}

/// The objects of pages of runs, one run after the other.
pub fn objects(outs: &[Output]) -> PyResult<Table> {
    let id = outs.iter().flat_map(|out| out.objects.iter().map(|o| out.flows[o.flow as usize].id.as_str()));
    let r = || outs.iter().flat_map(|out| out.objects.iter().map(|row| &row.object));
    let at = |time: fn(&Object) -> Option<Time>| some_floats(r().map(move |o| seconds(time(o))));
    table(vec![
        ("id", text(id), false),
        ("page", ints(r().map(|o| o.page)), false),
        ("object", ints(r().map(|o| u64::from(o.number))), false),
        ("bytes", ints(r().map(|o| o.bytes)), false),
        ("parent", some_ints(r().map(|o| o.parent.map(u64::from))), true),
        ("connection", some_ints(r().map(|o| o.connection.map(u64::from))), true),
        ("opened_s", at(|o| o.opened), true),
        ("connected_s", at(|o| o.connected), true),
        ("known_s", at(|o| o.known), true),
        ("requested_s", at(|o| o.requested), true),
        ("first_byte_s", at(|o| o.first_byte), true),
        ("done_s", at(|o| o.done), true),
    ])
}
