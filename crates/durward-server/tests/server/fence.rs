//! Who a question is about cannot be said in two ways at once, and not by everybody: subjects that mix a token with anything else,
//! subjects that a caller asserts, members that come twice.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use durward_wire::rsocket::frame::{ErrorCode, Interaction};
use durward_wire::rsocket::write;
use durward_wire::sapl::json::{read_multi_subscription, read_subscription};
use durward_wire::sapl::protobuf;
use serde_json::{Value, json};

use crate::auth::SECRET;
use crate::identity::{post, start};
use crate::rsocket::Client;
use crate::support::{Reply, TestServer};

const SINGLE: [&str; 2] = ["decide-once", "decide"];
const SEVERAL: [&str; 3] = ["multi-decide", "multi-decide-all", "multi-decide-all-once"];
const ANYBODY: &str = "subjects_asserted_by = 'danger-anybody'\n";

fn token(server: &TestServer) -> String {
    let login = post(server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" })).json();
    login["token"].as_str().unwrap().to_owned()
}

fn about(subject: &Value) -> Value {
    json!({ "subject": subject, "action": "read", "resource": "records" })
}

fn ask(server: &TestServer, path: &str, body: &Value, authorization: Option<&str>) -> Reply {
    let headers: Vec<(&str, &str)> = authorization.map(|it| ("Authorization", it)).into_iter().collect();
    server.send("POST", &format!("/api/pdp/{path}"), &headers, body.to_string().as_bytes())
}

/// Asks about a subject in all ways that SAPL has over HTTP: each is refused, in words with this in them.
fn is_refused(server: &TestServer, subject: &Value, word: &str) {
    let (one, ok) = (about(subject), about(&json!(null)));
    let single = SINGLE.map(|path| (path, one.clone()));
    let several = SEVERAL.map(|path| (path, json!({ "a": ok, "b": one })));
    for (path, body) in single.into_iter().chain(several) {
        let reply = ask(server, path, &body, None);
        assert_eq!(reply.status, 400, "{path} {body} {}", reply.text());
        assert!(reply.json()["message"].as_str().unwrap().contains(word), "{path} {}", reply.text());
    }
}

fn decision(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["decision"].as_str().unwrap().to_owned()
}

/// `{"session": "bad"}` was denied, and `{"session": "bad", "groups": ["staff"]}` was a member of the staff.
#[test]
fn whoever_is_named_by_a_token_is_judged_by_it_alone() {
    let server = start(ANYBODY);
    let anna = token(&server);
    for subject in [
        json!({ "session": "bad", "groups": ["staff"], "realm": "/" }),
        json!({ "session": anna, "groups": ["staff"], "realm": "/" }),
        json!({ "groups": ["staff"], "session": anna }),
        json!({ "session": anna, "jwt": "a.b.c" }),
        json!({ "session": null }),
        json!({ "session": [anna] }),
    ] {
        is_refused(&server, &subject, "named by a token");
    }
    assert_eq!(decision(&ask(&server, "decide-once", &about(&json!({ "session": anna })), None)), "PERMIT");
    assert_eq!(decision(&ask(&server, "decide-once", &about(&json!({ "session": "bad" })), None)), "DENY");
    let asserted = json!({ "groups": ["staff"], "realm": "/", "jwt": "no such tokens here" });
    assert_eq!(decision(&ask(&server, "decide-once", &about(&asserted), None)), "PERMIT");
}

#[test]
fn where_there_are_users_nobody_asserts_subjects_by_default() {
    let server = start("");
    let anna = token(&server);
    for subject in [json!("anna"), json!({ "groups": ["staff"], "realm": "/" }), json!([{ "session": anna }])]
    {
        is_refused(&server, &subject, "`identity.subjects_asserted_by`");
    }
    assert_eq!(decision(&ask(&server, "decide-once", &about(&json!({ "session": anna })), None)), "PERMIT");
    assert_eq!(ask(&server, "decide-once", &about(&json!(null)), None).status, 200);
    let weak = |server: &TestServer| server.get("/health/ready").text().contains("subjects_asserted_by");
    assert!(!weak(&server) && weak(&start(ANYBODY)));
}

#[test]
fn callers_may_assert_subjects_where_the_operator_says_so() {
    let user = |id: &str, more: &str| {
        format!("[[auth.users]]\nid = '{id}'\nname = '{id}'\npassword = '{SECRET}'\n{more}")
    };
    let users = user("gate", "may_assert_subjects = true\n") + &user("other", "");
    let asserted = about(&json!({ "groups": ["staff"], "realm": "/" }));
    let status = |server: &TestServer, name: &str| {
        let authorization = format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:secret")));
        // The second time, credentials are remembered.
        let [first, second] = [(); 2].map(|()| {
            let reply = ask(server, "decide-once", &asserted, Some(&authorization));
            assert!(reply.status == 400 || decision(&reply) == "PERMIT");
            reply.status
        });
        assert_eq!(first, second);
        first
    };
    let server = start(&users);
    assert_eq!((status(&server, "gate"), status(&server, "other")), (200, 400));
    assert_eq!(ask(&server, "decide-once", &asserted, None).status, 400);
    let server = start(&format!("subjects_asserted_by = 'authenticated'\n{users}"));
    assert_eq!((status(&server, "gate"), status(&server, "other")), (200, 200));
    assert_eq!(ask(&server, "decide-once", &asserted, None).status, 400);
    let mixed = about(&json!({ "session": "x", "groups": ["staff"] }));
    let gate = format!("Basic {}", BASE64_STANDARD.encode("gate:secret"));
    assert_eq!(ask(&server, "decide-once", &mixed, Some(&gate)).status, 400, "a token is judged alone");
}

#[test]
fn requests_of_xacml_are_fenced_alike() {
    const TOKEN: &str = "urn:durward:subject:session-token";
    let (closed, open) = (start(""), start(ANYBODY));
    let attribute = |id: &str, value: &str| json!({ "AttributeId": id, "Value": value });
    let status = |server: &TestServer, request: Value| {
        let body = json!({ "Request": request }).to_string();
        server.post(&[("Content-Type", "application/xacml+json")], body).status
    };
    let role = || json!({ "AccessSubject": { "Attribute": [attribute("role", "doctor")] } });
    assert_eq!((status(&closed, role()), status(&open, role())), (400, 200));
    let beside =
        || json!({ "AccessSubject": { "Attribute": [attribute("role", "doctor"), attribute(TOKEN, "x")] } });
    assert_eq!((status(&closed, beside()), status(&open, beside())), (400, 400));
    let token = || json!({ "AccessSubject": { "Attribute": [attribute(TOKEN, "x")] } });
    assert_eq!((status(&closed, token()), status(&open, token())), (200, 200));
    let nobody = || json!({ "Action": { "Attribute": [attribute("action", "read")] } });
    assert_eq!((status(&closed, nobody()), status(&open, nobody())), (200, 200));
    let xml = r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
        ReturnPolicyIdList="false"><Attributes Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject">
        <Attribute AttributeId="role" IncludeInResult="false"><AttributeValue
        DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue></Attribute></Attributes></Request>"#;
    let headers = [("Content-Type", "application/xml")];
    assert_eq!((closed.post(&headers, xml).status, open.post(&headers, xml).status), (400, 200));
}

#[test]
fn subscriptions_over_rsocket_are_fenced_alike() {
    let server = start("[rsocket]\nlisten = '127.0.0.1:0'\n");
    let anna = token(&server);
    let mut client = Client::open(&server, None);
    let mut stream = 1;
    for subject in [json!("anna"), json!({ "session": anna, "groups": ["staff"] })] {
        let text = about(&subject).to_string();
        let several = format!("{{\"a\":{text}}}");
        for route in SINGLE {
            let way = if route == "decide" { Interaction::Stream } else { Interaction::Response };
            let subscription = read_subscription(text.as_bytes(), |_| {}).unwrap();
            client.say(|out| {
                write::request(out, stream, way, 9, route.as_bytes(), |out| {
                    protobuf::write_subscription(out, &subscription).unwrap();
                });
            });
            client.expect_error(stream, ErrorCode::Invalid, "Bad request");
            stream += 2;
        }
        for route in SEVERAL {
            let is_once = route == "multi-decide-all-once";
            let way = if is_once { Interaction::Response } else { Interaction::Stream };
            let multi = read_multi_subscription(several.as_bytes(), 9).unwrap();
            client.say(|out| {
                write::request(out, stream, way, 9, route.as_bytes(), |out| {
                    protobuf::write_multi_subscription(out, &multi).unwrap();
                });
            });
            client.expect_error(stream, ErrorCode::Invalid, "Bad request");
            stream += 2;
        }
    }
}

#[test]
fn a_body_with_a_member_twice_is_refused() {
    let server = start("settable_properties = ['desk']\n[openam]\non = true\n");
    let bearer = format!("Bearer {}", token(&server));
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let send = |path: &str, body: &str| server.send("POST", path, &headers, body.as_bytes());
    for (path, body) in [
        ("/v1/sessions/properties", r#"{"properties":{"desk":"1","desk":"2"}}"#),
        ("/openam/json/authenticate", r#"{"authId":"a","authId":"b"}"#),
        ("/openam/json/sessions?_action=getSessionInfo", r#"{"tokenId":"a","tokenId":"b"}"#),
    ] {
        let reply = send(path, body);
        assert_eq!(reply.status, 400, "{path}: {}", reply.text());
        assert!(reply.text().contains("is there twice"), "{path}: {}", reply.text());
    }
    let twice = send("/v1/login", r#"{"user":"anna","user":"berta","password":"secret"}"#);
    assert_eq!(twice.status, 400, "{}", twice.text());
    assert_eq!(send("/v1/sessions/properties", r#"{"properties":{"desk":"1"}}"#).status, 200);
}
