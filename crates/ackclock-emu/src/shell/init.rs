//! The first process of a shell's own world of processes: it starts the programs, says how they end, and takes all others with it
//! when it ends, which it does when the process ends that made it.

use super::inside::{Guest, Inside, Outputs};
use super::wanted::Wanted;
use crate::sys::namespace::Namespace;
use crate::sys::process::{Right, end_with_parent, hand_down_rights};
use crate::sys::signals::{OF_TERMINALS, everybody, ignore, unblock};
use crate::sys::{clock, mounts};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, wait};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::time::{Duration, Instant};

/// What it can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start what runs at the other end.
    Server,
    /// Start the program.
    Command,
    /// Ask everybody to end.
    End,
}

/// What it tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// What of the view of programs the system did not allow.
    Ready(Vec<String>),
    /// The server listens, or has had its time.
    Server,
    /// A program was not started, and what a shell's exit code for that is.
    NotStarted(String, i32),
    /// The server has ended.
    ServerEnded(i32),
    /// The program has ended.
    Ended(i32),
}

/// How often is looked for others that have ended, or whether a server listens.
const LOOK: Duration = Duration::from_millis(10);
/// See [`LOOK`].
const REAP: Duration = Duration::from_millis(500);
/// Bytes of what a server has said that are looked at.
const SAID: u64 = 4096;

/// The one that started it, as it sees it.
pub struct Init {
    stream: BufReader<UnixStream>,
}

impl Init {
    /// Speaks with the other end of `stream`.
    pub fn new(stream: UnixStream) -> Init {
        Init { stream: BufReader::new(stream) }
    }

    /// Tells it what to do.
    ///
    /// # Errors
    /// It is gone.
    pub fn order(&mut self, order: Order) -> io::Result<()> {
        self.stream.get_mut().write_all(&[order as u8])
    }

    /// What it tells next; waits for it.
    ///
    /// # Errors
    /// It is gone.
    pub fn news(&mut self) -> io::Result<News> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }

    /// Whether it has told more than was taken.
    pub fn has_news(&self) -> bool {
        !self.stream.buffer().is_empty()
    }

    /// What can be read when it tells something.
    pub fn fd(&self) -> &UnixStream {
        self.stream.get_ref()
    }
}

/// A program that was started.
struct Program {
    pid: Pid,
    fd: OwnedFd,
}

/// The state of this process.
struct World<'a> {
    wanted: &'a Wanted,
    hosts: &'a [Namespace; 2],
    environment: &'a [(String, String)],
    guest: Option<Guest<'a>>,
    stream: UnixStream,
    command: Option<Program>,
    server: Option<Program>,
    said: Option<File>,
}

/// What programs are to find.
pub struct Around<'a> {
    /// The names of the ends, as `hosts(5)` has them.
    pub names: &'a str,
    /// What is added to their environment.
    pub environment: &'a [(String, String)],
    /// By what right networks are made.
    pub right: Right,
    /// In a guest: who and where they are.
    pub guest: Option<(&'a Inside, Outputs)>,
}

/// Is this process, from its begin to its end.
pub fn be(wanted: &Wanted, hosts: &[Namespace; 2], stream: UnixStream, around: Around<'_>) -> ! {
    end_with_parent();
    // The first process of a world is not ended by what a terminal sends, and what it starts is to be as everything is.
    OF_TERMINALS.into_iter().for_each(|signal| ignore(signal, false));
    unblock();
    let Around { names, environment, right, guest } = around;
    let found = match guest {
        Some((inside, outputs)) => Guest::enter(inside, outputs, names).map(|guest| (Some(guest), Vec::new())),
        None => Ok((None, own_view(names, right))),
    };
    let (guest, ready) = match found {
        // In a guest programs look elsewhere, and there what is wrong comes alone anyway.
        Ok((None, missing)) => (None, absent(&wanted.command).unwrap_or(News::Ready(missing))),
        Ok((guest, missing)) => (guest, News::Ready(missing)),
        Err(why) => (None, News::NotStarted(why, 2)),
    };
    let mut world = World { wanted, hosts, environment, guest, stream, command: None, server: None, said: None };
    // Who does not listen any more is gone, and everybody here with it.
    let ended = world.tell(&ready).and_then(|()| world.live());
    exit(i32::from(ended.is_err()))
}

/// What is to be told if the program of `command` is not there: nothing is started then, a server neither.
fn absent(command: &[String]) -> Option<News> {
    let program = command.first()?;
    found(program).err().map(|error| not_started(program, &error.into()))
}

/// Looks for a program where it would be looked for to start it.
fn found(program: &str) -> Result<(), Errno> {
    let may_run = |file: &Path| {
        access(file, Access::EXEC_OK).and_then(|()| if file.is_dir() { Err(Errno::ACCESS) } else { Ok(()) })
    };
    if program.contains('/') {
        return may_run(Path::new(program));
    }
    let Some(path) = std::env::var_os("PATH") else { return Ok(()) };
    let mut why = Errno::NOENT;
    for folder in std::env::split_paths(&path) {
        match may_run(&folder.join(program)) {
            Ok(()) => return Ok(()),
            Err(Errno::ACCESS) => why = Errno::ACCESS,
            Err(_) => {}
        }
    }
    Err(why)
}

