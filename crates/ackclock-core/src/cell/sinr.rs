//! From power and loss to the signal-to-noise ratio. There is no interference: the cell stands alone.

use super::grid::RB_HZ;
use crate::math::log10;

/// Density of thermal noise at 290 K, dBm per Hz.
pub const NOISE_DBM_HZ: f64 = -174.0;

/// Noise over `rbs` resource blocks at a receiver with this noise figure (dB), dBm.
pub fn noise_dbm(rbs: u16, figure_db: f64) -> f64 {
    NOISE_DBM_HZ + 10.0 * log10(f64::from(rbs) * RB_HZ) + figure_db
}

/// SNR of a signal of `power_dbm` spread over `rbs` resource blocks, dB.
pub fn snr_db(power_dbm: f64, loss_db: f64, gain_db: f64, rbs: u16, figure_db: f64) -> f64 {
    power_dbm - loss_db + gain_db - noise_dbm(rbs, figure_db)
}

/// A ratio of powers as a number.
pub fn linear(db: f64) -> f64 {
    crate::math::exp(db * std::f64::consts::LN_10 / 10.0)
}

/// A ratio of powers in dB.
pub fn decibel(ratio: f64) -> f64 {
    10.0 * log10(ratio)
}

/// Users whose power is set by the base station without feedback (TS 36.213 §5.1.1.1): they transmit no stronger than
/// `P0 + alpha L + 10 lg(blocks)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerControl {
    /// Share of the path loss that is made up for.
    pub alpha: f64,
    /// Power per resource block that is wanted, dBm.
    pub p0_dbm: f64,
}

#[cfg(test)]
mod tests {
    use super::super::path_loss::{Area, Geometry, PathLoss};
    use super::*;

    #[test]
    fn vectors() {
        assert!((noise_dbm(100, 9.0) + 92.4473).abs() < 5e-5);
        // 30 dBm, noise figure 9 dB, 100 blocks at 2120 MHz.
        for (m, snr) in [(100.0, 19.07), (250.0, 5.06), (354.0, -0.27), (500.0, -5.55)] {
            let g = Geometry { frequency_mhz: 2120.0, base_m: 30.0, user_m: 1.5, distance_km: m / 1000.0 };
            let got = snr_db(30.0, PathLoss::Cost231.loss_db(Area::MediumCity, &g), 0.0, 100, 9.0);
            assert!((got - snr).abs() < 0.006, "{m} m: {got}");
        }
    }

    #[test]
    fn decibels() {
        assert!((linear(3.0) - 10f64.powf(0.3)).abs() < 1e-12 && (decibel(100.0) - 20.0).abs() < 1e-12);
    }
}
