//! The functions policies can call: 35 libraries of SAPL, each a table of pure functions from values to a value.
//!
//! No clock, no I/O, no state, and no more time and memory than named limits allow. A function gets values whose
//! types were checked by its caller and gives a value or a fault, never a panic. One file a library; this one lists them.
//!
//! What functions do otherwise than those of SAPL's engine, and why, is listed in `docs/sapl.md`, and nowhere else.

#![cfg_attr(test, allow(clippy::useless_vec, reason = "tests write arguments with one macro, few and many"))]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

mod argument;
mod array;
mod bitwise;
#[cfg(test)]
mod check;
mod cidr;
mod crypto;
mod csv;
mod digest;
mod document;
mod double;
mod encoding;
mod filter;
#[cfg(test)]
mod fixture;
mod geo;
mod graph;
mod graphql;
mod json;
pub mod jsonschema;
mod jvm;
pub mod jwt;
mod keys;
mod limits;
mod mac;
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
mod signature;
mod standard;
mod string;
mod table;
mod time;
mod toml;
mod units;
mod uuid;
pub mod x509;
mod xml;
mod yaml;

use std::collections::HashMap;
use std::sync::LazyLock;

use durward_ir::library::LibraryFunction;

/// Every library in the order of its name.
const LIBRARIES: &[&[LibraryFunction]] = &[
    array::FUNCTIONS,
    bitwise::FUNCTIONS,
    cidr::FUNCTIONS,
    csv::FUNCTIONS,
    digest::FUNCTIONS,
    encoding::FUNCTIONS,
    filter::FUNCTIONS,
    geo::FUNCTIONS,
    graph::FUNCTIONS,
    graphql::FUNCTIONS,
    json::FUNCTIONS,
    jsonschema::FUNCTIONS,
    keys::FUNCTIONS,
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
    signature::FUNCTIONS,
    standard::FUNCTIONS,
    string::FUNCTIONS,
    time::FUNCTIONS,
    toml::FUNCTIONS,
    geo::traccar::FUNCTIONS,
    units::FUNCTIONS,
    uuid::FUNCTIONS,
    x509::FUNCTIONS,
    xml::FUNCTIONS,
    yaml::FUNCTIONS,
];

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
