//! Options of an endpoint: which of them the kernel has, and how they are set. What it has not is refused by its name.

use super::controllers::{controller, parameter};
use super::memory;
use crate::host::Wanted;
use crate::kernel::Kernel;
use ackclock_core::params::Value;
use ackclock_core::tcp::config::OPTIONS;
use ackclock_core::tcp::{Config, Profile};
use ackclock_run::SpecError;
use ackclock_run::given::given;
use ackclock_run::spec::Flow;

/// How the endpoints of a flow are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Of both its hosts.
    pub host: Wanted,
    /// The controller by the kernel's name; none of datagrams.
    pub controller: Option<String>,
    /// Payload of a full segment with the options that every segment has.
    pub segment: u32,
    /// Of a full segment.
    pub payload: u32,
    /// Whether short segments wait (Nagle).
    pub nagle: bool,
    /// Bytes that are written at a time.
    pub write: u64,
    /// See `notsent_lowat`; 0: none.
    pub unsent_low_water: u32,
    /// Segments are spread over time whatever the controller is.
    pub paced: bool,
    /// Parameters of the controller's module that are set for the whole kernel, as `tcp_cubic.beta`, and their values.
    pub parameters: Vec<(String, String)>,
    /// Bytes of the receive and the send buffer, where the document says them.
    pub buffers: [Option<u64>; 2],
}

/// Bytes of the timestamp option with its padding.
const TIMESTAMPS: u32 = 12;
/// IP and TCP header, of version 6.
const HEADERS: u32 = 60;
/// The MTU of Ethernet, below which no device is made.
const ETHERNET: u32 = 1500;
/// What Linux takes for the longest retransmission timeout, nanoseconds.
const LONGEST: std::ops::RangeInclusive<u64> = 1_000_000_000..=120_000_000_000;
/// The smallest segment size that Linux takes (`TCP_MIN_MSS`).
const LEAST_SEGMENT: u32 = 88;
/// Of them those that a header of version 6 is longer.
const VERSION_6: u32 = 20;
/// Settings that are the memory of what came and of what leaves.
pub const BUFFERS: [&str; 2] = ["ipv4.tcp_rmem", "ipv4.tcp_wmem"];
/// Buffers as large as a simulated endpoint's: bytes at least, at first, and at most.
const LARGE: &str = "4096 16777216 268435456";
/// Bytes that all send buffers together have at first. Bulk sources fill theirs, whatever their windows are; the kernel makes
/// those larger of which the window needs more.
const ALL_AT_FIRST: u64 = 1 << 28;

