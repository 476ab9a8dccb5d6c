//! Network namespaces: a host each. They have no name; the last process that uses one takes it away with it.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{open, Mode, OFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::{move_into_link_name_space, unshare_unsafe, LinkNameSpaceType, UnshareFlags};
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
/// networks without being root.
///
/// # Errors
/// The system does not allow it.
pub fn become_master() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    leave(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
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

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }
}
