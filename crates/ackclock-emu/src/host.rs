//! A host: a network namespace with a device, of which the path holds the other end.

use crate::sys::counters::{Counters, device_drops, tcp};
use crate::sys::namespace::Namespace;
use crate::sys::netlink::Metric;
use crate::sys::tun::Device;
use crate::sys::{netlink, settings, tun};
use ackclock_core::packet::Address;
use std::io;
use std::sync::Arc;

/// A host, as who is at this address sees it: one between two ways has two.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its network.
    pub namespace: Arc<Namespace>,
    /// Its address.
    pub address: Address,
    /// The name of the device that has the address, and its number.
    device: (&'static str, u32),
}

/// Packets that wait in a device to be read, as in a network card with a long ring.
const QUEUE: u32 = 10_000;

/// How a host is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The largest IP packet that it sends.
    pub mtu: u32,
    /// Names of settings below `net` and their values, besides those that every host has.
    pub settings: Vec<(String, String)>,
    /// It leaves segmentation to the path (TSO), as to a network card.
    pub offload: bool,
    /// Segments of the window that its connections begin with; none: as the kernel has it.
    pub initial_window: Option<u32>,
    /// It acknowledges every segment at once.
    pub quick_acks: bool,
}

impl Wanted {
    /// What its routes say of connections.
    fn metrics(&self) -> Vec<Metric> {
        let quick = self.quick_acks.then_some(Metric::QuickAcks);
        self.initial_window.map(Metric::InitialWindow).into_iter().chain(quick).collect()
    }
}

/// What every host of a run has, whatever the scenario says, and why.
const ALWAYS: [(&str, &str); 3] = [
    // No connection knows of those before it.
    ("ipv4.tcp_no_metrics_save", "1"),
    ("ipv4.conf.all.rp_filter", "0"),
    ("ipv4.conf.default.rp_filter", "0"),
];

/// What hosts of version 6 have besides: addresses that can be used at once, and silence.
const VERSION_6: [(&str, &str); 4] = [
    ("ipv6.conf.default.disable_ipv6", "0"),
    ("ipv6.conf.default.accept_dad", "0"),
    ("ipv6.conf.default.dad_transmits", "0"),
    ("ipv6.conf.default.router_solicitations", "0"),
];

impl Host {
    /// Makes one with `address`, set up as `wanted` says. The calling thread is in its network afterwards. Returns its device,
    /// too.
    ///
    /// # Errors
    /// What the system does not do, in words.
    pub fn new(address: Address, wanted: &Wanted) -> Result<(Host, Device), String> {
        let cannot = |what: &str, e: &io::Error| format!("{what}: {e}");
        let namespace = Namespace::new().map_err(|e| cannot("a network namespace cannot be made", &e))?;
        for (name, value) in ALWAYS {
            settings::set(name, value)?;
        }
        if matches!(address, Address::V6(_)) {
            for (name, value) in VERSION_6 {
                settings::set(name, value)?;
            }
        } else if settings::has("ipv6.conf.default.disable_ipv6") {
            // A host of version 4 would send its solicitations into the path.
            settings::set("ipv6.conf.default.disable_ipv6", "1")?;
        }
        for (name, value) in &wanted.settings {
            settings::set(name, value)?;
        }
        let (device, index) = furnish(tun::NAME, address, wanted)?;
        Ok((Host { namespace: Arc::new(namespace), address, device: (tun::NAME, index) }, device))
    }

    /// What is for `far` leaves by the device of this address.
    ///
    /// # Errors
    /// What the system does not do, in words.
    pub fn leads_to(&self, far: Address, wanted: &Wanted) -> Result<(), String> {
        let fault = |e: io::Error| format!("{} cannot be led to {far}: {e}", self.address);
        self.namespace.enter().map_err(fault)?;
        netlink::towards(self.device.1, far, &wanted.metrics()).map_err(fault)
    }

    /// The same host with another address at a second way, set up as `wanted` says, whose settings are the host's already.
    /// Returns that device, too.
    ///
    /// # Errors
    /// What the system does not do, in words.
    pub fn second(&self, address: Address, wanted: &Wanted) -> Result<(Host, Device), String> {
        self.namespace.enter().map_err(|e| format!("the network of {} cannot be entered: {e}", self.address))?;
        let (device, index) = furnish(tun::SECOND, address, wanted)?;
        Ok((Host { namespace: Arc::clone(&self.namespace), address, device: (tun::SECOND, index) }, device))
    }

    /// What its kernel has counted of TCP, and packets that were lost in its device because nobody read them.
    ///
    /// # Errors
    /// The calling thread cannot visit it.
    pub fn counters(&self) -> io::Result<(Counters, u64)> {
        self.namespace.enter()?;
        Ok((tcp(), device_drops(self.device.0)))
    }
}

/// Gives the calling thread's network a device called `name` with `address`. Its number, too.
fn furnish(name: &str, address: Address, wanted: &Wanted) -> Result<(Device, u32), String> {
    let cannot = |what: &str, e: &io::Error| format!("{what}: {e}");
    let device = tun::open_device(name, wanted.offload).map_err(|e| cannot("/dev/net/tun cannot be used", &e))?;
    let fault = |e: io::Error| cannot(&format!("the device of {address} cannot be set up"), &e);
    let index = tun::configure(name, address, wanted.mtu).map_err(fault)?;
    // Without offload the kernel makes packets one by one, of which queues count each.
    netlink::device(index, (!wanted.offload).then_some(1), QUEUE).map_err(fault)?;
    let metrics = wanted.metrics();
    if !metrics.is_empty() {
        netlink::connections(index, matches!(address, Address::V6(_)), &metrics).map_err(fault)?;
    }
    Ok((device, index))
}
