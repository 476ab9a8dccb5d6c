//! The files of a download: `NAME.part` and its journal, and in the end `NAME`, all in one folder.
//!
//! Everything is opened in the folder by its descriptor, and no link is followed: what a folder of others has in it cannot lead
//! a download elsewhere.

use crate::journal::{self, Journal};
use crate::problem::Problem;
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder, and a file in it that is being downloaded.
#[derive(Clone, Debug)]
pub struct Folder {
    at: Arc<OwnedFd>,
    path: PathBuf,
    /// The name of the file in the end.
    pub name: String,
}

impl Folder {
    /// The folder `path`, for a file called `name`.
    ///
    /// # Errors
    /// It is none.
    pub fn open(path: &Path, name: &str) -> Result<Folder, Problem> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let at = fs::open(path, flags, Mode::empty())
            .map_err(|e| Problem::input(format!("--dir: {}: {e}; give a folder that is there", path.display())))?;
        Ok(Folder { at: Arc::new(at), path: path.to_owned(), name: name.to_owned() })
    }

    /// Where the file will be.
    pub fn place(&self) -> PathBuf {
        self.inside(&self.name)
    }

    /// Where the bytes are until then.
    pub fn part_place(&self) -> PathBuf {
        self.inside(&self.part())
    }

    /// A file of the folder as people write it: here its name alone.
    fn inside(&self, name: &str) -> PathBuf {
        if self.path == Path::new(".") { PathBuf::from(name) } else { self.path.join(name) }
    }

    fn part(&self) -> String {
        format!("{}.part", self.name)
    }

    fn journal(&self) -> String {
        format!("{}.part.journal", self.name)
    }

    fn wrong(&self, name: &str, error: impl std::fmt::Display) -> Problem {
        Problem::failed(format!("{}: {error}", self.inside(name).display()))
    }

    fn there(&self, name: &str) -> bool {
        fs::statat(&*self.at, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether the file may come to be.
    ///
    /// # Errors
    /// It is there already, and may not be overwritten.
    pub fn may_be(&self, force: bool) -> Result<(), Problem> {
        match fs::statat(&*self.at, &*self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if fs::FileType::from_raw_mode(found.st_mode) == fs::FileType::Directory => {
                Err(Problem::input(format!("{} is a folder; give another --name", self.place().display())))
            }
            Ok(_) if !force => {
                Err(Problem::input(format!("{} is there already; --force overwrites it", self.place().display())))
            }
            _ => Ok(()),
        }
    }

    /// What an earlier download of the same name left: its journal, if there is one that can be read.
    pub fn earlier(&self) -> Option<Journal> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(fs::openat(&*self.at, self.journal(), flags, Mode::empty()).ok()?);
        let mut text = String::new();
        file.take(journal::MOST).read_to_string(&mut text).ok()?;
        self.there(&self.part()).then(|| Journal::parse(&text)).flatten()
    }

    /// The part, locked, empty unless it `goes_on`.
    ///
    /// # Errors
    /// Somebody else downloads it, or it is not ours.
    pub fn start(&self, goes_on: bool, force: bool) -> Result<File, Problem> {
        let part = self.part();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&*self.at, &*part, flags, Mode::from_raw_mode(0o666)).map_err(|e| {
            let link = e == Errno::LOOP;
            self.wrong(&part, if link { "it is a link, which is not followed".to_owned() } else { e.to_string() })
        })?;
        match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(self.wrong(&part, "another download writes it")),
            Err(error) => return Err(self.wrong(&part, error)),
            Ok(()) => {}
        }
        let file = File::from(file);
        let holds = file.metadata().map_err(|e| self.wrong(&part, e))?.len() > 0;
        if !goes_on && holds && !self.there(&self.journal()) && !force {
            let remedy = "it is not of a download that can go on; remove it, or --force overwrites it";
            return Err(self.wrong(&part, remedy));
        }
        if !goes_on {
            file.set_len(0).map_err(|e| self.wrong(&part, e))?;
        }
        Ok(file)
    }

    /// Writes the journal: whoever reads it finds the one before or this one, whole.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn keep(&self, part: &File, journal: &Journal) -> Result<(), Problem> {
        // What the journal says is there has to be there after a loss of power, too.
        part.sync_data().map_err(|e| self.wrong(&self.part(), e))?;
        let (name, new) = (self.journal(), format!("{}.new", self.journal()));
        let _ = fs::unlinkat(&*self.at, &*new, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(
            fs::openat(&*self.at, &*new, flags, Mode::from_raw_mode(0o600)).map_err(|e| self.wrong(&new, e))?,
        );
        let written = file.write_all(journal.text().as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|e| self.wrong(&new, e))?;
        fs::renameat(&*self.at, &*new, &*self.at, &*name).map_err(|e| self.wrong(&name, e))
    }

    /// The part is the file from now on.
    ///
    /// # Errors
    /// One has come to be meanwhile.
    pub fn finish(&self, part: &File, force: bool) -> Result<(), Problem> {
        part.sync_data().map_err(|e| self.wrong(&self.part(), e))?;
        let flags = if force { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match fs::renameat_with(&*self.at, self.part(), &*self.at, &*self.name, flags) {
            Err(Errno::INVAL | Errno::NOSYS) if !force => {
                // A file system without that flag: a second name is never put in a file's place either.
                fs::linkat(&*self.at, self.part(), &*self.at, &*self.name, AtFlags::empty())
                    .and_then(|()| fs::unlinkat(&*self.at, self.part(), AtFlags::empty()))
            }
            other => other,
        }
        .map_err(|e| match e {
            Errno::EXIST => {
                self.wrong(&self.name, format!("it has come to be meanwhile; the download is in {}", self.part()))
            }
            error => self.wrong(&self.name, error),
        })?;
        let _ = fs::unlinkat(&*self.at, self.journal(), AtFlags::empty());
        Ok(())
    }

    /// Removes the journal: what comes is not by pieces.
    pub fn forget(&self) {
        let _ = fs::unlinkat(&*self.at, self.journal(), AtFlags::empty());
    }

    /// Removes what cannot go on.
    pub fn discard(&self) {
        for name in [self.part(), self.journal()] {
            let _ = fs::unlinkat(&*self.at, name, AtFlags::empty());
        }
    }
}
