//! Policies that change while they serve.

use std::fs;
use std::time::Duration;

use durward_server::StartError;

use crate::support::{DOCTORS_READ, Directory, TestServer, nurses_read, request_xml};

/// What a change may take on an idle machine; the bound that is tested is looser, because machines are not.
const IN_FORCE_MAX: Duration = Duration::from_secs(20);

#[test]
fn a_changed_file_is_in_force_within_a_moment() {
    let server = TestServer::start("");
    assert_eq!((server.decide("doctor"), server.decide("nurse")), ("Permit".into(), "Deny".into()));
    server.directory.write("policies/doctors.xml", &nurses_read());
    let time = server.eventually("nurses read", |server| server.decide("nurse") == "Permit");
    assert!(time < IN_FORCE_MAX, "{time:?}");
    assert_eq!(server.decide("doctor"), "Deny");
    assert_eq!(server.ready()["snapshot"]["id"], 2);
    assert_eq!(server.metric("durward_policy_loads_total{result=\"ok\"}"), 2.0);
}

#[test]
fn a_file_renamed_into_place_is_in_force_within_a_moment() {
    let server = TestServer::start("");
    server.directory.write("policies/.doctors.xml.tmp", &nurses_read());
    fs::rename(
        server.directory.path("policies/.doctors.xml.tmp"),
        server.directory.path("policies/doctors.xml"),
    )
    .unwrap();
    let time = server.eventually("nurses read", |server| server.decide("nurse") == "Permit");
    assert!(time < IN_FORCE_MAX, "{time:?}");
}

#[test]
fn files_added_and_deleted_count() {
    let server = TestServer::start("policies.combining = 'permit-overrides'");
    server.directory.write("policies/ward/nurses.xml", &nurses_read());
    server.eventually("nurses read too", |server| server.decide("nurse") == "Permit");
    assert_eq!(server.decide("doctor"), "Permit");
    fs::remove_file(server.directory.path("policies/ward/nurses.xml")).unwrap();
    server.eventually("nurses do not read", |server| server.decide("nurse") == "Deny");
    assert_eq!(server.decide("doctor"), "Permit");
}

#[test]
fn a_directory_replaced_as_a_whole_is_in_force_and_watched() {
    let server = TestServer::start("");
    let directory = &server.directory;
    directory.write("next/nurses.xml", &nurses_read());
    fs::rename(directory.path("policies"), directory.path("before")).unwrap();
    fs::rename(directory.path("next"), directory.path("policies")).unwrap();
    server.eventually("nurses read", |server| server.decide("nurse") == "Permit");
    directory.write("policies/nurses.xml", DOCTORS_READ);
    let time = server.eventually("doctors read", |server| server.decide("doctor") == "Permit");
    assert!(time < IN_FORCE_MAX, "{time:?}");
}

#[cfg(unix)]
#[test]
fn a_directory_reached_through_a_link_that_moves_is_watched() {
    use std::os::unix::fs::symlink;
    let directory = Directory::new();
    directory.write("one/a.xml", DOCTORS_READ);
    directory.write("two/a.xml", &nurses_read());
    symlink("one", directory.path("policies")).unwrap();
    let server = TestServer::start_in(directory, "").unwrap();
    assert_eq!(server.decide("doctor"), "Permit");
    symlink("two", server.directory.path("link")).unwrap();
    fs::rename(server.directory.path("link"), server.directory.path("policies")).unwrap();
    server.eventually("nurses read", |server| server.decide("nurse") == "Permit");
}

