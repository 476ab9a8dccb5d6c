//! Programs in a guest: who they are there, what they see of the computer, and what becomes of what they write to standard output.

use crate::sys::mounts::own_files;
use crate::sys::process::{hand_down_rights, keep_rights};
use crate::sys::realtime;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::{JoinHandle, spawn};

/// In the folder of the guest: what they may read from standard input, and what they have written.
const INPUT: &str = "/stdin";
/// See [`INPUT`].
const OUTPUTS: [&str; 2] = ["/stdout", "/stderr"];
/// Bytes that are taken at a time.
const PART: usize = 1 << 16;

/// What whoever began the guest says of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inside {
    /// All of their environment but the addresses of the ends.
    pub environment: Vec<(String, String)>,
    /// Where they begin.
    pub directory: PathBuf,
    /// Who they are, and their group.
    pub user: u32,
    /// See `user`.
    pub group: u32,
    /// The folder that they write to as it is outside.
    pub write: Option<PathBuf>,
}

/// The ends of standard output and standard error that programs have.
#[derive(Debug)]
pub struct Outputs([OwnedFd; 2]);

/// Who takes what is written there to the files of the guest.
#[derive(Debug)]
pub struct Takers(Vec<JoinHandle<io::Result<()>>>);

/// The ends that are read.
pub type Sources = [OwnedFd; 2];

/// Makes them.
///
/// # Errors
/// The system has no room.
pub fn outputs() -> io::Result<(Outputs, Sources)> {
    let (out, to_out) = pipe_with(PipeFlags::CLOEXEC)?;
    let (err, to_err) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Outputs([to_out, to_err]), [out, err]))
}

impl Takers {
    /// Takes what comes from `sources` from now on.
    pub fn new(sources: Sources) -> Takers {
        let taker = |(source, name): (OwnedFd, &'static str)| spawn(move || take(File::from(source), name));
        Takers(sources.into_iter().zip(OUTPUTS).map(taker).collect())
    }

    /// Until nobody can write any more.
    ///
    /// # Errors
    /// What was written could not be kept.
    pub fn finish(self) -> io::Result<()> {
        self.0.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    }
}

fn take(mut source: File, name: &str) -> io::Result<()> {
    // What the emulator does takes no time.
    realtime::behind();
    let mut part = vec![0; PART];
    loop {
        let bytes = source.read(&mut part)?;
        if bytes == 0 {
            return Ok(());
        }
        // Outside it is seen when the file is closed.
        File::options().append(true).create(true).open(name)?.write_all(&part[..bytes])?;
    }
}

/// What programs are given, in the process that starts them.
#[derive(Debug)]
pub struct Guest<'a> {
    inside: &'a Inside,
    input: Option<File>,
    outputs: Outputs,
}

impl<'a> Guest<'a> {
    /// Moves the calling process, the first in its world of processes, to where programs are, and sees to the names of hosts.
    ///
    /// # Errors
    /// What the guest's kernel does not do.
    pub fn enter(inside: &'a Inside, outputs: Outputs, names: &str) -> Result<Guest<'a>, String> {
        // It is among what is left behind.
        let input = File::open(INPUT).ok();
        own_files(inside.write.as_deref(), names)?;
        if inside.user != 0 {
            // Networks are theirs, as they are outside without root.
            keep_rights().and_then(|()| hand_down_rights()).map_err(|e| format!("rights to networks: {e}"))?;
        }
        Ok(Guest { inside, input, outputs })
    }

    /// Has a program be where it would be outside.
    pub fn surround(&self, command: &mut Command) {
        let Inside { environment, directory, user, group, .. } = self.inside;
        command.env_clear().envs(environment.iter().cloned()).current_dir(directory).gid(*group).uid(*user);
    }

    /// Gives a program what it reads and writes.
    ///
    /// # Errors
    /// There are too many files.
    pub fn connect(&self, command: &mut Command) -> io::Result<()> {
        let Outputs([out, err]) = &self.outputs;
        let input = self.input.as_ref().map(File::try_clone).transpose()?;
        command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(out.try_clone()?).stderr(err.try_clone()?);
        Ok(())
    }
}
