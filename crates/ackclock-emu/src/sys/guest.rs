//! What only the first process of a guest asks of its kernel, and how a process becomes that kernel.

use super::host_files::{Files, Taken};
use super::namespace::{become_master, own_mounts};
use super::process::give_up_rights;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::process::{chdir, geteuid, pivot_root, setsid};
use rustix::system::{RebootCommand, reboot};
use std::env::current_dir;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Pages that all sockets of the guest may hold: little is used, for memory is that of one run, but never so little that TCP
/// takes itself to be short of it.
const PAGES: &str = "500000 1000000 2000000";

/// How many networks there may be.
const NETWORKS: &str = "/proc/sys/user/max_net_namespaces";
const ENOUGH: &str = "4000";

/// Where the memory of a guest is, within its folder.
pub const MEMORY: &str = "memory";
/// The same if the guest is not shut in.
const SHARED: &str = "/dev/shm";
/// What the kernel asks about the processor.
const PROCESSOR: &str = "proc/cpuinfo";
/// Bytes of memory that are a guest's at most, and somewhat more.
const ROOM: &CStr = c"mode=0700,size=2g";

/// Becomes the program `kernel` with `line`, which sees the folder in which it is and nothing else if `shut` is so. The addresses
/// of its memory are not drawn at random. Returns why it has not.
pub fn become_kernel(kernel: &Path, line: &[String], shut: bool) -> io::Error {
    // A group of its own, to be ended with all that belongs to it. Who leads one already cannot make another.
    let _ = setsid();
    // SAFETY: the call takes and changes nothing but a number of the process.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    let memory = if shut { format!("/{MEMORY}") } else { SHARED.to_owned() };
    Command::new(kernel).args(line).env_clear().env("PATH", "/").env("TMPDIR", memory).exec()
}

/// From now on the folder in which the calling process is, which must have one thread only, is all of the file system for it: what
/// it begins cannot name anything else, not even as its root. [`MEMORY`] in there is memory. With `files` those of the computer are
/// in there, too, and then the process has no rights any more that a user has not.
///
/// # Errors
/// The system does not allow it. Nothing has changed then that matters.
pub fn shut_in(files: Option<&Files>) -> io::Result<()> {
    let root = geteuid().is_root();
    // Root without a namespace of users can do it as well, with more rights than it needs. Who is to see files sees their own as
    // theirs.
    become_master(files.is_none()).or_else(|error| if root { Ok(()) } else { Err(error) })?;
    own_mounts()?;
    let taken = files.map(Files::take).transpose()?;
    let folder = current_dir()?;
    mount_bind(&folder, &folder)?;
    chdir(&folder)?;
    mount("tmpfs", MEMORY, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(ROOM))?;
    mount_bind(&*format!("/{PROCESSOR}"), PROCESSOR)?;
    taken.map_or(Ok(()), Taken::put)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    if files.is_some() {
        give_up_rights()?;
    }
    Ok(())
}

/// Mounts what a run reads and writes of its kernel.
///
/// # Errors
/// What cannot be mounted, and why.
pub fn mount_systems() -> Result<(), String> {
    let systems = [(c"proc", c"/proc"), (c"sysfs", c"/sys"), (c"devtmpfs", c"/dev")];
    for (kind, place) in systems {
        match mount(kind, place, kind, MountFlags::empty(), None::<&CStr>) {
            // The kernel may have done it.
            Ok(()) | Err(Errno::BUSY) => (),
            Err(error) => return Err(format!("{} cannot be mounted in the guest: {error}", place.to_string_lossy())),
        }
    }
    Ok(())
}

/// Lets TCP have as much memory as on a large computer.
///
/// # Errors
/// The kernel does not take it.
pub fn share_memory_of_tcp() -> Result<(), String> {
    super::settings::set("ipv4.tcp_mem", PAGES)
}

/// Lets there be a host at each end of as many flows as a run may have, and of their relays: a kernel allows as many networks as
/// go with its memory, which of a guest's are fewer.
///
/// # Errors
/// The kernel does not take it.
pub fn allow_networks() -> Result<(), String> {
    fs::write(NETWORKS, ENOUGH).map_err(|e| format!("{NETWORKS}: {e}"))
}

/// Ends the guest.
///
/// # Errors
/// It does not end.
pub fn power_off() -> io::Result<()> {
    reboot(RebootCommand::PowerOff)?;
    Ok(())
}
