//! Every identifier of the standards before 3.0, from the lists in section 10.2 of each, is known. Those of 3.0 are held
//! to the list beside the conformance cases.

use crate::combine::{Algorithm, Combines};
use crate::function::{EARLIER_IDS, all, find};
use crate::value::DataType;

const XACML: &str = "urn:oasis:names:tc:xacml:";

/// The types that have functions for bags and sets in XACML 1.0.
const TYPES_1: [&str; 14] = [
    "string",
    "boolean",
    "integer",
    "double",
    "time",
    "date",
    "dateTime",
    "anyURI",
    "hexBinary",
    "base64Binary",
    "dayTimeDuration",
    "yearMonthDuration",
    "x500Name",
    "rfc822Name",
];

/// What every one of those has.
const EACH_1: [&str; 10] = [
    "equal",
    "one-and-only",
    "bag-size",
    "is-in",
    "bag",
    "intersection",
    "at-least-one-member-of",
    "union",
    "subset",
    "set-equals",
];

/// All others of XACML 1.0 and 1.1 (10.3.8), which 2.0 has too.
const OTHERS_1: [&str; 64] = [
    "integer-add",
    "double-add",
    "integer-subtract",
    "double-subtract",
    "integer-multiply",
    "double-multiply",
    "integer-divide",
    "double-divide",
    "integer-mod",
    "integer-abs",
    "double-abs",
    "round",
    "floor",
    "string-normalize-space",
    "string-normalize-to-lower-case",
    "double-to-integer",
    "integer-to-double",
    "or",
    "and",
    "n-of",
    "not",
    "integer-greater-than",
    "integer-greater-than-or-equal",
    "integer-less-than",
    "integer-less-than-or-equal",
    "double-greater-than",
    "double-greater-than-or-equal",
    "double-less-than",
    "double-less-than-or-equal",
    "dateTime-add-dayTimeDuration",
    "dateTime-add-yearMonthDuration",
    "dateTime-subtract-dayTimeDuration",
    "dateTime-subtract-yearMonthDuration",
    "date-add-yearMonthDuration",
    "date-subtract-yearMonthDuration",
    "string-greater-than",
    "string-greater-than-or-equal",
    "string-less-than",
    "string-less-than-or-equal",
    "time-greater-than",
    "time-greater-than-or-equal",
    "time-less-than",
    "time-less-than-or-equal",
    "dateTime-greater-than",
    "dateTime-greater-than-or-equal",
    "dateTime-less-than",
    "dateTime-less-than-or-equal",
    "date-greater-than",
    "date-greater-than-or-equal",
    "date-less-than",
    "date-less-than-or-equal",
    "any-of",
    "all-of",
    "any-of-any",
    "all-of-any",
    "any-of-all",
    "all-of-all",
    "map",
    "x500Name-match",
    "rfc822Name-match",
    "regexp-string-match",
    "xpath-node-count",
    "xpath-node-equal",
    "xpath-node-match",
];

/// What XACML 2.0 adds, in its editions and errata.
const ADDED_2: [&str; 21] = [
    "1.0:function:string-regexp-match",
    "1.0:function:regexp-uri-match",
    "1.0:function:regexp-ipAddress-match",
    "1.0:function:regexp-dnsName-match",
    "1.0:function:regexp-rfc822Name-match",
    "1.0:function:regexp-x500Name-match",
    "2.0:function:anyURI-regexp-match",
    "2.0:function:ipAddress-regexp-match",
    "2.0:function:dnsName-regexp-match",
    "2.0:function:rfc822Name-regexp-match",
    "2.0:function:x500Name-regexp-match",
    "2.0:function:time-in-range",
    "2.0:function:string-concatenate",
    "2.0:function:uri-string-concatenate",
    "2.0:function:url-string-concatenate",
    "2.0:function:ipAddress-one-and-only",
    "2.0:function:ipAddress-bag-size",
    "2.0:function:ipAddress-bag",
    "2.0:function:dnsName-one-and-only",
    "2.0:function:dnsName-bag-size",
    "2.0:function:dnsName-bag",
];

#[test]
fn every_function_of_earlier_versions_is_found() {
    let of_types = TYPES_1.into_iter().flat_map(|of| EACH_1.map(|what| format!("1.0:function:{of}-{what}")));
    let others = OTHERS_1.into_iter().map(|name| format!("1.0:function:{name}"));
    let added = ADDED_2.into_iter().map(str::to_owned);
    let unknown: Vec<String> = of_types
        .chain(others)
        .chain(added)
        .map(|name| format!("{XACML}{name}"))
        .filter(|id| find(id).is_none())
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn an_earlier_name_means_the_function_of_today() {
    for (earlier, current) in EARLIER_IDS {
        assert_eq!(find(earlier).map(|function| function.id), Some(current), "{earlier}");
        assert!(all().all(|function| function.id != earlier), "{earlier}");
    }
}

#[test]
fn every_data_type_of_every_version_is_found() {
    let schema = "http://www.w3.org/2001/XMLSchema#";
    let mut known = Vec::new();
    for name in TYPES_1.into_iter().filter(|name| !name.ends_with("Name")) {
        known.push((format!("{schema}{name}"), name));
    }
    for name in ["dayTimeDuration", "yearMonthDuration"] {
        known.push((format!("http://www.w3.org/TR/2002/WD-xquery-operators-20020816#{name}"), name));
        known.push((format!("{XACML}2.0:data-type:{name}"), name));
    }
    for (version, name) in [
        ("1.0", "x500Name"),
        ("1.0", "rfc822Name"),
        ("2.0", "ipAddress"),
        ("2.0", "dnsName"),
        ("3.0", "xpathExpression"),
    ] {
        known.push((format!("{XACML}{version}:data-type:{name}"), name));
    }
    for (uri, name) in known {
        assert_eq!(DataType::from_uri(&uri).map(DataType::short_name), Some(name), "{uri}");
    }
}

#[test]
fn every_combining_algorithm_of_every_version_is_found() {
    let both = [
        ("1.0", "deny-overrides"),
        ("1.0", "permit-overrides"),
        ("1.0", "first-applicable"),
        ("1.1", "ordered-deny-overrides"),
        ("1.1", "ordered-permit-overrides"),
        ("3.0", "deny-overrides"),
        ("3.0", "permit-overrides"),
        ("3.0", "ordered-deny-overrides"),
        ("3.0", "ordered-permit-overrides"),
        ("3.0", "deny-unless-permit"),
        ("3.0", "permit-unless-deny"),
    ];
    let policies_only = [("1.0", "only-one-applicable"), ("3.0", "on-permit-apply-second")];
    let find = |version: &str, name: &str, kind: &str, what: Combines| {
        Algorithm::from_uri(&format!("{XACML}{version}:{kind}-combining-algorithm:{name}"), what)
    };
    for (version, name) in both {
        assert!(find(version, name, "rule", Combines::Rules).is_some(), "{version} {name}");
        assert!(find(version, name, "policy", Combines::Policies).is_some(), "{version} {name}");
        assert!(find(version, name, "rule", Combines::Policies).is_none(), "{version} {name}");
    }
    for (version, name) in policies_only {
        assert!(find(version, name, "policy", Combines::Policies).is_some(), "{version} {name}");
        assert!(find(version, name, "rule", Combines::Rules).is_none(), "{version} {name}");
    }
}
