//! Several listeners, each with what it carries.

use std::net::{SocketAddr, TcpListener};

use durward_server::{Listeners, Server};
use serde_json::json;

use crate::identity::{login, start, token};
use crate::support::{DOCTORS_READ, Directory, Raw, TestServer, clock, request_xml, settings};

/// What each listener is asked: a method, a path, and what answers there.
const ASKED: [(&str, &str, &str); 12] = [
    ("POST", "/pdp", "decisions"),
    ("POST", "/api/pdp/decide-once", "decisions"),
    ("GET", "/", "decisions"),
    ("POST", "/v1/login", "login"),
    ("GET", "/v1/openapi.json", "login"),
    ("POST", "/openam/json/authenticate", "login"),
    ("POST", "/v1/users/me/password", "login"),
    ("POST", "/v1/admin/rotate", "administration"),
    ("GET", "/v1/users", "administration"),
    ("GET", "/v1/users/anna", "administration"),
    ("GET", "/metrics", "metrics"),
    ("GET", "/health/live", "health"),
];

fn connect(address: SocketAddr) -> Raw {
    let stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
    Raw(stream)
}

/// The paths that are there; all others are 404.
fn answered(address: SocketAddr) -> Vec<&'static str> {
    let is_there = |(method, path, _): &&(&str, &'static str, &str)| {
        let mut raw = connect(address);
        raw.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        ));
        let (text, _) = raw.rest();
        assert!(text.starts_with("HTTP/1.1 "), "{path}: {text}");
        let is_elsewhere = text.starts_with("HTTP/1.1 404 ");
        assert_eq!(is_elsewhere, text.contains("not answered on this listener"), "{path}: {text}");
        !is_elsewhere
    };
    ASKED.iter().filter(is_there).map(|(_, path, _)| *path).collect()
}

fn of(surfaces: &[&str]) -> Vec<&'static str> {
    ASKED.iter().filter(|(.., surface)| surfaces.contains(surface)).map(|(_, path, _)| *path).collect()
}

#[test]
fn each_listener_answers_what_it_carries_and_nothing_else() {
    let listen = |surfaces: &str| format!("[[listen]]\naddress = '127.0.0.1:0'\nsurfaces = [{surfaces}]\n");
    let text = [
        "[openam]\non = true\n",
        &listen("'decisions'"),
        &listen("'login'"),
        &listen("'administration', 'metrics', 'health'"),
    ]
    .concat();
    let server = start(&text);
    let [first, decisions, login, others] = server.addresses[..] else { panic!("{:?}", server.addresses) };
    assert_eq!(answered(first).len(), ASKED.len());
    assert_eq!(answered(decisions), of(&["decisions"]));
    assert_eq!(answered(login), of(&["login"]));
    assert_eq!(answered(others), of(&["administration", "metrics", "health"]));
}

/// An administrator's token administers where administrators are answered, and is one like any other elsewhere.
#[test]
fn administrators_administer_only_where_that_is_carried() {
    let text = "[openam]\non = true\n[[listen]]\naddress = '127.0.0.1:0'\nsurfaces = ['login']\n\
                [[listen]]\naddress = '127.0.0.1:0'\nsurfaces = ['login', 'administration']\n";
    let server = start(text);
    let (root, anna) = (token(&server, "root"), login(&server, "anna"));
    let of = json!({ "realm": "/", "user": "anna", "session": anna["session"] });
    let properties = json!({ "properties": { "a": "b" }, "of": of }).to_string();
    let status = |address, method: &str, path: &str, body: &str| {
        let mut raw = connect(address);
        raw.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {root}\r\niPlanetDirectoryPro: {root}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        raw.rest().0.split(' ').nth(1).unwrap().to_owned()
    };
    let [_, narrow, wide] = server.addresses[..] else { panic!("{:?}", server.addresses) };
    for (method, path, body, there, not_there) in [
        ("POST", "/v1/sessions/properties", properties.as_str(), "200", "404"),
        ("GET", "/openam/json/users/anna", "", "200", "403"),
        ("GET", "/openam/json/users/root", "", "200", "200"),
        // The newest version of this call has no such list.
        ("GET", "/openam/json/sessions?_queryId=all", "", "501", "403"),
        ("GET", "/v1/session", "", "200", "200"),
    ] {
        assert_eq!(status(wide, method, path, body), there, "{path}");
        assert_eq!(status(narrow, method, path, body), not_there, "{path}");
    }
}

#[test]
fn the_first_listener_can_be_narrowed_and_decisions_from_bytes_are_too() {
    let server = TestServer::start(
        "server.surfaces = ['health', 'metrics']\n[[listen]]\naddress = '127.0.0.1:0'\nsurfaces = ['decisions']\n",
    );
    let ask = |address| {
        let mut raw = connect(address);
        raw.ask(&request_xml("doctor"));
        raw.answer()
    };
    assert_eq!(ask(server.addresses[0]).0, 404);
    assert!(ask(server.addresses[1]).1.contains("Permit"));
}

/// As a process takes over from another one.
#[test]
fn sockets_that_somebody_listens_on_already_take_the_places_of_listeners() {
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    let text = "[[listen]]\naddress = '127.0.0.1:1'\nsurfaces = ['metrics']\n\
                [[listen]]\naddress = '127.0.0.1:0'\nsurfaces = ['health']\n";
    let settings = settings(&directory, text);
    let passed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = passed.local_addr().unwrap();
    let listeners = Listeners { more: vec![passed], ..Listeners::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let server = Server::bind_on(settings, clock(), listeners).unwrap();
    assert_eq!((server.addresses().len(), server.addresses()[1]), (3, address));
}
