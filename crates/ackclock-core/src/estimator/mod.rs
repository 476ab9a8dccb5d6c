//! What the endpoint measures on behalf of every controller.

pub mod delivery_rate;
pub mod rtt;
