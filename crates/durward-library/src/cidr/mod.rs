//! The library `cidr`: IP addresses and the networks they are in.
//!
//! Addresses are read as the `IPAddress` library of the Java engine reads them, with the numbers of `inet_aton`
//! (`0177.1` is 127.0.0.1), with ranges and wildcards (`10.0-3.0.*`).

mod address;
#[cfg(test)]
mod tests;

use durward_functions::argument::{array, number, text};
use durward_functions::jvm;
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use num_bigint::{BigInt, BigUint};
use sha2::{Digest, Sha256};

use address::{AddressError, AddressRange, CanonicalAddress, CidrAddress, Family};

/// The most addresses `cidr.expand` gives, as in SAPL.
const EXPANDED_MAX: u32 = 65_535;

/// The most pairs `cidr.containsMatches` compares, as in SAPL.
const PAIRS_MAX: usize = 1_000_000;

/// The most elements of either array of `cidr.containsMatches`, as in SAPL.
const MATCHED_MAX: usize = 10_000;

/// The most matches `cidr.containsMatches` gives, as in SAPL.
const MATCHES_MAX: usize = 65_535;

/// The most addresses `cidr.merge` takes, as in SAPL.
const MERGED_MAX: usize = 1000;

fn address(arguments: &[Value], at: usize, what: &str) -> Evaluated<CidrAddress> {
    let text = text(arguments, at)?;
    CidrAddress::read(text).map_err(|_| Fault::processing(format!("Invalid {what}: {text}.")))
}

fn boolean(value: bool) -> Evaluated<Value> {
    Ok(Value::Boolean(value))
}

fn written(text: impl Into<smol_str::SmolStr>) -> Evaluated<Value> {
    Ok(Value::Text(text.into()))
}

fn contains(arguments: &[Value]) -> Evaluated<Value> {
    let block = address(arguments, 0, "CIDR")?.block();
    boolean(block.contains(&address(arguments, 1, "IP address")?.extent()))
}

fn intersects(arguments: &[Value]) -> Evaluated<Value> {
    let a = address(arguments, 0, "first CIDR")?.block();
    let b = address(arguments, 1, "second CIDR")?.block();
    let b = b.in_family(a.family).ok_or_else(|| {
        Fault::processing("IPv4 cannot be intersected with IPv6, but for mapped addresses.")
    })?;
    boolean(a.intersects(&b))
}

fn is_valid(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    match CidrAddress::read(text) {
        Ok(_) => boolean(true),
        Err(AddressError::NotAnAddress) => boolean(false),
        Err(AddressError::NotARange) => {
            Err(Fault::processing(format!("{text} is no range of each number of an address.")))
        }
    }
}

fn addresses(values: &[Value], most: usize) -> Evaluated<Vec<CidrAddress>> {
    let read = |value: &Value| {
        let Value::Text(text) = value else {
            return Err(Fault::processing("Array must contain only strings."));
        };
        CidrAddress::read(text).map_err(|_| Fault::processing(format!("Invalid address: {text}.")))
    };
    if values.len() > most {
        let message = format!("Address array size {} exceeds the maximum of {most}.", values.len());
        return Err(Fault::processing(message));
    }
    values.iter().map(read).collect()
}

fn contains_matches(arguments: &[Value]) -> Evaluated<Value> {
    let (blocks, tested) = (array(arguments, 0)?, array(arguments, 1)?);
    let pairs = blocks.len().saturating_mul(tested.len());
    if pairs > PAIRS_MAX {
        let message = format!("CIDR comparison count {pairs} exceeds the maximum of {PAIRS_MAX}.");
        return Err(Fault::processing(message));
    }
    let (blocks, tested) = (addresses(blocks, MATCHED_MAX)?, addresses(tested, MATCHED_MAX)?);
    let tested: Vec<AddressRange> = tested.iter().map(CidrAddress::extent).collect();
    let mut matches = Vec::new();
    for (i, block) in blocks.iter().map(CidrAddress::block).enumerate() {
        for (j, _) in tested.iter().enumerate().filter(|(_, tested)| block.contains(tested)) {
            if matches.len() == MATCHES_MAX {
                let message = format!("CIDR match output exceeds the maximum of {MATCHES_MAX} tuples.");
                return Err(Fault::processing(message));
            }
            matches.push(Value::array([index(i), index(j)]));
        }
    }
    Ok(Value::array(matches))
}

