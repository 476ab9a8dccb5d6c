//! What happens at the output of a link, as plain data.

use super::{Refusal, Setting};
use crate::impair::{Jitter, Loss, Reorder, ScriptedDrop};
use crate::rng::Stream;
use crate::time::{Span, Time};

/// A loss process at the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossParams {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet with this probability, below 1.
    Bernoulli(f64),
    /// See [`Loss::gilbert_elliott`]: `p`, `r`, `h`, `k`.
    GilbertElliott([f64; 4]),
    /// Each bit with this probability.
    BitErrors(f64),
    /// Every n-th packet, n at least 2.
    Every(u64),
    /// Listed data packets of flows.
    Scripted(Vec<ScriptedDrop>),
}

impl LossParams {
    /// The process, which draws from the stream `name`.
    pub(super) fn build(&self, key: &str, name: &str, setting: &Setting) -> Result<Loss, Refusal> {
        let rng = || Stream::named(setting.seed, setting.run, name);
        let made = match self {
            LossParams::None => Ok(Loss::None),
            LossParams::Bernoulli(p) if *p == 1.0 => {
                let problem = "every packet would be lost; give a probability below 1";
                return Err(Refusal::new(format!("{key}.p"), problem));
            }
            LossParams::Bernoulli(p) => Loss::bernoulli(*p, rng()),
            LossParams::GilbertElliott([p, r, h, k]) => Loss::gilbert_elliott(*p, *r, *h, *k, rng()),
            LossParams::BitErrors(ber) => Loss::bit_errors(*ber, rng()),
            LossParams::Every(0 | 1) => {
                return Err(Refusal::new(key, "every packet would be lost; n must be at least 2"));
            }
            LossParams::Every(n) => Ok(Loss::Every { n: *n, count: 0 }),
            LossParams::Scripted(drops) => Ok(Loss::scripted(drops.clone())),
        };
        made.map_err(|e| Refusal::of(key, &e))
    }
}

/// A distribution of extra delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JitterParams {
    /// No extra delay.
    #[default]
    None,
    /// Uniform from the first to the second.
    Uniform(Span, Span),
    /// Mean and standard deviation of a normal distribution, which is truncated at zero.
    Normal(Span, Span),
    /// Least delay and exponent, above 1.
    Pareto(Span, f64),
    /// Mean.
    Exponential(Span),
    /// As measured, all of the same weight.
    Measured(Vec<Span>),
}

impl JitterParams {
    pub(super) fn build(&self, key: &str) -> Result<Jitter, Refusal> {
        let made = match self {
            JitterParams::None => Ok(Jitter::none()),
            JitterParams::Uniform(low, high) => Jitter::uniform(*low, *high),
            JitterParams::Normal(mean, sd) => Ok(Jitter::normal(*mean, *sd)),
            JitterParams::Pareto(scale, shape) => Jitter::pareto(*scale, *shape),
            JitterParams::Exponential(mean) => Ok(Jitter::exponential(*mean)),
            JitterParams::Measured(values) => Jitter::measured(values),
        };
        made.map_err(|e| Refusal::of(key, &e))
    }
}

/// What the medium becomes at an instant; what is none stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// Propagation delay, not below the link's own.
    pub delay: Option<Span>,
    /// Loss.
    pub loss: Option<LossParams>,
    /// Jitter.
    pub jitter: Option<JitterParams>,
    /// Reordering.
    pub reorder: Option<Reorder>,
    /// Share of packets that come out twice.
    pub duplicate: Option<f64>,
}
