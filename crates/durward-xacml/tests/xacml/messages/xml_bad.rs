//! What a request may not be, and what its sender is told.

use durward_xacml::request::RequestErrorKind::{IllFormed, Limit, Structure, Value};
use durward_xacml::request::{Limits, Request, RequestErrorKind};

use super::xml_good::attribute_value;

const GOOD: &str = r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false" ReturnPolicyIdList="false"><Attributes Category="c" xml:id="i"><Content><r/></Content><Attribute AttributeId="a" IncludeInResult="false"><AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">1</AttributeValue></Attribute></Attributes><MultiRequests><RequestReference><AttributesReference ReferenceId="i"/></RequestReference></MultiRequests></Request>"#;

/// What is replaced in the good request, by what, and how the error begins.
const BAD: &[(&str, &str, RequestErrorKind, &str)] = &[
    // Not well-formed.
    ("</Request>", "", IllFormed, "the text ends within an element"),
    ("</Request>", "</Request><x/>", IllFormed, "there is more after the end of the root element"),
    ("</Request>", "</Request>x", IllFormed, "there is more after the end of the root element"),
    ("</Request>", "</Request>&amp;", IllFormed, "there is text outside of the root element"),
    ("</Request>", "</request>", IllFormed, "ill-formed"),
    ("<Request ", "x<Request ", IllFormed, "there is text before the root element"),
    (
        "<Request ",
        "<!DOCTYPE Request [<!ENTITY a \"b\">]><Request ",
        IllFormed,
        "a document type declaration is refused",
    ),
    (
        "<Request ",
        "<?xml version=\"1.0\" encoding=\"latin-1\"?><Request ",
        IllFormed,
        "the encoding must be `UTF-8`",
    ),
    ("<Request ", "<?xml version=\"2.0\"?><Request ", IllFormed, "`<?xml ...?>` must say"),
    (
        "<Request ",
        " <?xml version=\"1.0\"?><Request ",
        IllFormed,
        "`<?xml ...?>` may stand at the very beginning",
    ),
    ("<Request ", "<!-- a -- b --><Request ", IllFormed, "ill-formed"),
    ("<Attribute ", "<Attribute AttributeId=\"a\" ", IllFormed, "attribute `AttributeId` stands twice"),
    (
        "<Attribute ",
        "<Attribute IncludeInResult=true ",
        IllFormed,
        "the value of `IncludeInResult` must stand in quotes",
    ),
    ("<Attribute ", "<Attribute Issuer=\"a\"Issuer2=\"b\" ", IllFormed, "there must be white space before"),
    ("<Attribute ", "<Attribute Issuer ", IllFormed, "expected `=` after `Issuer`"),
    ("<Attribute ", "<Attribute Issuer=\"<\" ", IllFormed, "`<` in the value of `Issuer`"),
    (
        "<Attribute ",
        "<Attribute Issuer=\"&nbsp;\" ",
        IllFormed,
        "an unknown reference in the value of `Issuer`",
    ),
    (
        "<Attribute ",
        "<Attribute Issuer=\"&#0;\" ",
        IllFormed,
        "an unknown reference in the value of `Issuer`",
    ),
    (
        "<Attribute ",
        "<Attribute Issuer=\"&#x+41;\" ",
        IllFormed,
        "an unknown reference in the value of `Issuer`",
    ),
    ("<Attribute ", "<Attribute Issuer=\"& \" ", IllFormed, "an unknown reference in the value of `Issuer`"),
    ("<Attribute ", "<p:Attribute ", IllFormed, "the prefix `p` of `p:Attribute` is not declared"),
    ("<Attribute ", "<Attribute p:x=\"\" ", IllFormed, "the prefix `p` of `p:x` is not declared"),
    ("<Attribute ", "<Attribute xmlns:p=\"\" ", IllFormed, "`xmlns:p` may not be declared so"),
    ("<Attribute ", "<Attribute xmlns:xml=\"urn:x\" ", IllFormed, "`xmlns:xml` may not be declared so"),
    (
        "<Attribute ",
        "<Attribute xmlns:p=\"urn:x\" xmlns:q=\"urn:x\" p:a=\"\" q:a=\"\" ",
        IllFormed,
        "attribute `q:a` stands twice",
    ),
    (">1<", ">&unknown;<", IllFormed, "`&unknown;` is not a known reference"),
    (">1<", ">&<", IllFormed, "ill-formed"),
    (">1<", ">]]><", IllFormed, "`]]>` may not stand in text"),
    (">1<", ">\u{1}<", IllFormed, "a character that XML does not allow"),
    (">1<", ">\u{FFFE}<", IllFormed, "a character that XML does not allow"),
    (">1<", ">&#xFFFF;<", IllFormed, "`&#xFFFF;` is not a known reference"),
    (">1<", "><![CDATA[1<", IllFormed, "syntax error"),
    ("<r/>", "<r>", IllFormed, "ill-formed"),
    ("<r/>", "<r>&x;</r>", IllFormed, "`&x;` is not a known reference"),
    // Not what the schema asks for.
    (
        "<Request xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\"",
        "<Request",
        Structure,
        "`<Request>` is in no XACML namespace",
    ),
    (
        "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17",
        "urn:x",
        Structure,
        "`<Request>` is in no XACML namespace",
    ),
    (
        "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17",
        "urn:oasis:names:tc:xacml:2.0:context:schema:os",
        Structure,
        "`<Request>` has no attribute `CombinedDecision`",
    ),
    ("CombinedDecision=\"false\"", "", Structure, "`<Request>` needs the attribute `CombinedDecision`"),
    ("ReturnPolicyIdList=\"false\"", "", Structure, "`<Request>` needs the attribute `ReturnPolicyIdList`"),
    (
        "CombinedDecision=\"false\"",
        "CombinedDecision=\"no\"",
        Structure,
        "`no` is not a value of `CombinedDecision`",
    ),
    ("CombinedDecision", "x=\"y\" CombinedDecision", Structure, "`<Request>` has no attribute `x`"),
    ("Category=\"c\"", "", Structure, "`<Attributes>` needs the attribute `Category`"),
    ("Category=\"c\"", "category=\"c\"", Structure, "`<Attributes>` has no attribute `category`"),
    ("AttributeId=\"a\"", "", Structure, "`<Attribute>` needs the attribute `AttributeId`"),
    ("IncludeInResult=\"false\"", "", Structure, "`<Attribute>` needs the attribute `IncludeInResult`"),
    (
        "DataType=\"http://www.w3.org/2001/XMLSchema#integer\"",
        "",
        Structure,
        "`<AttributeValue>` needs the attribute `DataType`",
    ),
    ("<Content><r/></Content>", "<Content/>", Structure, "`<Content>` must hold exactly one element, not 0"),
    (
        "<Content><r/></Content>",
        "<Content>text</Content>",
        Structure,
        "`<Content>` must hold exactly one element, not 0",
    ),
    ("<r/>", "<r/><s/>", Structure, "`<Content>` must hold exactly one element, not 2"),
    (
        "<Content><r/></Content>",
        "<Content><r/></Content><Content><r/></Content>",
        Structure,
        "`<Content>` may not stand here in `<Attributes>`",
    ),
    (
        "</Attribute>",
        "</Attribute><Content><r/></Content>",
        Structure,
        "`<Content>` may not stand here in `<Attributes>`",
    ),
    ("<Attribute ", "text<Attribute ", Structure, "there may be no text here: `text`"),
    ("<Attribute ", "<![CDATA[ text]]><Attribute ", Structure, "there may be no text here: `text`"),
    ("<Attribute ", "<Unknown/><Attribute ", Structure, "`<Unknown>` may not stand here in `<Attributes>`"),
    (
        "<Attribute ",
        "<Attribute xmlns=\"\" ",
        Structure,
        "`<Attribute>` may not stand here in `<Attributes>`",
    ),
    (
        "<Attribute ",
        "<Attribute AttributeId=\"e\" IncludeInResult=\"false\"/><Attribute ",
        Structure,
        "`<Attribute>` needs at least one `<AttributeValue>`",
    ),
    (">1<", "><x/>1<", Structure, "`<x>` may not stand here in `<AttributeValue>`"),
    (
        "<MultiRequests>",
        "<Attributes Category=\"d\" xml:id=\"i\"/><MultiRequests>",
        Structure,
        "the `xml:id` `i` stands twice",
    ),
    (
        "</MultiRequests>",
        "</MultiRequests><Attributes Category=\"d\"/>",
        Structure,
        "`<Attributes>` may not stand here in `<Request>`",
    ),
    (
        "<MultiRequests>",
        "<MultiRequests/><MultiRequests>",
        Structure,
        "`<MultiRequests>` needs `<RequestReference>`",
    ),
    (
        "<AttributesReference ReferenceId=\"i\"/>",
        "",
        Structure,
        "`<RequestReference>` needs `<AttributesReference>`",
    ),
    (
        "ReferenceId=\"i\"/>",
        "ReferenceId=\"i\"><x/></AttributesReference>",
        Structure,
        "`<x>` may not stand here in `<AttributesReference>`",
    ),
    (
        "<MultiRequests>",
        "<RequestDefaults/><MultiRequests>",
        Structure,
        "`<RequestDefaults>` may not stand here in `<Request>`",
    ),
    (
        "<Attributes ",
        "<RequestDefaults/><Attributes ",
        Structure,
        "`<RequestDefaults>` needs `<XPathVersion>`",
    ),
    (
        "<Attributes ",
        "<RequestDefaults><XPathVersion>http://www.w3.org/TR/2007/REC-xpath20-20070123</XPathVersion></RequestDefaults><Attributes ",
        Value,
        "`XPathVersion` is XPath 2.0 (`http://www.w3.org/TR/2007/REC-xpath20-20070123`), and only 1.0 is supported",
    ),
    (
        "<Attributes ",
        "<RequestDefaults><XPathVersion> nonsense </XPathVersion></RequestDefaults><Attributes ",
        Value,
        "`XPathVersion` is `nonsense`, and only XPath 1.0 is supported",
    ),
    // Values.
    (">1<", ">abc<", Value, "`abc` is not an integer"),
    (">1<", "><", Value, "`` is not an integer"),
    (">1<", ">1 2<", Value, "`1 2` is not an integer"),
    (
        "http://www.w3.org/2001/XMLSchema#integer",
        "urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression",
        Structure,
        "an xpathExpression needs `XPathCategory`",
    ),
];

