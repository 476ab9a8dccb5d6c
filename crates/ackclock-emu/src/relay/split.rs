//! Which flows of a run are split, what of their relays a proxy on a kernel can be, and how its host is set up.

use crate::agent::options::{BUFFERS, Options};
use crate::host::Wanted;
use crate::path::Addresses;
use crate::sys::socket_address;
use ackclock_core::packet::Family;
use ackclock_run::others::Others;
use ackclock_run::spec::relay;
use ackclock_run::{Run, SpecError, spec, ways};
use serde_json::{Value, json};

/// Where proxies, and those behind them, accept connections.
pub const PORT: u16 = 5001;
/// The least and the most that a proxy holds in a direction between its sockets, bytes.
const HELD: [u64; 2] = [64 << 10, 1 << 30];
/// Waits that a proxy ends and a relay does not: seconds, and longer than any run.
const NEVER_S: f64 = 1e6;
/// How often a proxy says what its sockets are like, seconds.
const SAMPLE_S: f64 = 0.1;

/// A flow that is split.
#[derive(Clone, Debug)]
pub struct Split {
    /// Its number.
    pub whole: usize,
    /// Those of its legs, that at the source first.
    pub legs: [usize; 2],
    /// Which end of it opens connections: 0 the source.
    pub opens: usize,
    /// It is wanted to open the other leg at the request of a client, and does so when it is told of the client.
    pub later: bool,
    /// How the relay's host is set up at either leg.
    pub host: [Wanted; 2],
    /// What the proxy is asked for.
    pub asked: Value,
}

/// The flows of `run` that are split, whose endpoints have `options`, on the kernel of this `release`.
///
/// # Errors
/// What of a relay no proxy on a kernel is, and what it can be.
pub fn splits(run: &Run, options: &[Options], (family, release): (Family, &str)) -> Result<Vec<Split>, SpecError> {
    let mut found: Vec<Split> = Vec::new();
    let others = Others::of(run, None)?;
    for (leg, (whole, which)) in relay::legs(run) {
        if which == 1 {
            continue;
        }
        let Some(of) = &run.flows[whole].relay else { continue };
        let path = format!("flows.{whole}.relay");
        check(of, &path)?;
        let Some(other) = run.flows.iter().position(|f| f.id == of.legs[1]) else { continue };
        let legs = [leg, other];
        let trips = legs.map(|l| ways::best(&ways::drawn(&run.flows[l], run), run, &others).rtt);
        let host = hosts(legs, options, shares(of.buffer_bytes, trips), release)?;
        let opens = spec::made(&run.flows[whole], run, &format!("flows.{whole}"))?.opens as usize;
        let asked = asked(run, legs, (opens, of.buffer_bytes), options, family);
        found.push(Split { whole, legs, opens, later: of.opening == "transparent", host, asked });
    }
    Ok(found)
}

/// What only a simulated relay is.
fn check(of: &relay::Relay, path: &str) -> Result<(), SpecError> {
    let only = |key: &str, problem: &str| Err(SpecError::new(format!("{path}.{key}"), problem));
    if !matches!(of.opening.as_str(), "accepted" | "transparent") {
        let problem =
            "a kernel answers the client of a proxy at once; write accepted, or play it with engine.kind = sim";
        return only("opening", problem);
    }
    if of.delay_ns > 0 {
        return only(
            "delay_ns",
            "a proxy on a kernel takes the time it takes; leave it out, or play it with engine.kind = sim",
        );
    }
    if of.per_segment_ns > 0 {
        let problem = "a proxy on a kernel takes the time it takes; leave it out, or play it with engine.kind = sim";
        return only("per_segment_ns", problem);
    }
    if of.connections.is_some() {
        let problem = "whoever is one too many of a proxy waits, and is not reset; leave it out, or play it with engine.kind = sim";
        return only("connections", problem);
    }
    Ok(())
}

/// Of a buffer the parts that the receiving and the sending socket may hold, over legs of these round trips: what a window
/// of the one allows is what a window of the other does, and together they are the buffer.
fn shares(buffer: u64, trips: [u64; 2]) -> [u64; 2] {
    let both = (trips[0] + trips[1]).max(1);
    let first = (u128::from(buffer) * u128::from(trips[0].max(1)) / u128::from(both)) as u64;
    [first.max(1), buffer.saturating_sub(first).max(1)]
}

