//! What XML allows, a request may be written with.

use durward_xacml::request::{Request, Version, identifiers};

use super::{described, facts, read_xml};

const PREFIXED: &str = r#"<?xml version='1.0' encoding='utf-8' standalone="yes"?>
<!-- a comment -->
<?instruction for somebody?>
<x:Request xmlns:x="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision=" true " ReturnPolicyIdList='1'>
  <x:RequestDefaults><x:XPathVersion>http://www.w3.org/TR/1999/REC-xpath-19991116</x:XPathVersion></x:RequestDefaults>
  <y:Attributes xmlns:y="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" Category="a&#98;&lt;&quot;" xml:id="one">
    <y:Attribute AttributeId="i&#x64;" IncludeInResult="0" Issuer="&apos;me&amp;you&apos;">
      <y:AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string"> a&#9;<!-- no -->b<![CDATA[<&amp;>]]>&gt;<?x y?> </y:AttributeValue>
    </y:Attribute>
  </y:Attributes>
  <x:Attributes Category="two
	lines" xml:id="two"/>
  <x:MultiRequests><x:RequestReference><x:AttributesReference ReferenceId="one"/></x:RequestReference></x:MultiRequests>
</x:Request>
<!-- the end -->
"#;

#[test]
fn prefixes_references_comments_and_cdata_mean_what_xml_says() {
    let request = read_xml(PREFIXED);
    assert!(request.combined_decision && request.return_policy_ids);
    assert_eq!(request.xpath_version.as_deref(), Some("http://www.w3.org/TR/1999/REC-xpath-19991116"));
    assert_eq!(request.multi_requests[0].ids, ["one"]);
    assert_eq!(
        described(&request.categories),
        [
            r#"ab<" Some("one") None"#,
            r#"  id Some("'me&you'") false ["Text  a\tb<&amp;>> "]"#,
            r#"two  lines Some("two") None"#,
        ]
    );
}

#[test]
fn a_written_request_reads_back_exactly() {
    let request = read_xml(PREFIXED);
    let again = read_xml(&request.to_xml());
    assert_eq!(described(&request.categories), described(&again.categories));
    assert_eq!(request.multi_requests, again.multi_requests);
    let json = Request::from_json(request.to_json().as_bytes()).unwrap();
    assert_eq!(facts(&request), facts(&json));
    assert_eq!(request.multi_requests, json.multi_requests);
    assert_eq!((json.combined_decision, json.return_policy_ids), (true, true));
}

#[test]
fn line_ends_are_one_character() {
    let text = attribute_value("string", "a\r\nb\rc&#13;d");
    assert_eq!(facts(&read_xml(&text))[0], "c i None Text a\nb\nc\rd");
}

#[test]
fn content_is_kept_as_written_with_the_namespaces_around_it() {
    let text = r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" xmlns:a="urn:a" xmlns:b="urn:b"
        CombinedDecision="false" ReturnPolicyIdList="false"><Attributes Category="c" xmlns:b="urn:other">
        <Content xmlns:c="urn:c"><!-- x --> <a:r b:y="1">t<a:r/>&amp;</a:r> </Content></Attributes></Request>"#;
    let request = read_xml(text);
    let content = request.categories.find("c").unwrap().content.clone().unwrap();
    assert_eq!(content.xml, r#"<!-- x --> <a:r b:y="1">t<a:r/>&amp;</a:r> "#);
    let expected = [
        ("", "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17"),
        ("a", "urn:a"),
        ("b", "urn:other"),
        ("c", "urn:c"),
    ];
    let found: Vec<(&str, &str)> =
        content.namespaces.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str())).collect();
    assert_eq!(found, expected);
    // In JSON there is nothing around it: the namespaces go onto its root element.
    let json = Request::from_json(request.to_json().as_bytes()).unwrap();
    let content = json.categories.find("c").unwrap().content.clone().unwrap();
    assert!(
        content
            .xml
            .contains(r#"<a:r xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" xmlns:a="urn:a""#)
    );
}

