//! SCIM 2.0, as Okta and Entra ID speak it (their public documents), and as somebody does who is neither.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use durward_server::Settings;
use serde_json::{Value, json};

use crate::auth::{KEY, ROBOT, SECRET};
use crate::identity::{get, post, start, token};
use crate::support::{Reply, TestServer};

/// A caller who may administer; its password is `secret`.
pub(crate) const OKTA: &str = "auth.users = [{ id = 'okta', name = 'okta', may_administer = true, password = \
     '$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$cgjDW3sW92hlpcDZjp5vwbUFmJaTisOfqz88G4ypUtg' }]\n";

/// Okta has a password, Entra ID a key; `gate` may not administer.
fn served() -> TestServer {
    start(&format!(
        "[identity.scim]\non = true\npage_max = 50\n\
         [[auth.users]]\nid = 'okta'\nname = 'okta'\npassword = '{SECRET}'\nmay_administer = true\n\
         [[auth.users]]\nid = 'entra'\napi_key_id = 'abcdefghij'\napi_key = '{KEY}'\nmay_administer = true\n\
         [[auth.users]]\nid = 'gate'\nname = 'gate'\npassword = '{SECRET}'\n"
    ))
}

fn basic(name: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:secret")))
}

fn send(server: &TestServer, method: &str, path: &str, body: &Value) -> Reply {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    raw(server, method, path, &text)
}

fn raw(server: &TestServer, method: &str, path: &str, body: &str) -> Reply {
    let authorization = basic("okta");
    let headers = [("Content-Type", "application/scim+json"), ("Authorization", authorization.as_str())];
    server.send(method, &format!("/scim/v2{path}"), &headers, body.as_bytes())
}

fn read(server: &TestServer, path: &str) -> Value {
    let reply = send(server, "GET", path, &Value::Null);
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, "application/scim+json"),
        "{}",
        reply.text()
    );
    reply.json()
}

/// Status and `scimType` of an error, whose form is the standard's.
fn error(reply: &Reply) -> (u16, String) {
    let body = reply.json();
    assert_eq!(reply.header("content-type"), "application/scim+json");
    assert_eq!(body["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]));
    assert_eq!(body["status"], reply.status.to_string());
    assert!(body["detail"].is_string(), "{body}");
    (reply.status, body["scimType"].as_str().unwrap_or_default().to_owned())
}

fn created(server: &TestServer, user: &Value) -> Value {
    let reply = send(server, "POST", "/Users", user);
    assert_eq!(reply.status, 201, "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["meta"]["location"], reply.header("location"));
    body
}

fn at(user: &Value) -> String {
    format!("/Users/{}", user["id"].as_str().unwrap())
}

fn patched(server: &TestServer, path: &str, operations: &Value) -> Reply {
    let body =
        json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations });
    send(server, "PATCH", path, &body)
}

fn dora() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": "dora@example.org",
        "externalId": "00u1",
        "name": { "givenName": "Dora", "familyName": "Maar" },
        "displayName": "Dora Maar",
        "emails": [
            { "value": "other@example.org", "type": "home" },
            { "primary": true, "value": "dora@example.org", "type": "work" },
        ],
        "locale": "en-US",
        "groups": [],
        "password": "1mz050nq",
        "active": true,
    })
}

fn encoded(filter: &str) -> String {
    filter.replace('%', "%25").replace(' ', "%20").replace('"', "%22").replace('+', "%2B").replace('&', "%26")
}

fn found(server: &TestServer, kind: &str, filter: &str) -> Vec<String> {
    let list = read(server, &format!("/{kind}?filter={}", encoded(filter)));
    let name = if kind == "Users" { "userName" } else { "displayName" };
    let resources = list["Resources"].as_array().unwrap();
    assert_eq!(list["totalResults"], resources.len());
    resources.iter().map(|resource| resource[name].as_str().unwrap().to_owned()).collect()
}

