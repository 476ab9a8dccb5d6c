//! Which calls into Python controllers are under way: `ackclock.controllers.endless` ends those that never return.

use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

thread_local! {
    /// Python's number of this thread; 0 before the first call.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Python's number of this thread.
fn this_thread(py: Python<'_>) -> PyResult<u64> {
    if THREAD.get() == 0 {
        THREAD.set(py.import("threading")?.call_method0("get_ident")?.extract()?);
    }
    Ok(THREAD.get())
}

/// The calls into one controller.
#[derive(Default)]
pub struct UnderWay {
    /// Counts begins and ends: odd during a call.
    serial: AtomicU64,
    /// Python's number of the thread that called last: a run may be stepped by another than made it.
    thread: AtomicU64,
}

/// All of them that still exist.
static ALL: Mutex<Vec<Weak<UnderWay>>> = Mutex::new(Vec::new());

impl UnderWay {
    /// Of a controller that is about to be made.
    pub fn new() -> Arc<UnderWay> {
        let calls = Arc::new(UnderWay::default());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&calls));
        calls
    }

    /// Makes one call.
    ///
    /// # Errors
    /// Those of the call.
    #[inline]
    pub fn during<R>(&self, py: Python<'_>, call: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
        self.thread.store(this_thread(py)?, Ordering::Relaxed);
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
