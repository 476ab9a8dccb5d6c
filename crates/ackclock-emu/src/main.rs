//! The program: plays a resolved run between network namespaces, or says whether it could.
//!
//! ```text
//! ackclock-emu run FILE|- [--pin N] [--ipv6] [--virtual]     tables and how it went, JSON
//! ackclock-emu shell IN OUT [--virtual]                      programs behind its path; IN and OUT are numbers of descriptors:
//!                                                            what is asked for and the run, each a line; tables, JSON
//! ackclock-emu replay FILE [--ipv6] < ARRIVALS > DEPARTURES  the same path by a clock that a record gives
//! ackclock-emu check FOUND [--ipv6] < FILE                   why a computer of which a probe found this would not play it, JSON
//! ackclock-emu boot [--files [--write FOLDER]] KERNEL LINE... turns into a kernel that is a program, which may see the computer's files
//! ackclock-emu guest                                         its first process: plays /run.json to /played.json, with the programs
//!                                                            of /programs.json if there is one
//! ackclock-emu probe                                         what this host can do, JSON
//! ```

use ackclock_core::packet::Family;
use ackclock_core::time::Time;
use ackclock_emu::guest::{boot, guest};
use ackclock_emu::path::{Network, replay};
use ackclock_emu::play::{Orders, play};
use ackclock_emu::prepare::refusal;
use ackclock_emu::probe::probe;
use ackclock_emu::shell::wanted::Wanted;
use ackclock_emu::sys::inherited;
use ackclock_emu::sys::process::{end_with_parent, may_make_networks};
use ackclock_run::Run;
use rustix::fd::OwnedFd;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: ackclock-emu run FILE|- [--pin N] [--ipv6] [--virtual] | shell IN OUT [--virtual] | replay FILE [--ipv6] | \
                     check FOUND [--ipv6] | \
                     boot [--files [--write FOLDER]] KERNEL LINE... | guest | probe";

/// Largest packet of IP.
const LARGEST: usize = 65_535;

fn main() -> ExitCode {
    end_with_parent();
    let arguments: Vec<String> = env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}", problem.replace('\n', " "));
            ExitCode::from(2)
        }
    }
}

fn command(arguments: &[String]) -> Result<(), String> {
    let (name, rest) = arguments.split_first().ok_or(USAGE)?;
    match (name.as_str(), rest) {
        ("probe", []) => print(&probe()),
        ("check", [found, options @ ..]) => {
            let text = fs::read_to_string(found).map_err(|e| format!("{found}: {e}"))?;
            let found = serde_json::from_str(&text).map_err(|e| format!("{found}: {e}"))?;
            let run = read("-")?;
            let refused = refusal(&run, &orders(options, &run)?, &found);
            print(&refused.map(|e| e.to_string()))
        }
        ("run", [file, options @ ..]) => {
            let run = read(file)?;
            let orders = orders(options, &run)?;
            may_make_networks(true)?;
            print(&play(&run, &orders).map_err(|trouble| trouble.to_string())?)
        }
        ("shell", [from, to, options @ ..]) => shell(from, to, options),
        ("boot", arguments) => boot(arguments),
        // The kernel adds words of its own.
        ("guest", _) => guest(|run| orders(&[], run)),
        ("replay", [file, options @ ..]) => {
            let run = read(file)?;
            let family = orders(options, &run)?.family;
            let mut network = Network::new(&run, (family, LARGEST), None).map_err(|e| e.to_string())?;
            let (mut from, mut to) = (BufReader::new(io::stdin().lock()), BufWriter::new(io::stdout().lock()));
            replay(&mut network, Time(run.duration_ns), &mut from, &mut to)
                .and_then(|()| to.flush())
                .map_err(|e| format!("the record cannot be played: {e}"))
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Plays programs behind the path of a run. What is wrong is told as the result, for standard error is the programs'.
///
/// Where nothing is wrong an empty line comes first, before the program is started, which waits until a byte has come for it:
/// whoever asked has something to say by then, and what is wrong is said alone.
fn shell(from: &str, to: &str, options: &[String]) -> Result<(), String> {
    let life = inherited(from)?;
    let mut to = BufWriter::new(File::from(inherited(to)?));
    let result = asked(&life).and_then(|(wanted, run)| {
        let orders = orders(options, &run).map_err(|e| (e, 2))?;
        let ready = || {
            to.write_all(b"\n").and_then(|()| to.flush())?;
            File::from(life.try_clone()?).read_exact(&mut [0])
        };
        ackclock_emu::shell::play(run, &wanted, &orders, (&life, None), ready)
    });
    let written = match result {
        Ok(played) => serde_json::to_writer(&mut to, &played),
        Err((error, exit)) => serde_json::to_writer(&mut to, &serde_json::json!({"error": error, "exit": exit})),
    };
    written
        .map_err(io::Error::from)
        .and_then(|()| to.flush())
        .map_err(|e| format!("the results cannot be written: {e}"))
}

/// What is asked for and the run, a line each. The descriptor stays open: it ends when whoever asked does.
fn asked(life: &OwnedFd) -> Result<(Wanted, Run), (String, i32)> {
    let wrong = |e: String| (e, 2);
    let mut lines = BufReader::new(File::from(life.try_clone().map_err(|e| wrong(e.to_string()))?)).lines();
    let mut line = || lines.next().transpose().map(Option::unwrap_or_default).map_err(|e| wrong(e.to_string()));
    let wanted: Wanted = serde_json::from_str(&line()?).map_err(|e| wrong(format!("what is asked for: {e}")))?;
    if wanted.command.is_empty() {
        return Err(wrong("what is asked for: there is no program".to_owned()));
    }
    Ok((wanted, Run::from_json(&line()?).map_err(|e| wrong(e.to_string()))?))
}

/// What the document says, and options instead of it.
fn orders(options: &[String], run: &Run) -> Result<Orders, String> {
    let family = match run.engine.ip {
        4 => Family::V4,
        6 => Family::V6,
        other => return Err(format!("engine.ip: there is no version {other}; write 4 or 6")),
    };
    let mut orders = Orders { family, pin: run.engine.pin, time_stands_still: false };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.as_str() {
            "--ipv6" => orders.family = Family::V6,
            "--virtual" => orders.time_stands_still = true,
            "--pin" => {
                let number = options.next().and_then(|n| n.parse().ok());
                orders.pin = Some(number.ok_or("--pin: give the number of a processor, as --pin 1")?);
            }
            other => return Err(format!("{other}: no such option; {USAGE}")),
        }
    }
    Ok(orders)
}

fn read(file: &str) -> Result<Run, String> {
    let text = if file == "-" {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let text = text.map_err(|e| format!("{file}: {e}"))?;
    Run::from_json(&text).map_err(|e| e.to_string())
}

fn print(what: &impl serde::Serialize) -> Result<(), String> {
    let mut out = BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut out, what).map_err(|e| e.to_string())?;
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(|e| format!("the results cannot be written: {e}"))
}
