//! Identifiers: unknown functions and data types with the one that may be meant, deprecated ones with their
//! successors, legacy and `ordered-` combining algorithms, and standard identifiers with a letter wrong.

use durward_ir::near::{nearest, nearest_within};
use durward_ir::{DataType, function};
use durward_xacml::request::identifiers;
use smol_str::SmolStr;

use super::expression::visit;
use super::finding::{Findings, Severity};
use crate::tree::{AttributeDesignator, Expression, MatchAttribute, Policy, Standard, Target, XmlLocation};

const XACML: &str = "urn:oasis:names:tc:xacml:";
/// The beginnings of the identifiers that durations had before 3.0.
const OLD_DURATIONS: [&str; 2] =
    ["http://www.w3.org/TR/2002/WD-xquery-operators-20020816#", "urn:oasis:names:tc:xacml:2.0:data-type:"];
const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema#";

/// Identifiers of the standard that are wrong by this many letters are taken for mistyped.
const LETTERS_WRONG_MAX: usize = 2;

/// After this many findings in a document, near names are no longer looked for: that takes time.
const SUGGESTIONS_MAX: usize = 100;

/// What a data type may be meant to be.
const DATA_TYPES: [DataType; 17] = [
    DataType::Text,
    DataType::Boolean,
    DataType::Integer,
    DataType::Double,
    DataType::Time,
    DataType::Date,
    DataType::DateTime,
    DataType::DayTimeDuration,
    DataType::YearMonthDuration,
    DataType::AnyUri,
    DataType::HexBinary,
    DataType::Base64Binary,
    DataType::Rfc822Name,
    DataType::X500Name,
    DataType::IpAddress,
    DataType::DnsName,
    DataType::XPathExpression,
];

/// The categories of XACML 3.0, appendix B.2, and 2.0's subject categories.
const CATEGORIES: [&str; 8] = [
    identifiers::ACCESS_SUBJECT,
    identifiers::RESOURCE,
    identifiers::ACTION,
    identifiers::ENVIRONMENT,
    "urn:oasis:names:tc:xacml:1.0:subject-category:recipient-subject",
    "urn:oasis:names:tc:xacml:1.0:subject-category:intermediary-subject",
    "urn:oasis:names:tc:xacml:1.0:subject-category:codebase",
    "urn:oasis:names:tc:xacml:1.0:subject-category:requesting-machine",
];

/// Attribute identifiers of XACML 3.0, appendix B, with the category they belong to.
const ATTRIBUTES: [(&str, &str); 8] = [
    ("urn:oasis:names:tc:xacml:1.0:subject:subject-id", identifiers::ACCESS_SUBJECT),
    ("urn:oasis:names:tc:xacml:2.0:subject:role", identifiers::ACCESS_SUBJECT),
    ("urn:oasis:names:tc:xacml:1.0:resource:resource-id", identifiers::RESOURCE),
    ("urn:oasis:names:tc:xacml:2.0:resource:target-namespace", identifiers::RESOURCE),
    ("urn:oasis:names:tc:xacml:1.0:action:action-id", identifiers::ACTION),
    ("urn:oasis:names:tc:xacml:1.0:environment:current-time", identifiers::ENVIRONMENT),
    ("urn:oasis:names:tc:xacml:1.0:environment:current-date", identifiers::ENVIRONMENT),
    ("urn:oasis:names:tc:xacml:1.0:environment:current-dateTime", identifiers::ENVIRONMENT),
];

/// Every identifier in a policy.
pub(super) fn policy(policy: &Policy, findings: &mut Findings) {
    algorithm(&policy.combining_algorithm, "rule", policy.place, findings);
    target(&policy.target, findings);
    policy.rules.iter().filter_map(|rule| rule.target.as_ref()).for_each(|it| target(it, findings));
    for whole in super::expression::of_policy(policy) {
        visit(whole, &mut |part| expression(part, findings));
    }
}

fn expression(expression: &Expression, findings: &mut Findings) {
    match expression {
        Expression::Apply(apply) => function(&apply.function, apply.place, findings),
        Expression::Function(named) => function(&named.id, named.place, findings),
        Expression::Value(value) => data_type(&value.data_type, value.place, findings),
        Expression::Designator(designator) => attribute(designator, findings),
        Expression::Selector(selector) => data_type(&selector.data_type, selector.place, findings),
        Expression::Variable(_) => {}
    }
}

/// Every identifier in a target.
pub(super) fn target(target: &Target, findings: &mut Findings) {
    let all_of = target.any_of.iter().flat_map(|any_of| &any_of.all_of);
    for matching in all_of.flat_map(|all_of| &all_of.matches) {
        function(&matching.function, matching.place, findings);
        data_type(&matching.value.data_type, matching.value.place, findings);
        match &matching.attribute {
            MatchAttribute::Designator(designator) => attribute(designator, findings),
            MatchAttribute::Selector(selector) => data_type(&selector.data_type, selector.place, findings),
        }
    }
}

/// A combining algorithm; `what` is `rule` or `policy`.
pub(super) fn algorithm(uri: &SmolStr, what: &str, place: XmlLocation, findings: &mut Findings) {
    let Some((version, name)) = uri
        .strip_prefix(XACML)
        .and_then(|rest| rest.split_once(':'))
        .and_then(|(version, rest)| Some((version, rest.rsplit_once("combining-algorithm:")?.1)))
    else {
        return;
    };
    if matches!(version, "1.0" | "1.1") && name.ends_with("-overrides") {
        if findings.written_in < Standard::Xacml3 {
            return;
        }
        let message = || format!("`{name}` of XACML {version} treats errors differently from that of 3.0");
        let help = format!("unless that is wanted, use `{XACML}3.0:{what}-combining-algorithm:{name}`");
        findings.hint_once("legacy-algorithm", uri, place, message, &help);
    } else if let (Some(plain), "3.0") = (name.strip_prefix("ordered-"), version) {
        let message =
            || format!("`{name}` is the same as `{plain}` here: children are always combined in order");
        findings.hint_once("ordered-algorithm", uri, place, message, "");
    }
}

