//! IP addresses and blocks of them, as the `IPAddress` library of the Java engine reads and writes them.

use std::fmt;

use num_bigint::BigUint;

use durward_functions::jvm;

/// An address, maybe with the length of its network's prefix. With one, and without any bit behind it, it stands for the
/// whole block. Each of its numbers may be a range (`10.0-3.0.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CidrAddress {
    pub(super) family: Family,
    /// The lower end of each number.
    pub(super) bits: u128,
    /// The upper end of each number.
    pub(super) upper: u128,
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

    /// How many bits each of the numbers between points or colons has.
    const fn number_bits(self) -> u32 {
        match self {
            Family::V4 => 8,
            Family::V6 => 16,
        }
    }

    /// The numbers of an address, the first one first.
    fn numbers(self, bits: u128) -> impl Iterator<Item = u128> {
        let (all, each) = (self.bits(), self.number_bits());
        (1..=all / each).map(move |at| bits >> (all - each * at) & ((1 << each) - 1))
    }

    /// The bits behind a prefix.
    pub(super) const fn host_mask(self, prefix: u32) -> u128 {
        match 1_u128.checked_shl(self.bits().saturating_sub(prefix)) {
            Some(count) => count - 1,
            None => u128::MAX,
        }
    }
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressError {
    /// It is not written like one.
    NotAnAddress,
    /// A range that is no range of each number (`1-` is 0.0.0.1 to 255.255.255.255): the Java engine fails.
    NotARange,
}

type AddressResult<T> = Result<T, AddressError>;

const NOT_AN_ADDRESS: AddressError = AddressError::NotAnAddress;

impl CidrAddress {
    /// Reads an address or a block: `10.0.0.0/8`, `10.1/255.0.0.0`, `0x7f.1`, `2001:db8::/32`, `::ffff:10.0.0.1`; with
    /// ranges and wildcards for any number, as `1-5`, `-5`, `1_` (10 to 19) and `*`. Nothing at all is the loopback
    /// address, and nothing with the length of a prefix of IPv6 is that prefix of ones.
    pub(super) fn read(text: &str) -> AddressResult<CidrAddress> {
        let text = jvm::trim(text);
        let (address, network) = match text.split_once('/') {
            Some((address, network)) => (address, Some(network)),
            None => (text, None),
        };
        match (address, network) {
            ("", Some(prefix)) => return prefix_alone(prefix).ok_or(NOT_AN_ADDRESS),
            ("*" | "%", _) => return Err(NOT_AN_ADDRESS),
            _ => {}
        }
        let (family, (bits, upper), zone) = if address.contains(':') {
            let (address, zone) = match address.split_once('%') {
                Some((address, zone)) => (address, Some(zone)),
                None => (address, None),
            };
            (Family::V6, v6(address)?, zone.map(str::trim).filter(|zone| !zone.is_empty()).map(str::to_owned))
        } else if address.is_empty() {
            (Family::V4, (LOOPBACK, LOOPBACK), None)
        } else if let Some(bits) = v6_without_colons(address) {
            (Family::V6, (bits, bits), None)
        } else {
            (Family::V4, v4(address)?, None)
        };
        let plain = CidrAddress { family, bits, upper, prefix: None, zone };
        match network {
            None => Ok(plain),
            Some(network) => plain.in_network(network),
        }
    }

    /// With the prefix that is written as its length or as a mask. What is left by a mask with gaps is an address alone.
    fn in_network(self, network: &str) -> AddressResult<CidrAddress> {
        if network.bytes().all(|byte| byte.is_ascii_digit()) {
            let prefix = network.parse().ok().filter(|prefix| *prefix <= self.family.bits());
            return prefix.map(|prefix| CidrAddress { prefix: Some(prefix), ..self }).ok_or(NOT_AN_ADDRESS);
        }
        let (mask, upper) = match self.family {
            Family::V4 if !network.contains('.') => return Err(NOT_AN_ADDRESS),
            Family::V4 => v4(network)?,
            Family::V6 => v6(network)?,
        };
        if mask != upper {
            return Err(NOT_AN_ADDRESS);
        }
        let prefix = (0..=self.family.bits())
            .find(|prefix| mask == self.family.host_mask(0) & !self.family.host_mask(*prefix));
        Ok(match prefix {
            Some(_) => CidrAddress { prefix, ..self },
            None => CidrAddress { bits: self.bits & mask, upper: self.upper & mask, ..self },
        })
    }

    /// The block of the address's prefix, or the address alone.
    pub(super) fn block(&self) -> AddressRange {
        let host = self.prefix.map_or(0, |prefix| self.family.host_mask(prefix));
        AddressRange {
            family: self.family,
            lower: self.bits & !host,
            upper: self.upper | host,
            zone: self.zone.clone(),
        }
    }

