//! Keys: several algorithms, one key after the other, and what becomes of tokens meanwhile.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use super::world::{ISSUER, SECRET, World, clients, part, token_of};
use crate::support::{Directory, TestServer};

const DAY: u64 = 86_400;

#[test]
fn a_key_is_published_before_it_signs_and_as_long_as_its_tokens_live() {
    let world = World::new("key_period_s = 864000\nkey_overlap_s = 86400");
    let signs_with = || part(&world.token(), 0)["kid"].as_str().unwrap().to_owned();
    let names = || world.keys().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let first = signs_with();
    assert_eq!(names(), std::slice::from_ref(&first));
    world.pass(9 * DAY + 60);
    let both = names();
    assert_eq!((both.len(), signs_with()), (2, first.clone()));
    world.pass(DAY - 120);
    let last = world.token();
    assert_eq!(part(&last, 0)["kid"], first);
    world.pass(180);
    assert_eq!((names(), signs_with()), (both.clone(), both[1].clone()));
    assert!(world.is_active(&last));
    // Its last token, and what clocks may differ by.
    world.pass(300 + 240 + 60);
    assert_eq!(names(), [both[1].clone()]);
    assert!(!world.is_active(&last));
}

#[test]
fn after_a_long_rest_a_new_key_is_still_published_first() {
    let world = World::new("");
    let first = world.keys();
    world.pass(300 * DAY);
    assert_eq!(world.keys().len(), 2);
    assert_eq!(part(&world.token(), 0)["kid"], first[0].0);
}

#[test]
fn two_servers_with_one_file_sign_with_the_same_keys() {
    let directory = Directory::new();
    let data = format!("data = '{}'", directory.path("oauth").display());
    let (later, clients) = (Arc::default(), clients());
    let start = || World::start(Directory::new(), &data, &clients, Arc::clone(&later)).unwrap();
    let (one, other) = (start(), start());
    assert_eq!(one.keys(), other.keys());
    one.pass(29 * DAY + 60);
    assert_eq!(one.keys().len(), 2);
    one.pass(11);
    assert_eq!(one.keys(), other.keys());
    one.pass(DAY);
    assert!(other.is_active(&one.token()));
}

/// 64 digits as somebody draws them.
const DRAWN: &str = "0e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85";

/// Nodes of a cluster have no file in common. Whether the store can be reached does not matter for keys.
#[test]
fn nodes_with_one_secret_sign_with_the_same_keys() {
    let later = Arc::default();
    let start = |secret: &str| {
        let directory = Directory::new();
        directory.write_secret("cluster.key", &format!("{secret}{}", &DRAWN[1..]));
        let oauth = "algorithms = ['EdDSA', 'ES256']\nkey_period_s = 864000";
        World::start(directory, oauth, &clients(), Arc::clone(&later)).unwrap()
    };
    let (one, other, stranger) = (start("a"), start("a"), start("b"));
    for _ in 0..5 {
        // Through some periods, the last day of one among them: a key is published before it signs.
        assert_eq!(one.keys(), other.keys());
        let token = one.token();
        assert!(one.keys().iter().any(|(name, _)| part(&token, 0)["kid"] == **name));
        assert_eq!((other.is_active(&token), stranger.is_active(&token)), (true, false));
        one.pass(3 * DAY);
    }
    // Longer ago than any key.
    let old = one.token();
    one.pass(100 * DAY);
    assert!(!other.is_active(&old));
    assert!(other.is_active(&one.token()));
}

#[cfg(unix)]
#[test]
fn keys_that_others_may_read_are_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let data = format!("data = '{}'", directory.path("oauth").display());
    let start = || World::start(Directory::new(), &data, &clients(), Arc::default());
    drop(start().unwrap());
    let path = directory.path("oauth/signing-keys.json");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let error = start().err().unwrap().to_string();
    assert!(error.contains("chmod 600"), "{error}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for text in ["", "{}", "{\"keys\":[{\"signs_from\":1,\"pkcs8\":\"AAAA\"}]}"] {
        fs::write(&path, text).unwrap();
        assert!(start().is_err(), "{text}");
    }
}

