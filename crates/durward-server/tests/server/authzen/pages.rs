//! Searches page by page, entities that change, and metadata.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey};
use serde_json::{Value, json};

use super::world::{ENTITIES, Language, OPEN, entity, fixture, found, ok, post, sapl, searching};
use crate::oauth::world::{World, part};
use crate::support::{Directory, TestServer};

/// Twenty documents, of which every third is ada's.
fn documents(settings: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/p.sapl", "policy \"owners\" permit resource.owner == subject.id;");
    let mut lines = String::from("{\"type\":\"user\",\"id\":\"ada\"}\n{\"type\":\"user\",\"id\":\"bob\"}\n");
    for number in 0..20 {
        let owner = if number % 3 == 0 { "ada" } else { "bob" };
        let document =
            json!({ "type": "document", "id": format!("d{number:02}"), "properties": { "owner": owner } });
        lines.push_str(&format!("{document}\n"));
    }
    directory.write("entities.jsonl", &lines);
    let search = searching(&directory, &["entities.jsonl"], &[]);
    TestServer::start_in(directory, &format!("{OPEN}{search}{settings}")).unwrap()
}

fn of_ada(page: Value) -> Value {
    let mut body = json!({ "subject": entity("user", "ada"), "action": { "name": "read" }, "resource": { "type": "document" } });
    if !page.is_null() {
        body["page"] = page;
    }
    body
}

const ADAS: [&str; 7] = ["d00", "d03", "d06", "d09", "d12", "d15", "d18"];

/// All pages of a request, each with its results.
fn pages(server: &TestServer, first: Value) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut body = first;
    loop {
        let answer = ok(server, "search/resource", &body);
        pages.push(found(&answer));
        let Some(token) = answer["page"]["next_token"].as_str().filter(|token| !token.is_empty()) else {
            return pages;
        };
        assert_eq!(answer["page"]["count"], pages.last().unwrap().len());
        body["page"] = json!({ "token": token });
        assert!(pages.len() < 100);
    }
}

#[test]
fn pages_hold_every_result_once_whatever_bounds_them() {
    for (settings, page, count) in [
        ("", json!(null), 1),
        ("", json!({ "limit": 100 }), 1),
        ("", json!({ "limit": 3 }), 3),
        ("", json!({ "limit": 1 }), 8),
        ("authzen.search_results_max = 2\n", json!(null), 4),
        ("authzen.search_results_max = 2\n", json!({ "limit": 5 }), 4),
        ("authzen.search_candidates_max = 2\n", json!(null), 10),
        ("authzen.search_candidates_max = 7\n", json!({ "limit": 2 }), 4),
    ] {
        let server = documents(settings);
        let pages = pages(&server, of_ada(page.clone()));
        assert_eq!(pages.concat(), ADAS, "{settings} {page}");
        assert_eq!(pages.len(), count, "{settings} {page}: {pages:?}");
    }
    let server = documents("");
    let text = post(&server, "search/resource", &of_ada(json!({ "limit": 1 }))).text();
    assert!(text.starts_with("{\"page\":{"), "the page comes first: {text}");
    assert!(ok(&server, "search/resource", &of_ada(json!(null))).get("page").is_none());
}

#[test]
fn a_token_is_good_for_its_request_only() {
    let server = documents("");
    let first = of_ada(json!({ "limit": 2 }));
    let token = ok(&server, "search/resource", &first)["page"]["next_token"].clone();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = of_ada(json!({ "token": token, "limit": 2 }));
        change(&mut body);
        post(&server, "search/resource", &body)
    };
    assert_eq!(with(&|_| {}).status, 200);
    assert_eq!(with(&|body| body["page"] = json!({ "token": token })).status, 200);
    for change in [
        &(|body: &mut Value| body["page"]["limit"] = json!(3)) as &dyn Fn(&mut Value),
        &|body| body["subject"]["id"] = json!("bob"),
        &|body| body["action"]["name"] = json!("write"),
        &|body| body["context"] = json!({ "a": 1 }),
        &|body| body["page"]["token"] = json!(format!("{}x", token.as_str().unwrap())),
    ] {
        let reply = with(change);
        assert_eq!(reply.status, 400, "{}", reply.text());
    }
    // Another server has another key.
    let other = documents("");
    assert_eq!(post(&other, "search/resource", &of_ada(json!({ "token": token }))).status, 400);
}