/// How the host of a relay is set up at either leg: its buffers hold these shares at most.
fn hosts(legs: [usize; 2], options: &[Options], shares: [u64; 2], release: &str) -> Result<[Wanted; 2], SpecError> {
    let plain = |leg: usize| {
        let settings = &options[leg].host.settings;
        let mut plain: Vec<_> = settings.iter().filter(|(name, _)| !BUFFERS.contains(&name.as_str())).collect();
        plain.sort();
        plain
    };
    let (first, second) = (plain(legs[0]), plain(legs[1]));
    if let Some((name, value)) =
        second.iter().find(|s| !first.contains(s)).or(first.iter().find(|s| !second.contains(s)))
    {
        let problem = format!(
            "the host of a relay has one net.{name} for both of its legs, and {value} is of one only; give source and sink the same"
        );
        return Err(SpecError::new(format!("flows.{}.tcp", legs[1]), problem));
    }
    // What arrives comes over the leg at the source, what leaves goes over the one at the sink.
    // What waits to leave occupies about twice its bytes, as SO_SNDBUF has it (socket(7)), and who has filled that is woken
    // when a third of it is free (sk_stream_min_wspace): two thirds have to hold the share.
    let most = [shares[0], 3 * shares[1]];
    let held = [0, 1].map(|i| Some(options[legs[i]].buffers[i].map_or(most[i], |own| own.min(most[i]))));
    Ok(legs.map(|leg| options[leg].with_buffers(held, release)))
}

/// What the proxy is asked for between `legs`, the end that `opens` connections being its client.
fn asked(run: &Run, legs: [usize; 2], (opens, buffer): (usize, u64), options: &[Options], family: Family) -> Value {
    let addresses = Addresses::new(family, run.flows.len());
    let (client, server) = (legs[opens], legs[1 - opens]);
    let (at, to) = (addresses.of(client as u32, 1 - opens), addresses.of(server as u32, 1 - opens));
    let held = buffer.clamp(HELD[0], HELD[1]);
    let everybody = if family == Family::V4 { "10.0.0.0/8" } else { "fd00::/8" };
    json!({
        "listen": socket_address(at, PORT),
        "mode": {"to": socket_address(to, PORT).to_string()},
        "allow": [everybody],
        "client": side(&options[client]),
        "server": side(&options[server]),
        "buffer": held,
        "max_buffer": held.saturating_mul(1 << 20),
        "per_client": 1_000_000,
        "connect_s": NEVER_S,
        "idle_s": NEVER_S,
        "half_open_s": NEVER_S,
        "drain_s": 0.0,
        "sample_s": SAMPLE_S,
        "user": "root",
        "keep_port": true,
    })
}

/// Options of the sockets of one side.
fn side(options: &Options) -> Value {
    json!({
        "cc": options.controller,
        "notsent_lowat": (options.unsent_low_water > 0).then_some(options.unsent_low_water),
        // A rate that nothing has: the kernel spaces segments by its own.
        "pacing_rate": options.paced.then_some(u64::MAX - 1),
        "nodelay": !options.nagle,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_shared_so_that_both_legs_allow_the_same_rate() {
        for (buffer, trips) in [(4_000_000, [105, 25]), (100_000, [25, 105]), (65_535, [0, 10]), (65_535, [0, 0])] {
            let [first, second] = shares(buffer, trips);
            assert!(first + second <= buffer + 1 && first + second >= buffer, "{first} {second}");
            if trips[0] > 0 {
                let rates = (first as f64 / trips[0] as f64, second as f64 / trips[1] as f64);
                assert!((rates.0 / rates.1 - 1.0).abs() < 1e-3, "{rates:?}");
            }
        }
    }

    fn relay(more: &str) -> relay::Relay {
        serde_json::from_str(&format!(r#"{{"legs": ["a", "b"], "buffer_bytes": 100000{more}}}"#)).unwrap()
    }

    #[test]
    fn what_only_a_simulated_relay_is_is_refused_by_its_name() {
        assert!(check(&relay(""), "flows.0.relay").is_ok());
        assert!(check(&relay(r#", "opening": "accepted""#), "flows.0.relay").is_ok());
        for (more, key) in [
            (r#", "opening": "lazy""#, "opening"),
            (r#", "delay_ns": 5"#, "delay_ns"),
            (r#", "per_segment_ns": 5"#, "per_segment_ns"),
            (r#", "connections": 5"#, "connections"),
        ] {
            let said = check(&relay(more), "flows.0.relay").unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("flows.0.relay.{key}: ")) && said.contains("engine.kind = sim"),
                "{said}"
            );
        }
    }
}