/// Whoever guesses it forges sessions and tokens.
#[test]
fn a_cluster_key_that_was_typed_stops_the_start() {
    for weak in ["0".repeat(64), "07".repeat(32), "0123456789abcdef".repeat(4)] {
        let directory = Directory::new();
        directory.write_secret("cluster.key", &weak);
        let error =
            World::start(directory, "", &clients(), Arc::default()).map(drop).unwrap_err().to_string();
        assert!(error.contains("can be guessed"), "{error}");
    }
}

#[test]
fn a_key_that_was_brought_and_others_may_read_stops_the_start() {
    if !durward_testdata::has_openssl() {
        return;
    }
    let start = |mode| {
        let directory = Directory::new();
        rsa_key(&directory, "now.pem");
        directory.permit("now.pem", mode);
        let oauth = "algorithms = ['EdDSA', 'RS256']\nrs256_key_paths = ['now.pem']";
        World::start(directory, oauth, &clients(), Arc::default()).map(drop)
    };
    start(0o640).unwrap();
    let error = start(0o644).unwrap_err().to_string();
    assert!(error.contains("now.pem") && error.contains("chmod 600"), "{error}");
}

/// RSA keys are brought.
fn rsa_key(directory: &Directory, name: &str) {
    let path = directory.path(name);
    let arguments = ["genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out"];
    assert!(Command::new("openssl").args(arguments).arg(path).status().unwrap().success());
}

/// `None` without openssl, which makes the RSA keys.
fn with_all_algorithms() -> Option<World> {
    if !durward_testdata::has_openssl() {
        return None;
    }
    let directory = Directory::new();
    rsa_key(&directory, "now.pem");
    rsa_key(&directory, "next.pem");
    let client = |name: &str| {
        format!(
            "[[oauth.clients]]\nid = '{name}'\nsecret = '{SECRET}'\ngrants = ['client-credentials']\n\
             audiences = ['api']\nalgorithm = '{name}'\n"
        )
    };
    let clients: String = ["EdDSA", "ES256", "RS256"].map(client).concat();
    let oauth = "algorithms = ['EdDSA', 'ES256', 'RS256']\nrs256_key_paths = ['now.pem', 'next.pem']";
    Some(World::start(directory, oauth, &clients, Arc::default()).unwrap())
}

#[test]
fn every_algorithm_is_believed_by_who_reads_the_published_keys() {
    let Some(world) = with_all_algorithms() else { return };
    let algorithms: Vec<String> = world.keys().into_iter().map(|(_, algorithm)| algorithm).collect();
    assert_eq!(algorithms, ["EdDSA", "ES256", "RS256", "RS256"]);
    // The reader: another server, whose callers show tokens of an identity provider. Its code for that is another crate's.
    let directory = Directory::new();
    directory.write("policies/all.sapl", "policy \"all\" permit");
    directory.write("keys.json", &world.server.get("/.well-known/jwks.json").text());
    let keys = directory.path("keys.json");
    let settings = format!(
        "sapl.http = true\n[auth.jwt]\nissuer = '{ISSUER}'\nkeys = '{}'\naudiences = ['api']",
        keys.display()
    );
    let reader = TestServer::start_in(directory, &settings).unwrap();
    for client in ["EdDSA", "ES256", "RS256"] {
        let form = [("grant_type", "client_credentials"), ("audience", "api")];
        let token = token_of(&world.ask(client, "/oauth2/token", &form));
        assert_eq!(part(&token, 0)["alg"], client);
        let ask = |token: &str| {
            let bearer = format!("Bearer {token}");
            let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
            let body = b"{\"subject\":1,\"action\":2,\"resource\":3}";
            reader.send("POST", "/api/pdp/decide-once", &headers, body).status
        };
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let first = if signature.starts_with('A') { 'B' } else { 'A' };
        assert_eq!(
            (ask(&token), ask(&format!("{signed}.{first}{}", &signature[1..]))),
            (200, 401),
            "{client}"
        );
    }
}
