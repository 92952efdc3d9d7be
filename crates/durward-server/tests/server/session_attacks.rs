//! Sessions under attack: pages of others, cookies of neighbours, codes twice, tokens from before.

use std::sync::Arc;

use durward_session::identity::session::User;
use durward_session::identity::user::{
    Account, Directory as Users, HashCosts, Password, RecoveryCodes, SecondStep, StoredPassword, Totp,
};
use durward_session::identity::{Moment, SystemEntropy};
use serde_json::{Value, json};

use crate::attacks::{Victim, attacks};
use crate::support::{Directory, Reply, TestServer, clock, settings};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

const SETTINGS: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n\
                        [openam]\non = true\n[identity]\nusers = 'users'\nhash_memory_kib = 8\nhash_passes = 1\n\
                        user_failures_free = 1000\naddress_failures_free = 1000\nsettable_properties = ['a']\n";

const JSON: (&str, &str) = ("Content-Type", "application/json");

struct World {
    server: TestServer,
    totp: Totp,
    recovery: Vec<String>,
    now: Moment,
}

impl World {
    /// `anna` has a second step, `root` administers; all have the password `secret`. The clock stands still, and with it the codes.
    fn new(more: &str) -> World {
        let directory = Directory::new();
        directory.write("policies/p.sapl", "policy \"sure\" permit subject.level >= 1;\n");
        let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
        let password =
            StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let (recovery, kept) = RecoveryCodes::generate(&SystemEntropy).unwrap();
        let with = |name: &str| {
            let user = User::new("/", name).unwrap();
            Account { password: Some(password.clone()), ..Account::new(&user) }
        };
        let second_step = Some(SecondStep { totp: totp.clone(), used: None, recovery: kept });
        users.put(Account { second_step, ..with("anna") }).unwrap();
        users.put(with("berta")).unwrap();
        users.put(Account { groups: vec!["administrators".to_owned()], ..with("root") }).unwrap();
        drop(users);
        let time = clock()();
        let now = time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let settings = settings(&directory, &format!("{SETTINGS}{more}"));
        let server = TestServer::start_at(directory, settings, Arc::new(move || time), |_| {}).unwrap();
        let world = World { server, totp, recovery, now: Moment::from_ms(u64::try_from(now).unwrap()) };
        world.server.eventually("a login", |_| world.log_in("berta").status == 200);
        world
    }

    fn send(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.server.send("POST", path, headers, body.to_string().as_bytes())
    }

    fn log_in(&self, user: &str) -> Reply {
        self.send("/v1/login", &[JSON], &json!({ "user": user, "password": "secret", "cookie": true }))
    }

    fn token(&self, user: &str) -> String {
        self.log_in(user).json()["token"].as_str().unwrap().to_owned()
    }

    fn is_valid(&self, token: &str) -> bool {
        let body = json!({ "token": token, "touch": false });
        self.send("/v1/sessions/validate", &[JSON], &body).json()["valid"].as_bool().unwrap()
    }
}

fn cookie_of(reply: &Reply) -> String {
    reply.header("set-cookie").split(';').next().unwrap().to_owned()
}

