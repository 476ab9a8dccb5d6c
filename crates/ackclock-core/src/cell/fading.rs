//! Fast fading: paths of different delay, each the sum of waves from all around a moving user.
//!
//! W. C. Jakes, Microwave mobile communications (1974), as a sum of sinusoids with random angles and phases; the profiles are those of
//! 3GPP TS 36.104 table B.2-1 to B.2-3. The channel is a function of time, so that nothing is to be done while nobody looks.

use super::sinr::decibel;
use crate::math::{cos_sin, exp, ln};
use crate::rng::Stream;

/// Waves per path.
const WAVES: usize = 16;
/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;

/// Delays and powers of the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Extended pedestrian A.
    #[default]
    Epa,
    /// Extended vehicular A.
    Eva,
    /// Extended typical urban.
    Etu,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 3] = [Profile::Epa, Profile::Eva, Profile::Etu];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Epa => "epa",
            Profile::Eva => "eva",
            Profile::Etu => "etu",
        }
    }

    /// Its paths: delay in ns and power in dB.
    pub fn paths(self) -> &'static [(f64, f64)] {
        match self {
            Profile::Epa => {
                &[(0.0, 0.0), (30.0, -1.0), (70.0, -2.0), (90.0, -3.0), (110.0, -8.0), (190.0, -17.2), (410.0, -20.8)]
            }
            Profile::Eva => &[
                (0.0, 0.0),
                (30.0, -1.5),
                (150.0, -1.4),
                (310.0, -3.6),
                (370.0, -0.6),
                (710.0, -9.1),
                (1090.0, -7.0),
                (1730.0, -12.0),
                (2510.0, -16.9),
            ],
            Profile::Etu => &[
                (0.0, -1.0),
                (50.0, -1.0),
                (120.0, -1.0),
                (200.0, 0.0),
                (230.0, 0.0),
                (500.0, 0.0),
                (1600.0, -3.0),
                (2300.0, -5.0),
                (5000.0, -7.0),
            ],
        }
    }
}

/// The largest Doppler shift at a speed, Hz.
pub fn doppler_hz(speed_kmh: f64, frequency_mhz: f64) -> f64 {
    speed_kmh / 3.6 * frequency_mhz * 1e6 / LIGHT
}

/// What the paths of a profile do at each frequency: the same for all users.
#[derive(Clone, Debug)]
pub struct Band {
    /// Of every path a factor per frequency, its power included: real parts, then imaginary parts.
    paths: Vec<[Vec<f64>; 2]>,
    frequencies: usize,
}

impl Band {
    /// For a profile at these frequencies, Hz from the carrier.
    pub fn new(profile: Profile, offsets_hz: impl Iterator<Item = f64>) -> Band {
        let offsets: Vec<f64> = offsets_hz.collect();
        let power = |db: f64| exp(db * std::f64::consts::LN_10 / 10.0);
        let total: f64 = profile.paths().iter().map(|p| power(p.1)).sum();
        let of = |(ns, db): &(f64, f64)| {
            let a = (power(*db) / total / WAVES as f64).sqrt();
            let turned = || offsets.iter().map(|hz| cos_sin(-hz * ns * 1e-9));
            [turned().map(|t| a * t.0).collect(), turned().map(|t| a * t.1).collect()]
        };
        Band { paths: profile.paths().iter().map(of).collect(), frequencies: offsets.len() }
    }
}

/// The channel of one user.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Of every path its waves: Doppler shift in Hz and phase in turns.
    waves: Vec<[(f64, f64); WAVES]>,
}

impl Channel {
    /// A channel through `band` at the largest Doppler shift `doppler_hz`.
    pub fn new(band: &Band, doppler_hz: f64, rng: &mut Stream) -> Channel {
        let path = |_| {
            let mut waves = [(0.0, 0.0); WAVES];
            for (i, wave) in waves.iter_mut().enumerate() {
                let angle = (i as f64 + rng.uniform()) / WAVES as f64;
                *wave = (doppler_hz * cos_sin(angle).0, rng.uniform());
            }
            waves
        };
        Channel { waves: (0..band.paths.len()).map(path).collect() }
    }

    /// The gain in power at every frequency of `band` at `seconds`; its mean over time is 1.
    pub fn gains(&self, band: &Band, seconds: f64, gains: &mut Vec<f64>) {
        // Path by path over all frequencies, in two halves of one list: the sums of real and of imaginary parts.
        gains.clear();
        gains.resize(2 * band.frequencies, 0.0);
        let (real, imaginary) = gains.split_at_mut(band.frequencies);
        for (waves, [fr, fi]) in self.waves.iter().zip(&band.paths) {
            let (mut hr, mut hi) = (0.0, 0.0);
            for (shift, phase) in waves {
                let (c, s) = cos_sin(shift * seconds + phase);
                (hr, hi) = (hr + c, hi + s);
            }
            for (((re, im), fr), fi) in real.iter_mut().zip(&mut *imaginary).zip(fr).zip(fi) {
                *re += fr * hr - fi * hi;
                *im += fr * hi + fi * hr;
            }
        }
        for (re, im) in real.iter_mut().zip(imaginary) {
            *re = *re * *re + *im * *im;
        }
        gains.truncate(band.frequencies);
    }
}

