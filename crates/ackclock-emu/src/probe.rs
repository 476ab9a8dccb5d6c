//! What this host can do of it, found out by doing it.

use crate::host::{Host, Wanted};
use crate::kernel::Kernel;
use crate::sys::process::{Right, may_make_networks};
use crate::sys::realtime::{Granted, ask};
use ackclock_core::packet::{Address, Family};
use serde::{Deserialize, Serialize};

/// What was found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// The kernel, and what it has.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// By what right networks are made.
    pub right: Option<Right>,
    /// Whether a host can be made, of version 4 and of version 6.
    pub hosts: [bool; 2],
    /// What is granted to a thread that must not be late.
    pub granted: Granted,
    /// Processors that it may use.
    pub processors: usize,
    /// What is in the way, and what to do.
    pub problems: Vec<String>,
}

/// Tries everything that a run needs. The process must have one thread only, and is of no other use afterwards.
pub fn probe() -> Found {
    let mut problems = Vec::new();
    let right = may_make_networks(true).map_err(|problem| problems.push(problem)).ok();
    let mut hosts = [false; 2];
    if right.is_some() {
        for (family, host) in [Family::V4, Family::V6].into_iter().zip(&mut hosts) {
            match Host::new(Address::of_host(family, 1), &Wanted { mtu: 1500, ..Wanted::default() }) {
                Ok(_) => *host = true,
                Err(problem) => problems.push(with_remedy(&problem)),
            }
        }
    }
    let granted = ask();
    if !granted.real_time {
        let remedy = "run as root, or allow it: ulimit -r 10 (rtprio in limits.conf)";
        problems.push(format!("no real-time priority: under load packets will be late; {remedy}"));
    }
    if !granted.locked {
        let remedy = "run as root, or raise it: ulimit -l unlimited (memlock in limits.conf)";
        problems.push(format!("memory cannot be locked: a page that is not there makes packets late; {remedy}"));
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if processors < 2 {
        problems.push("one processor: path and endpoints take turns on it, so that packets are late".to_owned());
    }
    Found { kernel: Kernel::here(false), right, hosts, granted, processors, problems }
}

/// What stands in the way of a host, with what to do about it.
pub(crate) fn with_remedy(problem: &str) -> String {
    let remedy = if problem.contains("Too many open files") {
        "a host takes a few descriptors: allow more (ulimit -n 65536), or play fewer flows"
    } else if problem.contains("No space left on device") {
        "allow more namespaces (sysctl user.max_net_namespaces, user.max_user_namespaces), or play fewer flows"
    } else if problem.contains("/dev/net/tun") && problem.contains("Permission denied") {
        "let this user read and write the device (chmod 666 /dev/net/tun), or run as root"
    } else if problem.contains("/dev/net/tun") {
        "load the module (modprobe tun), or give the container the device (--device /dev/net/tun)"
    } else {
        return problem.to_owned();
    };
    format!("{problem}; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::with_remedy;

    #[test]
    fn what_stands_in_the_way_has_its_own_remedy() {
        for (problem, remedy) in [
            ("net.ipv4.tcp_no_metrics_save cannot be set to '1': Too many open files (os error 24)", "ulimit -n"),
            ("a network namespace cannot be made: No space left on device (os error 28)", "user.max_net_namespaces"),
            ("/dev/net/tun: Permission denied (os error 13)", "read and write the device"),
            ("/dev/net/tun: No such file or directory (os error 2)", "modprobe tun"),
        ] {
            let said = with_remedy(problem);
            assert!(said.starts_with(&format!("{problem}; ")) && said.contains(remedy), "{said}");
        }
        assert_eq!(with_remedy("something else"), "something else");
    }
}
