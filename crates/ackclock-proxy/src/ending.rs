//! Who ended a connection, and why.

use serde::Serialize;
use std::io;

/// A party to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Who connected.
    Client,
    /// Who was connected to.
    Server,
    /// We.
    Proxy,
}

macro_rules! reasons {
    ($($name:ident $word:literal $text:literal,)*) => {
        /// Why a connection ended, or never was.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Why {
            $(#[doc = $text] $name,)*
        }

        impl Why {
            /// All of them.
            pub const ALL: &'static [Why] = &[$(Why::$name,)*];

            /// The word for it in lines and metrics.
            pub fn word(self) -> &'static str {
                match self {
                    $(Why::$name => $word,)*
                }
            }
        }
    };
}

reasons! {
    Finished "finished" "Both ends said that they are done.",
    Reset "reset" "One end reset it.",
    TimedOut "timed_out" "One end acknowledged nothing any more.",
    Failed "failed" "The network, or the system, failed it.",
    Idle "idle" "Nothing went either way for too long.",
    HalfOpen "half_open" "One end was done, and from the other nothing came for too long.",
    Drained "drained" "The proxy ended before it did.",
    NotAllowed "not_allowed" "The client's address is not one of those allowed.",
    TooMany "too_many" "The client has as many connections as it may.",
    HeaderTimedOut "header_timed_out" "The client did not say in time where it wants to go.",
    HeaderTooLong "header_too_long" "What the client said is longer than any that would be right.",
    HeaderWrong "header_wrong" "What the client said is not what was to be said.",
    Unauthorized "unauthorized" "The client's name or password is not known.",
    Unsupported "unsupported" "The client wants what this proxy does not do.",
    Forbidden "forbidden" "The client may not go there.",
    Loop "loop" "The connection was for the proxy itself.",
    Unknown "unknown_name" "The name has no address.",
    Refused "refused" "The server refused.",
    Unreachable "unreachable" "There is no way to the server.",
    ConnectTimedOut "connect_timed_out" "The server did not answer in time.",
    Descriptors "descriptors" "There were no descriptors left.",
}

impl Why {
    /// What `error` of a connection that was there stands for.
    pub fn of(error: &io::Error) -> Why {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => Why::Reset,
            io::ErrorKind::TimedOut => Why::TimedOut,
            _ => Why::Failed,
        }
    }

    /// What `error` of one that was to be made stands for.
    pub fn of_connecting(error: &io::Error) -> Why {
        if without_descriptors(error) {
            return Why::Descriptors;
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Why::Refused,
            io::ErrorKind::TimedOut => Why::ConnectTimedOut,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Why::Unreachable,
            _ => Why::Failed,
        }
    }
}

/// Whether `error` says that the process or the system has too many files open.
pub fn without_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Who ended it; of one that finished, who was done first.
    pub by: By,
    /// Why.
    pub why: Why,
    /// More about it.
    pub detail: Option<String>,
}

impl Ending {
    /// Without more about it.
    pub fn new(by: By, why: Why) -> Ending {
        Ending { by, why, detail: None }
    }

    /// With more about it.
    pub fn with(by: By, why: Why, detail: impl ToString) -> Ending {
        Ending { by, why, detail: Some(detail.to_string()) }
    }
}
