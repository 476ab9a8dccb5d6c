//! A run within a kernel that is a program (User-Mode Linux), whose time is virtual: the first process of the guest, and the only one
//! unless programs of a user are behind the path.
//!
//! Outside, [`boot`] turns into that kernel. Its whole file system is the folder in which it is begun, which is also all that the
//! process can name where the system allows that (namespaces of users and mounts), so that nothing else can change, whatever
//! is done within. It reads the run there and leaves what came of it. Programs of a user see the computer's files besides, none of
//! which can be written but those of one folder that was named for it; where that cannot be guaranteed there are none.

use crate::kernel::Kernel;
use crate::play::{Orders, play};
use crate::probe::{Found, probe};
use crate::shell;
use crate::shell::inside::Inside;
use crate::shell::wanted::Wanted;
use crate::sys::guest::{allow_networks, become_kernel, mount_systems, power_off, share_memory_of_tcp, shut_in};
use crate::sys::host_files::Files;
use crate::sys::process::end_with_parent;
use ackclock_run::Run;
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::getppid;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The run, in the folder of the guest.
const ASKED: &str = "/run.json";
/// The programs behind its path, if there are some.
const PROGRAMS: &str = "/programs.json";
/// If it is there nothing is played, and what comes of it is what this kernel has.
const PROBE: &str = "/probe";
/// What came of it.
const PLAYED: &str = "/played.json";
/// Or why there is nothing.
const FAILED: &str = "/failed";
/// Outside: why a guest could reach more than its folder.
const OPEN: &str = "open";

/// What is asked for where there are programs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Programs {
    wanted: Wanted,
    inside: Inside,
}

/// Turns this process into a kernel, the first of `arguments` but for options, a path within the folder in which it is begun, with
/// the command line that follows. Only returns if it cannot.
///
/// # Errors
/// Why not.
pub fn boot(arguments: &[String]) -> Result<(), String> {
    let (files, rest) = match arguments {
        [files, write, folder, rest @ ..] if files == "--files" && write == "--write" => {
            (Some(Files { write: Some(PathBuf::from(folder)) }), rest)
        }
        [files, rest @ ..] if files == "--files" => (Some(Files { write: None }), rest),
        rest => (None, rest),
    };
    let (kernel, line) = rest.split_first().ok_or("boot: give a kernel and its command line")?;
    let parent = getppid();
    let shut = shut_in(files.as_ref());
    // Another user, as whom a namespace counts, is not ended with a parent any more, unless it asks again.
    end_with_parent();
    if getppid() != parent {
        return Err("whoever began this has ended".to_owned());
    }
    if let (Some(_), Err(error)) = (&files, &shut) {
        // Programs that are anybody's are not begun without a fence around them.
        let why = format!(
            "a guest with the files of this computer cannot be shut in: {error}; it takes Linux 5.12, and user namespaces: sysctl \
             user.max_user_namespaces=10000 (and kernel.unprivileged_userns_clone=1 or \
             kernel.apparmor_restrict_unprivileged_userns=0 where the system has these)"
        );
        let failed = FAILED.trim_start_matches('/');
        return fs::write(failed, &why).map_err(|e| format!("{failed}: {e}")).and(Err(why));
    }
    if let Err(error) = &shut {
        // The run is the same, and its program writes nothing else: whoever asked may want to know.
        fs::write(OPEN, format!("{error}")).map_err(|e| format!("{OPEN}: {e}"))?;
    }
    let error = become_kernel(Path::new(kernel), line, shut.is_ok());
    Err(format!("{kernel} cannot be begun: {error}"))
}

/// Plays the run and ends the guest.
///
/// # Errors
/// The guest does not end.
pub fn guest(orders: impl Fn(&Run) -> Result<Orders, String>) -> Result<(), String> {
    if let Err(problem) = played(orders) {
        // Where even this cannot be written whoever waits for it finds nothing, which says as much.
        let _ = fs::write(FAILED, problem);
    }
    power_off().map_err(|e| format!("the guest does not end: {e}"))
}

fn played(orders: impl Fn(&Run) -> Result<Orders, String>) -> Result<(), String> {
    mount_systems()?;
    share_memory_of_tcp()?;
    allow_networks()?;
    if Path::new(PROBE).exists() {
        return keep(&Found { kernel: Kernel::here(true), ..probe() });
    }
    let text = fs::read_to_string(ASKED).map_err(|e| format!("{ASKED}: {e}"))?;
    let run = Run::from_json(&text).map_err(|e| e.to_string())?;
    let orders = Orders { time_stands_still: true, pin: None, ..orders(&run)? };
    if !Path::new(PROGRAMS).exists() {
        return keep(&play(&run, &orders).map_err(|trouble| trouble.to_string())?);
    }
    let text = fs::read_to_string(PROGRAMS).map_err(|e| format!("{PROGRAMS}: {e}"))?;
    let Programs { wanted, inside } = serde_json::from_str(&text).map_err(|e| format!("{PROGRAMS}: {e}"))?;
    // Whoever waits for a guest ends it when they do not any more.
    let life = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| e.to_string())?;
    match shell::play(run, &wanted, &orders, (&life, Some(&inside)), || Ok(())) {
        Ok(played) => keep(&played),
        Err((error, exit)) => keep(&serde_json::json!({"error": error, "exit": exit})),
    }
}

fn keep(played: &impl Serialize) -> Result<(), String> {
    let file = File::create(PLAYED).map_err(|e| format!("{PLAYED}: {e}"))?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, played).map_err(|e| e.to_string())?;
    out.flush().map_err(|e| format!("the results cannot be written: {e}"))
}