fn error(text: &[u8]) -> durward_xacml::request::RequestError {
    match Request::from_xml(text) {
        Ok(_) => panic!("accepted: {}", String::from_utf8_lossy(text)),
        Err(error) => error,
    }
}

#[test]
fn mistakes_are_told_apart() {
    Request::from_xml(GOOD.as_bytes()).unwrap();
    for (from, to, kind, message) in BAD {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let found = error(text.as_bytes());
        assert_eq!(found.kind, *kind, "{to}: {found}");
        assert!(found.message.starts_with(message), "{to}: {found}");
    }
}

#[test]
fn the_place_of_a_mistake_is_said() {
    let text = attribute_value("integer", "abc").replace("><", ">\n<");
    assert_eq!(error(text.as_bytes()).to_string(), "`abc` is not an integer (line 4, column 69)");
}

#[test]
fn no_request_at_all_is_refused() {
    for text in
        ["", " ", "<", "<>", "</>", "{}", "<?xml version=\"1.0\"?>", "<!-- -->", "\u{FEFF}\u{FEFF}<Request/>"]
    {
        error(text.as_bytes());
    }
    assert_eq!(error(b"<Request a=\"\xff\"/>").kind, IllFormed);
    for json in [r#"{"Request": {}}"#, "\u{FEFF} [1]"] {
        let told =
            "the text is JSON, and was sent as XML; the content type of JSON is `application/xacml+json`";
        assert_eq!(error(json.as_bytes()).message, told);
    }
    assert_eq!(error(b"<Policy/>").message, "expected `<Request>`, not `<Policy>`");
}

