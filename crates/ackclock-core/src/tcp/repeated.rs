//! Why a segment leaves again.

/// What a sender had in mind when it sent data a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The retransmission timer expired: the first segment after it (RFC 6298 §5.4).
    Timeout,
    /// What else was sent again before everything outstanding at a timeout was acknowledged.
    AfterTimeout,
    /// A loss found by acknowledgments: fast retransmit and what follows it in the same recovery.
    Fast,
    /// A tail loss probe (RFC 8985 §7.3).
    Probe,
}

impl Cause {
    /// As captures name it: rto, rto_recovery, fast or tlp.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Timeout => "rto",
            Cause::AfterTimeout => "rto_recovery",
            Cause::Fast => "fast",
            Cause::Probe => "tlp",
        }
    }
}
