//! Who may connect, and how often at a time.

use crate::cidr::Cidr;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The clients that are there.
#[derive(Debug)]
pub struct Clients {
    /// Empty: whoever can say who it is, or, without credentials, this computer.
    allowed: Vec<Cidr>,
    known: bool,
    most: usize,
    there: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection's place among those of its client. Dropped, it is free.
#[derive(Debug)]
pub struct Place {
    clients: Arc<Clients>,
    client: IpAddr,
}

/// Who is one client: an address of IPv4, and all that share the first 64 bits of one of IPv6, as whoever has a line with that has
/// all of them (RFC 6177).
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(whole) => IpAddr::V6(Ipv6Addr::from_bits(whole.to_bits() & (u128::MAX << 64))),
        whole => whole,
    }
}

impl Clients {
    /// Those of `allowed`, or if `known` whoever says who it is, each at most `most` times.
    pub fn new(allowed: Vec<Cidr>, known: bool, most: usize) -> Clients {
        Clients { allowed, known, most, there: Mutex::new(HashMap::new()) }
    }

    /// Whether `address` may connect.
    pub fn may(&self, address: IpAddr) -> bool {
        if self.allowed.is_empty() {
            return self.known || address.to_canonical().is_loopback();
        }
        self.allowed.iter().any(|range| range.contains(address))
    }

    fn there(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for `address`, if it has one left.
    pub fn place(self: &Arc<Clients>, address: IpAddr) -> Option<Place> {
        let client = client(address);
        let mut there = self.there();
        let count = there.entry(client).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Place { clients: Arc::clone(self), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut there = self.clients.there();
        if let Some(count) = there.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                there.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_places_and_gives_them_back() {
        let clients = Arc::new(Clients::new(Vec::new(), false, 2));
        let here: IpAddr = "127.0.0.1".parse().unwrap();
        let first = clients.place(here).unwrap();
        let _second = clients.place("::ffff:127.0.0.1".parse().unwrap()).unwrap();
        assert!(clients.place(here).is_none());
        let _other = clients.place("127.0.0.2".parse().unwrap()).unwrap();
        drop(first);
        assert!(clients.place(here).is_some());
        assert_eq!(clients.there().len(), 2);
    }

    #[test]
    fn the_addresses_of_one_line_are_one_client() {
        let clients = Arc::new(Clients::new(Vec::new(), true, 2));
        let place = |text: &str| clients.place(text.parse().unwrap());
        let (first, second) = (place("2001:db8:0:1::1").unwrap(), place("2001:db8:0:1:ffff:ffff:ffff:ffff").unwrap());
        assert!(place("2001:db8:0:1::2").is_none());
        let other = place("2001:db8:0:2::1").unwrap();
        drop(first);
        assert!(place("2001:db8:0:1::2").is_some());
        drop((second, other));
        assert!(clients.there().is_empty());
    }

    #[test]
    fn who_is_not_allowed_is_not() {
        let of = |allowed: &[&str], known, address: &str| {
            let ranges = allowed.iter().map(|text| text.parse().unwrap()).collect();
            Clients::new(ranges, known, 1).may(address.parse().unwrap())
        };
        assert!(of(&[], false, "127.0.0.1") && of(&[], false, "::1") && !of(&[], false, "192.0.2.1"));
        assert!(of(&[], true, "192.0.2.1"));
        assert!(of(&["192.0.2.0/24"], false, "192.0.2.1") && of(&["192.0.2.0/24"], false, "::ffff:192.0.2.1"));
        assert!(!of(&["192.0.2.0/24"], true, "198.51.100.1") && !of(&["192.0.2.0/24"], false, "127.0.0.1"));
    }
}