fn index(at: usize) -> Value {
    jvm::whole(i64::try_from(at).unwrap_or(i64::MAX))
}

fn expand(arguments: &[Value]) -> Evaluated<Value> {
    let block = address(arguments, 0, "CIDR")?.block();
    let count = block.count();
    if count > BigUint::from(EXPANDED_MAX) {
        let message = format!("CIDR contains {count} addresses, maximum is {EXPANDED_MAX}.");
        return Err(Fault::processing(message));
    }
    Ok(Value::array(block.addresses().into_iter().map(|bits| Value::Text(block.write(bits).into()))))
}

fn merge(arguments: &[Value]) -> Evaluated<Value> {
    let given = addresses(array(arguments, 0)?, MERGED_MAX)?;
    let (v4, v6): (Vec<_>, Vec<_>) =
        given.iter().map(CidrAddress::block).partition(|block| block.family == Family::V4);
    let mut merged = Vec::new();
    for blocks in [v4, v6] {
        merge_family(&blocks, &mut merged)?;
    }
    Ok(Value::array(merged))
}

/// Joins what touches or overlaps. Blocks are taken in the order of their sizes, as the Java engine takes them: a smaller
/// block hides larger ones that lie before it and are not joined with it (`["1.2.4.0/30", "1.2.2.0/24"]`).
fn merge_family(blocks: &[AddressRange], merged: &mut Vec<Value>) -> Evaluated<()> {
    let mut kept: Vec<&AddressRange> = Vec::new();
    for block in blocks {
        let hidden = blocks.iter().any(|other| other != block && other.contains(block));
        if !hidden && !kept.contains(&block) {
            kept.push(block);
        }
    }
    kept.sort_by_key(|block| (block.count(), block.lower));
    let mut kept = kept.into_iter();
    let Some(first) = kept.next() else { return Ok(()) };
    let (mut lower, mut upper) = (first.lower, first.upper);
    for next in kept {
        let bound = successor(first.family, upper)?;
        if next.lower <= bound {
            upper = upper.max(next.upper);
        } else {
            push_blocks(first.family, lower, upper, merged);
            (lower, upper) = (next.lower, next.upper);
        }
    }
    push_blocks(first.family, lower, upper, merged);
    Ok(())
}

fn successor(family: Family, bits: u128) -> Evaluated<u128> {
    if bits == family.host_mask(0) {
        return Err(Fault::processing("There is no address after the last one."));
    }
    Ok(bits + 1)
}

/// The fewest blocks that make up a range.
fn push_blocks(family: Family, lower: u128, upper: u128, out: &mut Vec<Value>) {
    let mut lower = lower;
    loop {
        let prefix = (0..=family.bits()).find(|prefix| {
            let host = family.host_mask(*prefix);
            lower & host == 0 && lower | host <= upper
        });
        let prefix = prefix.unwrap_or(family.bits());
        out.push(Value::Text(
            format!("{}/{prefix}", CanonicalAddress { family, lower, upper: lower }).into(),
        ));
        let end = lower | family.host_mask(prefix);
        if end >= upper {
            return;
        }
        lower = end + 1;
    }
}

/// The blocks of a kind, as IANA's registries and RFC 1918 have them.
type Blocks = &'static [(u128, u32)];

const fn v4(a: u128, b: u128, c: u128, d: u128, prefix: u32) -> (u128, u32) {
    (a << 24 | b << 16 | c << 8 | d, prefix)
}

const fn v6(first: u128, second: u128, prefix: u32) -> (u128, u32) {
    (first << 112 | second << 96, prefix)
}

