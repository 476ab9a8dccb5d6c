//! RLC alone: blocks are lost by hand.

use super::*;
use crate::path::Out;
use crate::queue::{DropTail, Limits, Step};

struct Dropped(Vec<u32>);

impl Store for Dropped {
    fn drop(&mut self, id: u32) {
        self.0.push(id);
    }
    fn mark(&mut self, _id: u32) {}
    fn duplicate(&mut self, _id: u32) -> Option<u32> {
        None
    }
}

/// A bearer with packets of these lengths, which come at the start.
fn bearer(mode: Mode, lengths: &[u32]) -> (Bearer, Dropped) {
    let mut store = Dropped(Vec::new());
    let limits = Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: true };
    let rlc = Rlc { reordering: Span::from_millis(35), ..Rlc::of(mode) };
    let window = Window { from: Time::ZERO, to: Time(u64::MAX) };
    let mut b = Bearer::new(Box::new(DropTail::new(limits, Step::NEVER)), Timing::new(&rlc, 4), 0, window);
    for (id, len) in (0..).zip(lengths) {
        b.enqueue(Time::ZERO, Parcel { id, len: *len, ..Parcel::default() }, &mut store);
    }
    (b, store)
}

fn names(out: &mut Ring<Out>) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| out.pop()).map(|o| (o.at.0 / TTI, o.parcel.id)).collect()
}

#[test]
fn packets_are_cut_and_joined() {
    let (mut b, mut store) = bearer(Mode::Unacknowledged, &[100, 50, 60]);
    // 7 bytes of the block and 2 of each packet are headers: 100 - 7 - 2 = 91 of the first; then its last 9, and 50, and 22 of the third
    // (7 + 9 + 52 + 24 = 92); then what is left.
    let mut fill = |tick, size| b.fill(tick, size, &mut store).map(|f| (f.number, f.bytes, f.size, f.hopeful));
    assert_eq!(fill(1, 100), Some((0, 91, 100, false)));
    assert_eq!(fill(2, 92), Some((1, 81, 92, true)));
    assert_eq!(fill(3, 200), Some((2, 38, 45, true)));
    assert_eq!(fill(4, 200), None);
    let mut out = Ring::default();
    for (tick, number, bytes, expected) in
        [(5, 0, 91, vec![]), (6, 1, 81, vec![(6, 0), (6, 1)]), (7, 2, 38, vec![(7, 2)])]
    {
        b.receive(tick, number, bytes, &mut out, &mut store);
        assert_eq!(names(&mut out), expected);
    }
    assert_eq!((b.timer(), b.has_data(), store.0.len()), (NEVER, false, 0));
}

#[test]
fn a_block_too_small_for_its_headers_carries_nothing() {
    let (mut b, mut store) = bearer(Mode::Unacknowledged, &[100]);
    assert_eq!(b.fill(1, 7, &mut store), None);
    assert_eq!(b.fill(1, 9, &mut store), None);
    assert_eq!(b.fill(1, 10, &mut store).map(|f| f.bytes), Some(1));
    assert_eq!(b.backlog(), Backlog { packets: 1, bytes: 99 });
    assert_eq!(b.demand(2), 99 + 7);
}

#[test]
fn what_is_behind_a_hole_waits_for_the_timer() {
    let (mut b, mut store) = bearer(Mode::Unacknowledged, &[91, 91, 91, 91]);
    let mut out = Ring::default();
    let filled: Vec<_> = (1..5).map(|t| b.fill(t, 100, &mut store).unwrap()).collect();
    b.receive(5, 0, 91, &mut out, &mut store);
    // Block 1 is lost, and with it packet 1; the others arrive.
    b.fails(1);
    b.receive(7, 2, 91, &mut out, &mut store);
    b.receive(8, 3, 91, &mut out, &mut store);
    assert_eq!((names(&mut out), b.timer()), (vec![(5, 0)], 7 + 35));
    b.give_up(30, 1, filled[1].bytes, 26, &mut store);
    assert_eq!(store.0, [1]);
    b.expire(42, &mut out, &mut store);
    assert_eq!((names(&mut out), b.timer()), (vec![(42, 2), (42, 3)], NEVER));
    assert_eq!((store.0.len(), b.stats.lost, b.stats.delivered), (1, 1, 3));
}

