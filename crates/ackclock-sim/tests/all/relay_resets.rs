//! Resets on either side of a relay: to whom they are passed on, when, and what is lost. Links have delays and no rates, 50 ms
//! to the server and 20 ms to the client, so that every time is known to the nanosecond.
#![allow(clippy::unwrap_used)]

use crate::common::splits::{Split, file, measure, without_rates};
use crate::common::{MS, sim};
use ackclock_core::app::{self, Application, Conn, Connections, Failure, Host, Made, Reading};
use ackclock_core::tcp::segment::flags;
use ackclock_core::time::Time;
use ackclock_sim::Output;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const REQUEST: u64 = 200;

/// When an end was told that its connection failed, and why.
type Told = Arc<Mutex<Vec<(u64, Failure)>>>;

/// What an end does.
#[derive(Clone, Copy, Default)]
struct Habits {
    refuses: bool,
    /// Bytes written as soon as the connection is there.
    writes: u64,
    /// Then its direction is closed.
    closes: bool,
    /// It leaves what comes unread.
    reads_nothing: bool,
    /// It resets the connection, ms.
    resets: Option<u64>,
}

struct End {
    habits: Habits,
    conn: Option<Conn>,
    told: Told,
}

impl End {
    fn there(&mut self, host: &mut dyn Host, conn: Conn) {
        self.conn = Some(conn);
        if self.habits.writes > 0 {
            host.write(conn, self.habits.writes);
        }
        if self.habits.closes {
            host.close(conn);
        }
    }
}

impl Application for End {
    fn begin(&mut self, host: &mut dyn Host) {
        host.open();
    }

    fn listens(&self) -> bool {
        !self.habits.refuses
    }

    fn reading(&self) -> Reading {
        if self.habits.reads_nothing { Reading::ByHand } else { Reading::AtOnce }
    }

    fn on_accepted(&mut self, host: &mut dyn Host, conn: Conn) {
        self.there(host, conn);
    }

    fn on_connected(&mut self, host: &mut dyn Host, conn: Conn) {
        if self.habits.reads_nothing {
            host.read_by_hand(conn);
        }
        self.there(host, conn);
    }

    fn due(&self) -> Time {
        match (self.habits.resets, self.conn) {
            (Some(at), Some(_)) => Time(at * MS),
            _ => Time::NEVER,
        }
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        host.abort(self.conn.take().unwrap());
    }

    fn on_closed(&mut self, _: &mut dyn Host, _: Conn) {}

    fn on_failed(&mut self, host: &mut dyn Host, _: Conn, why: Failure) {
        self.conn = None;
        self.told.lock().unwrap().push((host.now().0, why));
    }
}

/// What came of a server and a client with these habits.
struct Played {
    out: Output,
    /// What the server and the client were told.
    told: [Vec<(u64, Failure)>; 2],
    /// Resets that came anywhere: when, and with ACK.
    resets: Vec<(u64, bool)>,
}

fn played(server: Habits, client: Habits, relay: Value, window: u64) -> Played {
    let tcp = [json!({}), json!({"receive_buffer": window})];
    let s = Split { app: Some(file(1)), tcp, profile: "rfc", more: relay, ..Split::default() };
    let mut d = without_rates(s.split());
    d["engine"] = json!({"log_deliveries": true});
    let mut run = sim(&d);
    let told: [Told; 2] = Default::default();
    let mut of = told.iter().zip([server, client]);
    let mut end = || of.next().map(|(told, habits)| End { habits, conn: None, told: Arc::clone(told) }).unwrap();
    let ends: [Box<dyn Application>; 2] = [Box::new(end()), Box::new(end())];
    let (opens, connections) = (app::End::Sink, Connections::Many(1.0));
    run.set_applications(0, Made { ends, opens, connections, at_once: None, once: false, in_transfers: false })
        .unwrap();
    run.run(|| false).unwrap();
    assert_eq!(run.connections().0, 0, "everything is given back");
    let packets = run.take_deliveries();
    let resets = packets.iter().filter_map(|p| {
        let segment = p.packet.tcp().filter(|t| t.flags & flags::RST > 0)?;
        Some((p.at.0, segment.flags & flags::ACK > 0))
    });
    let resets = resets.collect();
    Played { out: run.output(), told: told.map(|told| told.lock().unwrap().clone()), resets }
}

const WHOLE: u64 = 1_000_000;
const OPENINGS: [&str; 4] = ["transparent", "accepted", "lazy", "syn_forward"];

