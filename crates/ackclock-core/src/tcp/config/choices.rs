//! The kinds of values an option can have, and the words of those that are a choice.

use crate::params::Value;
use crate::time::Span;

/// A Rust type an option can have.
pub(super) trait Field: Sized {
    fn from_value(v: &Value) -> Option<Self>;
    fn to_value(&self) -> Value;
}

impl Field for bool {
    fn from_value(v: &Value) -> Option<Self> {
        if let Value::Bool(b) = v { Some(*b) } else { None }
    }
    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Field for u64 {
    fn from_value(v: &Value) -> Option<Self> {
        if let Value::Int(n) = v { Some(*n) } else { None }
    }
    fn to_value(&self) -> Value {
        Value::Int(*self)
    }
}

impl Field for Span {
    fn from_value(v: &Value) -> Option<Self> {
        if let Value::Duration(s) = v { Some(*s) } else { None }
    }
    fn to_value(&self) -> Value {
        Value::Duration(*self)
    }
}

/// Declares an option type of a few words.
macro_rules! choice {
    ($(#[$m:meta])* $name:ident, $words:ident { $($(#[$vm:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vm])* $variant),+ }
        pub(super) const $words: &[&str] = &[$($word),+];
        impl Field for $name {
            fn from_value(v: &Value) -> Option<Self> {
                match v { $(Value::Text(t) if t == $word => Some($name::$variant),)+ _ => None }
            }
            fn to_value(&self) -> Value {
                Value::Text(match self { $($name::$variant => $word),+ }.to_owned())
            }
        }
    };
}

choice!(
    /// How the retransmission timeout follows the RTT.
    RtoRule, RTO_RULES {
        /// RFC 6298: max(SRTT + max(G, 4 RTTVAR), min_rto).
        Rfc6298 = "rfc6298",
        /// Linux: SRTT + max(windowed 4 RTTVAR, min_rto).
        Linux = "linux",
    }
);
choice!(
    /// How losses are found from acknowledgments.
    LossDetection, LOSS_DETECTIONS {
        /// Duplicate acknowledgments and SACK counts (RFC 5681, RFC 6675).
        Dupack = "dupack",
        /// Time since transmission (RFC 8985), with SACK; without it, as `dupack`.
        Rack = "rack",
    }
);
choice!(
    /// What repairs losses and moves the window meanwhile.
    Recovery, RECOVERIES {
        /// PRR with SACK, NewReno without; Tahoe's slow start for `tahoe`.
        Auto = "auto",
        /// Slow start from the lost segment; SACK is not offered.
        Tahoe = "tahoe",
        /// RFC 5681 fast recovery; SACK is not offered.
        Reno = "reno",
        /// RFC 6582; SACK is not offered.
        NewReno = "newreno",
        /// RFC 6675: window at ssthresh at once.
        Sack = "sack",
        /// Proportional rate reduction (RFC 9937) over RFC 6675's scoreboard.
        Prr = "prr",
    }
);
choice!(
    /// Which proportional rate reduction.
    PrrRule, PRR_RULES {
        /// RFC 9937: reference is RecoverFS.
        Rfc9937 = "rfc9937",
        /// Linux: reference is the window at entry.
        Linux = "linux",
        /// ns-3: reference is all that is outstanding at entry; below ssthresh as much leaves as arrives, and RFC 6937's slow
        /// start bound holds for an acknowledgment that ends with a retransmission.
        Ns3 = "ns3",
    }
);
choice!(
    /// How segments are spread over time.
    PacingRule, PACING_RULES {
        /// As the controller asks.
        Controller = "controller",
        /// As the controller asks; one that does not is paced at 2 windows per RTT in slow start, 1.2 after it.
        Window = "window",
        /// Never.
        Off = "off",
    }
);
choice!(
    /// How much a paced sender lets out at once.
    PacingQuantum, PACING_QUANTA {
        /// What the controller asks for: BBR its send quantum, the others a segment.
        Controller = "controller",
        /// Each segment alone.
        Segment = "segment",
    }
);
choice!(
    /// When a receiver acknowledges.
    AckPolicy, ACK_POLICIES {
        /// Every `delayed_ack` segments or after `delayed_ack_timeout` (RFC 5681 §4.2).
        Rfc = "rfc",
        /// Linux: at once while the receive window grows and in quick-ack mode, then every second segment.
        Linux = "linux",
    }
);
choice!(
    /// What happens to the window after an idle time.
    IdleRule, IDLE_RULES {
        /// RFC 5681 §4.1: at most the initial window after one RTO.
        Rfc5681 = "rfc5681",
        /// Linux: halved per RTO, down to the initial window; ssthresh at least 3/4 of the old window.
        Linux = "linux",
        /// RFC 7661: no growth while less than half of the window is used, and a window fit for what is.
        Rfc7661 = "rfc7661",
        /// Nothing.
        None = "none",
    }
);
choice!(
    /// What a connection makes of explicit congestion notification.
    EcnRule, ECN_RULES {
        /// It is neither asked for nor accepted, unless the controller needs it.
        Off = "off",
        /// RFC 3168: the receiver echoes a mark until the sender says that it has reduced its window.
        Classic = "classic",
        /// RFC 9768: the receiver counts the marks; the counts are exact.
        Accurate = "accurate",
    }
);
choice!(
    /// Which short segments `nagle` holds while data is outstanding.
    NagleRule, NAGLE_RULES {
        /// RFC 896: any.
        Rfc896 = "rfc896",
        /// Minshall's variant (Linux): one while another short one is outstanding.
        Minshall = "minshall",
    }
);
choice!(
    /// What windows and flights count.
    WindowUnit, WINDOW_UNITS {
        /// Bytes of payload.
        Bytes = "bytes",
        /// Segments, whatever their size (Linux): each as much as a full one.
        Packets = "packets",
    }
);
choice!(
    /// When delivery-rate samples begin to be limited by the application.
    AppLimitedRule, APP_LIMITED_RULES {
        /// The sender has run out of data, with room in the window.
        Exhausted = "exhausted",
        /// Linux: the application writes, and finds less than a segment unsent, room in the window and all losses repaired.
        Write = "write",
    }
);
choice!(
    /// Which retransmissions of a recovery restart the retransmission timer.
    RearmRule, REARM_RULES {
        /// None: only an acknowledgment of new data does (RFC 6298 §5).
        Never = "never",
        /// The first (ns-2).
        First = "first",
        /// Every one (RFC 6675 §6, "more careful").
        Every = "every",
    }
);
choice!(
    /// Upper bound of the initial window.
    IwBound, IW_BOUNDS {
        /// RFC 6928: max(2 MSS, 14600 bytes).
        Rfc6928 = "rfc6928",
        /// RFC 5681: 2, 3 or 4 segments by MSS.
        Rfc5681 = "rfc5681",
        /// `iw` segments whatever their size.
        None = "none",
    }
);
