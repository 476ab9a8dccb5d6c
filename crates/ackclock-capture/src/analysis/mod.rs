//! TCP connections from captured segments: a state machine per direction that takes one packet at a time.
//!
//! * [`Segment`]: what is known of a packet; [`Analyzer`]: takes them, keeps the table of connections; [`sink`]: what
//!   comes out, [`rows`]: the row of a direction
//! * `connection`: the order of what a packet does; `handshake`; `classes` and `causes`: what a segment with data is;
//!   `acks` and `coverage`: what an acknowledgment tells
//! * `index`, `key`: which connection a packet is of
//! * `place`: where connections are, awake or asleep; `packing`, `parts`: what those are kept as that are asleep; `direction`: the
//!   state; `counts`: what is counted; `segment_size`: how large a full segment is; `moment`, `ring`: times and queues in little memory; `pieces`,
//!   `ranges`, `repairs`, `recent`: what is outstanding, SACKed, sent again, seen last; `rtt`, `sender_rtt` and `quantiles`:
//!   times; [`limits`]: who limits

mod acks;
mod causes;
mod classes;
mod connection;
mod counts;
mod coverage;
mod direction;
mod handshake;
mod index;
mod key;
mod limit;
pub mod limits;
mod moment;
mod packing;
mod parts;
mod pieces;
mod place;
mod quantiles;
mod ranges;
mod recent;
mod repairs;
mod ring;
pub mod rows;
mod rtt;
mod segment;
mod segment_size;
mod sender_rtt;
pub mod sink;
mod table;

pub use connection::{End, RttRule};
pub use repairs::{Cause, Proof};
pub use segment::Segment;
pub use table::{Analyzer, Settings, TOGETHER};
