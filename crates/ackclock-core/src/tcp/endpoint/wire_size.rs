//! What a segment takes on the wire.

use crate::tcp::config::Config;
use crate::tcp::segment::Segment;

/// What a segment takes on the wire beside its payload, bytes: options `header_bytes`, `ack_bytes`, `count_options`.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireSize {
    header: u32,
    /// The whole of a segment without payload; 0: by its headers.
    ack: u32,
    counts_options: bool,
}

impl WireSize {
    pub fn new(config: &Config) -> WireSize {
        WireSize {
            header: config.header_bytes as u32,
            ack: config.ack_bytes as u32,
            counts_options: config.count_options,
        }
    }

    #[inline]
    pub fn of(&self, seg: &Segment) -> u32 {
        if seg.len == 0 && self.ack > 0 {
            return self.ack;
        }
        self.header + if self.counts_options { seg.option_bytes() } else { 0 } + seg.len
    }
}
