//! Bundles from a real server of bundles, with ETags, while they change and while it does not answer.

use std::time::Duration;

use durward_bundle::SigningKey;

use crate::bundle_server::{BundleServer, Says};
use crate::support::{Directory, PATIENCE, TestServer};
use crate::tenants::{DENIES, PERMITS, becomes, bundle, decision, open, reason, settings, told};

/// A server of bundles, a key, and the settings with both.
fn world(more: &str) -> (BundleServer, SigningKey, String) {
    let bundles = BundleServer::start();
    let key = SigningKey::generate().unwrap();
    let public = key.verifying_key().to_pem().lines().nth(1).unwrap().to_owned();
    let text = format!(
        "policies.source = 'remote-bundles'\nbundles.public_key = '{public}'\nremote_bundles.url = '{}'\n\
         remote_bundles.tenants = ['acme', 'plant']\nremote_bundles.danger_allow_http = true\n\
         remote_bundles.poll_ms = 30\nremote_bundles.backoff_first_ms = 20\nremote_bundles.backoff_max_ms = 50\n{more}",
        bundles.url()
    );
    (bundles, key, settings(&text))
}

fn etag(number: u32) -> String {
    format!("\"v{number}\"")
}

#[test]
fn bundles_are_fetched_and_asked_for_with_their_etags() {
    let (bundles, key, text) = world("remote_bundles.auth_value = 'Bearer t0ken'");
    let signed = |policy: &str, minute| bundle(policy, minute, Some((&key, "k1")));
    bundles.says("/bundles/acme", Says::Bundle(etag(1), signed(PERMITS, 1)));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    becomes(&server, "acme", "loaded");
    let mut acme = open(&server, "acme");
    assert_eq!(acme.next(), told("PERMIT"));
    assert_eq!(decision(&server, "plant"), "INDETERMINATE");
    bundles.eventually("it is asked whether it is still the same", |asked| {
        asked.iter().filter(|head| head.contains("if-none-match: \"v1\"")).count() >= 2
    });
    let first = bundles.asked().into_iter().find(|head| head.starts_with("get /bundles/acme ")).unwrap();
    assert!(first.contains("accept: application/octet-stream\r\n"), "{first}");
    assert!(first.contains("authorization: bearer t0ken\r\n") && !first.contains("if-none-match"), "{first}");

    bundles.says("/bundles/acme", Says::Bundle(etag(2), signed(DENIES, 2)));
    assert_eq!(acme.next(), told("DENY"));

    // What is not signed is not taken; what is in force stays, and the same is not asked for again.
    bundles.says("/bundles/acme", Says::Bundle(etag(3), bundle(PERMITS, 3, None)));
    becomes(&server, "acme", "stale");
    assert_eq!(
        (decision(&server, "acme"), reason(&server, "acme").as_str()),
        ("DENY".into(), "it is not signed")
    );
    bundles.eventually("the bad one is known", |asked| asked.iter().any(|head| head.contains("\"v3\"")));
    becomes(&server, "acme", "stale");
    // An old one sent again is not taken either.
    bundles.says("/bundles/acme", Says::Bundle(etag(1), signed(PERMITS, 1)));
    server.eventually("it is older", |server| reason(server, "acme").contains("older than the one in force"));
    assert_eq!(decision(&server, "acme"), "DENY");
    bundles.says("/bundles/acme", Says::Bundle(etag(4), signed(PERMITS, 4)));
    assert_eq!(acme.next(), told("PERMIT"));
    // The other tenant comes later.
    assert!(reason(&server, "plant").contains("HTTP 404"), "{}", reason(&server, "plant"));
    bundles.says("/bundles/plant", Says::Plain(signed(DENIES, 1)));
    becomes(&server, "plant", "loaded");
    assert_eq!(decision(&server, "plant"), "DENY");
    let shown = server.get("/health/ready").text();
    assert!(!shown.contains("t0ken"), "{shown}");
}

#[test]
fn the_bundle_of_the_default_tenant_has_the_time_it_came_into_force() {
    let (bundles, key, text) = world("auth.default_tenant = 'acme'");
    bundles.says("/bundles/acme", Says::Bundle(etag(1), bundle(PERMITS, 1, Some((&key, "k1")))));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    let is_told = |server: &TestServer| {
        server.ready()["snapshot"]["loaded"].as_str().is_some_and(|loaded| loaded.ends_with('Z'))
    };
    server.eventually("the health says since when", is_told);
}

