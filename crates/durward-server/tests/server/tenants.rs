//! Policies by tenant: directories and bundles on disk, while they change.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use durward_bundle::{BundleDraft, SecretKey, SigningKey, seal};
use durward_server::StartError;

use crate::auth::SECRET;
use crate::sapl::Stream;
use crate::support::{DOCTORS_READ, Directory, Reply, TestServer};

const ALICE: &str = r#"{"subject":"alice","action":"read","resource":"document"}"#;
pub(crate) const PERMITS: &str = r#"policy "all" permit"#;
pub(crate) const DENIES: &str = r#"policy "all" deny"#;

/// Callers of two tenants, and one of a tenant that has no policies.
pub(crate) fn callers() -> String {
    let user = |name: &str| {
        format!("[[auth.users]]\nid = '{name}'\ntenant = '{name}'\nname = '{name}'\npassword = '{SECRET}'\n")
    };
    ["acme", "plant", "nobody"].map(user).concat()
}

/// With these policies and no others.
pub(crate) fn settings(lines: &str) -> String {
    format!("sapl.http = true\npolicies.poll_ms = 20\npolicies.settle_ms = 10\n{lines}\n{}", callers())
}

pub(crate) fn authorization(tenant: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{tenant}:secret")))
}

pub(crate) fn ask(server: &TestServer, tenant: &str, body: &str) -> Reply {
    let headers = [("Authorization", authorization(tenant))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.send("POST", "/api/pdp/decide-once", &headers, body.as_bytes())
}

pub(crate) fn decision(server: &TestServer, tenant: &str) -> String {
    ask(server, tenant, ALICE).json()["decision"].as_str().unwrap().into()
}

pub(crate) fn open(server: &TestServer, tenant: &str) -> Stream {
    Stream::open(server, "decide", &format!("Authorization: {}\r\n", authorization(tenant)), ALICE)
}

pub(crate) fn told(decision: &str) -> String {
    format!("data:{{\"decision\":\"{decision}\"}}\n\n")
}

/// A bundle of one policy, made in this minute.
pub(crate) fn bundle(policy: &str, minute: u32, key: Option<(&SigningKey, &str)>) -> Vec<u8> {
    draft(policy, minute).finish(key).unwrap()
}

fn draft(policy: &str, minute: u32) -> BundleDraft {
    filled(BundleDraft::new(&format!("2026-01-31T12:{minute:02}:00Z")).unwrap(), policy)
}

fn filled(mut draft: BundleDraft, policy: &str) -> BundleDraft {
    draft.add("pdp.json", b"{}".to_vec()).unwrap();
    draft.add("policy.sapl", policy.into()).unwrap();
    draft
}

/// As those who know what they do put files in place.
fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(&beside, path).unwrap();
}

fn state(server: &TestServer, tenant: &str) -> serde_json::Value {
    let ready = server.ready();
    let list = ready["tenants"]["list"].as_array().unwrap();
    list.iter().find(|it| it["tenant"] == tenant).cloned().unwrap_or_default()
}

pub(crate) fn becomes(server: &TestServer, tenant: &str, word: &str) {
    server.eventually(&format!("{tenant} is {word}"), |server| state(server, tenant)["state"] == word);
}

/// Why a tenant's newest policies are not in force.
pub(crate) fn reason(server: &TestServer, tenant: &str) -> String {
    state(server, tenant)["problems"][0]["reason"].as_str().unwrap_or_default().into()
}

