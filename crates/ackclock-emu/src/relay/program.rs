//! The program of a relay: begun in the relay's host before the run, ended behind it, and what it says meanwhile.

use super::Split;
use super::told::Told;
use crate::agent::Trouble;
use crate::host::Host;
use crate::sys::waits::Waits;
use crate::sys::{process, realtime};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::{JoinHandle, spawn};

/// Its name; it lies beside this program.
pub const PROGRAM: &str = "ackclock-proxy";
/// What it says when it can be connected to.
const READY: &str = "listens at";

/// Where it is.
///
/// # Errors
/// It is not there, and how to get it.
pub fn program() -> Result<PathBuf, String> {
    let own = env::current_exe().map_err(|e| format!("where this program is cannot be found out: {e}"))?;
    let beside = own.with_file_name(PROGRAM);
    if fs::metadata(&beside).is_ok_and(|found| found.is_file()) {
        return Ok(beside);
    }
    Err(format!(
        "a relay on a kernel is the program {PROGRAM}, which is not beside {}; make build makes both",
        own.display()
    ))
}

/// The proxies of a run, in the order of its split flows.
#[derive(Debug, Default)]
pub struct Proxies(Vec<Running>);

#[derive(Debug)]
struct Running {
    child: Child,
    /// The flow whose it is.
    of: String,
    /// What it writes of connections.
    lines: Option<JoinHandle<String>>,
    /// The last that it says of itself.
    words: Option<JoinHandle<String>>,
}

impl Proxies {
    /// Those of `splits`, the names of whose flows are `ids`, in their `hosts`; all can be connected to when it returns.
    ///
    /// # Errors
    /// One cannot be begun, and why.
    pub fn begin(splits: &[Split], ids: &[String], hosts: &[Host], pin: Option<usize>) -> Result<Proxies, Trouble> {
        let mut all = Proxies::default();
        for split in splits {
            let of = ids[split.whole].clone();
            let wrong = |e: String| Trouble::Host(format!("the proxy of flow {of}: {e}"));
            let inside = |e: std::io::Error| Trouble::System(format!("the proxy of flow {of}"), e);
            hosts[2 * split.legs[0] + 1].namespace.enter().map_err(inside)?;
            let mut command = Command::new(program().map_err(wrong)?);
            command.args(["run", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = process::ends_with_this(&mut command).spawn().map_err(inside)?;
            realtime::behind_too(child.id(), pin);
            let asked = split.asked.to_string();
            // Where it takes nothing it says why.
            let _ = child.stdin.take().map(|mut to| to.write_all(asked.as_bytes()));
            let lines = child.stdout.take().map(|mut from| spawn(move || text(&mut from)));
            let words = child.stderr.take().map(ready);
            let words = match words {
                Some(Ok(rest)) => Some(rest),
                Some(Err(said)) => return Err(wrong(said)),
                None => None,
            };
            all.0.push(Running { child, of, lines, words });
        }
        Ok(all)
    }

    /// How long each waits for a processor: its one thread that holds sockets is its first.
    pub fn waits(&self) -> impl Iterator<Item = Waits> + '_ {
        self.0.iter().filter_map(|running| Waits::of(&format!("/proc/{}/schedstat", running.child.id())))
    }

    /// Ends them; what they have said.
    ///
    /// # Errors
    /// One had ended before, which it should not.
    pub fn end(self) -> Result<Vec<Told>, Trouble> {
        self.0.into_iter().map(Running::end).collect()
    }
}

impl Running {
    fn end(mut self) -> Result<Told, Trouble> {
        let gone = self.child.try_wait().ok().flatten();
        if let Some(pid) = Pid::from_raw(self.child.id() as i32).filter(|_| gone.is_none()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let ended = self.child.wait();
        let taken = |thread: Option<JoinHandle<String>>| thread.and_then(|t| t.join().ok()).unwrap_or_default();
        let (lines, words) = (taken(self.lines), taken(self.words));
        match (gone, ended) {
            (None, Ok(status)) if status.success() => Ok(Told::of(&lines)),
            (_, status) => {
                let how = status.map_or_else(|e| e.to_string(), |status| status.to_string());
                let last = words.lines().last().unwrap_or("it says nothing");
                Err(Trouble::Host(format!("the proxy of flow {} ended before its time ({how}): {last}", self.of)))
            }
        }
    }
}

fn text(from: &mut impl Read) -> String {
    let mut text = Vec::new();
    let _ = from.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Waits until the program can be connected to; who reads what it says from then on. Otherwise what it said before it ended.
fn ready(from: ChildStderr) -> Result<JoinHandle<String>, String> {
    let mut from = BufReader::new(from);
    let mut said = String::new();
    loop {
        let mut line = String::new();
        match from.read_line(&mut line) {
            Ok(n) if n > 0 => {}
            _ if said.is_empty() => return Err("it ended and said nothing".to_owned()),
            _ => return Err(said.trim_end().replace('\n', "; ")),
        }
        if line.contains(READY) {
            return Ok(spawn(move || text(&mut from)));
        }
        said += &line;
    }
}
