//! Passkeys over `/v1`: enrolled, used, looked after, removed by administrators, and noted in the audit.

use serde_json::{Value, json};

use crate::authenticator::Authenticator;
use crate::identity::{agrees_as, get, post, start, token};
use crate::support::{Reply, TestServer};

const ORIGIN: &str = "https://login.example.org";

const ON: &str = "[identity.passkeys]\nrp_id = 'example.org'\norigins = ['https://login.example.org']\n";

fn ok(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

fn enrol(server: &TestServer, user: &str) -> Authenticator {
    let (description, token) = (server.get("/v1/openapi.json").json(), token(server, user));
    let begun = post(server, "/v1/users/me/passkeys/enrol", Some(&token), &json!({ "password": "secret" }));
    agrees_as(&description, "/v1/users/me/passkeys/enrol", "post", &begun);
    let begun = ok(&begun);
    let mut authenticator = Authenticator::new(ORIGIN);
    let credential = authenticator.create(&begun["public_key"]);
    let body = json!({ "ticket": begun["ticket"], "credential": credential, "name": "my phone" });
    let confirmed = post(server, "/v1/users/me/passkeys/confirm", Some(&token), &body);
    agrees_as(&description, "/v1/users/me/passkeys/confirm", "post", &confirmed);
    assert_eq!(ok(&confirmed)["name"], "my phone");
    assert_eq!(get(server, "/v1/session", &token).status, 401, "sessions end");
    authenticator
}

/// What finishes a login that this body began.
fn answer(server: &TestServer, authenticator: &mut Authenticator, begin: &Value) -> Value {
    let begun = ok(&post(server, "/v1/login/passkey/begin", None, begin));
    json!({ "ticket": begun["ticket"], "credential": authenticator.get(&begun["public_key"]) })
}

fn login(server: &TestServer, authenticator: &mut Authenticator) -> Reply {
    let body = answer(server, authenticator, &json!({}));
    post(server, "/v1/login/passkey", None, &body)
}

fn token_of(reply: &Reply) -> String {
    ok(reply)["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_passkey_is_enrolled_used_renamed_and_removed() {
    let server = start(ON);
    let description = server.get("/v1/openapi.json").json();
    let mut authenticator = enrol(&server, "anna");
    let begun = post(&server, "/v1/login/passkey/begin", None, &json!({}));
    agrees_as(&description, "/v1/login/passkey/begin", "post", &begun);
    let granted = login(&server, &mut authenticator);
    agrees_as(&description, "/v1/login/passkey", "post", &granted);
    assert_eq!((&ok(&granted)["user"], &ok(&granted)["level"]), (&json!("anna"), &json!(1)));
    let token = token_of(&granted);
    let list = get(&server, "/v1/users/me/passkeys", &token);
    agrees_as(&description, "/v1/users/me/passkeys", "get", &list);
    let passkey = ok(&list)["passkeys"][0].clone();
    assert_eq!((&passkey["name"], &passkey["algorithm"]), (&json!("my phone"), &json!("ES256")));
    let id = passkey["id"].clone();
    let rename = json!({ "id": id, "name": "a key" });
    ok(&post(&server, "/v1/users/me/passkeys/rename", Some(&token), &rename));
    assert_eq!(ok(&get(&server, "/v1/users/me/passkeys", &token))["passkeys"][0]["name"], "a key");
    let remove = |password: &str| {
        let body = json!({ "id": id, "password": password });
        post(&server, "/v1/users/me/passkeys/remove", Some(&token), &body)
    };
    assert_eq!(remove("wrong").status, 403);
    ok(&remove("secret"));
    assert_eq!(login(&server, &mut authenticator).status, 401);
    server.eventually("the audit says so", |server| {
        let audit = std::fs::read_to_string(server.directory.path("audit/audit.jsonl")).unwrap();
        audit.contains("passkeys: ") && audit.contains("passkey: ")
    });
}

#[test]
fn a_passkey_finishes_a_login_and_raises_a_session() {
    let server = start(ON);
    let description = server.get("/v1/openapi.json").json();
    let mut authenticator = enrol(&server, "anna");
    let half = post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" }));
    assert_eq!(half.status, 202, "{}", half.text());
    let challenge = half.json()["challenge"].clone();
    let body = answer(&server, &mut authenticator, &json!({ "challenge": challenge }));
    assert_eq!(ok(&post(&server, "/v1/login/passkey", None, &body))["level"], 1);
    assert_eq!(post(&server, "/v1/login/passkey", None, &body).status, 401, "replayed");
    let of_nobody = post(&server, "/v1/login/passkey/begin", None, &json!({ "challenge": "x" }));
    assert_eq!(of_nobody.status, 409);
    agrees_as(&description, "/v1/login/passkey/begin", "post", &of_nobody);

    let server = start(&format!("second_step = 'step-up'\n{ON}"));
    let mut authenticator = enrol(&server, "anna");
    let token = token(&server, "anna");
    let begun = post(&server, "/v1/sessions/step-up/passkey/begin", Some(&token), &json!({}));
    agrees_as(&description, "/v1/sessions/step-up/passkey/begin", "post", &begun);
    let body = json!({
        "ticket": ok(&begun)["ticket"], "credential": authenticator.get(&ok(&begun)["public_key"]),
    });
    let raised = post(&server, "/v1/sessions/step-up/passkey", Some(&token), &body);
    agrees_as(&description, "/v1/sessions/step-up/passkey", "post", &raised);
    assert_eq!(ok(&raised)["level"], 1);
    assert_eq!(post(&server, "/v1/sessions/step-up/passkey", Some(&token), &body).status, 403);
}

#[test]
fn an_administrator_removes_passkeys_of_who_has_lost_them() {
    let server = start(ON);
    let description = server.get("/v1/openapi.json").json();
    let mut authenticator = enrol(&server, "anna");
    let session = token_of(&login(&server, &mut authenticator));
    let (root, berta) = (token(&server, "root"), token(&server, "berta"));
    let whose = json!({ "user": "anna" });
    assert_eq!(post(&server, "/v1/admin/passkeys", Some(&berta), &whose).status, 403);
    let list = post(&server, "/v1/admin/passkeys", Some(&root), &whose);
    agrees_as(&description, "/v1/admin/passkeys", "post", &list);
    assert_eq!(ok(&list)["passkeys"].as_array().unwrap().len(), 1);
    assert_eq!(ok(&get(&server, "/v1/users/anna", &root))["passkeys"], 1);
    assert_eq!(post(&server, "/v1/admin/passkeys/remove", Some(&berta), &whose).status, 403);
    let removed = post(&server, "/v1/admin/passkeys/remove", Some(&root), &whose);
    agrees_as(&description, "/v1/admin/passkeys/remove", "post", &removed);
    assert_eq!(ok(&removed), json!({ "removed": 1 }));
    assert_eq!(get(&server, "/v1/session", &session).status, 401);
    assert_eq!(post(&server, "/v1/admin/passkeys/remove", Some(&root), &whose).status, 404);
    assert_eq!(login(&server, &mut authenticator).status, 401);
    token(&server, "anna");
}

#[test]
fn an_administrator_with_a_passkey_must_have_used_it() {
    let server = start(&format!("second_step = 'step-up'\n{ON}"));
    let mut authenticator = enrol(&server, "root");
    assert_eq!(get(&server, "/v1/users/anna", &token(&server, "root")).status, 403);
    let granted = login(&server, &mut authenticator);
    assert_eq!(get(&server, "/v1/users/anna", &token_of(&granted)).status, 200);
}

#[test]
fn what_comes_without_the_setting_or_is_none_is_refused() {
    let server = start("");
    let token = token(&server, "anna");
    assert_eq!(post(&server, "/v1/login/passkey/begin", None, &json!({})).status, 409);
    assert_eq!(get(&server, "/v1/users/me/passkeys", &token).status, 404);
    let server = start(ON);
    for body in [
        json!({ "ticket": "x", "credential": {} }),
        json!({ "ticket": "x".repeat(8000), "credential": {} }),
        json!({ "ticket": "", "credential": [] }),
    ] {
        assert_eq!(post(&server, "/v1/login/passkey", None, &body).status, 401, "{body}");
    }
    let huge = json!({ "ticket": "x", "credential": { "id": "x".repeat(1 << 20) } });
    assert_eq!(post(&server, "/v1/login/passkey", None, &huge).status, 413);
    assert_eq!(post(&server, "/v1/login/passkey", None, &json!({ "ticket": "x" })).status, 400);
}
