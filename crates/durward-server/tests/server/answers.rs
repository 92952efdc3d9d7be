//! `/pdp` and `/`: which form goes in, which comes out, and what is refused how.

use crate::support::{TestServer, request_json, request_xml};

const XACML_XML: &str = "application/xacml+xml; version=3.0";

#[test]
fn every_form_goes_in_and_every_form_comes_out() {
    let server = TestServer::start("");
    let (xml, json) = (request_xml("doctor"), request_json("doctor"));
    let sent = [
        ("application/xacml+xml; version=3.0", &xml, XACML_XML),
        ("application/xacml+xml", &xml, XACML_XML),
        ("application/xacml+xml; version=\"3.0\"; charset=UTF-8", &xml, XACML_XML),
        ("application/xml", &xml, "application/xml"),
        ("text/xml; charset=utf-8", &xml, "text/xml; charset=utf-8"),
        ("application/xacml+json", &json, "application/xacml+json"),
        ("application/json", &json, "application/json"),
    ];
    let wanted = [
        ("*/*", None),
        ("application/xacml+xml", Some(XACML_XML)),
        ("application/xacml+xml; version=3.0", Some(XACML_XML)),
        ("application/xml", Some("application/xml")),
        ("text/xml", Some("text/xml; charset=utf-8")),
        ("application/xacml+json", Some("application/xacml+json")),
        ("application/json", Some("application/json")),
        ("application/xml;q=0.2, application/json;q=0.8, text/html", Some("application/json")),
    ];
    for (content_type, body, own) in sent {
        for (accept, expected) in wanted {
            let reply = server.post(&[("Content-Type", content_type), ("Accept", accept)], body);
            let case = format!("{content_type} -> {accept}: {}", reply.text());
            assert_eq!(reply.status, 200, "{case}");
            assert_eq!(reply.header("content-type"), expected.unwrap_or(own), "{case}");
            let marker = if reply.header("content-type").contains("json") {
                r#""Decision":"Permit""#
            } else {
                "<Decision>Permit</Decision>"
            };
            assert!(reply.text().contains(marker), "{case}");
        }
    }
}

#[test]
fn without_accept_the_answer_has_the_form_of_the_request() {
    let server = TestServer::start("");
    let mut connection = server.connect();
    connection.ask(&request_xml("doctor"));
    assert!(connection.answer().1.contains("<Decision>Permit</Decision>"));
}

#[test]
fn what_cannot_be_answered_is_refused_with_its_status() {
    let server = TestServer::start("");
    let xml = request_xml("doctor");
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, u16, &'a str);
    let cases: &[Case<'_>] = &[
        (&[("Content-Type", "text/plain")], &xml, 415, "the body can be"),
        (&[("Content-Type", "nonsense")], &xml, 415, "Content-Type"),
        (&[("Content-Type", "application/xacml+xml; version=9.9")], &xml, 415, "versions"),
        (&[("Content-Type", "application/xml; charset=utf-16")], &xml, 400, "UTF-16, and it is not"),
        (&[("Content-Type", "application/xml; charset=latin1")], &xml, 415, "UTF-8"),
        (&[("Content-Type", "application/json; charset=utf-16")], &xml, 415, "UTF-8"),
        (&[("Content-Type", "application/xml"), ("Content-Encoding", "gzip")], &xml, 415, "Content-Encoding"),
        (&[("Content-Type", "application/xml"), ("Accept", "text/html")], &xml, 406, "Accept"),
        (
            &[("Content-Type", "application/xml"), ("Accept", "application/xacml+xml;version=2.0")],
            &xml,
            406,
            "",
        ),
        (&[("Content-Type", "application/xml")], "<Request", 400, ""),
        (&[("Content-Type", "application/xml")], "<Policy/>", 400, ""),
        (&[("Content-Type", "application/json")], "{\"Request\":", 400, ""),
        (&[("Content-Type", "application/json")], "{\"Request\":{\"Acess\":1}}", 400, ""),
        (&[("Content-Type", "application/json")], &xml, 400, "the body is XML"),
        (&[("Content-Type", "application/xml")], " {\"Request\":{}}", 400, "the body is JSON"),
        (&[("Content-Type", "text/xml")], "[]", 400, "Content-Type: application/xacml+json"),
    ];
    for (headers, body, status, words) in cases {
        let reply = server.post(headers, body);
        assert_eq!(reply.status, *status, "{headers:?} {body}: {}", reply.text());
        assert!(reply.text().contains(words), "{headers:?}: {}", reply.text());
        assert!(reply.header("content-type").starts_with("application/problem+"), "{headers:?}");
    }
}

