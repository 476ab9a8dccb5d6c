//! Programs of a user behind the path of a scenario.
//!
//! Two hosts, one at each end of the way of the run's last flow, have nothing but the path. The programs run in a world of
//! processes of their own, whose first is a copy of this one ([`init`]); it ends with this one, and everything with it.
//!
//! * [`wanted`]: what is asked for; [`ends`]: the hosts; [`nat`]: the way out of them; [`inside`]: what is otherwise in a guest
//! * [`watch`]: what is seen of the path meanwhile; [`status`]: what is shown of it; [`rows`]: what the tables say

pub mod ends;
pub mod init;
pub mod inside;
mod nat;
mod rows;
pub mod status;
pub mod wanted;
pub mod watch;

use crate::agent::{Agent, Report, Trouble};
use crate::driver::drive;
use crate::kernel::Kernel;
use crate::path::Network;
use crate::play::{self, Emulation, Orders};
use crate::prepare;
use crate::series::LinkSeries;
use crate::starved::Starved;
use crate::sys::clock::{Clock, timespec};
use crate::sys::namespace::{Namespace, first_of_its_own};
use crate::sys::process;
use crate::sys::realtime;
use crate::sys::signals::{OF_TERMINALS, Signals, ignore};
use crate::sys::terminal::Before;
use crate::sys::tun::Device;
use ackclock_capture::write::{LinkType, Writer};
use ackclock_core::packet::Family;
use ackclock_core::time::{Span, Time};
use ackclock_run::{Output, Run, ways};
use ends::{Ends, addresses};
use init::{Around, Init, News, Order};
use inside::{Inside, Takers};
use nat::WayOut;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, write};
use rustix::process::Signal;
use serde::Serialize;
use status::Status;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use wanted::{End, Wanted};
use watch::{Live, Pages, Watch};

/// How a shell went.
#[derive(Debug, Serialize)]
pub struct Played {
    /// The tables.
    pub output: Output,
    /// How the path went.
    pub emulation: Emulation,
    /// How the programs did.
    pub shell: Shell,
}

/// How the programs did.
#[derive(Debug, Serialize)]
pub struct Shell {
    /// The exit code: the program's, or that of who ended it.
    pub exit: i32,
    /// Who ended it: `itself`, `limit` or `signal`.
    pub by: &'static str,
    /// How long it took, nanoseconds.
    pub duration_ns: u64,
    /// Bytes and packets that came out of the path, to the client and to the server.
    pub delivered: [[u64; 2]; 2],
    /// Packets in the capture.
    pub captured: u64,
    /// The exit code of the server, if it ended by itself.
    pub server: Option<i32>,
    /// The controller that connections of the programs begin with: what a program does not choose.
    pub controller: String,
}

/// As timeout(1) has it.
const LIMIT: i32 = 124;
/// Time between two looks at what is shown, and how long programs may take to end, nanoseconds.
const SHOW: u64 = 250_000_000;
/// See [`SHOW`].
const MERCY: u64 = 2_000_000_000;
/// Before the begin of the clock: both threads are there by then. Nanoseconds.
const AHEAD: u64 = 5_000_000;

