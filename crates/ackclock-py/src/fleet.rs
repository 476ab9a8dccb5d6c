//! Many simulations in one process, stepped together on threads without the interpreter lock: each has one flow whose
//! controller is woken once per interval, and is told what somebody outside decides.

use crate::controller::{self, agent};
use crate::stepping::decision;
use crate::{interrupted, value_error};
use ackclock_core::time::Time;
use ackclock_sim::step::{Refused, Stop};
use ackclock_sim::{Run, Sim};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Numbers of a decision: window, threshold, rate. NaN leaves it as it is.
const DECISION: usize = 3;

/// What became of a run, the first number of its outcome.
#[derive(Clone, Copy)]
enum State {
    /// The controller was woken and waits for a decision.
    Running = 0,
    /// The run has ended.
    Ended = 1,
    /// Everything the flow had to send is delivered and closed.
    Completed = 2,
    /// Its connection failed.
    Failed = 3,
}

/// One of the simulations.
struct Slot {
    sim: Option<Sim>,
    flow: usize,
    /// The state, and the numbers of the interval.
    outcome: Vec<f64>,
}

/// A run to begin with: document, seed and replication.
type Begin = (usize, u64, u64);

#[derive(Clone, Copy)]
enum Work {
    Nothing,
    Begin(Begin),
    Decide([f64; DECISION]),
}

/// Simulations that are stepped together.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub struct Fleet {
    /// What they may play, with the number of the flow that is decided for.
    documents: Vec<(Run, usize)>,
    slots: Vec<Mutex<Slot>>,
    threads: usize,
}

impl Slot {
    fn begin(&mut self, documents: &[(Run, usize)], (document, seed, run): Begin) -> Result<(), String> {
        let Some((template, flow)) = documents.get(document) else { return Err(format!("no document {document}")) };
        let mut spec = template.clone();
        (spec.seed, spec.run) = (seed, run);
        (self.sim, self.flow) = (Some(Sim::new(&spec).map_err(|e| e.to_string())?), *flow);
        Ok(())
    }

