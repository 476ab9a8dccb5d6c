//! What programs in a host see of the file system besides what is there: names of hosts, and their own processes.

use super::namespace::own_mounts;
use rustix::mount::{mount, mount_bind, unmount, MountFlags, UnmountFlags};
use std::fs;
use std::io;

const HOSTS: &str = "/etc/hosts";
/// Where a file system is put that is there only until the file in it has its place.
const FOR_NOW: &str = "/proc";

/// From now on the calling process and what it starts see `names`, lines as of `hosts(5)`, behind those of the system, and its
/// own world of processes below `/proc`. Nobody else sees that, and nothing is written anywhere. Returns what the system did not
/// allow of it.
///
/// # Errors
/// Mounts cannot be made at all.
pub fn own_view(names: &str) -> io::Result<Vec<String>> {
    own_mounts()?;
    let mut missing = Vec::new();
    if let Err(error) = name_hosts(names) {
        missing.push(format!("names of the ends: {error}"));
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if let Err(error) = mount("proc", "/proc", "proc", flags, None) {
        missing.push(format!("/proc of its own: {error}"));
    }
    Ok(missing)
}

fn name_hosts(names: &str) -> io::Result<()> {
    let present = fs::read_to_string(HOSTS)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", FOR_NOW, "tmpfs", flags, Some(c"mode=0755,size=1m"))?;
    let file = format!("{FOR_NOW}/hosts");
    let done = fs::write(&file, format!("{}\n{names}", present.trim_end()))
        .and_then(|()| Ok(mount_bind(file.as_str(), HOSTS)?));
    unmount(FOR_NOW, UnmountFlags::DETACH)?;
    done
}
