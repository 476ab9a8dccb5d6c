//! A whole download, from the document to the exit code.

use crate::address::Address;
use crate::bucket::Bucket;
use crate::connect::Connector;
use crate::folder::Folder;
use crate::journal::Journal;
use crate::names;
use crate::problem::Problem;
use crate::ranges::{Piece, Ranges};
use crate::report::{Report, Summary};
use crate::request::{self, Asking, First};
use crate::single;
use crate::supervisor::{Outcome, Supervisor};
use crate::wanted::Wanted;
use crate::worker::{Begun, CHUNK, Shared, State};
use hyper::StatusCode;
use hyper::header::ACCEPT_RANGES;
use sha2::{Digest, Sha256, Sha512};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Times that a file may change while it is downloaded.
const CHANGES: u32 = 3;
/// Exit codes of a program that a signal ended: 128 and its number.
const BY_SIGNAL: (u8, u8) = (130, 143);

/// Does what is wanted.
///
/// # Errors
/// Why there is no file.
pub fn run(wanted: &Wanted) -> Result<(), Problem> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Problem::failed(format!("get: {e}")))?;
    let done = runtime.block_on(whole(wanted));
    // A name that is being looked up would hold it for as long as that takes.
    runtime.shutdown_timeout(Duration::from_millis(10));
    done
}

async fn whole(wanted: &Wanted) -> Result<(), Problem> {
    let mut report = Report::new(wanted.quiet, wanted.json);
    let home = Address::parse(&wanted.url)?;
    let mut changes = 0;
    let why = loop {
        match download(wanted, &home, &mut report, None).await {
            Ok(Ended::Complete(summary)) => {
                report.done(*summary);
                return Ok(());
            }
            Ok(Ended::Changed) if changes < CHANGES => {
                changes += 1;
                report.say(&format!("{}: the file has changed on the server; it starts anew", home.text()));
            }
            Ok(Ended::Changed) => break "its pieces are of another file each time".to_owned(),
            Ok(Ended::NoPieces(why)) => break why,
            Err(problem) => {
                report.clear();
                return Err(problem);
            }
        }
    };
    // The last resort, with which other programs begin: all of it in one answer.
    let why = if why.contains("://") { why } else { format!("{}: {why}", home.text()) };
    report.say(&format!("{why}; it is asked for as a whole, over one connection"));
    match download(wanted, &home, &mut report, Some(&why)).await {
        Ok(Ended::Complete(summary)) => {
            report.done(*summary);
            Ok(())
        }
        Ok(Ended::Changed | Ended::NoPieces(_)) => Err(Problem::failed(why)),
        Err(problem) => {
            report.clear();
            Err(problem)
        }
    }
}

/// How a try ended that did not fail.
enum Ended {
    /// The file is there.
    Complete(Box<Summary>),
    /// It is another one now.
    Changed,
    /// The server's answers to requests of pieces cannot be used, and why.
    NoPieces(String),
}

/// A signal that ends it.
async fn told_to_end() -> Problem {
    let end = |code| Problem { text: "interrupted; the same command goes on".to_owned(), code };
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => end(BY_SIGNAL.0),
            _ = terminate.recv() => end(BY_SIGNAL.1),
        },
        _ => std::future::pending().await,
    }
}

/// The first piece that is worth asking for: the beginning, or the first gap of what an earlier download left.
fn first_piece(folder: &Folder) -> Piece {
    let gap = folder.earlier().and_then(|journal| Ranges::new(journal.total, &journal.finished).first_free());
    let start = gap.map_or(0, |gap| gap.start);
    Piece { start, end: gap.map_or(CHUNK, |gap| gap.end.min(start + CHUNK)) }
}

fn named(name: &str) -> Result<(), Problem> {
    if names::safe(name).as_deref() == Some(name)
        || (name.starts_with('.') && names::safe(name).as_deref() == Some(&name[1..]))
    {
        return Ok(());
    }
    Err(Problem::input(format!("--name: {name:?} is not the name of a file in --dir")))
}

