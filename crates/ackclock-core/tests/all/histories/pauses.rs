//! A connection that pauses grows no more than one that does not: to both arrive the same acknowledgments after the same
//! history, but one of them has nothing in flight now and then for longer.

use super::choice::{Choice, Form, forms};
use super::world::{Acked, Step, World, acked, step};
use ackclock_core::cc::{Control, Pacing, registry};
use proptest::prelude::*;

/// Acknowledgments, then a pause of so many milliseconds.
type Turn = (Vec<Acked>, u64);

/// Both pause at least so long, milliseconds: what looks at its clock at times only (Linux's CUBIC and BIC every 31 ms, ns-2's
/// FAST every 10 ms) does so then in both.
const SHORT: u64 = 40;

/// Copa's RTTstanding is the least of the last half of a smoothed round-trip time, of which none is above 60 s here.
const STANDING: u64 = 30_000;

/// After so much time these controllers look for a shorter round trip, probe for bandwidth or forget what they know: by default
/// seconds, here an hour or more, which no history lasts.
const WINDOWS: [&str; 4] = ["min_rtt_window", "probe_rtt_interval", "probe_wait", "base_interval"];

/// What holds of a controller's time.
#[derive(Clone, Copy, PartialEq)]
enum Clock {
    /// It has none, or one that stands still in a pause.
    Still,
    /// By its parameters it looks at it once in a time of any length.
    Parameter,
    /// It does things after the times of `WINDOWS`, which run on in a pause, and must: it compares the path with what it was
    /// then. Nothing else in it does.
    Windows,
    /// It runs on, in the kernel too.
    RunsOn,
}

fn clock(form: &Form) -> Clock {
    match (form.entry.name, form.variant) {
        ("cubic" | "bic", Some("linux")) | ("fast", Some("ns2")) => Clock::Parameter,
        ("htcp", Some("linux")) => Clock::RunsOn,
        ("bbr1" | "bbr3" | "copa" | "ledbat", _) => Clock::Windows,
        _ => Clock::Still,
    }
}

/// Of a connection: bytes of a segment, segments of the initial window, segments at most in flight.
type Connection = (u64, u64, u64);

fn turns(most: usize) -> impl Strategy<Value = Vec<Turn>> {
    let pause = prop_oneof![4 => 1..400u64, 1 => 400..700u64];
    prop::collection::vec((prop::collection::vec(acked(), 1..20), pause), 1..most)
}

/// Up to 40 steps that last less than an hour.
fn history() -> impl Strategy<Value = Vec<Step>> {
    let brief = |s| match s {
        Step::Idle { ms, window, floor } => Step::Idle { ms: ms.min(10_000), window, floor },
        _ => s,
    };
    prop::collection::vec(step().prop_map(brief), 0..40)
}

/// Plays the turns after a history, with all of their pauses or not: the largest window from the history's end on, and the
/// highest pace, which is what grows where the window follows a model (0 where the controller sets none).
fn peak(choice: &Choice, (mss, iw, most): Connection, history: &[Step], turns: &[Turn], pauses: bool) -> (u64, u64) {
    let marks = registry::find(choice.name).unwrap().family == "marks";
    let mut world = World::new(choice.build().unwrap(), mss, iw, most);
    history.iter().for_each(|s| world.play(*s));
    world.pause(if choice.name == "copa" { STANDING } else { SHORT }, true);
    let from = world.controls.len() - 1;
    for (acks, ms) in turns {
        acks.iter().for_each(|a| world.play(Step::Ack(*a)));
        if marks {
            // What it takes off the window is what it remembers of marks.
            world.play(Step::Mark { acks: 1 });
        }
        world.pause(SHORT + if pauses { *ms } else { 0 }, true);
    }
    let rate = |c: &Control| if let Pacing::Rate(rate) = c.pacing { rate } else { 0 };
    let since = &world.controls[from..];
    (since.iter().map(|c| c.cwnd).max().unwrap(), since.iter().map(rate).max().unwrap())
}

fn holds(form: &Form, cases: u32) {
    let clock = clock(form);
    let choices = match clock {
        Clock::Still | Clock::Windows => prop_oneof![1 => Just(form.usual()), 4 => form.any()].boxed(),
        _ => Just(form.usual()).boxed(),
    };
    let draws = (choices, super::connection(), history(), turns(8));
    super::property(cases, &draws, |(choice, connection, history, mut turns)| {
        // Prague's virtual round trip is a least time between two rounds; 25 ms by default, which both pause.
        let choice = choice.without("rtt_virtual");
        let choice = if clock == Clock::Windows { choice.lasting(&WINDOWS) } else { choice };
        if choice.name == "copa" {
            // Of what has a pause behind it RTTstanding takes the last only, however short the pause.
            turns.iter_mut().flat_map(|t| &mut t.0).for_each(Acked::make_even);
        }
        let [busy, pausing] = [false, true].map(|pauses| peak(&choice, connection, &history, &turns, pauses));
        prop_assert!(
            pausing.0 <= busy.0 && pausing.1 <= busy.1,
            "{choice:?}: {pausing:?} bytes with pauses, {busy:?} without (window, pace)"
        );
        Ok(())
    });
}

fn every(half: usize) {
    for form in forms().iter().skip(half).step_by(2).filter(|f| clock(f) != Clock::RunsOn) {
        holds(form, 60);
    }
}

#[test]
fn pauses_make_no_window_grow() {
    every(0);
}

#[test]
fn nor_that_of_every_other_controller() {
    every(1);
}

/// Linux's H-TCP counts them: its clock is the time since the last congestion.
#[test]
#[should_panic(expected = "bytes with pauses")]
fn but_that_of_htcp_in_linux() {
    let forms = forms();
    holds(forms.iter().find(|f| clock(f) == Clock::RunsOn).unwrap(), 2000);
}