#[test]
fn requests_before_3_0_are_held_to_their_schema() {
    let good = r#"<Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject/><Resource/><Action><Attribute AttributeId="a" DataType="http://www.w3.org/2001/XMLSchema#integer"><AttributeValue>1</AttributeValue></Attribute></Action><Environment/></Request>"#;
    Request::from_xml(good.as_bytes()).unwrap();
    for (from, to, message) in [
        ("<Subject/>", "", "`<Resource>` may not stand here"),
        ("<Resource/>", "", "`<Action>` may not stand here"),
        ("<Environment/>", "<Environment/><Environment/>", "`<Environment>` may not stand here"),
        ("<Subject/>", "<Subject Category=\"x\"/>", "`<Subject>` has no attribute `Category`"),
        ("<Subject/>", "<Subject xmlns=\"urn:x\"/>", "`<Subject>` may not stand here"),
        ("<Subject/>", "<Subject><ResourceContent/></Subject>", "`<ResourceContent>` may not stand here"),
        (
            "DataType=\"http://www.w3.org/2001/XMLSchema#integer\"",
            "",
            "`<Attribute>` needs the attribute `DataType`",
        ),
        ("<AttributeValue>1</AttributeValue>", "", "`<Attribute>` needs at least one `<AttributeValue>`"),
        (">1<", ">x<", "`x` is not an integer"),
    ] {
        let found = error(good.replacen(from, to, 1).as_bytes());
        assert!(found.message.starts_with(message), "{to}: {found}");
    }
    let ends =
        r#"<Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject/><Resource/></Request>"#;
    assert!(error(ends.as_bytes()).message.contains("in this order"));
}

