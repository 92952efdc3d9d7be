//! Who calls, where proxies stand in front: what throttles logins must not be at the mercy of a header.

use std::sync::Arc;

use durward_server::StartError;
use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::json;

use crate::support::{DOCTORS_READ, Directory, TestServer, clock, settings};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

/// After three failures an address has to wait.
const SETTINGS: &str = "[identity]\nusers = 'users'\nhash_memory_kib = 8\nhash_passes = 1\naddress_failures_free = 3\n\
                        user_failures_free = 1000\nsubjects_asserted_by = 'danger-anybody'\naudit = 'audit'\n[decision_log]\nto = 'file'\n";

fn try_start(server: &str) -> Result<TestServer, StartError> {
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    users
        .put(Account { password: Some(password), ..Account::new(&User::new("/", "anna").unwrap()) })
        .unwrap();
    drop(users);
    let settings = settings(&directory, &format!("[server]\n{server}\n{SETTINGS}"));
    // It stands still: no delay passes, however slow the machine is.
    let now = clock()();
    TestServer::start_at(directory, settings, Arc::new(move || now), |_| {})
}

fn start(server: &str) -> TestServer {
    try_start(server).unwrap()
}

/// The status of a login with these fields.
fn login(server: &TestServer, password: &str, fields: &[(&str, &str)]) -> u16 {
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(fields);
    let body = json!({ "user": "anna", "password": password }).to_string();
    server.send("POST", "/v1/login", &headers, body.as_bytes()).status
}

/// Fails until there is a delay.
fn fail(server: &TestServer, fields: impl Fn(usize) -> Vec<(&'static str, String)>) -> bool {
    (0..20).any(|number| {
        let fields = fields(number);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        login(server, "wrong", &fields) == 429
    })
}

#[test]
fn each_client_behind_a_trusted_proxy_has_its_own_delay() {
    let server = start("trusted_proxies = ['127.0.0.0/8']");
    let forwarded = |client: &str| [("X-Forwarded-For", client.to_owned())].to_vec();
    server.eventually("a login", |server| {
        login(server, "secret", &[("X-Forwarded-For", "203.0.113.1")]) == 200
    });
    assert!(fail(&server, |_| forwarded("203.0.113.9")));
    assert_eq!(login(&server, "secret", &[("X-Forwarded-For", "203.0.113.9")]), 429);
    assert_eq!(login(&server, "secret", &[("X-Forwarded-For", "203.0.113.10")]), 200);
    assert_eq!(
        login(&server, "secret", &[("X-Forwarded-For", "1.2.3.4, 203.0.113.9")]),
        429,
        "it wrote that itself"
    );
    assert!(fail(&server, |number| forwarded(&format!("10.0.0.{number}, 203.0.113.11"))));
    let audit = std::fs::read_to_string(server.directory.path("audit/audit.jsonl")).unwrap();
    assert!(audit.contains("203.0.113.9") && !audit.contains("10.0.0.1"), "{audit}");
}

#[test]
fn whoever_is_no_trusted_proxy_is_himself() {
    for settings in ["", "trusted_proxies = ['192.0.2.0/24', '::1']"] {
        let server = start(settings);
        server.eventually("a login", |server| login(server, "secret", &[]) == 200);
        let spoofed = |number: usize| {
            let address = format!("203.0.113.{number}");
            vec![
                ("X-Forwarded-For", address.clone()),
                ("Forwarded", format!("for={address}")),
                ("X-Real-IP", address),
            ]
        };
        assert!(fail(&server, spoofed), "{settings}");
        assert_eq!(login(&server, "secret", &[("X-Forwarded-For", "203.0.113.77")]), 429);
    }
}

#[test]
fn fields_that_a_proxy_does_not_write_and_values_that_are_none_change_nothing() {
    let server = start("trusted_proxies = ['127.0.0.1']\nforwarded_by = 'forwarded'");
    server
        .eventually("a login", |server| login(server, "secret", &[("Forwarded", "for=203.0.113.1")]) == 200);
    assert!(fail(&server, |number| vec![("X-Forwarded-For", format!("203.0.113.{number}"))]));
    assert_eq!(login(&server, "secret", &[("Forwarded", "for=unknown")]), 429, "that is the proxy's own");
    assert_eq!(login(&server, "secret", &[("Forwarded", "for=203.0.113.1;for=203.0.113.2")]), 429);
    assert_eq!(login(&server, "secret", &[("Forwarded", "for=203.0.113.2")]), 200);
}

#[test]
fn the_decision_log_names_the_client() {
    let server = start("trusted_proxies = ['127.0.0.1']");
    let headers = [("Content-Type", "application/xacml+json"), ("X-Forwarded-For", "203.0.113.9")];
    assert_eq!(server.post(&headers, crate::support::request_json("doctor")).status, 200);
    let path = server.directory.path("decisions.jsonl");
    let is_there = |_: &TestServer| {
        std::fs::read_to_string(&path).is_ok_and(|text| text.contains("\"client\":\"203.0.113.9\""))
    };
    server.eventually("a line", is_there);
}

#[test]
fn proxies_that_cannot_be_meant_are_refused() {
    for wrong in ["'0.0.0.0/0'", "'::/0'", "'10.0.0.1/8'", "'proxy.example.org'", "7"] {
        let text = format!("[server]\ntrusted_proxies = [{wrong}]\n");
        let read = durward_server::Settings::from_toml(&text, "test.toml");
        let is_refused = read.map_or(true, |settings| settings.check().is_err());
        assert!(is_refused, "{wrong}");
    }
}
