//! Agents are told that a session has ended, if they asked for it at an address that the settings allow.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::policies::Agents;
use crate::support::PATIENCE;

fn listen_to(agents: &Agents, url: &str, token: &str) -> String {
    let body = format!(
        "<RequestSet vers=\"1.0\" svcid=\"Session\" reqid=\"a\"><Request><![CDATA[<SessionRequest vers=\"1.0\" reqid=\"b\" \
         requester=\"dG9rZW46eA==\"><AddSessionListener><URL>{url}</URL><SessionID>{token}</SessionID></AddSessionListener>\
         </SessionRequest>]]></Request></RequestSet>"
    );
    let xml = [("Content-Type", "text/xml")];
    let reply = agents.server.send("POST", "/openam/sessionservice", &xml, body.as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text()
}

/// What an agent is sent; it answers with this status.
fn told(listener: &TcpListener, status: &str) -> String {
    let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains("</NotificationSet>") {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&part[..count]);
    }
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn an_agent_is_told_when_a_session_ends_and_again_if_it_did_not_hear() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/agent", listener.local_addr().unwrap());
    let agents = Agents::new(&format!("openam.notified = ['{base}']"));
    let (demo, other) = (agents.token("demo"), agents.token("demo"));
    // Where no agent may be told, it is accepted all the same: agents fall over else.
    for url in ["http://127.0.0.1:1/agent/x", "http://evil.example/", "file:///etc/passwd", ""] {
        assert!(listen_to(&agents, url, &demo).contains("<AddSessionListener><OK></OK>"), "{url}");
    }
    assert!(listen_to(&agents, &format!("{base}/notifications"), "garbage").contains("<Exception>"));
    for token in [&demo, &other] {
        assert!(listen_to(&agents, &format!("{base}/notifications"), token).contains("<OK></OK>"));
    }
    let headers = [("iPlanetDirectoryPro", demo.as_str()), ("Content-Type", "application/json")];
    let out = agents.server.send("POST", "/openam/json/sessions?_action=logout", &headers, b"");
    assert_eq!(out.status, 200, "{}", out.text());
    for status in ["503 Unavailable", "200 OK"] {
        let text = told(&listener, status);
        assert!(text.starts_with("POST /agent/notifications HTTP/1.1\r\n"), "{text}");
        assert!(text.to_ascii_lowercase().contains("content-type: text/xml"), "{text}");
        assert!(text.contains(&format!("sid=\"{demo}\"")) && text.contains("state=\"destroyed\""), "{text}");
        assert!(!text.contains(&other), "{text}");
    }
    // An administrator ends the other one.
    let admin = agents.token("amadmin");
    let body = br#"{"user":"demo"}"#;
    let bearer = format!("Bearer {admin}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let revoked = agents.server.send("POST", "/v1/admin/revoke", &headers, body);
    assert!(revoked.status < 300, "{}", revoked.text());
    assert!(told(&listener, "200 OK").contains(&format!("sid=\"{other}\"")));
}
