//! The life of a connection: opened, carried both ways, ended, told.

use crate::carry::{Broken, Pulse, Way, carry};
use crate::clients::Place;
use crate::ending::{By, Ending, Why};
use crate::line::{Line, Sample};
use crate::opening::{Known, Opened, open};
use crate::proxy::Proxy;
use crate::sys::info::{Info, info};
use crate::sys::options::{reset_when_closed, unacknowledged, unread};
use crate::wanted::seconds;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// How often it is looked whether an end has acknowledged all when the other one is gone.
const LOOK: Duration = Duration::from_millis(20);

/// Serves one client to the end.
pub async fn serve(proxy: Arc<Proxy>, client: TcpStream, peer: SocketAddr, _place: Place) {
    let pulse = Pulse::new();
    let begins = proxy.begins(By::Client, &client, peer);
    let mut known = Known::of(peer);
    let mut stop = proxy.stopped();
    let opened = tokio::select! {
        biased;
        // What it takes to open is not there any more when that is done.
        opened = Box::pin(open(&proxy, &client, &mut known)) => opened,
        error = failed(&client) => Err(Ending::with(By::Client, Why::of(&error), error)),
        () = over(&mut stop) => Err(Ending::new(By::Proxy, Why::Drained)),
    };
    let mut line = Line::new(&proxy, &known, begins.as_ref());
    match opened {
        Ok(Opened { server, mut first, sent }) => {
            first.drain(..sent);
            let (up, down) = (Way::default(), Way::default());
            up.passed(sent);
            let split = Split { proxy: &proxy, client: &client, server: &server, up: &up, down: &down, pulse: &pulse };
            let ending = split.run(first, &mut stop, &line).await;
            let age = pulse.age();
            behind_others().await;
            split.told(&mut line, &ending);
            line.end(&proxy, &ending, age);
            if ending.why != Why::Finished {
                reset_when_closed(&server);
                reset_when_closed(&client);
            }
        }
        Err(ending) => {
            line.end(&proxy, &ending, pulse.age());
            // Who was told why reads it; to all others nobody is there.
            if !proxy.wanted.asks() || matches!(ending.why, Why::Drained | Why::Reset) {
                reset_when_closed(&client);
            }
        }
    }
}

/// Returns when the connection of `stream` has failed, with why.
async fn failed(stream: &TcpStream) -> io::Error {
    match stream.ready(Interest::ERROR).await {
        Ok(_) => stream.take_error().ok().flatten().unwrap_or_else(|| io::ErrorKind::ConnectionReset.into()),
        Err(error) => error,
    }
}

