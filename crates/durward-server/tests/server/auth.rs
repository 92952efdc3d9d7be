//! Who may ask over SAPL's protocols, and for which tenant.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use durward_server::{Settings, StartError};

use crate::decider::World;
use crate::sapl::start;
use crate::support::{Directory, Reply, TestServer};

/// Tells the tenant.
const TENANT: &str = r#"{"subject":"tenant","action":1,"resource":1}"#;

/// Argon2id of `secret`, with little memory so that tests are quick.
pub(crate) const SECRET: &str =
    "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$cgjDW3sW92hlpcDZjp5vwbUFmJaTisOfqz88G4ypUtg";
pub(crate) const KEY: &str =
    "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$I4WrJVLzXtTUcnjNjiwcbnb3Tb7TwFxpTeOSQ4Mvhf8";

/// Anna of the plant logs in with a password, a robot with a key.
pub(crate) fn users() -> String {
    format!(
        "sapl.http = true\n[[auth.users]]\nid = 'anna'\ntenant = 'plant'\nname = 'anna'\npassword = '{SECRET}'\n\
         [[auth.users]]\nid = 'robot'\napi_key_id = 'abcdefghij'\napi_key = '{KEY}'\n"
    )
}

pub(crate) const ROBOT: &str = "sapl_abcdefghij_secret";

fn ask(server: &TestServer, headers: &[(&str, &str)]) -> Reply {
    server.send("POST", "/api/pdp/decide-once", headers, TENANT.as_bytes())
}

pub(crate) fn basic(pair: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(pair))
}

/// The tenant that the credentials are of; `None` where they are refused.
fn tenant(server: &TestServer, authorization: &str) -> Option<String> {
    let reply = ask(server, &[("Authorization", authorization)]);
    match reply.status {
        200 => Some(reply.json()["resource"].as_str().unwrap().into()),
        status => {
            assert_eq!(status, 401, "{}", reply.text());
            None
        }
    }
}

#[test]
fn a_password_and_a_key_each_lead_to_their_tenant() {
    let (server, _) = start(&users());
    for _ in 0..2 {
        assert_eq!(tenant(&server, &basic("anna:secret")).as_deref(), Some("plant"));
        assert_eq!(tenant(&server, &format!("Bearer {ROBOT}")).as_deref(), Some("default"));
    }
    let wrong = [
        basic("anna:Secret"),
        basic("anna:"),
        basic("bob:secret"),
        basic("robot:secret"),
        "Bearer sapl_abcdefghij_Secret".into(),
        "Bearer sapl_abcdefghik_secret".into(),
        "Bearer sapl_".into(),
        "Bearer secret".into(),
        "Bearer ".into(),
        "Digest x".into(),
        "Basic".into(),
        format!("Bearer sapl_{}", "x".repeat(15_000)),
    ];
    for authorization in wrong {
        assert_eq!(tenant(&server, &authorization), None, "{authorization}");
    }
    let accepted = server.metric("durward_authentications_total{result=\"ok\"}");
    assert_eq!((accepted, server.metric("durward_authentications_total{result=\"refused\"}")), (4.0, 12.0));
}

#[test]
fn whoever_has_no_credentials_is_told_which_there_are() {
    let (server, _) = start(&users());
    let reply = ask(&server, &[]);
    assert_eq!(reply.status, 401);
    assert_eq!(reply.json()["error"], "Unauthorized");
    assert_eq!(reply.header("www-authenticate"), "Basic realm=\"durward\"");
    for path in ["decide", "multi-decide", "multi-decide-all", "multi-decide-all-once"] {
        assert_eq!(server.send("POST", &format!("/api/pdp/{path}"), &[], b"{}").status, 401, "{path}");
    }
    let two = [("Authorization", basic("anna:secret")), ("Authorization", basic("anna:secret"))];
    let two: Vec<(&str, &str)> = two.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(ask(&server, &two).status, 401);
}

#[test]
fn where_nobody_has_to_authenticate_wrong_credentials_are_still_wrong() {
    let (server, _) =
        start("sapl.http = true\nauth.danger_allow_no_auth = true\nauth.default_tenant = 'all'");
    assert_eq!(ask(&server, &[]).json()["resource"], "all");
    assert_eq!(tenant(&server, &basic("anna:secret")), None);
    assert_eq!(tenant(&server, "Bearer x"), None);
    let warnings = server.ready()["warnings"].to_string();
    assert!(warnings.contains("danger_allow_no_auth"), "{warnings}");
}

#[test]
fn a_user_without_a_tenant_may_be_refused() {
    let text = users().replace(
        "[[auth.users]]\nid = 'anna'",
        "auth.reject_without_tenant = true\n[[auth.users]]\nid = 'anna'",
    );
    let (server, _) = start(&text);
    assert_eq!(tenant(&server, &basic("anna:secret")).as_deref(), Some("plant"));
    assert_eq!(tenant(&server, &format!("Bearer {ROBOT}")), None);
}

#[test]
fn a_server_that_nobody_could_ask_does_not_start() {
    let told = |text: &str| Settings::from_toml(text, "t").unwrap_err().to_string();
    for text in ["sapl.http = true", "rsocket.listen = '127.0.0.1:7000'", "rsocket.socket = 's'"] {
        assert!(told(text).contains("danger_allow_no_auth"), "{}", told(text));
    }
    let user = "[[auth.users]]\nid = 'u'\n";
    let cases = [
        (user.to_string(), "neither a password nor an API key"),
        (format!("{user}name = 'u'"), "one of `name` and `password`"),
        (format!("{user}name = 'u'\npassword = 'clear'"), "not an Argon2id digest"),
        (format!("{user}api_key_id = 'a_b'\napi_key = '{KEY}'"), "underscore"),
        (format!("{user}name = 'a:b'\npassword = '{KEY}'"), "colon"),
        (format!("{user}tenant = '../x'\nname = 'u'\npassword = '{KEY}'"), "a tenant is named"),
        (format!("{user}name='u'\npassword='{KEY}'\n{user}name='v'\npassword='{KEY}'"), "share an id"),
        ("[auth.jwt]\nissuer = 'https://i'\naudiences = []".into(), "`auth.jwt.audiences` is empty"),
        ("auth.default_tenant = ''".into(), "`auth.default_tenant` is ``"),
        ("auth.cache_entries_max = 0".into(), "the least is 1"),
        ("sapl.keep_alive_ms = 0".into(), "the least is 1"),
        ("sapl.multi_subscriptions_max = 257".into(), "the most is 256"),
        ("rsocket.payload_bytes_max = 16777216".into(), "the most is 16777215"),
    ];
    for (text, expected) in cases {
        let error = told(&text);
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    // Of a digest, more can be seen only when it is used.
    let broken = format!("sapl.http = true\n{user}name = 'u'\npassword = '$argon2id$v=19$nonsense'");
    match TestServer::start_deciding(Directory::new(), &broken, World::default()) {
        Err(StartError::Config(error)) => {
            assert!(error.to_string().contains("auth.users.u.password"), "{error}")
        }
        other => assert!(other.is_err(), "it started"),
    }
}
