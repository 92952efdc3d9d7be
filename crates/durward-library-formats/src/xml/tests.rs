//! What is expected here is what Jackson 3.1 does with the same documents and values.

use durward_functions::fixture::call_with;
use durward_ir::Value;

use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, decimal, object, values};

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

const XSI: &str = r#"xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance""#;

fn read(xml: &str) -> Result<String, String> {
    LIBRARY.call("xml.xmlToVal", &values![xml])
}

#[track_caller]
fn reads(cases: &[(&str, &str)]) {
    for (xml, json) in cases {
        assert_eq!(read(xml).as_deref(), Ok(*json), "{xml}");
    }
}

#[track_caller]
fn refused(cases: &[&str]) {
    for xml in cases {
        let message = read(xml).expect_err(xml);
        assert!(message.starts_with("Failed to parse XML: line "), "{xml}: {message}");
    }
}

#[test]
fn elements_and_attributes_become_keys_and_the_outermost_name_is_lost() {
    reads(&[
        ("<a/>", "{}"),
        ("<a>x</a>", r#"{"":"x"}"#),
        ("<a><b>1</b><b>2</b><c/></a>", r#"{"b":["1","2"],"c":""}"#),
        (r#"<a id="7">x</a>"#, r#"{"id":"7","":"x"}"#),
        (r#"<a b="1"><b>2</b><b c="3"/></a>"#, r#"{"b":["1","2",{"c":"3"}]}"#),
        ("<a><b>1</b> t <b>2</b> u </a>", r#"{"b":["1","2"],"":[" t "," u "]}"#),
        ("<a>x<!-- c -->y<?p q?>z</a>", r#"{"":"xyz"}"#),
        (r#"<a><b x="1"> </b><b> </b></a>"#, r#"{"b":[{"x":"1"}," "]}"#),
        ("<a>&#32;<![CDATA[ ]]></a>", "{}"),
    ]);
}

#[test]
fn references_and_white_space_are_those_of_xml() {
    reads(&[
        ("<a>1 &lt; 2 &#65;&#x42;<![CDATA[<b>]]></a>", r#"{"":"1 < 2 AB<b>"}"#),
        ("<a>\r\nx\r</a>", r#"{"":"\nx\n"}"#),
        ("<a x=\"a\r\nb\tc\nd&#13;\"/>", r#"{"x":"a b c d\r"}"#),
        ("<?xml version=\"1.1\"?><a>\u{85}&#1;</a>", "{\"\":\"\u{85}\\u0001\"}"),
    ]);
    refused(&[
        "<a>&nbsp;</a>",
        "<a>&#X41;</a>",
        "<a>&#x110000;</a>",
        "<a>&#1;</a>",
        "<a>&amp</a>",
        "<a>]]></a>",
    ]);
}

#[test]
fn prefixes_must_be_declared_and_are_dropped() {
    reads(&[
        (r#"<a xmlns="u" xmlns:q="v" q:b="1" b="2"><q:c/></a>"#, r#"{"b":["1","2"],"c":""}"#),
        (r#"<a xml:lang="e"/>"#, r#"{"lang":"e"}"#),
    ]);
    refused(&[
        "<p:a/>",
        r#"<a p:x="1"/>"#,
        "<a:/>",
        r#"<a xmlns:b=""/>"#,
        r#"<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="2"/>"#,
        r#"<a xmlns:xml="u"/>"#,
    ]);
}

#[test]
fn elements_that_are_said_to_be_nothing_are_null() {
    for (tag, json) in [
        (r#"xsi:nil="true" x="1">t<b/></a>"#, "null"),
        (r#"x="1" xsi:nil="true"/>"#, r#"{"x":"1","nil":"true"}"#),
        (r#"xsi:nil="1"/>"#, "{}"),
        (
            r#"><b xsi:type="y"/><b xsi:nil="false"/><b xsi:nil="true"/></a>"#,
            r#"{"b":[{"xsi:type":"y"},"",null]}"#,
        ),
    ] {
        reads(&[(&format!("<a {XSI} {tag}"), json)]);
    }
}

#[test]
fn document_types_are_skipped_with_all_they_declare() {
    reads(&[
        (r#"<!DOCTYPE a [<!ENTITY x "]>"><!ATTLIST a y CDATA "d">]><a/>"#, "{}"),
        (r#"<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>"#, "{}"),
    ]);
    refused(&[
        r#"<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>"#,
        "<!DOCTYPE a><!DOCTYPE a><a/>",
        "<a/><!DOCTYPE a>",
    ]);
}

#[test]
fn what_is_not_well_formed_is_an_error() {
    refused(&[
        "",
        " ",
        "text",
        "<a",
        "<a>",
        "</a>",
        "<a></b>",
        "<a/><b/>",
        "<a/>x",
        "< a/>",
        "<a b=1/>",
        "<a b/>",
        r#"<a b="1" b="2"/>"#,
        r#"<a b="1"c="2"/>"#,
        r#"<a b="<"/>"#,
        "<1/>",
        "<a>\u{1}</a>",
        "\u{feff}<a/>",
        "<a><!-- -- --></a>",
        " <?xml version=\"1.0\"?><a/>",
        "<?xml version=\"1.2\"?><a/>",
        "<?xml?><a/>",
    ]);
    let message = read("<a>\n <b></c>").unwrap_err();
    assert!(message.starts_with("Failed to parse XML: line 2, column "), "{message}");
}

#[test]
fn documents_are_limited_in_depth_and_length() {
    let nested = |depth: usize| read(&format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth)));
    assert!(nested(500).is_ok());
    assert_eq!(nested(501), Err("Maximum nesting depth exceeded.".into()));
    assert!(nested(100_000).is_err());
    assert!(read(&format!("<a>{}</a>", "x".repeat(1024 * 1024))).unwrap_err().starts_with("Input exceeds"));
}

fn written() -> Vec<CallExample<'static>> {
    let rows: &[(Value, Result<&str, &str>)] = &[
        (object! {"a": "b"}, Ok("<a>b</a>")),
        (object! {"a": 1, "b": decimal("2.50")}, Ok("<ObjectNode><a>1</a><b>2.50</b></ObjectNode>")),
        (object! {}, Ok("<ObjectNode/>")),
        (array![1], Ok("<ArrayNode>1</ArrayNode>")),
        (array![array![], 1], Ok("<ArrayNode>1</ArrayNode>")),
        (Value::Text("]]>".into()), Ok("<StringNode>]]&gt;</StringNode>")),
        (Value::Text("<&>\"'".into()), Ok(r#"<StringNode>&lt;&amp;>\"'</StringNode>"#)),
        (Value::Boolean(true), Ok("<BooleanNode>true</BooleanNode>")),
        (decimal("1E+30"), Ok("<DecimalNode>1E+30</DecimalNode>")),
        (object! {"a": object! {"b": array![]}}, Ok("<a/>")),
        (
            object! {"a": object! {"b": array![1, array![2, array![3]], "", object! {}]}},
            Ok("<a><b>1</b><b>2</b><b>3</b><b></b><b/></a>"),
        ),
        (
            Value::Null,
            Ok(r#"<NullNode xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"/>"#),
        ),
        (object! {"a b": "x"}, Ok("<a b>x</a b>")),
    ];
    rows.iter().map(|(value, xml)| ("xml.valToXml", vec![value.clone()], *xml)).collect()
}

#[test]
fn values_are_written_as_jackson_does() {
    let mut written = written();
    for (_, arguments, xml) in &written {
        let expected = xml.map(|xml| format!("\"{xml}\"")).map_err(str::to_owned);
        assert_eq!(LIBRARY.call("xml.valToXml", arguments), expected, "{arguments:?}");
    }
    written.push(("xml.xmlToVal", values!["<a/>"], Ok("{}")));
    LIBRARY.rows(&[("xml.xmlToVal", values!["<a/>"], Ok("{}"))]);
    LIBRARY.all_called(&written);
}

#[test]
fn what_is_no_single_element_cannot_be_written() {
    let wrong = |value: Value| ("xml.valToXml", vec![value], "Failed to convert value to XML: ");
    LIBRARY.faults(&[
        wrong(array![]),
        wrong(array![1, 2]),
        wrong(object! {"a": array![1, 2]}),
        wrong(Value::Text("\u{1}".into())),
        wrong(array![Value::Undefined]),
    ]);
}

#[test]
fn what_was_read_can_be_written_and_read_again() {
    let arguments = values!["<a><b>1 &lt; 2\r</b><c>]]&gt;</c><c/></a>"];
    let value = call_with(FUNCTIONS, "xml.xmlToVal", &arguments).unwrap();
    let Value::Text(written) = call_with(FUNCTIONS, "xml.valToXml", std::slice::from_ref(&value)).unwrap()
    else {
        panic!("a text")
    };
    let again = call_with(FUNCTIONS, "xml.xmlToVal", &[Value::Text(written)]).unwrap();
    assert_eq!(again.to_json(), value.to_json());
}
