//! `/v1/users`: administrators list and change users, and users change their own password and second step.

use durward_session::identity::Moment;
use durward_session::identity::user::{Totp, TotpAlgorithm};
use serde_json::{Value, json};

use crate::identity::{agrees_as, get, login, post, start, token};
use crate::support::{Reply, TestServer, clock};

fn send(server: &TestServer, method: &str, path: &str, token: &str, body: &Value) -> Reply {
    let bearer = format!("Bearer {token}");
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.send(method, path, &headers, body.as_bytes())
}

fn problem(reply: &Reply) -> (u16, String) {
    assert_eq!(reply.header("content-type"), "application/problem+json", "{}", reply.text());
    (reply.status, reply.json()["detail"].as_str().unwrap().to_owned())
}

fn names(list: &Value) -> Vec<String> {
    list["users"].as_array().unwrap().iter().map(|user| user["user"].as_str().unwrap().to_owned()).collect()
}

/// The second step of a secret that was shown.
pub(crate) fn device(secret: &str) -> Totp {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: String =
        secret.chars().map(|letter| format!("{:05b}", letters.find(letter).unwrap())).collect();
    let bytes = bits.as_bytes().chunks_exact(8);
    let bytes = bytes.map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap());
    Totp::new(bytes.collect(), TotpAlgorithm::Sha1, 6, 30).unwrap()
}

fn code(totp: &Totp) -> String {
    totp.code(Moment::of(clock()()))
}

#[test]
fn a_user_is_created_read_changed_and_removed() {
    let server = start("");
    let root = token(&server, "root");
    let description = server.get("/v1/openapi.json").json();
    let new = json!({ "user": "dora", "password": "good words", "groups": ["staff", "staff"],
        "attributes": { "mail": ["dora@example.org"] } });
    let created = send(&server, "POST", "/v1/users", &root, &new);
    assert_eq!((created.status, created.header("location")), (201, "/v1/users/dora"), "{}", created.text());
    let dora = json!({ "user": "dora", "realm": "/", "disabled": false, "has_password": true, "second_step": false,
        "must_change_password": false, "groups": ["staff"], "attributes": { "mail": ["dora@example.org"] } });
    assert_eq!(created.json(), dora);
    agrees_as(&description, "/v1/users", "post", &created);
    let read = get(&server, "/v1/users/dora", &root);
    assert_eq!(read.json(), dora);
    agrees_as(&description, "/v1/users/{user}", "get", &read);
    let again = send(&server, "POST", "/v1/users", &root, &new);
    assert_eq!(problem(&again), (409, "there is a user of this name already".to_owned()));
    agrees_as(&description, "/v1/users", "post", &again);
    let changes = json!({ "add_groups": ["night"], "remove_groups": ["staff"],
        "attributes": { "mail": null, "phone": ["1", "2"] } });
    let changed = send(&server, "PATCH", "/v1/users/dora", &root, &changes);
    agrees_as(&description, "/v1/users/{user}", "patch", &changed);
    assert_eq!(
        (&changed.json()["groups"], &changed.json()["attributes"]),
        (&json!(["night"]), &json!({ "phone": ["1", "2"] }))
    );
    let links = json!([{ "issuer": "https://idp.example", "subject": "4711" }]);
    let linked = send(&server, "PATCH", "/v1/users/dora", &root, &json!({ "links": links }));
    assert_eq!(linked.json()["links"], links);
    agrees_as(&description, "/v1/users/{user}", "patch", &linked);
    let same = json!({ "user": "emil", "links": links });
    assert_eq!(send(&server, "POST", "/v1/users", &root, &same).status, 409, "the account is dora's");
    for wrong in
        [json!([{ "issuer": "", "subject": "1" }]), json!([links[0], links[0]]), json!([{ "issuer": "i" }])]
    {
        assert_eq!(send(&server, "PATCH", "/v1/users/dora", &root, &json!({ "links": wrong })).status, 400);
    }
    let all = send(&server, "PATCH", "/v1/users/dora", &root, &json!({ "groups": ["a", "b", "a"] }));
    assert_eq!(all.json()["groups"], json!(["a", "b"]));
    let login = json!({ "user": "dora", "password": "good words" });
    assert_eq!(post(&server, "/v1/login", None, &login).status, 200);
    let removed = send(&server, "DELETE", "/v1/users/dora", &root, &Value::Null);
    agrees_as(&description, "/v1/users/{user}", "delete", &removed);
    assert_eq!(removed.json(), json!({ "done": true }));
    assert_eq!(post(&server, "/v1/login", None, &login).status, 401);
    for method in ["GET", "PATCH", "DELETE"] {
        let body = if method == "PATCH" { json!({}) } else { Value::Null };
        let gone = send(&server, method, "/v1/users/dora", &root, &body);
        assert_eq!(problem(&gone), (404, "there is no such user".to_owned()), "{method}");
        agrees_as(&description, "/v1/users/{user}", &method.to_lowercase(), &gone);
    }
}