#[test]
fn broken_policies_leave_the_old_ones_in_force_and_are_told_everywhere() {
    let server = TestServer::start("");
    server.directory.write("policies/doctors.xml", &DOCTORS_READ.replace("<Rule RuleId", "<Rul RuleId"));
    server.eventually("the state is stale", |server| server.ready()["status"] == "stale");
    assert_eq!((server.decide("doctor"), server.decide("nurse")), ("Permit".into(), "Deny".into()));
    let health = server.ready();
    let problem = &health["problems"][0];
    assert!(problem["file"].as_str().unwrap().ends_with("doctors.xml"), "{health}");
    assert!(problem["line"].as_u64().unwrap() > 1 && problem["column"].is_u64(), "{health}");
    assert!(!problem["reason"].as_str().unwrap().is_empty(), "{health}");
    assert_eq!(health["snapshot"]["id"], 1);
    assert_eq!(server.get("/health/ready").status, 200);
    assert_eq!(server.metric("durward_snapshot_stale"), 1.0);
    assert!(server.metric("durward_policy_loads_total{result=\"failed\"}") >= 1.0);
    let page = server.send("GET", "/", &[("Accept", "text/html")], b"").text();
    assert!(page.contains("doctors.xml:") && page.contains("newest"), "{page}");

    server.directory.write("policies/doctors.xml", &nurses_read());
    server.eventually("it has recovered", |server| server.ready()["status"] == "ready");
    assert_eq!(server.decide("nurse"), "Permit");
    assert_eq!(server.metric("durward_snapshot_stale"), 0.0);
    assert!(server.ready()["problems"].is_null());
}

#[test]
fn going_back_to_what_is_in_force_clears_the_problem() {
    let server = TestServer::start("");
    server.directory.write("policies/doctors.xml", "<Policy");
    server.eventually("the state is stale", |server| server.ready()["status"] == "stale");
    server.directory.write("policies/doctors.xml", DOCTORS_READ);
    server.eventually("it has recovered", |server| server.ready()["status"] == "ready");
    assert_eq!(server.ready()["snapshot"]["id"], 1);
}

#[test]
fn policies_that_vanish_stay_in_force_and_are_missed() {
    let server = TestServer::start("");
    fs::remove_dir_all(server.directory.path("policies")).unwrap();
    server.eventually("the state is stale", |server| server.ready()["status"] == "stale");
    assert_eq!(server.decide("doctor"), "Permit");
    server.directory.write("policies/nurses.xml", &nurses_read());
    server.eventually("nurses read", |server| server.decide("nurse") == "Permit");
}

#[test]
fn what_is_not_watched_does_not_change() {
    let server = TestServer::start("policies.watch = false");
    server.directory.write("policies/doctors.xml", &nurses_read());
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(server.decide("doctor"), "Permit");
}

#[test]
fn broken_policies_are_no_start() {
    let directory = Directory::new();
    directory.write("policies/a.xml", "<Policy");
    let error = TestServer::start_in(directory, "").err().unwrap();
    assert!(matches!(error, StartError::Policies(_)), "{error}");
    assert!(error.to_string().contains("a.xml:1:"), "{error}");
    let error = TestServer::start_in(Directory::new(), "").err().unwrap();
    assert!(matches!(error, StartError::Read(_)), "{error}");
}

#[test]
fn a_server_told_to_wait_is_not_ready_until_there_are_policies() {
    let server = TestServer::start_in(Directory::new(), "policies.wait = true").unwrap();
    assert_eq!(server.get("/health/live").status, 200);
    assert_eq!(server.get("/health/ready").status, 503);
    assert_eq!(server.ready()["status"], "waiting");
    let reply = server.post(&[("Content-Type", "application/json")], "{}");
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
    server.directory.write("policies/doctors.xml", DOCTORS_READ);
    server.eventually("it is ready", |server| server.get("/health/ready").status == 200);
    assert_eq!(server.decide("doctor"), "Permit");
}

/// Opening a pipe waits for somebody to write into it: a thread that did would never read policies again, and everything
/// would go on saying that the newest were in force.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_told_and_does_not_end_the_watch() {
    use std::os::unix::fs::symlink;
    let server = TestServer::start("");
    let directory = &server.directory;
    let stale = |server: &TestServer| server.ready()["status"] == "stale";
    let ready = |server: &TestServer| server.ready()["status"] == "ready";
    let make_pipe = |name: &str| {
        assert!(std::process::Command::new("mkfifo").arg(directory.path(name)).status().unwrap().success());
    };

    make_pipe("policies/pipe.xml");
    server.eventually("a pipe is a problem", stale);
    assert_eq!(server.ready()["problems"][0]["reason"], "neither a file nor a directory");
    fs::remove_file(directory.path("policies/pipe.xml")).unwrap();
    server.eventually("it is gone", ready);

    symlink("/dev/zero", directory.path("policies/zero.xml")).unwrap();
    server.eventually("a device is a problem", stale);
    fs::remove_file(directory.path("policies/zero.xml")).unwrap();
    server.eventually("it is gone", ready);

    fs::rename(directory.path("policies"), directory.path("before")).unwrap();
    make_pipe("policies");
    server.eventually("so is a pipe in the place of the directory", |server| {
        server.ready()["problems"][0]["reason"] == "neither a file nor a directory"
    });
    fs::remove_file(directory.path("policies")).unwrap();
    directory.write("policies/nurses.xml", &nurses_read());
    server.eventually("nurses read", |server| server.decide("nurse") == "Permit");
}

