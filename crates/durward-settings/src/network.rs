//! Networks, as settings name them: `10.0.0.0/8`, `2001:db8::/32`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Addresses whose first bits are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    /// INVARIANT: at most 32 for IPv4, 128 for IPv6.
    prefix: u8,
}

/// Why a text names no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkParseError {
    /// It is no address, or has a prefix that is none.
    Form(String),
    /// An address has bits behind its prefix: whoever wrote it may mean something else.
    BitsBehindPrefix {
        /// What was written.
        text: String,
        /// How many bits the prefix has.
        prefix: u8,
    },
}

impl fmt::Display for NetworkParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkParseError::Form(text) => {
                write!(f, "`{text}` is no network such as `10.0.0.0/8` or `2001:db8::/32`, and no address")
            }
            NetworkParseError::BitsBehindPrefix { text, prefix } => {
                write!(f, "`{text}` has bits behind its first {prefix}")
            }
        }
    }
}

impl std::error::Error for NetworkParseError {}

impl Network {
    /// Whether an address is in it. An IPv4 address in the clothes of an IPv6 one is an IPv4 address.
    #[inline]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// Whether it is everybody.
    #[inline]
    pub fn is_everybody(&self) -> bool {
        self.prefix == 0
    }
}

impl FromStr for Network {
    type Err = NetworkParseError;

    /// # Errors
    /// It is no address, has a prefix that is none, or bits behind the prefix: whoever wrote these may mean something else.
    fn from_str(text: &str) -> Result<Network, NetworkParseError> {
        let wrong = || NetworkParseError::Form(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= longest).ok_or_else(wrong)?
            }
            Some(_) => return Err(wrong()),
        };
        let behind = match address {
            IpAddr::V4(address) => 32 - address.to_bits().trailing_zeros(),
            IpAddr::V6(address) => 128 - address.to_bits().trailing_zeros(),
        };
        if behind > u32::from(prefix) {
            return Err(NetworkParseError::BitsBehindPrefix { text: text.to_owned(), prefix });
        }
        Ok(Network { address, prefix })
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkParseError;

    fn try_from(text: String) -> Result<Network, NetworkParseError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_the_addresses_that_begin_as_it_does() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("192.0.2.128/25", "192.0.2.255", "192.0.2.127"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::10.0.0.1"),
            ("::1", "::1", "127.0.0.1"),
        ] {
            let network: Network = network.parse().unwrap();
            let contains = |address: &str| network.contains(address.parse().unwrap());
            assert!(contains(inside) && !contains(outside), "{network}");
            assert_eq!(network.to_string().parse(), Ok(network));
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "/",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::/129",
            "x/8",
            "10.0.0.0/8/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
