//! IP addresses and blocks of them, as the `IPAddress` library of the Java engine reads and writes them.

use std::fmt;

use crate::jvm;

/// An address, maybe with the length of its network's prefix. With one, and without any bit behind it, it stands for the
/// whole block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) family: Family,
    pub(super) bits: u128,
    pub(super) prefix: Option<u32>,
    /// The zone of a link-local address (`fe80::1%eth0`).
    pub(super) zone: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    /// How many bits its addresses have.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    /// The bits behind a prefix.
    pub(super) const fn host_mask(self, prefix: u32) -> u128 {
        match 1_u128.checked_shl(self.bits().saturating_sub(prefix)) {
            Some(count) => count - 1,
            None => u128::MAX,
        }
    }
}

impl Address {
    /// Reads an address or a block: `10.0.0.0/8`, `10.1/255.0.0.0`, `0x7f.1`, `2001:db8::/32`, `::ffff:10.0.0.1`.
    pub(super) fn read(text: &str) -> Option<Address> {
        let text = jvm::trim(text);
        let (address, network) = match text.split_once('/') {
            Some((address, network)) => (address, Some(network)),
            None => (text, None),
        };
        let (family, bits, zone) = if address.contains(':') {
            let (address, zone) = match address.split_once('%') {
                Some((address, zone)) => (address, Some(zone)),
                None => (address, None),
            };
            (Family::V6, v6(address)?, zone.filter(|zone| !zone.is_empty()).map(str::to_owned))
        } else {
            (Family::V4, v4(address)?, None)
        };
        let plain = Address { family, bits, prefix: None, zone };
        match network {
            None => Some(plain),
            Some(network) => plain.in_network(network),
        }
    }

    /// With the prefix that is written as its length or as a mask. What is left by a mask with gaps is an address alone.
    fn in_network(self, network: &str) -> Option<Address> {
        if network.bytes().all(|byte| byte.is_ascii_digit()) {
            let prefix = network.parse().ok().filter(|prefix| *prefix <= self.family.bits())?;
            return Some(Address { prefix: Some(prefix), ..self });
        }
        let mask = match self.family {
            Family::V4 => v4(network).filter(|_| network.contains('.'))?,
            Family::V6 => v6(network)?,
        };
        let prefix = (0..=self.family.bits())
            .find(|prefix| mask == self.family.host_mask(0) & !self.family.host_mask(*prefix));
        match prefix {
            Some(_) => Some(Address { prefix, ..self }),
            None => Some(Address { bits: self.bits & mask, ..self }),
        }
    }

    /// The block of the address's prefix, or the address alone.
    pub(super) fn block(&self) -> Block {
        let host = self.prefix.map_or(0, |prefix| self.family.host_mask(prefix));
        let lower = self.bits & !host;
        Block { family: self.family, lower, upper: lower | host, zone: self.zone.clone() }
    }

    /// What the address stands for: a block if it has no bit behind its prefix.
    pub(super) fn extent(&self) -> Block {
        let block = self.block();
        if block.lower == self.bits { block } else { Block { lower: self.bits, upper: self.bits, ..block } }
    }
}

/// All addresses from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) family: Family,
    pub(super) lower: u128,
    pub(super) upper: u128,
    pub(super) zone: Option<String>,
}

impl Block {
    /// Whether all of the other is in this one. Zones do not count.
    pub(super) fn contains(&self, other: &Block) -> bool {
        self.family == other.family && self.lower <= other.lower && other.upper <= self.upper
    }

    /// The same addresses in this family: those of IPv4 are mapped into IPv6 (`::ffff:10.0.0.1`), and back.
    pub(super) fn in_family(self, family: Family) -> Option<Block> {
        const MAPPED: u128 = 0xffff << 32;
        let (lower, upper) = match (self.family, family) {
            (Family::V4, Family::V6) => (self.lower | MAPPED, self.upper | MAPPED),
            (Family::V6, Family::V4) => {
                let mapped = self.lower >> 32 == MAPPED >> 32 && self.upper >> 32 == MAPPED >> 32;
                mapped.then_some((self.lower & 0xffff_ffff, self.upper & 0xffff_ffff))?
            }
            (Family::V4, Family::V4) | (Family::V6, Family::V6) => (self.lower, self.upper),
        };
        Some(Block { family, lower, upper, zone: self.zone })
    }

    /// One less than how many addresses there are.
    pub(super) const fn span(&self) -> u128 {
        self.upper - self.lower
    }

    /// An address of the same family and zone, as written.
    pub(super) fn write(&self, bits: u128) -> String {
        self.write_range(bits, bits)
    }

    /// As [`Block::write`], for addresses whose numbers each go from one to another: `10.*.0-15.0`.
    pub(super) fn write_range(&self, lower: u128, upper: u128) -> String {
        let address = Written { family: self.family, lower, upper };
        match &self.zone {
            Some(zone) => format!("{address}%{zone}"),
            None => address.to_string(),
        }
    }
}

