//! Links: serialisation at constant and changing rates, recorded traces, token buckets.

mod schedule;
mod serializer;
mod server;
mod token_bucket;
mod trace;

pub use schedule::{RateSchedule, ScheduleError};
pub use serializer::Serializer;
pub use server::Server;
pub use token_bucket::{BucketError, Policer, Shaper};
pub use trace::{OPPORTUNITY, Trace, TraceError, TraceLink};
