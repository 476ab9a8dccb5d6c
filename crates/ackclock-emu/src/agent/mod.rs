//! The applications of a run on sockets: what the simulator's host is to its endpoints, this is to the kernel's.
//!
//! One thread holds both ends of all flows. A socket stays in the network in which it was made, so the thread visits the
//! networks of the hosts only to make sockets.
//!
//! * [`options`]: which options of an endpoint the kernel has, and how they are set; [`memory`]: what a window takes;
//!   [`controllers`]: the kernel's names
//! * [`flow`]: a flow and its connections; [`acting`]: what an application can do; [`news`]: what it is told
//! * [`sockets`]: made, read and written; [`ready`]: which of them have something; [`sampling`]: what is asked of the kernel
//! * [`rows`]: the results; [`split`]: those of flows that are split

pub mod acting;
mod controllers;
pub mod flow;
mod memory;
mod news;
pub mod options;
mod ready;
mod rows;
mod sampling;
mod sockets;
mod split;
mod totals;

use crate::host::Host;
use crate::relay::Split;
use crate::sys::clock::Clock;
use crate::sys::counters::Counters;
use ackclock_core::packet::Family;
use ackclock_core::time::Time;
use ackclock_run::output::FlowRow;
use ackclock_run::rows::{ObjectRow, PageRow, TransferRow};
use ackclock_run::series::Sample;
use ackclock_run::warnings::Warnings;
use ackclock_run::{Run, SpecError};
use flow::{Connection, Flow};
use options::Options;
use rustix::event::epoll::{self, CreateFlags, EventFlags};
use rustix::fd::OwnedFd;
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// What calls of applications have left to be done.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Something may have happened at this side of which its application does not know.
    Tell(u32),
    /// There may be something to write at this side.
    Write(u32),
    /// The connection that this end of this flow opened could not be.
    Refused(u32, usize, u64),
}

/// The applications and their sockets.
pub struct Agent<'a> {
    run: &'a Run,
    family: Family,
    clock: Clock,
    now: Time,
    from: Time,
    end: Time,
    poll: OwnedFd,
    hosts: &'a [Host],
    /// By host, how its sockets are set.
    options: Vec<Options>,
    /// By host, which one its connections go to.
    far: Vec<usize>,
    splits: &'a [Split],
    /// Where connections are accepted, and where datagrams come, of each host.
    listeners: Vec<Option<OwnedFd>>,
    datagrams: Vec<Option<OwnedFd>>,
    flows: Vec<Flow>,
    connections: Vec<Connection>,
    /// Number of a connection by its flow and the port it was opened from.
    ports: BTreeMap<(u32, u16), u32>,
    work: VecDeque<Work>,
    sampler: sampling::Sampler,
    /// What the kernel of each flow's source had counted when the measurement began.
    counted: Vec<Counters>,
    scratch: Vec<u8>,
    /// What a reader of the results should know.
    pub warnings: Warnings,
}

/// Zeros that are written, and room for what is read.
const SCRATCH: usize = 256 * 1024;

impl<'a> Agent<'a> {
    /// Those of `run` on `hosts`, two of each flow, which have `options`; between those of `splits` is a proxy.
    ///
    /// # Errors
    /// What is wrong with the document, or which socket the system does not give.
    pub fn new(
        run: &'a Run,
        (family, clock): (Family, Clock),
        hosts: &'a [Host],
        options: Vec<Options>,
        splits: &'a [Split],
    ) -> Result<Agent<'a>, Trouble> {
        let poll = epoll::create(CreateFlags::CLOEXEC).map_err(|e| Trouble::System("epoll".into(), e.into()))?;
        let others = ackclock_run::others::Others::of(run, None)?;
        let mut flows = Vec::with_capacity(run.flows.len());
        for (i, spec) in run.flows.iter().enumerate() {
            flows.push(Flow::of(spec, run, &others, &format!("flows.{i}"))?);
        }
        let mut options: Vec<Options> = options.into_iter().flat_map(|of| [of.clone(), of]).collect();
        let mut far: Vec<usize> = (0..hosts.len()).map(|host| host ^ 1).collect();
        for split in splits {
            for (end, leg) in split.legs.into_iter().enumerate() {
                flows[leg].be_leg(split.whole);
                options[2 * split.whole + end] = options[2 * leg + end].clone();
                far[2 * split.whole + end] = 2 * leg + (end ^ 1);
            }
        }
        let sampler = sampling::Sampler::of(run)?;
        let none = |n: usize| (0..n).map(|_| None).collect::<Vec<Option<OwnedFd>>>();
        let mut agent = Agent {
            run,
            family,
            clock,
            now: Time::ZERO,
            from: Time(run.warmup_ns),
            end: Time(run.duration_ns),
            poll,
            hosts,
            options,
            far,
            splits,
            listeners: none(hosts.len()),
            datagrams: none(hosts.len()),
            flows,
            connections: Vec::new(),
            ports: BTreeMap::new(),
            work: VecDeque::new(),
            sampler,
            counted: vec![Counters::new(); run.flows.len()],
            scratch: vec![0; SCRATCH],
            warnings: Warnings::default(),
        };
        for flow in 0..agent.flows.len() {
            agent.listen(flow)?;
        }
        Ok(agent)
    }
}

impl Agent<'_> {
    /// The run ends before its time once `over` can be read.
    ///
    /// # Errors
    /// The system cannot watch it.
    pub fn stop_with(&mut self, over: &OwnedFd) -> Result<(), Trouble> {
        let added = epoll::add(&self.poll, over, sockets::Of::Over.data(), EventFlags::IN);
        added.map_err(|e| Trouble::System("epoll".into(), e.into()))
    }
}

/// Why a run cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The document.
    #[error(transparent)]
    Document(#[from] SpecError),
    /// The system: what was asked of it, and what it said.
    #[error("{0}: {1}")]
    System(String, io::Error),
    /// The host cannot do this.
    #[error("{0}")]
    Host(String),
}

/// What the agent has to report.
#[derive(Default)]
pub struct Report {
    /// Flows, in the order of the document.
    pub flows: Vec<FlowRow>,
    /// Their transfers.
    pub transfers: Vec<TransferRow>,
    /// Their pages.
    pub pages: Vec<PageRow>,
    /// The objects of these.
    pub objects: Vec<ObjectRow>,
    /// What applications measured: flow, name, value.
    pub measures: Vec<(u32, &'static str, f64)>,
    /// Series of flows.
    pub samples: Vec<Sample>,
    /// Data segments sent.
    pub packets: u64,
}