/// Plays `run` with programs in the place of its last flow, as `wanted`, and `inside` if this is a guest. `life` can be read when
/// nobody waits for it any more. `ready` is called when all is made and the program is the next to be started.
///
/// # Errors
/// What the host cannot do of it, or what was not started, and the exit code for that.
pub fn play(
    mut run: Run,
    wanted: &Wanted,
    orders: &Orders,
    (life, inside): (&OwnedFd, Option<&Inside>),
    ready: impl FnOnce() -> io::Result<()>,
) -> Result<Played, (String, i32)> {
    let trouble = |e: Trouble| (e.to_string(), 2);
    let refused = |e: String| (e, 2);
    let last =
        run.flows.len().checked_sub(1).ok_or_else(|| refused("flows: there is none for the shell".to_owned()))?;
    let before = Before::now();
    OF_TERMINALS.into_iter().for_each(|signal| ignore(signal, true));
    let signals = Signals::new(&[Signal::TERM, Signal::HUP]).map_err(|e| refused(e.to_string()))?;
    let right = process::may_make_networks(false).map_err(refused)?;
    let outside = Namespace::current().map_err(|e| refused(e.to_string()))?;
    process::many_files();

    // What cannot be had is said before anything is started.
    wanted.nat.then(|| nat::allowed(right)).transpose().map_err(refused)?;
    let flows = Run { flows: if wanted.with_flows { run.flows[..last].to_vec() } else { Vec::new() }, ..run.clone() };
    let options = prepare::options(&flows, &Kernel::here(orders.time_stands_still)).map_err(|e| trouble(e.into()))?;
    play::set_parameters(&options).map_err(trouble)?;
    if !wanted.with_flows {
        run.flows.drain(..last);
    }
    let last = run.flows.len() - 1;
    let size = options.iter().map(|o| o.host.mtu).chain([wanted.mtu]).max().unwrap_or_default() as usize;
    let every = play::cells_every(&run);
    let network = Network::new(&run, (orders.family, size), every).map_err(|e| trouble(e.into()))?;
    let series = LinkSeries::of(&run).map_err(|e| trouble(e.into()))?;
    if let Some(i) = run.flows.iter().position(|f| f.relay.is_some()) {
        return Err(refused(format!("flows.{i}.relay: a shell has no relays; leave it out")));
    }
    let (hosts, mut devices) = play::hosts(&flows, orders, &options, &[]).map_err(trouble)?;
    let mut ends = Ends::new(wanted, run.engine.offload).map_err(refused)?;
    devices.extend(std::mem::take(&mut ends.devices).into_iter().map(Some));
    let way_out = if wanted.nat { Some(nat::open(wanted.level, &ends, &outside).map_err(refused)?) } else { None };

    let (ours, theirs) = UnixStream::pair().map_err(|e| refused(e.to_string()))?;
    let environment = environment(wanted, ends.version_6);
    let names = ends::names(wanted.level, ends.version_6);
    let (outputs, sources) = inside.map(|_| inside::outputs()).transpose().map_err(|e| refused(e.to_string()))?.unzip();
    let child = first_of_its_own().map_err(|e| refused(format!("a world of processes of its own: {e}")))?;
    if child.is_none() {
        drop(ours);
        if let Some(processor) = orders.pin {
            // The path's thread says what is wrong with it.
            let _ = realtime::pin(processor, true);
        }
        drop(sources);
        let guest = inside.zip(outputs);
        init::be(wanted, &ends.namespaces, theirs, Around { names: &names, environment: &environment, right, guest });
    }
    drop((theirs, outputs));
    let takers = sources.map(Takers::new);
    let mut init = Init::new(ours);
    let made =
        init.news().map_err(|_| refused("the programs' own world of processes did not come about".to_owned()))?;
    let missing = match made {
        News::Ready(missing) => missing,
        News::NotStarted(why, code) => return Err((why, code)),
        _ => Vec::new(),
    };
    if wanted.server.is_some() {
        let said = init.order(Order::Server).and_then(|()| init.news());
        if let News::NotStarted(why, code) = said.map_err(|e| refused(format!("--server: {e}")))? {
            return Err((format!("--server: {why}"), if code == 127 { 127 } else { 2 }));
        }
    }
    ready().map_err(|e| refused(format!("nobody waits for it: {e}")))?;
    let stage = Stage { run, wanted, orders, last, network, series, devices, missing, controller: ends.controller };
    let agent = |clock| -> Result<Option<Agent<'_>>, Trouble> {
        if flows.flows.is_empty() {
            return Ok(None);
        }
        Agent::new(&flows, (orders.family, clock), &hosts, options, &[]).map(Some)
    };
    let played = stage.play(agent, (&mut init, &signals, life), before.as_ref());
    way_out.into_iter().for_each(WayOut::close);
    // With it everybody ends who could write.
    drop(init);
    let taken = takers.map_or(Ok(()), Takers::finish);
    taken.map_err(|e| (format!("what the program wrote cannot be kept: {e}"), 1)).and(played)
}

/// What the programs are told of where they are.
fn environment(wanted: &Wanted, version_6: bool) -> Vec<(String, String)> {
    let mut told = vec![("ACKCLOCK_LEVEL".to_owned(), wanted.level.to_string())];
    for (name, end) in [("ACKCLOCK_SERVER", End::Server), ("ACKCLOCK_CLIENT", End::Client)] {
        let [v4, v6] = addresses(wanted.level, end).map(|address| address.to_string());
        told.push((name.to_owned(), v4));
        if version_6 {
            told.push((format!("{name}6"), v6));
        }
    }
    told
}

