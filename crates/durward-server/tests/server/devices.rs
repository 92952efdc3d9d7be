//! Strangers guess at a user's password over HTTP, from the user's own address too, and the user logs in on a known device.

use std::sync::Arc;

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::{Value, json};

use crate::support::{DOCTORS_READ, Directory, Reply, TestServer, clock, settings};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

const KEY: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const SETTINGS: &str = "[server]\ntrusted_proxies = ['127.0.0.0/8']\n[openam]\non = true\n\
                        [identity]\nusers = 'users'\nhash_memory_kib = 8\nhash_passes = 1\n";

/// As another start of it finds it: `anna` and `berta` with the password `secret`, and the cluster's key.
fn filled() -> Directory {
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    directory.write_secret("cluster.key", KEY);
    let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
    let password = StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
    for name in ["anna", "berta"] {
        let user = User::new("/", name).unwrap();
        users.put(Account { password: Some(password.clone()), ..Account::new(&user) }).unwrap();
    }
    directory
}

fn start() -> TestServer {
    let directory = filled();
    let mut settings = settings(&directory, SETTINGS);
    settings.identity.cluster_key_path = Some(directory.path("cluster.key"));
    // It stands still: no delay passes, however slow the machine is.
    let now = clock()();
    let server = TestServer::start_at(directory, settings, Arc::new(move || now), |_| {}).unwrap();
    server.eventually("a login", |server| log_in(server, "berta", "192.0.2.1", &[], json!({})).status == 200);
    server
}

fn log_in(server: &TestServer, user: &str, from: &str, headers: &[(&str, &str)], mut more: Value) -> Reply {
    let members = more.as_object_mut().unwrap();
    members.entry("user").or_insert(user.into());
    members.entry("password").or_insert("secret".into());
    let mut all = vec![("Content-Type", "application/json"), ("X-Forwarded-For", from)];
    all.extend(headers);
    server.send("POST", "/v1/login", &all, more.to_string().as_bytes())
}

/// Guesses at `anna` from an address until it has to wait.
fn besiege(server: &TestServer, from: &str) {
    let guess = || log_in(server, "anna", from, &[], json!({ "password": "wrong" })).status;
    assert!((0..20).any(|_| guess() == 429));
}

/// The cookies of an answer, as a browser sends them.
fn device_cookie(reply: &Reply) -> (String, String) {
    let cookie = reply.all("set-cookie").into_iter().find(|cookie| cookie.starts_with("durward_device="));
    let (pair, attributes) = cookie.unwrap().split_once("; ").unwrap();
    (pair.to_owned(), attributes.to_owned())
}

const ATTACKER: &str = "198.51.100.7";

#[test]
fn a_known_device_gets_in_from_where_strangers_guess_and_after_a_restart() {
    let server = start();
    let login = log_in(&server, "anna", "203.0.113.1", &[], json!({ "cookie": true }));
    let (cookie, attributes) = device_cookie(&login);
    assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure");
    let device = login.json()["device"].as_str().unwrap().to_owned();
    assert_eq!(cookie, format!("durward_device={device}"));
    let without = log_in(&server, "anna", "203.0.113.1", &[], json!({}));
    assert!(without.all("set-cookie").is_empty() && without.json()["device"].is_string());
    let berta = log_in(&server, "berta", "203.0.113.1", &[], json!({})).json();
    drop(server);
    for _ in 0..2 {
        let server = start();
        besiege(&server, ATTACKER);
        let status = |headers: &[(&str, &str)], more| log_in(&server, "anna", ATTACKER, headers, more).status;
        let two = format!("{cookie}; durward_device=x");
        assert_eq!(status(&[], json!({})), 429);
        assert_eq!(status(&[("Cookie", &two)], json!({})), 429, "of two cookies none counts");
        assert_eq!(status(&[], json!({ "device": berta["device"] })), 429, "another user's");
        let other = if &device[30..31] == "A" { "B" } else { "A" };
        let altered = format!("{}{other}{}", &device[..30], &device[31..]);
        assert_eq!(status(&[], json!({ "device": altered })), 429, "altered");
        assert_eq!(status(&[("Cookie", &cookie)], json!({})), 200);
        assert_eq!(status(&[], json!({ "device": device })), 200);
        let headers = [
            ("X-OpenAM-Username", "anna"),
            ("X-OpenAM-Password", "secret"),
            ("X-Forwarded-For", ATTACKER),
            ("Cookie", &cookie),
        ];
        let by_openam = server.send("POST", "/openam/json/authenticate", &headers, b"");
        assert_eq!(by_openam.status, 200, "{}", by_openam.text());
        assert!(device_cookie(&by_openam).0.len() > cookie.len() / 2);
        // Its own guesses are its own affair.
        (0..4).for_each(|_| {
            assert_eq!(status(&[("Cookie", &cookie)], json!({ "password": "wrong" })), 401);
        });
        assert_eq!(status(&[("Cookie", &cookie)], json!({})), 429);
    }
}
