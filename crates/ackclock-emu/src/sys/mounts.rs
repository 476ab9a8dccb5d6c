//! What programs in a host see of the file system besides what is there: names of hosts, their own processes, and in a guest, where
//! nothing of it can be written, what they have written.

use super::host_files::{HOST, WRITTEN};
use super::namespace::own_mounts;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::process::{chdir, pivot_root};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

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

/// Folders in that of a guest: for what is written, and for the whole as programs see it.
const MEMORY: &str = "/upper";
/// See [`MEMORY`].
const ROOT: &str = "/whole";
/// Where a system looks for who knows names.
const RESOLVERS: &str = "etc/resolv.conf";

/// From now on the calling process, the first in its world of processes, and what it starts see the files of the computer outside
/// the guest. What is written there is kept in memory and seen by them alone, except below `write`, which is that folder.
///
/// # Errors
/// What the guest's kernel does not do, in words.
pub fn own_files(write: Option<&Path>, names: &str) -> Result<(), String> {
    let failed = |what: &'static str| move |e: io::Error| format!("{what}: {e}");
    own_mounts().map_err(failed("mounts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", MEMORY, "tmpfs", flags, Some(c"mode=0755")).map_err(|e| format!("memory for files: {e}"))?;
    for part in ["files", "work"] {
        fs::create_dir(format!("{MEMORY}/{part}")).map_err(failed("memory for files"))?;
    }
    let layers = format!("lowerdir=/{HOST},upperdir={MEMORY}/files,workdir={MEMORY}/work");
    let layers = std::ffi::CString::new(layers).map_err(|e| e.to_string())?;
    mount("overlay", ROOT, "overlay", MountFlags::NOSUID, Some(layers.as_c_str())).map_err(|e| match e {
        Errno::NODEV => {
            "the guest's kernel has no overlay file system; build it again: ackclock kernel build".to_owned()
        }
        other => format!("files of the computer: {other}"),
    })?;
    systems().map_err(failed("systems"))?;
    if let Some(folder) = write {
        let place = Path::new(ROOT).join(folder.strip_prefix("/").unwrap_or(folder));
        mount_bind(&*format!("/{WRITTEN}"), &place).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let hosts = format!("{ROOT}{HOSTS}");
    let present = fs::read_to_string(&hosts).unwrap_or_default();
    fs::write(&hosts, format!("{}\n{names}", present.trim_end())).map_err(failed(HOSTS))?;
    // Nobody knows names here: whoever asks is to hear of it, not to wait for an answer.
    let resolvers = format!("{ROOT}/{RESOLVERS}");
    let _ = fs::remove_file(&resolvers);
    let _ = fs::write(&resolvers, "");
    let entered = (|| -> io::Result<()> {
        chdir(ROOT)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        Ok(())
    })();
    entered.map_err(failed("files of the computer"))
}

/// What a kernel has in files.
fn systems() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("proc", format!("{ROOT}/proc"), "proc", flags | MountFlags::NODEV, None)?;
    mount("sysfs", format!("{ROOT}/sys"), "sysfs", flags | MountFlags::NODEV, None)?;
    let devices = format!("{ROOT}/dev");
    mount("devtmpfs", &devices, "devtmpfs", flags, None)?;
    for name in ["pts", "shm"] {
        fs::create_dir_all(format!("{devices}/{name}"))?;
    }
    mount("devpts", format!("{devices}/pts"), "devpts", flags, Some(c"ptmxmode=0666,mode=0620"))?;
    mount("tmpfs", format!("{devices}/shm"), "tmpfs", flags | MountFlags::NODEV, Some(c"mode=1777"))?;
    for (name, to) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        match symlink(format!("/proc/self/{to}"), format!("{devices}/{name}")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
