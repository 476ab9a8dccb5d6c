//! Virtual time for `ackclock-core`: a run is a value.
//!
//! `Sim::new(&spec)` builds the network of a resolved run ([`spec`]), [`Sim::run`] plays it, [`Output`] holds the
//! tables. A run owns everything it touches, so runs can be played in any order, thread or process with the same
//! result to the last byte.
//!
//! * [`events`]: the event queue, one pending event per element and a departure per endpoint
//! * [`slab`]: packets in flight, [`routes`]: where they go; [`wire`]: links, those of the
//!   core and the fused one; [`cells`]: radio cells
//! * [`flow`]: flows and their connections; [`host`]: what their applications do; [`probe`]: series
//! * `split`: flows that a relay splits
//! * [`tap`]: places where packets are looked at, for captures
//! * [`step`]: the run driven from outside; [`snapshot`]: where it stands
//! * [`engine`]: the loop; [`build`] and [`endpoint`]: from specification to network; [`output`]: the tables
#![forbid(unsafe_code)]

pub mod build;
mod check;
pub mod endpoint;
pub mod engine;
pub mod events;
mod finish;
pub mod flow;
pub mod host;
mod links;
mod marking;
mod network;
mod one_way;
pub mod output;
pub mod probe;
pub mod routes;
pub mod rows;
pub mod slab;
pub mod snapshot;
mod split;
pub mod step;
pub mod tap;
pub mod wire;

pub use ackclock_core::histogram;
pub use ackclock_run::{cells, spec};
pub use engine::Sim;
pub use output::Output;
pub use spec::{Run, SpecError};
