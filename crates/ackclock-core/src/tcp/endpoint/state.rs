//! Where a connection stands.

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has happened.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent, waiting for SYN, ACK.
    SynSent,
    /// SYN received, SYN, ACK sent.
    SynReceived,
    /// Data may flow; closing is told by [`Endpoint::finished`].
    Established,
    /// Given up.
    Failed,
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No answer to the SYN.
    Connect,
    /// The same segment timed out too often.
    Timeout,
    /// The peer reset the connection.
    Reset,
}