const PRIVATE_V4: Blocks = &[v4(10, 0, 0, 0, 8), v4(172, 16, 0, 0, 12), v4(192, 168, 0, 0, 16)];
const LOOPBACK_V4: Blocks = &[v4(127, 0, 0, 0, 8)];
const LOOPBACK_V6: Blocks = &[(1, 128)];
const LINK_LOCAL_V4: Blocks = &[v4(169, 254, 0, 0, 16)];
const LINK_LOCAL_V6: Blocks = &[v6(0xfe80, 0, 10)];
const MULTICAST_V4: Blocks = &[v4(224, 0, 0, 0, 4)];
const MULTICAST_V6: Blocks = &[v6(0xff00, 0, 8)];
const DOCUMENTATION_V4: Blocks = &[v4(192, 0, 2, 0, 24), v4(198, 51, 100, 0, 24), v4(203, 0, 113, 0, 24)];
const DOCUMENTATION_V6: Blocks = &[v6(0x2001, 0xdb8, 32)];
const SHARED_V4: Blocks = &[v4(100, 64, 0, 0, 10)];
const BENCHMARK_V4: Blocks = &[v4(198, 18, 0, 0, 15)];
const RESERVED_V4: Blocks = &[v4(240, 0, 0, 0, 4)];
/// The unspecified address, mapped IPv4 addresses, discard-only, protocol assignments, documentation and unique local.
const RESERVED_V6: Blocks = &[
    (0, 128),
    (0xffff << 32, 96),
    v6(0x100, 0, 64),
    v6(0x2001, 0, 23),
    v6(0x2001, 0xdb8, 32),
    v6(0xfc00, 0, 7),
];
const BROADCAST_V4: Blocks = &[v4(255, 255, 255, 255, 32)];

/// Whether all of what the text stands for is in one of the blocks of its family.
fn is_in(arguments: &[Value], v4: Blocks, v6: Blocks) -> Evaluated<bool> {
    Ok(is_any(&address(arguments, 0, "address")?, v4, v6))
}

fn is_any(address: &CidrAddress, v4: Blocks, v6: Blocks) -> bool {
    let blocks = match address.family {
        Family::V4 => v4,
        Family::V6 => v6,
    };
    let (family, extent) = (address.family, address.extent());
    blocks.iter().any(|(lower, prefix)| {
        let upper = lower | family.host_mask(*prefix);
        AddressRange { family, lower: *lower, upper, zone: None }.contains(&extent)
    })
}

fn is_private_ipv4(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, PRIVATE_V4, &[])?)
}

fn is_loopback(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, LOOPBACK_V4, LOOPBACK_V6)?)
}

fn is_link_local(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, LINK_LOCAL_V4, LINK_LOCAL_V6)?)
}

fn is_multicast(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, MULTICAST_V4, MULTICAST_V6)?)
}

fn is_documentation(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, DOCUMENTATION_V4, DOCUMENTATION_V6)?)
}

fn is_cgnat(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, SHARED_V4, &[])?)
}

fn is_benchmark(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, BENCHMARK_V4, &[])?)
}

fn is_reserved(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, RESERVED_V4, RESERVED_V6)?)
}

fn is_broadcast(arguments: &[Value]) -> Evaluated<Value> {
    boolean(is_in(arguments, BROADCAST_V4, &[])?)
}

fn is_public_routable(arguments: &[Value]) -> Evaluated<Value> {
    const KINDS: &[(Blocks, Blocks)] = &[
        (PRIVATE_V4, &[]),
        (LOOPBACK_V4, LOOPBACK_V6),
        (LINK_LOCAL_V4, LINK_LOCAL_V6),
        (MULTICAST_V4, MULTICAST_V6),
        (DOCUMENTATION_V4, DOCUMENTATION_V6),
        (SHARED_V4, &[]),
        (BENCHMARK_V4, &[]),
        (RESERVED_V4, RESERVED_V6),
        (BROADCAST_V4, &[]),
    ];
    let address = address(arguments, 0, "IP address")?;
    boolean(!KINDS.iter().any(|(v4, v6)| is_any(&address, v4, v6)))
}

