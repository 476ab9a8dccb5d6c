//! Weights as whole numbers, so that finish tags are sums of whole numbers and do not drift.

use crate::params::ParamError;
use crate::queue::registry::Site;

/// The share of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Its weight, a whole number relative to the others.
    pub weight: u64,
    /// By how much a byte moves the tags: [`Weights::scale`] over the weight.
    pub per_byte: u64,
}

impl Share {
    /// By how much a packet of `len` bytes moves the tags.
    #[inline]
    pub fn tags(self, len: u32) -> u128 {
        u128::from(self.per_byte) * u128::from(len)
    }
}

/// The shares of all classes.
///
/// Weights are taken in thousandths and divided by what they have in common. The scale of the tags is the least common
/// multiple of the weights, which makes the tags of a flow that waits exact, times 2^20, which makes a unit of virtual
/// time a millionth of a byte. Should the multiple exceed 2^24 (many classes with odd weights), the scale is 2^44, and a
/// weight is met to 2^-25 of itself.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    shares: Vec<Share>,
    other: Share,
    /// Units of a tag per byte at weight 1.
    pub scale: u64,
}

/// Units of virtual time per step of the tags.
const FINE: u64 = 1 << 20;
const LARGEST_MULTIPLE: u64 = 1 << 24;
const RANGE: (f64, f64) = (0.001, 1000.0);

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Weights {
    /// The weights of a site.
    ///
    /// # Errors
    /// A weight outside 0.001..1000.
    pub fn new(site: &Site) -> Result<Weights, ParamError> {
        if let Some(class) = site.weights.iter().position(|w| !(RANGE.0..=RANGE.1).contains(w)) {
            let problem = format!(
                "the weight of class {class} is {}; give one from {} to {}",
                site.weights[class], RANGE.0, RANGE.1
            );
            return Err(ParamError::Conflict { name: "weights".to_owned(), problem });
        }
        let thousandths = |w: f64| (w * 1000.0 + 0.5) as u64;
        // A class without a weight has weight 1: the last of the list stands for all of them.
        let mut weights: Vec<u64> = site.weights.iter().map(|w| thousandths(*w)).collect();
        weights.push(1000);
        let common = weights.iter().fold(0, |a, w| gcd(a, *w));
        weights.iter_mut().for_each(|w| *w /= common);
        let mut scale = 1;
        for w in &weights {
            scale = w / gcd(scale, *w) * scale;
            if scale > LARGEST_MULTIPLE {
                scale = LARGEST_MULTIPLE;
                break;
            }
        }
        scale *= FINE;
        let share = |weight: u64| Share { weight, per_byte: (scale + weight / 2) / weight };
        let mut shares: Vec<Share> = weights.into_iter().map(share).collect();
        let other = shares.pop().unwrap_or_default();
        Ok(Weights { shares, other, scale })
    }

    /// The share of a flow of `class`.
    #[inline]
    pub fn of(&self, class: u8) -> Share {
        self.shares.get(usize::from(class)).copied().unwrap_or(self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::site;
    use super::*;

    fn weights(list: &[f64]) -> Result<Weights, ParamError> {
        Weights::new(&Site { weights: list.to_vec(), ..site(10) })
    }

    #[test]
    fn tags_are_exact() {
        let w = weights(&[]).unwrap();
        assert_eq!((w.scale, w.of(7)), (FINE, Share { weight: 1, per_byte: FINE }));
        // 0.5, 3 and 1 are 1, 6 and 2: the least common multiple is 6.
        let w = weights(&[0.5, 3.0]).unwrap();
        let shares = [0, 1, 2].map(|class| (w.of(class).weight, w.of(class).per_byte / FINE));
        assert_eq!((w.scale / FINE, shares), (6, [(1, 6), (6, 1), (2, 3)]));
    }

    #[test]
    fn odd_weights_are_met_closely() {
        let odd = [999.983, 0.997, 0.991, 0.983, 0.977, 0.971, 0.967, 0.953];
        let w = weights(&odd).unwrap();
        assert_eq!(w.scale, 1 << 44);
        for (class, weight) in odd.iter().enumerate() {
            let met = w.scale as f64 / w.of(class as u8).per_byte as f64 / 1000.0;
            assert!((met / weight - 1.0).abs() < 1.0 / (1u64 << 25) as f64, "{met} {weight}");
        }
    }

    #[test]
    fn a_weight_must_be_one() {
        for wrong in [0.0, -1.0, f64::NAN, 1e9] {
            let error = weights(&[1.0, wrong]).unwrap_err().to_string();
            assert!(error.starts_with("'weights': the weight of class 1 is "), "{error}");
        }
    }
}