#[test]
fn each_directory_is_a_tenant_and_changes_alone() {
    let directory = Directory::new();
    directory.write("policies/acme/policy.sapl", PERMITS);
    directory.write("policies/plant/policy.sapl", PERMITS);
    directory.write("policies/.hidden/policy.sapl", "");
    directory.write("policies/no tenant/policy.sapl", PERMITS);
    directory.write("policies/a-file.sapl", "");
    let server = TestServer::start_in(directory, &settings("policies.source = 'directories'")).unwrap();
    assert_eq!(
        ["acme", "plant", "nobody"].map(|tenant| decision(&server, tenant)),
        ["PERMIT", "PERMIT", "INDETERMINATE"]
    );
    assert_eq!(server.ready()["tenants"]["loaded"], 2);
    let (mut acme, mut plant, mut nobody) =
        (open(&server, "acme"), open(&server, "plant"), open(&server, "nobody"));
    assert_eq!(
        (acme.next(), plant.next(), nobody.next()),
        (told("PERMIT"), told("PERMIT"), told("INDETERMINATE"))
    );

    server.directory.write("policies/acme/policy.sapl", DENIES);
    assert_eq!(acme.next(), told("DENY"));
    plant.stays_silent(Duration::from_millis(100));

    // A broken policy changes nothing, for anybody.
    server.directory.write("policies/acme/policy.sapl", "policy");
    becomes(&server, "acme", "stale");
    assert_eq!((decision(&server, "acme"), decision(&server, "plant")), ("DENY".into(), "PERMIT".into()));
    assert_eq!(server.ready()["status"], "stale");
    assert_eq!(server.metric("durward_tenants{state=\"stale\"}"), 1.0);
    assert_eq!(server.metric("durward_tenant_stale{tenant=\"acme\"}"), 1.0);
    server.directory.write("policies/acme/policy.sapl", PERMITS);
    assert_eq!(acme.next(), told("PERMIT"));
    becomes(&server, "acme", "loaded");
    assert_eq!(server.metric("durward_tenant_stale{tenant=\"acme\"}"), 0.0);

    // A tenant comes, and a tenant goes.
    server.directory.write("policies/nobody/policy.sapl", DENIES);
    assert_eq!(nobody.next(), told("DENY"));
    fs::remove_dir_all(server.directory.path("policies/plant")).unwrap();
    assert_eq!(plant.next(), told("INDETERMINATE"));
    assert_eq!(decision(&server, "plant"), "INDETERMINATE");
}

#[test]
fn tenants_are_not_forgotten_because_they_cannot_be_listed() {
    let directory = Directory::new();
    directory.write("policies/acme/policy.sapl", PERMITS);
    let server = TestServer::start_in(directory, &settings("policies.source = 'directories'")).unwrap();
    let (whole, away) = (server.directory.path("policies"), server.directory.path("away"));
    fs::rename(&whole, &away).unwrap();
    server.eventually("that is told", |server| server.ready()["status"] == "stale");
    assert_eq!(decision(&server, "acme"), "PERMIT");
    fs::rename(&away, &whole).unwrap();
    server.eventually("it is back", |server| server.ready()["status"] == "ready");
}

#[test]
fn a_broken_tenant_keeps_nobody_from_starting_but_all_do() {
    let directory = Directory::new();
    directory.write("policies/acme/policy.sapl", "policy");
    let error = TestServer::start_in(directory, &settings("policies.source = 'directories'")).err().unwrap();
    assert!(
        matches!(&error, StartError::Tenants(reasons) if reasons.contains("acme/policy.sapl:1:")),
        "{error}"
    );

    let directory = Directory::new();
    fs::create_dir_all(directory.path("policies")).unwrap();
    let error = TestServer::start_in(directory, &settings("policies.source = 'directories'")).err().unwrap();
    assert!(error.to_string().contains("there are no tenants here"), "{error}");

    let directory = Directory::new();
    directory.write("policies/acme/policy.sapl", "policy");
    directory.write("policies/plant/policy.sapl", PERMITS);
    let server = TestServer::start_in(directory, &settings("policies.source = 'directories'")).unwrap();
    assert_eq!(state(&server, "acme")["state"], "error");
    assert_eq!(
        (decision(&server, "acme"), decision(&server, "plant")),
        ("INDETERMINATE".into(), "PERMIT".into())
    );
    assert_eq!(server.get("/health/ready").status, 200);
}

/// A key in a file, and what the settings say about it.
fn trusted(directory: &Directory) -> (SigningKey, String) {
    let key = SigningKey::generate().unwrap();
    directory.write("key.pub", &key.verifying_key().to_pem());
    let line = format!("bundles.public_key_path = '{}'", directory.path("key.pub").display());
    (key, line)
}

