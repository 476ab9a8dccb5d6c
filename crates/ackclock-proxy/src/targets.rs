//! Where clients may go: names resolved once, and addresses that are refused.

use crate::cidr::{Cidr, special};
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::lookup_host;

/// Why there is nowhere to go.
#[derive(Debug)]
pub enum Nowhere {
    /// The name is not known.
    Unknown(io::Error),
    /// The address is none that clients may go to.
    Forbidden(String),
}

/// The addresses of `host`, those that may be connected to. They are what is connected to: no name is looked up again.
///
/// # Errors
/// There are none.
pub async fn resolve(host: &str, port: u16, allowed: &[Cidr]) -> Result<Vec<SocketAddr>, Nowhere> {
    let found: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => lookup_host((host, port)).await.map_err(Nowhere::Unknown)?.collect(),
    };
    let mut why = None;
    let good: Vec<SocketAddr> = found
        .into_iter()
        .map(|of| SocketAddr::new(of.ip().to_canonical(), of.port()))
        .filter(|of| match refusal(of.ip(), allowed) {
            None => true,
            Some(reason) => {
                why = Some(format!("{} is {reason}", of.ip()));
                false
            }
        })
        .collect();
    match (good.is_empty(), why) {
        (false, _) => Ok(good),
        (true, Some(why)) => Err(Nowhere::Forbidden(why)),
        (true, None) => Err(Nowhere::Unknown(io::Error::new(io::ErrorKind::NotFound, "it has no address"))),
    }
}

/// Why nobody may go to `address`, if so.
pub fn refusal(address: IpAddr, allowed: &[Cidr]) -> Option<&'static str> {
    special(address).filter(|_| !allowed.iter().any(|range| range.contains(address)))
}

/// The addresses of the one server that there is.
///
/// # Errors
/// It has none.
pub async fn fixed(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_this_computer_is_refused_like_its_address() {
        for host in ["localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1", "127.1", "2130706433"] {
            match resolve(host, 80, &[]).await {
                Err(Nowhere::Forbidden(why)) => assert!(why.ends_with("is loopback"), "{host}: {why}"),
                // Not every resolver takes numbers for addresses.
                Err(Nowhere::Unknown(_)) => assert!(host == "127.1" || host == "2130706433", "{host}"),
                Ok(found) => panic!("{host}: {found:?}"),
            }
        }
    }

    #[tokio::test]
    async fn what_is_allowed_is_allowed_and_nothing_else() {
        let allowed = ["127.0.0.0/8".parse().unwrap()];
        let found = resolve("127.0.0.1", 80, &allowed).await.unwrap();
        assert_eq!(found, ["127.0.0.1:80".parse().unwrap()]);
        let found = resolve("::ffff:127.0.0.1", 80, &allowed).await.unwrap();
        assert_eq!(found, ["127.0.0.1:80".parse().unwrap()]);
        assert!(matches!(resolve("10.0.0.1", 80, &allowed).await, Err(Nowhere::Forbidden(_))));
        assert!(matches!(resolve("::1", 80, &allowed).await, Err(Nowhere::Forbidden(_))));
    }
}
