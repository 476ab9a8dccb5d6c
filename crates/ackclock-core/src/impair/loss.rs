//! Loss at the output of a link: random, periodic or by script.

use crate::rng::Stream;

/// A data segment to lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptedDrop {
    /// Flow number.
    pub flow: u32,
    /// Which of the flow's data segments through this link, counted from 1.
    pub nth: u64,
}

/// A loss process. Its draws depend on nothing but the order of packets through the link.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Each packet with probability `p`, independently.
    Bernoulli {
        /// Loss probability.
        p: f64,
        /// The link's own stream.
        rng: Stream,
    },
    /// Every `n`-th packet of the link.
    Every {
        /// The period.
        n: u64,
        /// Packets so far.
        count: u64,
    },
    /// Listed data segments.
    Scripted {
        /// What to lose, sorted.
        drops: Vec<ScriptedDrop>,
        /// Data segments of each flow so far.
        counts: Vec<u64>,
    },
}

impl Loss {
    /// Loses the listed segments.
    pub fn scripted(mut drops: Vec<ScriptedDrop>) -> Loss {
        drops.sort_unstable();
        let flows = drops.iter().map(|d| d.flow as usize + 1).max().unwrap_or(0);
        Loss::Scripted { drops, counts: vec![0; flows] }
    }

    /// Whether the packet that leaves the link now is lost. `data`: it carries payload.
    #[inline]
    pub fn strikes(&mut self, flow: u32, data: bool) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { p, rng } => rng.uniform() < *p,
            Loss::Every { n, count } => {
                *count += 1;
                *count % (*n).max(1) == 0
            }
            Loss::Scripted { drops, counts } => {
                let Some(count) = counts.get_mut(flow as usize).filter(|_| data) else { return false };
                *count += 1;
                drops.binary_search(&ScriptedDrop { flow, nth: *count }).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bernoulli_loses_its_share() {
        let mut l = Loss::Bernoulli { p: 0.05, rng: Stream::named(1, 0, "loss") };
        let n = 200_000;
        let lost = (0..n).filter(|_| l.strikes(0, true)).count() as f64;
        // Four standard deviations of a binomial with p = 0.05.
        assert!((lost / f64::from(n) - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / f64::from(n)).sqrt());
    }

    #[test]
    fn every_nth_is_lost() {
        let mut l = Loss::Every { n: 3, count: 0 };
        let lost: Vec<bool> = (0..7).map(|_| l.strikes(0, true)).collect();
        assert_eq!(lost, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn scripts_count_data_segments_of_their_flow() {
        let mut l = Loss::scripted(vec![ScriptedDrop { flow: 1, nth: 2 }]);
        let packets = [(1, false), (0, true), (1, true), (0, true), (1, true), (1, true)];
        let lost: Vec<bool> = packets.iter().map(|&(f, d)| l.strikes(f, d)).collect();
        assert_eq!(lost, [false, false, false, false, true, false]);
    }
}
