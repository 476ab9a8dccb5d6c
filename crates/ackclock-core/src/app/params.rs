//! Parameters of applications: how each is written in the resolved run, and its value.

use super::Setup;
use super::web::page::Planned;
use crate::rng::Stream;
use crate::variate::Variate;
use std::collections::BTreeMap;

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number: bytes, nanoseconds, bit/s or a count, as its name says.
    Whole,
    /// Yes or no.
    Flag,
    /// One word out of a list.
    Word(&'static [&'static str]),
    /// A distribution of sizes (bytes) or times (nanoseconds).
    Distribution,
    /// `{"poisson_per_s": x}` or `{"every_ns": n}`.
    Arrivals,
    /// A list of whole numbers.
    List,
    /// The objects of a page: a list of `{"bytes": n, "after": [...], "parse_ns": n}`.
    Objects,
}

/// When things arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A Poisson process with so many arrivals per second.
    PoissonPerS(f64),
    /// One at the start and one after each interval, nanoseconds.
    EveryNs(u64),
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(String),
    /// A distribution.
    Distribution(Variate),
    /// When things arrive.
    Arrivals(Arrivals),
    /// A list.
    List(Vec<u64>),
    /// The objects of a page.
    Objects(Vec<Planned>),
}

/// Describes a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Its key.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Whether it must be given.
    pub required: bool,
    /// Meaning, one sentence.
    pub doc: &'static str,
}

/// A parameter that must be given.
pub const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: true, doc }
}

/// A parameter that may be left out.
pub const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: false, doc }
}

/// What is wrong with a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Which one.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub text: String,
}

impl Problem {
    /// `text` about the parameter `key`.
    pub fn new(key: &'static str, text: impl Into<String>) -> Problem {
        Problem { key, text: text.into() }
    }
}

/// The parameters that were given.
#[derive(Clone, Debug, Default)]
pub struct Given(BTreeMap<String, Value>);

impl Given {
    /// Adds one.
    pub fn insert(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Whether `name` was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<u64> {
        match self.0.get(name) {
            Some(Value::Whole(n)) => Some(*n),
            _ => None,
        }
    }

    /// A whole number that must be there and above zero.
    ///
    /// # Errors
    /// It is not.
    pub fn positive(&self, name: &'static str) -> Result<u64, Problem> {
        self.whole(name).filter(|n| *n > 0).ok_or_else(|| Problem::new(name, "a number above zero is needed"))
    }

    /// Yes, or no when it was left out.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Flag(true))
    }

    /// A word.
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Value::Word(w)) => Some(w),
            _ => None,
        }
    }

    /// A list, empty when it was left out.
    pub fn list(&self, name: &str) -> &[u64] {
        match self.0.get(name) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    /// The objects of a page.
    pub fn objects(&self, name: &str) -> Option<&[Planned]> {
        match self.0.get(name) {
            Some(Value::Objects(objects)) => Some(objects),
            _ => None,
        }
    }

    /// When things arrive.
    pub fn arrivals(&self, name: &str) -> Option<Arrivals> {
        match self.0.get(name) {
            Some(Value::Arrivals(a)) => Some(*a),
            _ => None,
        }
    }

    /// A distribution.
    pub fn distribution(&self, name: &str) -> Option<Variate> {
        match self.0.get(name) {
            Some(Value::Distribution(v)) => Some(v.clone()),
            _ => None,
        }
    }

    /// A distribution, or `default`, with the stream of the flow for `what`.
    pub fn draws(&self, name: &'static str, default: Variate, setup: &Setup<'_>, what: &str) -> Draws {
        Draws { variate: self.distribution(name).unwrap_or(default), rng: setup.stream(what) }
    }
}

/// A distribution and what it is drawn from.
#[derive(Clone, Debug)]
pub struct Draws {
    variate: Variate,
    rng: Stream,
}

impl Draws {
    /// The next whole number, `least` at least.
    pub fn whole(&mut self, least: u64) -> u64 {
        self.variate.draw_whole(&mut self.rng, least)
    }

    /// The next number.
    pub fn number(&mut self) -> f64 {
        self.variate.draw(&mut self.rng)
    }

    /// Draws from `variate` and `rng`.
    pub fn new(variate: Variate, rng: Stream) -> Draws {
        Draws { variate, rng }
    }
}
