//! Who limits a sender: the names of it.

/// Who limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The connection is being opened.
    Handshake,
    /// There is nothing to send.
    #[default]
    App,
    /// The receiver's window is full.
    Rwnd,
    /// The congestion window, pacing or a full queue.
    Network,
}

impl Limit {
    /// All, in the order of their numbers.
    pub(super) const ALL: [Limit; 4] = [Limit::Handshake, Limit::App, Limit::Rwnd, Limit::Network];

    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Handshake => "handshake",
            Limit::App => "app",
            Limit::Rwnd => "rwnd",
            Limit::Network => "network",
        }
    }
}
