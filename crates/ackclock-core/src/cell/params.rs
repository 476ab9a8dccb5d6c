//! A cell as plain data.

mod checks;

use super::adaptation::Thresholds;
use super::fading::Profile;
use super::path_loss::{Area, Geometry, Outside, PathLoss};
use super::scheduler::Discipline;
use super::sinr::PowerControl;
use crate::params::Value;
use crate::path::{QueueParams, Setting};
use crate::time::Span;

pub use crate::path::Refusal;
pub(super) use checks::MOST_USERS;

/// Where a user is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// So many metres from the base station: path loss and shadowing give the SNR.
    Distance(f64),
    /// Its SNR in the downlink over the whole band and in the uplink over one resource block, dB: neither powers nor path loss count.
    Snr {
        /// Downlink, at every resource block.
        down_db: f64,
        /// Uplink, if all power went into one resource block.
        up_db: f64,
    },
}

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserParams {
    /// Where it is.
    pub place: Place,
    /// Its speed, for fading, km/h; none: [`Fading::speed_kmh`].
    pub speed_kmh: Option<f64>,
    /// Its queue at the base station; none: [`CellParams::down_queue`].
    pub down_queue: Option<QueueParams>,
}

impl UserParams {
    /// A user so many metres away.
    pub fn at(metres: f64) -> UserParams {
        UserParams { place: Place::Distance(metres), speed_kmh: None, down_queue: None }
    }

    /// A user with this SNR in both directions, dB.
    pub fn with_snr(down_db: f64, up_db: f64) -> UserParams {
        UserParams { place: Place::Snr { down_db, up_db }, speed_kmh: None, down_queue: None }
    }
}

/// Fast fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Delays and powers of the paths.
    pub profile: Profile,
    /// Speed of the users, km/h.
    pub speed_kmh: f64,
}

/// Users without traffic leave the connected state, and come back to it late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// After this time without a packet in either direction a user is idle; so it is at the start.
    pub after: Span,
    /// From the next packet on it takes this long until the user is served again.
    pub delay: Span,
}

impl Default for Promotion {
    /// Ten seconds, a tenth of a second.
    fn default() -> Promotion {
        Promotion { after: Span::from_secs(10), delay: Span::from_millis(100) }
    }
}

/// How block errors come about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Errors {
    /// There are none.
    None,
    /// From SINR and scheme; what was received before counts (chase combining).
    Bler,
    /// With fixed probabilities: of the first transmission, and of every retransmission.
    Geometric(f64, f64),
}

/// What RLC does about lost blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Unacknowledged: packets of lost blocks are lost.
    #[default]
    Unacknowledged,
    /// Acknowledged: lost blocks are sent again until they arrive.
    Acknowledged,
}

/// RLC and what is above and below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rlc {
    /// What it does about lost blocks.
    pub mode: Mode,
    /// t-Reordering: how long a receiver waits for a missing block.
    pub reordering: Span,
    /// t-StatusProhibit (acknowledged): least time between two status reports.
    pub status_prohibit: Span,
    /// t-PollRetransmit (acknowledged): after it a sender asks for the fate of its last block.
    pub poll_retransmit: Span,
    /// Bytes of headers per transport block (MAC 3, RLC 2, a first length 2).
    pub block_overhead: u32,
    /// Bytes of headers per packet (PDCP, and its length in RLC).
    pub packet_overhead: u32,
}

impl Rlc {
    /// With the usual timers of a mode: 100 ms of reordering (ns-3) without acknowledgments, 35 ms with them.
    pub fn of(mode: Mode) -> Rlc {
        let reordering = match mode {
            Mode::Unacknowledged => 100,
            Mode::Acknowledged => 35,
        };
        Rlc {
            mode,
            reordering: Span::from_millis(reordering),
            status_prohibit: Span::from_millis(10),
            poll_retransmit: Span::from_millis(20),
            block_overhead: 7,
            packet_overhead: 2,
        }
    }
}

