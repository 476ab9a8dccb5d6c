//! Series: their names, and one recorded value.

use ackclock_core::time::Time;

/// Series of a flow, in the order of their numbers.
pub const FLOW_METRICS: [&str; 19] = [
    "cwnd",
    "ssthresh",
    "srtt",
    "in_flight",
    "delivered",
    "sent",
    "retransmitted",
    "recoveries",
    "timeouts",
    "pacing_rate",
    "min_rtt",
    "lost",
    "delivery_rate",
    "ca_state",
    "busy",
    "rwnd_limited",
    "sndbuf_limited",
    "unacked",
    "acknowledged",
];
/// Those of them that only a kernel tells.
pub const KERNELS_ALONE: [&str; 4] = ["delivery_rate", "busy", "rwnd_limited", "sndbuf_limited"];
/// Series of a link.
pub const LINK_METRICS: [&str; 4] = ["queue", "queue_bytes", "link_sent", "drops"];
/// Series of a cell.
pub const CELL_METRICS: [&str; 3] = ["rho_rb", "rho_tti", "up_rho_rb"];
/// Series of a user of a cell.
pub const USER_METRICS: [&str; 6] =
    ["user_rate", "user_up_rate", "user_rb_share", "user_queue_age", "user_queue_bytes", "user_sinr"];
/// Number of the first of these: those of flows and links come before.
pub const FIRST_OF_CELLS: u8 = (FLOW_METRICS.len() + LINK_METRICS.len()) as u8;

/// What a series belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A flow.
    Flow,
    /// A link.
    Link,
    /// A cell.
    Cell,
    /// A user of a cell.
    User,
}

/// How many series there are.
pub const METRICS: u8 = FIRST_OF_CELLS + (CELL_METRICS.len() + USER_METRICS.len()) as u8;

/// Name of a series and what it belongs to.
///
/// # Panics
/// When no series has this number.
pub fn metric_name(metric: u8) -> (&'static str, Owner) {
    let names: [(&[&'static str], Owner); 4] = [
        (&FLOW_METRICS, Owner::Flow),
        (&LINK_METRICS, Owner::Link),
        (&CELL_METRICS, Owner::Cell),
        (&USER_METRICS, Owner::User),
    ];
    let mut m = usize::from(metric);
    for (names, owner) in names {
        if let Some(name) = names.get(m) {
            return (name, owner);
        }
        m -= names.len();
    }
    unreachable!("series are numbered by these names")
}

/// One recorded value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// Number of the metric: flow metrics first, then those of links, cells and users.
    pub metric: u8,
    /// Number of the flow, link or cell, or of the user among all users.
    pub of: u32,
    /// The value: bytes, packets or seconds.
    pub value: f64,
}
