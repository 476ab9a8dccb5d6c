//! Network namespaces: a host each. They have no name; the last process that uses one takes it away with it.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Pid, getegid, geteuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs;
use std::io;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

/// Leaves what `flags` name behind for new ones.
fn leave(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: what can go wrong is that a thread loses sight of the descriptors of another (CLONE_FILES), which is not among
    // the flags that this file uses.
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

/// Makes the calling process, which must have one thread only, the master of a user namespace of its own: there it may make
/// networks without being root. It is root in there, or called as it was outside.
///
/// # Errors
/// The system does not allow it.
pub fn become_master(as_root: bool) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let inside = if as_root { (0, 0) } else { (user, group) };
    leave(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {user} 1", inside.0))?;
    fs::write("/proc/self/gid_map", format!("{} {group} 1", inside.1))
}

/// Makes a process that is a copy of the calling one, which must have one thread only, and the first in a world of processes of
/// its own: whatever is started there ends when it does. In the copy it returns nothing, and in the calling process the other's
/// number.
///
/// # Errors
/// The system does not allow it.
pub fn first_of_its_own() -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(libc::CLONE_NEWPID | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: the process has one thread, so no lock is held that nobody in the copy would give back; the copy has memory of its
    // own and goes on where this one is, as after fork(). That it is not libc's is seen only by what asks it for the number of
    // the thread, which nothing here does.
    match unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) } {
        0 => Ok(None),
        number @ 1.. => Ok(Pid::from_raw(number as i32)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The calling process sees files in a way of its own: what it mounts from now on nobody else sees.
///
/// # Errors
/// The system does not allow it.
pub fn own_mounts() -> io::Result<()> {
    leave(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    Ok(())
}

impl Namespace {
    /// That of the calling thread.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn current() -> io::Result<Namespace> {
        let fd = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Namespace { fd })
    }

    /// A new one, which the calling thread is in afterwards.
    ///
    /// # Errors
    /// The system does not allow it, or there is no room for another.
    pub fn new() -> io::Result<Namespace> {
        leave(UnshareFlags::NEWNET)?;
        Namespace::current()
    }

    /// What stands for it.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }
}