/// That a program was not started, with what a shell's exit code for that is.
fn not_started(name: &str, error: &io::Error) -> News {
    let (why, code) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such program".to_owned(), 127),
        io::ErrorKind::PermissionDenied => ("it may not be run".to_owned(), 126),
        _ => (error.to_string(), 126),
    };
    News::NotStarted(format!("{name}: {why}"), code)
}

/// Has this process see its own world. What of it the system does not allow.
fn own_view(names: &str, right: Right) -> Vec<String> {
    let mut missing = mounts::own_view(names).unwrap_or_else(|e| vec![format!("mounts: {e}")]);
    if right == Right::UserNamespace {
        if let Err(error) = hand_down_rights() {
            missing.push(format!("rights to networks: {error}"));
        }
    }
    missing
}

impl World<'_> {
    fn tell(&mut self, news: &News) -> io::Result<()> {
        let mut line = serde_json::to_vec(news)?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    fn live(&mut self) -> io::Result<()> {
        loop {
            let order = {
                let mut fds = vec![PollFd::new(&self.stream, PollFlags::IN)];
                let programs = self.command.iter().chain(&self.server);
                fds.extend(programs.map(|program| PollFd::new(&program.fd, PollFlags::IN)));
                match poll(&mut fds, Some(&clock::timespec(REAP.as_nanos() as u64))) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                !fds[0].revents().is_empty()
            };
            if order {
                let mut one = [0];
                self.stream.read_exact(&mut one)?;
                self.obey(one[0])?;
            }
            self.reap()?;
        }
    }

    fn obey(&mut self, order: u8) -> io::Result<()> {
        if order == Order::Server as u8 {
            return self.serve();
        }
        if order == Order::Command as u8 {
            return self.begin();
        }
        // Whoever is stopped is to hear of it.
        for signal in [Signal::TERM, Signal::HUP, Signal::CONT] {
            everybody(signal);
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        let started = self.start(&self.wanted.command, self.wanted.end.place(), |command| {
            self.guest.as_ref().map_or(Ok(()), |guest| guest.connect(command))
        });
        match started {
            Ok(program) => {
                self.command = Some(program);
                Ok(())
            }
            Err(error) => self.tell(&not_started(&self.wanted.command[0], &error)),
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        let Some(words) = &self.wanted.server else { return self.tell(&News::Server) };
        let said = File::from(memfd_create("server", MemfdFlags::CLOEXEC)?);
        let (out, err) = (said.try_clone()?, said.try_clone()?);
        let place = self.wanted.end.other().place();
        let started = self.start(words, place, |command| {
            // What the terminal sends is for the program alone.
            command.process_group(0).stdin(Stdio::null()).stdout(out).stderr(err);
            Ok(())
        });
        self.said = Some(said);
        match started {
            Ok(program) => self.server = Some(program),
            Err(error) => return self.tell(&not_started(&words[0], &error)),
        }
        let until = Instant::now() + Duration::from_nanos(self.wanted.server_wait_ns);
        while Instant::now() < until && self.server.is_some() && !listens() {
            std::thread::sleep(LOOK);
            self.reap()?;
        }
        if self.server.is_some() || listens() {
            return self.tell(&News::Server);
        }
        Ok(())
    }

    /// Starts a program in a host; this process is in its network afterwards.
    fn start(
        &self,
        words: &[String],
        place: usize,
        with: impl FnOnce(&mut Command) -> io::Result<()>,
    ) -> io::Result<Program> {
        self.hosts[place].enter()?;
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        if let Some(guest) = &self.guest {
            guest.surround(&mut command);
        }
        command.args(arguments).envs(self.environment.iter().cloned());
        with(&mut command)?;
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        Ok(Program { pid, fd: pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// Takes note of everybody who has ended.
    fn reap(&mut self) -> io::Result<()> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let code = code(status);
            let is = |program: &Option<Program>| program.as_ref().is_some_and(|p| p.pid == pid);
            if is(&self.command) {
                self.command = None;
                self.tell(&News::Ended(code))?;
            } else if is(&self.server) {
                self.server = None;
                let at_once = self.command.is_none() && code != 0;
                if at_once {
                    let said = self.last_words();
                    self.tell(&News::NotStarted(format!("the server ended at once with status {code}{said}"), 1))?;
                } else {
                    self.tell(&News::ServerEnded(code))?;
                }
            }
        }
        Ok(())
    }

    /// The last line that the server has written.
    fn last_words(&mut self) -> String {
        let Some(said) = &mut self.said else { return String::new() };
        let length = said.seek(SeekFrom::End(0)).unwrap_or(0);
        let mut bytes = Vec::new();
        let read = said.seek(SeekFrom::Start(length.saturating_sub(SAID))).and_then(|_| said.read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).filter(|_| read.is_ok());
        line.map_or(String::new(), |line| format!(": {}", line.trim()))
    }
}

/// The exit code of a program, as shells have it.
fn code(status: WaitStatus) -> i32 {
    status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// Whether somebody waits for connections or datagrams in the network of this process.
fn listens() -> bool {
    let table = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let listening = |line: &str| line.split_whitespace().nth(3) == Some("0A");
    let streams = ["tcp", "tcp6"].iter().any(|name| table(name).lines().skip(1).any(listening));
    streams || ["udp", "udp6"].iter().any(|name| table(name).lines().nth(1).is_some())
}
