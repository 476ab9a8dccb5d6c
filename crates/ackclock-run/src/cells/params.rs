//! From the parameters of a cell in the resolved run to those of the core.

use crate::links::queue;
use crate::spec::SpecError;
use crate::spec::cell::{Errors, Params};
use ackclock_core::cell::Thresholds;
use ackclock_core::cell::{self, Area, CellParams, Discipline, Fading, Mode, PathLoss, PowerControl, Profile};
use ackclock_core::cell::{Promotion, Rlc};
use ackclock_core::time::Span;

/// The word of `all` that is called `given`.
fn word<T: Copy>(given: &str, all: &[T], name: fn(T) -> &'static str, at: String) -> Result<T, SpecError> {
    all.iter().copied().find(|t| name(*t) == given).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|t| name(*t)).collect();
        SpecError::new(at, format!("unknown word '{given}'; known are {}", known.join(", ")))
    })
}

/// Writes what is given in `from` over what is in `to`.
///
/// # Errors
/// An unknown word, and where.
pub(super) fn apply(from: &Params, to: &mut CellParams, path: &str) -> Result<(), SpecError> {
    let at = |key: &str| format!("{path}.{key}");
    macro_rules! plain {
        ($($key:ident),*) => { $( if let Some(v) = from.$key { to.$key = v; } )* };
    }
    macro_rules! times {
        ($($given:ident => $key:ident),*) => { $( if let Some(ns) = from.$given { to.$key = Span(ns); } )* };
    }
    plain!(bandwidth_mhz, down_mhz, up_mhz, base_m, user_m, min_distance_m, base_power_dbm, user_power_dbm, gain_db);
    plain!(user_noise_db, base_noise_db, shadowing_db, cqi_quantised, cqi_subband, effective_penalty_db, min_mcs0);
    plain!(uplink_64qam, bler_slope_db, max_retransmissions, fair_ttis, fit, min_grant_rbs);
    plain!(down_background, up_background);
    times!(cqi_period_ns => cqi_period, cqi_delay_ns => cqi_delay, down_delay_ns => down_delay);
    times!(up_delay_ns => up_delay, sr_period_ns => sr_period, grant_delay_ns => grant_delay);
    if let Some(name) = &from.path_loss {
        to.path_loss = word(name, &PathLoss::ALL, PathLoss::name, at("path_loss"))?;
    }
    if let Some(name) = &from.area {
        to.area = word(name, &Area::ALL, Area::name, at("area"))?;
    }
    if let Some(name) = &from.thresholds {
        to.thresholds = word(name, &Thresholds::ALL, Thresholds::name, at("thresholds"))?;
    }
    if let Some(name) = &from.scheduler {
        to.scheduler = word(name, &Discipline::ALL, Discipline::name, at("scheduler"))?;
    }
    if let Some(f) = &from.fading {
        let profile = word(&f.profile, &Profile::ALL, Profile::name, at("fading.profile"))?;
        to.fading = Some(Fading { profile, speed_kmh: f.speed_kmh });
    }
    to.power_control = from.power_control.map(|c| PowerControl { alpha: c.alpha, p0_dbm: c.p0_dbm });
    to.promotion = from.promotion.map(|p| Promotion { after: Span(p.after_ns), delay: Span(p.delay_ns) });
    if let Some(errors) = from.errors {
        to.errors = match errors {
            Errors::None => cell::Errors::None,
            Errors::Bler => cell::Errors::Bler,
            Errors::Geometric([first, further]) => cell::Errors::Geometric(first, further),
        };
    }
    if let Some(given) = &from.rlc {
        let mode = match given.mode.as_str() {
            "um" => Mode::Unacknowledged,
            "am" => Mode::Acknowledged,
            other => {
                let problem = format!("unknown word '{other}'; known are um, am");
                return Err(SpecError::new(at("rlc.mode"), problem));
            }
        };
        let usual = Rlc::of(mode);
        let span = |ns: Option<u64>, usual: Span| ns.map_or(usual, Span);
        to.rlc = Rlc {
            mode,
            reordering: span(given.reordering_ns, usual.reordering),
            status_prohibit: span(given.status_prohibit_ns, usual.status_prohibit),
            poll_retransmit: span(given.poll_retransmit_ns, usual.poll_retransmit),
            block_overhead: given.block_overhead.unwrap_or(usual.block_overhead),
            packet_overhead: given.packet_overhead.unwrap_or(usual.packet_overhead),
        };
    }
    for (given, queue_of, key) in
        [(&from.down_queue, &mut to.down_queue, "down_queue"), (&from.up_queue, &mut to.up_queue, "up_queue")]
    {
        if let Some(q) = given {
            *queue_of = queue(q, &at(key))?;
        }
    }
    Ok(())
}