/// One try: by pieces if the server gives them, or as a whole, because of what `as_a_whole` says.
async fn download(
    wanted: &Wanted,
    home: &Address,
    report: &mut Report,
    as_a_whole: Option<&str>,
) -> Result<Ended, Problem> {
    let (connector, asking) = (Connector::new(wanted), Asking::new(wanted, home)?);
    let guess = wanted.name.clone().unwrap_or_else(|| names::of_url(home));
    named(&guess)?;
    let mut folder = Folder::open(&wanted.dir, &guess)?;
    if wanted.name.is_some() {
        folder.may_be(wanted.force)?;
    }
    let piece = first_piece(&folder);
    let first = tokio::select! {
        first = request::first(&connector, &asking, home, as_a_whole.is_none().then_some(piece)) => first?,
        problem = told_to_end() => return Err(problem),
    };
    let partial = first.response.status() == StatusCode::PARTIAL_CONTENT;
    let file = request::described(first.response.headers(), partial);
    if let (None, Some(name)) = (&wanted.name, &file.name) {
        folder.name.clone_from(name);
    }
    folder.may_be(wanted.force)?;
    let none = first.response.headers().get(ACCEPT_RANGES).is_some_and(|value| value.as_bytes() == b"none");
    let bucket = wanted.limit_rate.map(|rate| Mutex::new(Bucket::new(rate, Instant::now())));
    let mut summary = Summary {
        url: home.text().to_owned(),
        file: folder.place().display().to_string(),
        bytes: 0,
        resumed_bytes: 0,
        received_bytes: 0,
        seconds: 0.0,
        goodput_bps: 0.0,
        http: first.link.version(),
        ranges: partial,
        checksum: None,
        connections: Vec::new(),
        windows: Vec::new(),
    };
    let part = match (file.total, file.validator, partial && !none) {
        (Some(total), Some(validator), true) => {
            if let Err(why) = request::is_piece(first.response.headers(), piece) {
                return Ok(Ended::NoPieces(why));
            }
            let (ranges, part) = gone_on(&folder, home, &validator, total, wanted.force, report)?;
            (summary.bytes, summary.resumed_bytes) = (total, ranges.there());
            let copy = part.try_clone().map_err(|e| Problem::failed(format!("a descriptor more: {e}")))?;
            let outcome = by_pieces(
                wanted,
                (connector, asking, bucket),
                first,
                (ranges, copy, validator, piece),
                &folder,
                report,
            )
            .await?;
            match outcome {
                Outcome::Complete => {}
                Outcome::Changed => {
                    folder.discard();
                    return Ok(Ended::Changed);
                }
                Outcome::NoPieces(why) => return Ok(Ended::NoPieces(why)),
            }
            summary.received_bytes = total - summary.resumed_bytes;
            part
        }
        _ => {
            let part = folder.start(false, wanted.force)?;
            folder.forget();
            report.step(
                1,
                match as_a_whole {
                    Some(_) => "the server's pieces cannot be used",
                    None if partial => "nothing says that pieces are of one file",
                    None => "the server gives no pieces",
                },
            );
            let first = if partial {
                drop(first);
                request::first(&connector, &asking, home, None).await?
            } else {
                first
            };
            let read =
                single::whole(first.response, &part, &folder.name, connector.patience(), bucket.as_ref(), report);
            let came = tokio::select! {
                came = read => came,
                problem = told_to_end() => Err(problem),
            };
            match came {
                Ok(bytes) => (summary.bytes, summary.received_bytes) = (bytes, bytes),
                Err(problem) => {
                    folder.discard();
                    return Err(problem);
                }
            }
            part
        }
    };
    summary.checksum = checked(wanted, &part, &folder)?;
    folder.finish(&part, wanted.force)?;
    Ok(Ended::Complete(Box::new(summary)))
}

/// What an earlier download left, if it is of this file; and the part, locked.
fn gone_on(
    folder: &Folder,
    home: &Address,
    validator: &str,
    total: u64,
    force: bool,
    report: &mut Report,
) -> Result<(Ranges, File), Problem> {
    let earlier = folder.earlier();
    let why = earlier.as_ref().and_then(|journal| {
        if journal.url != home.text() {
            Some("is of another URL")
        } else if journal.validator != validator || journal.total != total {
            Some("is of what the file was before it changed on the server")
        } else {
            None
        }
    });
    let part = folder.start(earlier.is_some() && why.is_none(), force)?;
    // Before the first byte: what ends it from now on leaves something that can go on.
    let keep = |ranges: Ranges| {
        folder.keep(&part, &Journal::new(home.text(), validator, total, ranges.finished()))?;
        Ok(ranges)
    };
    if let Some(why) = why {
        report.say(&format!("{}.part {why}; it starts anew", folder.name));
        return Ok((keep(Ranges::new(total, &[]))?, part));
    }
    // A part that is shorter than its journal says was changed by somebody.
    let long = part.metadata().map(|found| found.len()).unwrap_or(0);
    let finished: Vec<Piece> = earlier.into_iter().flat_map(|journal| journal.finished).collect();
    let finished: Vec<Piece> = finished.into_iter().filter(|piece| piece.end <= long).collect();
    Ok((keep(Ranges::new(total, &finished))?, part))
}

async fn by_pieces(
    wanted: &Wanted,
    (connector, asking, bucket): (Connector, Asking, Option<Mutex<Bucket>>),
    first: First,
    (mut ranges, part, validator, piece): (Ranges, File, String, Piece),
    folder: &Folder,
    report: &mut Report,
) -> Result<Outcome, Problem> {
    let First { link, response, address } = first;
    let begun = ranges.take_at(piece).map(|lease| Begun { link, response, lease });
    let state = State { ranges, crew: Vec::new(), received: 0, rate: 0.0, round_trip: Duration::ZERO, wanted: 1 };
    let shared = Shared { connector, asking, address, validator, part, bucket, state: Mutex::new(state) };
    let url = Address::parse(&wanted.url)?;
    Supervisor::new(shared, folder, report, url.text(), wanted).run(begun, told_to_end()).await
}

/// The checksum, if one was given.
fn checked(wanted: &Wanted, part: &File, folder: &Folder) -> Result<Option<String>, Problem> {
    let Some((algorithm, expected)) = &wanted.checksum else { return Ok(None) };
    let found = match algorithm.as_str() {
        "sha512" => digest::<Sha512>(part),
        _ => digest::<Sha256>(part),
    };
    let found = found.map_err(|e| Problem::failed(format!("{}.part: {e}", folder.name)))?;
    if found.eq_ignore_ascii_case(expected) {
        return Ok(Some(format!("{algorithm}={found}")));
    }
    let kept = format!("{} is kept; remove it to download again", folder.part_place().display());
    let file = folder.place();
    Err(Problem::failed(format!("{}: its {algorithm} is {found}, not {expected}; {kept}", file.display())))
}

fn digest<D: Digest>(file: &File) -> std::io::Result<String> {
    let (mut digest, mut buffer, mut at) = (D::new(), vec![0u8; 1 << 20], 0u64);
    loop {
        let read = file.read_at(&mut buffer, at)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        at += read as u64;
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
