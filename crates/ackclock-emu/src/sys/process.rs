//! The process itself: its limits, its end, its rights.

use super::namespace::become_master;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::thread::configure_capability_in_ambient_set as ambient;
use rustix::thread::{CapabilitiesSecureBits, set_capabilities_secure_bits};
use rustix::thread::{CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// As many open files as the system allows.
pub fn many_files() {
    let most = getrlimit(Resource::Nofile).maximum;
    // Where it is not granted the one file too many will say so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
}

/// The process ends when its parent does, however that ends.
pub fn end_with_parent() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// What `command` begins ends when the calling thread does, however that ends.
pub fn ends_with_this(command: &mut Command) -> &mut Command {
    let set = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec one system call is made, which takes a number; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(set) }
}

/// CPU time that the calling thread has taken, seconds.
pub fn cpu_of_thread() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(ns as f64 * 1e-9)
}

/// By what right networks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// The process has it: it is root, or has been given the capability.
    Own,
    /// In a user namespace of its own.
    UserNamespace,
}

/// Sees to it that networks can be made. The process must have one thread only. Where that takes a user namespace, it is root in
/// there, or called as it was.
///
/// # Errors
/// They cannot, and what to do, in one line.
pub fn may_make_networks(as_root: bool) -> Result<Right, String> {
    let wanted = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    if capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted)) {
        return Ok(Right::Own);
    }
    match become_master(as_root) {
        Ok(()) => Ok(Right::UserNamespace),
        Err(error) => Err(format!(
            "networks cannot be made: this is not root, and user namespaces are not allowed ({error}); run it as root, or allow \
             them: sysctl user.max_user_namespaces=10000 (and kernel.unprivileged_userns_clone=1 or \
             kernel.apparmor_restrict_unprivileged_userns=0 where the system has these)"
        )),
    }
}

/// Programs that the calling process becomes have no rights of root, whoever they are.
///
/// # Errors
/// The system does not allow it.
pub fn give_up_rights() -> io::Result<()> {
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The system does not know it, nor those behind it.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// From now on who becomes another user keeps their rights until they become another program.
///
/// # Errors
/// The system does not allow it.
pub fn keep_rights() -> io::Result<()> {
    Ok(set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?)
}

/// What the calling process may do to networks, the programs that it starts may, too, whoever they are.
///
/// # Errors
/// The system does not allow it.
pub fn hand_down_rights() -> io::Result<()> {
    let handed = [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW, CapabilitySet::NET_BIND_SERVICE];
    let mut sets = capabilities(None)?;
    handed.iter().for_each(|right| sets.inheritable |= *right);
    set_capabilities(None, sets)?;
    for right in handed {
        ambient(right, true)?;
    }
    Ok(())
}
