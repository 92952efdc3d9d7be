//! Responses: written exactly, read back, compared.

use durward_ir::attribute::AttributeName;
use durward_ir::datatype::Integer;
use durward_ir::{DataType, Fault, Value};
use durward_xacml::request::{Request, Version, identifiers};
use durward_xacml::response::{
    Assignment, Decision, Duty, Echoes, PolicyIdentifier, PolicyKind, Response, ResultOf, Status, StatusCode,
    StatusDetail, differences,
};

const OK: &str = "<Status><StatusCode Value=\"urn:oasis:names:tc:xacml:1.0:status:ok\"/></Status>";

fn assignment(id: &str, value: Value) -> Assignment {
    Assignment { id: id.into(), category: None, issuer: None, value }
}

fn full() -> Response {
    let mut result = ResultOf::new(Decision::Permit);
    let mut by_me = assignment("a<&\"'>", Value::Text("<b> & \"c\" ]]> \u{7} \r\n\t 'd' ä😀".into()));
    by_me.category = Some("urn:cat".into());
    by_me.issuer = Some("me & you".into());
    let assignments = vec![
        by_me,
        assignment("i", Value::Integer(Integer::Small(7))),
        assignment("d", Value::Double(f64::NEG_INFINITY)),
        assignment("d2", Value::Double(1.5)),
        assignment("d3", Value::Double(2.0)),
        assignment("t", Value::Boolean(true)),
        assignment("x", Value::parse(DataType::HexBinary, "0aFF").unwrap()),
    ];
    result.obligations =
        vec![Duty { id: "urn:o".into(), assignments }, Duty { id: "urn:o".into(), assignments: vec![] }];
    result.advice = vec![Duty { id: "urn:a".into(), assignments: vec![] }];
    result.attributes = Echoes::of(
        Request::builder()
            .subject("role", "doctor")
            .subject("role", "nurse")
            .subject("secret", "x")
            .resource("level", 3)
            .include_in_result(identifiers::ACCESS_SUBJECT, "role")
            .include_in_result(identifiers::RESOURCE, "level")
            .action("action-id", "read")
            .build()
            .categories
            .included(),
    );
    result.policy_ids = Some(vec![
        PolicyIdentifier { kind: PolicyKind::Policy, id: "urn:p".into(), version: Some("1.0".into()) },
        PolicyIdentifier { kind: PolicyKind::PolicySet, id: "urn:s&".into(), version: None },
    ]);
    Response::of(result)
}

fn failed() -> Response {
    let name = |id: &str| AttributeName {
        category: "urn:cat".into(),
        id: id.into(),
        data_type: DataType::Integer,
        issuer: Some("me".into()),
    };
    let fault = Fault::missing(name("urn:x"));
    let mut status = Status::from(&*fault);
    status.code.minor = Some(Box::new(StatusCode { value: "urn:minor".into(), minor: None }));
    Response::indeterminate(status)
}

#[test]
fn a_decision_alone_is_written_in_the_usual_form() {
    let response = Response::of(ResultOf::new(Decision::Deny));
    assert_eq!(
        response.to_xml(Version::V3),
        format!(
            "<Response xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\"><Result><Decision>Deny</Decision>\
             {OK}</Result></Response>"
        )
    );
    assert_eq!(
        response.to_xml(Version::V2),
        format!(
            "<Response xmlns=\"urn:oasis:names:tc:xacml:2.0:context:schema:os\"><Result><Decision>Deny</Decision>\
             {OK}</Result></Response>"
        )
    );
    assert_eq!(
        response.to_json(),
        r#"{"Response":[{"Decision":"Deny","Status":{"StatusCode":{"Value":"urn:oasis:names:tc:xacml:1.0:status:ok"}}}]}"#
    );
}

#[test]
fn the_short_form_of_a_plain_response_is_the_long_one() {
    for decision in [Decision::Permit, Decision::Deny, Decision::Indeterminate, Decision::NotApplicable] {
        let one = ResultOf::new(decision);
        let twice = Response { results: [one.clone(), one.clone()].into_iter().collect() };
        let one = Response::of(one);
        let half = |text: String, start: &str| text.match_indices(start).nth(1).map(|(at, _)| at).unwrap();
        let xml = twice.to_xml(Version::V3);
        let at = half(xml.clone(), "<Result>");
        let (first, second) = xml.split_at(at);
        assert_eq!(one.to_xml(Version::V3), format!("{first}</Response>"));
        assert!(first.ends_with(second.trim_end_matches("</Response>")));
        let json = twice.to_json();
        let at = half(json.clone(), "{\"Decision\"");
        assert_eq!(one.to_json(), format!("{}]}}", json[..at].trim_end_matches(',')));
    }
}

