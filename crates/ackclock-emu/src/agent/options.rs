//! Options of an endpoint: which of them the kernel has, and how they are set. What it has not is refused by its name.

use crate::host::Wanted;
use crate::sys::settings;
use ackclock_core::params::Value;
use ackclock_core::tcp::config::OPTIONS;
use ackclock_core::tcp::{Config, Profile};
use ackclock_run::given::given;
use ackclock_run::spec::Flow;
use ackclock_run::SpecError;

/// How the endpoints of a flow are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Of both its hosts.
    pub host: Wanted,
    /// The controller by the kernel's name; none of datagrams.
    pub controller: Option<String>,
    /// Payload of a full segment with the options that every segment has.
    pub segment: u32,
    /// Whether short segments wait (Nagle).
    pub nagle: bool,
    /// Bytes that are written at a time.
    pub write: u64,
    /// See `notsent_lowat`; 0: none.
    pub unsent_low_water: u32,
}

/// Bytes of the timestamp option with its padding.
const TIMESTAMPS: u32 = 12;
/// IP and TCP header, of version 6.
const HEADERS: u32 = 60;
/// The MTU of Ethernet, below which no device is made.
const ETHERNET: u32 = 1500;
/// The smallest segment size that Linux takes (`TCP_MIN_MSS`).
const LEAST_SEGMENT: u32 = 88;
/// Buffers as large as a simulated endpoint's: bytes at least, at first, and at most.
const BUFFERS: &str = "4096 16777216 268435456";

/// Our names of controllers that Linux calls otherwise.
const NAMES: [(&str, &str); 3] = [("bbr1", "bbr"), ("newreno", "reno"), ("westwood+", "westwood")];

impl Options {
    /// Those of `flow`; `path` is its key in the document.
    ///
    /// # Errors
    /// What the kernel cannot do, by its name, and what it can.
    pub fn of(flow: &Flow, path: &str) -> Result<Options, SpecError> {
        let wrong = |key: &str, problem: String| SpecError { path: format!("{path}.{key}"), problem };
        let mut options = Options {
            host: Wanted {
                settings: ["ipv4.tcp_rmem", "ipv4.tcp_wmem"].map(|name| (name.to_owned(), BUFFERS.to_owned())).to_vec(),
                mtu: ETHERNET,
                offload: false,
                initial_window: None,
            },
            write: 131_072,
            ..Options::default()
        };
        if let Some(datagrams) = flow.app.datagrams() {
            options.host.mtu = ETHERNET.max(datagrams.payload + HEADERS);
            return Ok(options);
        }
        if Profile::from_name(&flow.profile) != Some(Profile::Linux) {
            let problem = format!("a kernel is no '{}'; leave profile out, or write linux", flow.profile);
            return Err(wrong("profile", problem));
        }
        options.controller = Some(controller(flow).map_err(|problem| wrong("cc", problem))?);
        if let Some(start) = &flow.slow_start {
            if start.name != Profile::Linux.default_slow_start(&flow.cc.name) || !start.params.is_empty() {
                let problem =
                    format!("a kernel's controller starts as it does, not by '{}'; leave slow_start out", start.name);
                return Err(wrong("slow_start", problem));
            }
        }
        let kind = |name: &str| OPTIONS.iter().find(|o| o.name == name).map(|o| o.kind);
        let standard = Config::profile(Profile::Linux);
        let mut timestamps = standard.timestamps;
        for (name, value) in given(&flow.tcp, kind, &format!("{path}.tcp"))? {
            let mut checked = standard.clone();
            let at = |problem: String| wrong(&format!("tcp.{name}"), problem);
            checked.set(&name, &value).map_err(|e| at(e.to_string()))?;
            if name == "timestamps" {
                timestamps = checked.timestamps;
            }
            if checked.get(&name) != standard.get(&name) {
                options.set(&name, &checked).map_err(at)?;
            }
        }
        options.segment = flow.mss + if timestamps { TIMESTAMPS } else { 0 };
        if options.segment < LEAST_SEGMENT {
            let least = LEAST_SEGMENT + flow.mss - options.segment;
            return Err(wrong("mss", format!("a kernel's segments have {least} bytes at least, not {}", flow.mss)));
        }
        options.host.mtu = options.host.mtu.max(options.segment + HEADERS);
        Ok(options)
    }

