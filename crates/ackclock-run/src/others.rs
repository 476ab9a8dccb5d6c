//! Elements of paths that are neither links nor delays.

use crate::cells;
use crate::hspa;
use crate::links;
use crate::spec::{Run, SpecError};
use ackclock_core::cell::Cell;
use ackclock_core::packet::Parcel;
use ackclock_core::path::{Element, Out, Port, Store};
use ackclock_core::time::{Span, Time};

/// An element that is neither a link nor a delay.
pub enum Other {
    /// One of the registry.
    Named(Box<dyn Element>),
    /// A radio cell.
    Cell(Box<Cell>),
}

impl Other {
    /// How many ports it has.
    pub fn ports(&self) -> Port {
        match self {
            Other::Named(e) => e.ports(),
            Other::Cell(c) => c.ports(),
        }
    }

    /// The cell that it is.
    pub fn cell(&self) -> Option<&Cell> {
        match self {
            Other::Named(_) => None,
            Other::Cell(c) => Some(c),
        }
    }

    /// As [`Element::push`].
    #[inline]
    pub fn push(&mut self, now: Time, port: Port, parcel: Parcel, store: &mut dyn Store) {
        match self {
            Other::Named(e) => e.push(now, port, parcel, store),
            Other::Cell(c) => c.push(now, port, parcel, store),
        }
    }

    /// As [`Element::pull`].
    #[inline]
    pub fn pull(&mut self, now: Time, store: &mut dyn Store) -> Option<Out> {
        match self {
            Other::Named(e) => e.pull(now, store),
            Other::Cell(c) => c.pull(now, store),
        }
    }

    /// As [`Element::next_due`].
    #[inline]
    pub fn next_due(&self) -> Time {
        match self {
            Other::Named(e) => e.next_due(),
            Other::Cell(c) => c.next_due(),
        }
    }
}

/// Those of a run, in the order of the document, and what belongs to the cells among them.
#[derive(Default)]
pub struct Others {
    /// Elements, then cells, then those of HSPA.
    pub list: Vec<Other>,
    /// What belongs to the cells.
    pub cells: Vec<cells::Named>,
    /// What those of HSPA offer.
    pub hspa: Vec<hspa::Named>,
    /// What a reader of the results should know.
    pub warnings: Vec<String>,
}

impl Others {
    /// Those of `run`, whose cells keep a series if that has an interval.
    ///
    /// # Errors
    /// What is wrong with one, and where.
    pub fn of(run: &Run, series: Option<Span>) -> Result<Others, SpecError> {
        let mut others = Others::default();
        for (i, e) in run.elements.iter().enumerate() {
            others.list.push(Other::Named(links::element(e, &format!("elements.{i}"))?));
        }
        for (i, c) in run.cells.iter().enumerate() {
            let (cell, named, warnings) = cells::cell(c, run, &format!("cells.{i}"), series)?;
            others.list.push(Other::Cell(cell));
            others.cells.push(named);
            others.warnings.extend(warnings);
        }
        for (i, h) in run.hspa.iter().enumerate() {
            let (element, named) = hspa::element(h, run, &format!("hspa.{i}"))?;
            others.list.push(Other::Named(element));
            others.hspa.push(named);
        }
        Ok(others)
    }

    /// How many ports each has.
    pub fn ports(&self) -> Vec<Port> {
        self.list.iter().map(Other::ports).collect()
    }

    /// What packets that enter the element `id` by `port` find there at best: the least delay, and the rate in bit/s if there is one.
    pub fn best(&self, id: &str, port: Port) -> (Span, Option<u64>) {
        if let Some(named) = self.hspa.iter().find(|named| named.id == id) {
            let (least, rate) = named.best(usize::from(port));
            return (least, Some(rate));
        }
        let cells = self.list.iter().filter_map(Other::cell).zip(&self.cells);
        let Some((cell, named)) = cells.into_iter().find(|(_, named)| named.id == id) else {
            return (Span::ZERO, None);
        };
        let (user, up) = (usize::from(port) % cell.len(), usize::from(port) >= cell.len());
        let report = cell.user(user);
        let signal = if up { report.up } else { report.down };
        (named.least[usize::from(up)], (signal.rate_bps >= 1.0).then_some(signal.rate_bps as u64))
    }
}