#[test]
fn unknown_entities_find_nothing_and_an_id_of_what_is_searched_means_nothing() {
    let server = fixture(Language::Sapl, OPEN);
    let search = |path: &str, body: Value| ok(&server, path, &body)["results"].clone();
    let (read, record) = (json!({ "name": "read" }), entity("record", "record-1"));
    for user in ["user", "spaceship"] {
        let body =
            json!({ "subject": entity(user, "nobody"), "action": read, "resource": { "type": "record" } });
        assert_eq!(search("search/resource", body), json!([]));
    }
    let body =
        json!({ "subject": { "type": "user" }, "action": read, "resource": entity("record", "record-9") });
    assert_eq!(search("search/subject", body), json!([]));
    let body = json!({ "subject": entity("user", "alice"), "action": read, "resource": entity("record", "record-2") });
    assert_eq!(search("search/resource", body).as_array().unwrap().len(), 2);
    let body =
        json!({ "subject": entity("user", "alice"), "action": { "name": "delete" }, "resource": record });
    assert_eq!(search("search/action", body), json!([{ "name": "read" }, { "name": "write" }]));
}

/// An evaluation sees the same of an entity as a search does, and the request's own properties count more unless the settings say otherwise.
#[test]
fn stored_properties_are_added_or_count_more() {
    let ask = |server: &TestServer, properties: Value| {
        let body = json!({
            "subject": { "type": "user", "id": "bob", "properties": properties }, "action": { "name": "write" },
            "resource": entity("record", "record-2"),
        });
        ok(server, "evaluation", &body)["decision"].as_bool().unwrap()
    };
    let fill = fixture(Language::Sapl, OPEN);
    assert!(
        ask(&fill, json!({})) && ask(&fill, json!({ "x": 1 })) && !ask(&fill, json!({ "role": "guest" }))
    );
    let stored = fixture(Language::Sapl, &format!("{OPEN}authzen.stored_properties = 'override'\n"));
    assert!(ask(&stored, json!({ "role": "guest" })));
}

#[test]
fn entities_are_read_again_when_they_change_and_stay_when_they_are_broken() {
    let server = fixture(Language::Sapl, OPEN);
    let readers = |server: &TestServer| {
        let body = json!({ "subject": { "type": "user" }, "action": { "name": "read" }, "resource": entity("record", "record-1") });
        found(&ok(server, "search/subject", &body))
    };
    assert_eq!(readers(&server), ["alice", "bob"]);
    let without_bob: String =
        ENTITIES.lines().filter(|line| !line.contains("bob")).map(|line| format!("{line}\n")).collect();
    server.directory.write("entities.jsonl", &without_bob);
    server.eventually("bob is gone", |server| readers(server) == ["alice"]);
    server.directory.write("entities.jsonl", "{\"type\":\"user\"}\n");
    server.directory.write("policies/again.sapl", "policy \"again\" permit subject.id == \"nobody\";");
    server.eventually("policies were read since", |server| server.ready()["snapshot"]["documents"] == 2);
    assert_eq!(readers(&server), ["alice"]);
    server.directory.write("entities.jsonl", ENTITIES);
    server.eventually("bob is back", |server| readers(server) == ["alice", "bob"]);
}

