//! Which place a key stands for. A table of 32 bits an entry: the key itself is kept once, at its place.

use super::key::{Key, Keys};
use hashbrown::hash_table::{Entry, HashTable};
use std::hash::BuildHasher;

/// One of the keys of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named(u32);

impl Named {
    const BITS: u32 = 2;

    /// Key number `which`, at most 3, of the place `at`.
    pub fn new(at: u32, which: u32) -> Named {
        Named(at << Named::BITS | which)
    }

    /// The place.
    #[inline]
    pub fn at(self) -> u32 {
        self.0 >> Named::BITS
    }

    /// Which of its keys.
    #[inline]
    pub fn which(self) -> u32 {
        self.0 & ((1 << Named::BITS) - 1)
    }
}

/// Finds places. What is the key of an entry, its caller says.
#[derive(Debug, Default)]
pub struct Index {
    table: HashTable<Named>,
    keys: Keys,
}

impl Index {
    /// The place that has `key`.
    #[inline]
    pub fn get(&self, key: &Key, of: impl Fn(Named) -> Option<Key>) -> Option<u32> {
        let found = self.table.find(self.keys.hash_one(key), |named| of(*named).as_ref() == Some(key));
        found.map(|named| named.at())
    }

    /// From now on `key` is that of `named`.
    pub fn insert(&mut self, key: &Key, named: Named, of: impl Fn(Named) -> Option<Key>) {
        let (keys, hash) = (&self.keys, self.keys.hash_one(key));
        let hasher = |named: &Named| of(*named).map_or(0, |key| keys.hash_one(key));
        match self.table.entry(hash, |other| of(*other).as_ref() == Some(key), hasher) {
            Entry::Occupied(mut there) => *there.get_mut() = named,
            Entry::Vacant(free) => drop(free.insert(named)),
        }
    }

    /// `key` is no longer that of `named`, if it was.
    pub fn remove(&mut self, key: &Key, named: Named) {
        if let Ok(there) = self.table.find_entry(self.keys.hash_one(key), |other| *other == named) {
            there.remove();
        }
    }
}
