//! What the endpoint measures on behalf of every controller.

pub mod rtt;