/// The whole way of somebody who was given their first password.
#[test]
fn a_user_who_is_marked_chooses_another_password_before_the_session_begins() {
    let server = start("");
    let root = token(&server, "root");
    let description = server.get("/v1/openapi.json").json();
    let new = json!({ "user": "dora", "password": "for the first day", "must_change_password": true });
    assert_eq!(send(&server, "POST", "/v1/users", &root, &new).json()["must_change_password"], true);
    let login = json!({ "user": "dora", "password": "for the first day" });
    let asked = post(&server, "/v1/login", None, &login);
    assert_eq!((asked.status, asked.header("set-cookie")), (202, ""), "{}", asked.text());
    agrees_as(&description, "/v1/login", "post", &asked);
    let asked = asked.json();
    assert_eq!(asked["rules"], json!({ "length_min": 8, "refuses_breached": false }));
    let choose = |password: &str| {
        let body =
            json!({ "password_change": asked["password_change"], "new_password": password, "cookie": true });
        post(&server, "/v1/login/password", None, &body)
    };
    for (password, why) in [("short", "8 characters"), ("for the first day", "the old one"), ("", "")] {
        let refused = choose(password);
        let (status, detail) = problem(&refused);
        assert!(status == 400 && detail.contains(why), "{password}: {detail}");
        agrees_as(&description, "/v1/login/password", "post", &refused);
    }
    // It is no session, and no challenge.
    let change = asked["password_change"].as_str().unwrap();
    assert_eq!(get(&server, "/v1/session", change).status, 401);
    let code = json!({ "challenge": change, "code": "000000" });
    assert_eq!(post(&server, "/v1/login/code", None, &code).status, 401);
    let chosen = choose("a password of their own");
    assert_eq!(chosen.status, 200, "{}", chosen.text());
    agrees_as(&description, "/v1/login/password", "post", &chosen);
    assert!(chosen.all("set-cookie").iter().any(|cookie| cookie.starts_with("durward_session=")));
    let dora = chosen.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(get(&server, "/v1/session", &dora).status, 200);
    assert_eq!(problem(&choose("another one of their own")).0, 401, "it was used");
    assert_eq!(get(&server, "/v1/users/dora", &root).json()["must_change_password"], false);
    let marked = send(&server, "PATCH", "/v1/users/dora", &root, &json!({ "must_change_password": true }));
    agrees_as(&description, "/v1/users/{user}", "patch", &marked);
    assert_eq!(get(&server, "/v1/session", &dora).status, 200, "a mark ends nothing");
    let none = send(&server, "POST", "/v1/users/dora/reset", &root, &Value::Null);
    assert_eq!(problem(&none).0, 404, "there are no links");
    agrees_as(&description, "/v1/users/{user}/reset", "post", &none);
}