#[test]
fn each_bundle_is_a_tenant_and_bad_ones_change_nothing() {
    let directory = Directory::new();
    let (key, line) = trusted(&directory);
    let path = |tenant: &str| directory.path(&format!("policies/{tenant}.saplbundle"));
    let (acme_path, plant_path) = (path("acme"), path("plant"));
    put(&acme_path, &bundle(PERMITS, 1, Some((&key, "k1"))));
    put(&plant_path, &bundle(PERMITS, 1, Some((&key, "k1"))));
    let server =
        TestServer::start_in(directory, &settings(&format!("policies.source = 'bundles'\n{line}"))).unwrap();
    let (mut acme, mut plant) = (open(&server, "acme"), open(&server, "plant"));
    assert_eq!((acme.next(), plant.next()), (told("PERMIT"), told("PERMIT")));
    let configuration = state(&server, "acme")["configuration"].clone();
    assert!(configuration.as_str().unwrap().starts_with("bundle@"), "{configuration}");

    put(&acme_path, &bundle(DENIES, 2, Some((&key, "k1"))));
    assert_eq!(acme.next(), told("DENY"));
    plant.stays_silent(Duration::from_millis(100));

    let stranger = SigningKey::generate().unwrap();
    let good = bundle(PERMITS, 3, Some((&key, "k1")));
    let half = good[..good.len() / 2].to_vec();
    for (bad, why) in [
        (bundle(PERMITS, 3, None), "it is not signed"),
        (bundle(PERMITS, 3, Some((&stranger, "k1"))), "the signature is wrong"),
        (bundle(PERMITS, 1, Some((&key, "k1"))), "older than the one in force"),
        (half, "no ZIP archive"),
        (b"not a bundle".to_vec(), "no ZIP archive"),
        (bundle("policy", 3, Some((&key, "k1"))), "expected"),
    ] {
        put(&acme_path, &bad);
        server.eventually(why, |server| reason(server, "acme").contains(why));
        assert_eq!(state(&server, "acme")["state"], "stale");
        assert_eq!(decision(&server, "acme"), "DENY");
    }
    put(&acme_path, &good);
    assert_eq!(acme.next(), told("PERMIT"));
    // Who takes a bundle away cannot bring back an older one.
    fs::remove_file(&plant_path).unwrap();
    assert_eq!(plant.next(), told("INDETERMINATE"));
    let draft = BundleDraft::new("2026-01-30T00:00:00Z").unwrap();
    put(&plant_path, &filled(draft, PERMITS).finish(Some((&key, "k1"))).unwrap());
    server
        .eventually("it is older", |server| reason(server, "plant").contains("older than the one in force"));
    assert_eq!(decision(&server, "plant"), "INDETERMINATE");
}

#[test]
fn a_bundle_that_was_never_good_is_never_in_force() {
    let directory = Directory::new();
    let (key, line) = trusted(&directory);
    put(&directory.path("policies/acme.saplbundle"), &bundle(PERMITS, 1, None));
    put(&directory.path("policies/plant.saplbundle"), &bundle(PERMITS, 1, Some((&key, "k"))));
    let server =
        TestServer::start_in(directory, &settings(&format!("policies.source = 'bundles'\n{line}"))).unwrap();
    assert_eq!(
        (decision(&server, "acme"), reason(&server, "acme").as_str()),
        ("INDETERMINATE".into(), "it is not signed")
    );
    assert_eq!(state(&server, "acme")["state"], "error");
}

#[test]
fn keys_are_for_tenants() {
    let directory = Directory::new();
    let (one, two) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let base64 = |key: &SigningKey| key.verifying_key().to_pem().lines().nth(1).unwrap().to_owned();
    put(&directory.path("policies/acme.saplbundle"), &bundle(PERMITS, 1, Some((&one, "one"))));
    put(&directory.path("policies/plant.saplbundle"), &bundle(PERMITS, 1, Some((&one, "one"))));
    put(&directory.path("policies/nobody.saplbundle"), &bundle(PERMITS, 1, None));
    let text = format!(
        "policies.source = 'bundles'\nbundles.keys = {{ one = '{}', two = '{}' }}\n\
         bundles.tenants = {{ acme = ['one'], plant = ['two'] }}\nbundles.danger_unsigned_tenants = ['nobody']",
        base64(&one),
        base64(&two)
    );
    let server = TestServer::start_in(directory, &settings(&text)).unwrap();
    assert_eq!(
        ["acme", "plant", "nobody"].map(|tenant| decision(&server, tenant)),
        ["PERMIT", "INDETERMINATE", "PERMIT"]
    );
    assert_eq!(reason(&server, "plant"), "the key `one` may not sign for tenant `plant`");
    let warnings = server.ready()["warnings"].to_string();
    assert!(warnings.contains("danger_unsigned_tenants"), "{warnings}");
}

