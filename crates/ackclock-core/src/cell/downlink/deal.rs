//! Dealing out groups of resource blocks one by one: in turn, or each to the user for whom it is worth most.

use super::{Discipline, Downlink};
use crate::cell::tables::{SCHEMES, bits};
use crate::path::Store;

/// What has been dealt out in a TTI.
#[derive(Clone, Debug, Default)]
pub(super) struct Dealt {
    /// Of each user: its groups, and the bits that they carry.
    hands: Vec<(Vec<u16>, f64)>,
    /// Those who can be served, and the bits they could fill.
    takers: Vec<(usize, f64)>,
    /// Whose turn it is.
    turn: usize,
}

impl Dealt {
    /// For so many users.
    pub fn new(users: usize) -> Dealt {
        Dealt { hands: vec![(Vec::new(), 0.0); users], takers: Vec::new(), turn: 0 }
    }
}

impl Downlink {
    /// Deals out the groups from `next` on, and serves those who got some.
    pub(super) fn deal<S: Store + ?Sized>(&mut self, tick: u64, next: u16, store: &mut S) {
        let mut dealt = std::mem::take(&mut self.dealt);
        dealt.takers.clear();
        for n in 0..self.turns.active().len() {
            let i = usize::from(self.turns.active()[n]);
            if self.eligible(i, tick) {
                dealt.hands[i].0.clear();
                dealt.hands[i].1 = 0.0;
                dealt.takers.push((i, f64::from(self.users[i].bearer.demand(tick).saturating_mul(8))));
            }
        }
        for g in next..self.medium.grid.groups() {
            let Some(i) = self.taker(&dealt, g) else { break };
            dealt.turn = (i + 1) % self.users.len();
            let hand = &mut dealt.hands[i];
            hand.0.push(g);
            // In turn, with one scheme over the band, what fits into so many blocks is known exactly.
            hand.1 = match (self.medium.subband, self.users[i].radio.mcs) {
                (false, Some(mcs)) => {
                    let rbs: u16 = hand.0.iter().map(|g| self.medium.grid.blocks_of(*g)).sum();
                    f64::from(bits(SCHEMES[usize::from(mcs)].down, rbs))
                }
                _ => hand.1 + self.users[i].radio.rate_of(g, &self.medium),
            };
        }
        for n in 0..dealt.takers.len() {
            let i = dealt.takers[n].0;
            let groups = &dealt.hands[i].0;
            let Some(mcs) = self.users[i].radio.scheme_over(groups, &self.medium).filter(|_| !groups.is_empty()) else {
                continue;
            };
            let rbs = groups.iter().map(|g| self.medium.grid.blocks_of(*g)).sum();
            self.serve(tick, i, mcs, rbs, false, Some(groups), store);
        }
        self.dealt = dealt;
    }

    /// Who gets group `g`.
    fn taker(&self, dealt: &Dealt, g: u16) -> Option<usize> {
        let wants_more = |(i, bits): &&(usize, f64)| !self.fit || dealt.hands[*i].1 < *bits;
        let value = |i: usize| match self.turns.discipline() {
            // Whose turn comes next.
            Discipline::RoundRobin => -(((i + self.users.len() - dealt.turn) % self.users.len()) as f64),
            _ => self.turns.scheduler().merit(i, self.users[i].radio.rate_of(g, &self.medium)),
        };
        let mut best: Option<(usize, f64)> = None;
        for (i, _) in dealt.takers.iter().filter(wants_more) {
            let other = (*i, value(*i));
            if best.is_none_or(|b| self.turns.scheduler().before(other, b)) {
                best = Some(other);
            }
        }
        best.map(|b| b.0)
    }
}