#[test]
fn who_is_refused_by_the_server_resets_the_client_at_once() {
    let server = Habits { refuses: true, ..Habits::default() };
    let client = Habits { writes: REQUEST, ..Habits::default() };
    // The client's SYN is at the relay at 20 ms, that of the relay at the server at 70, the reset at the relay at 120. Where
    // the other handshake waits for the client's, that is done at 60.
    for (opening, at_relay) in OPENINGS.into_iter().zip([120, 160, 120, 120]) {
        // What arrives takes 7 ms to the other leg, and a reset takes none of it.
        for delay in [0, 7 * MS] {
            let found = played(server, client, json!({"opening": opening, "delay_ns": delay}), WHOLE);
            // That of the server answers a SYN. That of the relay does where it has not answered the client's.
            let waits = ["lazy", "syn_forward"].contains(&opening);
            let expected = [(at_relay * MS, true), ((at_relay + 20) * MS, waits)];
            assert_eq!(found.resets, expected, "{opening}, {delay} ns");
            assert_eq!(found.told, [vec![], vec![((at_relay + 20) * MS, Failure::Reset)]], "{opening}");
            // The client that was answered has sent its request, and believes that the server has it.
            let lost = if waits { 0 } else { REQUEST };
            assert_eq!(measure(&found.out, "acked_undelivered_bytes"), lost as f64, "{opening}");
        }
    }
}

#[test]
fn a_reset_passes_in_the_time_of_both_legs() {
    let quiet = Habits::default();
    let resets = Habits { resets: Some(500), ..quiet };
    let half = |of: Habits| Habits { writes: 10_000, closes: true, ..of };
    for opening in OPENINGS {
        for delay in [0, 7 * MS] {
            let relay = || json!({"opening": opening, "delay_ns": delay});
            // Nothing was sent; the one that does not reset was done, or the one that does.
            for (one, other) in [(resets, quiet), (resets, half(quiet)), (half(resets), quiet)] {
                let found = played(one, other, relay(), WHOLE);
                assert_eq!(found.resets, [(550 * MS, false), (570 * MS, false)], "{opening}");
                assert_eq!(found.told, [vec![], vec![(570 * MS, Failure::Reset)]], "{opening}");
                let found = played(other, one, relay(), WHOLE);
                assert_eq!(found.resets, [(520 * MS, false), (570 * MS, false)], "{opening}");
                assert_eq!(found.told, [vec![(570 * MS, Failure::Reset)], vec![]], "{opening}");
                assert_eq!(measure(&found.out, "acked_undelivered_bytes"), 0.0, "{opening}");
            }
        }
    }
}

#[test]
fn a_reset_overtakes_what_the_buffer_holds_and_empties_it() {
    const WRITTEN: u64 = 500_000;
    const WINDOW: u64 = 100_000;
    let writes = Habits { writes: WRITTEN, ..Habits::default() };
    let reads_nothing = Habits { reads_nothing: true, ..Habits::default() };
    for server_resets in [true, false] {
        let with = |of: Habits, does: bool| Habits { resets: does.then_some(5_000), ..of };
        let found = played(with(writes, server_resets), with(reads_nothing, !server_resets), json!({}), WINDOW);
        let at_relay = if server_resets { 5_050 } else { 5_020 };
        assert_eq!(found.resets, [(at_relay * MS, false), (5_070 * MS, false)]);
        let told = (5_070 * MS, Failure::Reset);
        assert_eq!(found.told, if server_resets { [vec![], vec![told]] } else { [vec![told], vec![]] });
        // The relay has acknowledged all; the client was sent its window, and nothing of the rest for the end of it.
        let flows = &found.out.flows;
        assert_eq!((flows[1].goodput_bytes, flows[2].goodput_bytes), (WRITTEN, WINDOW));
        assert_eq!(measure(&found.out, "acked_undelivered_bytes"), (WRITTEN - WINDOW) as f64);
    }
}

#[test]
fn a_client_that_goes_before_its_server_is_there_leaves_nobody() {
    // The client is answered at 40 ms and resets at 45, which is at the relay at 65. Its SYN, under way to the server until 70,
    // comes to nobody: who asks has given up before.
    let client = Habits { resets: Some(45), ..Habits::default() };
    let found = played(Habits::default(), client, json!({"opening": "transparent"}), WHOLE);
    assert_eq!(found.resets, [(65 * MS, false)]);
    assert_eq!(found.told, [vec![], vec![]], "the server has not accepted anybody");
    // A server that has answered at 70 is reset where its answer comes to nobody, at 120: it hears of it at 170.
    let client = Habits { resets: Some(55), ..client };
    let found = played(Habits::default(), client, json!({"opening": "transparent"}), WHOLE);
    assert_eq!(found.resets, [(75 * MS, false), (170 * MS, false)]);
}