/// A cell as plain data. [`CellParams::new`] has the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct CellParams {
    /// Its name, from which its random streams are derived.
    pub name: String,
    /// Bandwidth of each direction, MHz: one of [`super::grid::BANDWIDTHS`].
    pub bandwidth_mhz: f64,
    /// Carrier of the downlink, MHz.
    pub down_mhz: f64,
    /// Carrier of the uplink, MHz.
    pub up_mhz: f64,
    /// Formula of the path loss.
    pub path_loss: PathLoss,
    /// What surrounds the users.
    pub area: Area,
    /// Height of the base station, m.
    pub base_m: f64,
    /// Height of the users, m.
    pub user_m: f64,
    /// Nobody is nearer than this, m: nearer ones count as there.
    pub min_distance_m: f64,
    /// Power of the base station over the whole band, dBm.
    pub base_power_dbm: f64,
    /// Most power of a user, dBm; it goes into the resource blocks it was granted.
    pub user_power_dbm: f64,
    /// Gain of the antennas of both ends together, dB.
    pub gain_db: f64,
    /// Noise figure of the users, dB.
    pub user_noise_db: f64,
    /// Noise figure of the base station, dB.
    pub base_noise_db: f64,
    /// Open-loop power control of the uplink.
    pub power_control: Option<PowerControl>,
    /// Standard deviation of lognormal shadowing, dB; it is drawn once per user.
    pub shadowing_db: f64,
    /// Fast fading.
    pub fading: Option<Fading>,
    /// Above which SINR a CQI is reported.
    pub thresholds: Thresholds,
    /// Whether schemes follow the 15 values of the CQI; otherwise all 29 are chosen from the SINR.
    pub cqi_quantised: bool,
    /// Between two reports of the CQI.
    pub cqi_period: Span,
    /// From the report to its use.
    pub cqi_delay: Span,
    /// Whether users report a CQI for every group of resource blocks; otherwise one for the band. It matters with fading.
    pub cqi_subband: bool,
    /// What is taken from the effective SINR of a band that is not flat, dB.
    pub effective_penalty_db: f64,
    /// Whether users below CQI 1 are served with the slowest scheme, and its errors; otherwise not at all (ns-3).
    pub min_mcs0: bool,
    /// Whether users may send with 64QAM; otherwise with 16QAM at most (row 19 of the block sizes).
    pub uplink_64qam: bool,
    /// Block errors.
    pub errors: Errors,
    /// Steepness of the block error rate over SINR: the standard deviation of its normal distribution, dB.
    pub bler_slope_db: f64,
    /// Most retransmissions of a block by HARQ.
    pub max_retransmissions: u8,
    /// RLC.
    pub rlc: Rlc,
    /// Who is served.
    pub scheduler: Discipline,
    /// Length of the average of proportional fairness, TTIs.
    pub fair_ttis: f64,
    /// Whether a user gets no more resource blocks than its queue needs; otherwise all that are free (ns-3).
    pub fit: bool,
    /// Queues at the base station.
    pub down_queue: QueueParams,
    /// Queues of the users.
    pub up_queue: QueueParams,
    /// From the begin of a transmission of the base station until the packet is out at the user; whole TTIs.
    pub down_delay: Span,
    /// The same in the uplink.
    pub up_delay: Span,
    /// Between two opportunities of a user to request resources; zero: at every TTI.
    pub sr_period: Span,
    /// From a request, or a report of a queue, to the grant, and from a grant to the transmission; whole TTIs.
    pub grant_delay: Span,
    /// Least resource blocks of a grant.
    pub min_grant_rbs: u16,
    /// What idle users wait for; none: nobody becomes idle.
    pub promotion: Option<Promotion>,
    /// Share of the TTIs of the downlink that belong to others.
    pub down_background: f64,
    /// The same in the uplink.
    pub up_background: f64,
    /// Between two rows of the series; none: no series.
    pub series: Option<Span>,
    /// Who is in the cell: user `i` has port `i` in the downlink and port `n + i` in the uplink.
    pub users: Vec<UserParams>,
}

impl CellParams {
    /// 20 MHz, proportional fairness, RLC without acknowledgments, 300 ms at most in the queue, no fading, and these users.
    pub fn new(name: &str, users: Vec<UserParams>) -> CellParams {
        let mut down_queue = QueueParams::unlimited();
        down_queue.params = vec![("max_age".to_owned(), Value::Duration(Span::from_millis(300)))];
        CellParams {
            name: name.to_owned(),
            bandwidth_mhz: 20.0,
            down_mhz: 2120.0,
            up_mhz: 1930.0,
            path_loss: PathLoss::Cost231,
            area: Area::MediumCity,
            base_m: 30.0,
            user_m: 1.5,
            min_distance_m: 20.0,
            base_power_dbm: 31.0,
            user_power_dbm: 23.0,
            gain_db: 0.0,
            user_noise_db: 9.0,
            base_noise_db: 5.0,
            power_control: None,
            shadowing_db: 0.0,
            fading: None,
            thresholds: Thresholds::Miesm,
            cqi_quantised: true,
            cqi_period: Span::from_millis(5),
            cqi_delay: Span::from_millis(4),
            cqi_subband: false,
            effective_penalty_db: 0.0,
            min_mcs0: true,
            uplink_64qam: true,
            errors: Errors::Bler,
            bler_slope_db: 0.5,
            max_retransmissions: 3,
            rlc: Rlc::of(Mode::Unacknowledged),
            scheduler: Discipline::ProportionalFair,
            fair_ttis: 99.0,
            fit: true,
            down_queue,
            up_queue: QueueParams::unlimited(),
            down_delay: Span::from_millis(4),
            up_delay: Span::from_millis(1),
            sr_period: Span::from_millis(10),
            grant_delay: Span::from_millis(4),
            min_grant_rbs: 3,
            promotion: None,
            down_background: 0.0,
            up_background: 0.0,
            series: None,
            users,
        }
    }

    /// Where a user at `metres` is, for the path loss of the downlink or the uplink.
    pub fn geometry(&self, metres: f64, uplink: bool) -> Geometry {
        Geometry {
            frequency_mhz: if uplink { self.up_mhz } else { self.down_mhz },
            base_m: self.base_m,
            user_m: self.user_m,
            distance_km: metres.max(self.min_distance_m) / 1000.0,
        }
    }

    /// Users outside the range for which the formula of the path loss was made: number and what is outside. Frequencies and heights
    /// concern all users; those with an SNR of their own none.
    pub fn outside(&self) -> Vec<(usize, Vec<Outside>)> {
        let of = |(i, user): (usize, &UserParams)| {
            let Place::Distance(metres) = user.place else { return None };
            let mut outside = self.path_loss.outside(&self.geometry(metres, false));
            let up = self.path_loss.outside(&self.geometry(metres, true));
            outside.extend(up.into_iter().filter(|o| o.quantity.starts_with("frequency")));
            (!outside.is_empty()).then_some((i, outside))
        };
        self.users.iter().enumerate().filter_map(of).collect()
    }

    /// The cell.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    pub fn build(&self, setting: &Setting) -> Result<super::Cell, Refusal> {
        self.check()?;
        super::Cell::new(self, setting)
    }
}
