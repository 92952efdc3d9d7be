//! The recipe of the manual for Traccar: settings, secrets and policy are those of `docs/sapl-attributes.md`, word for word,
//! against a service that answers as Traccar's REST API does.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::sapl::{Stream, ask};
use crate::support::{Directory, TestServer};

const PAGE: &str = include_str!("../../../../docs/sapl-attributes.md");
const SETTINGS: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n";

/// Answers by path and query. Like Traccar: devices and geofences by number, 404 for others; positions as an array, the last one of a
/// device; 401 without the credentials.
#[derive(Clone)]
struct Traccar {
    address: SocketAddr,
    answers: Arc<Mutex<HashMap<&'static str, String>>>,
}

impl Traccar {
    fn start() -> Traccar {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let answers: Arc<Mutex<HashMap<&'static str, String>>> = Arc::default();
        let traccar = Traccar { address: listener.local_addr().unwrap(), answers };
        let server = json!({"id": 1, "registration": false, "version": "6.5", "attributes": {}});
        let device = json!({"id": 7, "name": "van", "uniqueId": "867", "status": "online", "positionId": 12, "attributes": {}});
        // Latitudes before longitudes.
        let fence = json!({"id": 3, "name": "yard", "description": "", "attributes": {}, "calendarId": 0,
            "area": "POLYGON ((48.0 11.0, 48.0 12.0, 49.0 12.0, 49.0 11.0, 48.0 11.0))"});
        traccar.says("/api/server", server.to_string());
        traccar.says("/api/devices", json!([device]).to_string());
        traccar.says("/api/devices/7", device.to_string());
        traccar.says("/api/geofences", json!([fence]).to_string());
        traccar.says("/api/geofences/3", fence.to_string());
        traccar.places_at(48.5, 11.5);
        let answering = traccar.clone();
        thread::spawn(move || answering.answer(&listener));
        traccar
    }

    fn says(&self, path: &'static str, body: String) {
        self.answers.lock().unwrap().insert(path, body);
    }

    fn places_at(&self, latitude: f64, longitude: f64) {
        let position = json!([{"id": 12, "deviceId": 7, "protocol": "osmand", "fixTime": "2026-01-31T12:00:00.000+00:00",
            "valid": true, "latitude": latitude, "longitude": longitude, "altitude": 510.0, "attributes": {}}]);
        self.says("/api/positions?deviceId=7", position.to_string());
    }

    fn answer(&self, listener: &TcpListener) {
        for mut stream in listener.incoming().flatten() {
            let service = self.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                loop {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if reader.read_line(&mut head).unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let path = head.split(' ').nth(1).unwrap();
                    let is_known =
                        head.to_ascii_lowercase().contains("authorization: basic dxnlcjpwyxnzd29yza==");
                    let (status, body) = match service.answers.lock().unwrap().get(path) {
                        _ if !is_known => ("401 Unauthorized", String::new()),
                        Some(body) => ("200 OK", body.clone()),
                        None => ("404 Not Found", String::new()),
                    };
                    let kind = "Content-Type: application/json";
                    let length = body.len();
                    // Whoever asked may have gone.
                    let _ = write!(
                        stream,
                        "HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}"
                    );
                }
            });
        }
    }

    /// The page's block in this language, with our service in the place of the example's.
    fn block(&self, language: &str) -> String {
        let (_, section) = PAGE.split_once("\n## `traccar`").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let (_, block) = section.split_once(&format!("```{language}\n")).unwrap();
        let block = block.split("```").next().unwrap();
        block.replace("https://traccar.example.com", &format!("http://{}", self.address))
    }

    fn serve(&self, policy: &str) -> TestServer {
        let directory = Directory::new();
        directory.write("policies/premises.sapl", policy);
        directory.write("policies/secrets.json", &self.block("json"));
        TestServer::start_in(directory, &format!("{SETTINGS}{}", self.block("toml"))).unwrap()
    }
}

fn unlock(device: &str, fence: &str) -> String {
    format!(r#"{{"subject":{{"device":"{device}"}},"action":"unlock","resource":{{"fence":"{fence}"}}}}"#)
}

#[test]
fn the_manuals_recipe_decides_where_a_device_is() {
    let traccar = Traccar::start();
    let server = traccar.serve(&traccar.block("sapl"));
    let decide = |device: &str, fence: &str| ask(&server, "decide-once", &unlock(device, fence)).json();
    let decide = &decide;
    assert_eq!(decide("7", "3")["decision"], "PERMIT");
    // A failure is tried again for some seconds before it is an error.
    thread::scope(|scope| {
        for (device, fence) in [("8", "3"), ("7", "4"), ("../7", "3")] {
            scope.spawn(move || {
                assert_ne!(decide(device, fence)["decision"], "PERMIT", "{device} {fence}");
            });
        }
    });
    // The device leaves, and returns.
    let mut stream = Stream::open(&server, "decide", "", &unlock("7", "3"));
    assert_eq!(stream.next(), "data:{\"decision\":\"PERMIT\"}\n\n");
    traccar.places_at(50.0, 11.5);
    assert_eq!(stream.next(), "data:{\"decision\":\"DENY\"}\n\n");
    traccar.places_at(48.1, 11.9);
    assert_eq!(stream.next(), "data:{\"decision\":\"PERMIT\"}\n\n");
}

/// Each attribute of the page is asked for, and is what the service says; nothing in the page is left untried.
#[test]
fn each_attribute_of_the_recipe_is_what_the_service_says() {
    let traccar = Traccar::start();
    for (attribute, field) in [
        ("<traccar.server>", "version == \"6.5\""),
        ("<traccar.devices>[0]", "name == \"van\""),
        ("\"7\".<traccar.device>", "uniqueId == \"867\""),
        ("<traccar.geofences>[0]", "name == \"yard\""),
        ("\"3\".<traccar.traccarGeofence>", "name == \"yard\""),
        ("\"7\".<traccar.traccarPosition>", "latitude == 48.5"),
    ] {
        let server = traccar.serve(&format!("policy \"p\" permit {attribute}.{field};"));
        assert_eq!(
            ask(&server, "decide-once", &unlock("7", "3")).json()["decision"],
            "PERMIT",
            "{attribute}"
        );
    }
    let names = traccar.block("toml").matches("[sources.attributes.").count();
    assert_eq!(names, 6, "a new attribute of the page is to be tried above");
}
