//! What nobody gets in with, and what must not stop the server.

use std::io::Write;

use super::world::{RECORDED, World};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Sends a whole request byte by byte as it is; the status of the answer, 0 where the connection is closed without one.
fn raw(world: &World, request: &[u8]) -> u16 {
    let mut connection = world.server.connect();
    // A server that has read enough may close before all is sent.
    let _ = connection.0.write_all(request);
    let (answer, _) = connection.rest();
    answer.get(9..12).map_or(0, |status| status.parse().unwrap())
}

fn login(headers: &[u8]) -> Vec<u8> {
    let head = b"POST /openam/json/authenticate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    [head.as_slice(), headers, b"Content-Length: 0\r\n\r\n"].concat()
}

#[test]
fn passwords_and_names_that_are_none_get_nobody_in() {
    let world = World::new(RECORDED);
    let megabyte = vec![b'p'; 1 << 20];
    let with = |name: &[u8], password: &[u8]| {
        let headers =
            [b"X-OpenAM-Username: ".as_slice(), name, b"\r\nX-OpenAM-Password: ", password, b"\r\n"];
        raw(&world, &login(&headers.concat()))
    };
    assert_eq!(with(b"demo", b"changeit"), 200);
    let before = world.service.live_count();
    let cases: [(&[u8], &[u8]); 11] = [
        (b"demo", &megabyte),
        (&megabyte, b"changeit"),
        (b"demo", b"changeit\0"),
        (b"demo\0", b"changeit"),
        (b"demo", b"change\xffit"),
        (b"de\xc3mo", b"changeit"),
        (b"demo*", b"changeit"),
        (b"demo)(uid=*", b"changeit"),
        (b"*", b"changeit"),
        (b"/sales\0demo", b"salespassword"),
        (&[b'n'; 300], b"changeit"),
    ];
    for (name, password) in cases {
        let status = with(name, password);
        assert!([400, 401, 431, 0].contains(&status), "{status}: {:?}", name.get(..9));
    }
    assert_eq!(world.service.live_count(), before);
    assert_eq!(with(b"demo", b"changeit"), 200, "the server goes on");
}

#[test]
fn headers_that_could_be_read_in_two_ways_get_nobody_in() {
    let world = World::new(RECORDED);
    let user = b"X-OpenAM-Username: demo\r\n".as_slice();
    let password = b"X-OpenAM-Password: changeit\r\n".as_slice();
    for headers in [
        [user, b"X-OpenAM-Username: amadmin\r\n", password].concat(),
        [user, password, b"X-OpenAM-Password: other\r\n"].concat(),
        [user, password, b"Host: y\r\n"].concat(),
        [user, b"X-OpenAM-Password : changeit\r\n"].concat(),
        [user, b"X-OpenAM-Password:\r\n changeit\r\n"].concat(),
        [user, password, b"Content-Length: 5\r\n"].concat(),
    ] {
        let status = raw(&world, &login(&headers));
        assert!([400, 0].contains(&status), "{status}: {}", String::from_utf8_lossy(&headers));
    }
    assert_eq!(world.service.live_count(), 0);
}

#[test]
fn bodies_made_to_hurt_are_refused() {
    let world = World::new(RECORDED);
    let deep = format!("{{\"callbacks\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("{{\"authId\":\"{}\",\"callbacks\":[]}}", "A.".repeat(20_000));
    let password = "p".repeat(1 << 20);
    let filled = format!(
        "{{\"callbacks\":[{{\"type\":\"NameCallback\",\"input\":[{{\"name\":\"IDToken1\",\"value\":\"demo\"}}]}},\
         {{\"type\":\"PasswordCallback\",\"input\":[{{\"name\":\"IDToken2\",\"value\":\"{password}\"}}]}}]}}"
    );
    let cases: [(&[u8], u16); 6] = [
        (deep.as_bytes(), 400),
        (long.as_bytes(), 400),
        (filled.as_bytes(), 413),
        (b"{\"callbacks\":\"\xff\xfe\"}", 400),
        (b"\0\0\0\0", 400),
        (b"{\"authId\":\"\\ud800\"}", 400),
    ];
    for (body, status) in cases {
        let reply = world.post("/json/authenticate", &[JSON], body);
        assert_eq!(reply.status, status, "{:?}", body.get(..20));
        assert_eq!(reply.json()["code"], status);
    }
    let admin = world.token("amadmin");
    for action in ["setProperty", "getProperty", "logoutByHandle"] {
        let headers = [JSON, ("iPlanetDirectoryPro", admin.as_str())];
        for version in ["resource=1.2", "resource=2.0"] {
            let headers = [headers[0], headers[1], ("Accept-API-Version", version)];
            let reply = world.post(&format!("/json/sessions?_action={action}"), &headers, &deep);
            assert!([400, 501].contains(&reply.status), "{action} {version}: {}", reply.status);
        }
    }
    assert!(world.is_valid(&admin));
}

#[test]
fn tokens_that_are_none_are_not_valid_and_end_nothing() {
    let world = World::new(RECORDED);
    let token = world.token("demo");
    let others = [
        String::new(),
        "%00".to_owned(),
        "%ff%fe".to_owned(),
        "%".to_owned(),
        "..%2f..%2fetc".to_owned(),
        format!("{token}A"),
        format!("{token}%00"),
        format!("{token}%20"),
        token[1..].to_owned(),
        token.to_lowercase(),
        "A".repeat(5_000),
    ];
    for other in &others {
        let headers = [("Accept-API-Version", "resource=1.2")];
        let path = format!("/json/sessions?_action=validate&tokenId={other}");
        let reply = world.post(&path, &headers, "");
        assert_eq!((reply.status, reply.text().as_str()), (200, "{\"valid\":false}"), "{other:.30}");
        let headers = [headers[0], ("iPlanetDirectoryPro", "garbage")];
        let reply = world.post(&format!("/json/sessions?_action=logout&tokenId={other}"), &headers, "");
        assert_eq!(reply.status, 401, "{other:.30}");
    }
    assert!(world.is_valid(&token));
}

#[test]
fn a_guess_at_a_user_tells_nothing_of_who_there_is() {
    let world = World::new(RECORDED);
    let answers = ["demo", "nobody", "berta", "", "x\ty"].map(|user| {
        let reply = world.login_at(
            "/json/authenticate?noSession=false",
            if user.is_empty() { "-" } else { user },
            "wrong",
        );
        (reply.status, reply.text(), reply.all("set-cookie").len())
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}
