//! Impairments: what a medium does to packets besides delaying them.

mod loss;

pub use loss::{Loss, ScriptedDrop};
