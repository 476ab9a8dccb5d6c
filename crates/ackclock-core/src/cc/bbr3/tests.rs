//! Vectors of BBRv3.

use super::congestion::{inflight_at_loss, lost_prefix};
use super::*;
use crate::cc::testing::with_cx;
use crate::cc::{RateSample, RttView};

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(40);
/// Bytes per second: 40 segments per RTT.
const RATE: u64 = 1_000_000;

fn bbr() -> Bbr3 {
    let mut b = Bbr3::new(&Params::new(PARAMS, &[]).unwrap());
    b.mss = MSS;
    b
}

/// A flow of which each acknowledgment delivers two segments at 1 MB/s.
fn ack(b: &mut Bbr3, cx: &mut Cx<'_>, rtt: Span, lost: u64) {
    cx.now += Span(2 * MSS * 1_000_000_000 / RATE);
    cx.delivered += 2 * MSS;
    cx.lost += lost;
    let volume = 40 * MSS;
    // A gain below one drains the queue, another fills the window.
    cx.in_flight = if b.pacing_gain < 1.0 { volume.min(b.cwnd) } else { b.cwnd }.saturating_sub(2 * MSS);
    let rate = RateSample {
        delivered: volume,
        interval: RTT,
        prior_delivered: cx.delivered.saturating_sub(volume),
        tx_in_flight: b.cwnd,
        prior_lost: cx.lost.saturating_sub(lost),
        ..RateSample::default()
    };
    let rate = (volume <= cx.delivered).then_some(rate);
    b.on_ack(cx, &Ack { delivered: 2 * MSS, rtt: Some(rtt), rate, window_limited: true, ..Ack::default() });
}

