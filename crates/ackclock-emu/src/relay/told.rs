//! What a proxy says of its connections: a line of JSON each when it has ended, and every tenth of a second before.

use serde::Deserialize;
use std::collections::BTreeMap;

/// What the kernel says of a socket, as the proxy passes it on: microseconds, segments, bytes.
#[derive(Clone, Debug, Default, Deserialize)]
#[allow(missing_docs)] // the names are the kernel's
pub struct Info {
    pub rtt: u32,
    pub min_rtt: u32,
    pub snd_cwnd: u32,
    pub snd_mss: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub total_retrans: u32,
    pub segs_in: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub dsack_dups: u32,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
}

/// A line.
#[derive(Debug, Deserialize)]
struct Line {
    event: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    to_server_bytes: u64,
    #[serde(default)]
    to_client_bytes: u64,
    #[serde(default)]
    undelivered_to_server_bytes: u64,
    #[serde(default)]
    undelivered_to_client_bytes: u64,
    client_tcp: Option<Info>,
    server_tcp: Option<Info>,
    #[serde(default)]
    lines_dropped: u64,
}

/// What a proxy has said of the socket at one of its legs, all connections together.
#[derive(Clone, Debug, Default)]
pub struct Leg {
    /// Payload sent, repeated included, and repeated; segments with payload sent, and repeated.
    pub sent_bytes: u64,
    /// See `sent_bytes`.
    pub repeated_bytes: u64,
    /// See `sent_bytes`.
    pub sent: u64,
    /// See `sent_bytes`.
    pub repeated: u64,
    /// Segments without payload that came.
    pub acks: u64,
    /// Duplicates that the other end reported.
    pub dsacks: u64,
    /// Sums of windows, bytes, and of round-trip times, seconds, and how many.
    pub windows: (f64, u64),
    /// See `windows`.
    pub rtts: (f64, u64),
    /// The least and the largest of these, the least as the kernel filters it.
    pub least: Option<f64>,
    /// See `least`.
    pub most: Option<f64>,
    /// Time in which something was under way, and of it that in which the peer's window, or the send buffer, held it back,
    /// microseconds.
    pub limits: [u64; 3],
}

/// What a proxy has said.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Of its client's and its server's side.
    pub sides: [Leg; 2],
    /// Bytes that it has passed on to these.
    pub passed: [u64; 2],
    /// Bytes that it had acknowledged and the other end never got, of connections that failed.
    pub undelivered: u64,
    /// Connections that it has had.
    pub connections: u64,
    /// Why connections ended that did not finish, and how many.
    pub ended: BTreeMap<String, u64>,
    /// Lines that it could not write.
    pub dropped: u64,
}

/// Words for connections that did not fail: both ends were done, or the run was over.
const NO_FAILURE: [&str; 2] = ["finished", "drained"];

impl Told {
    /// Of these lines, those that are none left out.
    pub fn of(text: &str) -> Told {
        let mut told = Told::default();
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
            match line.event.as_str() {
                "sample" => told.each(&line, Leg::sample),
                "connection" => {
                    told.connections += 1;
                    told.each(&line, Leg::add);
                    told.passed[0] += line.to_client_bytes;
                    told.passed[1] += line.to_server_bytes;
                    if !NO_FAILURE.contains(&line.why.as_str()) {
                        told.undelivered += line.undelivered_to_server_bytes + line.undelivered_to_client_bytes;
                        *told.ended.entry(line.why).or_default() += 1;
                    }
                }
                _ => told.dropped += line.lines_dropped,
            }
        }
        told
    }

    fn each(&mut self, line: &Line, what: fn(&mut Leg, &Info)) {
        for (side, info) in self.sides.iter_mut().zip([&line.client_tcp, &line.server_tcp]) {
            info.iter().for_each(|info| what(side, info));
        }
    }
}

impl Leg {
    fn add(&mut self, info: &Info) {
        self.sent_bytes += info.bytes_sent;
        self.repeated_bytes += info.bytes_retrans;
        self.sent += u64::from(info.data_segs_out);
        self.repeated += u64::from(info.total_retrans);
        self.acks += u64::from(info.segs_in.saturating_sub(info.data_segs_in));
        self.dsacks += u64::from(info.dsack_dups);
        for (sum, time) in self.limits.iter_mut().zip([info.busy_time, info.rwnd_limited, info.sndbuf_limited]) {
            *sum += time;
        }
        if info.data_segs_out > 0 && info.min_rtt != u32::MAX {
            let least = f64::from(info.min_rtt) * 1e-6;
            self.least = Some(self.least.map_or(least, |l| l.min(least)));
        }
        // A connection that is over within a tenth of a second has this only.
        self.sample(info);
    }

    fn sample(&mut self, info: &Info) {
        if info.data_segs_out == 0 {
            return;
        }
        let rtt = f64::from(info.rtt) * 1e-6;
        self.windows.0 += f64::from(info.snd_cwnd) * f64::from(info.snd_mss);
        self.windows.1 += 1;
        self.rtts = (self.rtts.0 + rtt, self.rtts.1 + 1);
        self.most = Some(self.most.map_or(rtt, |most| most.max(rtt)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(sent: u64) -> String {
        format!(
            r#"{{"rtt": 20000, "min_rtt": 10000, "snd_cwnd": 10, "snd_mss": 1448, "bytes_sent": {sent}, "bytes_retrans": 5,
            "total_retrans": 1, "segs_in": 9, "data_segs_in": 2, "data_segs_out": 7, "dsack_dups": 0,
            "busy_time": 3, "rwnd_limited": 2, "sndbuf_limited": 1}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn connections_add_up_and_only_failures_lose_something() {
        let line = |why: &str| {
            format!(
                r#"{{"event": "connection", "why": "{why}", "to_client_bytes": 200, "undelivered_to_client_bytes": 100, "client_tcp": {}, "server_tcp": null}}"#,
                info(1000)
            )
        };
        let sample = format!(r#"{{"event": "sample", "client_tcp": {}, "server_tcp": null}}"#, info(1));
        let end = r#"{"event": "end", "lines_dropped": 3}"#;
        let text = [line("finished"), sample, line("reset"), line("drained"), "no line".to_owned(), end.to_owned()];
        let told = Told::of(&text.join("\n"));
        let client = &told.sides[0];
        assert_eq!((told.connections, told.undelivered, told.dropped), (3, 100, 3));
        assert_eq!(told.ended, BTreeMap::from([("reset".to_owned(), 1)]));
        assert_eq!((client.sent_bytes, client.sent, client.acks, told.passed), (3000, 21, 21, [600, 0]));
        assert_eq!((client.windows, client.least), ((4.0 * 14_480.0, 4), Some(0.01)));
        assert_eq!(told.sides[1].sent, 0);
    }
}
