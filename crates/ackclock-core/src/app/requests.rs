//! Requests and answers over one connection, one after the other. The sink asks: the answers take the way out.

use super::params::{Draws, Given, Kind, Problem, optional, required};
use super::registry::Entry;
use super::{Application, Conn, Connections, End, Failure, Host, Made, Setup};
use crate::time::{Span, Time};
use crate::variate::Variate;

/// Requests and answers.
pub const ENTRY: Entry = Entry {
    kind: "request_response",
    summary: "requests and their answers over one connection, one after the other",
    params: &[
        required("request", Kind::Distribution, "bytes of a request"),
        required("response", Kind::Distribution, "bytes of its answer"),
        optional("think", Kind::Distribution, "nanoseconds from the end of an answer to the next request"),
        optional("count", Kind::Whole, "how many; without it as many as there is time for"),
    ],
    make,
};

fn make(given: &Given, setup: &Setup<'_>) -> Result<Made, Problem> {
    let left = given.whole("count").unwrap_or(u64::MAX);
    if left == 0 {
        return Err(Problem::new("count", "there is a request at least; leave count out for no end"));
    }
    let none = || Variate::Constant(0.0);
    let client = Client {
        request: given.draws("request", none(), setup, "requests"),
        response: given.draws("response", none(), setup, "sizes"),
        think: given.draws("think", none(), setup, "think"),
        left,
        number: 0,
        asking: false,
        active: false,
        over: false,
        next: Time::NEVER,
        conn: None,
    };
    let ends: [Box<dyn Application>; 2] = [Box::new(Server), Box::new(client)];
    Ok(Made { ends, opens: End::Sink, connections: Connections::One, at_once: None, once: false, in_transfers: true })
}

/// Answers a request with as much as it asks for.
pub(super) struct Server;

impl Application for Server {
    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, size: u64) {
        host.write(conn, size);
    }
}

struct Client {
    request: Draws,
    response: Draws,
    think: Draws,
    /// Requests still to make, the present one included.
    left: u64,
    /// Number of the present or next one.
    number: u64,
    asking: bool,
    active: bool,
    over: bool,
    next: Time,
    conn: Option<Conn>,
}

impl Client {
    fn ask(&mut self, host: &mut dyn Host) {
        let Some(conn) = self.conn else { return };
        let (request, size) = (self.request.whole(1), self.response.whole(1));
        (self.asking, self.next) = (true, Time::NEVER);
        host.begun(self.number, size);
        host.say(conn, request, size);
        host.receive(conn, size);
    }

    fn conclude(&mut self, host: &mut dyn Host) {
        host.completed();
        if let Some(conn) = self.conn {
            host.close(conn);
        }
    }
}

impl Application for Client {
    fn begin(&mut self, host: &mut dyn Host) {
        self.active = true;
        self.conn.get_or_insert_with(|| host.open());
        if !self.asking && self.left > 0 {
            self.next = host.now();
        }
    }

    fn pause(&mut self, host: &mut dyn Host, last: bool) {
        (self.active, self.over, self.next) = (false, last, Time::NEVER);
        if last && !self.asking {
            self.conclude(host);
        }
    }

    fn due(&self) -> Time {
        self.next
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        self.ask(host);
    }

    fn on_received(&mut self, host: &mut dyn Host, _: Conn) {
        if !std::mem::take(&mut self.asking) {
            return;
        }
        host.done(self.number);
        self.number += 1;
        self.left -= 1;
        if self.left == 0 || self.over {
            self.conclude(host);
        } else if self.active {
            self.next = host.now() + Span(self.think.whole(0));
            if self.next == host.now() {
                self.ask(host);
            }
        }
    }

    fn on_failed(&mut self, _: &mut dyn Host, _: Conn, _: Failure) {
        (self.conn, self.next, self.asking) = (None, Time::NEVER, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;
    use crate::app::testing::{Did, Fake};

    const C: Conn = Conn(0);

    fn given(think: f64, count: u64) -> Vec<(&'static str, Value)> {
        let constant = |x: f64| Value::Distribution(Variate::Constant(x));
        vec![
            ("request", constant(100.0)),
            ("response", constant(1000.0)),
            ("think", constant(think)),
            ("count", Value::Whole(count)),
        ]
    }

    #[test]
    fn one_request_after_the_other_until_all_are_made() {
        let [mut server, mut client] = Fake::made(&ENTRY, &given(0.0, 2)).ends;
        let mut host = Fake::default();
        client.begin(&mut host);
        client.on_due(&mut host);
        client.on_received(&mut host, C);
        client.on_received(&mut host, C);
        let ask = |n: u64| vec![Did::Begun(n, 1000), Did::Say(C, 100, 1000), Did::Receive(C, 1000)];
        let end = vec![Did::Done(1), Did::Completed, Did::Close(C)];
        assert_eq!(host.did, [vec![Did::Open(C)], ask(0), vec![Did::Done(0)], ask(1), end].concat());
        let mut host = Fake::default();
        server.on_message(&mut host, Conn(3), 1000);
        assert_eq!(host.did, [Did::Write(Conn(3), 1000)]);
    }

    #[test]
    fn it_thinks_between_them_and_stops_when_told() {
        let [_, mut client] = Fake::made(&ENTRY, &given(50.0, 100)).ends;
        let mut host = Fake::default();
        client.begin(&mut host);
        client.on_due(&mut host);
        host.now = Time(7);
        client.on_received(&mut host, C);
        assert_eq!(client.due(), Time(57));
        host.now = Time(57);
        client.on_due(&mut host);
        // The last answer may end.
        client.pause(&mut host, true);
        assert!(!host.did.contains(&Did::Completed));
        client.on_received(&mut host, C);
        assert_eq!(host.did[host.did.len() - 3..], [Did::Done(1), Did::Completed, Did::Close(C)]);
    }

    #[test]
    fn a_pause_between_two_requests_ends_it() {
        let [_, mut client] = Fake::made(&ENTRY, &given(50.0, 100)).ends;
        let mut host = Fake::default();
        client.begin(&mut host);
        client.on_due(&mut host);
        client.on_received(&mut host, C);
        client.pause(&mut host, true);
        assert_eq!((client.due(), host.did.last()), (Time::NEVER, Some(&Did::Close(C))));
    }
}