fn started(f: impl FnOnce(&mut Bbr3, &mut Cx<'_>)) {
    with_cx(MSS as u32, |cx| {
        let mut b = bbr();
        cx.rtt = RttView { smoothed: RTT, min: RTT };
        b.start(cx, 10 * MSS);
        f(&mut b, cx);
    });
}

/// Of 100 segments in flight before, one lost before: 1.0204 more lost ones cross 2 %.
#[test]
fn prefix_at_which_losses_cross_the_threshold() {
    assert!((lost_prefix(100.0, 1.0, 0.02) - 1.020_408).abs() < 1e-6);
    let lost = Lost { len: MSS, tx_in_flight: 101 * MSS, lost: 2 * MSS, ..Lost::default() };
    assert_eq!(inflight_at_loss(&lost, 0.02), 101_020);
}

#[test]
fn headroom() {
    let mut b = bbr();
    assert_eq!(b.inflight_with_headroom(), INFINITE);
    let seen: Vec<u64> = [100, 20, 4]
        .iter()
        .map(|segments| {
            b.inflight_longterm = segments * MSS;
            b.inflight_with_headroom()
        })
        .collect();
    assert_eq!(seen, [85 * MSS, 17 * MSS, 4 * MSS]);
}

/// In round n of UP the long-term bound grows by 2^n segments per window: 64/8 segments acknowledged per segment.
#[test]
fn slope_of_the_probe() {
    let mut b = bbr();
    b.cwnd = 64 * MSS;
    let seen: Vec<u64> = (0..9)
        .map(|_| {
            b.raise_slope();
            b.acked_per_increment / MSS
        })
        .collect();
    assert_eq!(seen, [64, 32, 16, 8, 4, 2, 1, 1, 1]);
}

#[test]
fn gains_of_the_states() {
    let mut b = bbr();
    let states = [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up, State::ProbeRtt];
    let seen = states.map(|state| {
        b.enter(state);
        (b.pacing_gain, b.cwnd_gain)
    });
    assert_eq!(seen, [(2.77, 2.0), (0.5, 2.0), (0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.25), (1.0, 0.5)]);
}

#[test]
fn steady_state_and_its_window() {
    started(|b, cx| {
        (0..400).for_each(|_| ack(b, cx, RTT, 0));
        assert!(b.full.ever && b.state.probes_bw(), "{:?}", b.state);
        assert_eq!((b.max_bw(), b.bdp(1.0)), (RATE, 40 * MSS));
        // Twice the product and the two segments of an acknowledgment (extra_acked); nothing for bursts it covers.
        assert_eq!(b.cwnd / MSS, if b.state == State::Up { 94 } else { 82 });
        let gain = b.pacing_gain;
        assert_eq!(b.pacing_rate, (gain * RATE as f64 * 0.99) as u64);
    });
}

/// Loss outside a probe: once per round the bounds fall to 0.7, not below what was delivered.
#[test]
fn short_term_bounds() {
    started(|b, cx| {
        (0..400).for_each(|_| ack(b, cx, RTT, 0));
        b.enter(State::Cruise);
        b.probe_sample = false;
        let cwnd = b.cwnd;
        b.on_lost(cx, &Lost { len: MSS, lost: MSS, tx_in_flight: 80 * MSS, ..Lost::default() });
        while b.bw_shortterm == INFINITE && b.state == State::Cruise {
            ack(b, cx, RTT, 0);
        }
        assert_eq!(b.bw_shortterm, RATE, "the rate did not fall");
        assert!(b.inflight_shortterm.abs_diff((cwnd * 7 / 10).max(40 * MSS)) <= 1);
        assert!(b.cwnd <= b.inflight_shortterm);
    });
}

/// A probe that loses more than 2 % of what was in flight sets the long-term bound there and ends.
#[test]
fn too_much_lost_in_a_probe() {
    started(|b, cx| {
        (0..400).for_each(|_| ack(b, cx, RTT, 0));
        b.enter(State::Up);
        b.probe_sample = true;
        let lost = |n: u64| Lost { pos: n * MSS, len: MSS, lost: n * MSS, tx_in_flight: 100 * MSS, ..Lost::default() };
        b.on_lost(cx, &lost(1));
        b.on_lost(cx, &lost(2));
        assert_eq!((b.state, b.inflight_longterm), (State::Up, INFINITE), "two of a hundred are not more than 2 %");
        b.on_lost(cx, &lost(3));
        // (0.02 * 99 - 2) / 0.98 segments after the 99: 98.98.
        assert_eq!((b.state, b.inflight_longterm / 100), (State::Down, 989));
        assert!(b.prev_probe_too_high && !b.probe_sample);
        let mut unfounded = b.clone();
        unfounded.on_undo(cx, Undo { cwnd: 0, ssthresh: 0 });
        assert_eq!((unfounded.state, unfounded.inflight_longterm), (State::Refill, INFINITE));
        b.on_lost(cx, &Lost { tx_in_flight: 10 * MSS, ..lost(9) });
        assert_eq!(b.inflight_longterm / 100, 989, "once per probe");
    });
}

/// Five seconds after the smallest RTT: half the product, at least four segments, for 200 ms and a round.
#[test]
fn probe_rtt() {
    started(|b, cx| {
        let (mut begin, mut end) = (None, None);
        while cx.now < Time::ZERO + Span::from_secs(6) {
            ack(b, cx, Span::from_millis(45), 0);
            if b.state == State::ProbeRtt {
                begin = begin.or(Some(cx.now));
                assert!(b.cwnd <= b.bdp(0.5).max(4 * MSS) && b.limits_itself());
            } else if begin.is_some() {
                end = end.or(Some(cx.now));
            }
        }
        let ms = |t: Option<Time>| t.unwrap().0 / 1_000_000;
        assert!((5_000..5_050).contains(&ms(begin)), "{begin:?}");
        assert!((200..260).contains(&(ms(end) - ms(begin))), "{begin:?} {end:?}");
        assert_eq!(b.min_rtt, Some(RTT), "remembered for ten seconds");
    });
}
