//! Whether the window is what holds the sender back: only then should it grow (RFC 9438 §5.8, in Linux's form).

use crate::cc::Control;

/// What was used of the window within the last round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Nobody asks (option `window_validation`): the window always counts as used.
    always: bool,
    /// The window was full when the sender stopped last.
    limited: bool,
    /// Most bytes outstanding when the sender stopped.
    most: u64,
    /// The round ends when this position is acknowledged.
    until: u64,
    /// SND.NXT when the sender stopped last.
    nxt: u64,
}

impl Usage {
    /// Nothing was sent; the first round ends at `una`. `always`: use does not matter.
    pub fn new(una: u64, always: bool) -> Usage {
        Usage { always, limited: true, most: 0, until: una, nxt: una }
    }

    /// The sender stops with everything from `una` to `nxt` outstanding, which counts `outstanding`: the window is full
    /// (`limited`) or not. When nothing has left and nothing is `waiting` either, that says nothing of the window.
    #[inline]
    pub fn note(&mut self, limited: bool, waiting: bool, (una, nxt): (u64, u64), outstanding: u64) {
        if nxt == self.nxt && !(limited && waiting) {
            return;
        }
        self.nxt = nxt;
        if limited || una >= self.until || (!self.limited && outstanding > self.most) {
            (self.limited, self.most, self.until) = (limited, outstanding, nxt);
        }
    }

    /// The window was full within the last round, or, in slow start, at least half used.
    #[inline]
    pub fn is_limited(&self, control: &Control) -> bool {
        self.always || self.limited || (control.cwnd < control.ssthresh && control.cwnd < 2 * self.most)
    }
}
