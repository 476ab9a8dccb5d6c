//! The scoreboard against RFC 6675's vectors and against counters recomputed from scratch.

use super::*;
use crate::estimator::delivery_rate::Totals;
use crate::time::Span;
use proptest::prelude::*;

const MSS: u32 = 1;

fn sent(n: u64) -> Scoreboard {
    let mut b = Scoreboard::new(1);
    for _ in 0..n {
        b.sent(MSS, Time(b.nxt()));
    }
    b
}

fn sack(b: &mut Scoreboard, start: u64, end: u64) -> Delivery {
    let mut d = Delivery::default();
    b.sack(start, end, &mut d);
    d
}

/// A timeout that forgets what was selectively acknowledged does not make it be delivered twice, nor old samples new.
#[test]
fn what_was_forgotten_is_not_delivered_again() {
    let mut b = sent(10);
    b.track_rate(false);
    assert_eq!(sack(&mut b, 4, 8).bytes, 4);
    b.forget_sacks();
    b.mark_all();
    assert_eq!((b.sacked(), b.lost()), (0, 10));
    let again = sack(&mut b, 4, 6);
    assert_eq!((again.sacked, again.bytes, again.sack_xmit.is_none(), again.rack.is_none()), (2, 0, true, true));
    assert_eq!((b.sacked(), b.lost()), (2, 8));
    let mut d = Delivery::default();
    b.acknowledge(9, &mut d);
    // 1, 2, 3 and 8 are new; 4 and 5 are known, 6 and 7 forgotten.
    assert_eq!((d.acked, d.bytes), (8, 4));
    assert_eq!((b.sacked(), b.lost()), (0, 2));
    b.audit().unwrap();
}

#[test]
//= test: RFC 6675 §4 is-lost
fn three_segments_above_a_hole_mean_loss() {
    // Segments 1..=20 out, 1 and 2 lost; 3, 4, 5 arrive.
    let mut b = sent(20);
    sack(&mut b, 3, 4);
    assert_eq!(b.mark_by_count(3, MSS), 0);
    sack(&mut b, 3, 5);
    assert_eq!(b.mark_by_count(3, MSS), 0);
    sack(&mut b, 3, 6);
    assert_eq!(b.mark_by_count(3, MSS), 2);
    let hole = b.next_lost().unwrap();
    assert_eq!(hole.seq, 1);
    b.retransmitted(hole.number, Time(30), Totals::default());
    assert_eq!(b.pipe(), 20 - 3 - 2 + 1);
    assert_eq!(b.next_lost().unwrap().seq, 2);
}

#[test]
//= test: RFC 6675 §4 is-lost
fn three_ranges_mean_loss() {
    let mut b = sent(20);
    for s in [3, 6] {
        sack(&mut b, s, s + 1);
        assert_eq!(b.mark_by_count(3, 100), 0);
    }
    sack(&mut b, 9, 10);
    assert_eq!(b.mark_by_count(3, 100), 2);
    assert_eq!(b.lost(), 2);
}

#[test]
//= test: RFC 6675 §4 next-seg-3
fn rescue_and_hole_rules() {
    let mut b = sent(10);
    sack(&mut b, 4, 6);
    assert_eq!(b.next_hole().unwrap().seq, 1);
    assert_eq!(b.last_undelivered().unwrap().seq, 10);
    sack(&mut b, 9, 11);
    assert_eq!(b.last_undelivered().unwrap().seq, 8);
}

#[test]
//= test: RFC 8985 §6.2 step-5-lost
fn overdue_segments_are_lost_in_time_order() {
    // A sent at 0, B at 1 ms; B delivered at 41 ms, reordering window 10 ms: A is lost at 50 ms.
    let ms = Span::from_millis;
    let mut b = Scoreboard::new(1);
    b.sent(MSS, Time::ZERO);
    b.sent(MSS, Time::ZERO + ms(1));
    let now = Time::ZERO + ms(41);
    let mut d = Delivery { now, ..Delivery::default() };
    b.sack(2, 3, &mut d);
    let k = d.rack.unwrap();
    assert_eq!((k.xmit, k.end), (Time::ZERO + ms(1), 3));
    assert_eq!(b.mark_overdue(now, Stamps::Exact, k, ms(40 + 10)), (0, Some(ms(9))));
    assert_eq!(b.mark_overdue(now + ms(9), Stamps::Exact, k, ms(40 + 10)), (1, None));
    // Its retransmission is overtaken as well.
    b.retransmitted(b.head().unwrap().number, now + ms(9), Totals::default());
    b.sent(MSS, now + ms(10));
    let now = now + ms(50);
    let mut d = Delivery { now, ..Delivery::default() };
    b.sack(3, 4, &mut d);
    assert_eq!(b.mark_overdue(now, Stamps::Exact, d.rack.unwrap(), ms(40)), (1, None));
    assert_eq!(b.next_lost().unwrap().seq, 1);
}