#[test]
fn entities_that_cannot_be_read_stop_the_start() {
    for (file, text, words) in [
        (
            "e.jsonl",
            Some("{\"type\":\"user\",\"id\":\"a\"}\n{\"type\":\"user\"}"),
            "e.jsonl:2: `id` is missing",
        ),
        ("e.csv", Some("type,id\nuser\n"), "e.csv:2: this is no CSV"),
        ("e.jsonl", None, "No such file"),
    ] {
        let directory = Directory::new();
        directory.write("policies/p.sapl", "policy \"p\" permit");
        if let Some(text) = text {
            directory.write(file, text);
        }
        let settings = format!("{OPEN}{}", searching(&directory, &[file], &[]));
        let error = TestServer::start_in(directory, &settings).err().unwrap().to_string();
        assert!(error.contains("`authzen.entities` cannot be used") && error.contains(words), "{error}");
    }
}

#[test]
fn without_entities_there_is_nothing_to_search_among() {
    let server = sapl("policy \"p\" permit", "authzen.url = 'https://pdp.example.org'\n");
    let body = json!({ "subject": { "type": "user" }, "action": { "name": "read" }, "resource": entity("record", "1") });
    let reply = post(&server, "search/subject", &body);
    assert_eq!(reply.status, 404);
    assert!(reply.text().contains("[[authzen.entities]]"));
    let metadata = server.get("/.well-known/authzen-configuration").json();
    assert_eq!(
        metadata,
        json!({
            "policy_decision_point": "https://pdp.example.org",
            "access_evaluation_endpoint": "https://pdp.example.org/access/v1/evaluation",
            "access_evaluations_endpoint": "https://pdp.example.org/access/v1/evaluations",
        })
    );
}

#[test]
fn metadata_is_of_a_tenant_where_the_path_names_one_and_is_there_only_with_a_name() {
    let server = fixture(Language::Sapl, &format!("{OPEN}authzen.url = 'https://pdp.example.org'\n"));
    let reply = server.get("/.well-known/authzen-configuration/acme");
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("cache-control"), "public, max-age=3600");
    let metadata = reply.json();
    assert_eq!(metadata["policy_decision_point"], "https://pdp.example.org/acme");
    assert_eq!(metadata["search_action_endpoint"], "https://pdp.example.org/acme/access/v1/search/action");
    assert_eq!(server.get("/.well-known/authzen-configuration/%2e%2e").status, 404);
    let nameless = sapl("policy \"p\" permit", "");
    let reply = nameless.get("/.well-known/authzen-configuration");
    assert_eq!(reply.status, 404);
    assert!(reply.text().contains("`authzen.url`"));
}

#[test]
fn metadata_is_signed_with_the_key_of_the_issuer() {
    let world = World::new("[authzen]\nurl = 'https://pdp.example.org'\n");
    let metadata = world.server.get("/.well-known/authzen-configuration").json();
    let token = metadata["signed_metadata"].as_str().unwrap();
    let (header, claims) = (part(token, 0), part(token, 1));
    assert_eq!(header["typ"], "metadata+jwt");
    assert_eq!(claims["iss"], crate::oauth::world::ISSUER);
    let seconds = |name: &str| claims[name].as_u64().unwrap();
    assert!(seconds("iat") == seconds("nbf") && seconds("exp") > seconds("iat"));
    for name in ["policy_decision_point", "access_evaluation_endpoint", "access_evaluations_endpoint"] {
        assert_eq!(claims[name], metadata[name], "{name}");
    }
    let keys = world.server.get("/.well-known/jwks.json").json();
    let keys = keys["keys"].as_array().unwrap();
    let key = keys.iter().find(|key| key["kid"] == header["kid"]).unwrap();
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let verified = match header["alg"].as_str().unwrap() {
        "EdDSA" => UnparsedPublicKey::new(&ED25519, bytes("x")).verify(signed.as_bytes(), &signature),
        "ES256" => {
            let point = [vec![4], bytes("x"), bytes("y")].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed.as_bytes(), &signature)
        }
        other => panic!("{other}"),
    };
    assert!(verified.is_ok());
}