#[test]
fn a_request_without_a_body_is_malformed() {
    let server = TestServer::start("");
    let reply = server.post(&[("Content-Type", "application/xml"), ("Content-Length", "0")], "");
    assert_eq!(reply.status, 400, "{}", reply.text());
}

#[test]
fn a_malformed_request_is_told_the_place_in_the_form_it_likes() {
    let server = TestServer::start("");
    let broken = "<Request xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\" CombinedDecision=\"false\" \
                  ReturnPolicyIdList=\"false\">\n  <Atributes/>\n</Request>";
    let reply = server.post(&[("Content-Type", "application/xml")], broken);
    assert_eq!((reply.status, reply.header("content-type")), (400, "application/problem+xml"));
    assert!(reply.text().contains("<line>2</line>"), "{}", reply.text());
    let reply = server.post(&[("Content-Type", "application/xml"), ("Accept", "application/json")], broken);
    assert_eq!((reply.status, reply.header("content-type")), (400, "application/problem+json"));
    assert_eq!(reply.json()["line"], 2, "{}", reply.text());
    assert_eq!(reply.json()["status"], 400);
}

#[test]
fn a_request_whose_value_is_not_of_its_type_is_decided_indeterminate() {
    let server = TestServer::start("");
    let body = request_json("x").replace(r#""Value":"x""#, r#""DataType":"integer","Value":"x""#);
    let reply = server.post(&[("Content-Type", "application/json")], body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let result = &reply.json()["Response"][0];
    assert_eq!(result["Decision"], "Indeterminate");
    assert_eq!(result["Status"]["StatusCode"]["Value"], "urn:oasis:names:tc:xacml:1.0:status:syntax-error");
}

#[test]
fn an_older_request_is_answered_in_its_own_version() {
    let server = TestServer::start("");
    let request = r#"<Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject><Attribute
        AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string"><AttributeValue>doctor</AttributeValue>
        </Attribute></Subject><Resource/><Action/><Environment/></Request>"#;
    let reply = server.post(&[("Content-Type", "application/xacml+xml; version=2.0")], request);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), "application/xacml+xml; version=2.0");
    assert!(reply.text().contains("urn:oasis:names:tc:xacml:2.0:context:schema:os"), "{}", reply.text());
}

#[test]
fn the_home_document_links_to_the_decision_point() {
    let server = TestServer::start("");
    let relation = "http://docs.oasis-open.org/ns/xacml/relation/pdp";
    let cases = [
        ("*/*", "application/xml"),
        ("application/xml", "application/xml"),
        ("text/xml", "text/xml; charset=utf-8"),
        ("application/json-home", "application/json-home"),
        ("application/json", "application/json"),
    ];
    for (accept, media_type) in cases {
        let reply = server.send("GET", "/", &[("Accept", accept)], b"");
        assert_eq!((reply.status, reply.header("content-type")), (200, media_type), "{accept}");
        assert_eq!(reply.header("vary"), "Accept");
        assert!(reply.text().contains(relation) && reply.text().contains("/pdp"), "{accept}");
    }
    let json = server.send("GET", "/", &[("Accept", "application/json-home")], b"").json();
    assert_eq!(json["resources"][relation]["href"], "/pdp");
    assert_eq!(server.send("GET", "/", &[("Accept", "image/png")], b"").status, 406);
}

#[test]
fn no_answer_may_be_kept() {
    let server = TestServer::start("");
    for path in ["/", "/metrics", "/health/live", "/health/ready", "/nowhere"] {
        assert_eq!(server.get(path).header("cache-control"), "no-store", "{path}");
    }
    let headers = [("Content-Type", "application/xacml+xml")];
    for body in [request_xml("doctor"), "not XML".into()] {
        assert_eq!(server.post(&headers, body).header("cache-control"), "no-store");
    }
}

