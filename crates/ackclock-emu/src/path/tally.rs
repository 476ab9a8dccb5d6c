//! What the path counts of the packets of a flow that go from its source to its sink.

use super::packets::Slot;
use ackclock_core::histogram::Histogram;
use ackclock_core::packet::Ecn;
use ackclock_core::time::Time;
use ackclock_run::rows::DatagramRow;

/// Counters of a flow over the measurement window, of packets with payload; copies that a medium made do not count.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    from: Time,
    /// Packets that entered the path.
    pub sent: u64,
    /// Their payload.
    pub sent_bytes: u64,
    /// Packets that came out.
    pub received: u64,
    /// Their payload.
    pub received_bytes: u64,
    /// Of them, those that came out marked (CE).
    pub marked: u64,
    /// Packets that entered within the window and came out.
    of_sent: u64,
    /// Packets that entered within the window and are under way at the end.
    in_flight: u64,
    /// Time from entering to coming out.
    pub delay: Histogram,
}

impl Tally {
    /// For a window that begins at `from`.
    pub fn new(from: Time) -> Tally {
        Tally { from, ..Tally::default() }
    }

    fn counts(slot: &Slot) -> bool {
        slot.side % 2 == 0 && slot.payload > 0 && !slot.copy
    }

    /// A packet enters at `now`.
    pub fn enters(&mut self, now: Time, slot: &Slot) {
        if Tally::counts(slot) && now >= self.from {
            self.sent += 1;
            self.sent_bytes += u64::from(slot.payload);
        }
    }

    /// A packet comes out at `at`.
    pub fn leaves(&mut self, at: Time, slot: &Slot) {
        if !Tally::counts(slot) || at < self.from {
            return;
        }
        self.received += 1;
        self.received_bytes += u64::from(slot.payload);
        self.marked += u64::from(slot.ecn == Ecn::Ce);
        self.of_sent += u64::from(slot.entered >= self.from);
        self.delay.record(at.since(slot.entered).0);
    }

    /// The run ends while the packet is under way.
    pub fn stays(&mut self, slot: &Slot) {
        self.in_flight += u64::from(Tally::counts(slot) && slot.entered >= self.from);
    }

    /// As the row of a flow of datagrams has it.
    pub fn row(&self) -> DatagramRow {
        DatagramRow { lost: self.sent.saturating_sub(self.of_sent + self.in_flight), in_flight: self.in_flight }
    }
}
