//! Clients of WSO2's entitlement API and of AuthzForce's domains, by the paths, bodies and refusals they know.

use serde_json::json;

use crate::support::{Directory, Reply, TestServer, request_json, request_xml};

const WSO2: &str = "/api/identity/entitlement/decision";

/// Ann reads the record at noon, by whole identifiers.
fn policy() -> String {
    let wanted = |category: &str, id: &str, value: &str| {
        format!(
            r#"<AllOf><Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal"><AttributeValue
            DataType="http://www.w3.org/2001/XMLSchema#string">{value}</AttributeValue><AttributeDesignator
            Category="{category}" AttributeId="{id}" DataType="http://www.w3.org/2001/XMLSchema#string"
            MustBePresent="false"/></Match></AllOf>"#
        )
    };
    let all = [
        ("urn:oasis:names:tc:xacml:1.0:subject-category:access-subject", "1.0:subject:subject-id", "ann"),
        ("urn:oasis:names:tc:xacml:3.0:attribute-category:resource", "1.0:resource:resource-id", "record"),
        ("urn:oasis:names:tc:xacml:3.0:attribute-category:action", "1.0:action:action-id", "read"),
    ];
    let targets: String = all
        .iter()
        .map(|(category, id, value)| {
            format!("<AnyOf>{}</AnyOf>", wanted(category, &format!("urn:oasis:names:tc:xacml:{id}"), value))
        })
        .collect();
    format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
        RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit"><Target/>
        <Rule RuleId="r" Effect="Permit"><Target>{targets}</Target></Rule></Policy>"#
    )
}

fn start(settings: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/p.xml", &policy());
    TestServer::start_in(directory, settings).unwrap()
}

fn send(server: &TestServer, path: &str, media_type: &str, body: &str) -> Reply {
    server.send(
        "POST",
        path,
        &[("Content-Type", media_type), ("Authorization", "Basic YWRtaW46YWRtaW4=")],
        body.as_bytes(),
    )
}

/// As WSO2's manual has it: short identifiers.
fn short(who: &str) -> String {
    let one = |id: &str, value: &str| json!({"Attribute": [{"AttributeId": id, "Value": value}]});
    json!({"Request": {
        "AccessSubject": one("subject-id", who), "Resource": one("resource-id", "record"), "Action": one("action-id", "read"),
    }})
    .to_string()
}

#[test]
fn short_identifiers_are_read_where_the_settings_say_so() {
    for (settings, decision) in [("", "Deny"), ("xacml.json_short_ids = true", "Permit")] {
        let reply = send(&start(settings), "/pdp", "application/json", &short("ann"));
        assert_eq!(reply.json()["Response"][0]["Decision"], decision, "{settings}");
    }
}

#[test]
fn clients_of_wso2_are_answered_as_they_know_it() {
    let server = start("xacml.wso2_paths = true");
    let reply = send(&server, &format!("{WSO2}/pdp"), "application/json", &short("ann"));
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
    assert_eq!(reply.json()["Response"][0]["Decision"], "Permit");
    for path in ["pdp", "by-xacml"] {
        let reply = send(&server, &format!("{WSO2}/{path}"), "application/xml", &request_xml("x"));
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/xml"));
        assert!(reply.text().contains("<Decision>Deny</Decision>"), "{}", reply.text());
    }
    for (who, decision) in [("ann", "Permit"), ("bob", "Deny")] {
        let four = json!({"subject": who, "action": "read", "resource": "record", "environment": ["noon"]})
            .to_string();
        let reply = send(&server, &format!("{WSO2}/by-attrib"), "application/json", &four);
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/xml"));
        assert!(reply.text().contains(&format!("<Decision>{decision}</Decision>")), "{}", reply.text());
        let reply = send(&server, &format!("{WSO2}/by-attrib-boolean"), "application/json", &four);
        assert_eq!(reply.text(), if who == "ann" { "true" } else { "false" });
    }
    let home = server.send("GET", &format!("{WSO2}/home"), &[("Accept", "application/json")], b"");
    assert_eq!(home.json()["resources"][0]["link"]["href"], "/pdp");
    let home = server.send("GET", &format!("{WSO2}/home"), &[("Accept", "application/xml")], b"");
    assert!(home.text().contains("<link href=\"/pdp\"/>"), "{}", home.text());
}

#[test]
fn what_wso2_cannot_read_it_answers_with_200_and_never_with_permit() {
    let server = start("xacml.wso2_paths = true");
    for (path, body) in [("pdp", "{"), ("pdp", "{\"Request\":7}"), ("by-attrib", "{\"subject\":7}")] {
        let reply = send(&server, &format!("{WSO2}/{path}"), "application/json", body);
        assert_eq!(
            (reply.status, reply.json()["code"].as_u64()),
            (200, Some(40020)),
            "{path} {body}: {}",
            reply.text()
        );
        assert!(!reply.text().contains("Permit") && !reply.text().contains("true"));
    }
    // An object would be true to whoever waits for a truth value.
    let reply = send(&server, &format!("{WSO2}/by-attrib-boolean"), "application/json", "{\"who\":\"ann\"}");
    assert_eq!(reply.status, 400, "{}", reply.text());
    let reply = send(&server, &format!("{WSO2}/pdp"), "application/xml", "<Request");
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("<Decision>Indeterminate</Decision>"), "{}", reply.text());
    assert!(reply.text().contains("status:syntax-error"), "{}", reply.text());
    let reply = send(&server, &format!("{WSO2}/pdp"), "text/plain", "x");
    assert_eq!(reply.status, 415, "what is about the connection is as everywhere");
}

#[test]
fn clients_of_authzforce_are_answered_at_the_path_of_their_domain() {
    let server = start("xacml.authzforce_domain = 'A0bdIbmGEeWhFwcKrC9gSQ'");
    for prefix in ["", "/authzforce-ce"] {
        let path = format!("{prefix}/domains/A0bdIbmGEeWhFwcKrC9gSQ/pdp");
        for media_type in ["application/xml", "application/xacml+xml"] {
            let reply = send(&server, &path, media_type, &request_xml("x"));
            assert!(reply.text().contains("<Decision>Deny</Decision>"), "{}", reply.text());
            assert!(reply.header("content-type").starts_with(media_type));
        }
        let reply = send(&server, &path, "application/xacml+json", &request_json("x"));
        assert_eq!(reply.json()["Response"][0]["Decision"], "Deny");
        let reply = send(&server, &path, "application/xml", "<Request/>");
        assert_eq!((reply.status, reply.header("content-type")), (400, "application/xml"));
        assert!(reply.text().starts_with("<error><message>"), "{}", reply.text());
        let reply = send(&server, &path, "application/json", "{}");
        assert_eq!(reply.status, 400);
        assert!(reply.json()["error"]["message"].is_string(), "{}", reply.text());
        let other = format!("{prefix}/domains/other/pdp");
        assert_eq!(send(&server, &other, "application/xml", &request_xml("x")).status, 404);
    }
}

#[test]
fn nothing_of_it_is_there_unless_set() {
    let server = start("");
    for path in
        ["/domains/d/pdp", "/authzforce-ce/domains/{domain}/pdp", "/api/identity/entitlement/decision/pdp"]
    {
        assert_eq!(send(&server, path, "application/xml", &request_xml("x")).status, 404, "{path}");
    }
    let error = durward_server::Settings::from_toml("xacml.authzforce_domain = 'a/b'", "t").unwrap_err();
    assert!(error.to_string().contains("a domain is named with"), "{error}");
}