/// Okta asks whether the user is there, creates them, reads them back, deactivates them and activates them.
#[test]
fn okta_provisions_a_user() {
    let server = served();
    let none = read(
        &server,
        &format!("/Users?filter={}&startIndex=1&count=100", encoded("userName eq \"dora@example.org\"")),
    );
    assert_eq!(none["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]));
    assert_eq!((&none["totalResults"], &none["Resources"]), (&json!(0), &json!([])));
    let user = created(&server, &dora());
    let path = at(&user);
    assert_eq!(user["emails"][0], json!({ "value": "dora@example.org", "type": "work", "primary": true }));
    assert_eq!(
        (&user["name"]["familyName"], &user["externalId"], &user["active"]),
        (&json!("Maar"), &json!("00u1"), &json!(true))
    );
    assert!(user.get("password").is_none() && user.get("locale").is_none(), "{user}");
    assert_eq!(read(&server, &path), user);
    let login = json!({ "user": "dora@example.org", "password": "1mz050nq" });
    let session = post(&server, "/v1/login", None, &login).json();
    let session = session["token"].as_str().unwrap();
    let off = patched(&server, &path, &json!([{ "op": "replace", "value": { "active": false } }]));
    assert_eq!((off.status, &off.json()["active"]), (200, &json!(false)), "{}", off.text());
    assert_eq!(get(&server, "/v1/session", session).status, 401, "who is deactivated loses their sessions");
    assert_eq!(post(&server, "/v1/login", None, &login).status, 401);
    let mut whole = dora();
    whole["id"] = user["id"].clone();
    whole["meta"] = json!({ "resourceType": "User" });
    whole["displayName"] = json!("Theodora");
    whole.as_object_mut().unwrap().remove("name");
    let replaced = send(&server, "PUT", &path, &whole);
    assert_eq!(
        (replaced.status, &replaced.json()["displayName"]),
        (200, &json!("Theodora")),
        "{}",
        replaced.text()
    );
    assert!(replaced.json().get("name").is_none(), "what is not said is removed");
    assert_eq!(post(&server, "/v1/login", None, &login).status, 200, "`active` was true again");
    assert_eq!(send(&server, "DELETE", &path, &Value::Null).status, 204);
    assert_eq!(error(&send(&server, "DELETE", &path, &Value::Null)).0, 404);
}

/// Entra ID writes `Add`, `"False"` and paths with a filter, and sends attributes that are not kept.
#[test]
fn entra_patches_a_user_in_forms_of_its_own() {
    let server = served();
    let user = created(
        &server,
        &json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User",
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
            "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
            "userName": "Test_User",
            "active": true,
            "emails": [{ "primary": true, "type": "work", "value": "first@example.org" }],
            "meta": { "resourceType": "User" },
            "name": { "formatted": "given family", "familyName": "family", "givenName": "given" },
            "roles": [],
        }),
    );
    let path = at(&user);
    let reply = patched(
        &server,
        &path,
        &json!([
            { "op": "Replace", "path": "emails[type eq \"work\"].value", "value": "updated@example.org" },
            { "op": "Replace", "path": "name.familyName", "value": "updated" },
            { "op": "Add", "path": "title", "value": "not kept" },
            { "op": "Add", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "1" },
            { "op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "x" },
            { "op": "Add", "path": "displayName", "value": "Shown" },
            { "op": "Replace", "path": "active", "value": "False" },
        ]),
    );
    assert_eq!(reply.status, 200, "{}", reply.text());
    let after = reply.json();
    assert_eq!(after["emails"][0]["value"], "updated@example.org");
    assert_eq!(
        (&after["name"]["familyName"], &after["active"], &after["displayName"]),
        (&json!("updated"), &json!(false), &json!("Shown"))
    );
    let add = json!([{ "op": "Add", "value": { "name.givenName": "new", "externalId": "9", "active": "True",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager": "1" } },
        { "op": "Remove", "path": "displayName" }]);
    let after = patched(&server, &path, &add).json();
    assert_eq!(
        (&after["name"]["givenName"], &after["externalId"], &after["active"]),
        (&json!("new"), &json!("9"), &json!(true))
    );
    assert!(after.get("displayName").is_none());
    // Names of a directory change: the id stays.
    let renamed =
        patched(&server, &path, &json!([{ "op": "Replace", "path": "userName", "value": "Renamed" }])).json();
    assert_eq!((&renamed["id"], &renamed["userName"]), (&user["id"], &json!("Renamed")));
    assert_eq!(found(&server, "Users", "externalId eq \"9\""), ["Renamed"]);
    assert_eq!(
        found(&server, "Users", "emails[type eq \"work\"].value eq \"UPDATED@example.org\""),
        ["Renamed"]
    );
    // The test of a connection, which asks for a user that nobody is.
    assert!(found(&server, "Users", "userName eq \"non-existent\"").is_empty());
}

#[test]
fn mail_is_a_list_whose_first_is_primary() {
    let server = served();
    let path = at(&created(&server, &dora()));
    let mail = |operations: Value| {
        let reply = patched(&server, &path, &operations);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let emails = reply.json()["emails"].as_array().cloned().unwrap_or_default();
        emails.iter().map(|mail| mail["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(mail(json!([])), ["dora@example.org", "other@example.org"]);
    let add = json!([{ "op": "add", "path": "emails", "value": [{ "value": "third@example.org" }, { "value": "dora@example.org" }] }]);
    assert_eq!(mail(add), ["dora@example.org", "other@example.org", "third@example.org"]);
    let one = json!([{ "op": "remove", "path": "emails[value eq \"other@example.org\"]" }]);
    assert_eq!(mail(one), ["dora@example.org", "third@example.org"]);
    // There is no other kind than of work.
    let home =
        json!([{ "op": "replace", "path": "emails[type eq \"home\"].value", "value": "x@example.org" }]);
    assert_eq!(mail(home), ["dora@example.org", "third@example.org"]);
    let all = json!([{ "op": "replace", "path": "emails", "value": [{ "value": "only@example.org" }] }]);
    assert_eq!(mail(all), ["only@example.org"]);
    assert!(mail(json!([{ "op": "remove", "path": "emails" }])).is_empty());
}

#[test]
fn groups_are_filled_in_the_forms_of_both() {
    let server = served();
    let (one, other) = (created(&server, &dora()), created(&server, &json!({ "userName": "emil" })));
    let member = |user: &Value| json!({ "value": user["id"] });
    // Entra ID makes a group first, finds it by its id, and fills it later.
    let group = send(
        &server,
        "POST",
        "/Groups",
        &json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": "night/shift ü", "externalId": "8aa1",
        }),
    );
    assert_eq!(group.status, 201, "{}", group.text());
    let path = format!("/Groups/{}", group.json()["id"].as_str().unwrap());
    assert_eq!(read(&server, &format!("{path}?excludedAttributes=members"))["displayName"], "night/shift ü");
    let change = |operations: Value| {
        let reply = patched(&server, &path, &operations);
        assert_eq!((reply.status, reply.text().as_str()), (204, ""), "{operations}");
        let members = read(&server, &path)["members"].as_array().cloned().unwrap();
        members.iter().map(|member| member["display"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (dora, emil) = ("dora@example.org", "emil");
    assert_eq!(
        change(json!([{ "op": "Add", "path": "members", "value": [member(&one), member(&other)] }])),
        [dora, emil]
    );
    assert_eq!(found(&server, "Groups", "displayName eq \"night/shift ü\""), ["night/shift ü"]);
    let id = group.json()["id"].as_str().unwrap().to_owned();
    let both = format!("id eq \"{id}\" and members eq \"{}\"", one["id"].as_str().unwrap());
    assert_eq!(found(&server, "Groups", &both), ["night/shift ü"]);
    assert_eq!(read(&server, &at(&one))["groups"][0]["display"], "night/shift ü");
    assert_eq!(change(json!([{ "op": "Remove", "path": "members", "value": [member(&one)] }])), [emil]);
    assert_eq!(change(json!([{ "op": "add", "value": { "members": [member(&one)] } }])), [dora, emil]);
    let brackets = format!("members[value eq \"{}\"]", other["id"].as_str().unwrap());
    assert_eq!(change(json!([{ "op": "remove", "path": brackets }])), [dora]);
    // Okta's push of a group.
    assert_eq!(
        change(json!([{ "op": "replace", "value": { "id": id, "displayName": "night/shift ü" } }])),
        [dora]
    );
    assert_eq!(change(json!([{ "op": "replace", "path": "members", "value": [member(&other)] }])), [emil]);
    assert!(change(json!([{ "op": "remove", "path": "members" }])).is_empty());
    let whole = json!({ "displayName": "night/shift ü", "members": [member(&one)] });
    assert_eq!(send(&server, "PUT", &path, &whole).json()["members"][0]["value"], one["id"]);
    let again = send(&server, "POST", "/Groups", &json!({ "displayName": "night/shift ü" }));
    assert_eq!(error(&again), (409, "uniqueness".to_owned()));
    for operations in [
        json!([{ "op": "replace", "path": "displayName", "value": "other" }]),
        json!([{ "op": "replace", "value": { "displayName": "other" } }]),
        json!([{ "op": "remove", "path": "displayName" }]),
    ] {
        assert_eq!(error(&patched(&server, &path, &operations)), (400, "mutability".to_owned()));
    }
    let nobody = json!([{ "op": "add", "path": "members", "value": [member(&one), { "value": "nobody" }] }]);
    assert_eq!(error(&patched(&server, &path, &nobody)), (400, "invalidValue".to_owned()));
    assert_eq!(send(&server, "DELETE", &path, &Value::Null).status, 204);
    assert!(read(&server, &at(&one)).get("groups").is_none());
    assert!(found(&server, "Groups", "displayName eq \"night/shift ü\"").is_empty());
    assert_eq!(error(&send(&server, "GET", "/Groups/!!", &Value::Null)).0, 404);
}

/// Each address is compared with each, so there is a bound; what a user has already is no reason to refuse something else.
#[test]
fn a_user_has_so_many_addresses_and_no_more() {
    let server = served();
    let mails = |from: usize, to: usize| -> Value {
        (from..to).map(|number| json!({ "value": format!("{number}@example.org") })).collect()
    };
    let new = |name: &str, count| json!({ "userName": name, "emails": mails(0, count) });
    assert_eq!(error(&send(&server, "POST", "/Users", &new("many", 101))), (400, "invalidValue".to_owned()));
    let user = created(&server, &new("many", 100));
    let add = |from, to| json!([{ "op": "add", "path": "emails", "value": mails(from, to) }]);
    assert_eq!(patched(&server, &at(&user), &add(50, 100)).json()["emails"].as_array().unwrap().len(), 100);
    assert_eq!(error(&patched(&server, &at(&user), &add(100, 101))), (400, "invalidValue".to_owned()));
    // One more in each operation.
    let one_each: Value = (0..900)
        .map(|number| json!({ "op": "add", "path": "emails", "value": mails(number, number + 1) }))
        .collect();
    assert_eq!(error(&patched(&server, &at(&user), &one_each)), (400, "invalidValue".to_owned()));
    let root = token(&server, "root");
    let imported: Vec<String> = (0..150).map(|number| format!("{number}@example.net")).collect();
    let body = json!({ "user": "imported", "attributes": { "mail": imported } });
    assert_eq!(post(&server, "/v1/users", Some(&root), &body).status, 201);
    let list = read(&server, &format!("/Users?filter={}", encoded("userName eq \"imported\"")));
    let path = format!("/Users/{}", list["Resources"][0]["id"].as_str().unwrap());
    let disable = json!([{ "op": "replace", "path": "active", "value": false }]);
    assert_eq!(patched(&server, &path, &disable).json()["active"], false);
}

/// The last operation about somebody counts, and ids are looked up once for all of them.
#[test]
fn many_operations_on_a_group_are_done_in_their_order() {
    let server = served();
    let users: Vec<Value> =
        (0..20).map(|number| created(&server, &json!({ "userName": format!("m{number}") }))).collect();
    let group = send(
        &server,
        "POST",
        "/Groups",
        &json!({ "displayName": "ordered", "members": [{ "value": users[0]["id"] }] }),
    );
    let path = format!("/Groups/{}", group.json()["id"].as_str().unwrap());
    let members = || {
        let group = read(&server, &path);
        let mut names: Vec<String> = group["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|member| member["display"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let op = |op: &str, user: &Value| match op {
        "remove" => json!({ "op": op, "path": format!("members[value eq {}]", user["id"]) }),
        _ => json!({ "op": op, "path": "members", "value": [{ "value": user["id"] }] }),
    };
    let operations: Vec<Value> = (0..1000)
        .map(|number| op(if number / 20 % 2 == number % 2 { "add" } else { "remove" }, &users[number % 20]))
        .collect();
    assert_eq!(patched(&server, &path, &json!(operations)).status, 204);
    // In the last round, the odd ones were added.
    let odd: Vec<String> =
        ["m1", "m11", "m13", "m15", "m17", "m19", "m3", "m5", "m7", "m9"].map(str::to_owned).into();
    assert_eq!(members(), odd);
    let replaced = json!([
        op("add", &users[2]),
        op("replace", &users[4]),
        op("remove", &users[2]),
        op("add", &users[5])
    ]);
    assert_eq!(patched(&server, &path, &replaced).status, 204);
    assert_eq!(members(), ["m4", "m5"]);
    // Who is nobody cannot be added, also where they are removed again.
    let nobody = json!({ "id": "nobody" });
    let refused = patched(&server, &path, &json!([op("add", &nobody), op("remove", &nobody)]));
    assert_eq!(error(&refused), (400, "invalidValue".to_owned()));
    assert_eq!(patched(&server, &path, &json!([op("remove", &nobody)])).status, 204);
    assert_eq!(patched(&server, &path, &json!([{ "op": "remove", "path": "members" }])).status, 204);
    assert_eq!(read(&server, &path)["members"], json!([]));
}

#[test]
fn users_are_listed_page_by_page() {
    let server = served();
    for number in 0..7 {
        created(&server, &json!({ "userName": format!("many{number}") }));
    }
    let names = |query: &str| {
        let list = read(&server, &format!("/Users?{query}"));
        let names = list["Resources"].as_array().unwrap().iter();
        let names: Vec<String> = names.map(|user| user["userName"].as_str().unwrap().to_owned()).collect();
        assert_eq!((&list["totalResults"], &list["itemsPerPage"]), (&json!(10), &json!(names.len())));
        (names, list["startIndex"].as_u64().unwrap())
    };
    assert_eq!(names("").0.len(), 10);
    assert_eq!(names("startIndex=9&count=5"), (vec!["many6".to_owned(), "root".to_owned()], 9));
    assert_eq!(names("STARTINDEX=0&count=1"), (vec!["anna".to_owned()], 1));
    assert_eq!(names("count=0").0.len(), 0);
    assert_eq!(names("count=-1").0.len(), 0);
    assert_eq!(names("startIndex=11").0.len(), 0);
    for query in ["startIndex=x", "count=1.5", "count=1&Count=2", "filter=%zz"] {
        assert_eq!(error(&send(&server, "GET", &format!("/Users?{query}"), &Value::Null)).0, 400, "{query}");
    }
    let narrow = read(&server, "/Users?attributes=userName&count=1");
    let members: Vec<&String> = narrow["Resources"][0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["schemas", "id", "userName", "meta"]);
}

/// Users of `durward users` have no id of SCIM's until they are renamed.
#[test]
fn users_who_were_there_before_have_ids_that_stay() {
    let server = served();
    let anna =
        read(&server, &format!("/Users?filter={}", encoded("userName eq \"ANNA\"")))["Resources"][0].clone();
    assert_eq!(anna["groups"][0]["display"], "staff");
    assert_eq!(read(&server, &at(&anna)), anna);
    let renamed =
        patched(&server, &at(&anna), &json!([{ "op": "replace", "path": "userName", "value": "hanna" }]));
    assert_eq!(renamed.json()["id"], anna["id"]);
    // Somebody else of the old name, who did not come over SCIM, is somebody else.
    let root = token(&server, "root");
    assert_eq!(post(&server, "/v1/users", Some(&root), &json!({ "user": "anna" })).status, 201);
    let second =
        read(&server, &format!("/Users?filter={}", encoded("userName eq \"anna\"")))["Resources"][0].clone();
    assert_ne!(second["id"], anna["id"]);
    assert_eq!(read(&server, &at(&second))["userName"], "anna");
    assert_eq!(read(&server, &at(&anna))["userName"], "hanna");
    assert_eq!(found(&server, "Users", &format!("id eq \"{}\"", second["id"].as_str().unwrap())), ["anna"]);
}

#[test]
fn names_may_have_any_characters_and_are_one_whatever_their_case() {
    let server = served();
    for name in ["a/b", "dörte", "a b+c?d#e%f&g", "<script>\"'\\\n", "\u{1f600}"] {
        let user = created(&server, &json!({ "userName": name }));
        assert_eq!(read(&server, &at(&user))["userName"], name);
        let filter = format!("userName eq {}", Value::from(name));
        if !name.contains('#') && !name.contains('<') && name.is_ascii() {
            assert_eq!(found(&server, "Users", &filter), [name]);
        }
    }
    for name in ["DÖRTE", "Anna", "a/B"] {
        let reply = send(&server, "POST", "/Users", &json!({ "userName": name }));
        assert_eq!(error(&reply), (409, "uniqueness".to_owned()), "{name}");
    }
    let emil = created(&server, &json!({ "userName": "emil" }));
    let taken =
        patched(&server, &at(&emil), &json!([{ "op": "replace", "path": "userName", "value": "ANNA" }]));
    assert_eq!(error(&taken), (409, "uniqueness".to_owned()));
    let own =
        patched(&server, &at(&emil), &json!([{ "op": "replace", "path": "userName", "value": "EMIL" }]));
    assert_eq!(own.json()["userName"], "EMIL", "one may write one's own name in another way");
}

#[test]
fn bodies_that_cannot_be_read_change_nothing() {
    let server = served();
    for (body, kind) in [
        ("{", "invalidSyntax"),
        ("[]", "invalidSyntax"),
        ("", "invalidSyntax"),
        (r#"{"userName":"x","userName":"y"}"#, "invalidSyntax"),
        (r#"{"userName":"x","USERNAME":"y"}"#, "invalidSyntax"),
        (r#"{"userName":"x","name":{"givenName":"a","givenname":"b"}}"#, "invalidSyntax"),
        (r#"{"displayName":"x"}"#, "invalidValue"),
        (r#"{"userName":""}"#, "invalidValue"),
        (r#"{"userName":7}"#, "invalidValue"),
        (r#"{"userName":"x","active":"perhaps"}"#, "invalidValue"),
        (r#"{"userName":"x","emails":[{"value":7}]}"#, "invalidValue"),
        (r#"{"userName":"x","name":"y"}"#, "invalidValue"),
        (r#"{"userName":"x","password":"short"}"#, "invalidValue"),
        (r#"{"userName":"a\u0000b"}"#, "invalidValue"),
    ] {
        assert_eq!(error(&raw(&server, "POST", "/Users", body)), (400, kind.to_owned()), "{body}");
    }
    let path = at(&created(&server, &dora()));
    for (operations, kind) in [
        (json!([{ "op": "move", "path": "active" }]), "invalidSyntax"),
        (json!([{ "op": "replace", "path": "active" }]), "invalidSyntax"),
        (json!([{ "op": "replace", "value": true }]), "invalidSyntax"),
        (json!(["replace"]), "invalidSyntax"),
        (json!({ "op": "replace" }), "invalidSyntax"),
        (json!([{ "op": "remove" }]), "noTarget"),
        (json!([{ "op": "remove", "path": "userName" }]), "mutability"),
        (json!([{ "op": "replace", "path": "id", "value": "7" }]), "mutability"),
        (json!([{ "op": "replace", "path": "groups", "value": [] }]), "mutability"),
        (json!([{ "op": "replace", "path": "shoeSize", "value": 42 }]), "invalidPath"),
        (json!([{ "op": "replace", "path": "emails[type eq", "value": "x" }]), "invalidPath"),
        (json!([{ "op": "replace", "path": 7, "value": "x" }]), "invalidPath"),
        // All of a request or nothing of it.
        (
            json!([{ "op": "replace", "path": "displayName", "value": "changed" }, { "op": "replace", "path": "x", "value": 1 }]),
            "invalidPath",
        ),
    ] {
        assert_eq!(error(&patched(&server, &path, &operations)), (400, kind.to_owned()), "{operations}");
    }
    assert_eq!(read(&server, &path)["displayName"], "Dora Maar");
    for filter in
        ["userName", "userName co \"a\"", "shoeSize eq \"a\"", "userName eq \"a\" or id eq \"b\"", "("]
    {
        let reply = send(&server, "GET", &format!("/Users?filter={}", encoded(filter)), &Value::Null);
        assert_eq!(error(&reply), (400, "invalidFilter".to_owned()), "{filter}");
    }
    let authorization = basic("okta");
    let form = [("Content-Type", "text/plain"), ("Authorization", authorization.as_str())];
    assert_eq!(error(&server.send("POST", "/scim/v2/Users", &form, b"{}")).0, 415);
    let long = json!({ "userName": "x", "displayName": "y".repeat(2 << 20) });
    assert_eq!(error(&send(&server, "POST", "/Users", &long)).0, 413);
    assert!(found(&server, "Users", "userName eq \"x\"").is_empty());
}

#[test]
fn only_callers_who_may_administer_are_answered() {
    let server = served();
    let root = token(&server, "root");
    let ask = |authorization: Option<String>, path: &str| {
        let headers: Vec<(&str, &str)> =
            authorization.iter().map(|it| ("Authorization", it.as_str())).collect();
        server.send("GET", &format!("/scim/v2{path}"), &headers, b"")
    };
    for path in [
        "/Users",
        "/Users/7",
        "/Groups",
        "/Groups/YQ",
        "/ServiceProviderConfig",
        "/Schemas",
        "/ResourceTypes",
    ] {
        // `auth.danger_allow_no_auth` is set, which lets nobody administer.
        assert_eq!(error(&ask(None, path)).0, 403, "{path}");
        assert_eq!(error(&ask(Some(basic("gate")), path)).0, 403, "{path}");
        for wrong in
            ["Bearer sapl_abcdefghij_Secret".to_owned(), "Basic x".to_owned(), format!("Bearer {root}")]
        {
            let reply = ask(Some(wrong.clone()), path);
            assert_eq!(error(&reply).0, 401, "{path} {wrong}");
            assert!(!reply.header("www-authenticate").is_empty());
        }
    }
    assert_eq!(ask(Some(format!("Bearer {ROBOT}")), "/Users").status, 200);
    assert_eq!(ask(Some(basic("okta")), "/Users").status, 200);
}

#[test]
fn what_is_supported_is_described() {
    let server = served();
    let config = read(&server, "/ServiceProviderConfig");
    assert_eq!(
        (&config["patch"]["supported"], &config["bulk"]["supported"], &config["filter"]["maxResults"]),
        (&json!(true), &json!(false), &json!(50))
    );
    for (folder, ids) in [
        (
            "Schemas",
            ["urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:core:2.0:Group"],
        ),
        ("ResourceTypes", ["User", "Group"]),
    ] {
        let list = read(&server, &format!("/{folder}"));
        assert_eq!(list["totalResults"], 2);
        for (resource, id) in list["Resources"].as_array().unwrap().iter().zip(ids) {
            assert_eq!(resource["id"], id);
            assert_eq!(read(&server, &format!("/{folder}/{id}")), *resource);
        }
        assert_eq!(error(&send(&server, "GET", &format!("/{folder}/x"), &Value::Null)).0, 404);
    }
    // What the description of users names is what users have.
    let described = read(&server, "/Schemas/urn:ietf:params:scim:schemas:core:2.0:User");
    let names: Vec<&str> =
        described["attributes"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let user = created(&server, &dora());
    for name in user
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| !["schemas", "id", "externalId", "meta"].contains(&name.as_str()))
    {
        assert!(names.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn settings_that_would_let_nobody_in_are_refused() {
    let told = |text: &str| Settings::from_toml(text, "t").unwrap_err().to_string();
    for (text, word) in [
        ("identity.scim.on = true", "identity.scim.realm"),
        ("identity.users = 'users'\nidentity.scim.on = true", "may_administer"),
        (
            "identity.users = 'users'\nidentity.scim.on = true\nidentity.scim.realm = '/sales'",
            "identity.scim.realm",
        ),
    ] {
        assert!(told(text).contains(word), "{text}: {}", told(text));
    }
    assert!(
        told(&format!("identity.users = 'u'\nidentity.scim = {{ on = true, page_max = 0 }}\n{OKTA}"))
            .contains("page_max")
    );
}
