//! UTF-16: whatever a reader of XML says of a document, it says of the same document in UTF-16 (XML 1.0, 4.3.3).

use durward_xacml::encoding::Utf16;
use durward_xacml::request::{Request, Version};
use durward_xacml::response::Response;
use durward_xacml_policies::policy::{Limits, RootKind, read_policy, root_kind};

const REQUEST: &str = "<Request xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17' CombinedDecision='false' \
    ReturnPolicyIdList='false'>\n<Attributes Category='c'><Attribute AttributeId='a' IncludeInResult='true'>\
    <AttributeValue DataType='http://www.w3.org/2001/XMLSchema#string'>\u{e9}\u{1f600}</AttributeValue></Attribute>\
    </Attributes></Request>";
const POLICY: &str = "<Policy xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17' PolicyId='p\u{e9}' Version='1.0' \
    RuleCombiningAlgId='urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides'>\n<Target/>\n\
    <Rule RuleId='r' Effect='Permit'/></Policy>";

/// Both orders, with and without the mark, with and without a declaration.
fn every_way(document: &str) -> Vec<(Utf16, String, Vec<u8>)> {
    let mut ways = Vec::new();
    for order in [Utf16::Little, Utf16::Big] {
        for (declared, mark) in
            [("", "\u{FEFF}"), ("", ""), ("UTF-16", "\u{FEFF}"), ("utf-16", ""), ("own", "")]
        {
            let name = if declared == "own" { order.to_string() } else { declared.to_owned() };
            // In UTF-8 the declaration is as long, so that what follows has the same columns.
            let declaration = |name: &str, blanks: &str| match name {
                "" => String::new(),
                name => format!("<?xml version=\"1.0\" encoding='{name}'{blanks} standalone='yes'?>"),
            };
            let units = format!("{mark}{}{document}", declaration(&name, ""));
            let bytes = units.encode_utf16().flat_map(|unit| match order {
                Utf16::Little => unit.to_le_bytes(),
                Utf16::Big => unit.to_be_bytes(),
            });
            let same = match name.len() {
                0 => String::new(),
                length => declaration("UTF-8", &" ".repeat(length - "UTF-8".len())),
            };
            ways.push((order, format!("{same}{document}"), bytes.collect()));
        }
    }
    ways
}

#[test]
fn good_documents_are_read() {
    for (order, _, bytes) in every_way(REQUEST) {
        let request = Request::from_xml(&bytes).unwrap_or_else(|error| panic!("{order}: {error}"));
        let value = request.categories.attributes().next().unwrap().values()[0].lexical().into_owned();
        assert_eq!(value, "\u{e9}\u{1f600}");
        assert_eq!(Version::of_xml(&bytes), Version::V3);
        assert_eq!(root_kind(&bytes), RootKind::Request);
    }
    for (order, _, bytes) in every_way(POLICY) {
        let policy = read_policy("p.xml", &bytes, &Limits::default());
        assert!(policy.is_ok(), "{order}: {policy:?}");
        assert_eq!(root_kind(&bytes), RootKind::Policy);
    }
    let response = "<Response xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17'><Result><Decision>Deny</Decision>\
        </Result></Response>";
    for (_, _, bytes) in every_way(response) {
        assert!(Response::from_xml(&bytes).is_ok());
    }
}

#[test]
fn errors_stand_where_they_stand_in_utf_8() {
    for (right, wrong) in [("\u{1f600}<", "\u{1f600}</x><"), ("AttributeId", "AttributId"), ("'c'", "'c")] {
        for (order, same, bytes) in every_way(&REQUEST.replace(right, wrong)) {
            let expected = Request::from_xml(same.as_bytes()).unwrap_err();
            assert_eq!(Request::from_xml(&bytes).unwrap_err(), expected, "{order} {wrong}");
        }
    }
    for (right, wrong) in
        [("Target", "Targt"), ("RuleId='r'", "\u{1f600} RulId='r'"), ("/></Policy", "/></Polic")]
    {
        for (order, same, bytes) in every_way(&POLICY.replace(right, wrong)) {
            let problems = |bytes: &[u8]| {
                let found = read_policy("p.xml", bytes, &Limits::default()).unwrap_err();
                found.iter().map(ToString::to_string).collect::<Vec<_>>()
            };
            assert_eq!(problems(&bytes), problems(same.as_bytes()), "{order} {wrong}");
        }
    }
}

#[test]
fn what_is_no_utf_16_is_refused_with_its_place() {
    let half = |text: &str, rest: &[u8]| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        units.chain(rest.iter().copied()).collect::<Vec<u8>>()
    };
    for (bytes, message) in [
        (half("<a>\n<b", b"x"), "invalid UTF-16: an odd number of bytes (line 2, column 3)"),
        (
            half("<a>\n<b", &[0x00, 0xD8, 0x20, 0x00]),
            "invalid UTF-16: half a surrogate pair (line 2, column 3)",
        ),
        (half("<a>", &[0x00, 0xDC]), "invalid UTF-16: half a surrogate pair (line 1, column 4)"),
        (
            half("<?xml version='1.0' encoding='UTF-8'?><a/>", b""),
            "the document says that it is written in `UTF-8`, and is in UTF-16LE (line 1, column 31)",
        ),
        (
            half("<?xml version='1.0' encoding='UTF-16BE'?><a/>", b""),
            "the document says that it is written in `UTF-16BE`, and is in UTF-16LE (line 1, column 31)",
        ),
    ] {
        assert_eq!(Request::from_xml(&bytes).unwrap_err().to_string(), message);
        assert!(read_policy("p.xml", &bytes, &Limits::default()).is_err());
    }
}

#[test]
fn the_limit_of_bytes_holds_before_and_after() {
    let bytes: Vec<u8> =
        "<a>\u{20ac}\u{20ac}\u{20ac}\u{20ac}</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes_max in [bytes.len() - 1, 18] {
        let limits = durward_xacml::request::Limits { bytes_max, ..Default::default() };
        let error = Request::from_xml_within(&bytes, &limits).unwrap_err();
        assert!(error.message.contains("are allowed"), "{bytes_max}: {error}");
    }
}

#[test]
fn utf_8_that_says_utf_16_is_refused() {
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{REQUEST}");
    assert!(Request::from_xml(text.as_bytes()).is_err());
    assert!(read_policy("p.xml", text.replace(REQUEST, POLICY).as_bytes(), &Limits::default()).is_err());
}