/// The length of a prefix for addresses of a family.
fn prefix(length: &Decimal, family: Family) -> Evaluated<u32> {
    if !length.is_integer() {
        let message = format!("Prefix length must be an integer: {}.", length.to_plain());
        return Err(Fault::processing(message));
    }
    let known = length.to_i64().and_then(|length| u32::try_from(length).ok());
    known.filter(|length| *length <= family.bits()).ok_or_else(|| {
        let (name, most) = match family {
            Family::V4 => ("IPv4", 32),
            Family::V6 => ("IPv6", 128),
        };
        let length = length.to_plain();
        // A whole number may be written with a fraction of zeros.
        let length = length.split('.').next().unwrap_or_default();
        Fault::processing(format!("Prefix {length} out of range for {name} (0-{most})."))
    })
}

/// The first and the last address of what an address stands for, without the bits behind a prefix.
fn masked(address: &CidrAddress, prefix: u32) -> (u128, u128) {
    let (extent, network) = (address.extent(), !address.family.host_mask(prefix));
    (extent.lower & network, extent.upper & network)
}

fn anonymized(arguments: &[Value]) -> Evaluated<String> {
    let address = address(arguments, 0, "IP address")?;
    let prefix = prefix(number(arguments, 1)?, address.family)?;
    let (lower, upper) = masked(&address, prefix);
    Ok(address.extent().write_range(lower, upper))
}

fn anonymize_ip(arguments: &[Value]) -> Evaluated<Value> {
    written(anonymized(arguments)?)
}

