//! One connection at work: it takes a lease, asks for it, writes what comes, and takes the next.

use crate::address::Address;
use crate::bucket::Bucket;
use crate::connect::{Connector, Link, Watched};
use crate::problem::Problem;
use crate::ranges::{Piece, Ranges};
use crate::request::{self, Asking};
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Least bytes of a lease.
pub const CHUNK: u64 = 1 << 20;
/// Seconds of work in a lease, at least; one is eight times as long where there is much left, for each costs a round trip.
const SECONDS: f64 = 2.0;
const LONGEST: u64 = 8;
/// Bytes that are not worth a request, and a new connection's beginning in seconds of the rate.
const CRUMB: f64 = 65_536.0;
const BEGINNING: f64 = 0.5;

/// What all connections of a download have in common.
pub struct Shared {
    /// Makes connections.
    pub connector: Connector,
    /// Makes requests.
    pub asking: Asking,
    /// Where the file is.
    pub address: Address,
    /// What says that it is the same.
    pub validator: String,
    /// Where its bytes go.
    pub part: File,
    /// A rate that is not exceeded.
    pub bucket: Option<Mutex<Bucket>>,
    /// What changes.
    pub state: Mutex<State>,
}

/// What changes while it runs.
pub struct State {
    /// Whose bytes are whose.
    pub ranges: Ranges,
    /// Who is there.
    pub crew: Vec<Member>,
    /// Bytes that came.
    pub received: u64,
    /// Bytes a second of late, all together.
    pub rate: f64,
    /// The round trip of late.
    pub round_trip: Duration,
    /// Connections that are wanted.
    pub wanted: u32,
}

/// A connection.
pub struct Member {
    /// Its number.
    pub id: u64,
    /// Its socket, once it has one.
    pub socket: Option<Watched>,
    /// Whether bytes have come.
    pub at_work: bool,
    /// Whether it is one too many.
    pub retired: bool,
}

/// How the work of a connection ended.
#[derive(Debug)]
pub enum End {
    /// Nothing was left to do, or it was one too many.
    Done,
    /// The connection was lost.
    Lost(String),
    /// The server answers a request of a piece with something else.
    NoPiece(String),
    /// The server does not want so many.
    Refused(String),
    /// The file is another one now.
    Changed,
    /// Nothing can go on.
    Broken(Problem),
}

impl State {
    fn share(&self) -> f64 {
        self.rate / f64::from(self.wanted.max(1))
    }

    /// Least bytes that are worth being taken from somebody, by a connection that is there or by a new one.
    pub fn crumb(&self, new: bool) -> u64 {
        let beginning = if new { BEGINNING } else { 0.0 };
        (CRUMB + self.share() * (2.0 * self.round_trip.as_secs_f64() + beginning)) as u64
    }

    /// Work for a connection.
    fn lease(&mut self, new: bool) -> Option<usize> {
        let chunk = CHUNK.max((self.share() * SECONDS) as u64);
        let even = self.ranges.free() / (2 * u64::from(self.wanted.max(1)));
        let crumb = self.crumb(new);
        self.ranges.take(even.clamp(chunk, LONGEST * chunk)).or_else(|| self.ranges.split(crumb))
    }
}

impl Shared {
    /// The state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retired(&self, id: u64) -> bool {
        self.state().crew.iter().any(|member| member.id == id && member.retired)
    }

    fn member(&self, id: u64, change: impl FnOnce(&mut Member)) {
        if let Some(member) = self.state().crew.iter_mut().find(|member| member.id == id) {
            change(member);
        }
    }

    async fn hold_back(&self, bytes: u64) {
        if let Some(bucket) = &self.bucket {
            let until = bucket.lock().unwrap_or_else(PoisonError::into_inner).took(bytes, Instant::now());
            tokio::time::sleep_until(until.into()).await;
        }
    }
}

/// A lease that is given back whatever happens.
struct Lease {
    shared: Arc<Shared>,
    number: usize,
}

impl Lease {
    fn left(&self) -> Piece {
        self.shared.state().ranges.left(self.number)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shared.state().ranges.give_back(self.number);
    }
}

/// What a connection begins with when it was there already: the answer to a lease.
pub struct Begun {
    /// The connection.
    pub link: Link,
    /// The answer.
    pub response: Response<Incoming>,
    /// The lease that it is for.
    pub lease: usize,
}

/// Works as long as there is anything to do.
pub async fn work(shared: Arc<Shared>, id: u64, begun: Option<Begun>) -> End {
    let mut link = None;
    if let Some(Begun { link: there, response, lease }) = begun {
        shared.member(id, |member| member.socket = Some(there.socket.clone()));
        let lease = Lease { shared: Arc::clone(&shared), number: lease };
        match received(&shared, id, response, &lease).await {
            Ok(true) => link = Some(there),
            Ok(false) => {}
            Err(end) => return end,
        }
    }
    loop {
        if shared.retired(id) {
            return End::Done;
        }
        link = link.filter(Link::open);
        let Some(number) = shared.state().lease(link.is_none()) else { return End::Done };
        let lease = Lease { shared: Arc::clone(&shared), number };
        while lease.left().bytes() > 0 {
            match piece(&shared, id, link.take(), &lease).await {
                Ok(there) => link = there,
                Err(end) => return end,
            }
            if shared.retired(id) {
                return End::Done;
            }
        }
    }
}

