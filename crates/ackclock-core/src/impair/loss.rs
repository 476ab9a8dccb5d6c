//! Loss at the output of a link: random, in bursts, periodic or by script.

use super::probability;
use crate::math::{exp_m1, ln_1p};
use crate::packet::Parcel;
use crate::params::ParamError;
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
    /// Bursts, after a chain of a good and a bad state.
    GilbertElliott(GilbertElliott),
    /// Each bit with the same probability, independently; one wrong bit loses the packet.
    Bits(BitErrors),
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

/// The channel of Gilbert (1960, "Capacity of a burst-noise channel", Bell System Technical Journal 39) and Elliott (1963,
/// "Estimates of error rates for codes on burst-noise channels", same journal 42), stepping once per packet.
///
/// With probabilities `p` from good to bad and `r` back, the share `p/(p+r)` of packets meets the bad state, in runs of
/// `1/r` on average. A packet survives with `k` in the good state and `h` in the bad one.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    p: f64,
    r: f64,
    h: f64,
    k: f64,
    bad: bool,
    rng: Stream,
}

impl GilbertElliott {
    /// The state of this packet decides, then the chain steps: two draws, whatever happens.
    fn strikes(&mut self) -> bool {
        let (survives, leaves) = if self.bad { (self.h, self.r) } else { (self.k, self.p) };
        let lost = self.rng.uniform() >= survives;
        self.bad ^= self.rng.uniform() < leaves;
        lost
    }

    /// The share of packets lost in the long run.
    pub fn rate(&self) -> f64 {
        let bad = stationary(self.p, self.r);
        (1.0 - self.k) * (1.0 - bad) + (1.0 - self.h) * bad
    }
}

/// The share of the bad state; a chain that never moves stays good.
fn stationary(p: f64, r: f64) -> f64 {
    if p + r > 0.0 { p / (p + r) } else { 0.0 }
}

/// Independent bit errors.
#[derive(Clone, Debug)]
pub struct BitErrors {
    /// Logarithm of the probability that a bit survives.
    ln_survival: f64,
    /// The last packet's length and its probability of loss, `1 - (1-ber)^bits`.
    last: (u32, f64),
    rng: Stream,
}

impl BitErrors {
    fn strikes(&mut self, len: u32) -> bool {
        if len != self.last.0 {
            self.last = (len, -exp_m1(8.0 * f64::from(len) * self.ln_survival));
        }
        self.rng.uniform() < self.last.1
    }
}

impl Loss {
    /// Each packet with probability `p`.
    ///
    /// # Errors
    /// A probability outside 0..1.
    pub fn bernoulli(p: f64, rng: Stream) -> Result<Loss, ParamError> {
        Ok(Loss::Bernoulli { p: probability("p", p)?, rng })
    }

    /// Gilbert and Elliott's channel: `p` good to bad, `r` bad to good, survival `h` in the bad and `k` in the good state.
    /// The first state is drawn from the stationary distribution.
    ///
    /// # Errors
    /// A probability outside 0..1.
    pub fn gilbert_elliott(p: f64, r: f64, h: f64, k: f64, mut rng: Stream) -> Result<Loss, ParamError> {
        for (name, x) in [("p", p), ("r", r), ("h", h), ("k", k)] {
            probability(name, x)?;
        }
        let bad = rng.uniform() < stationary(p, r);
        Ok(Loss::GilbertElliott(GilbertElliott { p, r, h, k, bad, rng }))
    }

    /// Each bit with probability `ber`.
    ///
    /// # Errors
    /// A probability outside 0..1.
    pub fn bit_errors(ber: f64, rng: Stream) -> Result<Loss, ParamError> {
        let ln_survival = ln_1p(-probability("ber", ber)?);
        Ok(Loss::Bits(BitErrors { ln_survival, last: (0, 0.0), rng }))
    }

    /// Loses the listed segments.
    pub fn scripted(mut drops: Vec<ScriptedDrop>) -> Loss {
        drops.sort_unstable();
        let flows = drops.iter().map(|d| d.flow as usize + 1).max().unwrap_or(0);
        Loss::Scripted { drops, counts: vec![0; flows] }
    }

    /// Whether `parcel`, which leaves the link now, is lost.
    // Always: a fused link makes the parcel for this call, and most processes look at nothing of it.
    #[inline(always)]
    pub fn strikes(&mut self, parcel: &Parcel) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { p, rng } => rng.uniform() < *p,
            Loss::GilbertElliott(channel) => channel.strikes(),
            Loss::Bits(errors) => errors.strikes(parcel.len),
            Loss::Every { n, count } => {
                *count += 1;
                *count % (*n).max(1) == 0
            }
            Loss::Scripted { drops, counts } => {
                let Some(count) = counts.get_mut(parcel.flow as usize).filter(|_| parcel.data) else { return false };
                *count += 1;
                drops.binary_search(&ScriptedDrop { flow: parcel.flow, nth: *count }).is_ok()
            }
        }
    }
}

#[cfg(test)]
#[path = "loss_tests.rs"]
mod tests;
