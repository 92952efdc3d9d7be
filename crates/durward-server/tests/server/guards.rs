//! `/pdp` and `/metrics` for callers that `[auth]` accepts, and a decision point that is not opened to other machines by mistake.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::auth::{ROBOT, users};
use crate::support::{DOCTORS_READ, Directory, Reply, TestServer, request_json, request_xml};

fn guarded(what: &str) -> TestServer {
    TestServer::start(&format!("auth.guards = [{what}]\n{}", users()))
}

fn ask(server: &TestServer, authorization: Option<&str>, body: &str) -> Reply {
    let mut headers = vec![("Content-Type", "application/xml")];
    headers.extend(authorization.map(|it| ("Authorization", it)));
    server.post(&headers, body)
}

#[test]
fn a_guarded_decision_point_answers_callers_and_nobody_else() {
    let server = guarded("'pdp'");
    let robot = format!("Bearer {ROBOT}");
    let refused = ask(&server, None, &request_xml("doctor"));
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert_eq!(refused.all("www-authenticate"), ["Basic realm=\"durward\"", "Bearer"]);
    for wrong in ["Bearer sapl_abcdefghij_other", "Digest x", "Basic dTpw"] {
        assert_eq!(ask(&server, Some(wrong), &request_xml("doctor")).status, 401, "{wrong}");
    }
    // The second time, credentials are remembered.
    for _ in 0..2 {
        assert!(ask(&server, Some(&robot), &request_xml("doctor")).text().contains("Permit"));
        assert!(ask(&server, Some(&robot), &request_xml("nurse")).text().contains("Deny"));
        assert_eq!(ask(&server, None, &request_xml("doctor")).status, 401);
    }
    let anna = format!("Basic {}", BASE64_STANDARD.encode("anna:secret"));
    for _ in 0..2 {
        let of_plant = ask(&server, Some(&anna), &request_xml("doctor"));
        assert_eq!(of_plant.status, 403, "the policies of another tenant are not hers: {}", of_plant.text());
    }
    let two = [
        ("Content-Type", "application/xacml+json"),
        ("Authorization", robot.as_str()),
        ("Authorization", robot.as_str()),
    ];
    assert_eq!(server.post(&two, request_json("doctor")).status, 401);
    assert_eq!(server.get("/metrics").status, 200);
}

#[test]
fn guarded_metrics_are_for_callers() {
    let server = guarded("'metrics'");
    let robot = format!("Bearer {ROBOT}");
    let read = |headers: &[(&str, &str)]| server.send("GET", "/metrics", headers, b"").status;
    assert_eq!((read(&[]), read(&[("Authorization", robot.as_str())])), (401, 200));
    assert_eq!(server.get("/health/ready").status, 200);
    assert_eq!(server.decide("doctor"), "Permit", "not guarded");
}

#[test]
fn what_guards_nothing_is_refused() {
    let start = |text: &str| {
        durward_server::Settings::from_toml(text, "t").map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(start("auth.guards = ['pdp']").unwrap_err().contains("nobody can authenticate"));
    let open = format!("auth.guards = ['pdp']\nauth.danger_allow_no_auth = true\n{}", users());
    assert!(start(&open).unwrap_err().contains("guards nothing"));
    assert_eq!(start(&format!("auth.guards = ['pdp', 'metrics']\n{}", users())), Ok(()));
}

/// As SAPL's surfaces, which have always been so.
#[test]
fn an_open_decision_point_is_shown_to_other_machines_only_where_that_is_said() {
    let start = |text: &str| {
        let directory = Directory::new();
        directory.write("policies/doctors.xml", DOCTORS_READ);
        TestServer::start_in(directory, text).map(|_| ()).map_err(|error| error.to_string())
    };
    let beyond = "server.listen = '0.0.0.0:0'\n";
    let listener = "[[listen]]\naddress = '0.0.0.0:0'\nsurfaces = ['decisions']\n";
    for text in [beyond, listener] {
        assert!(start(text).unwrap_err().contains("`xacml.danger_allow_no_auth = true`"), "{text}");
    }
    let guards = format!("auth.guards = ['pdp']\n{}", users());
    for text in [
        format!("{beyond}xacml.danger_allow_no_auth = true"),
        format!("{beyond}auth.danger_allow_no_auth = true"),
        format!("{beyond}{guards}"),
        format!("{beyond}server.surfaces = ['health']"),
        listener.replace("decisions", "metrics"),
        String::new(),
    ] {
        assert_eq!(start(&text), Ok(()), "{text}");
    }
}
