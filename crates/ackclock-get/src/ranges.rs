//! Which bytes of a file are there, which are being fetched by whom, and which nobody has taken.
//!
//! What is free is a queue of pieces in the order of the file. A connection takes a *lease* of the first, and works through it;
//! what it gives back is free again. Where nothing is free, a lease can be split, and its second half is another's.

use serde::{Deserialize, Serialize};

/// Bytes from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Piece {
    /// The first.
    pub start: u64,
    /// The one behind the last.
    pub end: u64,
}

impl Piece {
    /// How many.
    pub fn bytes(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// The bytes of one file.
#[derive(Clone, Debug)]
pub struct Ranges {
    total: u64,
    free: Vec<Piece>,
    /// By number; what a connection has left of its lease.
    leases: Vec<Option<Piece>>,
}

impl Ranges {
    /// Of so many bytes, of which `finished` are there.
    pub fn new(total: u64, finished: &[Piece]) -> Ranges {
        let mut there: Vec<Piece> = finished.iter().copied().filter(|p| p.end > p.start && p.start < total).collect();
        there.sort_unstable();
        let (mut free, mut at) = (Vec::new(), 0);
        for piece in there {
            if piece.start > at {
                free.push(Piece { start: at, end: piece.start });
            }
            at = at.max(piece.end);
        }
        if at < total {
            free.push(Piece { start: at, end: total });
        }
        Ranges { total, free, leases: Vec::new() }
    }

    /// Takes the first free bytes, `most` of them at most: the number of the lease.
    pub fn take(&mut self, most: u64) -> Option<usize> {
        let first = self.free.first_mut()?;
        let lease = Piece { start: first.start, end: first.end.min(first.start.saturating_add(most.max(1))) };
        first.start = lease.end;
        if first.bytes() == 0 {
            self.free.remove(0);
        }
        Some(self.number(lease))
    }

    /// Takes what is free of a piece from its first byte on.
    pub fn take_at(&mut self, piece: Piece) -> Option<usize> {
        let place = self.free.iter().position(|free| free.start <= piece.start && piece.start < free.end)?;
        let free = self.free[place];
        let lease = Piece { start: piece.start, end: piece.end.min(free.end) };
        let around = [Piece { start: free.start, end: lease.start }, Piece { start: lease.end, end: free.end }];
        self.free.splice(place..=place, around.into_iter().filter(|rest| rest.bytes() > 0));
        Some(self.number(lease))
    }

    /// Takes the second half of the longest lease, if both halves have `least` bytes.
    pub fn split(&mut self, least: u64) -> Option<usize> {
        let longest = self.leases.iter_mut().flatten().max_by_key(|lease| lease.bytes())?;
        let half = longest.bytes() / 2;
        if half < least.max(1) {
            return None;
        }
        let taken = Piece { start: longest.end - half, end: longest.end };
        longest.end = taken.start;
        Some(self.number(taken))
    }

    fn number(&mut self, lease: Piece) -> usize {
        match self.leases.iter().position(Option::is_none) {
            Some(place) => {
                self.leases[place] = Some(lease);
                place
            }
            None => {
                self.leases.push(Some(lease));
                self.leases.len() - 1
            }
        }
    }

    /// What is left of a lease.
    pub fn left(&self, lease: usize) -> Piece {
        self.leases.get(lease).copied().flatten().unwrap_or(Piece { start: self.total, end: self.total })
    }

    /// The next `bytes` of a lease are there.
    pub fn advance(&mut self, lease: usize, bytes: u64) {
        if let Some(Some(piece)) = self.leases.get_mut(lease) {
            piece.start = piece.end.min(piece.start.saturating_add(bytes));
        }
    }

    /// A lease is over; what is left of it is free.
    pub fn give_back(&mut self, lease: usize) {
        let Some(piece) = self.leases.get_mut(lease).and_then(Option::take) else { return };
        if piece.bytes() == 0 {
            return;
        }
        let place = self.free.partition_point(|free| free.start < piece.start);
        self.free.insert(place, piece);
        // Pieces that touch are one: fewer requests.
        if self.free.get(place + 1).is_some_and(|next| next.start == piece.end) {
            self.free[place].end = self.free.remove(place + 1).end;
        }
        if place > 0 && self.free[place - 1].end == self.free[place].start {
            self.free[place - 1].end = self.free.remove(place).end;
        }
    }

    /// The bytes of the file.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Free bytes.
    pub fn free(&self) -> u64 {
        self.free.iter().map(|piece| piece.bytes()).sum()
    }

    /// The first free piece.
    pub fn first_free(&self) -> Option<Piece> {
        self.free.first().copied()
    }

    /// Bytes of the longest lease.
    pub fn longest(&self) -> u64 {
        self.leases.iter().flatten().map(|lease| lease.bytes()).max().unwrap_or(0)
    }

    /// What is neither free nor left of a lease.
    pub fn finished(&self) -> Vec<Piece> {
        let mut open: Vec<Piece> = self.leases.iter().flatten().chain(&self.free).copied().collect();
        open.sort_unstable();
        let (mut finished, mut at) = (Vec::new(), 0);
        for piece in open.into_iter().filter(|piece| piece.bytes() > 0) {
            if piece.start > at {
                finished.push(Piece { start: at, end: piece.start });
            }
            at = piece.end;
        }
        if at < self.total {
            finished.push(Piece { start: at, end: self.total });
        }
        finished
    }

    /// Bytes that are there.
    pub fn there(&self) -> u64 {
        self.total - self.free() - self.leases.iter().flatten().map(|lease| lease.bytes()).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, end: u64) -> Piece {
        Piece { start, end }
    }

    #[test]
    fn what_is_there_is_not_fetched_again() {
        let ranges = Ranges::new(100, &[piece(50, 60), piece(0, 10), piece(55, 70), piece(90, 400), piece(20, 20)]);
        assert_eq!(ranges.finished(), [piece(0, 10), piece(50, 70), piece(90, 100)]);
        assert_eq!((ranges.free(), ranges.there()), (60, 40));
    }

    #[test]
    fn a_lease_is_split_in_halves_that_are_long_enough() {
        let mut ranges = Ranges::new(100, &[]);
        let first = ranges.take(1000).unwrap();
        ranges.advance(first, 20);
        let second = ranges.split(40).unwrap();
        assert_eq!((ranges.left(first), ranges.left(second)), (piece(20, 60), piece(60, 100)));
        assert_eq!(ranges.split(21), None);
        ranges.advance(first, 1000);
        ranges.give_back(first);
        ranges.give_back(second);
        assert_eq!((ranges.first_free(), ranges.there()), (Some(piece(60, 100)), 60));
    }

    #[test]
    fn every_byte_comes_once_whatever_happens() {
        // Numerical Recipes' linear congruence: any order of events will do.
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let total = 1 + random(500);
            let mut ranges = Ranges::new(total, &[]);
            let (mut times, mut held) = (vec![0u8; total as usize], Vec::new());
            for _ in 0..5000 {
                match random(4) {
                    0 => held.extend(ranges.take(1 + random(60))),
                    1 => held.extend(ranges.split(1 + random(9))),
                    2 if !held.is_empty() => {
                        let lease = held.swap_remove(random(held.len() as u64) as usize);
                        ranges.give_back(lease);
                    }
                    _ => {
                        for lease in &held {
                            let left = ranges.left(*lease);
                            let bytes = random(20).min(left.bytes());
                            for at in left.start..left.start + bytes {
                                times[at as usize] += 1;
                            }
                            ranges.advance(*lease, bytes);
                        }
                    }
                }
                assert_eq!(ranges.finished().iter().map(|p| p.bytes()).sum::<u64>(), ranges.there());
            }
            assert!(times.iter().all(|n| *n <= 1));
            assert_eq!(times.iter().map(|n| u64::from(*n)).sum::<u64>(), ranges.there());
        }
    }
}
