//! Which segments are pushed, by what Linux does with blocks of 128 KiB and a send buffer of 16 MiB.

use super::*;
use crate::tcp::config::Profile;

const MSS: u64 = 1448;
const LINUX: fn() -> Pushes = || Pushes::new(&Config::profile(Profile::Linux), MSS as u32);

/// Nothing is acknowledged.
fn at(sent: u64, window: u64) -> Progress {
    Progress { acked: 0, merged: 0, sent, window }
}

/// Segments of a writer without end, with everything but the last two acknowledged in pairs, that are pushed. The
/// receiver acknowledges a pushed segment at once, so that others are paired from then on; not if `even`.
fn bulk(p: &mut Pushes, segments: u64, even: bool) -> Vec<u64> {
    p.write((0, u64::MAX), at(0, 0));
    let (mut acked, mut pushed) = (0, vec![]);
    for n in 1..=segments {
        let push = p.take(1 + n * MSS);
        if push {
            pushed.push(n);
        }
        if n - acked == 2 || (push && !even) {
            acked = n;
            if p.may_wake(1 + n * MSS) {
                p.refill(Progress { acked: n * MSS, ..at(n * MSS, 6_000_000) });
                assert!(!p.may_wake(1 + n * MSS), "it fills the buffer at once");
            }
        }
    }
    pushed
}

/// Recorded: conformance/kernel/LINUX-FACTS.md, 10.7. A segment of 2280 bytes: 7359 fill 16 MiB, 4905 are two thirds.
#[test]
fn pushes_of_a_bulk_sender() {
    let mut p = LINUX();
    let pushed = bulk(&mut p, 19_632, false);
    assert_eq!(pushed[..10], [23, 46, 69, 114, 137, 160, 204, 227, 250, 295]);
    let first = pushed.iter().position(|n| *n == 7359).unwrap();
    assert_eq!(pushed[first..], [7359, 9814, 12_268, 14_722, 17_177, 19_631]);
    let again: Vec<u64> = (1..=19_632).filter(|n| p.is(1 + n * MSS)).collect();
    assert_eq!(again, [19_631], "sent again; everything up to 17,181 was acknowledged when the buffer was filled last");
    let mut none = Pushes::new(&Config::profile(Profile::Rfc), MSS as u32);
    assert_eq!(bulk(&mut none, 15_000, false), []);
    assert!(!none.may_wake(u64::MAX - 1));
}

#[test]
fn an_acknowledgment_that_frees_a_segment_more_makes_the_refill_longer() {
    // Pairs: 2454 segments free a third, 4908 again, always with the second of a pair.
    let pushed = bulk(&mut LINUX(), 13_000, true);
    assert_eq!(pushed[pushed.len() - 3..], [7359, 9813, 12_267]);
    // With one segment acknowledged alone the pairs end with odd numbers: 2455 frees one more, then 2454 are needed.
    let mut p = LINUX();
    p.write((0, u64::MAX), at(0, 0));
    for acked in [1, 2453] {
        assert!(!p.may_wake(1 + acked * MSS));
    }
    assert!(p.may_wake(1 + 2455 * MSS));
    p.refill(Progress { acked: 2455 * MSS, ..at(4000 * MSS, 6_000_000) });
    assert!(!p.may_wake(1 + 4907 * MSS + 1447) && p.may_wake(1 + 4909 * MSS));
    p.refill(Progress { acked: 4909 * MSS, ..at(6000 * MSS, 6_000_000) });
    let left: Vec<u64> = (6001..13_000).filter(|n| p.take(1 + n * MSS)).collect();
    assert_eq!(left[left.len() - 3..], [7359, 9814, 12_268]);
}

#[test]
fn a_small_window_has_refills_pushed_in_between() {
    let mut p = LINUX();
    p.write((0, u64::MAX), at(0, 0));
    assert!(p.may_wake(1 + 2454 * MSS));
    // More than 32,000 bytes are queued beyond the last push with 23 segments. A block has 90.5, and the second begins
    // within segment 7450.
    p.refill(Progress { acked: 2454 * MSS, ..at(2460 * MSS, 64_000) });
    let left: Vec<u64> = (2461..7540).filter(|n| p.take(1 + n * MSS)).filter(|n| *n > 7355).collect();
    assert_eq!(left, [7359, 7382, 7405, 7428, 7472, 7495, 7518]);
}

/// The ends of segments of 1448 bytes that are pushed, of what lies between `sent` and `end`.
fn pushed(p: &mut Pushes, sent: u64, end: u64) -> Vec<u64> {
    let mut ends: Vec<u64> = (1..).map(|n| sent + MSS * n).take_while(|e| *e < end).collect();
    ends.push(end);
    ends.retain(|e| p.take(1 + e));
    ends
}

#[test]
fn the_end_of_what_was_written_is_pushed() {
    // 100,000 bytes into a new connection: beyond 32,767 and twice as many more, then the end.
    let mut p = LINUX();
    p.write((0, 100_000), at(0, 0));
    assert_eq!(pushed(&mut p, 0, 100_000), [23 * MSS, 46 * MSS, 69 * MSS, 100_000]);
    // The window is large: 400,000 bytes in blocks of 131,072, which do not end with a segment.
    p.write((100_000, 500_000), at(100_000, 8_000_000));
    assert_eq!(pushed(&mut p, 100_000, 500_000), [500_000]);
    assert!(p.is(1 + 500_000) && p.is(1 + 46 * MSS) && !p.is(1 + 45 * MSS));
    // What was pushed and is acknowledged is forgotten.
    p.write((500_000, 500_800), Progress { acked: 400_000, ..at(500_000, 8_000_000) });
    assert!(p.is(1 + 500_000) && !p.is(1 + 100_000));
    assert_eq!(pushed(&mut p, 500_000, 500_800), [500_800]);
}

