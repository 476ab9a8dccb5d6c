//! From the description of a cell to the cell.

use super::adaptation::Adaptation;
use super::background::Background;
use super::downlink::{self, Downlink};
use super::fading::{Band, Channel, doppler_hz};
use super::grid::Grid;
use super::harq::Model;
use super::params::{CellParams, Place, Refusal, UserParams};
use super::promotion::Connections;
use super::radio::{Medium, Radio};
use super::rlc::{Bearer, NEVER, Timing, ttis};
use super::scheduler::Scheduler;
use super::series::Series;
use super::sinr::{decibel, noise_dbm, snr_db};
use super::stats::Window;
use super::uplink::{self, Planner, Times, Uplink};
use super::{Cell, TTI};
use crate::math::inverse_normal;
use crate::path::{QueueParams, Setting};
use crate::ring::Ring;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// What is known of a user before its queues are made.
struct Spot {
    down_db: f64,
    up_db: f64,
    limit_db: f64,
    shadowing_db: f64,
}

impl Cell {
    /// The cell that `p` describes, which has been checked.
    pub(super) fn new(p: &CellParams, setting: &Setting) -> Result<Cell, Refusal> {
        let Some(grid) = Grid::of_bandwidth(p.bandwidth_mhz) else {
            return Err(Refusal::new("bandwidth_mhz", "no bandwidth of LTE"));
        };
        let medium = medium(p, grid);
        let window = Window { from: setting.from, to: setting.to };
        let planner = Planner::new(grid.rbs, p.min_grant_rbs, p.uplink_64qam, &p.rlc);
        let timing = Timing::new(&p.rlc, ttis(p.grant_delay));
        let make = Maker { p, setting, medium: &medium, window };
        let spots: Vec<Spot> = (0..p.users.len()).map(|i| make.spot(i)).collect();
        let (mut down, mut up) = (Vec::new(), Vec::new());
        for (i, (user, spot)) in p.users.iter().zip(&spots).enumerate() {
            let radio = make.radio(i, "down", spot.down_db);
            let (key, queue) = match &user.down_queue {
                Some(queue) => (format!("users.{i}.down_queue"), queue),
                None => ("down_queue".to_owned(), &p.down_queue),
            };
            let bearer = make.bearer(i, false, (&key, queue), (radio.rate, p.down_delay), timing)?;
            down.push(downlink::User::new(bearer, radio));

            let mut radio = make.radio(i, "up", spot.up_db);
            let best = planner.plan(&medium, spot.up_db, spot.limit_db, grid.rbs, u64::MAX);
            radio.rate = best.map_or(0.0, |b| f64::from(b.size) * 8.0);
            let bearer = make.bearer(i, true, ("up_queue", &p.up_queue), (radio.rate, p.up_delay), timing)?;
            let period = ttis(p.sr_period).max(1);
            let offset = make.stream(i, "sr").below(period);
            up.push(uplink::User::new(bearer, radio, spot.limit_db, offset));
        }
        let scheduler = || Scheduler::new(p.scheduler, p.users.len(), p.fair_ttis);
        let times = Times { period: ttis(p.sr_period).max(1), lead: ttis(p.grant_delay), delay: ttis(p.up_delay) };
        let up_background = Background::new(p.up_background);
        let up = Uplink::new(medium.clone(), up, planner, scheduler(), up_background, times, window);
        let (down_background, how) = (Background::new(p.down_background), (p.fit, ttis(p.down_delay)));
        let down = Downlink::new(medium, down, scheduler(), down_background, how, window);
        let places = p.users.iter().zip(&spots).map(|(u, s)| (u.place, s.shadowing_db)).collect();
        let series = p.series.map(|every| Box::new(Series::new(every, p.users.len())));
        let (due, out) = (Time::NEVER, Ring::default());
        let connections = Connections::new(p.promotion, p.users.len());
        Ok(Cell { down, up, places, connections, next: NEVER, due, out, worked: 0, window, series })
    }
}

