//! All connections of a download: who begins and who ends, when the number is decided, and what is kept meanwhile.

use crate::folder::Folder;
use crate::journal::Journal;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::report::Report;
use crate::wanted::Wanted;
use crate::worker::{Begun, End, Member, Shared, work};
use ackclock_core::app::parallel::{self, Parallel, Why};
use ackclock_core::time::Span;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

/// Time between two looks at the sockets.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two journals.
const KEEP: Duration = Duration::from_secs(1);
/// Weight of the newest look in the rate of late.
const NEWEST: f64 = 0.1;
/// Why a number that was given is what it is.
const AS_ASKED: &str = "as it was asked for";
/// Longest wait after failures.
const LONGEST_WAIT: f64 = 30.0;

/// How all of it ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every byte is there.
    Complete,
    /// The file is another one now.
    Changed,
    /// The server's answers to requests of pieces cannot be used, and why; little has come.
    NoPieces(String),
}

/// Who decides on the number.
enum Number {
    Fixed(u32, &'static str),
    Decided(Box<Parallel>),
}

impl Number {
    fn now(&self) -> (u32, &'static str) {
        match self {
            Number::Fixed(count, why) => (*count, why),
            Number::Decided(policy) => (policy.decision().connections, policy.decision().why.word()),
        }
    }
}

/// One download that has begun.
pub struct Supervisor<'a> {
    shared: Arc<Shared>,
    folder: &'a Folder,
    report: &'a mut Report,
    url: String,
    number: Number,
    limit: Option<u64>,
    retries: u32,
    meter: Meter,
    crew: JoinSet<(u64, End)>,
    next: u64,
    failures: u32,
    wait_until: Instant,
    keeping: Option<JoinHandle<Result<(), Problem>>>,
    kept: Instant,
    window: (Instant, u64),
    looked: (Instant, u64),
}