/// An address in its canonical form (RFC 5952), or a range of each of its numbers.
pub(super) struct Written {
    pub(super) family: Family,
    pub(super) lower: u128,
    pub(super) upper: u128,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family {
            Family::V4 => {
                for at in 0..4 {
                    f.write_str(if at > 0 { "." } else { "" })?;
                    let octet = |bits: u128| bits >> (24 - 8 * at) & 0xff;
                    match (octet(self.lower), octet(self.upper)) {
                        (lower, upper) if lower == upper => write!(f, "{lower}")?,
                        (0, 0xff) => f.write_str("*")?,
                        (lower, upper) => write!(f, "{lower}-{upper}")?,
                    }
                }
                Ok(())
            }
            Family::V6 => self.write_v6(f),
        }
    }
}

impl Written {
    fn write_v6(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |bits: u128, at: u32| bits >> (112 - 16 * at) & 0xffff;
        // What is 0 at its upper end is 0.
        let zeros = longest_zeros(|at| group(self.upper, at));
        let mut at = 0;
        while at < 8 {
            if let Some((start, end)) = zeros
                && at == start
            {
                f.write_str("::")?;
                at = end;
                continue;
            }
            if at > 0 && zeros.is_none_or(|(_, end)| at != end) {
                f.write_str(":")?;
            }
            match (group(self.lower, at), group(self.upper, at)) {
                (lower, upper) if lower == upper => write!(f, "{lower:x}")?,
                (0, 0xffff) => f.write_str("*")?,
                (lower, upper) => write!(f, "{lower:x}-{upper:x}")?,
            }
            at += 1;
        }
        Ok(())
    }
}

/// The first of the longest runs of two zeros and more, and where it ends.
fn longest_zeros(group: impl Fn(u32) -> u128) -> Option<(u32, u32)> {
    let mut longest: Option<(u32, u32)> = None;
    let mut at = 0;
    while at < 8 {
        let end = (at..8).find(|at| group(*at) != 0).unwrap_or(8);
        if end - at >= 2 && longest.is_none_or(|(start, stop)| end - at > stop - start) {
            longest = Some((at, end));
        }
        at = end + 1;
    }
    longest
}

/// One to four numbers between points, each decimal, octal, hexadecimal or binary; the last fills what is left, as
/// `inet_aton` has it.
fn v4(text: &str) -> Option<u128> {
    let mut parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let last = number(parts.pop()?)?;
    let free_bits = 32 - 8 * u32::try_from(parts.len()).ok()?;
    if last >> free_bits > 0 {
        return None;
    }
    let mut bits = 0_u128;
    for part in parts {
        let octet = number(part).filter(|octet| *octet <= 0xff)?;
        bits = bits << 8 | u128::from(octet);
    }
    Some(bits << free_bits | u128::from(last))
}

fn number(text: &str) -> Option<u64> {
    let prefixed = |letters: [&str; 2]| letters.iter().find_map(|letter| text.strip_prefix(letter));
    let (digits, radix) = if let Some(digits) = prefixed(["0x", "0X"]) {
        (digits, 16)
    } else if let Some(digits) = prefixed(["0b", "0B"]) {
        (digits, 2)
    } else if text.len() > 1 && text.starts_with('0') {
        (text, 8)
    } else {
        (text, 10)
    };
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// Eight groups of hexadecimal digits; `::` stands for as many zeros as are missing, and an IPv4 address for the last
/// two groups.
fn v6(text: &str) -> Option<u128> {
    let Some((before, after)) = text.split_once("::") else {
        let groups = groups(text)?;
        return (groups.len() == 8).then(|| joined(&groups));
    };
    // An IPv4 address stands at the end only.
    let before = (!before.contains('.')).then(|| some_groups(before))??;
    let after = some_groups(after)?;
    let missing = 8_usize.checked_sub(before.len() + after.len()).filter(|missing| *missing > 0)?;
    let zeros = std::iter::repeat_n(0, missing);
    Some(joined(&before.into_iter().chain(zeros).chain(after).collect::<Vec<_>>()))
}

fn joined(groups: &[u128]) -> u128 {
    groups.iter().fold(0, |bits, group| bits << 16 | group)
}

fn some_groups(text: &str) -> Option<Vec<u128>> {
    if text.is_empty() { Some(Vec::new()) } else { groups(text) }
}

fn groups(text: &str) -> Option<Vec<u128>> {
    let mut groups = Vec::new();
    let mut parts = text.split(':').peekable();
    while let Some(part) = parts.next() {
        if part.contains('.') {
            let bits = v4(part).filter(|_| !part.contains(['x', 'X', 'b', 'B']))?;
            groups.extend([bits >> 16, bits & 0xffff]);
            return parts.peek().is_none().then_some(groups);
        }
        if groups.len() == 8 || part.is_empty() || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        groups.push(u128::from_str_radix(part, 16).ok().filter(|group| *group <= 0xffff)?);
    }
    Some(groups)
}
