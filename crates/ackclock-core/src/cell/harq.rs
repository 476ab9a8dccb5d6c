//! HARQ: transport blocks in the air, and whether they arrive.
//!
//! Eight stop-and-wait processes per user (TS 36.213 §7, FDD): feedback comes four TTIs after a transmission, a retransmission eight TTIs
//! after it or later, with the same resource blocks and scheme. Receivers keep what they heard and add it up (chase combining: the SINRs
//! add). Whether a block arrives is drawn when it is sent, from a stream of its user, one number per transmission.

use super::bler::bler;
use super::params::Errors;
use super::sinr::{decibel, linear};
use crate::ring::Ring;
use crate::rng::Stream;

/// TTIs from a transmission to its feedback.
pub const FEEDBACK: u64 = 4;
/// Least TTIs from a transmission to the next of the same block.
pub const ROUND: u64 = 8;
/// Processes of a user.
pub const PROCESSES: u32 = 8;

/// A transport block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    /// The TTI of its last transmission.
    pub sent: u64,
    /// Number of the RLC block in it.
    pub number: u64,
    /// What was received of it so far: the sum of the SINRs.
    pub heard: f64,
    /// Bytes of the RLC block in it.
    pub bytes: u32,
    /// Uplink: bytes that its user had left when it was first sent.
    pub left: u32,
    /// Uplink: bytes granted to its user up to its own grant.
    pub granted: u64,
    /// Whose.
    pub user: u16,
    /// Resource blocks.
    pub rbs: u16,
    /// Scheme.
    pub mcs: u8,
    /// Transmissions before the last one.
    pub attempt: u8,
    /// Whether the last transmission arrived.
    pub arrived: bool,
}

/// How errors come about in a cell.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// How.
    pub errors: Errors,
    /// Width of the curve of block errors, dB.
    pub slope_db: f64,
    /// Most retransmissions.
    pub retransmissions: u8,
}

/// The error probability of the last first transmission of a user: that of the next, on a channel that does not change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    sinr_db: f64,
    mcs: u8,
    /// It; zero before the first, as it is far above every threshold.
    p: f64,
}

impl Known {
    /// Of nothing.
    pub fn new() -> Known {
        Known { sinr_db: f64::INFINITY, mcs: 0, p: 0.0 }
    }

    fn first(&mut self, sinr_db: f64, mcs: u8, slope_db: f64) -> f64 {
        if self.sinr_db != sinr_db || self.mcs != mcs {
            *self = Known { sinr_db, mcs, p: bler(sinr_db, mcs, slope_db) };
        }
        self.p
    }
}

impl Model {
    /// `block` is transmitted at `sinr_db`: says in it whether it arrives.
    pub fn transmit(&self, block: &mut Block, sinr_db: f64, known: &mut Known, rng: &mut Stream) {
        let p = match self.errors {
            Errors::None => 0.0,
            Errors::Geometric(first, further) => {
                if block.attempt == 0 {
                    first
                } else {
                    further
                }
            }
            Errors::Bler if block.attempt == 0 => known.first(sinr_db, block.mcs, self.slope_db),
            Errors::Bler => bler(decibel(block.heard + linear(sinr_db)), block.mcs, self.slope_db),
        };
        block.arrived = rng.uniform() >= p;
        if !block.arrived {
            block.heard += linear(sinr_db);
        }
    }

    /// Whether `block`, which did not arrive, is not transmitted again.
    #[inline]
    pub fn gives_up(&self, block: &Block) -> bool {
        block.attempt >= self.retransmissions
    }
}

/// Blocks of one direction in the air.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    /// TTIs from a transmission until its packets are out.
    pub delay: u64,
    /// Those that arrive, in the order of their transmissions.
    pub arriving: Ring<Block>,
    /// Those that do not.
    pub failing: Ring<Block>,
    /// TTIs in which a packet may come out because of a block that arrives.
    hopes: Ring<u64>,
    /// TTIs before which none comes out because of one that fails.
    later: Ring<u64>,
}