#[test]
fn a_server_that_holds_questions_back_is_heard_at_once() {
    let (bundles, key, text) =
        world("remote_bundles.mode = 'long-poll'\nremote_bundles.long_poll_ms = 600000");
    let signed = |policy: &str, minute| bundle(policy, minute, Some((&key, "k1")));
    bundles.hold(10 * PATIENCE);
    bundles.says("/bundles/acme", Says::Bundle(etag(1), signed(PERMITS, 1)));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    becomes(&server, "acme", "loaded");
    let mut acme = open(&server, "acme");
    assert_eq!(acme.next(), told("PERMIT"));
    bundles.eventually("a question is held back", |asked| asked.iter().any(|head| head.contains("\"v1\"")));
    let questions =
        |bundles: &BundleServer| bundles.asked().iter().filter(|head| head.contains("/acme ")).count();
    let before = questions(&bundles);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(questions(&bundles), before, "it asks again though nothing was answered");
    bundles.says("/bundles/acme", Says::Bundle(etag(2), signed(DENIES, 2)));
    assert_eq!(acme.next(), told("DENY"));
}

#[test]
fn failures_change_nothing_until_the_time_is_over() {
    let (bundles, key, text) =
        world("remote_bundles.stale_after_ms = 300\nremote_bundles.fail_closed_after_ms = 1200");
    bundles.says("/bundles/acme", Says::Bundle(etag(1), bundle(PERMITS, 1, Some((&key, "k1")))));
    bundles.says("/bundles/plant", Says::Bundle(etag(1), bundle(PERMITS, 1, Some((&key, "k1")))));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    becomes(&server, "acme", "loaded");
    becomes(&server, "plant", "loaded");
    let mut acme = open(&server, "acme");
    assert_eq!(acme.next(), told("PERMIT"));
    bundles.says("/bundles/acme", Says::Status(503));
    becomes(&server, "acme", "stale");
    assert!(reason(&server, "acme").contains("no contact"), "{}", reason(&server, "acme"));
    // Nothing says when it is over but the clock.
    assert_eq!(acme.next(), told("INDETERMINATE"));
    becomes(&server, "acme", "error");
    assert_eq!(
        (decision(&server, "acme"), decision(&server, "plant")),
        ("INDETERMINATE".into(), "PERMIT".into())
    );
    // The same bundle is back in force when the server is back, though nothing is new.
    bundles.says("/bundles/acme", Says::Bundle(etag(1), bundle(PERMITS, 1, Some((&key, "k1")))));
    assert_eq!(acme.next(), told("PERMIT"));
    becomes(&server, "acme", "loaded");
}

#[test]
fn credentials_do_not_follow_redirects() {
    let elsewhere = BundleServer::start();
    let follow = "remote_bundles.follow_redirects = true\nremote_bundles.auth_header = 'x-key'\n\
                  remote_bundles.auth_value = 's3cr3t'";
    let (bundles, key, text) = world(follow);
    let signed = bundle(PERMITS, 1, Some((&key, "k1")));
    elsewhere.says("/other/acme", Says::Bundle(etag(1), signed.clone()));
    bundles.says("/bundles/acme", Says::Elsewhere(format!("http://{}/other/acme", elsewhere.address)));
    // Within one origin they go along.
    bundles.says("/bundles/plant", Says::Elsewhere("/moved/plant".into()));
    bundles.says("/moved/plant", Says::Bundle(etag(1), signed));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    becomes(&server, "acme", "loaded");
    becomes(&server, "plant", "loaded");
    assert!(elsewhere.asked().iter().all(|head| !head.contains("s3cr3t")), "{:?}", elsewhere.asked());
    assert!(bundles.asked().iter().all(|head| head.contains("x-key: s3cr3t")), "{:?}", bundles.asked());
}

#[test]
fn redirects_are_not_followed_unless_asked_for_and_never_without_end() {
    let (bundles, _, text) = world("");
    bundles.says("/bundles/acme", Says::Elsewhere("/bundles/acme".into()));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    server.eventually("it is told", |server| reason(server, "acme").contains("redirects are not followed"));
    let (bundles, _, text) = world("remote_bundles.follow_redirects = true");
    bundles.says("/bundles/acme", Says::Elsewhere("/bundles/acme".into()));
    bundles.says("/bundles/plant", Says::Elsewhere("ftp://elsewhere/".into()));
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    server.eventually("it is told", |server| reason(server, "acme").contains("more than 5 redirects"));
    server.eventually("it is told", |server| reason(server, "plant").contains("none of `https`"));
}

#[test]
fn answers_have_a_size_and_a_time() {
    let (bundles, key, text) =
        world("bundles.archive_bytes_max = 100\nremote_bundles.answer_time_ms_max = 300");
    bundles.says("/bundles/acme", Says::Bundle(etag(1), bundle(PERMITS, 1, Some((&key, "k1")))));
    bundles.says("/bundles/plant", Says::Nothing);
    let server = TestServer::start_in(Directory::new(), &text).unwrap();
    server.eventually("it is too large", |server| reason(server, "acme").contains("more than 100 bytes"));
    server.eventually("it is too slow", |server| reason(server, "plant").contains("within the time allowed"));
    // Those who ask whether it is ready are told that it is not.
    assert_eq!(server.get("/health/ready").status, 503);
}
