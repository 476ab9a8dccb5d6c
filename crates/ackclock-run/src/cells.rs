//! Radio cells: from the resolved run to the cells of the network, and what is reported of them.

mod params;
mod rows;
mod series;

use crate::spec::{self, Run, SpecError};
use ackclock_core::cell::{Cell, CellParams, Outside, Place, UserParams};
use ackclock_core::math::cos_sin;
use ackclock_core::path::{Refusal, Setting};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};

pub use rows::rows;
pub use rows::{CellRow, DirectionRow, UserDirectionRow, UserRow};
pub use series::samples;

/// A cell of the run, beside the element that is played: what it is called and where its users are.
#[derive(Debug)]
pub struct Named {
    /// Its name.
    pub id: String,
    /// Where its users are that were drawn, metres from the base station: to the east and to the north.
    pub spots: Vec<Option<(f64, f64)>>,
    /// What a packet takes at least from its arrival to the user, and from the user, who has to ask first, on.
    pub least: [Span; 2],
}

/// The cell `c` of `run`, with a series if that has an interval.
///
/// # Errors
/// What is wrong with it, and where.
pub fn cell(
    c: &spec::Cell,
    run: &Run,
    path: &str,
    series: Option<Span>,
) -> Result<(Box<Cell>, Named, Vec<String>), SpecError> {
    let (mut params, spots) = described(c, run, path)?;
    params.series = series;
    let setting = Setting { seed: run.seed, run: run.run, from: Time(run.warmup_ns), to: Time(run.duration_ns) };
    let made = params.build(&setting).map_err(|e| refused(path, e))?;
    // A user without a grant asks in one TTI, is granted, and sends: nothing shorter is possible.
    let up = params.grant_delay.0.saturating_mul(2).saturating_add(params.up_delay.0);
    let named = Named { id: c.id.clone(), spots, least: [params.down_delay, Span(up)] };
    Ok((Box::new(made), named, warnings(&c.id, &params)))
}

/// The parameters of a cell with its users, and where those are that were drawn.
type Described = (CellParams, Vec<Option<(f64, f64)>>);

fn described(c: &spec::Cell, run: &Run, path: &str) -> Result<Described, SpecError> {
    let mut spots = Vec::with_capacity(c.users.len());
    let mut users = Vec::with_capacity(c.users.len());
    for (i, user) in c.users.iter().enumerate() {
        let at = format!("{path}.users.{i}");
        let (place, spot) = match (user.distance_m, user.disc_m, user.down_db) {
            (Some(metres), None, None) => (Place::Distance(metres), None),
            (None, Some(radius), None) => {
                if !(radius > 0.0 && radius <= 1e6) {
                    let problem = format!("{radius} m is outside 0..1000000, and not 0");
                    return Err(SpecError::new(format!("{at}.disc_m"), problem));
                }
                let name = format!("cell {} user {i} place", c.id);
                let (metres, spot) = drawn(radius, &mut Stream::named(run.seed, run.run, &name));
                (Place::Distance(metres), Some(spot))
            }
            (None, None, Some(down_db)) => (Place::Snr { down_db, up_db: user.up_db.unwrap_or(down_db) }, None),
            _ => {
                let problem = "a user is somewhere: give one of distance_m, disc_m and down_db";
                return Err(SpecError::new(at, problem));
            }
        };
        if user.up_db.is_some() && user.down_db.is_none() {
            return Err(SpecError::new(format!("{at}.up_db"), "an SNR is given for both directions; add down_db"));
        }
        let queue = user.down_queue.as_ref().map(|q| crate::links::queue(q, &format!("{at}.down_queue")));
        users.push(UserParams { place, speed_kmh: user.speed_kmh, down_queue: queue.transpose()? });
        spots.push(spot);
    }
    let mut made = CellParams::new(&c.id, users);
    params::apply(&c.params, &mut made, &format!("{path}.params"))?;
    Ok((made, spots))
}

/// A place that is uniform over a disc: the distance from its middle, and where that is.
fn drawn(radius: f64, rng: &mut Stream) -> (f64, (f64, f64)) {
    let metres = rng.uniform().sqrt() * radius;
    let (cos, sin) = cos_sin(rng.uniform());
    (metres, (metres * cos, metres * sin))
}

fn refused(path: &str, e: Refusal) -> SpecError {
    let at = match e.key.as_str() {
        "" => path.to_owned(),
        key if key.starts_with("users") => format!("{path}.{key}"),
        key => format!("{path}.params.{key}"),
    };
    SpecError::new(at, e.problem)
}

/// What is outside the range of the path loss, in words that are the same wherever users were drawn.
fn warnings(id: &str, params: &CellParams) -> Vec<String> {
    let found = params.outside();
    let all: Vec<&Outside> = found.iter().flat_map(|(_, outside)| outside).collect();
    let mut parts: Vec<String> = Vec::new();
    for o in &all {
        let (low, high) = o.range;
        let (what, unit) = o.quantity.split_once(" in ").unwrap_or((o.quantity, ""));
        let part = if what == "distance" {
            let (side, end) = if o.value < low { ("nearer", low) } else { ("farther", high) };
            format!("users {side} than {end} {unit} (it is for {low} to {high} {unit})")
        } else {
            format!("a {what} of {} {unit} (it is for {low} to {high} {unit})", o.value)
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return Vec::new();
    }
    let name = params.path_loss.name();
    vec![format!("the path loss {name} of '{id}' is extrapolated: to {}", parts.join(", to "))]
}