/// One bundle is the default tenant's, whose policies answer XACML's requests, too.
#[test]
fn one_bundle_is_for_the_default_tenant() {
    let directory = Directory::new();
    let (key, line) = trusted(&directory);
    put(&directory.path("policies"), &bundle(PERMITS, 1, Some((&key, "k1"))));
    let text = format!("policies.source = 'bundle'\nauth.default_tenant = 'acme'\n{line}");
    let server = TestServer::start_in(directory, &settings(&text)).unwrap();
    assert_eq!(
        (decision(&server, "acme"), decision(&server, "plant")),
        ("PERMIT".into(), "INDETERMINATE".into())
    );
    assert_eq!(server.decide("doctor"), "Permit");
    put(&server.directory.path("policies"), &bundle(DENIES, 2, Some((&key, "k1"))));
    server.eventually("it denies", |server| decision(server, "acme") == "DENY");
    assert_eq!(server.decide("doctor"), "Deny");
    // Gone for good, it stays in force, and that is told.
    fs::remove_file(server.directory.path("policies")).unwrap();
    becomes(&server, "acme", "stale");
    assert_eq!(decision(&server, "acme"), "DENY");
}

#[test]
fn policies_of_nobody_do_not_start() {
    for (text, why) in [
        ("policies.source = 'bundles'", "there is no key to verify them with"),
        ("policies.source = 'bundles'\nbundles.public_key = 'AAAA'", "`bundles.public_key` cannot be used"),
        ("policies.source = 'bundles'\nbundles.public_key_path = '/nowhere'", "cannot be read: /nowhere"),
        ("policies.secret_keys = ['/nowhere']", "cannot be read: /nowhere"),
        ("policies.source = 'bundles'\nbundles.tenants = { a = ['k'] }", "names the key `k`"),
        ("policies.source = 'remote-bundles'", "`remote_bundles.url` is not set"),
        ("policies.source = 'remote-bundles'\nremote_bundles.url = 'http://x'", "is not `https`"),
        (
            "policies.source = 'remote-bundles'\nremote_bundles.url = 'https://x'",
            "`remote_bundles.tenants` is empty",
        ),
    ] {
        let text = settings(text);
        let error = match durward_server::Settings::from_toml(&text, "t") {
            Err(error) => error.to_string(),
            Ok(_) => {
                let directory = Directory::new();
                directory.write("policies/doctors.xml", DOCTORS_READ);
                TestServer::start_in(directory, &text).err().unwrap().to_string()
            }
        };
        assert!(error.contains(why), "{why}: {error}");
    }
}

/// A policy that asks a service, with a secret, who somebody is.
fn asking(port: u16) -> String {
    format!(
        r#"policy "asking" permit
            <http.get({{"baseUrl": "http://127.0.0.1:{port}", "path": "/who", "secretsKey": "hr"}})> == "alice";"#
    )
}

/// What a service was sent as `x-key`, in the order of the questions.
fn service() -> (u16, std::sync::mpsc::Receiver<String>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let key = head.lines().find_map(|line| line.strip_prefix("x-key: ")).unwrap_or("none");
            if tell.send(key.to_owned()).is_err() {
                return;
            }
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\nConnection: close\r\n\r\n\"alice\"",
            );
        }
    });
    (port, told)
}

fn secrets(port: u16, key: &str) -> String {
    format!(
        r#"{{"http":{{"hr":{{"headers":{{"x-key":"{key}"}},"allowedBaseUrls":["http://127.0.0.1:{port}"]}}}}}}"#
    )
}

