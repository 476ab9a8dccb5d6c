//! Memory that nobody needs any more.

/// Gives what the allocator keeps, and nothing is in, back to the system.
///
/// By itself glibc gives back only what lies above all that is in use (`M_TRIM_THRESHOLD`, mallopt(3)), so that one connection that
/// lasts keeps the room of thousands that were there before it.
pub fn give_back() {
    // SAFETY: it takes no pointer, and leaves what is in use as it is.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
