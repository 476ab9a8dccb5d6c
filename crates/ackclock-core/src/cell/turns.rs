//! Whose turn it is: those who want something, the best first.
//!
//! What a user deserves changes when it is served and otherwise not: averages decay by a factor that is the same for all, and channels that
//! do not fade keep their rates. So those who want something stay in a heap in which only who was served moves, and a decision costs the
//! logarithm of their number. Who stops wanting leaves its entry behind, which is thrown away when its turn comes.

use super::scheduler::{Discipline, Rank, Scheduler};
use std::collections::BinaryHeap;

/// Not among those who want something.
const NOWHERE: usize = usize::MAX;

/// A user, before those of lower rank.
type Turn = (Rank, u16);

/// A user as it takes turns.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Its rate over the whole band.
    rate: f64,
    /// Its place among those who want something.
    place: usize,
    /// Whether it has an entry in the heap, or is to get it back.
    listed: bool,
}

/// Users who take turns.
#[derive(Clone, Debug)]
pub struct Turns {
    scheduler: Scheduler,
    members: Vec<Member>,
    /// Those who want something, in no order.
    active: Vec<u16>,
    heap: BinaryHeap<Turn>,
    /// Those whose turn it was in this TTI.
    aside: Vec<u16>,
}

impl Turns {
    /// Of users with these rates, none of whom wants anything.
    pub fn new(scheduler: Scheduler, rates: impl Iterator<Item = f64>) -> Turns {
        let members: Vec<_> = rates.map(|rate| Member { rate, place: NOWHERE, listed: false }).collect();
        let n = members.len();
        let (active, heap, aside) = (Vec::with_capacity(n), BinaryHeap::with_capacity(n), Vec::with_capacity(n));
        Turns { scheduler, members, active, heap, aside }
    }

    /// How they are served.
    pub fn discipline(&self) -> Discipline {
        self.scheduler.discipline
    }

    /// What decides between them.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Those who want something, in no order.
    pub fn active(&self) -> &[u16] {
        &self.active
    }

    /// User `i` wants something.
    #[inline]
    pub fn join(&mut self, i: usize) {
        let member = &mut self.members[i];
        if member.place != NOWHERE {
            return;
        }
        member.place = self.active.len();
        self.active.push(i as u16);
        if !member.listed {
            member.listed = true;
            self.heap.push((self.scheduler.rank(i, member.rate), i as u16));
        }
    }

    /// User `i` wants nothing any more.
    #[inline]
    pub fn leave(&mut self, i: usize) {
        let place = std::mem::replace(&mut self.members[i].place, NOWHERE);
        if place == NOWHERE {
            return;
        }
        self.active.swap_remove(place);
        if let Some(moved) = self.active.get(place) {
            self.members[usize::from(*moved)].place = place;
        }
    }

    /// It is TTI number `tick` now, and everybody has the turn again.
    #[inline]
    pub fn advance(&mut self, tick: u64) {
        if self.scheduler.advance(tick) {
            let listed = std::mem::take(&mut self.heap).into_vec();
            let rank = |(_, i): Turn| (self.scheduler.rank(usize::from(i), self.members[usize::from(i)].rate), i);
            self.heap = listed.into_iter().map(rank).collect();
        }
    }

    /// Only these are served in this TTI, with the rates that they have now; for channels that fade.
    pub fn only(&mut self, candidates: impl Iterator<Item = (usize, f64)>) {
        let mut list = std::mem::take(&mut self.heap).into_vec();
        for (_, i) in list.drain(..) {
            self.members[usize::from(i)].listed = false;
        }
        for (i, rate) in candidates {
            self.members[i].rate = rate;
            self.members[i].listed = true;
            list.push((self.scheduler.rank(i, rate), i as u16));
        }
        self.heap = BinaryHeap::from(list);
    }

    /// The best of those who want something and whose turn it has not been in this TTI.
    #[inline]
    pub fn best(&mut self) -> Option<usize> {
        while let Some((_, i)) = self.heap.pop() {
            let member = &mut self.members[usize::from(i)];
            if member.place != NOWHERE {
                self.aside.push(i);
                return Some(usize::from(i));
            }
            member.listed = false;
        }
        None
    }

    /// User `i`, whose turn it is, gets `bits` in TTI number `tick`.
    #[inline]
    pub fn serve(&mut self, i: usize, tick: u64, bits: u32) {
        self.scheduler.serve(i, tick, bits);
    }

    /// The TTI is over.
    #[inline]
    pub fn close(&mut self) {
        while let Some(i) = self.aside.pop() {
            let member = &mut self.members[usize::from(i)];
            member.listed = member.place != NOWHERE;
            if member.listed {
                self.heap.push((self.scheduler.rank(usize::from(i), member.rate), i));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// The best of `left` by looking at all of them.
    fn best(scheduler: &Scheduler, rates: &[f64], left: &[usize]) -> Option<usize> {
        let of = |i: &usize| (*i, scheduler.merit(*i, rates[*i]));
        left.iter().map(of).reduce(|a, b| if scheduler.before(a, b) { a } else { b }).map(|b| b.0)
    }

    /// Random users want something, stop wanting it and are served: always who would be found by looking at all of them.
    fn compare(discipline: Discipline, fades: bool) {
        let n = 24;
        let mut rng = Stream::named(1, 0, "turns");
        let mut rates: Vec<f64> = (0..n).map(|_| rng.below(6) as f64 * 1000.0).collect();
        let mut plain = Scheduler::new(discipline, n, 99.0);
        let mut turns = Turns::new(plain.clone(), rates.iter().copied());
        let mut wants = vec![false; n];
        let (mut tick, mut served) = (0, 0);
        for _ in 0..60_000 {
            // Long pauses: the common factor of the averages is taken into them, which happens every 23,000 TTIs or so.
            tick += if rng.below(50) == 0 { rng.below(2000) } else { 1 };
            for _ in 0..rng.below(4) {
                let i = rng.below(n as u64) as usize;
                wants[i] = rng.below(3) > 0;
                if wants[i] {
                    turns.join(i);
                } else {
                    turns.leave(i);
                }
            }
            plain.advance(tick);
            turns.advance(tick);
            let mut left: Vec<usize> = (0..n).filter(|i| wants[*i]).collect();
            if fades {
                rates.iter_mut().for_each(|r| *r = 1.0 + rng.below(5000) as f64);
                left.retain(|i| (tick + *i as u64) % 3 > 0);
                turns.only(left.iter().map(|i| (*i, rates[*i])));
            }
            for _ in 0..rng.below(5) {
                let found = turns.best();
                assert_eq!(found, best(&plain, &rates, &left), "{discipline:?} {tick}");
                let Some(i) = found else { break };
                left.retain(|j| *j != i);
                if rng.below(4) > 0 {
                    let bits = 1 + rng.below(5000) as u32;
                    plain.serve(i, tick, bits);
                    turns.serve(i, tick, bits);
                    served += 1;
                    if rng.below(3) == 0 {
                        wants[i] = false;
                        turns.leave(i);
                    }
                }
            }
            turns.close();
            assert!(turns.heap.len() <= n);
        }
        assert!(served > 10_000 && tick > 1_000_000, "{served} {tick}");
    }

    #[test]
    fn the_next_is_the_best_of_all() {
        Discipline::ALL.into_iter().for_each(|d| compare(d, false));
    }

    #[test]
    fn the_next_is_the_best_of_all_where_channels_fade() {
        Discipline::ALL.into_iter().for_each(|d| compare(d, true));
    }
}
