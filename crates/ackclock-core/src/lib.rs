//! Pure state machines of TCP and of the paths it runs over.
//!
//! Everything in this crate decides; nothing in it happens. Endpoints, controllers, queues and links receive the
//! time, packets and random draws as arguments and answer with packets and deadlines. A virtual clock makes them a
//! simulator, a real clock an emulator, and nothing here knows which. So the crate has no dependencies, reads no
//! clock, does no I/O, starts no thread, keeps no global and never iterates over a hash map.
//!
//! Where to look:
//!
//! * [`app`]: applications and the host they act through
//! * [`tcp`]: the endpoint, its sender, receiver, scoreboard and recovery
//! * [`cc`]: congestion controllers and the registry that lists them; [`slowstart`]: start-up algorithms
//! * [`estimator`]: what the endpoint measures (round-trip time, RTO)
//! * [`cell`]: a radio cell, an element of a path with ports for its users
//! * [`path`]: elements that packets pass; [`queue`], [`link`], [`impair`]: what links are made of
//! * [`packet`]: what they carry
//! * [`time`], [`rng`], [`math`], [`params`]: the ground everything stands on
#![forbid(unsafe_code)]

pub mod app;
pub mod cc;
pub mod cell;
pub mod estimator;
pub mod histogram;
pub mod impair;
pub mod link;
pub mod math;
pub mod packet;
pub mod params;
pub mod path;
pub mod queue;
#[cfg(test)]
#[path = "../../testing/cases.rs"]
mod random_cases;
pub mod ring;
pub mod rng;
pub mod slowstart;
pub mod tcp;
pub mod time;
pub mod variate;