#[test]
fn sessions_end_as_with_the_command() {
    let server = start("");
    let root = token(&server, "root");
    let change = |body: Value| {
        let reply = send(&server, "PATCH", "/v1/users/anna", &root, &body);
        assert_eq!(reply.status, 200, "{}", reply.text());
    };
    let lives = |token: &str| get(&server, "/v1/session", token).status == 200;
    let anna = token(&server, "anna");
    change(json!({ "groups": [], "attributes": { "a": ["b"] } }));
    assert!(lives(&anna));
    change(json!({ "disabled": true }));
    assert!(!lives(&anna));
    assert_eq!(
        post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" })).status,
        401
    );
    change(json!({ "disabled": false }));
    let anna = token(&server, "anna");
    change(json!({ "password": "another one" }));
    assert!(!lives(&anna));
    let again = post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "another one" }));
    let anna = again.json()["token"].as_str().unwrap().to_owned();
    assert!(lives(&anna));
    change(json!({ "user": "hanna" }));
    assert!(!lives(&anna));
    assert_eq!(
        post(&server, "/v1/login", None, &json!({ "user": "hanna", "password": "another one" })).status,
        200
    );
    let taken = send(&server, "PATCH", "/v1/users/hanna", &root, &json!({ "user": "berta" }));
    assert_eq!(problem(&taken).0, 409);
}

#[test]
fn users_are_listed_page_by_page() {
    let server = start("");
    let root = token(&server, "root");
    let description = server.get("/v1/openapi.json").json();
    for number in 0..7 {
        let new = json!({ "user": format!("many{number}"), "groups": ["many"] });
        assert_eq!(send(&server, "POST", "/v1/users", &root, &new).status, 201);
    }
    let mut seen = Vec::new();
    let mut path = "/v1/users?limit=3&group=many".to_owned();
    loop {
        let reply = get(&server, &path, &root);
        agrees_as(&description, "/v1/users", "get", &reply);
        let page = reply.json();
        assert!(names(&page).len() <= 3);
        seen.extend(names(&page));
        // Those who come and go meanwhile are no reason to see somebody twice.
        send(&server, "DELETE", "/v1/users/many1", &root, &Value::Null);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/users?limit=3&group=many&cursor={next}");
    }
    assert_eq!(seen, (0..7).map(|number| format!("many{number}")).collect::<Vec<_>>());
    assert_eq!(names(&get(&server, "/v1/users", &root).json()).len(), 9);
    for (query, word) in [
        ("limit=0", "1 to 1000"),
        ("limit=1001", "1 to 1000"),
        ("limit=x", "1 to 1000"),
        ("cursor=!", "`next`"),
        ("realm=/&realm=/", "twice"),
        ("other=1", "unknown parameter `other`"),
        ("group=%zz", "wrong escape"),
    ] {
        let reply = get(&server, &format!("/v1/users?{query}"), &root);
        let (status, detail) = problem(&reply);
        assert!(status == 400 && detail.contains(word), "{query}: {detail}");
        agrees_as(&description, "/v1/users", "get", &reply);
    }
    assert_eq!(problem(&get(&server, "/v1/users?realm=/other", &root)).0, 400);
}

#[test]
fn names_may_have_any_characters() {
    let server = start("");
    let root = token(&server, "root");
    for (name, path) in [
        ("a/b", "/v1/users/a%2Fb"),
        ("dörte", "/v1/users/d%C3%B6rte"),
        ("me", "/v1/users/me"),
        ("a b+c?d#e%f", "/v1/users/a%20b%2Bc%3Fd%23e%25f"),
        ("<script>\"'\n", "/v1/users/%3Cscript%3E%22%27%0A"),
        ("{user}", "/v1/users/%7Buser%7D"),
    ] {
        let created = send(&server, "POST", "/v1/users", &root, &json!({ "user": name }));
        assert_eq!((created.status, created.header("location")), (201, path), "{name}");
        assert_eq!(get(&server, path, &root).json()["user"], name);
        assert_eq!(send(&server, "DELETE", path, &root, &Value::Null).status, 200, "{name}");
    }
    for (name, word) in [("", "needs a name"), ("a\u{0}b", "zero byte"), (&*"x".repeat(300), "longer than")] {
        let (status, detail) = problem(&send(&server, "POST", "/v1/users", &root, &json!({ "user": name })));
        assert!(status == 400 && detail.contains(word), "{detail}");
    }
    for path in ["/v1/users/%ff", "/v1/users/%zz"] {
        assert_eq!(problem(&get(&server, path, &root)).0, 400, "{path}");
    }
    assert_eq!(get(&server, "/v1/users/a/b", &root).status, 404);
    assert_eq!(get(&server, "/v1/users/", &root).status, 404);
}

