//! The same packets without the controller: its decisions are written down in one run and read off in another.
//!
//! What the second run costs less than the first is what the controller's law and the measurements that it asks for cost;
//! everything else, from losses to acknowledgments to pacing, is the same in both.

use ackclock_core::cc::{Ack, CongestionControl, Control, Cx, Lost, Needs, PacketPair, Restart, Signal, Undo};
use ackclock_core::time::Span;
use std::sync::{Arc, Mutex, PoisonError};

/// What controllers decided, one list for each in the order in which they were made.
pub type Tapes = Vec<Arc<Mutex<Tape>>>;

/// The needs of a controller, the decision it was made with, and one after each event.
pub struct Tape {
    needs: Needs,
    decisions: Vec<Control>,
    pairs: Vec<Option<[u32; 2]>>,
}

/// Writes down what `inner` decides.
pub struct Recorder {
    inner: Box<dyn CongestionControl>,
    tape: Arc<Mutex<Tape>>,
}

impl Recorder {
    /// Records `inner` on a new tape at the end of `tapes`.
    pub fn new(inner: Box<dyn CongestionControl>, tapes: &mut Tapes) -> Recorder {
        let tape = Tape { needs: inner.needs(), decisions: vec![inner.control()], pairs: Vec::new() };
        let tape = Arc::new(Mutex::new(tape));
        tapes.push(Arc::clone(&tape));
        Recorder { inner, tape }
    }

    fn note(&self) {
        let control = self.inner.control();
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).decisions.push(control);
    }
}

/// Passes an event on and writes down the decision after it.
macro_rules! noted {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, cx: &mut Cx<'_>, $($arg: $kind),*) {
            self.inner.$name(cx, $($arg),*);
            self.note();
        })*
    };
}

impl CongestionControl for Recorder {
    noted! {
        start(initial_window: u64);
        on_paced();
        on_ack(ack: &Ack);
        on_congestion(signal: Signal);
        on_phase();
        on_recovered(cwnd: u64);
        set_window(cwnd: u64);
        on_undo(undo: Undo);
        on_restart(restart: Restart);
        on_transmit_start(idle: Span);
        on_packet_pair(pair: &PacketPair);
    }

    // What the reader of the tape does not ask for.

    fn observe(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.inner.observe(cx, ack);
    }

    fn on_lost(&mut self, cx: &mut Cx<'_>, lost: &Lost) {
        self.inner.on_lost(cx, lost);
    }

    fn on_limited_start(&mut self, cx: &mut Cx<'_>) {
        self.inner.on_limited_start(cx);
    }

    fn limits_itself(&self) -> bool {
        self.inner.limits_itself()
    }

    fn packet_pair(&mut self, cx: &mut Cx<'_>) -> Option<[u32; 2]> {
        let pair = self.inner.packet_pair(cx);
        self.note();
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).pairs.push(pair);
        pair
    }

    fn control(&self) -> Control {
        self.inner.control()
    }

    fn needs(&self) -> Needs {
        self.inner.needs()
    }
}

/// Decides what stands on a tape.
pub struct Player {
    needs: Needs,
    decisions: std::vec::IntoIter<Control>,
    pairs: std::vec::IntoIter<Option<[u32; 2]>>,
    now: Control,
}

impl Player {
    /// Reads `tape`, whose run is over.
    pub fn new(tape: &Arc<Mutex<Tape>>) -> Player {
        let mut tape = tape.lock().unwrap_or_else(PoisonError::into_inner);
        let mut decisions = std::mem::take(&mut tape.decisions).into_iter();
        let pairs = std::mem::take(&mut tape.pairs).into_iter();
        let now = decisions.next().unwrap_or(Control::window(0, 0));
        Player { needs: Needs { observe: false, rate: false, ..tape.needs }, decisions, pairs, now }
    }

    fn step(&mut self) {
        self.now = self.decisions.next().unwrap_or(self.now);
    }
}

/// Goes on by one decision, whatever the event says.
macro_rules! stepped {
    ($($name:ident($($kind:ty),*);)*) => {
        $(fn $name(&mut self, _: &mut Cx<'_>, $(_: $kind),*) {
            self.step();
        })*
    };
}

impl CongestionControl for Player {
    stepped! {
        start(u64);
        on_paced();
        on_ack(&Ack);
        on_congestion(Signal);
        on_phase();
        on_recovered(u64);
        set_window(u64);
        on_undo(Undo);
        on_restart(Restart);
        on_transmit_start(Span);
        on_packet_pair(&PacketPair);
    }

    fn packet_pair(&mut self, _: &mut Cx<'_>) -> Option<[u32; 2]> {
        self.step();
        self.pairs.next().flatten()
    }

    fn control(&self) -> Control {
        self.now
    }

    fn needs(&self) -> Needs {
        self.needs
    }
}
