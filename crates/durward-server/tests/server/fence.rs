//! Who a question is about cannot be said in two ways at once: members that come twice.

use serde_json::json;

use crate::identity::{post, start};

#[test]
fn a_body_with_a_member_twice_is_refused() {
    let server = start("settable_properties = ['desk']\n[openam]\non = true\n");
    let login = post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" })).json();
    let bearer = format!("Bearer {}", login["token"].as_str().unwrap());
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