/// Everything that was made before the clock begins.
struct Stage<'a> {
    run: Run,
    wanted: &'a Wanted,
    orders: &'a Orders,
    /// The number of the shell's flow.
    last: usize,
    network: Network,
    series: LinkSeries,
    devices: Vec<Option<Device>>,
    missing: Vec<String>,
    controller: String,
}

impl Stage<'_> {
    fn play<'b>(
        self,
        agent: impl FnOnce(Clock) -> Result<Option<Agent<'b>>, Trouble>,
        (init, signals, life): (&mut Init, &Signals, &OwnedFd),
        before: Option<&Before>,
    ) -> Result<Played, (String, i32)> {
        let Stage { mut run, wanted, orders, last, mut network, mut series, devices, missing, controller } = self;
        let refused = |e: String| (e, 2);
        for link in &mut network.links {
            link.common.stats.log = series.changes.then(Vec::new);
        }
        network.open(last);
        network.reserve(play::under_way(&run) as usize);
        let over = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| refused(e.to_string()))?;
        let live = Live::default();
        let (sender, pages) = channel();
        let file = wanted.capture.as_ref().map(|name| File::create(name).map_err(|e| refused(format!("{name}: {e}"))));
        let file = file.transpose()?;
        let link_type = (LinkType::Raw, Family::V6);
        let writer =
            file.as_ref().map(|_| Writer::new(Pages(sender), link_type, &wanted.comment, &["server", "client"]));
        let mut watch = Watch::new(&run, last, &over, live.clone(), writer);
        let tolerance = play::tolerance(&run, &network);
        let spacing = if orders.time_stands_still { Span::ZERO } else { tolerance.spacing() };
        let clock = Clock::ahead(AHEAD, orders.time_stands_still).spaced(spacing);
        let mut agent = agent(clock).map_err(|e| refused(e.to_string()))?;
        if let Some(agent) = &mut agent {
            agent.stop_with(&over).map_err(|e| refused(e.to_string()))?;
        }
        let end = Time(run.duration_ns);

        let (driven, granted, cpu_s, ended, written) = thread::scope(|scope| {
            let written = file.map(|file| scope.spawn(move || write_pages(file, &pages)));
            let path = scope.spawn(|| {
                if let Some(processor) = orders.pin {
                    realtime::pin(processor, false)?;
                }
                let granted = realtime::ask();
                let driven = drive(&mut network, &devices, &clock, end, &mut series, &mut watch);
                let driven = driven.map_err(|e| format!("the path cannot be driven: {e}"))?;
                let captured = watch.finish().map_err(|e| format!("the capture cannot be written: {e}"));
                Ok::<_, String>((driven, granted, process::cpu_of_thread(), captured))
            });
            let flows = agent.as_mut().map(|agent| {
                scope.spawn(|| {
                    realtime::behind();
                    agent.play()
                })
            });
            let ended = attend(wanted, init, signals, life, (&clock, &live));
            if let Some(before) = before {
                before.restore();
            }
            let _ = write(&over, &1u64.to_ne_bytes());
            let path = path.join().map_err(|_| refused("the thread of the path has panicked".into()))?;
            if let Some(flows) = flows {
                let played = flows.join().map_err(|_| refused("the thread of the flows has panicked".into()))?;
                played.map_err(|e| refused(e.to_string()))?;
            }
            let (driven, granted, cpu, captured) = path.map_err(refused)?;
            let written = written.map_or(Ok(Ok(())), |thread| thread.join());
            let written = written.unwrap_or_else(|_| Err("the thread of the capture has panicked".into()));
            Ok::<_, (String, i32)>((driven, granted, cpu, ended?, written.and(captured)))
        })?;
        let until = clock.now().max(Time(1));
        run.duration_ns = until.0;
        run.warmup_ns = run.warmup_ns.min(until.0 - 1);
        for link in &mut network.links {
            link.common.stats.ends(until);
        }
        network.finish(until);
        let (mut report, mut notes, limits) = match agent {
            Some(mut agent) => {
                let (notes, limits) = (agent.notes(), agent.limits());
                (agent.report(&network.tallies[..last], &[]), notes, limits)
            }
            None => (Report::default(), Default::default(), Vec::new()),
        };
        let best = ways::best(&ways::drawn(&run.flows[last], &run), &run, &network.others);
        let window = (Time(run.warmup_ns), until);
        report.flows.push(rows::row(&run.flows[last], &network.tallies[last], best.rtt as f64 * 1e-9, window));
        report.packets += network.tallies[last].sent;
        notes.extend(missing.into_iter().map(|what| format!("the system does not allow programs in a shell {what}")));
        let captured = written.unwrap_or_else(|problem| {
            notes.add_text(format!("the capture is not complete: {problem}"));
            0
        });
        // Whether the programs had a processor when they needed one nobody watches: they are the user's.
        let waited = Starved::new(Vec::new(), &tolerance).found(until);
        let emulation =
            play::emulation(&run, orders, (&driven, granted, cpu_s, waited), (&network, Vec::new(), limits, 0));
        let count = |way: &watch::Way| [way.bytes.load(Relaxed), way.packets.load(Relaxed)];
        let shell = Shell {
            exit: ended.exit,
            by: ended.by,
            duration_ns: until.0,
            delivered: [count(&live[0]), count(&live[1])],
            captured,
            server: ended.server,
            controller,
        };
        let output = play::output(&run, network, series, (report, notes), driven.wakes);
        Ok(Played { output, emulation, shell })
    }
}

