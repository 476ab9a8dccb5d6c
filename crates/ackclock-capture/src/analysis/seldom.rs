//! What most connections have nothing of takes no memory until it is written to: of 100,000 open ones that is most of it.

use std::ops::{Deref, DerefMut};

/// A value that everything without another one has.
pub trait Blank: Sized + 'static {
    /// It.
    const BLANK: &'static Self;
}

/// A `T` in a box, or the blank one. To write to it makes the box: look before, where there is mostly nothing to write.
#[derive(Clone, Debug)]
pub struct Seldom<T>(Option<Box<T>>);

impl<T> Seldom<T> {
    /// Changes it, if it was written to.
    #[inline]
    pub fn renew(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(there) = &mut self.0 {
            change(there);
        }
    }

    /// Whether it was written to.
    #[inline]
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

impl<T> Default for Seldom<T> {
    fn default() -> Seldom<T> {
        Seldom(None)
    }
}

impl<T: Blank> Deref for Seldom<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::BLANK)
    }
}

impl<T: Blank + Default> DerefMut for Seldom<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
