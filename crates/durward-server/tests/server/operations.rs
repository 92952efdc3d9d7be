//! Starting and stopping.

use crate::support::{Directory, TestServer, request_xml, settings};

#[test]
fn a_request_under_way_is_answered_after_the_stop_was_asked_for() {
    let mut server = TestServer::start("");
    let body = request_xml("doctor");
    let mut connection = server.connect();
    connection.send(&format!(
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    let mut idle = server.connect();
    idle.ask(&body);
    assert_eq!(idle.answer().0, 200);
    server.begin_stop();
    // Idle connections end at once, the one under way does not.
    assert!(idle.rest().0.is_empty());
    connection.send(&body);
    let (status, text) = connection.answer();
    assert_eq!(status, 200);
    assert!(text.contains("Permit"));
    assert_eq!(server.stop().connections_cut, 0);
}

#[test]
fn a_request_that_does_not_end_cannot_hold_up_the_stop() {
    let server = TestServer::start("server.shutdown_time_ms_max = 200\nserver.workers = 1");
    let mut connection = server.connect();
    connection
        .send("POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xml\r\nContent-Length: 10\r\n\r\n");
    // Besides the one that asks for this.
    server.eventually("it is under way", |server| server.metric("durward_requests_in_flight") == 2.0);
    assert_eq!(server.stop().connections_cut, 1);
}

#[test]
fn nothing_new_is_accepted_after_the_stop() {
    let server = TestServer::start("");
    let address = server.address;
    server.stop();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn several_workers_share_the_work() {
    let server = TestServer::start("server.workers = 3");
    let mut connections: Vec<_> = (0..30).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.ask(&request_xml("doctor"));
    }
    for connection in &mut connections {
        assert!(connection.answer().1.contains("Permit"));
    }
    assert_eq!(server.stop().connections_cut, 0);
}

#[test]
fn an_address_in_use_is_said_to_be() {
    let server = TestServer::start("");
    let directory = Directory::new();
    directory.write("policies/a.xml", crate::support::DOCTORS_READ);
    let mut settings = settings(&directory, "");
    settings.server.listen = server.address;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime
        .block_on(async { durward_server::Server::bind(settings, crate::support::clock()) })
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("cannot listen on") && error.contains("server.listen"), "{error}");
}

#[test]
fn listening_to_everybody_is_shouted_about() {
    let server = TestServer::start("server.listen = '0.0.0.0:0'\nxacml.danger_allow_no_auth = true");
    let local = format!("http://127.0.0.1:{}/health/ready", server.address.port());
    let text = ureq::get(&local).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(text.contains("warnings") && text.contains("0.0.0.0"), "{text}");
    assert!(TestServer::start("").ready()["warnings"].is_null());
}

#[test]
fn attributes_of_the_configuration_are_there_unless_the_request_brings_them() {
    let settings = "[[attributes]]\ncategory = 'subject'\nid = 'role'\nvalues = ['doctor']";
    let server = TestServer::start(settings);
    let without = r#"{"Request":{"Action":{"Attribute":[{"AttributeId":"action-id","Value":"read"}]}}}"#;
    let reply = server.post(&[("Content-Type", "application/json")], without);
    assert!(reply.text().contains("Permit"), "{}", reply.text());
    assert_eq!(server.decide("nurse"), "Deny");
}

#[test]
fn the_health_of_a_ready_server_names_its_policies() {
    let server = TestServer::start("");
    let health = server.ready();
    assert_eq!(health["status"], "ready");
    assert_eq!(health["snapshot"]["policies"], 1);
    assert_eq!(health["snapshot"]["rules"], 1);
    assert!(health["snapshot"]["loaded"].as_str().unwrap().ends_with('Z'), "{health}");
    assert!(!health["snapshot"]["index"].as_str().unwrap().is_empty());
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_tls_does_not_start_where_tls_is_asked_for() {
    let directory = Directory::new();
    directory.write("policies/a.xml", crate::support::DOCTORS_READ);
    let error = TestServer::start_in(directory, "[server.tls]\ncertificate = 'c'\nkey = 'k'").err().unwrap();
    assert!(error.to_string().contains("no TLS"), "{error}");
}