#[test]
fn a_file_without_an_end_is_not_read_to_it() {
    let server = TestServer::start("");
    let path = server.directory.path("policies/large.xml");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    server.eventually("it is too large", |server| server.ready()["status"] == "stale");
    let reason = server.ready()["problems"][0]["reason"].to_string();
    assert!(reason.contains("more than 67108864 bytes"), "{reason}");
    assert_eq!(server.decide("doctor"), "Permit");
}

#[test]
fn every_request_is_answered_while_policies_change() {
    let server = TestServer::start("policies.poll_ms = 20\npolicies.settle_ms = 1");
    let mut connection = server.connect();
    let mut answers = (0, 0);
    for round in 0..40 {
        let text = if round % 2 == 0 { nurses_read() } else { DOCTORS_READ.into() };
        server.directory.write("policies/.next", &text);
        fs::rename(server.directory.path("policies/.next"), server.directory.path("policies/doctors.xml"))
            .unwrap();
        for _ in 0..50 {
            connection.ask(&request_xml("doctor"));
            let (status, text) = connection.answer();
            assert_eq!(status, 200);
            match (text.contains("Permit"), text.contains("Deny")) {
                (true, false) => answers.0 += 1,
                (false, true) => answers.1 += 1,
                _ => panic!("{text}"),
            }
        }
    }
    assert!(answers.0 > 0 && answers.1 > 0, "{answers:?}");
    assert_eq!(server.metric("durward_policy_loads_total{result=\"failed\"}"), 0.0);
}

/// `blocked` without quotation marks is undefined, and the policy permits the blocked: SAPL's meaning stays, and is told.
#[test]
fn names_that_mean_nothing_are_told_and_change_no_decision() {
    let server = TestServer::start("policies.poll_ms = 20\npolicies.settle_ms = 1");
    assert_eq!(server.metric("durward_policy_warnings"), 0.0);
    assert!(server.ready()["policy_warnings"].is_null());
    let odd = "policy \"members\"\npermit\n    subject.status != blocked;\n    <hr.department> == \"x\";\n";
    server.directory.write("policies/members.sapl", odd);
    server.eventually("it is told", |server| server.metric("durward_policy_warnings") == 2.0);
    let health = server.ready();
    assert_eq!(health["status"], "ready");
    let (count, first) = (&health["policy_warnings"]["count"], &health["policy_warnings"]["list"][0]);
    assert_eq!(
        (count, &first["code"], &first["line"], &first["column"]),
        (&2.into(), &"unknown-variable".into(), &3.into(), &23.into()),
        "{health}"
    );
    assert!(first["file"].as_str().unwrap().ends_with("members.sapl"), "{health}");
    assert_eq!(first["help"], "for the text, write \"blocked\"");
    server.directory.write(
        "policies/members.sapl",
        &odd.replace("blocked", "\"blocked\"").replace("hr.department", "time.now"),
    );
    server.eventually("it is mended", |server| server.metric("durward_policy_warnings") == 0.0);
    assert!(server.ready()["policy_warnings"].is_null());

    let unchecked =
        TestServer::start("policies.check = false\npolicies.poll_ms = 20\npolicies.settle_ms = 1");
    unchecked.directory.write("policies/members.sapl", odd);
    unchecked.eventually("it is in force", |server| server.ready()["snapshot"]["documents"] == 2);
    assert_eq!(unchecked.metric("durward_policy_warnings"), 0.0);
}
