//! A server of pages: it answers requests with what they ask for, at once.
//!
//! A request is a message whose word is the number of the object and its bytes ([`request`]). Over one connection for one
//! object after the other (HTTP/1.0, HTTP/1.1) the answer is that many bytes; after it a server of HTTP/1.0 closes.
//!
//! A connection for many objects at a time (as in HTTP/2, RFC 9113) has several requests waiting. Their answers leave in
//! frames of at most 16,384 bytes, the initial SETTINGS_MAX_FRAME_SIZE (§6.5.2): one object after the other, or in turns, a
//! frame of each. What leaves next is decided when less than [`AHEAD`] is left to send, as a server does whose socket tells
//! it so (TCP_NOTSENT_LOWAT): a request that comes later takes its turns from then on. First and last byte of an object are
//! messages, by which the client tells them; frame headers (9 bytes) are not counted.

use crate::app::{Application, Conn, Failure, Host};
use std::collections::{BTreeMap, VecDeque};

/// Largest frame of a connection for many objects, bytes.
pub const FRAME: u64 = 16_384;
/// What such a server keeps written and unsent, bytes.
pub const AHEAD: u64 = 65_536;

/// Bits of a word that say bytes.
const BYTES: u32 = 41;
const LAST: u64 = 1 << 63;

/// The word of a request for `object` of so many bytes.
pub fn request(object: u32, bytes: u64) -> u64 {
    (u64::from(object) << BYTES) | bytes
}

/// What a request asks for.
fn asked(word: u64) -> (u32, u64) {
    ((word >> BYTES) as u32, word & ((1 << BYTES) - 1))
}

/// What the word of an answer says: the object, and whether it is its last byte.
pub fn answer(word: u64) -> (u32, bool) {
    (word as u32, word & LAST != 0)
}

/// In which way a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// One object for each connection (HTTP/1.0).
    One,
    /// One after the other, when they are asked for (HTTP/1.1).
    InTurn,
    /// All that were asked for, one after the other.
    Sequential,
    /// All that were asked for, a frame of each in turn.
    Interleaved,
}

/// An object under way.
#[derive(Clone, Copy, Debug)]
struct Answer {
    object: u32,
    left: u64,
    begun: bool,
}

/// The server.
pub struct Server {
    answers: Answers,
    /// What is being answered over connections for many objects.
    open: BTreeMap<Conn, VecDeque<Answer>>,
}

impl Server {
    /// One that answers in this way.
    pub fn new(answers: Answers) -> Server {
        Server { answers, open: BTreeMap::new() }
    }

    /// Writes as much as is to be ahead.
    fn go_on(&mut self, host: &mut dyn Host, conn: Conn) {
        let Some(queue) = self.open.get_mut(&conn) else { return };
        let mut ahead = host.unsent(conn);
        while ahead < AHEAD {
            let Some(mut answer) = queue.pop_front() else { return };
            let frame = answer.left.min(FRAME);
            ahead += frame;
            answer.left -= frame;
            let mut middle = frame;
            let word = u64::from(answer.object);
            if !answer.begun && (frame > 1 || answer.left > 0) {
                host.say(conn, 1, word);
                middle -= 1;
            }
            answer.begun = true;
            let last = u64::from(answer.left == 0);
            if middle > last {
                host.write(conn, middle - last);
            }
            if last == 1 {
                host.say(conn, 1, word | LAST);
            } else if self.answers == Answers::Interleaved {
                queue.push_back(answer);
            } else {
                queue.push_front(answer);
            }
        }
        if !queue.is_empty() {
            host.await_unsent(conn, AHEAD - FRAME);
        }
    }
}

impl Application for Server {
    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, word: u64) {
        let (object, bytes) = asked(word);
        match self.answers {
            Answers::One => {
                host.write(conn, bytes);
                host.close(conn);
            }
            Answers::InTurn => host.write(conn, bytes),
            Answers::Sequential | Answers::Interleaved => {
                let answer = Answer { object, left: bytes.max(1), begun: false };
                self.open.entry(conn).or_default().push_back(answer);
                self.go_on(host, conn);
            }
        }
    }

    fn on_writable(&mut self, host: &mut dyn Host, conn: Conn) {
        self.go_on(host, conn);
    }

    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        self.open.remove(&conn);
        host.close(conn);
    }

    fn on_failed(&mut self, _: &mut dyn Host, conn: Conn, _: Failure) {
        self.open.remove(&conn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{Did, Fake};

    const C: Conn = Conn(4);

    #[test]
    fn an_answer_is_what_was_asked_for() {
        let mut host = Fake::default();
        Server::new(Answers::InTurn).on_message(&mut host, C, request(7, 1000));
        Server::new(Answers::One).on_message(&mut host, C, request(7, 1 << 40));
        assert_eq!(host.did, [Did::Write(C, 1000), Did::Write(C, 1 << 40), Did::Close(C)]);
    }

    #[test]
    fn objects_leave_in_turns_or_one_after_the_other() {
        for (answers, order) in [(Answers::Interleaved, [1, 2, 1, 2]), (Answers::Sequential, [1, 1, 2, 2])] {
            let mut server = Server::new(answers);
            // Nothing is written as long as enough is ahead.
            let mut host = Fake::default();
            host.unsent = AHEAD;
            server.on_message(&mut host, C, request(1, FRAME + 100));
            server.on_message(&mut host, C, request(2, FRAME + 100));
            let wait = Did::AwaitUnsent(C, AHEAD - FRAME);
            assert_eq!(host.did, [wait, wait]);
            (host.unsent, host.did) = (0, Vec::new());
            server.on_writable(&mut host, C);
            let first = |n| vec![Did::Say(C, 1, n), Did::Write(C, FRAME - 1)];
            let rest = |n| vec![Did::Write(C, 99), Did::Say(C, 1, n | LAST)];
            let mut seen = [false; 3];
            let expected = order.map(|n: u64| {
                let begun = std::mem::replace(&mut seen[n as usize], true);
                if begun { rest(n) } else { first(n) }
            });
            assert_eq!(host.did, expected.concat());
        }
    }

    #[test]
    fn what_is_ahead_is_bounded() {
        let mut server = Server::new(Answers::Sequential);
        let mut host = Fake::default();
        server.on_message(&mut host, C, request(0, 10 * FRAME));
        let written: u64 =
            host.did.iter().map(|d| if let Did::Write(_, n) | Did::Say(_, n, _) = d { *n } else { 0 }).sum();
        assert_eq!((written, host.did.last()), (AHEAD, Some(&Did::AwaitUnsent(C, AHEAD - FRAME))));
        server.on_closed(&mut host, C);
        host.did.clear();
        server.on_writable(&mut host, C);
        assert_eq!(host.did, []);
    }

    #[test]
    fn an_object_of_a_byte_is_first_and_last_at_once() {
        let mut host = Fake::default();
        Server::new(Answers::Interleaved).on_message(&mut host, C, request(3, 1));
        assert_eq!(host.did, [Did::Say(C, 1, 3 | LAST)]);
        assert_eq!(answer(3 | LAST), (3, true));
    }
}
