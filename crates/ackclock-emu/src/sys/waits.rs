//! How long threads waited for a processor while they could have run: the second number of `/proc/PID/task/TID/schedstat`.

use ackclock_core::time::Span;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;

/// A thread that is watched.
#[derive(Debug)]
pub struct Waits {
    file: OwnedFd,
    before: u64,
}

impl Waits {
    /// Of the calling thread; none where the system does not say.
    pub fn own() -> Option<Waits> {
        Waits::of("/proc/thread-self/schedstat")
    }

    /// Of the thread whose file this is; none where there is no such file.
    pub fn of(path: &str) -> Option<Waits> {
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut waits = Waits { file, before: 0 };
        waits.since().map(|_| waits)
    }

    /// How long it has waited since it was asked last; none if it is gone.
    pub fn since(&mut self) -> Option<Span> {
        let mut text = [0; 128];
        let bytes = pread(&self.file, &mut text, 0).ok()?;
        let all: u64 = std::str::from_utf8(text.get(..bytes)?).ok()?.split_whitespace().nth(1)?.parse().ok()?;
        let since = all.saturating_sub(self.before);
        self.before = all;
        Some(Span(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn threads_that_share_a_processor_wait_for_each_other() {
        let waited = std::thread::spawn(|| {
            let first = (0..1024).find(|cpu| crate::sys::realtime::pin(*cpu, false).is_ok());
            assert!(first.is_some());
            let mut waits = Waits::own().unwrap();
            // A thread inherits where it may run.
            let other = std::thread::spawn(|| busy(400));
            busy(400);
            other.join().unwrap();
            waits.since().unwrap()
        });
        let waited = waited.join().unwrap();
        assert!(waited > Span::from_millis(50), "{waited:?}");
    }

    fn busy(ms: u64) {
        let end = Instant::now() + Duration::from_millis(ms);
        while Instant::now() < end {}
    }
}