fn hash_ip_prefix(arguments: &[Value]) -> Evaluated<Value> {
    let mut digest = Sha256::new();
    digest.update(anonymized(arguments)?);
    digest.update(text(arguments, 2)?);
    written(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn get_network_address(arguments: &[Value]) -> Evaluated<Value> {
    let block = address(arguments, 0, "CIDR")?.block();
    written(block.write(block.lower))
}

fn get_broadcast_address(arguments: &[Value]) -> Evaluated<Value> {
    let block = address(arguments, 0, "CIDR")?.block();
    written(block.write(block.upper))
}

fn get_address_count(arguments: &[Value]) -> Evaluated<Value> {
    written(address(arguments, 0, "CIDR")?.block().count().to_string())
}

fn get_usable_host_count(arguments: &[Value]) -> Evaluated<Value> {
    let address = address(arguments, 0, "CIDR")?;
    let block = address.block();
    let without = match (address.family, address.prefix) {
        (Family::V6, _) => 1_u32,
        (Family::V4, Some(31..)) => return written("0"),
        (Family::V4, _) => 2,
    };
    // One address without a prefix has two too few.
    written((BigInt::from(block.count()) - without).to_string())
}

fn get_first_usable_address(arguments: &[Value]) -> Evaluated<Value> {
    let block = address(arguments, 0, "CIDR")?.block();
    written(block.write(successor(block.family, block.lower)?))
}

fn get_last_usable_address(arguments: &[Value]) -> Evaluated<Value> {
    let block = address(arguments, 0, "CIDR")?.block();
    let last = match block.family {
        Family::V6 => Some(block.upper),
        Family::V4 => block.upper.checked_sub(1),
    };
    let none = || Fault::processing("There is no address before the first one.");
    written(block.write(last.ok_or_else(none)?))
}

fn same_subnet(arguments: &[Value]) -> Evaluated<Value> {
    let (a, b) = (address(arguments, 0, "first IP")?, address(arguments, 1, "second IP")?);
    if a.family != b.family {
        return boolean(false);
    }
    let prefix = prefix(number(arguments, 2)?, a.family)?;
    boolean(masked(&a, prefix) == masked(&b, prefix) && a.zone == b.zone)
}

fn get_common_prefix_length(arguments: &[Value]) -> Evaluated<Value> {
    let (a, b) = (address(arguments, 0, "first IP")?, address(arguments, 1, "second IP")?);
    if a.family != b.family {
        return Ok(jvm::whole(0));
    }
    let different = u128::BITS - u128::leading_zeros(a.bits ^ b.bits);
    Ok(jvm::whole(a.family.bits() - different))
}

fn can_subdivide(arguments: &[Value]) -> Evaluated<Value> {
    let address = address(arguments, 0, "CIDR")?;
    let Some(current) = address.prefix else {
        let text = text(arguments, 0)?;
        return Err(Fault::processing(format!("CIDR missing prefix length: {text}.")));
    };
    let target = prefix(number(arguments, 1)?, address.family)?;
    boolean(target > current && address.block().lower == address.extent().lower)
}

const TEXT: &[Parameter] = &[Parameter::Text];
const TWO_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text];
const TEXT_AND_NUMBER: &[Parameter] = &[Parameter::Text, Parameter::Number];

pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("cidr.anonymizeIp", TEXT_AND_NUMBER, anonymize_ip, "The address without the bits after the prefix."),
    row(
        "cidr.canSubdivide",
        TEXT_AND_NUMBER,
        can_subdivide,
        "Whether a block can be divided into blocks of this longer prefix.",
    ),
    row(
        "cidr.contains",
        TWO_TEXTS,
        contains,
        "Whether a block contains an address or another block; false between IPv4 and IPv6.",
    ),
    row(
        "cidr.containsMatches",
        &[Parameter::Array, Parameter::Array],
        contains_matches,
        "The pairs of positions of a block (first array) and of an address or block (second array) that it \
         contains.",
    ),
    row("cidr.expand", TEXT, expand, "All addresses of a block; an error for more than 65535."),
    row("cidr.getAddressCount", TEXT, get_address_count, "How many addresses a block has, as a text."),
    row("cidr.getBroadcastAddress", TEXT, get_broadcast_address, "The last address of a block."),
    row(
        "cidr.getCommonPrefixLength",
        TWO_TEXTS,
        get_common_prefix_length,
        "How many leading bits two addresses have in common.",
    ),
    row("cidr.getFirstUsableAddress", TEXT, get_first_usable_address, "The second address of a block."),
    row(
        "cidr.getLastUsableAddress",
        TEXT,
        get_last_usable_address,
        "The last but one address of a block; for IPv6 the last.",
    ),
    row("cidr.getNetworkAddress", TEXT, get_network_address, "The first address of a block."),
    row(
        "cidr.getUsableHostCount",
        TEXT,
        get_usable_host_count,
        "How many hosts a block has room for, as a text.",
    ),
    row(
        "cidr.hashIpPrefix",
        &[Parameter::Text, Parameter::Number, Parameter::Text],
        hash_ip_prefix,
        "The SHA-256 digest of an address without the bits after the prefix, and of a salt.",
    ),
    row(
        "cidr.intersects",
        TWO_TEXTS,
        intersects,
        "Whether two blocks share an address; of IPv6, only mapped addresses are compared with IPv4.",
    ),
    row("cidr.isBenchmark", TEXT, is_benchmark, "Whether an address is in 198.18.0.0/15."),
    row("cidr.isBroadcast", TEXT, is_broadcast, "Whether an address is 255.255.255.255."),
    row("cidr.isCgnat", TEXT, is_cgnat, "Whether an address is in 100.64.0.0/10."),
    row("cidr.isDocumentation", TEXT, is_documentation, "Whether an address is for documentation."),
    row("cidr.isLinkLocal", TEXT, is_link_local, "Whether an address is in 169.254.0.0/16 or fe80::/10."),
    row("cidr.isLoopback", TEXT, is_loopback, "Whether an address is in 127.0.0.0/8 or is ::1."),
    row("cidr.isMulticast", TEXT, is_multicast, "Whether an address is in 224.0.0.0/4 or ff00::/8."),
    row(
        "cidr.isPrivateIpv4",
        TEXT,
        is_private_ipv4,
        "Whether an address is private by RFC 1918; false for IPv6.",
    ),
    row(
        "cidr.isPublicRoutable",
        TEXT,
        is_public_routable,
        "Whether an address is in none of the special ranges.",
    ),
    row("cidr.isReserved", TEXT, is_reserved, "Whether an address is reserved."),
    row("cidr.isValid", TEXT, is_valid, "Whether a text is an address or a block."),
    row("cidr.merge", &[Parameter::Array], merge, "The fewest blocks for given addresses and blocks."),
    row(
        "cidr.sameSubnet",
        &[Parameter::Text, Parameter::Text, Parameter::Number],
        same_subnet,
        "Whether two addresses have the same bits up to the end of the prefix.",
    ),
];
