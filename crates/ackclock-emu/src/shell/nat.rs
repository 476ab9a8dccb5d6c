//! The way out of a shell: from the server's end into the network from which the shell was started.
//!
//! What comes from behind the path leaves the server's host with an address of its own there, and what goes on from that network
//! leaves it with that network's address. Nothing of this outlives the process: the devices go with the server's host, and what
//! hides addresses with the socket by which it was made.

use super::ends::Ends;
use super::wanted::End;
use crate::sys::namespace::Namespace;
use crate::sys::process::Right;
use crate::sys::way_out::{INSIDE, Side, address, hide, pair, towards};
use rustix::fd::OwnedFd;
use std::fs;

/// What keeps it open.
#[derive(Debug)]
pub struct WayOut {
    hidden: Vec<OwnedFd>,
}

impl WayOut {
    /// It is not needed any more.
    pub fn close(self) {
        drop(self.hidden);
    }
}

/// Networks between server and outside: one of 8192, by the number of the process, so that shells beside each other have
/// different ones.
fn networks(process: u32) -> [Vec<u8>; 2] {
    let [_, _, high, low] = process.to_be_bytes();
    [vec![100, 96 + (high & 31), low], vec![0xfd, 0x65, 0, 0, 0, high, low, 0]]
}

/// The address of an end in such a network: 1 outside, 2 inside.
fn side(network: &[u8], own: u8) -> Side {
    let length = if network.len() == 3 { 4 } else { 16 };
    let host = |number: u8| {
        let mut octets = network.to_vec();
        octets.resize(length, 0);
        octets[length - 1] = number;
        octets
    };
    Side { own: host(own), other: host(3 - own), bits: 8 * network.len() as u8 }
}

/// Whether it can be had of the network that the calling thread is in, with the rights that there are.
///
/// # Errors
/// Why not, and what to do.
pub fn allowed(right: Right) -> Result<(), String> {
    refused(right, forwards("ipv4/ip_forward")).map_or(Ok(()), |why| Err(why.to_owned()))
}

fn refused(right: Right, forwards: bool) -> Option<&'static str> {
    match (right, forwards) {
        (Right::UserNamespace, _) => {
            Some("--nat: who is not root may not change the network around the shell; run it as root")
        }
        (Right::Own, false) => {
            Some("--nat: this system does not forward packets; allow it: sysctl -w net.ipv4.ip_forward=1")
        }
        (Right::Own, true) => None,
    }
}

/// Whether packets are forwarded where the calling thread is, by the name of the setting.
fn forwards(name: &str) -> bool {
    fs::read_to_string(format!("/proc/sys/net/{name}")).is_ok_and(|v| v.trim() != "0")
}

/// Opens it from the server of `ends` to `outside`. The calling thread is in the server's network afterwards.
///
/// # Errors
/// Why it cannot be had, and what to do.
pub fn open(level: u8, ends: &Ends, outside: &Namespace) -> Result<WayOut, String> {
    let failed = |what: &'static str| move |e| format!("--nat: {what}: {e}");
    let server = &ends.namespaces[End::Server.place()];
    outside.enter().map_err(failed("the network around the shell"))?;
    let process = std::process::id();
    let index = (1 << 24) + process % (1 << 24);
    pair(&format!("ack{}", process % 10_000_000), index, server).map_err(failed("a pair of devices"))?;
    let mut all = networks(process).into_iter().zip([false, true]).collect::<Vec<_>>();
    all.retain(|(_, version_6)| !version_6 || (ends.version_6 && forwards("ipv6/conf/all/forwarding")));
    let mut hidden = Vec::new();
    for (network, version_6) in &all {
        address(Some(index), &side(network, 1)).map_err(failed("an address"))?;
        hidden.push(hide(*version_6, network).map_err(failed("nf_tables"))?);
    }
    server.enter().map_err(failed("the server's network"))?;
    for (network, version_6) in &all {
        address(None, &side(network, 2)).map_err(failed("an address"))?;
        // Of the networks of shells this one is behind the path, and all others are outside.
        let (shells, own): (&[u8], &[u8]) = match *version_6 {
            true => (&[0xfd, 0x64], &[0xfd, 0x64, 0, 0, 0, level]),
            false => (&[100, 64], &[100, 64, level]),
        };
        let gateway = side(network, 1).own;
        let routed = towards(shells, Some(&gateway), INSIDE, *version_6);
        routed.and_then(|()| towards(own, None, ends.server, *version_6)).map_err(failed("a route"))?;
        hidden.push(hide(*version_6, shells).map_err(failed("nf_tables"))?);
    }
    Ok(WayOut { hidden })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_said_with_what_to_do() {
        for (right, forwards, remedy) in [
            (Right::UserNamespace, true, Some("; run it as root")),
            (Right::UserNamespace, false, Some("; run it as root")),
            (Right::Own, false, Some("; allow it: sysctl -w net.ipv4.ip_forward=1")),
            (Right::Own, true, None),
        ] {
            let said = refused(right, forwards);
            assert_eq!(said.is_some(), remedy.is_some());
            assert!(
                said.zip(remedy).is_none_or(|(said, remedy)| said.starts_with("--nat: ") && said.ends_with(remedy))
            );
        }
    }

    #[test]
    fn every_process_has_a_network() {
        let [v4, v6] = networks(0x12_34_56);
        assert_eq!((v4.as_slice(), v6.as_slice()), (&[100, 116, 0x56][..], &[0xfd, 0x65, 0, 0, 0, 0x34, 0x56, 0][..]));
        let four = side(&v4, 2);
        assert_eq!((four.own, four.other, four.bits), (vec![100, 116, 0x56, 2], vec![100, 116, 0x56, 1], 24));
        assert_eq!((side(&v6, 1).own.len(), side(&v6, 1).bits, side(&v6, 1).own[15]), (16, 64, 1));
    }
}