#[test]
fn each_tenants_attributes_are_asked_for_with_its_own_secrets() {
    let (port, told) = service();
    let directory = Directory::new();
    let recipient = SecretKey::generate().unwrap();
    directory.write_secret("recipient.jwk", &recipient.to_jwk());
    for tenant in ["acme", "plant"] {
        directory.write(&format!("policies/{tenant}/policy.sapl"), &asking(port));
    }
    directory.write("policies/acme/secrets.json", &secrets(port, "of-acme"));
    let clear = durward_pdp::ir::json::read(secrets(port, "of-plant")).unwrap();
    let sealed = seal(&recipient.recipient(), &clear).unwrap().to_json();
    directory.write("policies/plant/secrets.sealed.json", &sealed);
    let line = format!(
        "policies.source = 'directories'\npolicies.secret_keys = ['{}']",
        directory.path("recipient.jwk").display()
    );
    let server = TestServer::start_in(directory, &settings(&line)).unwrap();
    for (tenant, key) in [("acme", "of-acme"), ("plant", "of-plant")] {
        assert_eq!(decision(&server, tenant), "PERMIT");
        assert_eq!(told.recv().unwrap(), key);
    }
    // Other secrets are used as soon as they are there.
    let mut stream = open(&server, "acme");
    assert_eq!(stream.next(), self::told("PERMIT"));
    server.directory.write("policies/acme/secrets.json", &secrets(port, "newer"));
    while told.recv_timeout(crate::support::PATIENCE).unwrap() != "newer" {}
    let shown = format!("{}{}", server.get("/health/ready").text(), server.get("/metrics").text());
    assert!(!shown.contains("of-acme") && !shown.contains("newer"), "{shown}");
}

#[test]
fn a_key_for_secrets_that_others_may_read_stops_the_start() {
    let directory = Directory::new();
    directory.write("recipient.jwk", &SecretKey::generate().unwrap().to_jwk());
    directory.permit("recipient.jwk", 0o644);
    let path = directory.path("recipient.jwk").display().to_string();
    let line = format!("policies.source = 'directories'\npolicies.secret_keys = ['{path}']");
    let error = TestServer::start_in(directory, &settings(&line)).err().unwrap().to_string();
    assert!(error.contains("policies.secret_keys") && error.contains("chmod 600"), "{error}");
}

#[test]
fn secrets_in_bundles_are_sealed_to_us() {
    let directory = Directory::new();
    let (key, line) = trusted(&directory);
    let (ours, others) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    directory.write_secret("ours.jwk", &ours.to_jwk());
    let with_secrets = |to: &SecretKey| {
        let clear = durward_pdp::ir::json::read(r#"{"a":"s3cr3t"}"#).unwrap();
        let mut draft = draft(PERMITS, 1);
        draft
            .add("secrets.sealed.json", seal(&to.recipient(), &clear).unwrap().to_json().into_bytes())
            .unwrap();
        draft.finish(Some((&key, "k"))).unwrap()
    };
    put(&directory.path("policies/acme.saplbundle"), &with_secrets(&ours));
    put(&directory.path("policies/plant.saplbundle"), &with_secrets(&others));
    let line = format!(
        "policies.source = 'bundles'\npolicies.secret_keys = ['{}']\n{line}",
        directory.path("ours.jwk").display()
    );
    let server = TestServer::start_in(directory, &settings(&line)).unwrap();
    assert_eq!(
        (decision(&server, "acme"), decision(&server, "plant")),
        ("PERMIT".into(), "INDETERMINATE".into())
    );
    let reason = reason(&server, "plant");
    assert!(reason.contains(others.id()) && reason.contains("which is not here"), "{reason}");
}

/// Each tenant's policies are checked with its own variables; what is odd in one is told of that one.
#[test]
fn what_is_odd_in_the_policies_of_a_tenant_is_told_of_that_tenant() {
    let odd = "policy \"p\" permit subject == allice;";
    let directory = Directory::new();
    directory.write("policies/acme/policy.sapl", odd);
    directory.write("policies/plant/policy.sapl", odd);
    directory.write("policies/plant/pdp.json", r#"{"variables": {"allice": "alice"}}"#);
    let server = TestServer::start_in(directory, &settings("policies.source = 'directories'")).unwrap();
    assert_eq!(server.metric("durward_policy_warnings"), 1.0);
    assert_eq!(state(&server, "acme")["policy_warnings"]["list"][0]["code"], "unknown-variable");
    assert!(state(&server, "plant")["policy_warnings"].is_null());
    server.directory.write("policies/acme/policy.sapl", PERMITS);
    server.eventually("it is mended", |server| server.metric("durward_policy_warnings") == 0.0);
    server.directory.write("policies/plant/pdp.json", "{}");
    server.eventually("a variable is missed", |server| server.metric("durward_policy_warnings") == 1.0);
    fs::remove_dir_all(server.directory.path("policies/plant")).unwrap();
    server.eventually("it is forgotten", |server| server.metric("durward_policy_warnings") == 0.0);
}
