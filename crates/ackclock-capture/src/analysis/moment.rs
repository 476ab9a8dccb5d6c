//! A time that may not have come, in eight bytes. Times of files stay far from the lowest number (`reader::interface`).

/// When, ns since the epoch, or how long, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(i64);

impl Default for Moment {
    fn default() -> Moment {
        Moment::NEVER
    }
}

impl Moment {
    /// Not known.
    pub const NEVER: Moment = Moment(i64::MIN);

    /// This one.
    #[inline]
    pub fn at(ns: i64) -> Moment {
        Moment(ns)
    }

    /// It, if it is known.
    #[inline]
    pub fn get(self) -> Option<i64> {
        (self.0 != i64::MIN).then_some(self.0)
    }

    /// Whether it is known.
    #[inline]
    pub fn is_known(self) -> bool {
        self.0 != i64::MIN
    }

    /// Is `ns` from now on, unless it was known.
    #[inline]
    pub fn get_or_insert(&mut self, ns: i64) {
        if !self.is_known() {
            self.0 = ns;
        }
    }

    /// Is the smaller one of `ns` and what was known.
    #[inline]
    pub fn lower(&mut self, ns: i64) {
        self.0 = self.get().map_or(ns, |known| known.min(ns));
    }
}