#[test]
fn a_part_that_is_lost_takes_its_packet_with_it() {
    // Packets of 200 bytes in blocks of 100: of the first two blocks one is lost.
    for lost in [0, 1] {
        let (mut b, mut store) = bearer(Mode::Unacknowledged, &[150, 150]);
        let mut out = Ring::default();
        let filled: Vec<_> = (1..5).map(|t| b.fill(t, 100, &mut store).unwrap()).collect();
        assert_eq!(filled.iter().map(|f| f.bytes).collect::<Vec<_>>(), [91, 59 + 32, 93, 25]);
        for f in &filled {
            if f.number == lost {
                b.give_up(4, f.number, f.bytes, 1, &mut store);
            } else {
                b.receive(5, f.number, f.bytes, &mut out, &mut store);
            }
        }
        b.expire(b.timer(), &mut out, &mut store);
        // The second block has parts of both packets.
        let (delivered, dropped) = if lost == 0 { (vec![1], vec![0]) } else { (vec![], vec![0, 1]) };
        assert_eq!(names(&mut out).iter().map(|o| o.1).collect::<Vec<_>>(), delivered);
        assert_eq!(store.0, dropped);
    }
}

#[test]
fn acknowledgments_bring_lost_blocks_back() {
    let (mut b, mut store) = bearer(Mode::Acknowledged, &[91, 91, 91]);
    let mut out = Ring::default();
    (1..4).for_each(|t| assert!(b.fill(t, 100, &mut store).is_some()));
    b.receive(6, 1, 91, &mut out, &mut store);
    assert_eq!(b.timer(), 6 + 35);
    b.give_up(29, 0, 91, 25, &mut store);
    assert!(!b.is_ready(40), "nobody has asked");
    b.expire(41, &mut out, &mut store);
    // The report is due at once and takes 4 TTIs; the receiver goes on waiting.
    assert_eq!((b.next_again(), b.timer()), (45, 41 + 35));
    assert!(b.fill(44, 60, &mut store).is_none());
    // In two parts, as it does not fit: 53 bytes and 38.
    assert_eq!(
        [45, 46].map(|t| b.fill(t, 60, &mut store).map(|f| (f.number, f.bytes))),
        [Some((0, 53)), Some((0, 38))]
    );
    b.receive(50, 0, 38, &mut out, &mut store);
    assert_eq!(names(&mut out), []);
    b.receive(51, 0, 53, &mut out, &mut store);
    assert_eq!(names(&mut out), [(51, 0), (51, 1)]);
    // The last block: nobody misses it, so the sender asks 20 TTIs after it was sent.
    b.give_up(29, 2, 91, 25, &mut store);
    assert_eq!(b.next_again(), 45);
    assert_eq!(b.fill(60, 100, &mut store).map(|f| (f.number, f.bytes)), Some((2, 91)));
    b.receive(64, 2, 91, &mut out, &mut store);
    assert_eq!((names(&mut out), b.has_data(), b.timer(), store.0.len()), (vec![(64, 2)], false, NEVER, 0));
}

#[test]
fn one_report_names_all_holes_until_it_is_sent() {
    let (mut b, mut store) = bearer(Mode::Acknowledged, &[91; 8]);
    let mut out = Ring::default();
    (1..9).for_each(|t| assert!(b.fill(t, 100, &mut store).is_some()));
    // Blocks 0, 2 and 4 are lost. The first is missed from 6 on, and reported at 41: again from 45 on.
    b.receive(6, 1, 91, &mut out, &mut store);
    [0, 2, 4].iter().for_each(|n| b.give_up(30, *n, 91, 26, &mut store));
    b.expire(41, &mut out, &mut store);
    // The others are sent again by the sender's own timer, 20 TTIs after 26: nothing behind them had arrived.
    assert_eq!([0, 2, 4].map(|n| b.again.iter().find(|a| a.1 == n).map(|a| a.0)), [Some(45), Some(46), Some(46)]);
    let sent: Vec<_> = (45..48).filter_map(|t| b.fill(t, 100, &mut store)).map(|f| f.number).collect();
    assert_eq!(sent, [0, 2, 4]);
    // They are lost again, others behind them arrive: a second report comes 10 TTIs after the first at the earliest, and names both.
    b.receive(48, 3, 91, &mut out, &mut store);
    b.receive(49, 5, 91, &mut out, &mut store);
    [0, 2].iter().for_each(|n| b.give_up(49, *n, 91, 46, &mut store));
    b.timer = (50, 5);
    b.expire(50, &mut out, &mut store);
    assert_eq!((b.again.clone(), b.reported), (vec![(51 + 4, 0), (51 + 4, 2)], 51));
    b.expire(51, &mut out, &mut store);
    assert_eq!((b.again.clone(), b.reported), (vec![(55, 0), (55, 2)], 51), "nothing new: no report");
}
