//! Counters of a host, which the kernel keeps for each network namespace.

use std::collections::BTreeMap;
use std::fs;

/// Counters of TCP by name (`TcpExt` and `Tcp` of `/proc/net/netstat` and `snmp`).
pub type Counters = BTreeMap<String, u64>;

/// Those of the calling thread's network.
pub fn tcp() -> Counters {
    let mut all = Counters::new();
    for file in ["netstat", "snmp"] {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        all.extend(parse(&text));
    }
    all
}

/// Lines come in pairs: names, then values, both behind the name of a group.
fn parse(text: &str) -> Counters {
    let mut all = Counters::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let group = names.split_once(':').map_or("", |g| g.0);
        if matches!(group, "TcpExt" | "Tcp") {
            let pairs = names.split_whitespace().zip(values.split_whitespace()).skip(1);
            all.extend(pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))));
        }
    }
    all
}

/// Packets that device `name` of the calling thread's network dropped because nobody read them in time.
pub fn device_drops(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    // Eight columns of what was received come first; of what was sent the fourth are drops.
    line.and_then(|line| line.split_whitespace().nth(8 + 3)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let text = "TcpExt: SyncookiesSent TCPSackRecovery\nTcpExt: 3 17\nIpExt: InOctets\nIpExt: 9\n";
        let found: Vec<(String, u64)> = parse(text).into_iter().collect();
        assert_eq!(found, [("SyncookiesSent".to_owned(), 3), ("TCPSackRecovery".to_owned(), 17)]);
    }
}
