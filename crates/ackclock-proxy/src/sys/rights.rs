//! Descriptors, and whose rights the process has.

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};
use std::fs;
use std::io;

/// Sees to it that the process may open `wanted` descriptors, as far as the system lets it. How many it may.
pub fn descriptors(wanted: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(u64::MAX);
    let maximum = Some(most.max(wanted));
    if now.current.is_some_and(|current| current < wanted)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_err()
    {
        // Only who has the right may raise the maximum.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most.min(wanted)), maximum: now.maximum });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Whether the process is the system's master.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// The numbers of the user `name` and its group.
///
/// # Errors
/// There is none of that name.
pub fn user(name: &str) -> Result<(u32, u32), String> {
    let text = fs::read_to_string("/etc/passwd").map_err(|e| format!("user {name}: /etc/passwd: {e}"))?;
    let mut found = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let numbers = |of: &[&str]| Some((of.get(2)?.parse().ok()?, of.get(3)?.parse().ok()?));
    let wrong = || format!("user {name}: there is none of this name in /etc/passwd");
    found.find(|of| of.first() == Some(&name)).and_then(|of| numbers(&of)).ok_or_else(wrong)
}

/// From now on the process has the rights of this user and group, and of what it had only `kept`; whatever it starts cannot have
/// more. The process must have one thread only.
///
/// # Errors
/// The system does not allow it.
pub fn become_user((user, group): (u32, u32), kept: CapabilitySet) -> io::Result<()> {
    set_keep_capabilities(!kept.is_empty())?;
    // SAFETY: no memory is involved but the null pointer of an empty list.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(group, group, group) == 0
            && libc::setresuid(user, user, user) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })?;
    set_no_new_privs(true)?;
    Ok(())
}

/// From now on the process, who is not root, has of the capabilities that it was given only `kept`, and whatever it starts cannot
/// have more: what is not inheritable is not ambient either. The process must have one thread only.
///
/// # Errors
/// The system does not allow it.
pub fn give_up_all_but(kept: CapabilitySet) -> io::Result<()> {
    let kept = kept & capabilities(None)?.permitted;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })?;
    Ok(set_no_new_privs(true)?)
}

/// From now on the process hears none of the signals that end a group of processes, nor does what it starts.
pub fn hear_no_signals() {
    let _ = rustix::process::setsid();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// From now on the process has of all rights only that to administrate the network, and what it starts has it, too; where it was
/// root, those of `user` besides. The process must have one thread only.
///
/// # Errors
/// It does not have the right.
pub fn only_network(user: Option<(u32, u32)>) -> io::Result<()> {
    let network = CapabilitySet::NET_ADMIN;
    if !capabilities(None)?.permitted.contains(network) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it takes root, or CAP_NET_ADMIN"));
    }
    if let Some(user) = user.filter(|_| is_root()) {
        // A namespace of users may have root alone, who has no other right then all the same.
        let _ = become_user(user, network);
    }
    set_capabilities(None, CapabilitySets { effective: network, permitted: network, inheritable: network })?;
    configure_capability_in_ambient_set(network, true)?;
    // Where it is root still, what it starts would have all of root's rights again.
    Ok(set_no_new_privs(true)?)
}