#[test]
fn whoever_does_not_administer_is_refused() {
    let server = start("");
    let anna = token(&server, "anna");
    let new = json!({ "user": "eve", "groups": ["administrators"] });
    for (method, path, body) in [
        ("GET", "/v1/users", Value::Null),
        ("POST", "/v1/users", new.clone()),
        ("GET", "/v1/users/anna", Value::Null),
        ("PATCH", "/v1/users/anna", json!({ "add_groups": ["administrators"] })),
        ("DELETE", "/v1/users/berta", Value::Null),
    ] {
        assert_eq!(problem(&send(&server, method, path, &anna, &body)).0, 403, "{method} {path}");
        let garbage = send(&server, method, path, "garbage", &body);
        assert_eq!((garbage.status, garbage.header("www-authenticate")), (401, "Bearer"), "{method} {path}");
    }
    // A page of another site has the browser send the cookie.
    let cookie = format!("durward_session={}", token(&server, "root"));
    let strange =
        [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", "cross-site"), ("Content-Type", "application/json")];
    assert_eq!(server.send("POST", "/v1/users", &strange, new.to_string().as_bytes()).status, 403);
    // Without saying that it is JSON, which a form cannot.
    assert_eq!(server.send("DELETE", "/v1/users/anna", &[("Cookie", &cookie)], b"").status, 403);
    assert_eq!(get(&server, "/v1/session", &anna).status, 200);
}

/// A password alone administers nothing where the administrator has a second step.
#[test]
fn administrators_with_a_second_step_must_have_taken_it() {
    let server = start("second_step = 'step-up'\n");
    let root = token(&server, "root");
    let totp = enrolled(&server, &root);
    let root = token(&server, "root");
    assert_eq!(problem(&get(&server, "/v1/users", &root)).0, 403);
    // The code that confirmed it is used up: the one after it is near enough.
    let next = totp.code(Moment::of(clock()()).plus(std::time::Duration::from_secs(30)));
    let stepped = send(&server, "POST", "/v1/sessions/step-up", &root, &json!({ "code": next }));
    let root = stepped.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(get(&server, "/v1/users", &root).status, 200);
}

#[test]
fn bodies_that_cannot_be_read_change_nothing() {
    let server = start("");
    let root = token(&server, "root");
    let bearer = format!("Bearer {root}");
    for (method, path, body, word) in [
        ("POST", "/v1/users", "{", "not what is asked for"),
        ("POST", "/v1/users", "[]", "where an object is expected"),
        ("POST", "/v1/users", "{}", "`user` is missing"),
        ("POST", "/v1/users", r#"{"user":"x","user":"y"}"#, "`user`"),
        ("POST", "/v1/users", r#"{"user":"x","attributes":{"a":["1"],"a":["2"]}}"#, "there twice"),
        ("POST", "/v1/users", r#"{"user":"x","admin":true}"#, "unknown member `admin`"),
        ("POST", "/v1/users", r#"{"user":"x","groups":[""]}"#, "the name of a group"),
        ("POST", "/v1/users", r#"{"user":"x","attributes":{"":["1"]}}"#, "the name of a attribute"),
        ("POST", "/v1/users", r#"{"user":"x","password":"short"}"#, "shorter than 8"),
        ("POST", "/v1/users", r#"{"user":"x","password":""}"#, "empty"),
        ("PATCH", "/v1/users/anna", r#"{"second_step":true}"#, "users enrol"),
        ("PATCH", "/v1/users/anna", r#"{"user":""}"#, "needs a name"),
        ("PATCH", "/v1/users/anna", r#"{"realm":"/x"}"#, "unknown member `realm`"),
    ] {
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        let (status, detail) = problem(&server.send(method, path, &headers, body.as_bytes()));
        assert!(status == 400 && detail.contains(word), "{body}: {detail}");
    }
    assert_eq!(get(&server, "/v1/users/x", &root).status, 404);
    assert_eq!(get(&server, "/v1/users/anna", &root).json()["groups"], json!(["staff"]));
}

#[test]
fn who_knows_the_old_password_gives_themselves_another() {
    let server = start("");
    let description = server.get("/v1/openapi.json").json();
    let anna = token(&server, "anna");
    let change = |old: &str, new: &str| {
        let body = json!({ "old_password": old, "new_password": new });
        let reply = post(&server, "/v1/users/me/password", Some(&anna), &body);
        agrees_as(&description, "/v1/users/me/password", "post", &reply);
        reply
    };
    assert_eq!(problem(&change("other", "good words")).0, 403);
    assert_eq!(problem(&change("secret", "short")).0, 400);
    assert_eq!(get(&server, "/v1/session", &anna).status, 200);
    assert_eq!(change("secret", "good words").json(), json!({ "done": true }));
    assert_eq!(get(&server, "/v1/session", &anna).status, 401, "all sessions are over");
    assert_eq!(
        post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "good words" })).status,
        200
    );
}

#[test]
fn guesses_of_the_old_password_are_delayed_as_logins_are() {
    let server = start("");
    let anna = token(&server, "anna");
    let body = json!({ "old_password": "other", "new_password": "good words" });
    let guess = || post(&server, "/v1/users/me/password", Some(&anna), &body);
    let last = (0..30).fold(guess(), |_, _| guess());
    assert!(last.status == 429 && last.header("retry-after").parse::<u32>().unwrap() >= 1, "{}", last.text());
}

/// Enrols a device for the token's user, and confirms it.
fn enrolled(server: &TestServer, token: &str) -> Totp {
    let begun = post(server, "/v1/users/me/second-step/enrol", Some(token), &json!({ "password": "secret" }));
    assert_eq!(begun.status, 200, "{}", begun.text());
    let begun = begun.json();
    let totp = device(begun["secret"].as_str().unwrap());
    let uri = begun["uri"].as_str().unwrap();
    assert!(
        uri.starts_with("otpauth://totp/durward:") && uri.contains(begun["secret"].as_str().unwrap()),
        "{uri}"
    );
    let body = json!({ "enrolment": begun["enrolment"], "code": code(&totp) });
    let confirmed = post(server, "/v1/users/me/second-step/confirm", Some(token), &body);
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    assert_eq!(confirmed.json()["recovery_codes"].as_array().unwrap().len(), 10);
    totp
}

#[test]
fn users_enrol_a_device_and_remove_it() {
    let server = start("");
    let description = server.get("/v1/openapi.json").json();
    let anna = std::cell::RefCell::new(token(&server, "anna"));
    let at = |what: &str, body: Value| {
        let path = format!("/v1/users/me/second-step/{what}");
        let reply = post(&server, &path, Some(&anna.borrow()), &body);
        agrees_as(&description, &path, "post", &reply);
        reply
    };
    let has = || {
        let reply = get(&server, "/v1/users/me/second-step", &anna.borrow());
        agrees_as(&description, "/v1/users/me/second-step", "get", &reply);
        (reply.json()["second_step"].clone(), reply.json()["recovery_codes_left"].clone())
    };
    assert_eq!(has(), (json!(false), json!(0)));
    assert_eq!(problem(&at("enrol", json!({ "password": "other" }))).0, 403);
    assert_eq!(problem(&at("remove", json!({ "code": "1" }))).0, 409);
    assert_eq!(problem(&at("confirm", json!({ "enrolment": "x", "code": "1" }))).0, 400);
    let begun = at("enrol", json!({ "password": "secret" })).json();
    let totp = device(begun["secret"].as_str().unwrap());
    assert_eq!(problem(&at("confirm", json!({ "enrolment": begun["enrolment"], "code": "x" }))).0, 403);
    assert_eq!(has(), (json!(false), json!(0)), "not before it is confirmed");
    let confirmed = at("confirm", json!({ "enrolment": begun["enrolment"], "code": code(&totp) })).json();
    assert_eq!(get(&server, "/v1/session", &anna.borrow()).status, 401, "all sessions are over");
    let body = json!({ "user": "anna", "password": "secret", "code": confirmed["recovery_codes"][1] });
    let again = post(&server, "/v1/login", None, &body).json();
    anna.replace(again["token"].as_str().unwrap().to_owned());
    assert_eq!(has(), (json!(true), json!(9)));
    assert_eq!(problem(&at("enrol", json!({ "password": "secret" }))).0, 409);
    let wanted = post(&server, "/v1/login", None, &json!({ "user": "anna", "password": "secret" }));
    assert_eq!(wanted.status, 202, "the next login asks for a code");
    let recovery = &confirmed["recovery_codes"][0];
    assert_eq!(at("remove", json!({ "code": recovery })).json(), json!({ "done": true }));
    assert_eq!(get(&server, "/v1/session", &anna.borrow()).status, 401, "all sessions are over");
    anna.replace(token(&server, "anna"));
    assert_eq!(has(), (json!(false), json!(0)));
    login(&server, "anna");
}

/// A browser forgets the cookie of a session that a change has ended.
#[test]
fn a_change_of_the_second_step_clears_the_cookie_and_the_password_needs_a_code_then() {
    let server = start("second_step = 'step-up'\n");
    let anna = token(&server, "anna");
    let begun =
        post(&server, "/v1/users/me/second-step/enrol", Some(&anna), &json!({ "password": "secret" }));
    let totp = device(begun.json()["secret"].as_str().unwrap());
    let body = json!({ "enrolment": begun.json()["enrolment"], "code": code(&totp) });
    let cookie = format!("durward_session={anna}");
    let headers = [("Cookie", cookie.as_str()), ("Content-Type", "application/json")];
    let path = "/v1/users/me/second-step/confirm";
    let confirmed = server.send("POST", path, &headers, body.to_string().as_bytes());
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    assert!(confirmed.header("set-cookie").starts_with("durward_session=; "), "{}", confirmed.text());
    let anna = token(&server, "anna");
    let mut body = json!({ "old_password": "secret", "new_password": "good words" });
    let (status, detail) = problem(&post(&server, "/v1/users/me/password", Some(&anna), &body));
    assert!(status == 403 && detail.contains("`code`"), "{detail}");
    body["code"] = confirmed.json()["recovery_codes"][0].clone();
    assert_eq!(post(&server, "/v1/users/me/password", Some(&anna), &body).status, 200);
}

#[test]
fn an_administrator_removes_the_second_step_of_who_lost_the_device() {
    let server = start("");
    let (anna, root) = (token(&server, "anna"), token(&server, "root"));
    enrolled(&server, &anna);
    let anna_is = |root: &str| get(&server, "/v1/users/anna", root).json()["second_step"].clone();
    assert_eq!(anna_is(&root), true);
    let changed = send(&server, "PATCH", "/v1/users/anna", &root, &json!({ "second_step": false }));
    assert_eq!(changed.json()["second_step"], false);
    assert_eq!(get(&server, "/v1/session", &anna).status, 401, "all sessions are over");
}
