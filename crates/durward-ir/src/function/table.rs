//! The whole table of functions, and finding functions in it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Function, arithmetic, bag, compare, convert, date, equality, id, logic, regexp, text};

/// The function of this identifier, compared code point by code point (XACML 3.0, section 7.20).
pub fn find(id: &str) -> Option<&'static Function> {
    static BY_ID: LazyLock<HashMap<&str, &Function>> =
        LazyLock::new(|| all().map(|function| (function.id, function)).collect());
    BY_ID.get(id).or_else(|| BY_ID.get(current_id(id)?)).copied()
}

/// The identifier that XACML 3.0 has for a function which earlier versions named otherwise.
pub fn current_id(earlier: &str) -> Option<&'static str> {
    EARLIER_IDS.iter().find(|(id, _)| *id == earlier).map(|(_, current)| *current)
}

/// Identifiers of XACML 1.0, 1.1 and 2.0 (section 10.2.8 of each) that 3.0 no longer lists, with those it has instead.
pub const EARLIER_IDS: [(&str, &str); 7] = [
    (id!("1.0", "regexp-string-match"), id!("1.0", "string-regexp-match")),
    (id!("1.0", "regexp-uri-match"), id!("2.0", "anyURI-regexp-match")),
    (id!("1.0", "regexp-ipAddress-match"), id!("2.0", "ipAddress-regexp-match")),
    (id!("1.0", "regexp-dnsName-match"), id!("2.0", "dnsName-regexp-match")),
    (id!("1.0", "regexp-rfc822Name-match"), id!("2.0", "rfc822Name-regexp-match")),
    (id!("1.0", "regexp-x500Name-match"), id!("2.0", "x500Name-regexp-match")),
    (id!("2.0", "url-string-concatenate"), id!("2.0", "uri-string-concatenate")),
];

/// Every function there is, family by family.
pub fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.into_iter().flatten()
}

static TABLES: [&[Function]; 11] = [
    equality::TABLE,
    arithmetic::TABLE,
    convert::TABLE,
    logic::TABLE,
    compare::TABLE,
    date::TABLE,
    text::TABLE,
    regexp::TABLE,
    bag::BAG_TABLE,
    bag::SET_TABLE,
    logic::BEYOND_ARGUMENTS,
];