#[test]
fn everything_is_written_and_read_in_every_form() {
    for response in [full(), failed()] {
        let xml = response.to_xml(Version::V3);
        let again = Response::from_xml(xml.as_bytes()).unwrap_or_else(|error| panic!("{error}: {xml}"));
        let json = response.to_json();
        let from_json =
            Response::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{error}: {json}"));
        for found in [again, from_json] {
            let different = differences(&response, &found);
            // XML has no way to write the control character U+0007.
            let tolerated = different.iter().all(|difference| difference.contains("<b> &"));
            assert!(tolerated, "{different:#?}");
        }
    }
    let text = full().to_xml(Version::V3);
    assert!(
        text.contains("AttributeId=\"a&lt;&amp;&quot;'&gt;\" Category=\"urn:cat\" Issuer=\"me &amp; you\""),
        "{text}"
    );
    assert!(
        text.contains("&lt;b&gt; &amp; \"c\" ]]&gt; \u{FFFD} &#13;\n\t 'd' ä😀</AttributeAssignment>"),
        "{text}"
    );
    assert!(text.contains("#double\">-INF<") && text.contains("#hexBinary\">0AFF<"), "{text}");
    assert!(text.contains("<PolicyIdReference Version=\"1.0\">urn:p</PolicyIdReference>"), "{text}");
    let (status, json) = (failed().to_xml(Version::V3), full().to_json());
    assert!(status.contains("<StatusCode Value=\"urn:oasis:names:tc:xacml:1.0:status:missing-attribute\"><StatusCode Value=\"urn:minor\"/></StatusCode>"), "{status}");
    assert!(status.contains("<MissingAttributeDetail Category=\"urn:cat\" AttributeId=\"urn:x\" DataType=\"http://www.w3.org/2001/XMLSchema#integer\" Issuer=\"me\"/>"), "{status}");
    for part in [
        r#"{"AttributeId":"i","Value":7}"#,
        r#"{"AttributeId":"d","DataType":"http://www.w3.org/2001/XMLSchema#double","Value":"-INF"}"#,
        r#"{"AttributeId":"d2","Value":1.5E0}"#,
        r#"{"AttributeId":"d3","DataType":"http://www.w3.org/2001/XMLSchema#double","Value":2.0E0}"#,
        r#"{"AttributeId":"t","Value":true}"#,
        r#"{"AttributeId":"role","IncludeInResult":true,"Value":["doctor","nurse"]}"#,
        r#""PolicyIdentifierList":{"PolicyIdReference":[{"Id":"urn:p","Version":"1.0"}],"PolicySetIdReference":[{"Id":"urn:s&"}]}"#,
        r#"{"Id":"urn:o"}"#,
        r"\u0007 \r\n\t",
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    assert!(!json.contains("secret") && !json.contains("action-id"));
}

#[test]
fn the_forms_before_3_0_name_the_resource_and_write_obligations_their_way() {
    let mut response = full();
    response.results[0].resource_id = Some("urn:r".into());
    let text = response.to_xml(Version::V2);
    assert!(text.contains("<Result ResourceId=\"urn:r\"><Decision>Permit</Decision>"), "{text}");
    assert!(text.contains("<Obligations xmlns=\"urn:oasis:names:tc:xacml:2.0:policy:schema:os\"><Obligation ObligationId=\"urn:o\" FulfillOn=\"Permit\"><AttributeAssignment AttributeId="), "{text}");
    assert!(!text.contains("Advice") && !text.contains("PolicyId"));
    let again = Response::from_xml(text.as_bytes()).unwrap();
    assert_eq!(again.results[0].obligations.len(), 2);
    assert_eq!(again.results[0].resource_id.as_deref(), Some("urn:r"));
    assert!(
        response.to_xml(Version::V1).contains("<Obligations xmlns=\"urn:oasis:names:tc:xacml:1.0:policy\">")
    );
    Response::from_xml(response.to_xml(Version::V1).as_bytes()).unwrap();
    let missing = failed().to_xml(Version::V2);
    assert!(missing.contains("<MissingAttributeDetail AttributeId="), "{missing}");
    Response::from_xml(missing.as_bytes()).unwrap();
}

#[test]
fn differences_are_in_meaning_only() {
    let response = full();
    let mut other = full();
    other.results[0].obligations.reverse();
    other.results[0].obligations[1].assignments.reverse();
    other.results[0].status.message = Some("all is well".into());
    assert_eq!(differences(&response, &other), Vec::<String>::new());
    other.results[0].obligations.pop();
    other.results[0].decision = Decision::Deny;
    other.results[0].policy_ids = None;
    let found = differences(&response, &other);
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found[0].starts_with("result 1: decision Permit expected, Deny found"), "{}", found[0]);
    assert!(found[1].contains("obligation expected and not found: urn:o {"), "{}", found[1]);
    let nan = |text: &str| {
        let mut result = ResultOf::new(Decision::Permit);
        let value = Value::parse(DataType::Double, text).unwrap();
        result.obligations = vec![Duty { id: "o".into(), assignments: vec![assignment("a", value)] }];
        Response::of(result)
    };
    assert!(differences(&nan("NaN"), &nan("NaN")).is_empty());
    assert!(differences(&nan("1"), &nan("1.0")).is_empty());
    assert_eq!(differences(&nan("1"), &nan("2")).len(), 2);
    let no_status = "<Response xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\"><Result><Decision>Permit\
                     </Decision></Result></Response>";
    let permit = Response::of(ResultOf::new(Decision::Permit));
    assert!(differences(&permit, &Response::from_xml(no_status.as_bytes()).unwrap()).is_empty());
    assert!(
        differences(&permit, &Response::from_json(br#"{"Response":[{"Decision":"Permit"}]}"#).unwrap())
            .is_empty()
    );
}

#[test]
fn other_details_are_kept_as_text() {
    let text = "<Response xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\"><Result><Decision>Deny</Decision>\
                <Status><StatusCode Value=\"urn:x\"/><StatusDetail><e a=\"1\"/> <MissingAttributeDetail/></StatusDetail>\
                </Status></Result></Response>";
    let response = Response::from_xml(text.as_bytes()).unwrap();
    let Some(StatusDetail::Raw(raw)) = &response.results[0].status.detail else { panic!() };
    assert_eq!(raw, "<e a=\"1\"/> <MissingAttributeDetail/>");
    assert_eq!(response.to_xml(Version::V3), text);
    let json = Response::from_json(response.to_json().as_bytes()).unwrap();
    assert_eq!(json.to_xml(Version::V3), text);
    let marked = Response::from_xml(format!("\u{FEFF}{text}").as_bytes()).unwrap();
    assert_eq!(marked.to_xml(Version::V3), text);
    // A second byte order mark is text, and moves nothing.
    let error = Response::from_xml(format!("\u{FEFF}\u{FEFF}{text}").as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "there is text before the root element (line 1, column 1)");
}

#[test]
fn broken_responses_are_refused() {
    let xml = full().to_xml(Version::V3);
    let json = full().to_json();
    for end in (0..xml.len()).filter(|end| xml.is_char_boundary(*end)) {
        assert!(Response::from_xml(&xml.as_bytes()[..end]).is_err());
    }
    for end in 0..json.len() {
        assert!(Response::from_json(&json.as_bytes()[..end]).is_err());
    }
    for (from, to) in [
        ("<Decision>Permit</Decision>", ""),
        ("<Decision>Permit</Decision>", "<Decision>permit</Decision>"),
        ("<Decision>Permit</Decision>", "<Decision>Permit</Decision><Decision>Deny</Decision>"),
        ("</Status>", "</Status><Status><StatusCode Value=\"x\"/></Status>"),
        ("<StatusCode", "<StatusMessage/><StatusCode"),
        ("ObligationId", "AdviceId"),
        ("<Advice ", "<Obligation "),
        ("<PolicyIdReference", "<Policy"),
        ("<Response ", "<Request "),
        ("wd-17", "wd-18"),
    ] {
        let text = xml.replacen(from, to, 1);
        assert_ne!(text, xml, "{from}");
        assert!(Response::from_xml(text.as_bytes()).is_err(), "{to}");
    }
    for text in [
        r#"{"Response":[]}"#,
        r#"{"Response":[{"Decision":"Maybe"}]}"#,
        r#"{"Response":[{"Decision":"Permit","X":1}]}"#,
    ] {
        assert!(Response::from_json(text.as_bytes()).is_err(), "{text}");
    }
    let deep = format!(
        "<Response xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\"><Result><Decision>Deny</Decision><Status>{}",
        "<StatusCode Value=\"x\">".repeat(100_000)
    );
    assert!(Response::from_xml(deep.as_bytes()).is_err());
    let deep = format!(
        "{{\"Response\":[{{\"Decision\":\"Deny\",\"Status\":{}",
        "{\"StatusCode\":{\"Value\":\"x\",\"StatusCode\":".repeat(100_000)
    );
    assert!(Response::from_json(deep.as_bytes()).is_err());
}
