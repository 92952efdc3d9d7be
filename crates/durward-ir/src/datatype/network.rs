//! `ipAddress` and `dnsName`: network addresses with an optional range of ports (XACML 3.0, A.2).

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use smol_str::SmolStr;

use crate::datatype::Reason;

/// A range of ports, both ends included: `n`, `-n`, `n-` or `a-b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRange {
    /// The lowest port; 0 when the range is open below.
    pub low: u16,
    /// The highest port; 65535 when the range is open above.
    pub high: u16,
}

impl PortRange {
    const ALL: PortRange = PortRange { low: 0, high: u16::MAX };

    fn parse(text: &str) -> Result<PortRange, Reason> {
        const BROKEN: Reason = "ports are written `80`, `-80`, `80-` or `80-90`, at most 65535";
        let range = match text.split_once('-') {
            None => parse_port(text).map(|port| PortRange { low: port, high: port }),
            Some(("", high)) => parse_port(high).map(|high| PortRange { low: 0, high }),
            Some((low, "")) => parse_port(low).map(|low| PortRange { low, high: u16::MAX }),
            Some((low, high)) => {
                parse_port(low).zip(parse_port(high)).map(|(low, high)| PortRange { low, high })
            }
        };
        match range {
            Some(range) if range.low <= range.high => Ok(range),
            Some(_) => Err("the first port of a range is not after the last"),
            None => Err(BROKEN),
        }
    }
}

fn parse_port(text: &str) -> Option<u16> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Splits `rest` of `:` and a range; both may be missing, and the range alone too.
fn parse_ports(rest: &str) -> Result<PortRange, Reason> {
    match rest.strip_prefix(':') {
        Some("") => Ok(PortRange::ALL),
        Some(range) => PortRange::parse(range),
        None if rest.is_empty() => Ok(PortRange::ALL),
        None => Err("only a `:` and a range of ports may follow"),
    }
}

/// `address["/" mask][":" [ports]]`; an IPv6 address and its mask stand in square brackets.
///
/// Equal when address, mask and ports are, however they were written.
#[derive(Clone, Debug)]
pub struct IpAddress {
    text: SmolStr,
    address: IpAddr,
    mask: Option<IpAddr>,
    ports: PortRange,
}

impl IpAddress {
    pub(crate) fn parse(text: &str) -> Result<IpAddress, Reason> {
        let (address, rest) = parse_address(text)?;
        let (mask, rest) = match rest.strip_prefix('/') {
            Some(rest) => parse_address(rest)
                .map(|(mask, rest)| (Some(mask), rest))
                .map_err(|_| "the mask is written as an address, such as `/255.255.255.0` or `/[ffff::]`")?,
            None => (None, rest),
        };
        if mask.is_some_and(|mask| mask.is_ipv4() != address.is_ipv4()) {
            return Err("address and mask are of different families");
        }
        Ok(IpAddress { text: text.into(), address, mask, ports: parse_ports(rest)? })
    }

    /// The address as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address alone.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The mask, if one is given. Any bits: the standard does not ask for a prefix.
    pub fn mask(&self) -> Option<IpAddr> {
        self.mask
    }

    /// The ports; all of them when none are given.
    pub fn ports(&self) -> PortRange {
        self.ports
    }

    fn key(&self) -> (IpAddr, Option<IpAddr>, PortRange) {
        (self.address, self.mask, self.ports)
    }
}

/// The address at the beginning of a text, and what follows it.
fn parse_address(text: &str) -> Result<(IpAddr, &str), Reason> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, rest) = rest.split_once(']').ok_or("the `[` of an IPv6 address is not closed")?;
        let address: Ipv6Addr = inside.parse().map_err(|_| "between `[` and `]` stands no IPv6 address")?;
        return Ok((address.into(), rest));
    }
    let end = text.find(['/', ':']).unwrap_or(text.len());
    let (address, rest) = text.split_at_checked(end).unwrap_or_default();
    let address: Ipv4Addr =
        address.parse().map_err(|_| "an address is written such as `10.0.0.1` or `[2001:db8::1]`")?;
    Ok((address.into(), rest))
}

/// `hostname[":" ports]`; the leftmost label may be `*` for every name below the rest.
///
/// Equal when the names are without regard to case and the ports are.
#[derive(Clone, Debug)]
pub struct DnsName {
    text: SmolStr,
    host_length: usize,
    ports: PortRange,
}

impl DnsName {
    pub(crate) fn parse(text: &str) -> Result<DnsName, Reason> {
        let host_length = text.find(':').unwrap_or(text.len());
        let (host, rest) = text.split_at_checked(host_length).unwrap_or_default();
        if !is_host_name(host.strip_prefix("*.").unwrap_or(host)) {
            return Err("it is no host name");
        }
        let ports = match rest {
            ":" => return Err("a range of ports must follow the `:`"),
            _ => parse_ports(rest)?,
        };
        Ok(DnsName { text: text.into(), host_length, ports })
    }

    /// The name as written, ports included.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host alone, as written.
    pub fn host(&self) -> &str {
        self.text.get(..self.host_length).unwrap_or_default()
    }

    /// The ports; all of them when none are given.
    pub fn ports(&self) -> PortRange {
        self.ports
    }
}

/// RFC 2396, section 3.2.2: labels of letters, digits and inner hyphens, the last beginning with a letter, and
/// perhaps a final dot.
fn is_host_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let top = name.rsplit('.').next().unwrap_or_default();
    name.split('.').all(is_label) && top.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl PartialEq for IpAddress {
    fn eq(&self, other: &IpAddress) -> bool {
        self.key() == other.key()
    }
}

impl Eq for IpAddress {}

impl Hash for IpAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialEq for DnsName {
    fn eq(&self, other: &DnsName) -> bool {
        self.host().eq_ignore_ascii_case(other.host()) && self.ports == other.ports
    }
}

impl Eq for DnsName {}

impl Hash for DnsName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.host().to_ascii_lowercase().hash(state);
        self.ports.hash(state);
    }
}
