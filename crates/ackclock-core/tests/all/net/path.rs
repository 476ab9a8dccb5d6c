//! One direction of the network: what it loses, repeats, delays and reorders.

use ackclock_core::packet::Ecn;
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;

/// How packets may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// They do not: jitter delays those behind as well.
    Kept,
    /// Each takes its own time.
    Free,
    /// Now and then one is held until one or two later ones have passed; with this probability.
    Swapped(f64),
}

/// The properties of one direction; times in nanoseconds.
#[derive(Clone, Debug)]
pub struct PathCase {
    /// Propagation delay.
    pub delay: u64,
    /// Most additional delay.
    pub jitter: u64,
    /// Probability of loss.
    pub loss: f64,
    /// Probability of a second copy.
    pub duplicate: f64,
    /// Probability that an ECN-capable packet is marked.
    pub marks: f64,
    /// Overtaking.
    pub order: Order,
    /// Time per byte at the bottleneck, and the packets that find room before it.
    pub per_byte: u64,
    pub room: usize,
    /// Everything sent in `outage.0..outage.1` is lost.
    pub outage: (u64, u64),
}

impl PathCase {
    /// Nothing but a delay.
    pub fn clean(delay: u64) -> PathCase {
        let never = (0, 0);
        PathCase {
            delay,
            jitter: 0,
            loss: 0.0,
            duplicate: 0.0,
            marks: 0.0,
            order: Order::Kept,
            per_byte: 0,
            room: 1000,
            outage: never,
        }
    }
}

/// A held packet waits at most this long for others to overtake it.
const LONGEST_HOLD: u64 = 5_000_000;

pub struct Path {
    case: PathCase,
    rng: Stream,
    /// Ends of the transmissions under way, and the last exit.
    queue: Vec<u64>,
    last_exit: u64,
    /// The packet that is held, by its number, and how many still overtake it.
    held: Option<u64>,
    overtakers: u64,
    /// Copies lost and added.
    pub lost: u64,
    pub copies: u64,
}

impl Path {
    pub fn new(case: &PathCase, rng: Stream) -> Path {
        Path { case: case.clone(), rng, queue: Vec::new(), last_exit: 0, held: None, overtakers: 0, lost: 0, copies: 0 }
    }

    fn strikes(&mut self, p: f64) -> bool {
        p > 0.0 && self.rng.uniform() < p
    }

    /// What the network makes of the ECN field of a packet.
    pub fn mark(&mut self, ecn: Ecn) -> Ecn {
        let capable = matches!(ecn, Ecn::Ect0 | Ecn::Ect1);
        if capable && self.strikes(self.case.marks) { Ecn::Ce } else { ecn }
    }

    /// When the copies of packet `number`, of `bytes`, sent at `now`, come out: none, one or two times.
    pub fn send(&mut self, now: Time, number: u64, bytes: u32) -> Vec<Time> {
        let now = now.0;
        if self.strikes(self.case.loss) || (self.case.outage.0..self.case.outage.1).contains(&now) {
            self.lost += 1;
            return Vec::new();
        }
        self.queue.retain(|end| *end > now);
        if self.queue.len() > self.case.room {
            self.lost += 1;
            return Vec::new();
        }
        let start = self.queue.last().copied().unwrap_or(now);
        let end = start + u64::from(bytes) * self.case.per_byte;
        self.queue.push(end);
        let copies = 1 + usize::from(self.strikes(self.case.duplicate));
        self.copies += copies as u64 - 1;
        (0..copies).map(|_| self.exit(end, number)).collect()
    }

    fn exit(&mut self, sent: u64, number: u64) -> Time {
        let exit = sent + self.case.delay + self.rng.below(self.case.jitter + 1);
        let order = self.case.order;
        match order {
            Order::Free => return Time(exit),
            Order::Swapped(p) if self.held.is_none() && self.strikes(p) => {
                self.held = Some(number);
                self.overtakers = 1 + self.rng.below(2);
                return Time(exit.max(self.last_exit) + LONGEST_HOLD);
            }
            Order::Swapped(_) | Order::Kept => {}
        }
        self.last_exit = exit.max(self.last_exit);
        Time(self.last_exit)
    }

    /// Packet `number` came out. Returns the one it has released, which comes out now.
    pub fn came_out(&mut self, number: u64) -> Option<u64> {
        let held = self.held?;
        if number > held {
            self.overtakers -= 1;
        }
        if number == held || self.overtakers == 0 {
            self.held = None;
            return (number != held).then_some(held);
        }
        None
    }
}
