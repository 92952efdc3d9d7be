//! The library `uuid`: the parts of a UUID, read as `java.util.UUID` does: five hexadecimal numbers with hyphens between
//! them, each of which may be too short or too long, and of which the low bits count.

use durward_functions::jvm::{length, whole};
use durward_functions::limits::shown;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;

/// The length of a UUID in full.
const LENGTH_MAX: usize = 36;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("uuid.parse", &[Text], parse,
        "The two halves of a UUID as numbers of 64 bits, its version and variant, and of version 1 its timestamp, \
         clock sequence and node; an error for other texts."),
];

fn parse(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    match halves(text) {
        Some((most, least)) => Ok(parts(most, least)),
        None => Err(Fault::processing(format!("`{}` is not a UUID", shown(text)))),
    }
}

fn halves(text: &str) -> Option<(i64, i64)> {
    if length(text) > LENGTH_MAX {
        return None;
    }
    let mut groups = text.split('-').map(group);
    let mut next = |bits: u32| Some(groups.next()?? & ((1 << bits) - 1));
    let most = next(32)? << 32 | next(16)? << 16 | next(16)?;
    let least = next(16)? << 48 | next(48)?;
    groups.next().is_none().then_some((most, least))
}

/// `Long.parseLong` with the base 16: a plus is allowed.
fn group(digits: &str) -> Option<i64> {
    i64::from_str_radix(digits, 16).ok()
}

fn parts(most: i64, least: i64) -> Value {
    let version = most >> 12 & 0xf;
    let mut entries = vec![
        ("leastSignificantBits", whole(least)),
        ("mostSignificantBits", whole(most)),
        ("version", whole(version)),
        ("variant", whole(variant(least))),
    ];
    if version == 1 {
        let timestamp = (most & 0x0fff) << 48 | (most >> 16 & 0xffff) << 32 | (most >> 32 & 0xffff_ffff);
        entries.push(("timestamp", whole(timestamp)));
        entries.push(("clockSequence", whole(least >> 48 & 0x3fff)));
        entries.push(("node", whole(least & 0xffff_ffff_ffff)));
    }
    Value::object(entries)
}

/// One to three bits at the top (RFC 9562, section 4.1).
const fn variant(least: i64) -> i64 {
    match least >> 62 & 3 {
        2 => 2,
        3 => least >> 61 & 7,
        _ => 0,
    }
}
