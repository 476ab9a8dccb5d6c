//! What a shell is asked for.

use serde::Deserialize;

/// An end of the path that a shell is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The source of the flow whose way it has.
    Server,
    /// Its sink: what it downloads goes the way of the flow's data.
    Client,
}

impl End {
    /// The other one.
    pub fn other(self) -> End {
        match self {
            End::Server => End::Client,
            End::Client => End::Server,
        }
    }

    /// Its place among the hosts of a flow.
    pub fn place(self) -> usize {
        match self {
            End::Server => 0,
            End::Client => 1,
        }
    }
}

/// What is asked for. Programs are words, the first of which is the program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Where the program runs.
    pub end: End,
    /// The program.
    pub command: Vec<String>,
    /// What runs at the other end meanwhile.
    pub server: Option<Vec<String>>,
    /// How long it may take until that listens, nanoseconds; then the program is started all the same.
    pub server_wait_ns: u64,
    /// After how long the program is ended.
    pub limit_ns: Option<u64>,
    /// Whether the flows of the run before the last, whose way the shell has, are played as well.
    pub with_flows: bool,
    /// Whether the network that the shell is started from can be reached from behind the path.
    pub nat: bool,
    /// Which of the networks of shells this one has.
    pub level: u8,
    /// Bytes of the largest packet of its hosts.
    pub mtu: u32,
    /// The file that packets are written to, and what is said of them.
    pub capture: Option<String>,
    /// See `capture`.
    pub comment: String,
    /// Whether what happens is shown while it does.
    pub status: bool,
}
