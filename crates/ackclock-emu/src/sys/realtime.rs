//! A thread that must not be late.

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// Low among real-time priorities: above everything ordinary, below what the kernel runs at its own.
const PRIORITY: i32 = 10;
/// Of what works for the path but must not hold it up.
const BEHIND: i32 = 5;

/// What was granted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Granted {
    /// SCHED_FIFO.
    pub real_time: bool,
    /// All memory locked.
    pub locked: bool,
    /// A timer slack of 1 ns.
    pub exact_timers: bool,
}

/// Asks for it, for the calling thread; memory is the process's.
pub fn ask() -> Granted {
    Granted {
        real_time: fifo(PRIORITY).is_ok(),
        locked: mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).is_ok(),
        exact_timers: set_current_timer_slack(NonZeroU64::new(1)).is_ok(),
    }
}

/// Gives the calling thread real-time priority behind the path's. A thread of ordinary priority that is put aside while it holds
/// a socket keeps the kernel from looking at what comes for that socket, for milliseconds under load: acknowledgments would
/// come in bursts of which no lateness tells.
pub fn behind() {
    // Where it is not granted the path's is not either, which says so.
    let _ = fifo(BEHIND);
}

/// The same for the process with this number, which is kept off the processor `pin` of the path, if there is one.
pub fn behind_too(process: u32, pin: Option<usize>) {
    let process = process as i32;
    let _ = fifo_of(process, BEHIND);
    let Some(pid) = Pid::from_raw(process).filter(|_| pin.is_some()) else { return };
    let Ok(mut set) = sched_getaffinity(Some(pid)) else { return };
    pin.into_iter().for_each(|processor| set.unset(processor));
    if set.count() > 0 {
        let _ = sched_setaffinity(Some(pid), &set);
    }
}

/// Gives the calling thread SCHED_FIFO.
fn fifo(priority: i32) -> Result<(), Errno> {
    fifo_of(0, priority)
}

/// Gives the thread with this number SCHED_FIFO; what it begins does not have it.
fn fifo_of(thread: i32, priority: i32) -> Result<(), Errno> {
    // Asked of the kernel itself: the function of musl does nothing. Its sched_param is the priority alone.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: a thread is named by its number, 0 being the calling one; the pointer is to a whole sched_param that outlives the call, which reads it only.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM))),
    }
}

/// Binds the calling thread to one processor, or to all that it may use but that one.
///
/// # Errors
/// There is none of this number that it may use, or no other.
pub fn pin(processor: usize, others: bool) -> Result<(), String> {
    let allowed =
        sched_getaffinity(None).map_err(|e| format!("the processors of this process cannot be asked for: {e}"))?;
    let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    if !usable.contains(&processor) {
        let list = usable.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        return Err(format!("--pin {processor}: this process may use the processors {list}"));
    }
    let mut set = CpuSet::new();
    let chosen = usable.iter().filter(|cpu| (**cpu != processor) == others);
    chosen.for_each(|cpu| set.set(*cpu));
    if set.count() == 0 {
        return Ok(());
    }
    sched_setaffinity(None, &set).map_err(|e| format!("--pin {processor}: {e}"))
}
