//! What a reader of the results should know. Warnings of one kind are one entry with a number and a few examples, so that
//! their memory does not grow with the number of flows.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;

/// Most examples of a kind.
pub const MOST_EXAMPLES: usize = 3;

/// A warning.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Warning {
    /// A single one: the whole text.
    Single(String),
    /// Several of a kind.
    Several {
        /// What is true of all of them, after their number: `flows start after the end of the run`.
        text: String,
        /// How many there are.
        count: u64,
        /// Names of the first of them.
        examples: Vec<String>,
    },
}

impl fmt::Display for Warning {
    /// `91120 flows (0, 1, 4, ...) start after the end of the run`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Single(text) => to.write_str(text),
            Warning::Several { text, count, examples } => {
                let (what, rest) = text.split_once(' ').unwrap_or((text, ""));
                let more = if *count > examples.len() as u64 { ", ..." } else { "" };
                write!(to, "{count} {what} ({}{more}) {rest}", examples.join(", "))
            }
        }
    }
}

impl fmt::Debug for Warning {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", self.to_string())
    }
}

impl Deref for Warning {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Warning::Single(text) | Warning::Several { text, .. } => text,
        }
    }
}

impl PartialEq<String> for Warning {
    fn eq(&self, other: &String) -> bool {
        format!("{self}") == *other
    }
}

impl From<String> for Warning {
    fn from(text: String) -> Warning {
        Warning::Single(text)
    }
}

/// The warnings of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Vec<Kind>);

#[derive(Clone, Debug)]
struct Kind {
    /// What is true of several; nothing of a kind of which there is one at most.
    several: Option<String>,
    /// The text of the first one.
    first: String,
    count: u64,
    examples: Vec<String>,
    /// The numbers of those that may come again.
    counted: BTreeSet<u64>,
}

impl Warnings {
    /// Adds `text`, unless it is there.
    pub fn add_text(&mut self, text: String) {
        if !self.0.iter().any(|kind| kind.several.is_none() && kind.first == text) {
            let counted = BTreeSet::new();
            self.0.push(Kind { several: None, first: text, count: 1, examples: Vec::new(), counted });
        }
    }

    /// Adds that `several`, which begins with a plural such as `flows`, is true of `name`, too; if of nothing else, it is
    /// told as `single`.
    pub fn add(&mut self, several: String, name: &str, single: impl FnOnce() -> String) {
        let at = self.kind(several, single);
        let kind = &mut self.0[at];
        kind.count += 1;
        if kind.examples.len() < MOST_EXAMPLES {
            kind.examples.push(name.to_owned());
        }
    }

    /// As [`Warnings::add`], of something that may happen to one several times, who has this `number`.
    pub fn add_once(&mut self, several: String, (number, name): (u64, &str), single: impl FnOnce() -> String) {
        let at = self.0.iter().position(|kind| kind.several.as_ref() == Some(&several));
        if at.is_some_and(|at| self.0[at].counted.contains(&number)) {
            return;
        }
        self.add(several.clone(), name, single);
        if let Some(kind) = self.0.iter_mut().find(|kind| kind.several.as_ref() == Some(&several)) {
            kind.counted.insert(number);
        }
    }

    fn kind(&mut self, several: String, single: impl FnOnce() -> String) -> usize {
        self.0.iter().position(|kind| kind.several.as_ref() == Some(&several)).unwrap_or_else(|| {
            let counted = BTreeSet::new();
            self.0.push(Kind { several: Some(several), first: single(), count: 0, examples: Vec::new(), counted });
            self.0.len() - 1
        })
    }

    /// One entry for each kind, in the order of the first of each.
    pub fn into_list(self) -> Vec<Warning> {
        let entry = |kind: Kind| match kind {
            Kind { several: Some(text), count, examples, .. } if count > 1 => {
                Warning::Several { text, count, examples }
            }
            Kind { first, .. } => Warning::Single(first),
        };
        self.0.into_iter().map(entry).collect()
    }
}

/// Adds that `n` connections of the flow `id` failed, which has the application `kind` and connections as it needs them if
/// it has `many`.
pub fn warn_failed(all: &mut Warnings, (id, kind, many): (&str, &str, bool), (n, why): (usize, &str)) {
    if many {
        // Where each connection carries a transfer, that is what failed.
        let what = if kind == "web" { "connections" } else { "transfers" };
        all.add(format!("flows had {what} that failed: {why}"), id, || {
            format!("{n} transfers of flow {id} failed: {why}")
        });
    } else {
        all.add(format!("flows failed: {why}"), id, || format!("flow {id} failed: {why}"));
    }
}

/// Adds that the flow `id` did not start.
pub fn warn_late(all: &mut Warnings, id: &str) {
    all.add("flows start after the end of the run".into(), id, || format!("flow {id} starts after the end of the run"));
}

impl Extend<String> for Warnings {
    fn extend<T: IntoIterator<Item = String>>(&mut self, texts: T) {
        texts.into_iter().for_each(|text| self.add_text(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(flows: &[u64]) -> Vec<Warning> {
        let mut all = Warnings::default();
        all.add_text("something else".into());
        for n in flows {
            all.add("flows failed: reset".into(), &n.to_string(), || format!("flow {n} failed: reset"));
        }
        all.add_text("something else".into());
        all.into_list()
    }

    #[test]
    fn one_of_a_kind_keeps_its_own_text() {
        assert_eq!(told(&[7]), ["something else".to_owned(), "flow 7 failed: reset".to_owned()]);
        assert_eq!(serde_json::to_string(&told(&[7])[1]).unwrap(), r#""flow 7 failed: reset""#);
    }

    #[test]
    fn several_of_a_kind_are_one_entry_with_examples() {
        let several = told(&(7..100_007).collect::<Vec<_>>());
        assert_eq!(several.len(), 2);
        assert_eq!(several[1].to_string(), "100000 flows (7, 8, 9, ...) failed: reset");
        assert_eq!(told(&[7, 9])[1].to_string(), "2 flows (7, 9) failed: reset");
        let text = serde_json::to_string(&several[1]).unwrap();
        assert_eq!(text, r#"{"text":"flows failed: reset","count":100000,"examples":["7","8","9"]}"#);
        assert_eq!(serde_json::from_str::<Warning>(&text).unwrap(), several[1]);
    }

    #[test]
    fn what_happens_to_one_again_counts_once() {
        let mut all = Warnings::default();
        for number in [4, 4, 5, 4] {
            let name = number.to_string();
            all.add_once("flows wait".into(), (number, &name), || format!("flow {name} waits"));
        }
        assert_eq!(all.into_list(), ["2 flows (4, 5) wait".to_owned()]);
    }
}
