//! The channel between the base station and a user in one direction: SNR, what the user reported of it, and the scheme that follows.

use super::TTI;
use super::adaptation::Adaptation;
use super::fading::{Band, Channel, effective_db};
use super::grid::Grid;
use super::harq::{Known, Model};
use super::sinr::linear;
use super::tables::{SCHEMES, bits};
use crate::rng::Stream;

/// What the channels of all users have in common.
#[derive(Clone, Debug)]
pub struct Medium {
    /// Resource blocks.
    pub grid: Grid,
    /// Which scheme at which SNR.
    pub adaptation: Adaptation,
    /// Whether those below CQI 1 are served all the same.
    pub min_mcs0: bool,
    /// TTIs between reports.
    pub period: u64,
    /// TTIs from a report to its use.
    pub delay: u64,
    /// Whether reports tell groups of resource blocks apart.
    pub subband: bool,
    /// Taken from an effective SNR, dB.
    pub penalty_db: f64,
    /// Fading, if there is any.
    pub band: Option<Band>,
    /// Block errors.
    pub model: Model,
}

impl Medium {
    /// The scheme at `sinr_db`; none: not served.
    pub fn scheme(&self, sinr_db: f64) -> Option<u8> {
        self.adaptation.scheme(sinr_db).or(self.min_mcs0.then_some(0))
    }
}

/// The channel of a user.
#[derive(Clone, Debug)]
pub struct Radio {
    /// Mean SNR, dB.
    pub sinr_db: f64,
    /// Its fading.
    pub channel: Option<Box<Channel>>,
    /// Draws of block errors.
    pub rng: Stream,
    /// What is known of their probability.
    pub known: Known,
    /// The scheme in force; none: not served.
    pub mcs: Option<u8>,
    /// Bits of a block over the whole band.
    pub rate: f64,
    /// The report in force, by the number of its TTI.
    report: u64,
    /// With reports on groups, the SNR of each, dB.
    groups: Vec<f64>,
    gains: Vec<f64>,
}

impl Radio {
    /// A channel with this mean SNR.
    pub fn new(sinr_db: f64, channel: Option<Box<Channel>>, rng: Stream, medium: &Medium) -> Radio {
        let mut radio = Radio {
            sinr_db,
            channel,
            rng,
            known: Known::new(),
            mcs: None,
            rate: 0.0,
            report: u64::MAX,
            groups: Vec::new(),
            gains: Vec::new(),
        };
        radio.follow(sinr_db, medium);
        radio
    }

    fn follow(&mut self, sinr_db: f64, medium: &Medium) {
        self.mcs = medium.scheme(sinr_db);
        self.rate = self.mcs.map_or(0.0, |m| f64::from(bits(SCHEMES[usize::from(m)].down, medium.grid.rbs)));
    }

    /// The SNR in TTI number `tick`, dB: over a band that is not flat the effective one.
    #[inline]
    pub fn sinr_at(&mut self, tick: u64, medium: &Medium) -> f64 {
        match (&self.channel, &medium.band) {
            (Some(channel), Some(band)) => {
                channel.gains(band, (tick * TTI) as f64 * 1e-9, &mut self.gains);
                effective_db(linear(self.sinr_db), &self.gains) - medium.penalty_db
            }
            _ => self.sinr_db,
        }
    }

    /// Brings what is in force in TTI number `tick` up to date.
    #[inline]
    pub fn update(&mut self, tick: u64, medium: &Medium) {
        if self.channel.is_some() {
            let report = tick.saturating_sub(medium.delay) / medium.period * medium.period;
            if report != self.report {
                self.read(report, medium);
            }
        }
    }

    fn read(&mut self, report: u64, medium: &Medium) {
        self.report = report;
        let wide = self.sinr_at(report, medium);
        self.follow(wide, medium);
        if medium.subband {
            let (mean, size) = (linear(self.sinr_db), usize::from(medium.grid.group));
            self.groups.clear();
            self.groups.extend(self.gains.chunks(size).map(|g| effective_db(mean, g) - medium.penalty_db));
        }
    }

    /// The scheme that the reports allow over these groups, if they tell groups apart.
    pub fn scheme_over(&self, groups: &[u16], medium: &Medium) -> Option<u8> {
        if self.groups.is_empty() {
            return self.mcs;
        }
        let mut ratios = [0.0; 32];
        for (ratio, g) in ratios.iter_mut().zip(groups) {
            *ratio = linear(self.groups[usize::from(*g)]);
        }
        medium.scheme(effective_db(1.0, &ratios[..groups.len()]))
    }

    /// The SNR over these groups in TTI number `tick`, dB.
    pub fn sinr_over(&mut self, tick: u64, groups: &[u16], medium: &Medium) -> f64 {
        let wide = self.sinr_at(tick, medium);
        if self.channel.is_none() || self.groups.is_empty() {
            return wide;
        }
        let size = usize::from(medium.grid.group);
        let mut gains = Vec::with_capacity(self.gains.len());
        for g in groups {
            gains.extend(self.gains.iter().skip(usize::from(*g) * size).take(size));
        }
        effective_db(linear(self.sinr_db), &gains) - medium.penalty_db
    }

    /// Bits of a block over group `g`, as far as reports tell.
    pub fn rate_of(&self, g: u16, medium: &Medium) -> f64 {
        let Some(sinr_db) = self.groups.get(usize::from(g)) else {
            return self.rate / f64::from(medium.grid.groups());
        };
        medium.scheme(*sinr_db).map_or(0.0, |m| f64::from(bits(SCHEMES[usize::from(m)].down, medium.grid.blocks_of(g))))
    }
}
