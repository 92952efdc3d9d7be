//! What agents ask besides logins and sessions: profiles, whether the server is alive, its version, and sessions in XML.

use serde_json::json;

use super::world::{RECORDED, World};
use crate::support::Reply;

fn ask(world: &World, path: &str, token: Option<&str>) -> Reply {
    let headers: Vec<(&str, &str)> = token.iter().map(|token| ("iPlanetDirectoryPro", *token)).collect();
    world.server.send("GET", &format!("/openam{path}"), &headers, b"")
}

fn refused(reply: &Reply) -> (u16, String) {
    let body = reply.json();
    assert_eq!(body["code"], reply.status, "{body}");
    (reply.status, body["message"].as_str().unwrap().to_owned())
}

fn sales(world: &World, name: &str, password: &str) -> String {
    let reply = world.login_at("/json/sales/authenticate", name, password);
    reply.json()["tokenId"].as_str().unwrap().to_owned()
}

#[test]
fn a_profile_is_for_its_user_and_for_administrators() {
    let world = World::new(RECORDED);
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    for path in ["/json/users/demo", "/json/realms/root/users/demo", "/json/users/demo?realm=/"] {
        for token in [&demo, &admin] {
            let reply = ask(&world, path, Some(token));
            assert_eq!((reply.status, reply.header("content-api-version")), (200, "resource=3.0"), "{path}");
            let profile = reply.json();
            assert_eq!(
                (&profile["_id"], &profile["username"], &profile["realm"]),
                (&json!("demo"), &json!("demo"), &json!("/"))
            );
            assert_eq!((&profile["uid"], &profile["cn"]), (&json!(["demo"]), &json!(["demo"])));
            assert_eq!(profile["universalid"], json!(["id=demo,ou=user,dc=openam,dc=local"]));
            assert_eq!(profile["inetUserStatus"], json!(["Active"]));
            assert!(!reply.text().contains("argon2"), "{}", reply.text());
        }
    }
    assert_eq!(refused(&ask(&world, "/json/users/demo", None)), (401, "Access Denied".to_owned()));
    assert_eq!(refused(&ask(&world, "/json/users/demo", Some("garbage"))), (401, "Access Denied".to_owned()));
    // Whether there is such a user is not for everybody to know.
    for name in ["amadmin", "nobody", "%00", "a%2Fb"] {
        assert_eq!(refused(&ask(&world, &format!("/json/users/{name}"), Some(&demo))).0, 403, "{name}");
    }
    assert_eq!(refused(&ask(&world, "/json/users/nobody", Some(&admin))).0, 404);
    assert_eq!(refused(&ask(&world, "/json/users/%00", Some(&admin))).0, 404);
    let narrow = ask(&world, "/json/users/demo?_fields=cn", Some(&demo)).json();
    let names: Vec<&String> = narrow.as_object().unwrap().keys().collect();
    assert_eq!(names, ["_id", "_rev", "cn"]);
    let groups = ask(&world, "/json/users/amadmin", Some(&admin)).json();
    assert_eq!(groups["isMemberOf"], json!(["id=administrators,ou=group,dc=openam,dc=local"]));
}

#[test]
fn a_profile_is_of_one_realm() {
    let world = World::new(RECORDED);
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    let (other, chief) = (sales(&world, "demo", "salespassword"), sales(&world, "chief", "chiefpassword"));
    let there = "/json/sales/users/demo";
    assert_eq!(ask(&world, there, Some(&other)).json()["realm"], "/sales");
    assert_eq!(ask(&world, there, Some(&chief)).status, 200);
    assert_eq!(ask(&world, there, Some(&admin)).status, 200);
    assert_eq!(ask(&world, there, Some(&demo)).status, 403, "of the same name, in another realm");
    assert_eq!(ask(&world, "/json/users/demo", Some(&chief)).status, 403);
    assert_eq!(ask(&world, "/json/users/demo", Some(&other)).status, 403);
}

