//! Impairments: what a medium does to packets besides delaying them.

mod jitter;
mod loss;
mod medium;

use crate::params::ParamError;

pub use jitter::Jitter;
pub use loss::{BitErrors, GilbertElliott, Loss, ScriptedDrop};
pub use medium::{Change, Fate, Medium, Reorder};

fn probability(name: &str, p: f64) -> Result<f64, ParamError> {
    if (0.0..=1.0).contains(&p) {
        Ok(p)
    } else {
        Err(ParamError::OutOfRange { name: name.to_owned(), value: p, range: (0.0, 1.0) })
    }
}
