//! Many logins at once, over as many connections: right ones all get in, wrong ones are held back.

use std::sync::Barrier;

use serde_json::json;

use crate::identity::{post, start};
use crate::support::{Reply, TestServer};

const AT_ONCE: usize = 64;

/// What each answered who logged in at the same time.
fn at_once(login: impl Fn(usize) -> Reply + Sync) -> Vec<Reply> {
    let all = Barrier::new(AT_ONCE);
    std::thread::scope(|scope| {
        let one = |number: usize| {
            let (all, login) = (&all, &login);
            scope.spawn(move || {
                all.wait();
                login(number)
            })
        };
        let logins: Vec<_> = (0..AT_ONCE).map(one).collect();
        logins.into_iter().map(|login| login.join().unwrap()).collect()
    })
}

fn ours(server: &TestServer, user: &str, password: &str) -> Reply {
    post(server, "/v1/login", None, &json!({ "user": user, "password": password }))
}

fn openam(server: &TestServer, user: &str, password: &str) -> Reply {
    let headers = [
        ("X-OpenAM-Username", user),
        ("X-OpenAM-Password", password),
        ("Content-Type", "application/json"),
        ("Accept-API-Version", "resource=2.0, protocol=1.0"),
    ];
    server.send("POST", "/openam/json/authenticate", &headers, b"{}")
}

const OPENAM: &str = "[openam]\non = true\n";

#[test]
fn right_logins_of_one_user_at_once_all_get_in() {
    let server = start(OPENAM);
    for login in [ours, openam] {
        for reply in at_once(|_| login(&server, "anna", "secret")) {
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
    }
    assert!(server.get("/metrics").text().contains("\ndurward_logins_held 0\n"));
}

#[test]
fn wrong_ones_at_once_are_told_to_wait() {
    for login in [ours, openam] {
        let server = start(OPENAM);
        let replies = at_once(|_| login(&server, "anna", "other"));
        let wrong = replies.iter().filter(|reply| reply.status == 401).count();
        let delayed: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 429).collect();
        // A slow machine may have one more after each delay.
        assert!(wrong >= 4 && wrong + delayed.len() == AT_ONCE, "{wrong} and {}", delayed.len());
        assert!(delayed.iter().all(|reply| reply.header("retry-after").parse::<u64>().unwrap() > 0));
        assert!(!delayed.is_empty());
    }
}