    fn decide(&mut self, numbers: [f64; DECISION]) -> Result<(), String> {
        let sim = self.sim.as_mut().ok_or("a simulation must be begun before it is stepped")?;
        let [cwnd, ssthresh, rate] = numbers.map(|x| (!x.is_nan()).then_some(x));
        let decision = decision(cwnd, ssthresh, rate)?;
        match sim.decide(self.flow, &decision) {
            // The connection may have failed meanwhile; the outcome says so.
            Ok(()) | Err(Refused::NotOpen(_)) => Ok(()),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Plays until the controller is woken again; false when interrupted.
    fn play(&mut self, stopped: impl Fn() -> bool) -> bool {
        let Some(sim) = &mut self.sim else { return true };
        let state = loop {
            match sim.play_until(Time::NEVER, &stopped) {
                Ok(Stop::Wake(flow)) if flow == self.flow => {
                    // What would be decided at the very end has no consequence.
                    break if sim.now() < sim.end() { State::Running } else { State::Ended };
                }
                Ok(Stop::Closed(flow)) if flow == self.flow => break State::Completed,
                // Another flow that somebody outside could decide for: it goes on as it is.
                Ok(Stop::Wake(_) | Stop::Closed(_)) => {}
                Ok(Stop::Time | Stop::End) => break State::Ended,
                Err(_) => return false,
            }
        };
        let state = match state {
            State::Ended if sim.flow_state(self.flow).failed => State::Failed,
            State::Ended if sim.flow_state(self.flow).completed => State::Completed,
            other => other,
        };
        if !matches!(state, State::Running) {
            sim.measure(self.flow);
        }
        self.outcome.clear();
        self.outcome.push(f64::from(state as u8));
        match sim.interval(self.flow) {
            Some(interval) => self.outcome.extend(agent::row(interval)),
            None => self.outcome.extend(agent::FIELDS.iter().map(|_| f64::NAN)),
        }
        if !matches!(state, State::Running) {
            self.sim = None;
        }
        true
    }

    fn work(&mut self, documents: &[(Run, usize)], work: Work, stopped: impl Fn() -> bool) -> Result<bool, String> {
        match work {
            Work::Nothing => return Ok(true),
            Work::Begin(begin) => self.begin(documents, begin)?,
            Work::Decide(numbers) => self.decide(numbers)?,
        }
        Ok(self.play(stopped))
    }
}

#[pymethods]
impl Fleet {
    /// `size` simulations of these resolved runs and the numbers of the flows that are decided for.
    #[new]
    fn new(documents: Vec<(String, usize)>, size: usize, threads: usize) -> PyResult<Fleet> {
        let read = |(text, flow): &(String, usize)| {
            let run = Run::from_json(text).map_err(value_error)?;
            if controller::any(&run) {
                let problem = "a controller in Python cannot play on several threads; use a single environment";
                return Err(PyValueError::new_err(problem));
            }
            Sim::new(&run).map_err(value_error)?;
            Ok((run, *flow))
        };
        let slot = || Mutex::new(Slot { sim: None, flow: 0, outcome: vec![f64::NAN; 1 + agent::FIELDS.len()] });
        Ok(Fleet {
            documents: documents.iter().map(read).collect::<PyResult<_>>()?,
            slots: (0..size).map(|_| slot()).collect(),
            threads: threads.clamp(1, size.max(1)),
        })
    }

    /// Begins and steps simulations: `decisions` has three numbers (f64) for each, `begins` the document, seed and
    /// replication of those that begin anew, `idle` those that are left alone. The outcomes, as [`Fleet::columns`] names them.
    fn step<'py>(
        &self,
        py: Python<'py>,
        decisions: &[u8],
        begins: Vec<(usize, Begin)>,
        idle: Vec<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let n = self.slots.len();
        if decisions.len() != n * DECISION * 8 {
            let problem = format!("{} bytes of decisions for {n} simulations", decisions.len());
            return Err(PyValueError::new_err(problem));
        }
        let number = |c: &[u8]| c.try_into().map_or(f64::NAN, f64::from_ne_bytes);
        let mut numbers = decisions.chunks_exact(8).map(number);
        let mut work: Vec<Work> = Vec::with_capacity(n);
        for _ in 0..n {
            work.push(Work::Decide([(); DECISION].map(|()| numbers.next().unwrap_or(f64::NAN))));
        }
        for (i, begin) in begins {
            *work.get_mut(i).ok_or_else(|| PyValueError::new_err(format!("no simulation {i}")))? = Work::Begin(begin);
        }
        for i in idle {
            *work.get_mut(i).ok_or_else(|| PyValueError::new_err(format!("no simulation {i}")))? = Work::Nothing;
        }
        let stopped = AtomicBool::new(false);
        let outcome = py.detach(|| self.work(&work, &stopped));
        outcome.map_err(PyValueError::new_err)?;
        py.check_signals()?;
        if stopped.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        let mut bytes = Vec::with_capacity(n * (1 + agent::FIELDS.len()) * 8);
        for slot in &self.slots {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.outcome.iter().for_each(|x| bytes.extend(x.to_ne_bytes()));
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// Names of the numbers of an outcome.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        [&["state"], agent::FIELDS].concat()
    }
}

impl Fleet {
    /// Does the work of every simulation, each taken by whichever thread is free.
    fn work(&self, work: &[Work], stopped: &AtomicBool) -> Result<(), String> {
        let next = AtomicUsize::new(0);
        let problem = Mutex::new(None);
        let some = |stopped: &dyn Fn() -> bool| loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let (Some(slot), Some(work)) = (self.slots.get(i), work.get(i)) else { return };
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = slot.work(&self.documents, *work, stopped) {
                problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        std::thread::scope(|s| {
            for _ in 1..self.threads {
                s.spawn(|| some(&|| stopped.load(Ordering::Relaxed)));
            }
            // Signals are for the thread that Python called.
            some(&|| {
                if Python::attach(|py| py.check_signals()).is_err() {
                    stopped.store(true, Ordering::Relaxed);
                }
                stopped.load(Ordering::Relaxed)
            });
        });
        let problem = problem.into_inner().unwrap_or_else(PoisonError::into_inner);
        problem.map_or(Ok(()), Err)
    }
}
