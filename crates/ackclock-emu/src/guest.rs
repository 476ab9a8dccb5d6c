//! A run within a kernel that is a program (User-Mode Linux), whose time is virtual: the first and only process of the guest.
//!
//! Outside, [`boot`] turns into that kernel. Its whole file system is the folder in which it is begun, which is also all that the
//! process can name where the system allows that (namespaces of users and mounts), so that nothing else can change, whatever
//! is done within. It reads the run there and leaves what came of it.

use crate::play::{play, Orders};
use crate::sys::guest::{become_kernel, mount_systems, power_off, share_memory_of_tcp, shut_in};
use crate::sys::process::end_with_parent;
use ackclock_run::Run;
use rustix::process::getppid;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// The run, in the folder of the guest.
const ASKED: &str = "/run.json";
/// What came of it.
const PLAYED: &str = "/played.json";
/// Or why there is nothing.
const FAILED: &str = "/failed";
/// Outside: why a guest could reach more than its folder.
const OPEN: &str = "open";

/// Turns this process into the kernel `arguments[0]`, a path within the folder in which it is begun, with the command line that
/// follows. Only returns if it cannot.
///
/// # Errors
/// Why not.
pub fn boot(arguments: &[String]) -> Result<(), String> {
    let (kernel, line) = arguments.split_first().ok_or("boot: give a kernel and its command line")?;
    let parent = getppid();
    let shut = shut_in();
    // Another user, as whom a namespace counts, is not ended with a parent any more, unless it asks again.
    end_with_parent();
    if getppid() != parent {
        return Err("whoever began this has ended".to_owned());
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
    let text = fs::read_to_string(ASKED).map_err(|e| format!("{ASKED}: {e}"))?;
    let run = Run::from_json(&text).map_err(|e| e.to_string())?;
    let orders = Orders { time_stands_still: true, pin: None, ..orders(&run)? };
    let played = play(&run, &orders).map_err(|trouble| trouble.to_string())?;
    let file = File::create(PLAYED).map_err(|e| format!("{PLAYED}: {e}"))?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, &played).map_err(|e| e.to_string())?;
    out.flush().map_err(|e| format!("the results cannot be written: {e}"))
}
