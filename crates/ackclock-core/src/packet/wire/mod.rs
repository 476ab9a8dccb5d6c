//! The bytes of headers: IP, TCP and UDP, read and written.
//!
//! * [`Ip`]: either version, with extension headers stepped over; [`Ipv4`] and [`Ipv6`] are the headers themselves
//! * [`Tcp`] with [`Options`], [`Udp`]
//! * [`Sum`]: checksums; [`set_ecn`] rewrites a mark in place
//!
//! Reading borrows the bytes, copies no payload, allocates nothing and accepts any input: what is no header is a
//! [`Fault`]. A capture may hold less of a packet than there was, so what is missing at the end is told apart from
//! what contradicts itself. Checksums are written, and checked only by who asks ([`Ip::checksum_holds`]): a host that
//! leaves them to its network card is captured with wrong ones.

mod checksum;
mod ecn;
mod ip;
mod ipv4;
mod ipv6;
mod options;
mod tcp;
mod udp;

pub use checksum::{Sum, updated};
pub use ecn::set_ecn;
pub use ip::{Fragment, Ip};
pub use ipv4::Ipv4;
pub use ipv6::{Extensions, Ipv6};
pub use options::{MOST_OPTION_BYTES, Options, SackList};
pub use tcp::{Tcp, flags};
pub use udp::Udp;

/// Protocol numbers of what IP carries.
pub mod protocol {
    /// IPv4 in IP (RFC 2003).
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IP (RFC 2473, RFC 4213).
    pub const IPV6: u8 = 41;
    /// GRE (RFC 2784).
    pub const GRE: u8 = 47;
}

/// Why bytes are not the header that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They end before the header does.
    Cut,
    /// The version field says something else.
    Version,
    /// The header says of itself that it is shorter than any.
    HeaderLength,
    /// The packet says of itself that it is shorter than its headers.
    TotalLength,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fault::Cut => "the header is cut",
            Fault::Version => "the version is not 4 or 6",
            Fault::HeaderLength => "the header's length is below its least",
            Fault::TotalLength => "the packet's length is below that of its headers",
        })
    }
}

impl super::Ecn {
    /// From the last two bits of a field.
    #[inline]
    pub fn of_bits(bits: u8) -> super::Ecn {
        match bits & 3 {
            0 => super::Ecn::NotEct,
            1 => super::Ecn::Ect1,
            2 => super::Ecn::Ect0,
            _ => super::Ecn::Ce,
        }
    }
}

#[cfg(test)]
mod tests;