#[test]
fn profiles_are_read_and_nothing_else() {
    let world = World::new(RECORDED);
    let demo = world.token("demo");
    for (method, body) in [("PUT", "{}"), ("DELETE", ""), ("PATCH", "[]")] {
        let headers = [("iPlanetDirectoryPro", demo.as_str()), ("Content-Type", "application/json")];
        let reply = world.server.send(method, "/openam/json/users/demo", &headers, body.as_bytes());
        assert_eq!(refused(&reply).0, 501, "{method}");
        let nobody = world.server.send(method, "/openam/json/users/demo", &headers[1..], body.as_bytes());
        assert_eq!(refused(&nobody).0, 401, "{method}");
    }
}

#[test]
fn a_server_says_that_it_is_alive_and_which_version_it_is() {
    let world = World::new(RECORDED);
    let alive = ask(&world, "/isAlive.jsp", None);
    assert_eq!((alive.status, alive.header("content-type")), (200, "text/html;charset=UTF-8"));
    assert!(alive.text().contains("Server is ALIVE"), "{}", alive.text());
    let version = ask(&world, "/json/serverinfo/version", None).json();
    assert!(version["fullVersion"].as_str().unwrap().starts_with("durward "), "{version}");
    assert!(version["_rev"].is_string() && version["_id"] == "version");
    assert_eq!(ask(&world, "/json/serverinfo/nope", None).status, 501);
}

fn set(inner: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<RequestSet vers=\"1.0\" svcid=\"Session\" reqid=\"1\">\n\
         <Request><![CDATA[<SessionRequest vers=\"1.0\" reqid=\"0\">{inner}</SessionRequest>]]></Request></RequestSet>"
    )
}

#[test]
fn sessions_are_read_and_ended_in_xml() {
    let world = World::new(RECORDED);
    let demo = world.token("demo");
    let send = |inner: &str| {
        let reply = world.post("/sessionservice", &[("Content-Type", "text/xml;charset=UTF-8")], set(inner));
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, "text/xml;charset=UTF-8"),
            "{}",
            reply.text()
        );
        reply.text()
    };
    let get = |token: &str| {
        send(&format!("<GetSession reset=\"true\"><SessionID>{token}</SessionID></GetSession>"))
    };
    let said = get(&demo);
    for part in [
        "<ResponseSet vers=\"1.0\" svcid=\"Session\" reqid=\"1\">",
        "<![CDATA[<SessionResponse vers=\"1.0\" reqid=\"0\"><GetSession><Session sid=\"",
        "state=\"valid\"",
        "maxtime=\"120\" maxidle=\"30\"",
        "<Property name=\"UserId\" value=\"demo\"></Property>",
        "<Property name=\"sun.am.UniversalIdentifier\" value=\"id=demo,ou=user,dc=openam,dc=local\"></Property>",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let listen = format!(
        "<AddSessionListener><URL>http://agent/x</URL><SessionID>{demo}</SessionID></AddSessionListener>"
    );
    assert!(send(&listen).contains("<AddSessionListener><OK></OK></AddSessionListener>"));
    assert!(
        send("<SetProperty></SetProperty>").contains("<Exception>SetProperty is not supported</Exception>")
    );
    assert!(
        send(&format!("<Logout><SessionID>{demo}</SessionID></Logout>"))
            .contains("<Logout><OK></OK></Logout>")
    );
    assert!(!world.is_valid(&demo));
    assert!(get(&demo).contains("<GetSession><Exception>Invalid session ID "));
    let hostile = get("]]>&lt;x&gt;\"");
    assert!(hostile.matches("]]>").count() == 1 && !hostile.contains("<x>"), "{hostile}");
}

#[test]
fn what_is_no_set_of_requests_is_refused() {
    let world = World::new(RECORDED);
    for body in ["", "nothing", "<RequestSet reqid=\"1\"></RequestSet>", &set("x"), "\u{0}"] {
        assert_eq!(world.post("/sessionservice", &[], body).status, 400, "{body}");
    }
    let long = "x".repeat(1 << 20);
    assert_eq!(world.post("/sessionservice", &[], long).status, 413);
    assert_eq!(world.get("/sessionservice").status, 405);
}
