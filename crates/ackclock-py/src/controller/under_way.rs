//! Which calls into Python controllers are under way, for somebody who looks for those that never return.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The calls into one controller.
#[derive(Default)]
pub struct UnderWay {
    /// Counts begins and ends: odd during a call.
    serial: AtomicU64,
    /// Python's number of the thread that called first.
    thread: AtomicU64,
}

/// All of them that still exist.
static ALL: Mutex<Vec<Weak<UnderWay>>> = Mutex::new(Vec::new());

impl UnderWay {
    /// Of a controller that is about to be made by this thread.
    pub fn new(py: Python<'_>) -> PyResult<Arc<UnderWay>> {
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        let calls = Arc::new(UnderWay { serial: AtomicU64::new(0), thread: AtomicU64::new(thread) });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&calls));
        Ok(calls)
    }

    /// Makes one call.
    #[inline]
    pub fn during<R>(&self, call: impl FnOnce() -> R) -> R {
        self.serial.fetch_add(1, Ordering::Relaxed);
        let answer = call();
        self.serial.fetch_add(1, Ordering::Relaxed);
        answer
    }
}

/// Thread and serial number of each call into a Python controller that is under way in this process.
#[pyfunction]
pub fn calls_under_way() -> Vec<(u64, u64)> {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let there = all.iter().filter_map(Weak::upgrade);
    there
        .map(|one| (one.thread.load(Ordering::Relaxed), one.serial.load(Ordering::Relaxed)))
        .filter(|(_, serial)| serial % 2 == 1)
        .collect()
}