/// Asks for what is left of a lease; the connection, if it can be used again.
async fn piece(shared: &Arc<Shared>, id: u64, link: Option<Link>, lease: &Lease) -> Result<Option<Link>, End> {
    let (patience, asked) = (shared.connector.patience(), lease.left());
    let request = || shared.asking.request(&shared.address, Some(asked), Some(&shared.validator));
    let mut answer = None;
    if let Some(mut link) = link {
        // A server may close a connection that waits, just when it is asked: that is no failure.
        answer = request::answered(&mut link, &shared.address, request(), patience).await.ok().map(|a| (link, a));
    }
    let (link, response) = match answer {
        Some(both) => both,
        None => {
            let mut link = shared.connector.connect(&shared.address).await.map_err(|e| End::Lost(e.text))?;
            shared.member(id, |member| member.socket = Some(link.socket.clone()));
            let answer = request::answered(&mut link, &shared.address, request(), patience).await;
            (link, answer.map_err(End::Lost)?)
        }
    };
    checked(shared, &response, asked)?;
    Ok(received(shared, id, response, lease).await?.then_some(link))
}

/// Whether an answer is what was asked for.
fn checked(shared: &Shared, response: &Response<Incoming>, asked: Piece) -> Result<(), End> {
    let (status, at) = (response.status(), shared.address.text());
    match status {
        StatusCode::PARTIAL_CONTENT => {
            let file = request::described(response.headers(), true);
            let other = file.validator.is_some_and(|validator| validator != shared.validator);
            if other || file.total.is_some_and(|total| total != shared.state().ranges.total()) {
                return Err(End::Changed);
            }
            let wrong = |why: String| End::NoPiece(format!("{at}: {why}"));
            request::is_piece(response.headers(), asked).map_err(wrong)
        }
        StatusCode::OK | StatusCode::RANGE_NOT_SATISFIABLE => {
            let total = shared.state().ranges.total();
            let same = if status == StatusCode::OK {
                let file = request::described(response.headers(), false);
                file.validator.is_none_or(|validator| validator == shared.validator)
                    && file.total.is_none_or(|now| now == total)
            } else {
                request::size_beside_none(response.headers()) == Some(total)
            };
            let (first, last) = (asked.start, asked.end - 1);
            Err(if same {
                End::NoPiece(format!("{at}: the server answers {status} where bytes {first}-{last} were asked for"))
            } else {
                End::Changed
            })
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            Err(End::Refused(format!("{at}: the server answers {status}")))
        }
        _ if status.is_server_error() => Err(End::Lost(format!("{at}: the server answers {status}"))),
        _ => Err(End::NoPiece(format!("{at}: the server answers {status}"))),
    }
}

/// Writes what comes, up to the end of the lease. Whether the connection can be used again.
async fn received(shared: &Arc<Shared>, id: u64, response: Response<Incoming>, lease: &Lease) -> Result<bool, End> {
    let (version, end) = (response.version(), lease.left().end);
    let (mut body, mut silent) = (response.into_body(), true);
    loop {
        let patience = shared.connector.patience();
        let data = match request::bytes(&mut body, version, patience).await.map_err(End::Lost)? {
            // An answer without a byte would be asked for again at once, and for ever.
            None if silent => return Err(End::Lost("the server's answer ends before its first byte".to_owned())),
            None => return Ok(true),
            Some(data) => data,
        };
        silent = false;
        // Before it counts: what is read last would not be waited for. The lease may be shorter afterwards.
        shared.hold_back(data.len() as u64).await;
        let left = lease.left();
        let mine = &data[..data.len().min(usize::try_from(left.bytes()).unwrap_or(usize::MAX))];
        shared
            .part
            .write_all_at(mine, left.start)
            .map_err(|e| End::Broken(Problem::failed(format!("what has come cannot be written: {e}"))))?;
        let over = {
            let mut state = shared.state();
            state.ranges.advance(lease.number, mine.len() as u64);
            state.received += mine.len() as u64;
            state.ranges.left(lease.number).bytes() == 0
        };
        shared.member(id, |member| member.at_work = true);
        if over {
            // More is on the way if the end of the lease was taken by another.
            if mine.len() < data.len() || left.end < end {
                return Ok(false);
            }
            // Many servers of HTTP/2 say in a frame of its own that it was the last.
            return Ok(matches!(request::bytes(&mut body, version, patience).await, Ok(None)));
        }
        if shared.retired(id) {
            return Err(End::Done);
        }
    }
}
