//! What a busy TTI costs: `cargo run --release -p ackclock-core --example cell [users] [seconds] [fading: 1]`.
//!
//! Users at random places of a disc of 500 m get packets of 1500 bytes in bursts, as many as the band just carries, and send one of 52 bytes for
//! every second one. Prints nanoseconds per busy TTI and per packet.

use ackclock_core::cell::{CellParams, Fading, PathLoss, Profile, UserParams};
use ackclock_core::packet::Parcel;
use ackclock_core::path::{Setting, Store};
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;
use std::time::Instant;

struct Nobody;

impl Store for Nobody {
    fn drop(&mut self, _id: u32) {}
    fn mark(&mut self, _id: u32) {}
    fn duplicate(&mut self, _id: u32) -> Option<u32> {
        None
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = |default: u64| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (n, seconds, fades) = (next(30) as usize, next(600), next(0) > 0);
    let mut rng = Stream::named(1, 0, "places");
    let users = (0..n).map(|_| UserParams::at(500.0 * rng.uniform().sqrt())).collect();
    let mut p = CellParams::new("cell", users);
    (p.path_loss, p.base_power_dbm) = (PathLoss::Cost231Lena, 30.0);
    p.fading = fades.then_some(Fading { profile: Profile::Eva, speed_kmh: 30.0 });
    let to = Time(seconds * 1_000_000_000);
    let Ok(mut cell) = p.build(&Setting { seed: 1, run: 0, from: Time::ZERO, to }) else { return };
    // Bits of a burst of twenty packets over the harmonic mean of the rates: the mean time between bursts at 95 % of the load.
    let harmonic = n as f64 / cell.users().map(|u| 1.0 / u.down.rate_bps).sum::<f64>();
    let gap = 20.0 * 1500.0 * 8.0 / harmonic / 0.95 * 1e9;
    let (mut now, mut pushed, mut out) = (0.0, 0u64, 0u64);
    let start = Instant::now();
    while now < to.0 as f64 {
        now += 2.0 * gap * rng.uniform();
        let at = Time(now as u64);
        while cell.next_due() <= at {
            let due = cell.next_due();
            while let Some(o) = cell.pull(due, &mut Nobody) {
                out += 1;
                if usize::from(o.port) < n && out % 2 == 0 {
                    cell.push(due, o.port + n as u16, Parcel { len: 52, ..Parcel::default() }, &mut Nobody);
                }
            }
        }
        let user = rng.below(n as u64) as u16;
        for _ in 0..20 {
            cell.push(at, user, Parcel { len: 1500, ..Parcel::default() }, &mut Nobody);
            pushed += 1;
        }
    }
    cell.finish(to, &mut Nobody);
    let (took, stats) = (start.elapsed().as_nanos() as f64, cell.stats());
    println!(
        "{n} users, {seconds} s: {pushed} packets down, {} busy TTIs down and {} up, rho {:.3}; {:.0} ns per busy TTI of the downlink, {:.0} ns \
         per packet, {:.2} s in all",
        stats.down.busy_ttis,
        stats.up.busy_ttis,
        stats.down.rho_rb(),
        took / stats.down.busy_ttis as f64,
        took / pushed as f64,
        took / 1e9
    );
}