fn medium(p: &CellParams, grid: Grid) -> Medium {
    Medium {
        grid,
        adaptation: Adaptation::new(p.thresholds, p.cqi_quantised),
        min_mcs0: p.min_mcs0,
        period: ttis(p.cqi_period),
        delay: ttis(p.cqi_delay),
        subband: p.cqi_subband,
        penalty_db: p.effective_penalty_db,
        band: p.fading.map(|f| Band::new(f.profile, (0..grid.rbs).map(|i| grid.offset_hz(i)))),
        model: Model { errors: p.errors, slope_db: p.bler_slope_db, retransmissions: p.max_retransmissions },
    }
}

/// Makes the parts of users.
struct Maker<'a> {
    p: &'a CellParams,
    setting: &'a Setting,
    medium: &'a Medium,
    window: Window,
}

impl Maker<'_> {
    /// A stream of user `i`.
    fn stream(&self, i: usize, what: &str) -> Stream {
        let name = format!("cell {} user {i} {what}", self.p.name);
        Stream::named(self.setting.seed, self.setting.run, &name)
    }

    /// SNRs of user `i`.
    fn spot(&self, i: usize) -> Spot {
        let (p, rbs) = (self.p, self.medium.grid.rbs);
        let metres = match p.users[i].place {
            Place::Snr { down_db, up_db } => {
                return Spot { down_db, up_db, limit_db: f64::INFINITY, shadowing_db: 0.0 };
            }
            Place::Distance(metres) => metres,
        };
        let shadowing_db = p.shadowing_db * inverse_normal(self.stream(i, "shadowing").uniform().max(1e-12));
        let loss = |uplink| p.path_loss.loss_db(p.area, &p.geometry(metres, uplink)) + shadowing_db;
        let noise = noise_dbm(1, p.base_noise_db);
        let limit_db = p
            .power_control
            .map_or(f64::INFINITY, |c| c.p0_dbm + c.alpha * (loss(true) - p.gain_db) - loss(true) + p.gain_db - noise);
        Spot {
            down_db: snr_db(p.base_power_dbm, loss(false), p.gain_db, rbs, p.user_noise_db),
            up_db: p.user_power_dbm - loss(true) + p.gain_db - noise,
            limit_db,
            shadowing_db,
        }
    }

    fn radio(&self, i: usize, direction: &str, sinr_db: f64) -> Radio {
        let channel = self.medium.band.as_ref().zip(self.p.fading).map(|(band, fading)| {
            let UserParams { speed_kmh, .. } = self.p.users[i];
            let carrier = if direction == "up" { self.p.up_mhz } else { self.p.down_mhz };
            let doppler = doppler_hz(speed_kmh.unwrap_or(fading.speed_kmh), carrier);
            Box::new(Channel::new(band, doppler, &mut self.stream(i, &format!("{direction} fading"))))
        });
        Radio::new(sinr_db, channel, self.stream(i, &format!("{direction} harq")), self.medium)
    }

    fn bearer(
        &self,
        i: usize,
        uplink: bool,
        (key, queue): (&str, &QueueParams),
        (rate, delay): (f64, Span),
        timing: Timing,
    ) -> Result<Bearer, Refusal> {
        let direction = if uplink { "up" } else { "down" };
        let rng = self.stream(i, &format!("{direction} queue"));
        let rate_bps = (rate * 1e9 / TTI as f64).max(1.0) as u64;
        // A packet in transmission is not in the queue any more, but takes room in it: the buffer is one.
        let mut queue = queue.clone();
        queue.limits.includes_service = true;
        let made = queue.build(rate_bps, delay, rng).map_err(|e| e.below(key))?;
        let port = i + if uplink { self.p.users.len() } else { 0 };
        Ok(Bearer::new(made, timing, port as u16, self.window))
    }
}

impl Uplink {
    /// What user `i` sends with at best, as long as its channel does not fade.
    pub(super) fn best(&self, i: usize) -> Option<uplink::Plan> {
        let user = &self.users[i];
        let rbs = self.medium.grid.rbs;
        self.planner().plan(&self.medium, user.radio.sinr_db, user.limit_db, rbs, u64::MAX)
    }

    /// The SNR of the smallest grant, dB.
    pub(super) fn smallest_db(&self, i: usize) -> f64 {
        let user = &self.users[i];
        (user.radio.sinr_db - decibel(f64::from(self.planner().least))).min(user.limit_db)
    }
}