/// The SNR, dB, at which a flat channel would have the capacity that `gains` have on average when their mean SNR is `mean`: mutual
/// information of Gaussian signals, a stand-in for that of the modulations.
pub fn effective_db(mean: f64, gains: &[f64]) -> f64 {
    // One logarithm for ten blocks: a product of ten SNRs of 90 dB is still a number.
    let nats: f64 = gains.chunks(10).map(|some| ln(some.iter().map(|g| 1.0 + mean * g).product())).sum();
    decibel((exp(nats / gains.len() as f64) - 1.0).max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doppler_shifts() {
        assert!((doppler_hz(3.0, 2120.0) - 5.893).abs() < 0.001);
        assert!((doppler_hz(60.0, 2120.0) - 117.86).abs() < 0.01);
    }

    fn band(profile: Profile) -> Band {
        Band::new(profile, (0..100).map(|i| (f64::from(i) - 49.5) * 180e3))
    }

    #[test]
    fn the_mean_gain_is_one_and_its_distribution_that_of_rayleigh() {
        for profile in Profile::ALL {
            let band = band(profile);
            let (mut sum, mut low, mut n) = (0.0, 0, 0.0);
            for user in 0..400 {
                let mut rng = Stream::named(1, user, "fading");
                let channel = Channel::new(&band, 100.0, &mut rng);
                let mut gains = Vec::new();
                for k in 0..10 {
                    channel.gains(&band, f64::from(k) * 0.1, &mut gains);
                    sum += gains[0];
                    n += 1.0;
                    low += i32::from(gains[0] < 0.1);
                }
            }
            // |h|^2 is exponential: P(below 0.1) = 1 - exp(-0.1) = 9.5 %; standard errors of the 4000 values: 0.016 and 0.5 %.
            assert!((sum / n - 1.0f64).abs() < 0.06, "{profile:?} {}", sum / n);
            assert!((f64::from(low) / n - 0.0952).abs() < 0.02, "{profile:?} {low}");
        }
    }

    #[test]
    fn it_changes_with_time_as_jakes_says() {
        // The correlation of the power over time is J0(2 pi fD t)^2: 0.9250 at fD t = 0.0625 (J0(0.3927) = 0.9618) and 0.0845 at 0.3
        // (J0(1.885) = 0.2906).
        let band = Band::new(Profile::Epa, std::iter::once(0.0));
        let lag = |turns: f64| {
            let (mut xy, mut x1, mut x2, mut n) = (0.0, 0.0, 0.0, 0.0);
            for user in 0..3000 {
                let mut rng = Stream::named(2, user, "fading");
                let channel = Channel::new(&band, 50.0, &mut rng);
                let (mut a, mut b) = (Vec::new(), Vec::new());
                channel.gains(&band, 1.0, &mut a);
                channel.gains(&band, 1.0 + turns / 50.0, &mut b);
                (xy, x1, x2, n) = (xy + a[0] * b[0], x1 + a[0], x2 + a[0] * a[0], n + 1.0);
            }
            (xy / n - (x1 / n) * (x1 / n)) / (x2 / n - (x1 / n) * (x1 / n))
        };
        assert!((lag(0.0625) - 0.925).abs() < 0.03, "{}", lag(0.0625));
        assert!((lag(0.3) - 0.0845).abs() < 0.06, "{}", lag(0.3));
        assert!(lag(0.0) > 0.999_999);
    }

    #[test]
    fn long_delays_make_narrow_bands() {
        // Correlation of neighbouring resource blocks: near one for EPA, less for ETU with its 5 us.
        let apart = |profile| {
            let band = band(profile);
            let (mut sum, mut n) = (0.0, 0.0);
            for user in 0..300 {
                let mut rng = Stream::named(3, user, "fading");
                let channel = Channel::new(&band, 5.0, &mut rng);
                let mut gains = Vec::new();
                channel.gains(&band, 0.0, &mut gains);
                for w in gains.windows(2) {
                    sum += (w[0] - w[1]) * (w[0] - w[1]);
                    n += 1.0;
                }
            }
            sum / n
        };
        assert!(
            apart(Profile::Epa) < 0.02 && apart(Profile::Etu) > 0.3,
            "{} {}",
            apart(Profile::Epa),
            apart(Profile::Etu)
        );
    }

    #[test]
    fn the_effective_snr_of_a_flat_band_is_its_snr() {
        assert!((effective_db(10.0, &[1.0; 25]) - 10.0).abs() < 1e-12);
        // log2(1 + 15) and log2(1 + 0): two bits on average, an SNR of 3.
        assert!((effective_db(15.0, &[1.0, 0.0]) - 10.0 * 3f64.log10()).abs() < 1e-12);
    }
}