#[test]
fn the_end_of_a_long_write_is_pushed_when_another_follows() {
    // 20,000 segments; what follows begins with a segment, or within one.
    for (more, expected) in [(0, vec![20_000 * MSS, 20_002 * MSS]), (500, vec![20_002 * MSS + 500])] {
        let mut p = LINUX();
        let (end, last) = (20_000 * MSS + more, 20_002 * MSS + more);
        p.write((0, end), at(0, 0));
        p.write((end, last), at(3 * MSS, 6_000_000));
        let (mut left, mut n) = (vec![], 0);
        while n * MSS < last {
            n += 1;
            let sent = last.min(n * MSS);
            if p.take(1 + sent) {
                left.push(sent);
            }
            if p.may_wake(1 + sent) {
                p.refill(Progress { acked: sent, ..at(sent, 6_000_000) });
            }
        }
        left.retain(|end| *end > 19_900 * MSS);
        assert_eq!(left, expected);
        assert!(!p.may_wake(u64::MAX - 1), "everything is in the buffer");
    }
}

#[test]
fn what_was_pushed_stays_so_after_a_stop_and_another_write() {
    let mut p = LINUX();
    p.write((0, u64::MAX), at(0, 0));
    let left: Vec<u64> = (1..=50).filter(|n| p.take(1 + n * MSS)).collect();
    assert_eq!(left, [23, 46]);
    assert_eq!(p.stop(at(50 * MSS, 0), true), 50 * MSS, "what has left");
    assert!(!p.may_wake(u64::MAX - 1));
    let again = |p: &Pushes| (1..=69).filter(|n| p.is(1 + n * MSS)).collect::<Vec<u64>>();
    assert_eq!(again(&p), [23, 46], "69 will not leave");
    p.write((50 * MSS, 69 * MSS), Progress { acked: 30 * MSS, ..at(50 * MSS, 6_000_000) });
    assert_eq!(pushed(&mut p, 50 * MSS, 69 * MSS), [69 * MSS]);
    assert_eq!(again(&p), [46, 69], "23 is acknowledged");
}

#[test]
fn what_has_not_left_grows_with_the_next_block_and_is_pushed_at_its_end() {
    let mut p = LINUX();
    for (start, end) in [(0, 200), (200, 400), (400, 1448), (1448, 1648)] {
        p.write((start, end), at(0, 8_000_000));
    }
    assert_eq!(pushed(&mut p, 0, 1648), [1448, 1648]);
    // Nothing is appended to what has left.
    p.write((1648, 1848), at(1648, 8_000_000));
    assert_eq!(pushed(&mut p, 1648, 1848), [1848]);
    p.write((1848, 2048), at(1848, 8_000_000));
    p.stop(at(1848, 8_000_000), true);
    assert!(!p.take(1 + 2048));
}

/// TCP_NOTSENT_LOWAT of 64 KiB: 46 segments reach it, and with 22 left less than half of it is.
#[test]
fn a_bound_on_what_waits_unsent_leaves_that_much_behind_a_stop() {
    let with_bound = || {
        let config = Config { notsent_lowat: 65_536, ..Config::profile(Profile::Linux) };
        Pushes::new(&config, MSS as u32)
    };
    let (mut p, mut fresh) = (with_bound(), with_bound());
    // The first burst leaves with the write: the bound holds what is behind it.
    p.write((0, u64::MAX), at(0, 0));
    assert_eq!(p.stop(at(10 * MSS, 6_000_000), true), 56 * MSS);
    // Nothing is written into a connection that is not open yet.
    fresh.write((0, u64::MAX), at(0, 0));
    assert_eq!(fresh.stop(at(0, 0), false), 0);
    // It was pushed at its end, in 32,767 bytes behind which more is queued than that, and stays so.
    let left: Vec<u64> = (11..=56).filter(|n| p.take(1 + n * MSS)).collect();
    assert_eq!(left, [56]);
    // Written again: 46 segments behind the 70 that have left.
    p.write((56 * MSS, u64::MAX), at(56 * MSS, 6_000_000));
    let acked = |acked: u64, sent: u64| Progress { acked: acked * MSS, ..at(sent * MSS, 6_000_000) };
    assert!(p.may_wake(1));
    p.refill(acked(30, 70));
    for (sent, end) in [(93, 116), (94, 140), (117, 140), (118, 164)] {
        p.refill(acked(60, sent));
        let mut stopped = p.clone();
        assert_eq!(stopped.stop(acked(60, sent), true), end * MSS, "{sent} have left");
    }
    // What ends within the bound is in the buffer at once.
    let mut p = with_bound();
    p.write((0, 20_000), at(0, 0));
    assert_eq!(pushed(&mut p, 0, 20_000), [20_000]);
    assert_eq!(p.stop(at(10_000, 0), true), 20_000);
}
