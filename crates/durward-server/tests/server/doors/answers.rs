//! What durward answers gateways, asked as they ask.

use std::fs;

use serde_json::Value;

use super::world::{World, fields};

const DOORS: [&str; 4] = ["nginx", "caddy", "traefik", "haproxy"];

#[test]
fn every_gateway_gets_the_same_decisions() {
    let world = World::start("", "");
    let anna = format!("Bearer {}", world.anna);
    let (cookie, guest) = (format!("a=b; durward_session={}", world.anna), format!("Bearer {}", world.berta));
    for door in DOORS {
        for (method, target, credentials, expected) in [
            ("GET", "/papers/7?x=1", Some(("Authorization", anna.as_str())), 200),
            ("HEAD", "/papers/7/reviews", Some(("Authorization", anna.as_str())), 200),
            ("GET", "/papers/7", Some(("Cookie", cookie.as_str())), 200),
            ("GET", "/papers/7", Some(("Authorization", guest.as_str())), 403),
            ("GET", "/papers/7", Some(("Authorization", "Bearer nonsense")), 401),
            ("GET", "/papers/7", Some(("Authorization", "Basic dTpw")), 401),
            ("GET", "/papers/7", None, 401),
            ("POST", "/papers/7", Some(("Authorization", anna.as_str())), 403),
            ("GET", "/elsewhere", Some(("Authorization", anna.as_str())), 403),
            ("GET", "/", None, 200),
            ("GET", "/", Some(("Cookie", "durward_session=over")), 200),
            ("GET", "/", Some(("Authorization", "Bearer over")), 401),
        ] {
            let mut asked = fields(door, method, target);
            asked.extend(credentials);
            let reply = world.ask(door, &asked);
            assert_eq!(reply.status, expected, "{door} {method} {target} {credentials:?}: {}", reply.text());
            assert_eq!(reply.header("cache-control"), "no-store");
            let user = reply.all("x-auth-user");
            let is_anna = expected == 200 && target != "/";
            let told = if is_anna {
                vec!["anna"]
            } else if expected == 200 {
                vec![""]
            } else {
                vec![]
            };
            assert_eq!(user, told, "{door} {target}");
            assert_eq!(reply.header("www-authenticate"), if expected == 401 { "Bearer" } else { "" });
        }
    }
    for (result, count) in [("allow", 5.0), ("deny", 1.0), ("refuse", 2.0), ("unauthenticated", 4.0)] {
        let name = format!("durward_door_answers_total{{door=\"caddy\",result=\"{result}\"}}");
        assert_eq!(world.server.metric(&name), count, "{name}");
    }
}

#[test]
fn a_browser_is_sent_to_the_login() {
    let world = World::start("login = 'https://id.example.org/login?goto={target}'", "");
    let wanted =
        "https://id.example.org/login?goto=https%3A%2F%2Fpapers.example.org%2Fpapers%2F7%3Fx%3D1%26y";
    let page = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    for door in DOORS {
        let mut asked = fields(door, "GET", "/papers/7?x=1&y");
        let program = world.ask(door, &asked);
        assert_eq!((program.status, program.header("location")), (401, ""), "{door}");
        asked.push(page);
        let reply = world.ask(door, &asked);
        match door {
            "nginx" => assert_eq!((reply.status, reply.header("x-durward-location")), (401, wanted)),
            _ => assert_eq!((reply.status, reply.header("location")), (302, wanted), "{door}"),
        }
        let mut posted = fields(door, "POST", "/");
        posted.push(page);
        assert_eq!(world.ask(door, &posted).status, 403, "{door}: there is no such route");
    }
}

#[test]
fn the_decision_log_has_the_gateway_its_client_and_what_was_asked() {
    let world = World::start("", "[decision_log]\nto = 'file'\nredact = 'none'\n");
    let bearer = format!("Bearer {}", world.anna);
    let mut asked = fields("traefik", "GET", "/p%61pers/7?x=1");
    asked.extend([("Authorization", bearer.as_str()), ("X-Request-ID", "r-7")]);
    assert_eq!(world.ask("traefik", &asked).status, 200);
    let path = world.server.directory.path("decisions.jsonl");
    let line = || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.lines().find(|line| line.contains("r-7")).map(str::to_owned)
    };
    world.server.eventually("the line is written", |_| line().is_some());
    let line: Value = serde_json::from_str(&line().unwrap()).unwrap();
    assert_eq!((&line["surface"], &line["request_id"]), (&"traefik".into(), &"r-7".into()), "{line}");
    let text = line.to_string();
    assert!(text.contains("192.0.2.7") && text.contains("/papers/7"), "{line}");
    assert!(!text.contains(&world.anna), "no token is in the log: {line}");
}

/// Nobody but a gateway is believed about a request, whatever else they may do here.
#[test]
fn only_gateways_are_answered() {
    let nobody_near = "proxies = ['192.0.2.1']";
    let users = crate::auth::users();
    let users = users.split_once('\n').unwrap().1;
    let world = World::start(nobody_near, users);
    let bearer = format!("Bearer {}", world.anna);
    for door in DOORS {
        let mut asked = fields(door, "GET", "/papers/7");
        asked.push(("Authorization", &bearer));
        let refused = world.ask(door, &asked);
        assert_eq!((refused.status, refused.header("x-durward-reason")), (403, "proxy"), "{door}");
        for credentials in [bearer.as_str(), "Bearer sapl_abcdefghij_wrong", "", "nonsense"] {
            let mut with = asked.clone();
            with.push(("X-Durward-Proxy-Authorization", credentials));
            assert_eq!(world.ask(door, &with).header("x-durward-reason"), "proxy", "{door} {credentials}");
        }
        let robot = format!("Bearer {}", crate::auth::ROBOT);
        asked.push(("X-Durward-Proxy-Authorization", &robot));
        assert_eq!(world.ask(door, &asked).status, 200, "{door}");
    }
}

#[test]
fn doors_are_closed_unless_they_are_opened() {
    let server = crate::support::TestServer::start("");
    for door in DOORS {
        let reply = server.get(&format!("/doors/{door}"));
        assert!(reply.status == 404 && reply.text().contains("`doors.on`"), "{}", reply.text());
    }
}

/// Gateways' questions count for the same limits as those of all other surfaces.
#[test]
fn who_asks_too_often_is_not_let_through() {
    let world = World::start("", "[auth]\nrequests_per_second_max = 1\n");
    let anna = format!("Bearer {}", world.anna);
    for door in DOORS {
        let mut asked = fields(door, "GET", "/papers/7");
        asked.push(("Authorization", &anna));
        world.server.eventually(door, |_| {
            let reply = world.ask(door, &asked);
            assert!([200, 503].contains(&reply.status), "{door}: {}", reply.text());
            reply.status == 503
        });
    }
    let hits = "durward_limits_hit_total{limit=\"auth.requests_per_second_max\"}";
    assert!(world.server.metric(hits) >= 4.0);
}
