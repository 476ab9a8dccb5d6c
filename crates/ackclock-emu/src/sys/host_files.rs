//! The files of the computer as a guest may have them: all of them to be read, and one folder of them, if any, to be written.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};
use std::ffi::CStr;
use std::io;
use std::path::{Path, PathBuf};

/// Within the folder of a guest: the files.
pub const HOST: &str = "host";
/// There: the folder that can be written.
pub const WRITTEN: &str = "written";

/// What no guest needs, for it has its own: not even to be read.
const HIDDEN: [&str; 3] = ["proc", "sys", "dev"];

const READ_ONLY: u64 = 1;
const NO_SUID: u64 = 2;
const NO_DEVICES: u64 = 4;

/// What a guest gets.
#[derive(Debug)]
pub struct Files {
    /// The folder that it may write to.
    pub write: Option<PathBuf>,
}

/// It, not yet anywhere.
#[derive(Debug)]
pub struct Taken {
    all: OwnedFd,
    written: Option<OwnedFd>,
}

/// The argument of `mount_setattr(2)`.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

impl Files {
    /// Takes them as they are mounted now, in a namespace of mounts that is the calling process's alone. From the begin nothing
    /// of them can be written but what may be.
    ///
    /// # Errors
    /// The system does not allow it (Linux before 5.12 cannot do it), or there is no such folder.
    pub fn take(&self) -> io::Result<Taken> {
        let taken = |path: &Path| -> io::Result<OwnedFd> {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
            let tree = open_tree(CWD, path, flags)?;
            change(&tree, READ_ONLY | NO_SUID | NO_DEVICES, 0, true)?;
            Ok(tree)
        };
        let written = self.write.as_deref().map(&taken).transpose()?;
        if let Some(tree) = &written {
            // What is mounted further below it stays as it is.
            change(tree, 0, READ_ONLY, false)?;
        }
        Ok(Taken { all: taken(Path::new("/"))?, written })
    }
}

impl Taken {
    /// Puts them into the folder in which the calling process is.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn put(self) -> io::Result<()> {
        put(&self.all, HOST)?;
        for name in HIDDEN {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            let empty: Option<&CStr> = Some(c"mode=0555,size=4k");
            match mount("tmpfs", format!("{HOST}/{name}"), "tmpfs", flags, empty) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.written.map_or(Ok(()), |tree| put(&tree, WRITTEN))
    }
}

fn put(tree: &OwnedFd, to: &str) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, to, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Changes the attributes of the mount that is `tree`, and of those below it if `all`.
fn change(tree: &OwnedFd, set: u64, clear: u64, all: bool) -> io::Result<()> {
    let attributes = Attributes { set, clear, propagation: 0, users: 0 };
    let flags = libc::AT_EMPTY_PATH | if all { libc::AT_RECURSIVE } else { 0 };
    let size = size_of::<Attributes>();
    // SAFETY: the descriptor is open, the path ends, and the pointer is to a whole struct of the size that is said; the call
    // only reads them.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, tree.as_raw_fd(), c"".as_ptr(), flags, &raw const attributes, size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