/// Lets those go first who have something to carry by now. Closing two sockets takes longer than passing a request on, and while it
/// lasts the answer to that comes, which then need not be waited for in a sleep. It takes no system call, unlike `yield_now` of tokio,
/// which goes on only after the kernel was asked for events.
async fn behind_others() {
    let mut first = true;
    poll_fn(|context| {
        if !std::mem::take(&mut first) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn over(stop: &mut watch::Receiver<bool>) {
    // The other end of it lives as long as the proxy.
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// A connection whose two sides are there.
struct Split<'a> {
    proxy: &'a Proxy,
    client: &'a TcpStream,
    server: &'a TcpStream,
    up: &'a Way,
    down: &'a Way,
    pulse: &'a Pulse,
}

impl Split<'_> {
    /// Carries both ways until the end.
    async fn run(&self, first: Vec<u8>, stop: &mut watch::Receiver<bool>, line: &Line) -> Ending {
        let (client, server, pipes) = (self.client, self.server, &self.proxy.pipes);
        let up = carry((client, server), first, self.up, pipes, self.pulse);
        let down = carry((server, client), Vec::new(), self.down, pipes, self.pulse);
        let client_failed = failed(client);
        let server_failed = failed(server);
        let timer = sleep_until(self.next());
        tokio::pin!(up, down, client_failed, server_failed, timer);
        let (mut going_up, mut going_down) = (true, true);
        let mut first_done = None;
        loop {
            let broken = tokio::select! {
                biased;
                done = &mut up, if going_up => {
                    going_up = false;
                    match done {
                        Ok(()) => {
                            first_done.get_or_insert(By::Client);
                            // Of the last direction closing passes it on.
                            if going_down {
                                self.up.finish(server);
                            }
                            None
                        }
                        Err(Broken::Source(error)) => Some((By::Client, error)),
                        Err(Broken::Sink(error)) => Some((By::Server, error)),
                    }
                }
                done = &mut down, if going_down => {
                    going_down = false;
                    match done {
                        Ok(()) => {
                            first_done.get_or_insert(By::Server);
                            if going_up {
                                self.down.finish(client);
                            }
                            None
                        }
                        Err(Broken::Source(error)) => Some((By::Server, error)),
                        Err(Broken::Sink(error)) => Some((By::Client, error)),
                    }
                }
                error = &mut client_failed => Some((By::Client, error)),
                error = &mut server_failed => Some((By::Server, error)),
                () = &mut timer => {
                    if let Some(ending) = self.late() {
                        return ending;
                    }
                    self.sample(line);
                    timer.as_mut().reset(self.next());
                    continue;
                }
                () = over(stop) => return Ending::new(By::Proxy, Why::Drained),
            };
            match (broken, first_done) {
                (Some((By::Server, error)), _) if self.down.ended() => {
                    return self.last((self.client, self.down), By::Server, error, going_down.then_some(down)).await;
                }
                (Some((By::Client, error)), _) if self.up.ended() => {
                    return self.last((self.server, self.up), By::Client, error, going_up.then_some(up)).await;
                }
                (Some((by, error)), _) => return Ending::with(by, Why::of(&error), error),
                (None, Some(by)) if !going_up && !going_down => return Ending::new(by, Why::Finished),
                (None, _) => timer.as_mut().reset(self.next()),
            }
        }
    }

    /// Who reset the connection `by` has said all that it had to say: `to` gets the rest of it before the reset.
    async fn last(
        &self,
        (to, way): (&TcpStream, &Way),
        by: By,
        error: io::Error,
        rest: Option<std::pin::Pin<&mut impl std::future::Future<Output = Result<(), Broken>>>>,
    ) -> Ending {
        let ending = Ending::with(by, Why::of(&error), error);
        let delivered = async {
            if let Some(rest) = rest {
                if rest.await.is_err() {
                    return;
                }
                way.finish(to);
            }
            while unacknowledged(to) > 0 {
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = delivered => {}
            _ = failed(to) => {}
            () = sleep(seconds(self.proxy.wanted.half_open_s)) => {}
        }
        ending
    }

    /// How long it may be silent, and why it ends if it is for longer.
    fn patience(&self) -> (Duration, Why) {
        let wanted = &self.proxy.wanted;
        if self.up.ended() || self.down.ended() {
            (seconds(wanted.half_open_s), Why::HalfOpen)
        } else {
            (seconds(wanted.idle_s), Why::Idle)
        }
    }

    fn late(&self) -> Option<Ending> {
        let (patience, why) = self.patience();
        let silent = Instant::now().saturating_duration_since(self.pulse.last().into());
        (silent >= patience).then(|| Ending::new(By::Proxy, why))
    }

    /// When there is something to look at again.
    fn next(&self) -> Instant {
        let late = Instant::from_std(self.pulse.last()) + self.patience().0;
        match self.proxy.wanted.sample_s {
            Some(every) => late.min(Instant::now() + seconds(every)),
            // What is counted in milliseconds may be one short.
            None => late + Duration::from_millis(1),
        }
    }

    fn sample(&self, line: &Line) {
        if self.proxy.wanted.sample_s.is_some() {
            let sample = Sample::new(line.id, self.pulse.age(), (self.up, self.down), (self.client, self.server));
            self.proxy.journal.json(&sample);
        }
    }

    /// What is to be told of it.
    fn told(&self, line: &mut Line, ending: &Ending) {
        let (finished, lines) = (ending.why == Why::Finished, self.proxy.wanted.lines);
        let said = |of: &TcpStream| if lines { info(of).ok() } else { None };
        let (client, server) = (said(self.client), said(self.server));
        let fin = |way: &Way| u64::from(way.finished());
        // Acknowledged to who sent it, but not read by us, in our pipe, or not acknowledged by who it is for.
        let lost = |from: &TcpStream, way: &Way, to: &TcpStream, said: &Option<Info>| {
            if finished && said.as_ref().map_or(!lines, Info::all_acknowledged) {
                return 0;
            }
            let taken = if way.ended() { 0 } else { unread(from) };
            taken + way.held() + unacknowledged(to).saturating_sub(fin(way))
        };
        let up = lost(self.client, self.up, self.server, &server);
        let down = lost(self.server, self.down, self.client, &client);
        line.carried((self.up, self.down), (up, down), (client, server));
        let counts = &self.proxy.counts;
        counts.to_server.fetch_add(self.up.moved(), Relaxed);
        counts.to_client.fetch_add(self.down.moved(), Relaxed);
        if !finished {
            counts.undelivered.fetch_add(up + down, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::behind_others;
    use std::sync::{Arc, Mutex};

    #[tokio::test]
    async fn who_is_done_lets_those_go_first_who_are_ready() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let task = |name, done| {
            let order = Arc::clone(&order);
            tokio::spawn(async move {
                if done {
                    behind_others().await;
                }
                order.lock().unwrap().push(name);
            })
        };
        let (first, second, third) = (task("ended", true), task("carries", false), task("carries, too", false));
        for task in [first, second, third] {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["carries", "carries, too", "ended"]);
    }
}