/// A function that does not exist, or one that is superseded by one of the same name and a later version (XACML
/// 3.0, A.4).
fn function(id: &SmolStr, place: XmlLocation, findings: &mut Findings) {
    if function::find(id).is_none() {
        let help =
            near_function(id, findings).unwrap_or_else(|| "see docs/functions.md for all of them".to_owned());
        findings.add(Severity::Error, "unknown-function", place, format!("unknown function `{id}`"), &help);
        return;
    }
    if let Some(successor) = successor(id, findings.written_in) {
        let message = || format!("function `{id}` is deprecated");
        findings.hint_once("deprecated-id", id, place, message, &successor);
    }
}

/// What to use instead, if the version of the standard has it: the help of a hint.
fn successor(id: &str, written_in: Standard) -> Option<String> {
    if let (Some(current), Standard::Xacml2 | Standard::Xacml3) = (function::current_id(id), written_in) {
        return Some(format!("use `{current}`"));
    }
    if written_in < Standard::Xacml3 {
        return None;
    }
    if id == "urn:oasis:names:tc:xacml:2.0:function:uri-string-concatenate" {
        let help = "use `urn:oasis:names:tc:xacml:2.0:function:string-concatenate` and `anyURI-from-string`";
        return Some(help.to_owned());
    }
    let name = id.strip_prefix("urn:oasis:names:tc:xacml:1.0:function:")?;
    let successor = function::find(&format!("{XACML}3.0:function:{name}"))?.id;
    Some(match name.starts_with("xpath-") {
        true => format!("use `{successor}`, which takes an xpathExpression"),
        false => format!("use `{successor}`"),
    })
}

/// The function meant: the one of this name in another version of the standard, or one with a few letters changed.
fn near_function(id: &str, findings: &Findings) -> Option<String> {
    if findings.count_all() > SUGGESTIONS_MAX {
        return None;
    }
    let name = id.rsplit(':').next().unwrap_or(id);
    let near = nearest(name, function::all().map(|known| known.short_name()))?;
    let meant = function::all().find(|known| known.short_name() == near)?;
    Some(format!("did you mean `{}`?", meant.id))
}

/// A data type that does not exist, or is superseded.
fn data_type(uri: &SmolStr, place: XmlLocation, findings: &mut Findings) {
    if DataType::from_uri(uri).is_none() {
        let name = uri.rsplit(['#', ':', '/']).next().unwrap_or(uri);
        let near = nearest_within(name, LETTERS_WRONG_MAX, DATA_TYPES.iter().map(|known| known.short_name()));
        let help = match near.and_then(|near| DATA_TYPES.iter().find(|known| known.short_name() == near)) {
            Some(known) => format!("did you mean `{}`?", known.uri()),
            None => "durward knows the data types of XACML 3.0, section 10.2.7".to_owned(),
        };
        findings.add(
            Severity::Error,
            "unknown-data-type",
            place,
            format!("unknown data type `{uri}`"),
            &help,
        );
    }
    let old = OLD_DURATIONS.iter().find_map(|beginning| uri.strip_prefix(beginning));
    let old = old.filter(|name| name.ends_with("Duration"));
    if let (Some(name), Standard::Xacml3) = (old, findings.written_in) {
        let help = format!("use `{SCHEMA}{name}`");
        let message = || format!("data type `{uri}` is deprecated");
        findings.hint_once("deprecated-id", uri, place, message, &help);
    }
}

fn attribute(designator: &AttributeDesignator, findings: &mut Findings) {
    data_type(&designator.data_type, designator.place, findings);
    mistyped("category", &designator.category, CATEGORIES, designator.place, findings);
    let known = ATTRIBUTES.map(|(id, _)| id);
    mistyped("attribute", &designator.id, known, designator.place, findings);
    let home = ATTRIBUTES.iter().find(|(id, _)| designator.id == *id).map(|(_, home)| *home);
    // The subject's attributes are those of every subject category.
    let elsewhere = home
        .filter(|home| *home != identifiers::ACCESS_SUBJECT && CATEGORIES.contains(&&*designator.category));
    if let Some(home) = elsewhere.filter(|home| designator.category != *home) {
        let message = format!("`{}` is looked for in category `{}`", designator.id, designator.category);
        let help = format!("requests give it in category `{home}`");
        findings.warn("unusual-category", designator.place, message, &help);
    }
}

/// An identifier in the standard's own namespace that is not quite one of the standard's.
fn mistyped<const N: usize>(
    what: &str,
    id: &str,
    known: [&str; N],
    place: XmlLocation,
    findings: &mut Findings,
) {
    if !id.starts_with(XACML) || known.contains(&id) || is_standard_neighbour(id) {
        return;
    }
    if let Some(near) = nearest_within(id, LETTERS_WRONG_MAX, known) {
        let message = format!("{what} `{id}` is none of the standard's, but looks like one");
        findings.warn("mistyped-id", place, message, &format!("did you mean `{near}`?"));
    }
}

/// Identifiers the standard defines, or defined, that differ from others by a letter or two.
fn is_standard_neighbour(id: &str) -> bool {
    // XACML 1.0 and 2.0 number them otherwise: `1.0:subject:role` does not exist, `2.0:action:...` neither, but
    // `1.0:resource:target-namespace` of XACML 1 does.
    id == "urn:oasis:names:tc:xacml:1.0:resource:target-namespace"
}
