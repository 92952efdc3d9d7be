//! Sessions that survive the end of the process.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use durward_identity::protocol::{Mode, NodeSettings};
use durward_identity::session::Purpose;
use durward_session::store::journal::Journal;
use durward_session::{Administrator, ServiceSettings};

use crate::support::{Folder, World, patient, user};

const KEPT: [Mode; 3] = [Mode::BestEffort, Mode::AssuredWrite, Mode::AssuredRead];

async fn node(mode: Mode, file: &Path, replaced_from: u64) -> World {
    let settings = ServiceSettings { node: NodeSettings { mode, ..NodeSettings::default() }, ..patient() };
    let store = Journal::open(file).unwrap().replaced_from(replaced_from);
    World::built(settings, |builder| builder.cluster_secret([5; 32]).store(store)).await
}

async fn lives(world: &World, token: &str) -> bool {
    world.service.validate(token, Purpose::Use).await.is_ok()
}

#[tokio::test]
async fn sessions_and_logouts_survive_a_restart_in_every_mode_that_keeps_them() {
    for mode in KEPT {
        let folder = Folder::new("restart");
        let world = node(mode, &folder.path().join("sessions"), u64::MAX).await;
        let (kept, gone, all) =
            (world.login("anna").await, world.login("anna").await, world.login("root").await);
        let operator = Administrator::operator("test");
        let changes = [("clearance", Some("top"))];
        world.service.set_properties_of(&operator, &user("anna"), kept.id, &changes).await.unwrap();
        world.service.logout(&gone.token, None).await.unwrap();
        world.service.revoke_user(&operator, &user("root")).await.unwrap();
        world.running.stop().await;

        let world = node(mode, &folder.path().join("sessions"), u64::MAX).await;
        assert!(lives(&world, &kept.token).await, "{mode:?}");
        assert!(!lives(&world, &gone.token).await && !lives(&world, &all.token).await, "{mode:?}");
        let (_, session) = world.service.session(&kept.token, Purpose::Look).await.unwrap();
        assert_eq!(session.properties.get("clearance"), Some("top"));
        world.running.stop().await;
    }
}

#[tokio::test]
async fn what_a_crash_has_torn_is_cut_off_and_the_rest_is_there() {
    let folder = Folder::new("torn");
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), u64::MAX).await;
    let kept = world.login("anna").await;
    world.running.stop().await;
    let mut file = OpenOptions::new().append(true).open(folder.path().join("sessions")).unwrap();
    file.write_all(&[0, 0, 0, 90, 1, 2, 3]).unwrap();
    drop(file);
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), u64::MAX).await;
    assert!(lives(&world, &kept.token).await);
    let after = world.login("anna").await;
    world.running.stop().await;
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), u64::MAX).await;
    assert!(lives(&world, &kept.token).await && lives(&world, &after.token).await);
}

#[tokio::test]
async fn the_file_stays_short_however_often_users_come_and_go() {
    let folder = Folder::new("short");
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), 20_000).await;
    let kept = world.login("anna").await;
    let mut ended = Vec::new();
    let mut longest = 0;
    for _ in 0..400 {
        let session = world.login("root").await;
        world.service.logout(&session.token, None).await.unwrap();
        ended.push(session.token);
        longest = longest.max(std::fs::metadata(folder.path().join("sessions")).unwrap().len());
    }
    // A login takes some 90 bytes, a logout some 60, a revocation that is remembered 24.
    assert!(longest < 60_000, "{longest}");
    world.running.stop().await;
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), 20_000).await;
    assert!(lives(&world, &kept.token).await);
    for token in ended {
        assert!(!lives(&world, &token).await);
    }
}

#[tokio::test]
async fn what_happens_while_the_file_is_replaced_is_in_it_afterwards() {
    let folder = Folder::new("meanwhile");
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), 2_000).await;
    let work = |name: &'static str| {
        let service = world.service.clone();
        tokio::spawn(async move {
            let (mut kept, mut ended) = (Vec::new(), Vec::new());
            for _ in 0..60 {
                for is_kept in [true, false] {
                    let request =
                        durward_session::LoginRequest::new("/", name, "secret", crate::support::HOME);
                    let session = crate::support::granted(service.login(request).await);
                    if is_kept {
                        kept.push(session.token);
                    } else {
                        service.logout(&session.token, None).await.unwrap();
                        ended.push(session.token);
                    }
                }
            }
            (kept, ended)
        })
    };
    let both = [work("anna"), work("root")];
    let (mut kept, mut ended) = (Vec::new(), Vec::new());
    for one in both {
        let (more, gone) = one.await.unwrap();
        kept.extend(more);
        ended.extend(gone);
    }
    world.running.stop().await;
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), 2_000).await;
    for token in kept {
        assert!(lives(&world, &token).await);
    }
    for token in ended {
        assert!(!lives(&world, &token).await);
    }
}

#[tokio::test]
async fn many_logins_share_a_wait_for_the_disk_and_all_are_there_afterwards() {
    let folder = Folder::new("many");
    let world = node(Mode::AssuredWrite, &folder.path().join("sessions"), u64::MAX).await;
    let logins: Vec<_> = (0..200)
        .map(|_| {
            let service = world.service.clone();
            let request = durward_session::LoginRequest::new("/", "anna", "secret", crate::support::HOME);
            tokio::spawn(async move { service.login(request).await })
        })
        .collect();
    let mut tokens = Vec::new();
    for login in logins {
        tokens.push(crate::support::granted(login.await.unwrap()).token);
    }
    world.running.stop().await;
    let world = node(Mode::AssuredRead, &folder.path().join("sessions"), u64::MAX).await;
    for token in tokens {
        assert!(lives(&world, &token).await);
    }
}

#[test]
fn a_file_that_is_none_of_these_is_an_error() {
    let folder = Folder::new("none");
    std::fs::write(folder.path().join("sessions"), "{\"not\": \"a journal\"}").unwrap();
    assert!(Journal::open(&folder.path().join("sessions")).is_err());
    let users = folder.path().join("users");
    let (mut journal, _) = durward_identity::user::Journal::open(&users).unwrap();
    journal.append(&[b"{\"put\":{}}"]).unwrap();
    drop(journal);
    let error = Journal::open(&users).unwrap_err().to_string();
    assert!(error.contains("record 1"), "{error}");
}
