//! HSPA in the resolved run.

use super::Queue;
use serde::{Deserialize, Serialize};

/// A cell of HSPA; its ports are the downlinks of its users, then their uplinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hspa {
    /// Name.
    pub id: String,
    /// How many users.
    pub users: usize,
    /// Rate of the downlink of each, bit/s.
    pub down_bps: u64,
    /// Rate of the uplink of each, bit/s.
    pub up_bps: u64,
    /// From the end of a TTI until its packets are out, nanoseconds, in each direction.
    pub delay_ns: u64,
    /// At most so much later, nanoseconds.
    pub jitter_ns: u64,
    /// Queues of the downlink, one for each user.
    pub down_queue: Queue,
    /// Queues of the uplink.
    pub up_queue: Queue,
}
