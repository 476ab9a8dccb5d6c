//! Ready descriptions: one user of a commercial network, near to the base station, in the middle of the cell, and at its edge.
//!
//! The rates are those of speed tests in the source study of split connections: 25, 20 and 14 Mbit/s over LTE of 10 MHz, whose other
//! users take a fixed share of the TTIs. For HSPA no rates were published; these are assumed.

use super::hspa::HspaParams;
use super::params::{CellParams, Errors, Mode, Rlc, UserParams};
use crate::path::QueueParams;

/// Where the user is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Near to the base station.
    Near,
    /// In the middle.
    Mid,
    /// At the edge.
    Far,
}

impl Spot {
    /// Every spot.
    pub const ALL: [Spot; 3] = [Spot::Near, Spot::Mid, Spot::Far];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Spot::Near => "near",
            Spot::Mid => "mid",
            Spot::Far => "far",
        }
    }

    /// Rate of a speed test over LTE, bit/s of payload.
    pub fn speed_bps(self) -> f64 {
        match self {
            Spot::Near => 25e6,
            Spot::Mid => 20e6,
            Spot::Far => 14e6,
        }
    }
}

/// One user of a commercial LTE network: 10 MHz, a buffer of 1.5 MB without age limit, acknowledged RLC, one block in ten retransmitted.
pub fn lte(name: &str, spot: Spot) -> CellParams {
    // SNR of the downlink (CQI 14, 12, 10: 30.58, 22.92 and 16.42 Mbit/s) and of the uplink in one resource block (assumed), and the share of
    // the others.
    let (down_db, up_db, others) = match spot {
        Spot::Near => (18.0, 32.0, NEAR),
        Spot::Mid => (14.5, 28.0, MID),
        Spot::Far => (10.5, 22.0, FAR),
    };
    let mut p = CellParams::new(name, vec![UserParams::with_snr(down_db, up_db)]);
    p.bandwidth_mhz = 10.0;
    p.rlc = Rlc::of(Mode::Acknowledged);
    p.errors = Errors::Geometric(0.1, 0.01);
    p.down_background = others;
    p.down_queue = QueueParams::unlimited();
    p.down_queue.limits.bytes = 1_500_000;
    p
}

/// Shares of the others: what a speed test leaves of the rate. Of 3822 bytes of a block (near; 2865 and 2052) 7 are headers, of 1502 of a
/// packet 2, and of its 1500 bytes 1448 are payload; a block takes 1 + 0.1 + 0.001 + ... = 1.101 transmissions. That is 26.72 Mbit/s
/// (20.02, 14.32) for 25 (20, 14).
const NEAR: f64 = 0.064;
const MID: f64 = 0.001;
const FAR: f64 = 0.023;

/// One user of HSPA: 4, 3 or 2 Mbit/s (assumed), 70 ms of round-trip time besides that of the wire, a buffer of 256 kB.
pub fn hspa(name: &str, spot: Spot) -> HspaParams {
    let mut p = HspaParams::new(name, 1);
    p.down_bps = match spot {
        Spot::Near => 4_000_000,
        Spot::Mid => 3_000_000,
        Spot::Far => 2_000_000,
    };
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Parcel;
    use crate::path::{Setting, Store};
    use crate::time::Time;

    struct Nobody;
    impl Store for Nobody {
        fn drop(&mut self, _id: u32) {}
        fn mark(&mut self, _id: u32) {}
        fn duplicate(&mut self, _id: u32) -> Option<u32> {
            None
        }
    }

    #[test]
    fn a_speed_test_finds_its_rate() {
        for spot in Spot::ALL {
            let to = Time(20_000_000_000);
            let mut p = lte("c", spot);
            p.down_queue.limits.bytes = u64::MAX;
            let mut cell = p.build(&Setting { seed: 1, run: 0, from: Time::ZERO, to }).unwrap();
            (0..50_000)
                .for_each(|id| cell.push(Time(1), 0, Parcel { id, len: 1500, ..Parcel::default() }, &mut Nobody));
            cell.finish(to, &mut Nobody);
            let payload = cell.user(0).down_stats.delivered as f64 * 1448.0 * 8.0 / 20.0;
            assert!((payload / spot.speed_bps() - 1.0).abs() < 0.01, "{spot:?}: {payload}");
        }
    }
}
