//! The record of what happened.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use durward_identity::audit::ChainVerifier;
use durward_identity::session::Properties;
use durward_session::{
    Administrator, AuditSettings, AuditSync, Counter, LoginRequest, Refused, ServiceSettings,
};

use crate::support::{Folder, HOME, World, patient, user};

fn settings(path: &Path, file_bytes_max: u64, files_max: usize) -> AuditSettings {
    AuditSettings { path: path.to_owned(), file_bytes_max, files_max, sync: AuditSync::Always }
}

async fn node(settings: AuditSettings) -> World {
    World::built(patient(), |builder| builder.audit(settings)).await
}

/// All files of the record, in its order.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    // `-` comes before `.`, so that the file that is written to comes last.
    files.sort();
    files
}

/// The lines, after their chain was found to hold.
fn lines(path: &Path) -> Vec<String> {
    let mut verifier = ChainVerifier::new(None);
    let mut lines = Vec::new();
    for file in files(path) {
        verifier.file(BufReader::new(File::open(&file).unwrap())).unwrap();
        lines.extend(fs::read_to_string(file).unwrap().lines().map(str::to_owned));
    }
    verifier.end().unwrap();
    lines
}

/// Once a second means: also the lines of the last second before a silence, and those before the end.
#[tokio::test]
async fn the_disk_is_waited_for_also_when_no_other_line_follows() {
    let folder = Folder::new("audit-silence");
    let settings = AuditSettings { sync: AuditSync::EverySecond, ..settings(folder.path(), 1 << 20, 0) };
    let world = node(settings).await;
    let synced = || world.service.counters().get(Counter::AuditSynced);
    let counters = world.service.counters();
    for _ in 0..3 {
        let before = synced();
        world.login("anna").await;
        while synced() == before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let before = counters.get(Counter::AuditSynced);
    let last = world.login("anna").await;
    let service = world.service.clone();
    world.running.stop().await;
    assert!(service.counters().get(Counter::AuditSynced) > before, "the end waits for the disk");
    assert!(lines(folder.path()).last().unwrap().contains(&last.id.to_string()));
}

#[tokio::test]
async fn a_clean_stop_leaves_every_line_whatever_the_setting() {
    for (name, sync) in [("never", AuditSync::Never), ("second", AuditSync::EverySecond)] {
        let folder = Folder::new(&format!("audit-stop-{name}"));
        let settings = AuditSettings { sync, ..settings(folder.path(), 1 << 20, 0) };
        let world = node(settings).await;
        for _ in 0..100 {
            let _ = world.attempt("anna", "other").await;
        }
        world.running.stop().await;
        let failed = lines(folder.path()).iter().filter(|line| line.contains("login-failed")).count();
        assert_eq!(failed, 100);
    }
}

#[tokio::test]
async fn every_attempt_and_every_end_is_noted_and_no_secret_is() {
    let folder = Folder::new("audit");
    let world = node(settings(folder.path(), 1 << 20, 0)).await;
    let anna = world.login("anna").await;
    let _ = world.attempt("anna", "hunter2").await;
    let _ = world.attempt("nobody\n{\"number\":1}", "hunter2").await;
    let operator = Administrator::operator("the test");
    let changes = [("desk", Some("hunter2"))];
    world.service.set_properties_of(&operator, &user("anna"), anna.id, &changes).await.unwrap();
    world.service.logout(&anna.token, None).await.unwrap();
    world.service.revoke_user(&operator, &user("anna")).await.unwrap();
    world.running.stop().await;
    let text = lines(folder.path()).join("\n");
    for kind in ["started", "login", "login-failed", "user-changed", "logout", "revoked"] {
        assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{kind}: {text}");
    }
    for there in [
        "wrong password",
        "unknown user",
        "properties of the session: desk",
        "192.0.2.7",
        "the test",
        &anna.id.to_string(),
    ] {
        assert!(text.contains(there), "{there}: {text}");
    }
    for secret in ["hunter2", &anna.token] {
        assert!(!text.contains(secret), "{text}");
    }
}

/// How often something is in the record: by its lines, and by what they say that there was more.
fn times(lines: &[String], kind: &str) -> u64 {
    let of_kind = lines.iter().filter(|line| line.contains(&format!("\"kind\":\"{kind}\"")));
    let of_line = |line: &String| match line.split_once("\"more\":") {
        None => 1,
        Some((_, more)) => more.trim_end_matches('}').parse::<u64>().unwrap(),
    };
    of_kind.map(of_line).sum()
}

/// Nobody needs a password to be rejected any number of times: that must neither fill the disk nor push out what was there.
#[tokio::test]
async fn those_who_are_turned_away_are_few_lines_and_all_are_counted() {
    let folder = Folder::new("audit-flood");
    let settings = settings(folder.path(), 1 << 20, 0);
    let world = World::built(ServiceSettings::default(), |builder| builder.audit(settings)).await;
    let (mut failed, mut delayed) = (0, 0);
    for _ in 0..500 {
        match world.attempt("anna", "other").await {
            Err(Refused::Wrong) => failed += 1,
            Err(Refused::Delayed { .. }) => delayed += 1,
            other => panic!("{other:?}"),
        }
    }
    for number in 0..300 {
        let realm = format!("/nowhere{number}");
        let login = world.service.login(LoginRequest::new(&realm, "anna", "other", HOME)).await;
        assert_eq!(login, Err(Refused::UnknownRealm));
        let answer = world.service.answer_challenge("none", "1", HOME, Properties::new()).await;
        assert_eq!(answer, Err(Refused::Wrong));
        assert_eq!(world.attempt("\0", "other").await, Err(Refused::Wrong));
    }
    world.running.stop().await;
    let lines = lines(folder.path());
    assert_eq!(times(&lines, "login-delayed"), delayed);
    assert_eq!(times(&lines, "login-failed"), failed + 900);
    let looked_at = lines.iter().filter(|line| line.contains("wrong password")).count();
    assert_eq!(looked_at as u64, failed, "each is a line");
    // A minute or two may be over in between.
    assert!(lines.len() - looked_at < 200, "{} lines", lines.len());
}

#[tokio::test]
async fn the_chain_goes_on_through_files_and_restarts() {
    let folder = Folder::new("chain");
    for _ in 0..3 {
        let world = node(settings(folder.path(), 2_000, 0)).await;
        for _ in 0..20 {
            let _ = world.attempt("anna", "other").await;
        }
        world.running.stop().await;
    }
    assert!(files(folder.path()).len() > 3);
    assert_eq!(lines(folder.path()).len(), 3 * 21);
}

#[tokio::test]
async fn old_files_go_and_what_is_left_still_holds() {
    let folder = Folder::new("old");
    let world = node(settings(folder.path(), 1_000, 2)).await;
    for _ in 0..60 {
        let _ = world.attempt("anna", "other").await;
    }
    world.running.stop().await;
    assert_eq!(files(folder.path()).len(), 3);
    assert!(lines(folder.path()).len() < 60);
}

#[tokio::test]
async fn a_line_that_a_crash_has_torn_is_cut_off() {
    let folder = Folder::new("torn-line");
    let world = node(settings(folder.path(), 1 << 20, 0)).await;
    world.login("anna").await;
    world.running.stop().await;
    let file = folder.path().join("audit.jsonl");
    OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"number\":3,\"at\":17").unwrap();
    let world = node(settings(folder.path(), 1 << 20, 0)).await;
    world.running.stop().await;
    assert_eq!(lines(folder.path()).len(), 3);
}