impl Options {
    /// Those of `flow` for `kernel`; `path` is its key in the document.
    ///
    /// # Errors
    /// What the kernel cannot do, by its name, and what it can.
    pub fn of(flow: &Flow, path: &str, kernel: &Kernel) -> Result<Options, SpecError> {
        let wrong = |key: &str, problem: String| SpecError { path: format!("{path}.{key}"), problem };
        let mut options = Options {
            host: Wanted {
                settings: BUFFERS.map(|name| (name.to_owned(), LARGE.to_owned())).to_vec(),
                ..Wanted::default()
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
        let name = controller(flow, kernel).map_err(|problem| wrong("cc", problem))?;
        for (key, value) in &flow.cc.params {
            let set = parameter(&name, key, value, kernel).map_err(|p| wrong(&format!("cc.params.{key}"), p))?;
            options.parameters.extend(set);
        }
        options.controller = Some(name);
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
        for (name, value) in given(&flow.tcp, kind, format!("{path}.tcp"))? {
            let mut checked = standard.clone();
            let at = |problem: String| wrong(&format!("tcp.{name}"), problem);
            checked.set(&name, &value).map_err(|e| at(e.to_string()))?;
            if name == "timestamps" {
                timestamps = checked.timestamps;
            }
            if checked.get(&name) != standard.get(&name) {
                options.set(&name, &checked, kernel).map_err(at)?;
            }
        }
        options.payload = flow.mss;
        options.segment = flow.mss + if timestamps { TIMESTAMPS } else { 0 };
        if options.segment < LEAST_SEGMENT {
            let least = LEAST_SEGMENT + flow.mss - options.segment;
            return Err(wrong(
                "mss",
                format!("a kernel's segments have {least} bytes at least, not {}; make it larger", flow.mss),
            ));
        }
        let (full, mtu) = (options.segment + HEADERS - VERSION_6, options.host.mtu);
        if (1..full).contains(&mtu) {
            return Err(wrong("mss", format!("a full segment is a packet of {full} bytes, above the MTU of {mtu}")));
        }
        // A packet of version 6 has room beyond what is asked for.
        options.host.mtu = if mtu > 0 { mtu } else { ETHERNET }.max(options.segment + HEADERS);
        Ok(options)
    }

    /// Of a run with so many `flows`: a send buffer that is not said is no more than its share at first.
    pub fn share(&mut self, flows: usize) {
        let (name, first) = (BUFFERS[1], ALL_AT_FIRST / (flows as u64).max(1));
        for (_, value) in self.host.settings.iter_mut().filter(|(n, value)| n == name && value == LARGE) {
            if first < 1 << 24 {
                *value = format!("4096 {first} 268435456");
            }
        }
    }

    /// Gives its hosts the buffers `bytes` for received and sent data, none being as large as a simulated one, on the kernel of
    /// this `release`.
    pub fn with_buffers(&self, bytes: [Option<u64>; 2], release: &str) -> Wanted {
        let mut host = self.host.clone();
        host.settings.retain(|(name, _)| !BUFFERS.contains(&name.as_str()));
        let of = (u64::from(self.payload), u64::from(self.segment + HEADERS - VERSION_6));
        let received = bytes[0].map(|window| memory::of_window(window, of, release, host.offload));
        for (name, bytes) in BUFFERS.iter().zip([received, bytes[1]]) {
            let value = bytes.map_or(LARGE.to_owned(), |b| format!("4096 {b} {b}"));
            host.settings.push(((*name).to_owned(), value));
        }
        host
    }

    /// Sets option `name`, which is not as in profile linux, as `to` has it.
    fn set(&mut self, name: &str, to: &Config, kernel: &Kernel) -> Result<(), String> {
        let value = to.get(name);
        let flag = |on: bool| u64::from(on).to_string();
        let word = match &value {
            Some(Value::Text(word)) => word.as_str(),
            _ => "",
        };
        let only = |what: &str| Err(format!("the kernel's is {what}, and it has no other; leave it out"));
        let setting = match name {
            "sack" => ("tcp_sack", flag(to.sack)),
            "timestamps" => ("tcp_timestamps", flag(to.timestamps)),
            "recovery" if word == "prr" => return Ok(()),
            "recovery" if word == "newreno" => ("tcp_sack", flag(false)),
            "recovery" => return Err(format!("the kernel has auto, prr and newreno, not {word}; write one of these")),
            "loss_detection" => ("tcp_recovery", flag(word == "rack")),
            "tlp" => ("tcp_early_retrans", if to.tlp { "3".into() } else { "0".into() }),
            "frto" => ("tcp_frto", if to.frto { "2".into() } else { "0".into() }),
            "min_rto" => ("tcp_rto_min_us", (to.min_rto.0 / 1000).to_string()),
            "max_rto" if kernel.settings.contains("tcp_rto_max_ms") && !LONGEST.contains(&to.max_rto.0) => {
                return Err(format!(
                    "a kernel's is 1 s to 120 s, not {} s; write one between",
                    to.max_rto.as_secs_f64()
                ));
            }
            "max_rto" => ("tcp_rto_max_ms", (to.max_rto.0 / 1_000_000).to_string()),
            "dupthresh" => ("tcp_reordering", to.dupthresh.to_string()),
            "min_rtt_window" => ("tcp_min_rtt_wlen", (to.min_rtt_window.0 / 1_000_000_000).to_string()),
            "receive_buffer" => {
                self.buffers[0] = Some(to.receive_buffer);
                return Ok(());
            }
            "send_buffer" => {
                self.buffers[1] = Some(to.send_buffer);
                return Ok(());
            }
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
            "delayed_ack" if to.delayed_ack == 1 => {
                self.host.quick_acks = true;
                return Ok(());
            }
            "delayed_ack" => {
                return Err(format!("the kernel has 1 and 2, not {}; write 1, or leave it out", to.delayed_ack));
            }
            "delayed_ack_timeout" | "quick_acks" | "ack_policy" => {
                return Err("the kernel decides by itself how long it delays acknowledgments; leave it out".to_owned());
            }
            "pacing" if word == "window" => {
                self.paced = true;
                return Ok(());
            }
            "pacing" if self.controller.as_deref() == Some("bbr") => {
                return Err("the kernel's 'bbr1' is always paced; leave it out".to_owned());
            }
            // None of its other controllers asks for it.
            "pacing" => return Ok(()),
            "prr" | "rto" | "window_unit" | "nagle_rule" | "app_limited" => return only("linux's"),
            "handshake" => return Err("no kernel does without a handshake; leave it out".to_owned()),
            _ => return Err("a kernel has no such option; leave it out".to_owned()),
        };
        let full = format!("ipv4.{}", setting.0);
        if !kernel.settings.contains(setting.0) {
            return Err(format!("this kernel ({}) has no net.{full} for it; leave it out", kernel.kernel));
        }
        self.host.settings.retain(|(known, _)| *known != full);
        self.host.settings.push((full, setting.1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Kernel {
        let has = ["tcp_sack", "tcp_timestamps", "tcp_ecn", "tcp_frto", "tcp_recovery"];
        Kernel {
            kernel: "6.12".to_owned(),
            controllers: vec!["reno".to_owned(), "cubic".to_owned(), "bbr".to_owned()],
            settings: has.map(str::to_owned).into(),
            parameters: [("tcp_cubic.beta".to_owned(), "717".to_owned())].into(),
            ..Kernel::default()
        }
    }

    fn for_kernel(cc: &str, more: &str, kernel: &Kernel) -> Result<Options, String> {
        let flow = format!(
            r#"{{"id": "0", "forward": [], "reverse": [], "start": {{"at_ns": 0}}, "app": {{"kind": "bulk"}},
            "mss": 1448, "profile": "linux", "cc": {cc}{more}}}"#
        );
        let flow: Flow = serde_json::from_str(&flow).unwrap();
        Options::of(&flow, "flows.0", kernel).map_err(|e| e.to_string())
    }

    fn options(more: &str) -> Result<Options, String> {
        for_kernel(r#"{"name": "reno"}"#, more, &kernel())
    }

    #[test]
    fn what_a_kernel_has_is_set() {
        let plain = options("").unwrap();
        assert_eq!((plain.segment, plain.host.mtu, plain.controller.as_deref()), (1460, 1520, Some("reno")));
        let set = options(r#", "tcp": {"sack": false, "iw": 4, "notsent_lowat": 4096}"#).unwrap();
        assert!(set.host.settings.contains(&("ipv4.tcp_sack".to_owned(), "0".to_owned())));
        assert_eq!((set.unsent_low_water, set.host.settings.len(), set.host.initial_window), (4096, 3, Some(4)));
        assert_eq!(options(r#", "tcp": {"timestamps": false}"#).unwrap().segment, 1448);
        assert_eq!(options(r#", "tcp": {"mtu": 9000}"#).unwrap().host.mtu, 9000);
        assert_eq!(options(r#", "tcp": {"send_buffer": 65536}"#).unwrap().buffers, [None, Some(65_536)]);
        let newer = Kernel { settings: ["tcp_rto_max_ms".to_owned()].into(), ..kernel() };
        let reno = |more: &str| for_kernel(r#"{"name": "reno"}"#, more, &newer);
        let set = reno(r#", "tcp": {"max_rto": 60000000000}"#).unwrap();
        assert!(set.host.settings.contains(&("ipv4.tcp_rto_max_ms".to_owned(), "60000".to_owned())));
        let said = reno(r#", "tcp": {"max_rto": 500000000}"#).unwrap_err();
        assert_eq!(said, "flows.0.tcp.max_rto: a kernel's is 1 s to 120 s, not 0.5 s; write one between");
    }

    #[test]
    fn what_it_has_not_is_refused_by_its_name() {
        let cases = [
            (r#", "tcp": {"delayed_ack": 4}"#, "flows.0.tcp.delayed_ack: the kernel has 1 and 2, not 4"),
            (r#", "tcp": {"quick_acks": 3}"#, "flows.0.tcp.quick_acks: the kernel decides"),
            (
                r#", "tcp": {"min_rto": 100000000}"#,
                "flows.0.tcp.min_rto: this kernel (6.12) has no net.ipv4.tcp_rto_min_us",
            ),
            (
                r#", "tcp": {"recovery": "tahoe"}"#,
                "flows.0.tcp.recovery: the kernel has auto, prr and newreno, not tahoe",
            ),
            (
                r#", "tcp": {"mtu": 1499}"#,
                "flows.0.mss: a full segment is a packet of 1500 bytes, above the MTU of 1499",
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
        let said = |cc: &str, loadable: Option<&[&str]>| {
            let loadable = loadable.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            for_kernel(&format!(r#"{{"name": "{cc}"}}"#), "", &Kernel { loadable, ..kernel() }).unwrap_err()
        };
        let here = |name: &str| {
            format!("flows.0.cc: the kernel here (6.12) has no controller '{name}', but reno, cubic, bbr1; ")
        };
        let sim = "Linux has none of this name, so choose one of these, or engine sim";
        assert_eq!(said("copa", None), here("copa") + sim);
        assert_eq!(
            said("westwood+", Some(&["westwood"])),
            here("westwood+") + "load its module: modprobe tcp_westwood"
        );
        let namesake =
            "flows.0.cc: Linux's module westwood is not 'westwood', but 'westwood+'; write westwood+, or engine sim";
        assert_eq!(said("westwood", Some(&["westwood"])), namesake);
        let none = "choose one of these, for this kernel has no module tcp_vegas to load";
        assert_eq!(said("vegas", Some(&["htcp"])), here("vegas") + none);
        assert!(said("vegas", None).ends_with("or load its module, where there is one: modprobe tcp_vegas"));
    }

    #[test]
    fn controllers_are_called_as_scenarios_call_them() {
        let controllers = ["reno", "bbr", "lp", "westwood", "nv", "cdg", "yeah"].map(str::to_owned).to_vec();
        let said = for_kernel(r#"{"name": "copa"}"#, "", &Kernel { controllers, ..kernel() }).unwrap_err();
        assert!(said.contains("has no controller 'copa', but reno, bbr1, westwood+, yeah; "), "{said}");
        let said = for_kernel(r#"{"name": "bbr1", "params": {"gain": 2.0}}"#, "", &kernel()).unwrap_err();
        assert_eq!(said, "flows.0.cc.params.gain: the kernel's 'bbr1' has no such parameter; leave it out");
    }

    #[test]
    fn parameters_that_all_connections_share_are_set_only_in_a_kernel_of_ones_own() {
        let (beta, half) =
            (r#"{"name": "cubic", "params": {"beta": 0.7}}"#, r#"{"name": "cubic", "params": {"beta": 0.5}}"#);
        assert_eq!(for_kernel(beta, "", &kernel()).unwrap().parameters, [], "it is so already");
        let said = for_kernel(half, "", &kernel()).unwrap_err();
        let problem =
            "flows.0.cc.params.beta: tcp_cubic.beta of the kernel here is 717, not 512, for all connections of";
        assert!(
            said.starts_with(problem) && said.ends_with("echo 512 > /sys/module/tcp_cubic/parameters/beta"),
            "{said}"
        );
        let own = Kernel { own: true, ..kernel() };
        let set = for_kernel(half, "", &own).unwrap().parameters;
        assert_eq!(set, [("tcp_cubic.beta".to_owned(), "512".to_owned())]);
        let scale = [("tcp_cubic.bic_scale".to_owned(), "41".to_owned())].into();
        let started = Kernel { parameters: scale, ..own.clone() };
        let c = |c: f64| format!(r#"{{"name": "cubic", "params": {{"c": {c}}}}}"#);
        assert_eq!(for_kernel(&c(0.4), "", &started).unwrap().parameters, [], "40.96 is 41 there");
        let said = for_kernel(&c(0.8), "", &started).unwrap_err();
        assert!(said.ends_with("or start the kernel with tcp_cubic.bic_scale=82"), "{said}");
        let none = r#"{"name": "reno", "params": {"beta": 0.7}}"#;
        let said = for_kernel(none, "", &own).unwrap_err();
        assert_eq!(said, "flows.0.cc.params.beta: the kernel's 'reno' has no such parameter; leave it out");
    }

    #[test]
    fn acknowledgments_and_pacing_are_the_kernels_where_it_has_a_choice() {
        assert!(options(r#", "tcp": {"delayed_ack": 1}"#).unwrap().host.quick_acks);
        assert!(options(r#", "tcp": {"pacing": "window"}"#).unwrap().paced);
        assert!(!options(r#", "tcp": {"pacing": "off"}"#).unwrap().paced);
        let said = for_kernel(r#"{"name": "bbr1"}"#, r#", "tcp": {"pacing": "off"}"#, &kernel()).unwrap_err();
        assert_eq!(said, "flows.0.tcp.pacing: the kernel's 'bbr1' is always paced; leave it out");
    }
}
