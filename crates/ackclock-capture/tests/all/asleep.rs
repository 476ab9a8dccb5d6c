//! Connections that are put to sleep between their packets come to the same as those that never are.

use crate::script::{Setting, analysed, packet};
use ackclock_capture::analysis::{RttRule, Segment, Settings};
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::flags;
use ackclock_core::tcp::segment::SackBlock;

/// Segments that are mostly as TCP sends them: of many connections in turns, with losses, SACK blocks and what is odd.
struct Mixed {
    state: u64,
    /// Of each connection and end: the next byte, and what the other end has acknowledged.
    ends: Vec<[(u32, u32); 2]>,
}

const MSS: u32 = 1000;

impl Mixed {
    fn new(connections: u32) -> Mixed {
        let ends =
            (0..connections).map(|i| [(i * 7919, i * 7919), (0u32.wrapping_sub(31 * i), 0u32.wrapping_sub(31 * i))]);
        Mixed { state: 1, ends: ends.collect() }
    }

    fn draw(&mut self, n: u32) -> u32 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % u64::from(n)) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.draw(n) == 0
    }

    fn segment(&mut self, number: u64, ms: f64) -> Segment {
        let which = self.draw(self.ends.len() as u32) as usize;
        let back = self.one_in(2);
        let mut s = packet(&Setting::default(), ms, !back);
        let client = Address::V4([10, 1, (which >> 8) as u8, which as u8]);
        *(if back { &mut s.destination } else { &mut s.source }) = client;
        (s.number, s.tags) = (number, u32::from(self.one_in(50)));
        let (own, other) = (usize::from(back), usize::from(!back));
        let pick = self.draw(30) as usize;
        s.flags = [flags::SYN, flags::SYN | flags::ACK, flags::FIN | flags::ACK, flags::RST, 0]
            .get(pick)
            .map_or(flags::ACK, |f| *f);
        s.length = [0, 0, 1, MSS, MSS, 70_000][if self.one_in(9) { 5 } else { self.draw(5) as usize }];
        s.seq = match self.draw(12) {
            0 => self.ends[which][own].0.wrapping_sub(MSS * (1 + self.draw(8))),
            1 => self.ends[which][own].0.wrapping_add(MSS * (1 + self.draw(4))),
            2 => self.ends[which][own].0.wrapping_sub(1),
            _ => self.ends[which][own].0,
        };
        self.ends[which][own].0 = self.ends[which][own].0.max(s.seq.wrapping_add(s.length));
        let (next, acked) = self.ends[which][other];
        let out = next.wrapping_sub(acked) / MSS;
        if out < 1000 && !self.one_in(3) {
            self.ends[which][other].1 = acked.wrapping_add(MSS * self.draw(out + 1));
        }
        s.ack = self.ends[which][other].1;
        s.window = [Some(60_000), Some(60_000), Some(9000), Some(0), None][self.draw(5) as usize];
        s.ip_id = self.draw(5) as u16;
        let stamp = ms as u32;
        s.options.timestamps = (which % 3 == 0).then(|| (stamp, stamp.wrapping_sub(self.draw(30))));
        (s.options.mss, s.options.window_scale) = (Some(1460), [None, Some(7), Some(20)][self.draw(3) as usize]);
        (s.options.sack_permitted, s.marked, s.options_cut) = (!self.one_in(4), self.one_in(90), self.one_in(400));
        let blocks = if self.one_in(4) { 1 + self.draw(3) } else { 0 };
        s.options.sack = (0..blocks)
            .map(|_| {
                let start = s.ack.wrapping_add(MSS * self.draw(20)).wrapping_sub(MSS * self.draw(3));
                SackBlock { start, end: start.wrapping_add(MSS * (1 + self.draw(5))) }
            })
            .collect();
        s
    }
}

#[test]
fn connections_that_sleep_come_to_the_same() {
    for (connections, count) in [(4, 12_000), (150, 40_000)] {
        let mut mixed = Mixed::new(connections);
        let mut ms = 0.0;
        let all: Vec<Segment> = (1..=count)
            .map(|number| {
                ms += f64::from(mixed.draw(300)) * 0.01 + if mixed.one_in(50) { 150.0 } else { 0.0 };
                ms -= if mixed.one_in(40) { 1.0 } else { 0.0 };
                mixed.segment(number, ms)
            })
            .collect();
        for rule in [RttRule::Latest, RttRule::Sender] {
            let with = |most_awake| {
                let found =
                    analysed(&all, Settings { series: true, events: true, rule, most_awake, ..Settings::default() });
                (format!("{:?}", found.rows), found.samples, found.events)
            };
            let (rows, samples, events) = with(usize::MAX);
            assert!(rows.len() > 1000 && samples.len() > 1000 && events.len() > 1000);
            for most_awake in [1, 3] {
                let asleep = with(most_awake);
                assert!(asleep.1 == samples && asleep.2 == events, "{connections} connections, {most_awake} awake");
                assert_eq!(asleep.0, rows, "{connections} connections, {most_awake} awake");
            }
        }
    }
}
