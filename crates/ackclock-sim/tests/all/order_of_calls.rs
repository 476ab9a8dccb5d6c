//! Packets leave in the order of the calls that ask for them, as the system calls of a program do.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, link, sim};
use ackclock_core::app::{self, Application, Conn, Connections, Host, Made};
use ackclock_core::tcp::segment::flags;
use ackclock_core::time::Time;
use serde_json::json;

/// What a client does when the answer on its first connection has come.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// A message of so many bytes on the connection of this number.
    Say(usize, u64),
    Open,
    Close(usize),
}
use Call::{Close, Open, Say};

/// Opens two connections, asks on the first when they are established, and makes its calls when the answer has come.
struct Client {
    asks: bool,
    calls: Vec<Call>,
    conns: Vec<Conn>,
}

const ASKS: Time = Time(100 * MS);
const QUESTION: u64 = 70;

impl Application for Client {
    fn begin(&mut self, host: &mut dyn Host) {
        self.conns = vec![host.open(), host.open()];
    }

    fn due(&self) -> Time {
        if self.asks { ASKS } else { Time::NEVER }
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        self.asks = false;
        host.say(self.conns[0], QUESTION, 0);
    }

    fn on_message(&mut self, host: &mut dyn Host, _: Conn, _: u64) {
        for call in std::mem::take(&mut self.calls) {
            match call {
                Say(n, bytes) => host.say(self.conns[n], bytes, 1),
                Open => self.conns.push(host.open()),
                Close(n) => host.close(self.conns[n]),
            }
        }
    }
}

/// Answers a question, and nothing else.
struct Server;

impl Application for Server {
    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, word: u64) {
        if word == 0 {
            host.say(conn, 500, 0);
        }
    }
}

/// What arrives at the server once these calls have been made: the number of the connection, and the bytes or what else it is.
fn order(calls: &[Call]) -> Vec<(u16, String)> {
    let links = vec![link("out", 8_000_000, 10, 100), json!({"id": "back", "delay_ns": 10 * MS})];
    let mut f = flow("0", None);
    f["app"] = json!({"kind": "files", "arrivals": {"poisson_per_s": 1}, "size": {"kind": "constant", "value": 1}});
    f["tcp"] = json!({"handshake": true});
    let mut d = document(200, links, vec![f]);
    d["engine"] = json!({"log_deliveries": true});
    let mut run = sim(&d);
    let client = Client { asks: true, calls: calls.to_vec(), conns: Vec::new() };
    let ends: [Box<dyn Application>; 2] = [Box::new(client), Box::new(Server)];
    let (opens, connections) = (app::End::Source, Connections::Many(3.0));
    run.set_applications(0, Made { ends, opens, connections, at_once: None, once: false, in_transfers: false })
        .unwrap();
    run.run(|| false).unwrap();
    let all = run.take_deliveries();
    let first_port = all[0].addresses.source_port;
    let arrived = all.iter().filter(|p| p.to & 1 == 1 && p.at > Time(ASKS.0 + 20 * MS));
    arrived
        .filter_map(|p| {
            let what = match (p.packet.tcp()?, p.packet.payload()) {
                (segment, 0) if segment.has(flags::SYN) => "SYN".to_string(),
                (segment, 0) if segment.has(flags::FIN) => "FIN".to_string(),
                (_, 0) => return None,
                (_, bytes) => bytes.to_string(),
            };
            Some((p.addresses.source_port - first_port, what))
        })
        .collect()
}

/// Calls, and what arrives.
type Case<'a> = (&'a [Call], &'a [(u16, &'a str)]);

#[test]
fn packets_leave_in_the_order_of_calls() {
    let table: &[Case] = &[
        (&[Say(0, 800), Open], &[(0, "800"), (2, "SYN")]),
        (&[Open, Say(0, 800)], &[(2, "SYN"), (0, "800")]),
        (&[Say(0, 800), Open, Open], &[(0, "800"), (2, "SYN"), (3, "SYN")]),
        (&[Open, Say(0, 800), Open], &[(2, "SYN"), (0, "800"), (3, "SYN")]),
        (&[Say(1, 700), Say(0, 800)], &[(1, "700"), (0, "800")]),
        (&[Say(0, 800), Say(1, 700)], &[(0, "800"), (1, "700")]),
        (&[Close(0), Say(1, 700), Open], &[(0, "FIN"), (1, "700"), (2, "SYN")]),
    ];
    for (calls, expected) in table {
        let expected: Vec<(u16, String)> = expected.iter().map(|(n, what)| (*n, (*what).to_string())).collect();
        assert_eq!(order(calls), expected, "{calls:?}");
    }
}