/// tcp_rack_sent_after of Linux 6.12 compares whole microseconds: new data that left 200 ns before a retransmission was sent after
/// it, for its position is higher, and tells that the retransmission is lost when it arrives first.
#[test]
fn of_what_was_sent_within_a_microsecond_the_position_decides_in_linux() {
    for (stamps, lost) in [(Stamps::Exact, 0), (Stamps::Micros, 1)] {
        let mut b = sent(2);
        let start = Time::ZERO + Span::from_millis(40);
        b.sack(2, 3, &mut Delivery { now: start, ..Delivery::default() });
        assert_eq!(b.mark_head(), 1);
        b.sent(MSS, start + Span(100));
        b.retransmitted(b.head().unwrap().number, start + Span(300), Totals::default());
        let now = start + Span::from_millis(40);
        let mut d = Delivery { now, stamps, ..Delivery::default() };
        b.sack(3, 4, &mut d);
        assert_eq!(b.mark_overdue(now, stamps, d.rack.unwrap(), Span::from_millis(40)), (lost, None));
    }
}

#[test]
fn retransmissions_that_arrived_are_forgotten() {
    let mut b = sent(1);
    for i in 0..1000 {
        b.sent(MSS, Time(i));
        b.mark_head();
        let hole = b.next_lost().unwrap();
        b.retransmitted(hole.number, Time(i), Totals::default());
        b.acknowledge(b.una + 1, &mut Delivery::default());
    }
    assert!(b.resent.len() <= 2, "{}", b.resent.len());
}

/// Counters as RFC 6675 defines them, from the records alone.
fn check(b: &Scoreboard) -> Result<(), TestCaseError> {
    let (mut sacked, mut lost, mut retrans, mut pending, mut at) = (0, 0, 0, 0, b.una);
    let mut ranges = IntervalSet::default();
    for n in b.records.head()..b.records.tail() {
        let r = b.records.get(n);
        prop_assert_eq!(r.seq, at);
        at = r.end();
        let len = b.count(r.len);
        if r.is(SACKED) {
            prop_assert!(!r.is(LOST) && !r.is(RETRANS));
            sacked += len;
            ranges.insert(r.seq, r.end(), |_, _| ());
        }
        lost += if r.is(LOST) { len } else { 0 };
        retrans += if r.is(RETRANS) { len } else { 0 };
        pending += if r.flags & (LOST | RETRANS) == LOST { len } else { 0 };
    }
    prop_assert_eq!(at, b.nxt);
    prop_assert_eq!((sacked, lost, retrans, pending), (b.sacked, b.lost, b.retrans, b.pending));
    prop_assert_eq!(ranges.len(), b.ranges.len());
    prop_assert_eq!(b.audit(), Ok(()));
    Ok(())
}

/// Bytes selectively acknowledged.
fn ranges_of(b: &Scoreboard) -> u64 {
    (0..b.ranges.len()).filter_map(|i| b.ranges.get(i)).map(|(a, b)| b - a).sum()
}

proptest! {
    #[test]
    fn incremental_counters_equal_recomputed_ones(
        ops in prop::collection::vec((0u8..7, 0u64..60, 1u64..12), 1..200),
        len in 1u32..4, unit in prop::sample::select(vec![0, 3])
    ) {
        let mut b = Scoreboard::new(1).counting(unit);
        let (mut sent, mut delivered) = (0, 0);
        let mut now = Time::ZERO;
        for (op, at, n) in ops {
            now += Span(10);
            let mut d = Delivery { now, ..Delivery::default() };
            let pos = b.una + at.min(b.outstanding());
            match op {
                0 | 1 => for i in 0..n {
                    // Segments of different sizes, as of an application that writes little.
                    let len = if unit > 0 { 1 + (i as u32 + len) % 4 } else { len };
                    sent += b.count(len);
                    b.sent(len, now);
                },
                2 => b.sack(pos, pos + n * u64::from(len), &mut d),
                3 if pos > b.una => b.acknowledge(pos, &mut d),
                4 => { b.mark_by_count(3, len); }
                5 => if let Some(h) = b.next_lost() { b.retransmitted(h.number, now, Totals::default()) },
                6 if at < 6 => { b.mark_all(); }
                6 => if let Some(k) = d.rack { b.mark_overdue(now, Stamps::Exact, k, now.since(k.xmit) + Span(n)); },
                _ => {}
            }
            check(&b)?;
            delivered += d.bytes;
            prop_assert_eq!(delivered + b.occupied() - b.sacked(), sent, "everything is delivered once");
            prop_assert_eq!(b.payload_of(delivered) + (b.nxt - b.una) - ranges_of(&b), b.nxt - 1);
            // The lowest pending segment is the one offered.
            let lowest = (b.records.head()..b.records.tail())
                .find(|n| b.records.get(*n).flags & (LOST | RETRANS | SACKED) == LOST);
            prop_assert_eq!(b.next_lost().map(|h| h.number), lowest);
        }
    }
}