    /// Sets option `name`, which is not as in profile linux, as `to` has it.
    fn set(&mut self, name: &str, to: &Config) -> Result<(), String> {
        let value = to.get(name);
        let flag = |on: bool| u64::from(on).to_string();
        let word = match &value {
            Some(Value::Text(word)) => word.as_str(),
            _ => "",
        };
        let only = |what: &str| Err(format!("the kernel's is {what}, and it has no other; leave it out"));
        let buffer = |bytes: u64| format!("4096 {b} {b}", b = bytes.saturating_mul(2));
        let setting = match name {
            "sack" => ("tcp_sack", flag(to.sack)),
            "timestamps" => ("tcp_timestamps", flag(to.timestamps)),
            "recovery" if word == "prr" => return Ok(()),
            "recovery" if word == "newreno" => ("tcp_sack", flag(false)),
            "recovery" => return Err(format!("the kernel has auto, prr and newreno, not {word}")),
            "loss_detection" => ("tcp_recovery", flag(word == "rack")),
            "tlp" => ("tcp_early_retrans", if to.tlp { "3".into() } else { "0".into() }),
            "frto" => ("tcp_frto", if to.frto { "2".into() } else { "0".into() }),
            "min_rto" => ("tcp_rto_min_us", (to.min_rto.0 / 1000).to_string()),
            "max_rto" => ("tcp_rto_max_ms", (to.max_rto.0 / 1_000_000).to_string()),
            "dupthresh" => ("tcp_reordering", to.dupthresh.to_string()),
            "min_rtt_window" => ("tcp_min_rtt_wlen", (to.min_rtt_window.0 / 1_000_000_000).to_string()),
            "receive_buffer" => ("tcp_rmem", buffer(to.receive_buffer)),
            "send_buffer" => ("tcp_wmem", format!("4096 {b} {b}", b = to.send_buffer)),
            "ack_compression" => ("tcp_comp_sack_nr", if to.ack_compression { "44".into() } else { "0".into() }),
            "idle" if matches!(word, "none" | "rfc5681") => ("tcp_slow_start_after_idle", flag(word != "none")),
            "ecn" if word == "classic" => ("tcp_ecn", "1".into()),
            "ecn" => ("tcp_ecn", "3".into()),
            "syn_retries" => ("tcp_syn_retries", to.syn_retries.to_string()),
            "syn_linear_timeouts" => ("tcp_syn_linear_timeouts", to.syn_linear_timeouts.to_string()),
            "data_retries" => ("tcp_retries2", to.data_retries.to_string()),
            "nagle" => {
                self.nagle = to.nagle;
                return Ok(());
            }
            "write_bytes" => {
                self.write = if to.write_bytes == 0 { u64::MAX } else { to.write_bytes };
                return Ok(());
            }
            "notsent_lowat" => {
                self.unsent_low_water = to.notsent_lowat as u32;
                return Ok(());
            }
            "mtu" => {
                self.host.mtu = to.mtu as u32;
                return Ok(());
            }
            "iw" => {
                self.host.initial_window = Some(to.iw as u32);
                return Ok(());
            }
            "delayed_ack" | "delayed_ack_timeout" | "quick_acks" | "ack_policy" => {
                return Err("the kernel decides by itself when it acknowledges; leave it out".to_owned());
            }
            "pacing" => return only("controller"),
            "prr" | "rto" | "window_unit" | "nagle_rule" | "app_limited" => return only("linux's"),
            "handshake" => return Err("no kernel does without a handshake; leave it out".to_owned()),
            _ => return Err("a kernel has no such option; leave it out".to_owned()),
        };
        let full = format!("ipv4.{}", setting.0);
        if !settings::has(&full) {
            return Err(format!("this kernel ({}) has no net.{full} for it; leave it out", settings::kernel()));
        }
        self.host.settings.retain(|(known, _)| *known != full);
        self.host.settings.push((full, setting.1));
        Ok(())
    }
}

/// The kernel's name of the flow's controller.
fn controller(flow: &Flow) -> Result<String, String> {
    let name = flow.cc.name.as_str();
    let kernels = NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, theirs)| *theirs);
    let known = settings::controllers();
    if !known.iter().any(|k| k == kernels) {
        let (release, list) = (settings::kernel(), known.join(", "));
        let remedy = format!("choose one of these, or load its module, where there is one: modprobe tcp_{kernels}");
        return Err(format!("the kernel here ({release}) has no controller '{kernels}'; it has {list}; {remedy}"));
    }
    if let Some(key) = flow.cc.params.keys().next() {
        return Err(format!("the kernel's '{kernels}' takes no parameter '{key}' from a scenario; leave it out"));
    }
    Ok(kernels.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(more: &str) -> Result<Options, String> {
        let flow = format!(
            r#"{{"id": "0", "forward": [], "reverse": [], "start": {{"at_ns": 0}}, "app": {{"kind": "bulk"}},
            "mss": 1448, "profile": "linux", "cc": {{"name": "reno"}}{more}}}"#
        );
        let flow: Flow = serde_json::from_str(&flow).unwrap();
        Options::of(&flow, "flows.0").map_err(|e| e.to_string())
    }

    #[test]
    fn what_a_kernel_has_is_set() {
        let plain = options("").unwrap();
        assert_eq!((plain.segment, plain.host.mtu, plain.controller.as_deref()), (1460, 1520, Some("reno")));
        let set = options(r#", "tcp": {"sack": false, "iw": 4, "notsent_lowat": 4096}"#).unwrap();
        assert!(set.host.settings.contains(&("ipv4.tcp_sack".to_owned(), "0".to_owned())));
        assert_eq!((set.unsent_low_water, set.host.settings.len(), set.host.initial_window), (4096, 3, Some(4)));
        assert_eq!(options(r#", "tcp": {"timestamps": false}"#).unwrap().segment, 1448);
    }

    #[test]
    fn what_it_has_not_is_refused_by_its_name() {
        let cases = [
            (r#", "tcp": {"delayed_ack": 1}"#, "flows.0.tcp.delayed_ack: the kernel decides"),
            (
                r#", "tcp": {"recovery": "tahoe"}"#,
                "flows.0.tcp.recovery: the kernel has auto, prr and newreno, not tahoe",
            ),
            (r#", "slow_start": {"kind": "blbe"}"#, "flows.0.slow_start: a kernel's controller starts as it does"),
            (r#", "tcp": {"hendshake": 1}"#, "flows.0.tcp.hendshake: unknown parameter"),
        ];
        for (more, said) in cases {
            assert!(options(more).unwrap_err().starts_with(said), "{more}");
        }
    }

    #[test]
    fn a_controller_that_is_missing_is_told_with_those_that_are_there() {
        let flow = r#"{"id": "0", "forward": [], "reverse": [], "start": {"at_ns": 0}, "app": {"kind": "bulk"},
            "mss": 1448, "profile": "linux", "cc": {"name": "nosuch"}}"#;
        let said = Options::of(&serde_json::from_str(flow).unwrap(), "flows.0").unwrap_err().to_string();
        assert!(said.contains("no controller 'nosuch'; it has ") && said.contains("reno") && said.contains("modprobe"));
    }
}