/// RFC 9112, 3.2. A proxy and we must not each see another one of two.
#[test]
fn a_request_names_one_host() {
    let server = TestServer::start("");
    for (head, expected) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\n\r\n", 200),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ] {
        let mut connection = server.connect();
        connection.send(head);
        assert_eq!(connection.answer().0, expected, "{head:?}");
    }
}

#[test]
fn the_command_on_the_page_asks_where_the_browser_did_and_nothing_else() {
    let server = TestServer::start("");
    for (host, expected) in [
        ("pdp.example.org:8443", "http://pdp.example.org:8443/pdp"),
        ("[::1]:80", "http://[::1]:80/pdp"),
        ("a;rm -rf x", "http://127.0.0.1:"),
        ("$(x)", "http://127.0.0.1:"),
    ] {
        let mut connection = server.connect();
        connection.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\n\r\n"));
        let (status, page) = connection.answer();
        assert!(status == 200 && page.contains(expected), "{status} {page}");
    }
}

#[test]
fn a_browser_gets_a_page_without_scripts() {
    let server = TestServer::start("");
    let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let reply = server.send("GET", "/", &[("Accept", accept)], b"");
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/html; charset=utf-8"));
    let page = reply.text();
    assert!(page.contains("in force") && page.contains("/health/ready") && page.contains("curl"), "{page}");
    assert!(!page.contains("<script"), "{page}");
    assert!(reply.header("content-security-policy").starts_with("default-src 'none'"));
}

#[test]
fn request_ids_are_kept_or_made() {
    let server = TestServer::start("");
    let kept = server.send("GET", "/health/live", &[("X-Request-Id", "abc-1")], b"");
    assert_eq!(kept.header("x-request-id"), "abc-1");
    let (first, second) = (server.get("/health/live"), server.get("/health/live"));
    assert!(!first.header("x-request-id").is_empty());
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    let strange = server.send("GET", "/health/live", &[("X-Request-Id", "a b")], b"");
    assert_ne!(strange.header("x-request-id"), "a b");
}

#[test]
fn requests_in_utf_16_are_answered_whatever_says_that_they_are() {
    let server = TestServer::start("");
    let document = |declaration: &str| format!("{declaration}{}", request_xml("doctor"));
    for declaration in ["", "<?xml version=\"1.0\" encoding=\"UTF-16\"?>"] {
        for mark in ["", "\u{FEFF}"] {
            for (name, order) in
                [("utf-16le", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("UTF-16BE", u16::to_be_bytes)]
            {
                let text = format!("{mark}{}", document(declaration));
                let bytes: Vec<u8> = text.encode_utf16().flat_map(order).collect();
                for charset in [String::new(), format!("; charset={name}"), "; charset=\"utf-16\"".to_owned()]
                {
                    let media_type = format!("application/xml{charset}");
                    let reply = server.post(&[("Content-Type", &media_type)], &bytes);
                    assert_eq!(reply.status, 200, "{media_type}: {}", reply.text());
                    assert!(reply.text().contains("<Decision>Permit</Decision>"), "{}", reply.text());
                }
            }
        }
    }
    let wrong: Vec<u8> = "<Request>\n<x".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let reply = server.post(&[("Content-Type", "application/xml")], &wrong);
    assert!(reply.status == 400 && reply.text().contains("<line>1</line>"), "{}", reply.text());
    let utf_16_json: Vec<u8> = "<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let reply = server.post(&[("Content-Type", "application/json")], &utf_16_json);
    assert!(reply.text().contains("the body is XML"), "{}", reply.text());
}

#[test]
fn policies_in_utf_16_are_in_force() {
    let directory = crate::support::Directory::new();
    directory.write("policies/x", "");
    let bytes: Vec<u8> = format!("\u{FEFF}{}", crate::support::DOCTORS_READ)
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    std::fs::write(directory.path("policies/doctors.xml"), bytes).unwrap();
    std::fs::remove_file(directory.path("policies/x")).unwrap();
    let server = TestServer::start_in(directory, "").unwrap();
    assert_eq!(server.decide("doctor"), "Permit");
}
