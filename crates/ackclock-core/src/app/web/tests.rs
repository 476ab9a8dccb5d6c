//! Clients and servers of pages on the host for tests.
#![allow(clippy::unwrap_used)]

use super::report::{Outcome, Page, Split};
use super::server::request;
use super::*;
use crate::app::params::Value;
use crate::app::testing::{Did, Fake};
use crate::app::{Conn, Failure};
use crate::time::Time;

const C: [Conn; 6] = [Conn(0), Conn(1), Conn(2), Conn(3), Conn(4), Conn(5)];

fn constant(x: f64) -> Value {
    Value::Distribution(Variate::Constant(x))
}

fn word(x: &str) -> Value {
    Value::Word(x.to_owned())
}

/// A page of 1000 bytes and three objects of 500 every microsecond, and what else is given.
fn client(more: &[(&'static str, Value)]) -> Box<dyn Application> {
    let mut given = vec![
        ("main", constant(1000.0)),
        ("objects", constant(3.0)),
        ("embedded", constant(500.0)),
        ("interval", constant(1000.0)),
    ];
    given.extend(more.iter().cloned());
    let [_, client] = Fake::made(&ENTRY, &given).ends;
    client
}

fn at(host: &mut Fake, now: u64) {
    host.now = Time(now);
    host.did.clear();
}

/// The client requests object `object` of `bytes` over `conn`.
fn asks(conn: Conn, object: u32, bytes: u64) -> Vec<Did> {
    vec![Did::Say(conn, 800, request(object, bytes)), Did::Receive(conn, 1)]
}

/// The object under way over `conn` comes at once, first byte and last.
fn comes(host: &mut Fake, client: &mut dyn Application, conn: Conn) {
    client.on_received(host, conn);
    client.on_received(host, conn);
}

fn begin(client: &mut dyn Application) -> Fake {
    let mut host = Fake::default();
    client.begin(&mut host);
    client.on_due(&mut host);
    host
}

#[test]
fn objects_go_to_whichever_connection_is_free() {
    let mut client = client(&[("connections", Value::Whole(2))]);
    let mut host = begin(&mut *client);
    assert_eq!(host.did, [Did::Begun(0, 2500), Did::Open(C[0])], "a page is a transfer");
    at(&mut host, 10);
    client.on_connected(&mut host, C[0]);
    assert_eq!(host.did, asks(C[0], 0, 1000));
    at(&mut host, 20);
    client.on_received(&mut host, C[0]);
    assert_eq!(host.did, [Did::Receive(C[0], 999)]);
    at(&mut host, 40);
    client.on_received(&mut host, C[0]);
    // The first goes on with the first object, a second is opened, and no third: two at a time.
    assert_eq!(host.did, [asks(C[0], 1, 500), vec![Did::Open(C[1])]].concat());
    at(&mut host, 50);
    client.on_connected(&mut host, C[1]);
    assert_eq!(host.did, asks(C[1], 2, 500));
    at(&mut host, 60);
    comes(&mut host, &mut *client, C[1]);
    assert_eq!(host.did, [vec![Did::Receive(C[1], 499)], asks(C[1], 3, 500)].concat());
    comes(&mut host, &mut *client, C[0]);
    at(&mut host, 95);
    client.on_received(&mut host, C[1]);
    at(&mut host, 100);
    client.on_received(&mut host, C[1]);
    assert_eq!(host.did, [Did::Done(0), Did::Close(C[0]), Did::Close(C[1])]);
    assert_eq!(client.due(), Time(1000));
    let split = Split {
        handshake: Span(10),
        // Known at 40, requested at 60.
        queueing: Span(20),
        first_byte: Span(10 + 35),
        transfer: Span(20 + 5),
        parse: Span(0),
    };
    let expected = Page {
        number: 0,
        start: Time(0),
        end: Some(Time(100)),
        outcome: Outcome::Completed,
        deferred: false,
        objects: 4,
        bytes: 2500,
        done: 4,
        connections: 2,
        allowed: 2,
        split: Some(split),
    };
    assert_eq!(client.pages(), [expected]);
    assert_eq!(split.total(), Span(100));
    assert_eq!(client.objects(), []);
}

#[test]
fn no_more_connections_than_objects_and_none_before_the_main_one_unless_asked() {
    for (preopen, before, after) in [(false, 1, 3), (true, 6, 6)] {
        let mut client = client(&[("connections", Value::Whole(6)), ("preopen", Value::Flag(preopen))]);
        let mut host = begin(&mut *client);
        client.on_connected(&mut host, C[0]);
        let opened = |host: &Fake| host.did.iter().filter(|d| matches!(d, Did::Open(_))).count();
        assert_eq!(opened(&host), before);
        comes(&mut host, &mut *client, C[0]);
        assert_eq!(opened(&host), after);
    }
}

#[test]
fn each_object_has_its_connection_where_that_is_fixed() {
    let mut client = client(&[("connections", Value::Whole(2)), ("fixed_assignment", Value::Flag(true))]);
    let mut host = begin(&mut *client);
    client.on_connected(&mut host, C[0]);
    comes(&mut host, &mut *client, C[0]);
    at(&mut host, 5);
    client.on_connected(&mut host, C[1]);
    assert_eq!(host.did, asks(C[1], 2, 500));
    at(&mut host, 6);
    // The third is for the first connection, though the second is free.
    comes(&mut host, &mut *client, C[1]);
    assert_eq!(host.did, [Did::Receive(C[1], 499)]);
    at(&mut host, 7);
    comes(&mut host, &mut *client, C[0]);
    assert_eq!(host.did[1..], asks(C[0], 3, 500));
}

#[test]
fn an_old_protocol_has_a_connection_for_each_object() {
    let mut client = client(&[("connections", Value::Whole(2)), ("protocol", word("http1.0"))]);
    let mut host = begin(&mut *client);
    client.on_connected(&mut host, C[0]);
    at(&mut host, 5);
    comes(&mut host, &mut *client, C[0]);
    assert_eq!(host.did, [Did::Receive(C[0], 999), Did::Open(C[1]), Did::Open(C[2])]);
    client.on_closed(&mut host, C[0]);
    client.on_connected(&mut host, C[2]);
    at(&mut host, 6);
    comes(&mut host, &mut *client, C[2]);
    assert_eq!(host.did, [Did::Receive(C[2], 499), Did::Open(C[3])]);
    for conn in [C[1], C[3]] {
        client.on_connected(&mut host, conn);
        comes(&mut host, &mut *client, conn);
    }
    assert_eq!((client.pages()[0].connections, client.pages()[0].outcome), (4, Outcome::Completed));
}

#[test]
fn one_connection_for_all_requests_them_at_once() {
    let mut client = client(&[("protocol", word("h2")), ("keep_objects", Value::Flag(true))]);
    let mut host = begin(&mut *client);
    client.on_connected(&mut host, C[0]);
    let [mut server, _] = Fake::made(
        &ENTRY,
        &[
            ("main", constant(1.0)),
            ("objects", constant(1.0)),
            ("embedded", constant(1.0)),
            ("interval", constant(1.0)),
            ("protocol", word("h2")),
            ("responses", word("interleaved")),
        ],
    )
    .ends;
    let asked = |object, bytes| Did::Say(C[0], 800, request(object, bytes));
    assert_eq!(host.did.last(), Some(&asked(0, 1000)));
    // What the server answers is what the client is told.
    let mut answer = |host: &mut Fake, client: &mut dyn Application, object, bytes| {
        let mut other = Fake::default();
        server.on_message(&mut other, C[0], request(object, bytes));
        for did in other.did {
            if let Did::Say(_, _, word) = did {
                host.now.0 += 1;
                client.on_message(host, C[0], word);
            }
        }
    };
    at(&mut host, 10);
    answer(&mut host, &mut *client, 0, 1000);
    assert_eq!(host.did, [asked(1, 500), asked(2, 500), asked(3, 500)]);
    for object in [2, 3, 1] {
        answer(&mut host, &mut *client, object, 500);
    }
    let page = client.pages()[0];
    assert_eq!((page.connections, page.end, page.split.unwrap().total()), (1, Some(Time(18)), Span(18)));
    let objects = client.objects();
    assert_eq!(
        (objects[1].requested, objects[1].first_byte, objects[1].done),
        (Some(Time(12)), Some(Time(17)), Some(Time(18)))
    );
}

#[test]
fn a_page_whose_time_has_come_waits_or_takes_the_place_of_the_one_before() {
    for abort in [false, true] {
        let mut client = client(&[("late", word(if abort { "abort" } else { "defer" })), ("count", Value::Whole(2))]);
        let mut host = begin(&mut *client);
        client.on_connected(&mut host, C[0]);
        assert_eq!(client.due(), if abort { Time(1000) } else { Time::NEVER });
        at(&mut host, 1000);
        if abort {
            client.on_due(&mut host);
            assert_eq!(host.did, [Did::Abort(C[0]), Did::Begun(1, 2500), Did::Open(C[1])]);
        } else {
            at(&mut host, 1500);
            for _ in 0..4 {
                comes(&mut host, &mut *client, C[0]);
            }
            let end = [Did::Done(0), Did::Close(C[0]), Did::Begun(1, 2500), Did::Open(C[1])];
            assert_eq!(host.did[host.did.len() - 4..], end);
        }
        let pages: Vec<_> = client.pages().iter().map(|p| (p.outcome, p.deferred, p.end)).collect();
        let now = Some(host.now);
        let first = if abort { Outcome::Aborted } else { Outcome::Completed };
        assert_eq!(pages, [(first, false, now), (Outcome::Unfinished, !abort, None)]);
    }
}

#[test]
fn a_failed_connection_is_opened_again_and_its_object_comes_first() {
    let mut client = client(&[("connections", Value::Whole(2))]);
    let mut host = begin(&mut *client);
    client.on_connected(&mut host, C[0]);
    comes(&mut host, &mut *client, C[0]);
    client.on_connected(&mut host, C[1]);
    at(&mut host, 7);
    client.on_failed(&mut host, C[1], Failure::Timeout);
    assert_eq!(host.did, [Did::Open(C[2])]);
    client.on_connected(&mut host, C[2]);
    assert_eq!(host.did[1..], asks(C[2], 2, 500));
    // Its network is gone: after a number of attempts the page is.
    let mut conn = C[2];
    for _ in 0..MOST_FAILURES {
        client.on_failed(&mut host, conn, Failure::Connect);
        if let Some(Did::Open(next)) = host.did.last() {
            conn = *next;
        }
    }
    assert_eq!((client.pages()[0].outcome, client.pages()[0].done), (Outcome::Failed, 1));
    assert_eq!(host.did.last(), Some(&Did::Abort(C[0])));
    assert_eq!(client.due(), Time(1000), "the next one has a chance");
}

#[test]
fn what_refers_to_objects_is_parsed_first() {
    let mut client = client(&[("parse_ns", Value::Whole(30)), ("connections", Value::Whole(2))]);
    let mut host = begin(&mut *client);
    client.on_connected(&mut host, C[0]);
    at(&mut host, 100);
    comes(&mut host, &mut *client, C[0]);
    assert_eq!((&host.did[..], client.due()), (&[Did::Receive(C[0], 999)][..], Time(130)));
    at(&mut host, 130);
    client.on_due(&mut host);
    assert_eq!(host.did, [asks(C[0], 1, 500), vec![Did::Open(C[1])]].concat());
    assert_eq!(client.due(), Time::NEVER);
}

#[test]
fn it_begins_with_its_flow_and_ends_with_it() {
    let mut client = client(&[("first", constant(50.0))]);
    let mut host = Fake::default();
    host.now = Time(7);
    assert_eq!(client.due(), Time::NEVER);
    client.begin(&mut host);
    assert_eq!((client.due(), host.did.len()), (Time(57), 0));
    at(&mut host, 57);
    client.on_due(&mut host);
    client.on_connected(&mut host, C[0]);
    client.pause(&mut host, true);
    for _ in 0..4 {
        comes(&mut host, &mut *client, C[0]);
    }
    assert_eq!(host.did[host.did.len() - 3..], [Did::Done(0), Did::Close(C[0]), Did::Completed]);
    assert_eq!(client.due(), Time::NEVER);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let base =
        [("main", constant(9.0)), ("objects", constant(3.0)), ("embedded", constant(5.0)), ("interval", constant(1.0))];
    let refused = |more: &[(&'static str, Value)]| {
        Fake::refused(&ENTRY, &base.iter().cloned().chain(more.iter().cloned()).collect::<Vec<_>>()).key
    };
    assert_eq!(refused(&[("protocol", word("h2")), ("connections", Value::Whole(2))]), "connections");
    assert_eq!(refused(&[("responses", word("sequential"))]), "responses");
    assert_eq!(refused(&[("connections", Value::Whole(0))]), "connections");
    assert_eq!(refused(&[("request_bytes", Value::Whole(0))]), "request_bytes");
    assert_eq!(refused(&[("fixed_assignment", Value::Flag(true)), ("policy", word("adaptive"))]), "fixed_assignment");
    assert_eq!(Fake::refused(&ENTRY, &base[1..]).key, "main");
}

#[test]
fn what_came_out_of_order_is_told_to_the_policy_object_by_object() {
    let given = [("connections", Value::Whole(4)), ("policy", word("loss")), ("objects", constant(1.0))];
    let mut client = client(&given);
    let mut host = begin(&mut *client);
    let mut page = |disorder: [u64; 2], number: u64| {
        let conn = Conn(number);
        client.on_connected(&mut host, conn);
        for so_far in disorder {
            host.disorder = so_far;
            comes(&mut host, &mut *client, conn);
        }
        at(&mut host, 1000 * (number + 1));
        client.on_due(&mut host);
        client.pages().last().unwrap().allowed
    };
    // Nothing comes out of order in the first page; later it was before the request, then during an object.
    assert_eq!([page([0, 0], 0), page([0, 0], 1), page([3, 3], 2), page([3, 4], 3)], [2, 3, 1, 1]);
}