impl<'a> Supervisor<'a> {
    /// With what its connections have in common.
    pub fn new(
        shared: Shared,
        folder: &'a Folder,
        report: &'a mut Report,
        url: &str,
        wanted: &Wanted,
    ) -> Supervisor<'a> {
        let number = wanted.connections.map_or_else(
            || Number::Decided(Box::new(Parallel::new(wanted.max))),
            |count| Number::Fixed(count, AS_ASKED),
        );
        let now = Instant::now();
        let (url, limit, retries) = (url.to_owned(), wanted.limit_rate, wanted.retries);
        let (meter, crew, shared) = (Meter::default(), JoinSet::new(), Arc::new(shared));
        Supervisor {
            shared,
            folder,
            report,
            url,
            number,
            limit,
            retries,
            meter,
            crew,
            next: 0,
            failures: 0,
            wait_until: now,
            keeping: None,
            kept: now,
            window: (now, 0),
            looked: (now, 0),
        }
    }

    /// Until all is there, nothing can go on, or it is `told_to_end`. What is there is kept in either case.
    ///
    /// # Errors
    /// Nothing can go on.
    pub async fn run(
        mut self,
        begun: Option<Begun>,
        told_to_end: impl Future<Output = Problem>,
    ) -> Result<Outcome, Problem> {
        if let Some(begun) = begun {
            self.hire(Some(begun));
        }
        let outcome = tokio::select! {
            outcome = self.watch() => outcome,
            problem = told_to_end => Err(problem),
        };
        self.crew.shutdown().await;
        if let Some(keeping) = self.keeping.take() {
            let _ = keeping.await;
        }
        if !matches!(outcome, Ok(Outcome::Changed)) {
            self.folder.keep(&self.shared.part, &self.journal())?;
        }
        outcome
    }

    async fn watch(&mut self) -> Result<Outcome, Problem> {
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.staff();
            if self.complete() {
                return Ok(Outcome::Complete);
            }
            tokio::select! {
                ended = self.crew.join_next(), if !self.crew.is_empty() => {
                    let Some(ended) = ended else { continue };
                    let (id, end) = ended.map_err(panicked)?;
                    if let Some(outcome) = self.left(id, end)? {
                        return Ok(outcome);
                    }
                }
                _ = ticks.tick() => self.look().await?,
            }
        }
    }

    fn complete(&self) -> bool {
        let state = self.shared.state();
        state.ranges.there() == state.ranges.total()
    }

    fn journal(&self) -> Journal {
        let state = self.shared.state();
        Journal::new(&self.url, &self.shared.validator, state.ranges.total(), state.ranges.finished())
    }

    /// As many connections as are wanted, as far as there is work for them.
    fn staff(&mut self) {
        let (wanted, why) = self.number.now();
        self.report.step(wanted, why);
        loop {
            let mut state = self.shared.state();
            state.wanted = wanted;
            let active = state.crew.iter().filter(|member| !member.retired).count();
            if active > wanted as usize {
                // The last that came goes first: it has the shortest way back.
                if let Some(member) = state.crew.iter_mut().rev().find(|member| !member.retired) {
                    member.retired = true;
                }
                continue;
            }
            let work = state.ranges.free() > 0 || state.ranges.longest() / 2 >= state.crumb(true);
            if active == wanted as usize || !work || Instant::now() < self.wait_until {
                return;
            }
            // Those that have taken nothing yet will take what there is.
            let idle = state.crew.iter().filter(|member| !member.at_work).count();
            if idle > 0 && state.ranges.free() == 0 {
                return;
            }
            drop(state);
            self.hire(None);
        }
    }

    fn hire(&mut self, begun: Option<Begun>) {
        let id = self.next;
        self.next += 1;
        self.shared.state().crew.push(Member { id, socket: None, at_work: false, retired: false });
        let shared = Arc::clone(&self.shared);
        self.crew.spawn(async move { (id, work(shared, id, begun).await) });
    }

    /// A connection ended.
    fn left(&mut self, id: u64, end: End) -> Result<Option<Outcome>, Problem> {
        let (brought, others) = {
            let mut state = self.shared.state();
            let brought = state.crew.iter().any(|member| member.id == id && member.at_work);
            state.crew.retain(|member| member.id != id);
            let others = state.crew.iter().filter(|member| member.at_work).count();
            (brought, u32::try_from(others).unwrap_or(u32::MAX))
        };
        if brought {
            self.failures = 0;
        }
        let refused = matches!(end, End::Refused(_));
        let why = match end {
            End::Done => return Ok(None),
            End::Changed => return Ok(Some(Outcome::Changed)),
            End::Broken(problem) => return Err(problem),
            End::NoPiece(why) => return self.without_pieces(why).map(Some),
            End::Lost(why) | End::Refused(why) => why,
        };
        if !brought && others > 0 {
            // Those that are there work: it is this one more that is not wanted.
            if let Number::Decided(policy) = &mut self.number {
                policy.refused(others);
                return Ok(None);
            }
            if refused {
                self.number = Number::Fixed(others, Why::Refused.word());
                return Ok(None);
            }
        }
        self.failures += 1;
        if self.failures > self.retries {
            return if refused { self.without_pieces(why).map(Some) } else { Err(self.kept_for_later(&why)) };
        }
        let wait = (0.25 * 2f64.powi(self.failures.min(10) as i32)).min(LONGEST_WAIT);
        self.wait_until = Instant::now() + Duration::from_secs_f64(wait);
        Ok(None)
    }

    /// The server does not give this piece, or no more of them. To ask for the whole file throws away what has come: where that is
    /// half of it, the same command may go on later.
    fn without_pieces(&self, why: String) -> Result<Outcome, Problem> {
        let (there, total) = {
            let state = self.shared.state();
            (state.ranges.there(), state.ranges.total())
        };
        if there >= total / 2 { Err(self.kept_for_later(&why)) } else { Ok(Outcome::NoPieces(why)) }
    }

    fn kept_for_later(&self, why: &str) -> Problem {
        let there = &self.folder.name;
        Problem::failed(format!("{why}; what has come is kept, and the same command goes on ({there}.part)"))
    }

    /// Looks at sockets, decides, keeps, shows.
    async fn look(&mut self) -> Result<(), Problem> {
        let now = Instant::now();
        let since = now.duration_since(self.looked.0);
        let (received, free, there, total) = {
            let state = self.shared.state();
            (state.received, state.ranges.free(), state.ranges.there(), state.ranges.total())
        };
        if !since.is_zero() {
            let sockets: Vec<_> = {
                let mut state = self.shared.state();
                let newest = (received - self.looked.1) as f64 / since.as_secs_f64();
                state.rate = if state.rate == 0.0 { newest } else { state.rate + NEWEST * (newest - state.rate) };
                state.crew.iter().filter_map(|member| Some((member.id, member.socket.clone()?))).collect()
            };
            let at_work = self.shared.state().crew.iter().filter(|member| member.at_work).count();
            self.meter.look(&sockets, u32::try_from(at_work).unwrap_or(u32::MAX), since);
            self.looked = (now, received);
        }
        if let Some(round_trip) = self.meter.round_trip() {
            self.shared.state().round_trip = round_trip;
        }
        self.decide(now, received, free);
        self.keep(now).await?;
        let (rate, active) = {
            let state = self.shared.state();
            (state.rate, u32::try_from(state.crew.len()).unwrap_or(u32::MAX))
        };
        self.report.progress(&self.folder.name, there, Some(total), rate, active);
        Ok(())
    }

    fn decide(&mut self, now: Instant, received: u64, free: u64) {
        let took = now.duration_since(self.window.0);
        let round_trip = self.meter.round_trip().map(|of| Span(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)));
        // Looks come when they come: a window that is half of one shorter is over, too.
        if (took + LOOK / 2).as_nanos() < u128::from(parallel::length(round_trip).0) {
            return;
        }
        let bytes = received - self.window.1;
        let limit = self.limit.map_or(f64::INFINITY, |limit| limit as f64);
        let held_back = bytes as f64 / took.as_secs_f64() >= 0.9 * limit;
        let window = self.meter.window(took, bytes, held_back);
        self.window = (now, received);
        self.report.window(self.number.now().0, &window);
        // At the end not everybody has work: their number says nothing.
        if let (Number::Decided(policy), true) = (&mut self.number, free > 0) {
            policy.window(&window);
        }
    }

    /// Writes the journal beside what goes on.
    async fn keep(&mut self, now: Instant) -> Result<(), Problem> {
        if self.keeping.as_ref().is_some_and(JoinHandle::is_finished) {
            if let Some(done) = self.keeping.take() {
                done.await.map_err(|e| Problem::failed(format!("the journal: {e}")))??;
            }
        }
        if self.keeping.is_none() && now.duration_since(self.kept) >= KEEP {
            self.kept = now;
            let (folder, journal) = (self.folder.clone(), self.journal());
            let part = self.shared.part.try_clone().map_err(|e| Problem::failed(format!("a descriptor more: {e}")))?;
            self.keeping = Some(tokio::task::spawn_blocking(move || folder.keep(&part, &journal)));
        }
        Ok(())
    }
}

/// The task of a connection has ended without an answer: nobody would wait for it in vain.
fn panicked(error: JoinError) -> Problem {
    let what = match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
        }
        Err(error) => error.to_string(),
    };
    Problem::failed(format!("a connection ended by an error in this program: {what}; what has come is kept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_a_connection_ends_the_download_with_its_message() {
        for (text, said) in [(Some(7), "nothing like 7"), (None, "nothing")] {
            let mut crew: JoinSet<(u64, End)> = JoinSet::new();
            crew.spawn(async move {
                match text {
                    Some(n) => panic!("nothing like {n}"),
                    None => panic!("nothing"),
                }
            });
            let ended = crew.join_next().await.and_then(Result::err).map(panicked);
            let problem = format!("{:?}", ended.unwrap());
            assert!(problem.contains(&format!("an error in this program: {said};")), "{problem}");
        }
    }
}