#[test]
fn an_xpath_expression_knows_its_category_and_namespaces() {
    let text = r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" xmlns:md="urn:md"
        CombinedDecision="false" ReturnPolicyIdList="false"><Attributes Category="c"><Attribute AttributeId="i"
        IncludeInResult="true"><AttributeValue XPathCategory="urn:cat"
        DataType="urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression"> //md:r[@a&lt;2] </AttributeValue></Attribute>
        </Attributes></Request>"#;
    for request in [read_xml(text), Request::from_json(read_xml(text).to_json().as_bytes()).unwrap()] {
        let attribute = request.categories.attributes().next().unwrap();
        let durward_ir::Value::XPathExpression(expression) = &attribute.values()[0] else { panic!() };
        assert_eq!((&*expression.path, &*expression.category), ("//md:r[@a<2]", "urn:cat"));
        assert!(expression.namespaces.iter().any(|(prefix, uri)| prefix == "md" && uri == "urn:md"));
    }
}

#[test]
fn values_of_unknown_data_types_are_carried() {
    let text =
        attribute_value("string", "x").replace("http://www.w3.org/2001/XMLSchema#string", "urn:my:type");
    assert_eq!(facts(&read_xml(&text))[0], "c i None Opaque x");
    let with_elements = text.replace(">x<", "> <k xmlns='urn:k'>v</k> <");
    assert_eq!(facts(&read_xml(&with_elements))[0], "c i None Opaque  <k xmlns='urn:k'>v</k> ");
    let again = Request::from_json(read_xml(&text).to_json().as_bytes()).unwrap();
    assert_eq!(facts(&read_xml(&text)), facts(&again));
}

#[test]
fn requests_before_3_0_are_read_into_its_categories() {
    let text = |namespace: &str| {
        format!(
            r#"<c:Request xmlns:c="{namespace}">
            <c:Subject><c:Attribute AttributeId="a" DataType="http://www.w3.org/2001/XMLSchema#string">
              <c:AttributeValue>1</c:AttributeValue></c:Attribute></c:Subject>
            <c:Subject SubjectCategory="urn:oasis:names:tc:xacml:1.0:subject-category:codebase"/>
            <c:Subject><c:Attribute AttributeId="a" Issuer="me" IssueInstant="2001-01-01T00:00:00Z"
              DataType="http://www.w3.org/2001/XMLSchema#integer"><c:AttributeValue>2</c:AttributeValue></c:Attribute>
            </c:Subject>
            <c:Resource><c:ResourceContent a="b">text <any/></c:ResourceContent></c:Resource>
            <c:Resource/>
            <c:Action/></c:Request>"#
        )
    };
    for (namespace, version) in [
        ("urn:oasis:names:tc:xacml:1.0:context", Version::V1),
        ("urn:oasis:names:tc:xacml:2.0:context:schema:os", Version::V2),
    ] {
        let text = text(namespace);
        let request = read_xml(&text);
        assert_eq!((request.version, Version::of_xml(text.as_bytes())), (version, version));
        assert_eq!(request.document.as_deref(), Some(&*text));
        let names: Vec<String> =
            request.categories.iter().map(|category| category.category.to_string()).collect();
        assert_eq!(
            names,
            [
                identifiers::ACCESS_SUBJECT,
                identifiers::CODEBASE,
                identifiers::RESOURCE,
                identifiers::RESOURCE,
                identifiers::ACTION
            ]
        );
        // Subjects of one category are one.
        let subject = request.categories.find(identifiers::ACCESS_SUBJECT).unwrap();
        assert_eq!(subject.named("a").flat_map(|attribute| attribute.values()).count(), 2);
        let resource = request.categories.find(identifiers::RESOURCE).unwrap();
        assert_eq!(resource.content.as_ref().unwrap().xml, "text <any/>");
    }
}

#[test]
fn a_request_is_built_in_code() {
    let request = Request::builder()
        .subject("role", "doctor")
        .action("action-id", "read")
        .subject("role", "nurse")
        .resource("level", 3)
        .include_in_result(identifiers::ACCESS_SUBJECT, "role")
        .content(identifiers::RESOURCE, "<r/>")
        .build();
    let again = read_xml(&request.to_xml());
    assert_eq!(facts(&request), facts(&again));
    assert_eq!(request.categories.included().attribute_count(), 1);
    assert_eq!(again.categories.included().value_count(), 2);
    assert_eq!(again.categories.len(), 3);
}

/// A request with one attribute of one value.
pub(super) fn attribute_value(data_type: &str, value: &str) -> String {
    format!(
        "<Request xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\" CombinedDecision=\"false\" \
         ReturnPolicyIdList=\"false\"><Attributes Category=\"c\"><Attribute AttributeId=\"i\" \
         IncludeInResult=\"false\"><AttributeValue DataType=\"http://www.w3.org/2001/XMLSchema#{data_type}\">{value}\
         </AttributeValue></Attribute></Attributes></Request>"
    )
}