impl Flights {
    /// None; packets are out so many TTIs after a transmission.
    pub fn new(delay: u64) -> Flights {
        Flights { delay, ..Flights::default() }
    }

    /// `block` is in the air; a packet may come out when it arrives if it is `hopeful`.
    #[inline]
    pub fn launch(&mut self, block: Block, hopeful: bool) {
        if block.arrived {
            self.arriving.push(block);
            if hopeful {
                self.hopes.push(block.sent + self.delay);
            }
        } else {
            self.failing.push(block);
            self.later.push(block.sent + ROUND + self.delay);
        }
    }

    /// The next that arrives in TTI number `tick` or did before.
    #[inline]
    pub fn arrival(&mut self, tick: u64) -> Option<Block> {
        let block = *self.arriving.front().filter(|b| b.sent + self.delay <= tick)?;
        self.arriving.skip();
        Some(block)
    }

    /// The next that is known in TTI number `tick` not to have arrived.
    #[inline]
    pub fn failure(&mut self, tick: u64) -> Option<Block> {
        let block = *self.failing.front().filter(|b| b.sent + FEEDBACK <= tick)?;
        self.failing.skip();
        Some(block)
    }

    /// The next TTI in which there is an arrival or a failure.
    #[inline]
    pub fn next(&self) -> u64 {
        let arrival = self.arriving.front().map_or(u64::MAX, |b| b.sent + self.delay);
        arrival.min(self.failing.front().map_or(u64::MAX, |b| b.sent + FEEDBACK))
    }

    /// Before this TTI no packet comes out because of a block in the air. Everything up to TTI number `tick` has happened.
    #[inline]
    pub fn bound(&mut self, tick: u64) -> u64 {
        while self.hopes.front().is_some_and(|t| *t <= tick) {
            self.hopes.skip();
        }
        while self.later.front().is_some_and(|t| *t <= tick) {
            self.later.skip();
        }
        let hope = self.hopes.front().copied().unwrap_or(u64::MAX);
        hope.min(self.later.front().copied().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(errors: Errors, sinr_db: f64, mcs: u8) -> [f64; 4] {
        let model = Model { errors, slope_db: 0.5, retransmissions: 3 };
        let (mut rng, mut known) = (Stream::named(1, 0, "harq"), Known::new());
        let (mut sent, mut arrived) = ([0.0; 4], [0.0; 4]);
        for _ in 0..20_000 {
            let mut block = Block { mcs, ..Block::default() };
            loop {
                model.transmit(&mut block, sinr_db, &mut known, &mut rng);
                let n = usize::from(block.attempt);
                sent[n] += 1.0;
                arrived[n] += f64::from(u8::from(block.arrived));
                if block.arrived || model.gives_up(&block) {
                    break;
                }
                block.attempt += 1;
            }
        }
        let mut shares = [f64::NAN; 4];
        (0..4).for_each(|i| shares[i] = arrived[i] / sent[i]);
        shares
    }

    #[test]
    fn combining_adds_what_was_heard() {
        // 3.2 dB below the threshold of scheme 8 (0.59 dB): the first is lost, the second is heard 3.01 dB better, 0.2 dB below (p = 0.19 of
        // the curve: (−0.2/0.5 + 1.2816) = 0.88 deviations), the third 4.77 dB better, beyond doubt.
        let shares = arrivals(Errors::Bler, 0.59 - 3.2, 8);
        assert!(shares[0] < 0.001 && (shares[1] - 0.816).abs() < 0.012 && shares[2] > 0.999, "{shares:?}");
    }

    #[test]
    fn fixed_probabilities() {
        let shares = arrivals(Errors::Geometric(0.1, 0.5), 0.0, 0);
        for (share, p) in shares.into_iter().zip([0.9, 0.5, 0.5, 0.5]) {
            assert!((share - p).abs() < 0.05, "{shares:?}");
        }
        assert_eq!(arrivals(Errors::None, -30.0, 28)[0], 1.0);
    }
}
