//! The functions policies can call: 35 libraries of SAPL, each a table of pure functions from values to a value.
//!
//! No clock, no I/O, no state, and no more time and memory than named limits allow. A function gets values whose
//! types were checked by its caller and gives a value or a fault, never a panic. One file a library; this one lists them.
//! Large libraries are in crates of their own, which compile beside each other: `durward-library-formats`, `-time`, `-geo` and `-crypto`.
//!
//! Features, all on unless left out, say which libraries there are: `crypto` (`digest`, `keys`, `mac`, `signature`, `x509`
//! and tokens; with `ring`, which compiles C), `formats` (`toml`, `yaml`), `geo` (`geo`, `traccar`) and `time`. What is left
//! out, [`left_out_function`] and [`left_out_attribute`] tell: a policy that asks for it must not be put in force.
//!
//! What functions do otherwise than those of SAPL's engine, and why, is listed in `docs/sapl.md`, and nowhere else.

#![cfg_attr(test, allow(clippy::useless_vec, reason = "tests write arguments with one macro, few and many"))]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

mod array;
mod bitwise;
mod cidr;
mod encoding;
mod filter;
mod graph;
mod json;
mod math;
mod mqtt;
mod numeral;
mod object;
mod patterns;
mod permissions;
mod reflect;
mod sanitize;
mod sapl;
mod semver;
mod set;
mod standard;
mod string;
mod units;
mod uuid;

use std::collections::HashMap;
use std::sync::LazyLock;

use durward_ir::library::LibraryFunction;
#[cfg(feature = "crypto")]
use durward_library_crypto::{digest, keys, mac, signature};
use durward_library_formats::{csv, graphql, xml};
#[cfg(feature = "formats")]
use durward_library_formats::{toml, yaml};
#[cfg(feature = "geo")]
use durward_library_geo as geo;
#[cfg(feature = "time")]
use durward_library_time as time;

#[cfg(feature = "crypto")]
pub use durward_library_crypto::{jwt, x509};
pub use durward_library_formats::jsonschema;

/// A feature of this crate; `durward-sapl` and `durward-pdp` call it `library-` and the same.
struct Feature {
    name: &'static str,
    is_there: bool,
    /// The libraries of functions that are there with it.
    functions: &'static [&'static str],
    /// The libraries of attributes whose finders in `durward-pdp` are there with it.
    attributes: &'static [&'static str],
}

const FEATURES: [Feature; 4] = [
    Feature {
        name: "crypto",
        is_there: cfg!(feature = "crypto"),
        functions: &["digest", "keys", "mac", "signature", "x509"],
        attributes: &["jwt", "x509"],
    },
    Feature {
        name: "formats",
        is_there: cfg!(feature = "formats"),
        functions: &["toml", "yaml"],
        attributes: &[],
    },
    Feature { name: "geo", is_there: cfg!(feature = "geo"), functions: &["geo", "traccar"], attributes: &[] },
    Feature { name: "time", is_there: cfg!(feature = "time"), functions: &["time"], attributes: &["time"] },
];

/// Every library in the order of its name.
const LIBRARIES: &[&[LibraryFunction]] = &[
    array::FUNCTIONS,
    bitwise::FUNCTIONS,
    cidr::FUNCTIONS,
    csv::FUNCTIONS,
    #[cfg(feature = "crypto")]
    digest::FUNCTIONS,
    encoding::FUNCTIONS,
    filter::FUNCTIONS,
    #[cfg(feature = "geo")]
    geo::FUNCTIONS,
    graph::FUNCTIONS,
    graphql::FUNCTIONS,
    json::FUNCTIONS,
    jsonschema::FUNCTIONS,
    #[cfg(feature = "crypto")]
    keys::FUNCTIONS,
    #[cfg(feature = "crypto")]
    mac::FUNCTIONS,
    math::FUNCTIONS,
    mqtt::FUNCTIONS,
    numeral::FUNCTIONS,
    object::FUNCTIONS,
    patterns::FUNCTIONS,
    permissions::FUNCTIONS,
    reflect::FUNCTIONS,
    sanitize::FUNCTIONS,
    sapl::FUNCTIONS,
    semver::FUNCTIONS,
    #[cfg(feature = "crypto")]
    signature::FUNCTIONS,
    standard::FUNCTIONS,
    string::FUNCTIONS,
    #[cfg(feature = "time")]
    time::FUNCTIONS,
    #[cfg(feature = "formats")]
    toml::FUNCTIONS,
    #[cfg(feature = "geo")]
    geo::traccar::FUNCTIONS,
    units::FUNCTIONS,
    uuid::FUNCTIONS,
    #[cfg(feature = "crypto")]
    x509::FUNCTIONS,
    xml::FUNCTIONS,
    #[cfg(feature = "formats")]
    yaml::FUNCTIONS,
];

/// The feature of this crate that brings the function of this full name (`x509.parseCertificate`), where this build leaves
/// it out; nothing where the function's library is there, or is none of these.
pub fn left_out_function(name: &str) -> Option<&'static str> {
    left_out(|feature| feature.functions.contains(&library_of(name)))
}

/// The same of an attribute (`time.now`).
pub fn left_out_attribute(name: &str) -> Option<&'static str> {
    left_out(|feature| feature.attributes.contains(&library_of(name)))
}

fn left_out(brings: impl Fn(&Feature) -> bool) -> Option<&'static str> {
    FEATURES.iter().find(|feature| !feature.is_there && brings(feature)).map(|feature| feature.name)
}

fn library_of(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Every function of every library, overloads one by one.
pub fn all() -> impl Iterator<Item = &'static LibraryFunction> {
    LIBRARIES.iter().copied().flatten()
}

/// The functions of a full name (`string.length`): its overloads; none for a name that there is not.
pub fn named(name: &str) -> &'static [&'static LibraryFunction] {
    static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static LibraryFunction>>> = LazyLock::new(|| {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for function in all() {
            by_name.entry(function.name).or_default().push(function);
        }
        by_name
    });
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

/// The function of this full name that takes this many arguments.
///
/// Gives nothing for an unknown name and for a known one with another number of arguments; [`is_known`] tells which.
pub fn find(name: &str, arity: usize) -> Option<&'static LibraryFunction> {
    named(name).iter().find(|function| function.takes_count(arity)).copied()
}

/// Whether any function has this full name, whatever it takes.
pub fn is_known(name: &str) -> bool {
    !named(name).is_empty()
}
