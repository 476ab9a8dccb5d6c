//! What the endpoint measures on behalf of every controller.

pub mod bandwidth;
pub mod delivery_rate;
pub mod round_rtt;
pub mod rtt;
pub mod windowed_filter;
