//! Directories with so many policies that they are changed one by one.

use std::fs;

use crate::sapl::ask;
use crate::support::{DOCTORS_READ, Directory, TestServer};

const SETTINGS: &str =
    "sapl.http = true\nauth.danger_allow_no_auth = true\npolicies.poll_ms = 20\npolicies.settle_ms = 1";

/// More than are built anew with every change.
const POLICIES: usize = 2_100;

fn policy(number: usize, subject: &str) -> String {
    format!("policy \"p{number:04}\" permit subject == \"{subject}\"; action == \"read\";")
}

fn file(number: usize) -> String {
    format!("policies/p{number:04}.sapl")
}

/// Says nothing to others.
fn reads(role: &str) -> String {
    DOCTORS_READ.replace("deny-unless-permit", "permit-overrides").replace("doctor", role)
}

fn start() -> TestServer {
    let directory = Directory::new();
    for number in 0..POLICIES {
        directory.write(&file(number), &policy(number, &format!("s{number}")));
    }
    directory.write("policies/doctors.xml", &reads("doctor"));
    TestServer::start_in(directory, SETTINGS).unwrap()
}

fn may_read(server: &TestServer, subject: &str) -> bool {
    let asked = format!(r#"{{"subject":"{subject}","action":"read","resource":"record"}}"#);
    match ask(server, "decide-once", &asked).json()["decision"].as_str() {
        Some("PERMIT") => true,
        Some("DENY") => false,
        other => panic!("{other:?}"),
    }
}

fn index(server: &TestServer) -> String {
    server.ready()["snapshot"]["index"].as_str().unwrap().to_owned()
}

#[test]
fn files_of_a_large_directory_are_changed_one_by_one() {
    let server = start();
    let directory = &server.directory;
    let answers = |subjects: &[&str]| subjects.iter().map(|it| may_read(&server, it)).collect::<Vec<_>>();
    assert_eq!(answers(&["s1", "s2", "s3", "s4", "changed"]), [true, true, true, true, false]);
    assert_eq!((server.decide("doctor"), server.decide("nurse")), ("Permit".into(), "Deny".into()));
    assert!(!index(&server).contains("since"), "{}", index(&server));

    directory.write(&file(1), &policy(1, "changed"));
    server.eventually("one is changed", |server| may_read(server, "changed"));
    assert!(!may_read(&server, "s1"));
    assert!(index(&server).contains("1 new and 1 gone since"), "{}", index(&server));

    directory.write("policies/nurses.xml", &reads("nurse"));
    server.eventually("another comes", |server| server.decide("nurse") == "Permit");
    assert_eq!(server.ready()["snapshot"]["documents"], POLICIES + 2);

    fs::remove_file(directory.path(&file(3))).unwrap();
    server.eventually("one goes", |server| !may_read(server, "s3"));

    let id = server.ready()["snapshot"]["id"].as_u64();
    fs::rename(directory.path(&file(2)), directory.path("policies/other.sapl")).unwrap();
    server.eventually("one is called otherwise", |server| server.ready()["snapshot"]["id"].as_u64() > id);
    assert_eq!(answers(&["s1", "s2", "s3", "s4", "changed"]), [false, true, false, true, true]);
    assert_eq!(server.ready()["snapshot"]["documents"], POLICIES + 1);
    assert!(index(&server).contains("since"), "{}", index(&server));

    server.eventually("all are built anew when nothing changes", |server| !index(server).contains("since"));
    assert_eq!(answers(&["s1", "s2", "s3", "s4", "changed"]), [false, true, false, true, true]);
    assert_eq!(server.decide("nurse"), "Permit");
    directory.write(&file(1), &policy(1, "s1"));
    server.eventually("it goes on", |server| may_read(server, "s1"));
}

#[test]
fn a_broken_file_keeps_the_others_from_changing_until_it_is_mended() {
    let server = start();
    server.directory.write(&file(4), "policy \"p0004\" permit subject ==");
    server.eventually("the state is stale", |server| server.ready()["status"] == "stale");
    assert!(server.ready()["problems"][0]["file"].as_str().unwrap().ends_with("p0004.sapl"));
    server.directory.write(&file(5), &policy(5, "changed"));
    let failed = "durward_policy_loads_total{result=\"failed\"}";
    let before = server.metric(failed);
    server.directory.write(&file(6), &policy(6, "changed, too"));
    server.eventually("it was looked at again", |server| server.metric(failed) > before);
    assert!(may_read(&server, "s4") && may_read(&server, "s5") && !may_read(&server, "changed"));
    server.directory.write(&file(4), &policy(4, "mended"));
    server.eventually("all are in force", |server| may_read(server, "mended"));
    assert!(may_read(&server, "changed") && may_read(&server, "changed, too"));
    assert!(!may_read(&server, "s4") && !may_read(&server, "s5") && !may_read(&server, "s6"));
    // Policies are in force a moment before that is said.
    server.eventually("the state is ready", |server| server.ready()["status"] == "ready");
    assert!(index(&server).contains("since"), "{}", index(&server));
}

#[test]
fn many_files_at_once_are_in_force_together() {
    let server = start();
    let directory = &server.directory;
    for number in 0..POLICIES {
        directory.write(&format!("next/p{number:04}.sapl"), &policy(number, &format!("new{number}")));
    }
    directory.write("next/nurses.xml", &reads("nurse"));
    fs::rename(directory.path("policies"), directory.path("before")).unwrap();
    fs::rename(directory.path("next"), directory.path("policies")).unwrap();
    server.eventually("the new ones are in force", |server| may_read(server, "new2099"));
    assert!(may_read(&server, "new0") && !may_read(&server, "s0") && !may_read(&server, "s2000"));
    assert_eq!((server.decide("doctor"), server.decide("nurse")), ("Deny".into(), "Permit".into()));
    assert_eq!(server.ready()["snapshot"]["documents"], POLICIES + 1);
    assert!(!index(&server).contains("since"), "{}", index(&server));
}
