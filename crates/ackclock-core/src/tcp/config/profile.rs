//! The profiles: whose defaults an endpoint and its controller take.

use super::{Config, LossDetection};

/// A named bundle of options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The standards as they stand.
    #[default]
    Rfc,
    /// Linux 6.12.
    Linux,
    /// ns-3's defaults.
    Ns3,
    /// ns-2's defaults of 2005 (ns-2.28).
    Ns2,
}

impl Profile {
    /// Every profile, in the order of the tables.
    pub const ALL: [Profile; 4] = [Profile::Rfc, Profile::Linux, Profile::Ns3, Profile::Ns2];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Rfc => "rfc",
            Profile::Linux => "linux",
            Profile::Ns3 => "ns3",
            Profile::Ns2 => "ns2",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Parameters that controller `cc` gets under this profile unless the scenario sets them.
    pub fn controller_defaults(self, cc: &str) -> &'static [(&'static str, &'static str)] {
        match self {
            Profile::Rfc => &[],
            Profile::Linux => &[("variant", "linux"), ("base", "cwnd")],
            Profile::Ns3 if matches!(cc, "tahoe" | "reno" | "newreno") => {
                &[("variant", "ns3"), ("base", "pipe"), ("counting", "acks")]
            }
            Profile::Ns3 if cc == "scalable" => &[("variant", "ns3"), ("base", "pipe")],
            Profile::Ns3 => &[("variant", "ns3"), ("base", "cwnd")],
            Profile::Ns2 => &[("variant", "ns2"), ("base", "cwnd"), ("counting", "acks"), ("response", "ns2")],
        }
    }

    /// The endpoint options of this profile under controller `cc`, which the scenario then changes.
    ///
    /// In profile `rfc` BBR gets RACK and tail loss probes (RFC 8985): it keeps its rate through losses, so what is sent
    /// again is often lost again, and counting duplicates finds that by a timeout only.
    pub fn options(self, cc: &str) -> Config {
        let mut config = Config::profile(self);
        if self == Profile::Rfc && matches!(cc, "bbr1" | "bbr3") {
            (config.loss_detection, config.tlp) = (LossDetection::Rack, true);
        }
        config
    }

    /// The slow start used when the scenario names none, for controller `cc`.
    pub fn default_slow_start(self, cc: &str) -> &'static str {
        if matches!(self, Profile::Linux | Profile::Ns3) && cc == "cubic" { "hystart" } else { "standard" }
    }

    /// RFC 3465's limit L under this profile; 0 is none.
    pub fn abc_limit(self) -> u64 {
        u64::from(self != Profile::Linux)
    }
}
