//! What makes no sense in the description of a cell.

use super::super::TTI;
use super::super::grid::BANDWIDTHS;
use super::super::rlc::ttis;
use super::super::tables::bits;
use super::{CellParams, Errors, Place, Refusal, Thresholds};
use crate::time::Span;

/// Most users of a cell: each has two ports.
pub const MOST_USERS: usize = 10_000;

impl CellParams {
    /// Whether everything is within its range.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    pub fn check(&self) -> Result<(), Refusal> {
        self.check_grid()?;
        self.check_radio()?;
        self.check_times()?;
        if self.users.is_empty() || self.users.len() > MOST_USERS {
            let n = self.users.len();
            return Err(Refusal::new("users", format!("a cell has 1 to {MOST_USERS} users, not {n}")));
        }
        for (i, user) in self.users.iter().enumerate() {
            let key = |what: &str| format!("users.{i}.{what}");
            match user.place {
                Place::Distance(m) => within(&key("distance_m"), m, (0.0, 1e6), "m")?,
                Place::Snr { down_db, up_db } => {
                    within(&key("down_db"), down_db, (-100.0, 200.0), "dB")?;
                    within(&key("up_db"), up_db, (-100.0, 200.0), "dB")?;
                }
            }
            if let Some(speed) = user.speed_kmh {
                within(&key("speed_kmh"), speed, (0.0, 1000.0), "km/h")?;
            }
            if let Some(queue) = &user.down_queue {
                queue.check().map_err(|e| e.below(&key("down_queue")))?;
            }
        }
        self.down_queue.check().map_err(|e| e.below("down_queue"))?;
        self.up_queue.check().map_err(|e| e.below("up_queue"))
    }

    fn check_grid(&self) -> Result<(), Refusal> {
        let Some((_, rbs)) = BANDWIDTHS.into_iter().find(|b| b.0 == self.bandwidth_mhz) else {
            let known: Vec<_> = BANDWIDTHS.iter().map(|b| b.0.to_string()).collect();
            let problem = format!("{} MHz is no bandwidth of LTE; they are {}", self.bandwidth_mhz, known.join(", "));
            return Err(Refusal::new("bandwidth_mhz", problem));
        };
        if self.min_grant_rbs == 0 || self.min_grant_rbs > rbs {
            let problem = format!("a grant has 1 to {rbs} resource blocks, not {}", self.min_grant_rbs);
            return Err(Refusal::new("min_grant_rbs", problem));
        }
        let (rlc, smallest) = (&self.rlc, bits(0, rbs) / 8);
        let headers = u64::from(rlc.block_overhead) + u64::from(rlc.packet_overhead) + 4;
        if headers > u64::from(smallest) {
            let (block, packet) = (rlc.block_overhead, rlc.packet_overhead);
            let problem =
                format!("headers of {block} and {packet} B leave no room in the smallest block of {smallest} B");
            return Err(Refusal::new("rlc.block_overhead", problem));
        }
        Ok(())
    }

    fn check_radio(&self) -> Result<(), Refusal> {
        let ranges = [
            ("down_mhz", self.down_mhz, (100.0, 100_000.0), "MHz"),
            ("up_mhz", self.up_mhz, (100.0, 100_000.0), "MHz"),
            ("base_m", self.base_m, (1.0, 1000.0), "m"),
            ("user_m", self.user_m, (0.1, 1000.0), "m"),
            ("min_distance_m", self.min_distance_m, (0.1, 100_000.0), "m"),
            ("base_power_dbm", self.base_power_dbm, (-100.0, 100.0), "dBm"),
            ("user_power_dbm", self.user_power_dbm, (-100.0, 100.0), "dBm"),
            ("gain_db", self.gain_db, (-100.0, 100.0), "dB"),
            ("user_noise_db", self.user_noise_db, (0.0, 100.0), "dB"),
            ("base_noise_db", self.base_noise_db, (0.0, 100.0), "dB"),
            ("shadowing_db", self.shadowing_db, (0.0, 40.0), "dB"),
            ("effective_penalty_db", self.effective_penalty_db, (0.0, 40.0), "dB"),
            ("bler_slope_db", self.bler_slope_db, (0.01, 20.0), "dB"),
            ("fair_ttis", self.fair_ttis, (2.0, 1e6), "TTIs"),
            ("down_background", self.down_background, (0.0, 0.999), ""),
            ("up_background", self.up_background, (0.0, 0.999), ""),
        ];
        for (key, value, range, unit) in ranges {
            within(key, value, range, unit)?;
        }
        if let Some(control) = self.power_control {
            within("power_control.alpha", control.alpha, (0.0, 1.0), "")?;
            within("power_control.p0_dbm", control.p0_dbm, (-200.0, 100.0), "dBm")?;
        }
        if let Some(fading) = self.fading {
            within("fading.speed_kmh", fading.speed_kmh, (0.0, 1000.0), "km/h")?;
        }
        if let Errors::Geometric(first, further) = self.errors {
            within("errors.first", first, (0.0, 0.999), "")?;
            within("errors.further", further, (0.0, 0.999), "")?;
        }
        if self.max_retransmissions > 7 {
            let problem = format!("HARQ retransmits a block 0 to 7 times, not {}", self.max_retransmissions);
            return Err(Refusal::new("max_retransmissions", problem));
        }
        if self.cqi_subband && self.fading.is_none() {
            let problem = "without fading all resource blocks are alike; switch fading on, or this off";
            return Err(Refusal::new("cqi_subband", problem));
        }
        if !self.cqi_quantised && self.thresholds != Thresholds::Miesm {
            let problem = "all schemes have thresholds in the set 'miesm' only; use it, or cqi_quantised";
            return Err(Refusal::new("thresholds", problem));
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), Refusal> {
        let whole = [
            ("cqi_period", self.cqi_period, (1, 1000)),
            ("cqi_delay", self.cqi_delay, (0, 1000)),
            ("down_delay", self.down_delay, (1, 1000)),
            ("up_delay", self.up_delay, (1, 1000)),
            ("sr_period", self.sr_period, (0, 1000)),
            ("grant_delay", self.grant_delay, (1, 8)),
            ("rlc.reordering", self.rlc.reordering, (1, 10_000)),
            ("rlc.status_prohibit", self.rlc.status_prohibit, (0, 10_000)),
            ("rlc.poll_retransmit", self.rlc.poll_retransmit, (1, 10_000)),
        ];
        for (key, span, (least, most)) in whole {
            let n = ttis(span);
            if span.0 % TTI != 0 || n < least || n > most {
                let problem = format!("{} ms is not {least} to {most} whole milliseconds", span.0 as f64 / 1e6);
                return Err(Refusal::new(key, problem));
            }
        }
        if let Some(promotion) = self.promotion {
            for (key, span) in [("promotion.after", promotion.after), ("promotion.delay", promotion.delay)] {
                if span.0 % TTI != 0 || span > Span::from_secs(3600) {
                    let problem = format!("{} ms is not 0 to 3600000 whole milliseconds", span.0 as f64 / 1e6);
                    return Err(Refusal::new(key, problem));
                }
            }
        }
        if self.series.is_some_and(|every| every < Span(TTI)) {
            return Err(Refusal::new("series", "rows of a series are at least one TTI apart, a millisecond"));
        }
        Ok(())
    }
}

fn within(key: &str, value: f64, range: (f64, f64), unit: &str) -> Result<(), Refusal> {
    if (range.0..=range.1).contains(&value) {
        return Ok(());
    }
    let space = if unit.is_empty() { "" } else { " " };
    Err(Refusal::new(key, format!("{value}{space}{unit} is outside {}..{}", range.0, range.1)))
}