#[test]
fn a_cookie_alone_changes_nothing_for_a_page_of_another_site() {
    let world = World::new("");
    let login = world.log_in("root");
    let (token, cookie) = (login.json()["token"].as_str().unwrap().to_owned(), cookie_of(&login));
    let own = ("Cookie", cookie.as_str());
    // What a form can send: no body, or one of these types; and what scripts can send that browsers warn of.
    for path in [
        "/v1/sessions/logout",
        "/v1/sessions/refresh",
        "/v1/sessions/properties",
        "/v1/admin/rotate",
        "/v1/admin/revoke",
    ] {
        for more in [
            &[][..],
            &[("Content-Type", "text/plain")],
            &[("Content-Type", "application/x-www-form-urlencoded")],
            &[("Content-Type", "multipart/form-data; boundary=x")],
            &[JSON, ("Sec-Fetch-Site", "cross-site")],
            &[JSON, ("Sec-Fetch-Site", "same-site")],
        ] {
            let headers: Vec<_> = [own].into_iter().chain(more.iter().copied()).collect();
            let reply = world.server.send("POST", path, &headers, b"");
            // 400 where the body is missed first.
            assert!([400, 403].contains(&reply.status), "{path} {more:?} {} {}", reply.status, reply.text());
        }
    }
    let read = world.server.send("GET", "/v1/session", &[own, ("Sec-Fetch-Site", "cross-site")], b"");
    assert_eq!(read.status, 403);
    assert!(world.is_valid(&token));
    let own_page = [own, JSON, ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(world.server.send("POST", "/v1/sessions/logout", &own_page, b"").status, 200);
    assert!(!world.is_valid(&token));
    let bearer = format!("Bearer {}", world.token("root"));
    let shown = [("Authorization", bearer.as_str()), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(
        world.server.send("POST", "/v1/sessions/logout", &shown, b"").status,
        200,
        "a page has no token"
    );
}

#[test]
fn of_two_cookies_none_counts() {
    let world = World::new("");
    let (own, other) = (cookie_of(&world.log_in("berta")), cookie_of(&world.log_in("root")));
    for cookies in [format!("{own}; {other}"), format!("{other};a=b; {own}")] {
        let reply = world.server.send("GET", "/v1/session", &[("Cookie", &cookies)], b"");
        assert_eq!(reply.status, 401, "{}", reply.text());
    }
    let fields = [("Cookie", own.as_str()), ("Cookie", other.as_str())];
    assert_eq!(world.server.send("GET", "/v1/session", &fields, b"").status, 401);
    let twice = format!("{own}; {own}");
    assert_eq!(world.server.send("GET", "/v1/session", &[("Cookie", &twice)], b"").status, 200);
}

#[test]
fn a_token_from_before_the_second_step_stays_as_unsure_as_it_was() {
    let world = World::new("second_step = 'step-up'\n");
    let login = world.log_in("anna");
    let (old, cookie) = (login.json()["token"].as_str().unwrap().to_owned(), cookie_of(&login));
    let decide = |token: &str| {
        let ask = json!({ "subject": { "session": token }, "action": "a", "resource": "r" });
        world.send("/api/pdp/decide-once", &[JSON], &ask).json()["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(decide(&old), "DENY");
    let code = world.totp.code(world.now);
    let raised = world.send("/v1/sessions/step-up", &[JSON, ("Cookie", &cookie)], &json!({ "code": code }));
    assert_eq!(raised.status, 200, "{}", raised.text());
    let new = raised.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(cookie_of(&raised), format!("{}={new}", cookie.split('=').next().unwrap()));
    assert_eq!((decide(&new).as_str(), decide(&old).as_str()), ("PERMIT", "DENY"));
    // Nor does another token come of it that is any surer; of the raised one, there do.
    for (token, decision) in [(&old, "DENY"), (&new, "PERMIT")] {
        let bearer = format!("Bearer {token}");
        for (path, body) in [
            ("/v1/sessions/refresh", json!({})),
            ("/v1/sessions/properties", json!({ "properties": { "a": "b" } })),
        ] {
            let reply = world.send(path, &[JSON, ("Authorization", &bearer)], &body);
            let token = reply.json()["token"].as_str().unwrap().to_owned();
            assert_eq!(decide(&token), decision, "{path}");
            assert_eq!(reply.json()["level"], u8::from(decision == "PERMIT"), "{path}");
        }
    }
    let again = world.send("/v1/sessions/step-up", &[JSON, ("Cookie", &cookie)], &json!({ "code": code }));
    assert_eq!(again.status, 403, "a code is good once");
}

#[test]
fn one_code_gives_one_session_however_many_bring_it_at_once() {
    let world = World::new("");
    for code in [world.totp.code(world.now), world.recovery[0].clone()] {
        let body = json!({ "user": "anna", "password": "secret", "code": code }).to_string();
        let granted = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..12)
                .map(|_| {
                    scope.spawn(|| world.server.send("POST", "/v1/login", &[JSON], body.as_bytes()).status)
                })
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).filter(|status| *status == 200).count()
        });
        assert_eq!(granted, 1, "{code}");
        assert_eq!(world.server.send("POST", "/v1/login", &[JSON], body.as_bytes()).status, 401, "nor later");
    }
    // The challenge of a login may be answered again, and not with the same code.
    let challenge = world.log_in("anna").json()["challenge"].clone();
    let answer = json!({ "challenge": challenge, "code": world.recovery[1] });
    assert_eq!(world.send("/v1/login/code", &[JSON], &answer).status, 200);
    assert_eq!(world.send("/v1/login/code", &[JSON], &answer).status, 401);
}

