//! Attributes marked `IncludeInResult` come back as they were sent, whatever their canonical form is.

use durward_xacml::request::{Request, Version};
use durward_xacml::response::{Decision, Echoes, Response, ResultOf};

use super::read_xml;

const XS: &str = "http://www.w3.org/2001/XMLSchema#";
const OLD: &str = "http://www.w3.org/TR/2002/WD-xquery-operators-20020816#";
const V1: &str = "urn:oasis:names:tc:xacml:1.0:data-type:";

/// The response that only echoes.
fn echo(request: &Request) -> Response {
    let mut result = ResultOf::new(Decision::Permit);
    result.attributes = Echoes::of(request.categories.included());
    Response::of(result)
}

fn request(values: &str) -> Request {
    read_xml(&format!(
        "<Request xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17' CombinedDecision='false' \
         ReturnPolicyIdList='false'><Attributes Category='c'><Attribute AttributeId='a' IncludeInResult='true'>{values}\
         </Attribute></Attributes></Request>"
    ))
}

/// Data types, texts as sent, and what JSON makes of them.
const SENT: [(&str, &str, &str, &str); 16] = [
    (XS, "double", "27.50", r#""Value":27.50"#),
    (XS, "double", "1e3", r#""DataType":"http://www.w3.org/2001/XMLSchema#double","Value":1e3"#),
    (XS, "double", "+1.0", r#""DataType":"http://www.w3.org/2001/XMLSchema#double","Value":"+1.0""#),
    (XS, "double", "NaN", r#""DataType":"http://www.w3.org/2001/XMLSchema#double","Value":"NaN""#),
    (XS, "integer", "007", r#""DataType":"http://www.w3.org/2001/XMLSchema#integer","Value":"007""#),
    (XS, "integer", " 7\n", r#""DataType":"http://www.w3.org/2001/XMLSchema#integer","Value":" 7\n""#),
    (XS, "integer", "7", r#""Value":7"#),
    (XS, "boolean", "1", r#""DataType":"http://www.w3.org/2001/XMLSchema#boolean","Value":"1""#),
    (XS, "boolean", "true", r#""Value":true"#),
    (XS, "dateTime", "2026-01-31T12:00:00.500+00:00", r#""Value":"2026-01-31T12:00:00.500+00:00""#),
    (XS, "hexBinary", "0bF7", r#""Value":"0bF7""#),
    (XS, "base64Binary", "AA ==", r#""Value":"AA ==""#),
    (XS, "dayTimeDuration", "PT36H", r#""Value":"PT36H""#),
    (OLD, "dayTimeDuration", "PT36H", "20020816#dayTimeDuration\",\"Value\":\"PT36H\""),
    (V1, "x500Name", "cn=Ann , o=Acme", r#""Value":"cn=Ann , o=Acme""#),
    (XS, "string", " o\u{308} &amp; ", "\"Value\":\" o\u{308} & \""),
];

#[test]
fn what_was_sent_in_xml_comes_back_in_both_forms() {
    for (space, data_type, text, json) in SENT {
        let value = format!("<AttributeValue DataType=\"{space}{data_type}\">{text}</AttributeValue>");
        let response = echo(&request(&value));
        let xml = response.to_xml(Version::V3);
        assert!(xml.contains(&value), "{value}: {xml}");
        assert!(response.to_json().contains(json), "{json}: {}", response.to_json());
    }
}

#[test]
fn what_was_sent_in_json_comes_back_in_both_forms() {
    for (sent, text) in [
        (r#""Value":27.50"#, "27.50"),
        (r#""Value":[1.0,2.50]"#, "2.50"),
        (r#""Value":[true,false]"#, "true"),
        (r#""DataType":"http://www.w3.org/2001/XMLSchema#double","Value":[1,2.5]"#, "1"),
        (r#""DataType":"http://www.w3.org/2001/XMLSchema#double","Value":"1.50"}"#, "1.50"),
        (r#""DataType":"http://www.w3.org/2001/XMLSchema#integer","Value":"+5""#, "+5"),
        (r#""DataType":"http://www.w3.org/2001/XMLSchema#boolean","Value":"0""#, "0"),
        (r#""DataType":"http://www.w3.org/2001/XMLSchema#hexBinary","Value":["0b","0C"]"#, "0b"),
        (r#""DataType":"urn:mine","Value":"<a>""#, "&lt;a&gt;"),
    ] {
        let sent = sent.trim_end_matches('}');
        let text_of_request = format!(
            r#"{{"Request":{{"Category":[{{"CategoryId":"c","Attribute":[{{"AttributeId":"a","IncludeInResult":true,{sent}}}]}}]}}}}"#
        );
        let response = echo(&Request::from_json(text_of_request.as_bytes()).unwrap());
        let json = response.to_json();
        // A double that JSON writes with a point needs no quotes, and then no data type.
        let is_same = json.contains(sent) || (text == "1.50" && json.contains(r#""Value":1.50"#));
        assert!(is_same, "{sent}: {json}");
        let xml = response.to_xml(Version::V3);
        assert!(xml.contains(&format!(">{text}</AttributeValue>")), "{text}: {xml}");
    }
}

#[test]
fn what_is_echoed_reads_as_what_was_sent() {
    for (space, data_type, text, _) in SENT {
        let request =
            request(&format!("<AttributeValue DataType='{space}{data_type}'>{text}</AttributeValue>"));
        let response = echo(&request);
        let xml = Response::from_xml(response.to_xml(Version::V3).as_bytes()).unwrap();
        let json = Response::from_json(response.to_json().as_bytes()).unwrap();
        for read in [xml, json] {
            let read = super::described(&read.results[0].attributes);
            assert_eq!(read, super::described(&request.categories), "{text}");
        }
    }
}

#[test]
fn elements_in_a_value_stay_elements() {
    let value =
        "<AttributeValue DataType=\"urn:mine\" xmlns:m=\"urn:m\"><m:a b=\"1\">&lt;</m:a></AttributeValue>";
    assert!(echo(&request(value)).to_xml(Version::V3).contains(value));
}

#[test]
fn only_what_is_echoed_is_kept_twice() {
    let sent = "<AttributeValue DataType='http://www.w3.org/2001/XMLSchema#double'>27.50</AttributeValue>";
    let mut kept = request(sent);
    let other = kept.categories.attributes().next().unwrap();
    let mut copied = durward_xacml::request::Categories::new();
    copied.begin_category("c".into(), None);
    copied.copy_attribute(other);
    kept.categories = copied;
    assert!(echo(&kept).to_xml(Version::V3).contains(">27.50<"), "a copy is as good");
}

#[test]
fn an_identifier_stands_once_in_a_response() {
    let with_id = |id: &str, text: &str| {
        let value = format!("<AttributeValue DataType='{XS}string'>{text}</AttributeValue>");
        read_xml(&format!(
            "<Request xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17' CombinedDecision='false' \
             ReturnPolicyIdList='false'><Attributes Category='c' xml:id='{id}'><Attribute AttributeId='a' \
             IncludeInResult='true'>{value}</Attribute></Attributes></Request>"
        ))
    };
    let one = echo(&with_id("same", "x"));
    assert!(one.to_xml(Version::V3).contains("xml:id=\"same\""));
    let mut several = one;
    for id in ["other", "same"] {
        several.results.extend(echo(&with_id(id, "y")).results);
    }
    let xml = several.to_xml(Version::V3);
    assert_eq!(xml.matches("xml:id").count(), 1, "{xml}");
    assert!(xml.contains("xml:id=\"other\""), "{xml}");
    assert_eq!(
        several.to_json().matches("\"Id\":\"same\"").count(),
        2,
        "nothing in JSON is an XML identifier"
    );
}
