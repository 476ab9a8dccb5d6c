//! The terminal that a program is given, and gets back to who had it.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// What a terminal was like.
#[derive(Debug)]
pub struct Before {
    terminal: OwnedFd,
    group: Pid,
    modes: Termios,
}

impl Before {
    /// Of the terminal of this process, if it has one and is in its foreground.
    pub fn now() -> Option<Before> {
        let terminal = open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty()).ok()?;
        let group = tcgetpgrp(&terminal).ok().filter(|group| *group == getpgrp())?;
        let modes = tcgetattr(&terminal).ok()?;
        Some(Before { terminal, group, modes })
    }

    /// Makes it so again: a shell that has ended leaves it to its own group, and what was killed as it was.
    pub fn restore(&self) {
        // The process does not care for SIGTTOU. What fails here is a terminal that is gone.
        let _ = tcsetpgrp(&self.terminal, self.group);
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.modes);
    }
}

/// Whether `what` is a terminal.
pub fn is_terminal(what: &impl AsFd) -> bool {
    isatty(what)
}
