//! The two hosts of a shell: each has an address of either version, and everything that it sends goes into the path.

use super::wanted::{End, Wanted};
use crate::probe::with_remedy;
use crate::sys::namespace::Namespace;
use crate::sys::tun::Device;
use crate::sys::way_out::towards;
use crate::sys::{netlink, settings, tun};
use ackclock_core::packet::Address;
use rustix::process::getegid;

/// Packets that wait in a device to be read.
const QUEUE: u32 = 10_000;

/// Settings of both, which every kernel has.
const SETTINGS: [(&str, &str); 6] = [
    ("ipv4.tcp_no_metrics_save", "1"),
    ("ipv4.conf.all.rp_filter", "0"),
    ("ipv4.conf.default.rp_filter", "0"),
    // Who is not root may listen wherever root may: nobody else is here.
    ("ipv4.ip_unprivileged_port_start", "0"),
    // A shell in a shell reaches what this one reaches.
    ("ipv4.ip_forward", "1"),
    ("ipv4.conf.all.send_redirects", "0"),
];

/// Those of version 6, where the kernel has it.
const VERSION_6: [(&str, &str); 5] = [
    ("ipv6.conf.default.disable_ipv6", "0"),
    ("ipv6.conf.default.accept_dad", "0"),
    ("ipv6.conf.default.dad_transmits", "0"),
    ("ipv6.conf.default.router_solicitations", "0"),
    ("ipv6.conf.all.forwarding", "1"),
];

/// The hosts of a shell and their devices.
#[derive(Debug)]
pub struct Ends {
    /// Server and client.
    pub namespaces: [Namespace; 2],
    /// Their devices, in the same order.
    pub devices: Vec<Device>,
    /// The number of the server's in its network.
    pub server: u32,
    /// Whether they have version 6, too.
    pub version_6: bool,
    /// The controller that connections there begin with where a program chooses none.
    pub controller: String,
}

/// The addresses of an end in the network of shells of this number: of version 4 out of 100.64.0.0/10 (RFC 6598), of version 6
/// out of fd00::/8 (RFC 4193).
pub fn addresses(level: u8, end: End) -> [Address; 2] {
    let host = end.place() as u8 + 1;
    let mut octets = [0; 16];
    (octets[0], octets[1], octets[5], octets[15]) = (0xfd, 0x64, level, host);
    [Address::V4([100, 64, level, host]), Address::V6(octets)]
}

/// The names of the two ends with their addresses, as `hosts(5)` has them.
pub fn names(level: u8, version_6: bool) -> String {
    let ends = [(End::Server, "server.ackclock"), (End::Client, "client.ackclock")];
    let line = |(end, name)| {
        let [v4, v6] = addresses(level, end);
        let second = if version_6 { format!("{v6} {name}\n") } else { String::new() };
        format!("{v4} {name}\n{second}")
    };
    ends.map(line).concat()
}

impl Ends {
    /// Makes them. The calling thread is in the client's network afterwards.
    ///
    /// # Errors
    /// What the system does not do, in words.
    pub fn new(wanted: &Wanted, offload: bool) -> Result<Ends, String> {
        let (server, first, index) = host(wanted, End::Server, offload)?;
        let (client, second, _) = host(wanted, End::Client, offload)?;
        let version_6 = settings::has("ipv6.conf.default.disable_ipv6");
        let (namespaces, devices, controller) = ([server, client], vec![first, second], settings::controller());
        Ok(Ends { namespaces, devices, server: index, version_6, controller })
    }
}

fn host(wanted: &Wanted, end: End, offload: bool) -> Result<(Namespace, Device, u32), String> {
    let namespace = Namespace::new().map_err(|e| with_remedy(&format!("a network namespace cannot be made: {e}")))?;
    for (name, value) in SETTINGS {
        settings::set(name, value)?;
    }
    // Everybody may ping; where most groups do not exist, those who do.
    let group = getegid().as_raw();
    if settings::set("ipv4.ping_group_range", "0 2147483647").is_err() {
        settings::set("ipv4.ping_group_range", &format!("{group} {group}"))?;
    }
    let version_6 = settings::has("ipv6.conf.default.disable_ipv6");
    for (name, value) in VERSION_6.iter().filter(|_| version_6) {
        settings::set(name, value)?;
    }
    let device =
        tun::open_device(tun::NAME, offload).map_err(|e| with_remedy(&format!("/dev/net/tun cannot be used: {e}")))?;
    let mut number = 0;
    for address in addresses(wanted.level, end).into_iter().take(1 + usize::from(version_6)) {
        let fault = |e| format!("the device of {address} cannot be set up: {e}");
        let index = tun::configure(tun::NAME, address, wanted.mtu).map_err(fault)?;
        number = index;
        netlink::device(index, (!offload).then_some(1), QUEUE).map_err(fault)?;
        towards(&[], None, index, matches!(address, Address::V6(_))).map_err(fault)?;
    }
    Ok((namespace, device, number))
}