    /// What the address stands for: a block if it has no bit behind its prefix.
    pub(super) fn extent(&self) -> AddressRange {
        let block = self.block();
        let host = self.prefix.map_or(0, |prefix| self.family.host_mask(prefix));
        if (self.bits | self.upper) & host == 0 {
            block
        } else {
            AddressRange { lower: self.bits, upper: self.upper, ..block }
        }
    }
}

const LOOPBACK: u128 = 0x7f00_0001;

/// `/64`: as many ones, and the block behind them. Up to 32 it could be of either family.
fn prefix_alone(prefix: &str) -> Option<CidrAddress> {
    let is_length = prefix.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = prefix.parse().ok().filter(|prefix| is_length && (33..=128).contains(prefix))?;
    let bits = !Family::V6.host_mask(prefix);
    Some(CidrAddress { family: Family::V6, bits, upper: bits, prefix: Some(prefix), zone: None })
}

/// 32 hexadecimal digits.
fn v6_without_colons(text: &str) -> Option<u128> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_hex = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(digits, 16).ok())?
}

/// All addresses each number of which lies between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddressRange {
    pub(super) family: Family,
    pub(super) lower: u128,
    pub(super) upper: u128,
    pub(super) zone: Option<String>,
}

impl AddressRange {
    /// Whether all of the other is in this one. Zones do not count.
    pub(super) fn contains(&self, other: &AddressRange) -> bool {
        self.family == other.family
            && self
                .ranges()
                .zip(other.ranges())
                .all(|((lower, upper), (least, most))| lower <= least && most <= upper)
    }

    /// Whether both share an address.
    pub(super) fn intersects(&self, other: &AddressRange) -> bool {
        self.ranges()
            .zip(other.ranges())
            .all(|((lower, upper), (least, most))| lower <= most && least <= upper)
    }

    /// The ends of each number.
    fn ranges(&self) -> impl Iterator<Item = (u128, u128)> {
        self.family.numbers(self.lower).zip(self.family.numbers(self.upper))
    }

    /// The addresses in their order; there may be very many.
    pub(super) fn addresses(&self) -> Vec<u128> {
        let each = self.family.number_bits();
        self.ranges().fold(vec![0], |starts, (lower, upper)| {
            starts
                .into_iter()
                .flat_map(|start: u128| (lower..=upper).map(move |number| start << each | number))
                .collect()
        })
    }

    /// The same addresses in this family: those of IPv4 are mapped into IPv6 (`::ffff:10.0.0.1`), and back.
    pub(super) fn in_family(self, family: Family) -> Option<AddressRange> {
        const MAPPED: u128 = 0xffff << 32;
        let (lower, upper) = match (self.family, family) {
            (Family::V4, Family::V6) => {
                let groups = Family::V6.numbers(self.lower).zip(Family::V6.numbers(self.upper));
                let mut groups = groups.map(|(lower, upper)| is_range_of_each(lower, upper, 8));
                groups.all(|is_one| is_one).then_some((self.lower | MAPPED, self.upper | MAPPED))?
            }
            (Family::V6, Family::V4) => {
                let mapped = self.lower >> 32 == MAPPED >> 32 && self.upper >> 32 == MAPPED >> 32;
                mapped.then_some((self.lower & 0xffff_ffff, self.upper & 0xffff_ffff))?
            }
            (Family::V4, Family::V4) | (Family::V6, Family::V6) => (self.lower, self.upper),
        };
        Some(AddressRange { family, lower, upper, zone: self.zone })
    }

    /// How many addresses there are, which may be 2^128.
    pub(super) fn count(&self) -> BigUint {
        self.ranges().map(|(lower, upper)| BigUint::from(upper - lower + 1)).product()
    }

    /// An address of the same family and zone, as written.
    pub(super) fn write(&self, bits: u128) -> String {
        self.write_range(bits, bits)
    }

    /// As [`AddressRange::write`], for addresses whose numbers each go from one to another: `10.*.0-15.0`.
    pub(super) fn write_range(&self, lower: u128, upper: u128) -> String {
        let address = CanonicalAddress { family: self.family, lower, upper };
        match &self.zone {
            Some(zone) => format!("{address}%{zone}"),
            None => address.to_string(),
        }
    }
}

/// An address in its canonical form (RFC 5952), or a range of each of its numbers.
pub(super) struct CanonicalAddress {
    pub(super) family: Family,
    pub(super) lower: u128,
    pub(super) upper: u128,
}