#[test]
fn a_login_takes_no_session_that_was_there_before() {
    let world = World::new("");
    let planted = cookie_of(&world.log_in("root"));
    let body = json!({ "user": "berta", "password": "secret", "cookie": true });
    let login = world.send("/v1/login", &[JSON, ("Cookie", &planted)], &body);
    assert_eq!((login.status, login.json()["user"].as_str()), (200, Some("berta")));
    assert_ne!(cookie_of(&login), planted);
    let ids = [login.json()["session"].clone(), world.log_in("berta").json()["session"].clone()];
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn openams_cookie_is_no_use_to_a_page_of_another_site_either() {
    let world = World::new("");
    let headers = [("X-OpenAM-Username", "berta"), ("X-OpenAM-Password", "secret")];
    let token = |name: &str| {
        let reply = world.server.send(
            "POST",
            "/openam/json/authenticate",
            &[("X-OpenAM-Username", name), headers[1]],
            b"",
        );
        reply.json()["tokenId"].as_str().unwrap().to_owned()
    };
    let (berta, root) = (token("berta"), token("root"));
    let logout = |headers: &[(&str, &str)]| {
        world.server.send("POST", "/openam/json/sessions?_action=logout", headers, b"").status
    };
    let cookie = format!("iPlanetDirectoryPro={berta}");
    assert_eq!(logout(&[("Cookie", &cookie), ("Sec-Fetch-Site", "cross-site")]), 401);
    let both = format!("iPlanetDirectoryPro={root}; {cookie}");
    assert_eq!(logout(&[("Cookie", &both)]), 401);
    assert_eq!(logout(&[("iPlanetDirectoryPro", &root), ("iPlanetDirectoryPro", &berta)]), 401);
    assert!(world.is_valid(&berta) && world.is_valid(&root));
    assert_eq!(logout(&[("Cookie", &cookie), ("Sec-Fetch-Site", "same-site")]), 200);
    assert!(!world.is_valid(&berta) && world.is_valid(&root));
}

/// Everything that comes back for these bytes.
fn raw(world: &World, request: &str) -> String {
    let mut connection = world.server.connect();
    connection.send(request);
    connection.rest().0
}

#[test]
fn a_request_hidden_in_another_is_not_answered() {
    let world = World::new("");
    let inner = "POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\
                 Connection: close\r\n\r\n{\"user\":\"berta\",\"password\":\"secret\"}";
    for fields in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 200\r\n",
        "Content-Length: 2, 200\r\n",
        "Content-Length: +2\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        " Content-Length: 2\r\n",
    ] {
        let outer = "POST /v1/sessions/validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
        let answer = raw(&world, &format!("{outer}{fields}\r\n{{}}{inner}"));
        assert!(!answer.contains("\"token\""), "{fields}: {answer}");
    }
}

#[test]
fn what_is_long_or_strange_is_refused_and_the_server_goes_on() {
    let world = World::new("");
    let berta = world.token("berta");
    let bearer = format!("Bearer {berta}");
    let set = |properties: Value| {
        world.send(
            "/v1/sessions/properties",
            &[JSON, ("Authorization", &bearer)],
            &json!({ "properties": properties }),
        )
    };
    assert_eq!(set(json!({ "a": "x".repeat(4000) })).status, 400);
    assert_eq!(set(json!({ "b": "x" })).status, 403);
    assert_eq!(
        set(json!({ "a": "\u{0}\r\nSet-Cookie: x=y" })).status,
        200,
        "it is a value, and nothing else"
    );
    assert!(world.is_valid(&berta));
    for attack in attacks(&Victim { user: "berta", password: "secret", token: &berta }) {
        let bearer = format!("Bearer {}", attack.token);
        let shown = [JSON, ("Authorization", bearer.as_str())];
        let headers = if attack.token.is_empty() { &shown[..1] } else { &shown[..] };
        let reply = world.send(attack.path, headers, &attack.body);
        assert!(
            attack.is_refused(reply.status, &reply.text()),
            "{}: {} {}",
            attack.name,
            reply.status,
            reply.text()
        );
    }
    assert!(world.is_valid(&berta));
    let (first, second) = (&berta[..60], &world.token("root")[60..]);
    for token in [
        format!("{first}{second}"),
        berta[..berta.len() - 1].to_owned(),
        format!("{berta}="),
        format!(" {berta}A"),
    ] {
        assert!(!world.is_valid(&token), "{token}");
    }
}
