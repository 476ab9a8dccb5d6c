//! TUN devices: what a host sends is read, what is written it receives. Packets begin with the IP header.

use ackclock_core::packet::Address;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, SocketAddr};
use std::thread::sleep;
use std::time::Duration;

/// The name of the device in every host.
pub const NAME: &str = "path0";
/// That of the second one of a host between two ways.
pub const SECOND: &str = "path1";
/// How often an address is tried, and how long is waited between.
const TRIES: usize = 2000;
/// See [`TRIES`].
const WAIT: Duration = Duration::from_millis(1);

/// The path's end of a device.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    /// The host leaves segmentation and checksums to the path: before each packet stands what is to be done with it.
    pub offload: bool,
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Gives the calling thread's network a device called `name`, with segmentation `offload` or without.
///
/// # Errors
/// There is no `/dev/net/tun`, or it must not be used.
pub fn open_device(name: &str, offload: bool) -> io::Result<Device> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = open("/dev/net/tun", flags, Mode::empty())?;
    let mut request = named(name);
    let kind = libc::IFF_TUN | libc::IFF_NO_PI | if offload { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = kind as i16;
    control(&fd, libc::TUNSETIFF, &mut request)?;
    if offload {
        let all = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // SAFETY: the descriptor is open; this request takes a number, no pointer.
        if unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(all)) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Device { fd, offload })
}

/// Gives the device `name` of the calling thread's network `address` and packets of at most `mtu` bytes, and takes it and the loopback
/// up. All addresses of [`Address::of_host`] are behind it. Its index.
///
/// # Errors
/// The system does not take one of these.
pub fn configure(name: &str, address: Address, mtu: u32) -> io::Result<u32> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    up(&socket, "lo")?;
    let mut request = named(name);
    request.ifr_ifru.ifru_mtu = mtu as i32;
    control(&socket, libc::SIOCSIFMTU as libc::Ioctl, &mut request)?;
    control(&socket, libc::SIOCGIFINDEX as libc::Ioctl, &mut request)?;
    // SAFETY: the call has written the index, an int, into the union.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    up(&socket, name)?;
    match address {
        Address::V4(octets) => {
            request.ifr_ifru.ifru_addr = v4(octets);
            control(&socket, libc::SIOCSIFADDR as libc::Ioctl, &mut request)?;
            request.ifr_ifru.ifru_netmask = v4([255, 0, 0, 0]);
            control(&socket, libc::SIOCSIFNETMASK as libc::Ioctl, &mut request)?;
        }
        Address::V6(octets) => {
            let v6 = socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
            let address = libc::in6_addr { s6_addr: octets };
            let mut request = libc::in6_ifreq { ifr6_addr: address, ifr6_prefixlen: 8, ifr6_ifindex: index };
            control(&v6, libc::SIOCSIFADDR as libc::Ioctl, &mut request)?;
            await_address(&v6, octets)?;
        }
    }
    Ok(index as u32)
}

/// Waits until an address can be used: the kernel looks at new ones a little later, even where nobody else can have them.
fn await_address(socket: &OwnedFd, octets: [u8; 16]) -> io::Result<()> {
    let address = SocketAddr::new(IpAddr::from(octets), 0);
    for _ in 0..TRIES {
        match bind(socket, &address) {
            Err(Errno::ADDRNOTAVAIL) => sleep(WAIT),
            other => return Ok(other?),
        }
    }
    Err(Errno::ADDRNOTAVAIL.into())
}

fn up(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let mut request = named(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    control(socket, libc::SIOCSIFFLAGS as libc::Ioctl, &mut request)
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: an ifreq is integers and unions of such, for which zeros are values.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

fn v4(octets: [u8; 4]) -> libc::sockaddr {
    // SAFETY: a sockaddr is integers, for which zeros are values.
    let mut address: libc::sockaddr = unsafe { zeroed() };
    address.sa_family = libc::AF_INET as libc::sa_family_t;
    // Behind the port of two bytes.
    for (to, from) in address.sa_data[2..6].iter_mut().zip(octets) {
        *to = from as libc::c_char;
    }
    address
}

/// Requests of this file read and write one ifreq or in6_ifreq.
trait Request {}
impl Request for libc::ifreq {}
impl Request for libc::in6_ifreq {}

fn control(fd: &impl AsFd, what: libc::Ioctl, request: &mut impl Request) -> io::Result<()> {
    // SAFETY: the descriptor is open, and `request` is the whole structure, borrowed for the call, that the requests used here
    // take: an in6_ifreq for addresses on a socket of IPv6, an ifreq for all others.
    match unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), what, request) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