impl fmt::Display for CanonicalAddress {
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

impl CanonicalAddress {
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
fn v4(text: &str) -> AddressResult<(u128, u128)> {
    let mut parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 4 {
        return Err(NOT_AN_ADDRESS);
    }
    let last = parts.pop().unwrap_or_default();
    let free_bits = 32 - 8 * u32::try_from(parts.len()).map_err(|_| NOT_AN_ADDRESS)?;
    let (mut lower, mut upper) = (0, 0);
    for part in parts {
        let (least, most) = range(part, 0xff, 10, number).ok_or(NOT_AN_ADDRESS)?;
        (lower, upper) = (lower << 8 | least, upper << 8 | most);
    }
    let (least, most) = range(last, (1 << free_bits) - 1, 10, number).ok_or(NOT_AN_ADDRESS)?;
    if !is_range_of_each(least, most, 8) {
        return Err(AddressError::NotARange);
    }
    Ok((lower << free_bits | least, upper << free_bits | most))
}

/// Whether all from one to another are what ranges of each number of so many bits give: behind the first number that
/// differs, all must go from nothing to the largest.
const fn is_range_of_each(lower: u128, upper: u128, each: u32) -> bool {
    let different = u128::BITS - (lower ^ upper).leading_zeros();
    let behind = (1 << (different.saturating_sub(1) / each * each)) - 1;
    lower & behind == 0 && upper & behind == behind
}

/// The ends of a number: the number itself, `*`, two with a hyphen between them, either of which may be missing, or one
/// whose last digits are any (`1_`).
fn range(text: &str, most: u128, radix: u128, number: impl Fn(&str) -> Option<u128>) -> Option<(u128, u128)> {
    let (lower, upper) = if matches!(text, "*" | "%") {
        (0, most)
    } else if let Some((lower, upper)) = text.split_once('-') {
        let lower = if lower.is_empty() { 0 } else { number(lower)? };
        let upper = if upper.is_empty() { most } else { number(upper)? };
        (lower.min(upper), lower.max(upper))
    } else if let Some(known) = text.strip_suffix('_') {
        let known = known.trim_end_matches('_');
        let any = u32::try_from(text.len() - known.len()).ok().filter(|any| *any <= 10)?;
        let lower = if known.is_empty() { 0 } else { number(known)? } * radix.pow(any);
        (lower, (lower + radix.pow(any) - 1).min(most))
    } else {
        let number = number(text)?;
        (number, number)
    };
    (lower <= most && upper <= most).then_some((lower, upper))
}

fn number(text: &str) -> Option<u128> {
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
    u64::from_str_radix(digits, radix).ok().filter(|_| plain).map(u128::from)
}

/// Eight groups of hexadecimal digits; `::` stands for as many zeros as are missing, an IPv4 address for the last two
/// groups, and `*` at the end for all that are missing.
fn v6(text: &str) -> AddressResult<(u128, u128)> {
    let Some((before, after)) = text.split_once("::") else {
        let mut groups = groups(text)?;
        if text.ends_with(":*") && groups.len() < 8 {
            groups.resize(8, (0, 0xffff));
        }
        return if groups.len() == 8 { Ok(joined(&groups)) } else { Err(NOT_AN_ADDRESS) };
    };
    // An IPv4 address stands at the end only.
    if before.contains('.') {
        return Err(NOT_AN_ADDRESS);
    }
    let (mut groups, after) = (some_groups(before)?, some_groups(after)?);
    let known = groups.len() + after.len();
    if known >= 8 {
        return Err(NOT_AN_ADDRESS);
    }
    groups.resize(8 - after.len(), (0, 0));
    groups.extend(after);
    Ok(joined(&groups))
}

fn joined(groups: &[(u128, u128)]) -> (u128, u128) {
    groups.iter().fold((0, 0), |(lower, upper), (least, most)| (lower << 16 | least, upper << 16 | most))
}

fn some_groups(text: &str) -> AddressResult<Vec<(u128, u128)>> {
    if text.is_empty() { Ok(Vec::new()) } else { groups(text) }
}

fn groups(text: &str) -> AddressResult<Vec<(u128, u128)>> {
    let mut groups = Vec::new();
    let mut parts = text.split(':').peekable();
    while let Some(part) = parts.next() {
        if part.contains('.') {
            if part.contains(['x', 'X', 'b', 'B']) || parts.peek().is_some() {
                return Err(NOT_AN_ADDRESS);
            }
            let (lower, upper) = v4(part)?;
            for at in [16, 0] {
                let (least, most) = (lower >> at & 0xffff, upper >> at & 0xffff);
                if !is_range_of_each(least, most, 8) {
                    return Err(AddressError::NotARange);
                }
                groups.push((least, most));
            }
            return Ok(groups);
        }
        if groups.len() == 8 {
            return Err(NOT_AN_ADDRESS);
        }
        groups.push(range(part, 0xffff, 16, group).ok_or(NOT_AN_ADDRESS)?);
    }
    Ok(groups)
}

fn group(text: &str) -> Option<u128> {
    let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|group| is_hex && *group <= 0xffff)
}
