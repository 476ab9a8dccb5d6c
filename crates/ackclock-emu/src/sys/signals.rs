//! Signals: which are left alone, and those that are read like anything else.

use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::{Errno, read};
use rustix::process::{Pid, Signal, getpid};
use std::io;
use std::mem::{size_of, zeroed};
use std::ptr;

/// What a terminal sends to everybody in the foreground, and to who writes without being there: they are the program's.
pub const OF_TERMINALS: [Signal; 5] = [Signal::INT, Signal::QUIT, Signal::TSTP, Signal::TTIN, Signal::TTOU];

/// The process does not care for `signal`, or does what everybody does.
pub fn ignore(signal: Signal, ignored: bool) {
    let what = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: neither is a function of ours that would run at any time.
    unsafe { libc::signal(signal.as_raw(), what) };
}

/// Signals that are read instead of received, by this thread and those that it makes.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

fn set(of: &[Signal]) -> libc::sigset_t {
    // SAFETY: a sigset_t is integers, for which zeros are values; both calls write to it alone.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in of {
            libc::sigaddset(&raw mut set, signal.as_raw());
        }
        set
    }
}

impl Signals {
    /// Those of `of`.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn new(of: &[Signal]) -> io::Result<Signals> {
        let set = set(of);
        // SAFETY: the pointer is to a whole set that outlives both calls; a descriptor that is new is nobody else's.
        unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
            match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(Signals { fd: OwnedFd::from_raw_fd(fd) }),
            }
        }
    }

    /// What can be read when one has come.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The number of one that has come.
    pub fn take(&self) -> Option<i32> {
        let mut one = [0u8; size_of::<libc::signalfd_siginfo>()];
        loop {
            match read(&self.fd, &mut one) {
                Ok(_) => return Some(i32::from_ne_bytes([one[0], one[1], one[2], one[3]])),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }
}

/// No signal is kept from the process any more.
pub fn unblock() {
    let set = set(&[]);
    // SAFETY: the pointer is to a whole set that outlives the call.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()) };
}

/// Sends `signal` to all other processes of the world of which the calling one is the first, and to nobody if it is not.
pub fn everybody(signal: Signal) {
    if getpid() == Pid::INIT {
        // SAFETY: no memory is involved. To -1 means to all in the caller's own world of processes, of which it is the first.
        unsafe { libc::kill(-1, signal.as_raw()) };
    }
}