fn write_pages(mut file: File, pages: &Receiver<Vec<u8>>) -> Result<(), String> {
    for page in pages {
        file.write_all(&page).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// How it ended.
struct Ended {
    exit: i32,
    by: &'static str,
    server: Option<i32>,
}

/// Starts the program, and waits until it has ended, or has to.
fn attend(
    wanted: &Wanted,
    init: &mut Init,
    signals: &Signals,
    life: &OwnedFd,
    (clock, live): (&Clock, &Live),
) -> Result<Ended, (String, i32)> {
    let gone = |_| ("the programs' own world of processes has ended".to_owned(), 1);
    clock.await_begin();
    init.order(Order::Command).map_err(gone)?;
    let mut status = Status::new(wanted.status);
    let mut ended = Ended { exit: 0, by: "itself", server: None };
    let mut limit = wanted.limit_ns;
    let mut shown = Time::ZERO;
    let result = loop {
        let now = clock.now();
        let next = if status.is_some() { Some(shown.0 + SHOW) } else { None };
        let next = next.into_iter().chain(limit).min();
        let wait = next.map(|at| timespec(at.saturating_sub(now.0)));
        let mut fds = [
            PollFd::new(init.fd(), PollFlags::IN),
            PollFd::new(signals.fd(), PollFlags::IN),
            PollFd::new(life, PollFlags::IN),
        ];
        if !init.has_news() {
            match poll(&mut fds, wait.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => break Err((error.to_string(), 1)),
            }
        }
        let [news, signal, alone] = fds.map(|fd| !fd.revents().is_empty());
        if news || init.has_news() {
            match init.news() {
                Ok(News::Ended(code)) => {
                    ended.exit = if ended.by == "itself" { code } else { ended.exit };
                    break Ok(ended);
                }
                Ok(News::NotStarted(why, code)) => break Err((why, code)),
                Ok(News::ServerEnded(code)) => ended.server = Some(code),
                Ok(News::Ready(_) | News::Server) => {}
                Err(_) => break Ok(ended),
            }
        }
        let came = signal.then(|| signals.take()).flatten().or(alone.then_some(Signal::HUP.as_raw()));
        let now = clock.now();
        let late = limit.is_some_and(|limit| now.0 >= limit);
        if late && ended.by != "itself" {
            break Ok(ended);
        }
        if late || (came.is_some() && ended.by == "itself") {
            (ended.exit, ended.by) = came.map_or((LIMIT, "limit"), |signal| (128 + signal, "signal"));
            limit = Some(now.0 + MERCY);
            if init.order(Order::End).is_err() {
                break Ok(ended);
            }
        }
        if let Some(status) = status.as_mut().filter(|_| now.0 >= shown.0 + SHOW) {
            status.show(live);
            shown = now;
        }
    };
    if let Some(status) = status {
        status.clear();
    }
    result
}
