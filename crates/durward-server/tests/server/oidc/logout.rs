//! Users log out, and applications are told.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use serde_json::json;

use super::world::{ISSUER, World, clients};
use crate::oauth::world::{encoded, part};
use crate::support::PATIENCE;

const BYE: &str = "https://app.example/bye";

fn place(parameters: &[(&str, &str)]) -> String {
    format!("/oauth2/logout?{}", encoded(parameters))
}

#[test]
fn an_application_sends_its_user_to_log_out() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let tokens = world.exchange(&code);
    let hint = tokens.member("id_token");
    // ID tokens are over sooner than sessions, and say whom they mean all the same.
    world.pass(600);
    let parameters = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", BYE), ("state", "x y")];
    let (to, with) = browser.get(&place(&parameters)).back();
    assert_eq!((to.as_str(), with["state"].as_str()), (BYE, "x y"));
    assert_eq!(browser.session(), None);
    world.refresh(&tokens.member("refresh_token")).is_refused(400, "invalid_grant");
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "login_required");
    // Once more does no harm.
    assert_eq!(browser.get(&place(&parameters)).back().0, BYE);
}

#[test]
fn without_an_id_token_the_user_is_asked() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let parameters = [("client_id", "app"), ("post_logout_redirect_uri", BYE)];
    let form = browser.get(&place(&parameters));
    assert!(form.status == 200 && browser.session().is_some(), "{}", form.text);
    let csrf = form.csrf();
    // Neither another page nor another browser's form does it.
    assert_eq!(browser.get(&place(&[("csrf", &csrf)])).status, 400);
    let (mut other, _) = world.logged_in();
    assert_eq!(other.post("/oauth2/logout", &[("csrf", &csrf)]).status, 400);
    assert!(other.session().is_some() && browser.session().is_some());
    assert_eq!(browser.post("/oauth2/logout", &[("csrf", &csrf)]).back().0, BYE);
    assert_eq!(browser.session(), None);
    let nobody = browser.get("/oauth2/logout");
    assert!(nobody.status == 200 && nobody.text.contains("You are signed out"), "{}", nobody.text);
}

#[test]
fn after_a_logout_nobody_is_sent_to_where_the_client_does_not_have() {
    let world = World::new();
    let (mut browser, code) = world.logged_in();
    let hint = world.exchange(&code).member("id_token");
    for uri in ["https://evil.example/", "https://app.example/bye/", "https://app.example/cb"] {
        let parameters = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", uri)];
        browser.get(&place(&parameters)).stays();
    }
    for parameters in [
        vec![("post_logout_redirect_uri", BYE)],
        vec![("client_id", "shop"), ("post_logout_redirect_uri", BYE)],
        vec![("client_id", "shop"), ("id_token_hint", &hint)],
        vec![("id_token_hint", "x")],
    ] {
        browser.get(&place(&parameters)).stays();
    }
    assert!(browser.session().is_some());
}

/// An application that says what it is told, as whoever listens.
pub(super) fn listener() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // With a query, as mod_auth_openidc has it.
    let place = format!("http://{}/ended?logout=backchannel", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            if tell.send(request(stream)).is_err() {
                return;
            }
        }
    });
    (place, told)
}

/// The body of a request, which is answered with 200.
fn request(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = String::new();
    let mut buffer = [0; 8192];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("post /ended?logout=backchannel "), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse().unwrap() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            return body.to_owned();
        }
    }
}

#[test]
fn applications_are_told_when_a_session_ends_however_it_does() {
    let (uri, told) = listener();
    let own = format!("id = 'app'\nbackchannel_logout_uri = '{uri}'");
    let world = World::with("", &clients().replace("id = 'app'", &own));
    let (browser, code) = world.logged_in();
    let id = world.exchange(&code).member("id_token");
    let bearer = format!("Bearer {}", browser.session().unwrap());
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    assert_eq!(world.server.send("POST", "/v1/sessions/logout", &headers, b"{}").status, 200);
    let body = told.recv_timeout(PATIENCE).unwrap();
    let token = body.strip_prefix("logout_token=").unwrap();
    assert_eq!(part(token, 0)["typ"], "logout+jwt");
    let claims = part(token, 1);
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!("app")));
    assert_eq!((&claims["sub"], &claims["sid"]), (&json!("anna"), &part(&id, 1)["sid"]));
    assert_eq!(claims["events"], json!({ "http://schemas.openid.net/event/backchannel-logout": {} }));
    assert_eq!(claims.get("nonce"), None);
    // It is no token for anything else.
    assert_eq!(world.userinfo(token).status, 401);
}
