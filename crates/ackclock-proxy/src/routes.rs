//! The initial window of connections to servers: a property of routes (`initcwnd`, ip-route(8)), which only who may administrate
//! the network can change.
//!
//! The proxy itself has no such right when it knows its servers' addresses. A second process of this program has it, and can do
//! one thing: it gives an address that it is told a route of its own, and takes that back when nobody can tell it anything any
//! more, which is so whatever has ended the proxy.

use crate::sys::rights;
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The word of the command line for such a process.
pub const WORD: &str = "routes";

/// The process that changes routes.
#[derive(Debug)]
pub struct Routes {
    child: Child,
    answers: BufReader<ChildStdout>,
    segments: u32,
}

impl Routes {
    /// Begins it, for windows of so many `segments`, with the right that this process still has.
    ///
    /// # Errors
    /// It cannot be begun.
    pub fn begin(segments: u32) -> io::Result<Routes> {
        let mut command = Command::new(env::current_exe()?);
        command.args([WORD, &segments.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let answers = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        Ok(Routes { child, answers, segments })
    }

    /// Has connections to `servers` begin with the window, and says of which they cannot.
    pub fn lead(&mut self, servers: &[SocketAddr]) {
        for server in servers {
            if let Err(problem) = self.ask(server.ip()) {
                eprintln!(
                    "ackclock proxy: server initcwnd: the route to {} cannot be given {} segments: {problem}",
                    server.ip(),
                    self.segments
                );
            }
        }
    }

    fn ask(&mut self, to: IpAddr) -> Result<(), String> {
        let mut said = String::new();
        let asking = self.child.stdin.as_mut().map(|stdin| writeln!(stdin, "{to}")).transpose();
        asking.and_then(|_| self.answers.read_line(&mut said)).map_err(|e| e.to_string())?;
        match said.trim() {
            "done" => Ok(()),
            "" => Err("who was to do it is gone".to_owned()),
            why => Err(why.to_owned()),
        }
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Is that process, until nobody tells it anything any more.
///
/// # Errors
/// It cannot be it.
pub fn serve(segments: &str) -> Result<(), String> {
    let segments: u32 = segments.parse().map_err(|_| format!("{WORD}: {segments:?} is no number of segments"))?;
    // Who ends the proxy by a signal to all of its group must not end who cleans up behind it.
    rights::hear_no_signals();
    let refused = rights::only_network(rights::user("nobody").ok()).err();
    let mut made = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(to) = line.unwrap_or_default().parse::<IpAddr>() else { break };
        let done = match &refused {
            Some(error) => Err(error.to_string()),
            None => route(to).and_then(|way| change("add", to, &way, segments).map(|()| made.push((to, way)))),
        };
        println!("{}", done.err().unwrap_or_else(|| "done".to_owned()));
    }
    for (to, way) in made {
        let _ = change("del", to, &way, segments);
    }
    Ok(())
}

/// The words of `ip route` for the way that packets to `to` take.
fn route(to: IpAddr) -> Result<Vec<String>, String> {
    let said = ip(to, &["-o", "route", "get", &to.to_string()])?;
    way(&said).ok_or_else(|| format!("{}: they do not leave this computer by a route", said.trim()))
}

/// The gateway, the device and the source in what `ip route get` says; none where they go nowhere, or stay here.
fn way(said: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = said.split_whitespace().take_while(|word| *word != "\\").collect();
    if words.first().is_none_or(|first| first.parse::<IpAddr>().is_err()) {
        return None;
    }
    let mut found = Vec::new();
    for key in ["via", "dev", "src"] {
        if let Some(at) = words.iter().position(|word| *word == key) {
            let value = words.get(at + 1)?;
            found.push(key.to_owned());
            // The gateway of the other version has its version before it.
            if matches!(*value, "inet" | "inet6") {
                found.extend([(*value).to_owned(), (*words.get(at + 2)?).to_owned()]);
            } else {
                found.push((*value).to_owned());
            }
        }
    }
    found.contains(&"dev".to_owned()).then_some(found)
}

fn change(what: &str, to: IpAddr, way: &[String], segments: u32) -> Result<(), String> {
    let (address, window) = (to.to_string(), segments.to_string());
    let mut words = vec!["route", what, &address];
    words.extend(way.iter().map(String::as_str));
    words.extend(["initcwnd", &window]);
    ip(to, &words).map(|_| ())
}

fn ip(to: IpAddr, words: &[&str]) -> Result<String, String> {
    let version = if to.is_ipv4() { "-4" } else { "-6" };
    let mut command = Command::new("ip");
    command.arg(version).args(words).stdin(Stdio::null()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let done = command.output().map_err(|e| format!("the program ip of iproute2: {e}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    Err(said.lines().next().unwrap_or("ip says nothing").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::way;

    #[test]
    fn a_way_is_what_a_route_is_made_of() {
        let of = |said: &str| way(said).map(|words| words.join(" "));
        let far = "10.2.0.2 via 10.1.0.1 dev eth0 src 10.1.0.2 uid 0 \\    cache ";
        assert_eq!(of(far).as_deref(), Some("via 10.1.0.1 dev eth0 src 10.1.0.2"));
        let near = "10.1.0.9 dev eth0 src 10.1.0.2 uid 0 \\    cache ";
        assert_eq!(of(near).as_deref(), Some("dev eth0 src 10.1.0.2"));
        let six = "2001:db8::2 from :: via fe80::1 dev eth0 proto ra src 2001:db8::1 metric 1024 pref medium";
        assert_eq!(of(six).as_deref(), Some("via fe80::1 dev eth0 src 2001:db8::1"));
        let mixed = "10.2.0.2 via inet6 fe80::1 dev eth0 src 10.1.0.2 uid 0 \\    cache ";
        assert_eq!(of(mixed).as_deref(), Some("via inet6 fe80::1 dev eth0 src 10.1.0.2"));
        for nowhere in ["local 127.0.0.1 dev lo src 127.0.0.1 uid 0", "unreachable 10.0.0.1", "", "10.0.0.1 uid 0"] {
            assert_eq!(of(nowhere), None, "{nowhere}");
        }
    }
}