#[test]
fn a_text_cut_anywhere_is_refused_and_nothing_panics() {
    let text = GOOD.as_bytes();
    for end in 0..text.len() {
        error(&text[..end]);
        let _ = Request::from_xml(&text[end..]);
    }
    // Cut within characters of several bytes too.
    let text = attribute_value("string", "ä€😀");
    for end in 0..text.len() {
        error(&text.as_bytes()[..end]);
    }
}

#[test]
fn limits_are_kept() {
    let limits = Limits { bytes_max: GOOD.len(), ..Limits::default() };
    assert!(Request::from_xml_within(GOOD.as_bytes(), &limits).is_ok());
    for limits in [
        Limits { bytes_max: GOOD.len() - 1, ..limits },
        Limits { depth_max: 3, ..limits },
        Limits { attributes_max: 0, ..limits },
        Limits { values_max: 0, ..limits },
        Limits { categories_max: 0, ..limits },
    ] {
        assert_eq!(Request::from_xml_within(GOOD.as_bytes(), &limits).unwrap_err().kind, Limit, "{limits:?}");
    }
}

#[test]
fn large_and_hostile_requests_are_read_or_refused() {
    let attribute = "<Attribute AttributeId=\"a\" IncludeInResult=\"false\"><AttributeValue \
                     DataType=\"http://www.w3.org/2001/XMLSchema#integer\">1</AttributeValue></Attribute>";
    let many = GOOD.replacen("</Attribute>", &format!("</Attribute>{}", attribute.repeat(9_999)), 1);
    assert_eq!(Request::from_xml(many.as_bytes()).unwrap().categories.attribute_count(), 10_000);
    let too_many = GOOD.replacen("</Attribute>", &format!("</Attribute>{}", attribute.repeat(20_000)), 1);
    assert_eq!(error(too_many.as_bytes()).kind, Limit);
    let deep = GOOD.replacen("<r/>", &"<r>".repeat(1_000_000), 1);
    assert_eq!(error(deep.as_bytes()).kind, Limit);
    let deep = format!("{}{}", "<Request>".repeat(300_000), "</Request>".repeat(100_000));
    error(deep.as_bytes());
    let wide = GOOD.replacen("<Attribute ", &format!("<Attribute {}", attributes(100_000)), 1);
    assert!(error(wide.as_bytes()).message.starts_with("more than 64 attributes"));
    let prefixes: String = (0..60).map(|number| format!("xmlns:p{number}=\"urn:{number}\" ")).collect();
    let nested = format!("<r {prefixes}>").repeat(100) + &"</r>".repeat(100);
    assert_eq!(error(GOOD.replacen("<r/>", &nested, 1).as_bytes()).kind, Limit);
    let many_lookups = format!("<r {prefixes}>{}</r>", "<p0:x/>".repeat(500_000));
    Request::from_xml(GOOD.replacen("<r/>", &many_lookups, 1).as_bytes()).unwrap();
    let references = GOOD.replacen(">1<", &format!(">{}<", "&#49;".repeat(500_000)), 1);
    let _ = Request::from_xml(references.as_bytes());
    let comments = GOOD.replacen("<Attribute ", &format!("{}<Attribute ", "<!---->".repeat(400_000)), 1);
    Request::from_xml(comments.as_bytes()).unwrap();
    let categories = "<Attributes Category=\"c\"/>".repeat(2_000);
    assert_eq!(
        error(GOOD.replacen("<MultiRequests>", &format!("{categories}<MultiRequests>"), 1).as_bytes()).kind,
        Limit
    );
}

fn attributes(count: usize) -> String {
    (0..count).map(|number| format!("a{number}=\"\" ")).collect()
}
