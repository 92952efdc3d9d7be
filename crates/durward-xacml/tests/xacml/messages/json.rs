//! Requests in JSON, good and bad.

use durward_xacml::request::RequestErrorKind::{IllFormed, Limit, Structure, Value};
use durward_xacml::request::{Limits, Request, RequestError, RequestErrorKind, identifiers};

use super::{described, facts};

fn read(text: &str) -> Request {
    Request::from_json(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn error(text: &str) -> RequestError {
    match Request::from_json(text.as_bytes()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error,
    }
}

/// A request with one attribute with these members.
fn with(members: &str) -> String {
    format!(
        r#"{{"Request":{{"Category":[{{"CategoryId":"c","Attribute":[{{"AttributeId":"i",{members}}}]}}]}}}}"#
    )
}

/// The values of the attribute of [`with`].
fn values(members: &str) -> Vec<String> {
    let request = read(&with(members));
    request.categories.attributes().flat_map(|attribute| attribute.values()).map(super::value).collect()
}

#[test]
fn all_members_are_read() {
    let request = read(
        r#"{"Request": {"ReturnPolicyIdList": true, "CombinedDecision": true, "XPathVersion": "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "AccessSubject": {"Id": "s", "Attribute": {"AttributeId": "role", "Value": "d\u006fctor\n"}},
        "Category": [{"CategoryId": "c", "Content": "<?xml version=\"1.0\"?><r a=\"1\"/>",
            "Attribute": [{"AttributeId": "i", "Issuer": "me", "IncludeInResult": true, "Value": 1}]}],
        "Resource": [{}, {"CategoryId": "urn:oasis:names:tc:xacml:3.0:attribute-category:resource"}],
        "Action": {}, "Environment": {}, "RecipientSubject": {}, "IntermediarySubject": {}, "Codebase": {},
        "RequestingMachine": {"Attribute": []},
        "MultiRequests": {"RequestReference": [{"ReferenceId": ["s"]}]}}}"#,
    );
    assert!(request.return_policy_ids && request.combined_decision);
    assert_eq!(request.xpath_version.as_deref(), Some("http://www.w3.org/TR/1999/REC-xpath-19991116"));
    assert_eq!(request.multi_requests[0].ids, ["s"]);
    let names: Vec<String> =
        request.categories.iter().map(|category| category.category.to_string()).collect();
    assert_eq!(
        names,
        [
            identifiers::ACCESS_SUBJECT,
            "c",
            identifiers::RESOURCE,
            identifiers::RESOURCE,
            identifiers::ACTION,
            identifiers::ENVIRONMENT,
            identifiers::RECIPIENT_SUBJECT,
            identifiers::INTERMEDIARY_SUBJECT,
            identifiers::CODEBASE,
            identifiers::REQUESTING_MACHINE
        ]
    );
    let lines = described(&request.categories);
    assert_eq!(lines[1], r#"  role None false ["Text doctor\n"]"#);
    assert_eq!(lines[3], r#"  i Some("me") true ["Integer 1"]"#);
    assert_eq!(request.categories.find("c").unwrap().content.as_ref().unwrap().xml, "<r a=\"1\"/>");
}

#[test]
fn data_types_are_inferred_from_json() {
    assert_eq!(values(r#""Value": "1""#), ["Text 1"]);
    assert_eq!(values(r#""Value": true"#), ["Boolean true"]);
    assert_eq!(values(r#""Value": -12"#), ["Integer -12"]);
    assert_eq!(values(r#""Value": 1.5"#), ["Double 1.5E0"]);
    assert_eq!(values(r#""Value": 1e2"#), ["Double 1.0E2"]);
    assert_eq!(values(r#""Value": [1, 2]"#), ["Integer 1", "Integer 2"]);
    assert_eq!(values(r#""Value": [1, 2.5]"#), ["Double 1.0E0", "Double 2.5E0"]);
    assert_eq!(values(r#""Value": ["a", "b"]"#), ["Text a", "Text b"]);
    assert_eq!(values(r#""Value": []"#), Vec::<String>::new());
    let long = "123456789012345678901234567890";
    assert_eq!(values(&format!(r#""Value": {long}"#)), [format!("Integer {long}")]);
}

#[test]
fn data_types_are_given_by_short_name_or_identifier() {
    assert_eq!(values(r#""DataType": "integer", "Value": "7""#), ["Integer 7"]);
    assert_eq!(values(r#""Value": 7, "DataType": "double""#), ["Double 7.0E0"]);
    assert_eq!(
        values(r#""DataType": "double", "Value": ["INF", "-INF", "NaN", 1]"#)[..3],
        ["Double INF", "Double -INF", "Double NaN"]
    );
    assert_eq!(
        values(r#""DataType": "http://www.w3.org/2001/XMLSchema#date", "Value": "2020-02-29""#),
        ["Date 2020-02-29"]
    );
    assert_eq!(values(r#""DataType": "dnsName", "Value": "a.b""#), ["DnsName a.b"]);
    assert_eq!(values(r#""DataType": "urn:mine", "Value": ["x"]"#), ["Opaque x"]);
}

#[test]
fn an_xpath_expression_is_an_object() {
    for data_type in [r#""DataType": "xpathExpression","#, ""] {
        let text = with(&format!(
            r#"{data_type} "Value": {{"XPathCategory": "Resource", "XPath": "//a:b",
            "Namespaces": [{{"Namespace": "urn:d"}}, {{"Prefix": "a", "Namespace": "urn:a"}}]}}"#
        ));
        let request = read(&text);
        let attribute = request.categories.attributes().next().unwrap();
        let durward_ir::Value::XPathExpression(expression) = &attribute.values()[0] else { panic!() };
        assert_eq!(expression.category, identifiers::RESOURCE);
        assert_eq!(expression.path, "//a:b");
        let namespaces: Vec<(&str, &str)> =
            expression.namespaces.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str())).collect();
        assert_eq!(namespaces, [("", "urn:d"), ("a", "urn:a")]);
    }
}

#[test]
fn content_may_be_in_base64() {
    let text = r#"{"Request":{"Resource":{"Content":"PD94bWwgdmVyc2lvbj0iMS4wIj8+\nPHI+PHMvPjwvcj4="}}}"#;
    let request = read(text);
    let content = request.categories.iter().next().unwrap().content.clone().unwrap();
    assert_eq!(content.xml.trim(), "<r><s/></r>");
}

#[test]
fn mistakes_are_told_apart() {
    let cases: &[(&str, RequestErrorKind, &str)] = &[
        ("", IllFormed, "EOF while parsing"),
        ("{", IllFormed, "EOF while parsing"),
        ("[]", Structure, "an array of length 0 stands where an object is expected"),
        ("1", Structure, "the number `1` stands where an object is expected"),
        (" <Request/>", IllFormed, "the text is XML, and was sent as JSON; the content type of XML is"),
        ("{}", Structure, "missing field `Request`"),
        (r#"{"Request":{}}"#, Structure, "a request needs at least one category (at `Request`)"),
        (r#"{"Request":{},"Request":{}}"#, Structure, "duplicate field `Request`"),
        (r#"{"Request":{},"Other":{}}"#, Structure, "unknown field `Other`"),
        (
            r#"{"Request":{"Subject":{}}}"#,
            Structure,
            "unknown field `Subject`, expected one of `ReturnPolicyIdList`",
        ),
        (r#"{"Request":{"Action":{},"Action":{}}}"#, Structure, "duplicate field `Action`"),
        (
            r#"{"Request":{"Category":[{}]}}"#,
            Structure,
            "a category needs `CategoryId` (at `Request.Category[0]`)",
        ),
        (
            r#"{"Request":{"Category":"x"}}"#,
            Structure,
            "the string \"x\" stands where an array of objects, or one object is expected",
        ),
        (r#"{"Request":{"Action":{"CategoryId":"x"}}}"#, Structure, "`CategoryId` must be"),
        (
            r#"{"Request":{"Action":{"Id":"x"},"Resource":{"Id":"x"}}}"#,
            Structure,
            "the `Id` `x` stands twice",
        ),
        (r#"{"Request":{"Action":{"Content":"<a>"}}}"#, Value, "the content is not XML"),
        (r#"{"Request":{"Action":{"Content":"<!DOCTYPE a><a/>"}}}"#, Value, "the content is not XML"),
        (r#"{"Request":{"Action":{"Content":"???"}}}"#, Value, "the content is neither XML nor base64"),
        (r#"{"Request":{"Action":{"Attribute":[{"AttributeId":"a"}]}}}"#, Structure, "missing field `Value`"),
        (r#"{"Request":{"Action":{"Attribute":[{"Value":"a"}]}}}"#, Structure, "missing field `AttributeId`"),
        (
            r#"{"Request":{"Action":{},"CombinedDecision":"true"}}"#,
            Structure,
            "the string \"true\" stands where a boolean is expected",
        ),
        (
            r#"{"Request":{"Action":{},"MultiRequests":{"RequestReference":[]}}}"#,
            Structure,
            "every list of references",
        ),
        (r#"{"Request":{"Action":{}}} x"#, IllFormed, "trailing characters"),
        ("{\"Request\":{\"Action\":{\"Id\":\"\\ud800\"}}}", IllFormed, "unexpected end of hex escape"),
    ];
    for (text, kind, message) in cases {
        let found = error(text);
        assert_eq!(found.kind, *kind, "{text}: {found}");
        assert!(found.to_string().starts_with(message), "{text}: {found}");
    }
    assert_eq!(Request::from_json(b"\xff").unwrap_err().kind, IllFormed);
}

/// Every value of a request replaced by every kind of value: whatever is said, it is said without the names of types.
#[test]
fn no_message_names_a_type_of_ours() {
    let good: serde_json::Value = serde_json::from_str(
        r#"{"Request": {"ReturnPolicyIdList": true, "XPathVersion": "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "AccessSubject": {"Id": "s", "Content": "<a/>", "Attribute": [{"AttributeId": "role", "Issuer": "i",
            "IncludeInResult": true, "DataType": "string", "Value": ["a", "b"]}]},
        "Category": [{"CategoryId": "c", "Attribute": {"AttributeId": "x", "DataType": "xpathExpression",
            "Value": {"XPathCategory": "c", "Namespaces": [{"Prefix": "p", "Namespace": "n"}], "XPath": "/a"}}}],
        "MultiRequests": {"RequestReference": [{"ReferenceId": ["s"]}]}}}"#,
    )
    .unwrap();
    read(&good.to_string());
    let kinds = ["null", "true", "1", "-1.5", "\"x\"", "[]", "[[]]", "[{}]", "{}", "{\"x\": 1}"];
    let mut refused = 0;
    for place in places(&good, "") {
        for kind in kinds {
            let mut changed = good.clone();
            *changed.pointer_mut(&place).unwrap() = serde_json::from_str(kind).unwrap();
            let Err(error) = Request::from_json(changed.to_string().as_bytes()) else { continue };
            refused += 1;
            let words =
                ["struct", "enum", "Json", "usize", "u64", "sequence", " map", "variant", "unit", "borrowed"];
            let said = error.message.replace("`xpathExpression`", "");
            assert!(words.iter().all(|word| !said.contains(word)), "{place} {kind}: {error}");
        }
    }
    assert!(refused > 150, "{refused}");
}

/// The JSON pointers to a value and to all within.
fn places(value: &serde_json::Value, at: &str) -> Vec<String> {
    let mut found = vec![at.to_owned()];
    if let Some(object) = value.as_object() {
        found.extend(object.iter().flat_map(|(name, inner)| places(inner, &format!("{at}/{name}"))));
    }
    if let Some(array) = value.as_array() {
        found.extend(
            array.iter().enumerate().flat_map(|(number, inner)| places(inner, &format!("{at}/{number}"))),
        );
    }
    found
}

#[test]
fn an_xpath_version_that_is_not_supported_is_refused() {
    for version in ["http://www.w3.org/TR/2007/REC-xpath20-20070123", "nonsense", ""] {
        let found = error(&format!(r#"{{"Request": {{"XPathVersion": "{version}", "Action": {{}}}}}}"#));
        assert!(found.message.contains("1.0 is supported"), "{found}");
        assert!(found.to_string().contains("Request.XPathVersion"), "{found}");
    }
    read(r#"{"Request": {"XPathVersion": "http://www.w3.org/TR/1999/Rec-xpath-19991116", "Action": {}}}"#);
}

#[test]
fn values_that_are_not_of_their_data_type_are_refused_with_their_place() {
    let cases = [
        (r#""Value": null"#, "`null` is not a value"),
        (r#""Value": [null]"#, "`null` is not a value"),
        (r#""Value": [[1]]"#, "an array may not hold arrays"),
        (r#""Value": [1, "a"]"#, "the values of one array must be of one kind"),
        (r#""Value": [true, 1]"#, "the values of one array must be of one kind"),
        (r#""DataType": "integer", "Value": "abc""#, "`abc` is not an integer"),
        (r#""DataType": "integer", "Value": 1.5"#, "`1.5` is not an integer"),
        (
            r#""DataType": "string", "Value": 1"#,
            "the number `1` is not of the data type string; put it in quotes",
        ),
        (r#""DataType": "integer", "Value": true"#, "the boolean `true` is not of the data type integer"),
        (r#""DataType": "urn:mine", "Value": 1"#, "a value of the data type `urn:mine` must be a string"),
        (r#""DataType": "xpathExpression", "Value": "/a""#, "an xpathExpression is an object"),
        (r#""DataType": "string", "Value": {}"#, "an object is not of the data type string"),
        (r#""Value": {"XPath": "a"}"#, "missing field `XPathCategory`"),
        (r#""Value": {"XPath": "a", "XPathCategory": "b", "c": 1}"#, "unknown field `c`"),
    ];
    for (members, message) in cases {
        let found = error(&with(members));
        assert!(found.message.starts_with(message), "{members}: {found}");
        assert!(found.to_string().ends_with("(at `Request.Category[0].Attribute[0].Value`)"), "{found}");
    }
    let found = error(&with(r#""DataType": "strng", "Value": "a""#));
    assert!(found.to_string().starts_with("`strng` is not a data type"), "{found}");
    assert!(found.to_string().ends_with("(at `Request.Category[0].Attribute[0].DataType`)"), "{found}");
}

#[test]
fn a_text_cut_anywhere_is_refused_and_nothing_panics() {
    let text = with(r#""Issuer": "ä€😀\n", "DataType": "double", "Value": [1.5, "NaN"]"#);
    for end in 0..text.len() {
        assert!(Request::from_json(&text.as_bytes()[..end]).is_err());
        let _ = Request::from_json(&text.as_bytes()[end..]);
    }
}

#[test]
fn limits_are_kept() {
    let text = with(r#""Value": [1, 2]"#);
    for limits in [
        Limits { bytes_max: 10, ..Limits::default() },
        Limits { categories_max: 0, ..Limits::default() },
        Limits { attributes_max: 0, ..Limits::default() },
        Limits { values_max: 1, ..Limits::default() },
    ] {
        assert_eq!(
            Request::from_json_within(text.as_bytes(), &limits).unwrap_err().kind,
            Limit,
            "{limits:?}"
        );
    }
}

#[test]
fn large_and_hostile_requests_are_read_or_refused() {
    let attribute = r#"{"AttributeId":"a","Value":1}"#;
    let many = |count: usize| {
        format!(r#"{{"Request":{{"Action":{{"Attribute":[{}]}}}}}}"#, vec![attribute; count].join(","))
    };
    assert_eq!(read(&many(10_000)).categories.attribute_count(), 10_000);
    assert_eq!(error(&many(20_001)).kind, Limit);
    error(&"[".repeat(1_000_000));
    error(&with(&format!(r#""Value": {}"#, "[".repeat(1_000_000))));
    error(&with(&format!(r#""Value": {}{}"#, "[".repeat(500_000), "]".repeat(500_000))));
    error(&with(&format!(r#""Value": {}1{}"#, r#"{"a":"#.repeat(300_000), "}".repeat(300_000))));
    error(&format!(r#"{{"Request":{{"Action":{{"Content":"{}"}}}}}}"#, "<a>".repeat(1_000_000)));
    let _ = Request::from_json(with(&format!(r#""Value": {}"#, "9".repeat(1_000_000))).as_bytes());
}

#[test]
fn what_is_written_reads_back() {
    let request = read(&with(
        r#""Issuer": "\"\\\u0001\n\u2028", "IncludeInResult": true, "DataType": "double", "Value": [1, "INF", 1e300, 0.1]"#,
    ));
    let again = read(&request.to_json());
    assert_eq!(described(&request.categories), described(&again.categories));
    let big = read(&with(r#""Value": [9007199254740993, 1, -9007199254740991]"#));
    assert!(big.to_json().contains("\"9007199254740993\",1,-9007199254740991"), "{}", big.to_json());
    assert_eq!(facts(&big), facts(&read(&big.to_json())));
    // Integers a reader of JSON keeps exactly need no data type.
    let small = read(&with(r#""Value": [9007199254740991]"#)).to_json();
    assert!(small.contains(r#"{"AttributeId":"i","Value":9007199254740991}"#), "{small}");
}

#[test]
fn a_member_that_is_null_is_absent_wherever_it_may_be() {
    let with = |member: &str, at: &str| {
        let category = r#"{"CategoryId":"c"CATEGORY,"Attribute":[{"AttributeId":"a","Value":1ATTRIBUTE}]}"#;
        let request = format!(r#"{{"Request":{{"Category":[{category}]REQUEST}}}}"#);
        let text = ["CATEGORY", "ATTRIBUTE", "REQUEST"].iter().fold(request, |text, place| {
            text.replace(place, &if *place == at { format!(",\"{member}\":null") } else { String::new() })
        });
        Request::from_json(text.as_bytes())
    };
    for (at, members) in [
        (
            "REQUEST",
            "ReturnPolicyIdList CombinedDecision XPathVersion AccessSubject Resource Environment MultiRequests",
        ),
        ("CATEGORY", "Id Content"),
        ("ATTRIBUTE", "Issuer IncludeInResult DataType"),
    ] {
        for member in members.split(' ') {
            let read = with(member, at).unwrap_or_else(|error| panic!("{member}: {error}"));
            assert_eq!(read.categories.attribute_count(), 1, "{member}");
            assert!(!read.return_policy_ids && !read.combined_decision && read.multi_requests.is_empty());
        }
    }
    let nothing = br#"{"Request":{"Category":[{"CategoryId":"c","Attribute":null}]}}"#;
    assert_eq!(Request::from_json(nothing).unwrap().categories.attribute_count(), 0);
}

#[test]
fn short_identifiers_stand_for_whole_ones_in_their_category_and_only_when_asked() {
    let text = r#"{"Request":{
        "AccessSubject":{"Attribute":[{"AttributeId":"subject-id","Value":"ann","IncludeInResult":true},
            {"AttributeId":"resource-id","Value":"x"},{"AttributeId":"role","Value":["a","b"]}]},
        "Resource":{"Attribute":[{"AttributeId":"resource-id","DataType":"anyURI","Value":"http://x"}]},
        "Category":[{"CategoryId":"urn:mine","Attribute":[{"AttributeId":"subject-id","Value":"y"}]}]}}"#;
    let plain = Request::from_json(text.as_bytes()).unwrap();
    let mut whole = plain.clone();
    whole.expand_short_ids();
    let ids = |request: &Request| {
        request.categories.attributes().map(|found| found.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&plain), ["subject-id", "resource-id", "role", "resource-id", "subject-id"]);
    assert_eq!(
        ids(&whole),
        [
            "urn:oasis:names:tc:xacml:1.0:subject:subject-id",
            "resource-id",
            "urn:oasis:names:tc:xacml:2.0:subject:role",
            "urn:oasis:names:tc:xacml:1.0:resource:resource-id",
            "subject-id",
        ]
    );
    assert_eq!(whole.categories.value_count(), plain.categories.value_count());
    assert!(whole.categories.has_echoes());
    let once = ids(&whole);
    whole.expand_short_ids();
    assert_eq!(ids(&whole), once);
}
