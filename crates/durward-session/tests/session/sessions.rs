//! What holders and administrators do with sessions.

use std::time::Duration;

use durward_identity::protocol::{Mode, NodeSettings};
use durward_identity::session::{LimitPolicy, Purpose, Refusal, SessionId, SessionSettings};
use durward_identity::user::Account;
use durward_session::{Administrator, Counter, Failed, Refused, SecondStepPolicy, ServiceSettings};

use crate::support::{HOME, World, patient, user};

fn in_mode(mode: Mode) -> ServiceSettings {
    ServiceSettings { node: NodeSettings { mode, ..NodeSettings::default() }, ..patient() }
}

const MODES: [Mode; 4] = [Mode::None, Mode::BestEffort, Mode::AssuredWrite, Mode::AssuredRead];

#[tokio::test]
async fn a_logout_ends_the_session_in_every_mode() {
    for mode in MODES {
        let world = World::new(in_mode(mode)).await;
        let (anna, other) = (world.login("anna").await, world.login("anna").await);
        assert!(world.service.validate(&anna.token, Purpose::Use).await.is_ok(), "{mode:?}");
        assert_eq!(world.service.asks_store(), mode == Mode::AssuredRead);
        world.service.logout(&anna.token, None).await.unwrap();
        assert_eq!(
            world.service.validate(&anna.token, Purpose::Use).await,
            Err(Refusal::Revoked),
            "{mode:?}"
        );
        assert_eq!(world.service.logout(&anna.token, None).await, Err(Failed::Token(Refusal::Revoked)));
        assert!(world.service.validate(&other.token, Purpose::Use).await.is_ok(), "{mode:?}");
        world.running.stop().await;
    }
}

#[tokio::test]
async fn whoever_listens_for_a_session_hears_of_its_end_and_of_no_others() {
    let world = World::new(patient()).await;
    let (anna, other, root) =
        (world.login("anna").await, world.login("anna").await, world.login("root").await);
    let mut news = Vec::new();
    for granted in [&anna, &other, &root] {
        let who = world.service.validate(&granted.token, Purpose::Look).await.unwrap();
        news.push(world.service.news_of(&who));
    }
    let woken = || world.service.counters().get(Counter::ListenerWoken);
    world.service.logout(&anna.token, None).await.unwrap();
    assert!(news[0].next().await);
    assert_eq!(woken(), 1);
    world.service.logout_everywhere(&root.token, None).await.unwrap();
    assert!(news[2].next().await);
    assert_eq!(woken(), 2);
    drop(news);
    world.service.logout(&other.token, None).await.unwrap();
    assert_eq!(woken(), 2);
}

/// Policies look at properties and level: a decision that goes on is made anew when they are others.
#[tokio::test]
async fn whoever_listens_for_a_session_hears_that_it_was_changed() {
    for mode in MODES {
        let settings = ServiceSettings { settable_properties: vec!["theme".to_owned()], ..in_mode(mode) };
        let world = World::new(settings).await;
        let (anna, other) = (world.login("anna").await, world.login("anna").await);
        let who = world.service.validate(&anna.token, Purpose::Look).await.unwrap();
        let mut news = world.service.news_of(&who);
        let is_dark = async || {
            let (_, session) = world.service.session(&anna.token, Purpose::Look).await.unwrap();
            session.properties.iter().any(|property| property == ("theme", "dark"))
        };
        world.service.set_properties(&other.token, &[("theme", Some("light"))]).await.unwrap();
        assert_eq!(world.service.counters().get(Counter::ListenerWoken), 0, "{mode:?}: another session");
        world.service.set_properties(&anna.token, &[("theme", Some("dark"))]).await.unwrap();
        while !is_dark().await {
            assert!(news.next().await, "{mode:?}");
        }
        assert!(world.service.counters().get(Counter::ListenerWoken) > 0, "{mode:?}");
        world.running.stop().await;
    }
}

#[tokio::test]
async fn looking_at_a_session_does_not_keep_it_alive() {
    let session = SessionSettings { told_every: Duration::from_secs(1), ..SessionSettings::default() };
    let world = World::new(ServiceSettings { session, ..patient() }).await;
    let (looked_at, used) = (world.login("anna").await, world.login("anna").await);
    for _ in 0..2 {
        world.time.pass(Duration::from_secs(20 * 60));
        let _ = world.service.validate(&looked_at.token, Purpose::Look).await;
        assert!(world.service.validate(&used.token, Purpose::Use).await.is_ok());
    }
    assert!(world.service.validate(&looked_at.token, Purpose::Look).await.is_err());
}

#[tokio::test]
async fn refreshing_gives_another_token_for_the_same_session() {
    let world = World::new(patient()).await;
    let anna = world.login("anna").await;
    let again = world.service.refresh(&anna.token).await.unwrap();
    assert!(again.id == anna.id && again.token != anna.token);
    world.service.logout(&again.token, None).await.unwrap();
    assert!(world.service.validate(&anna.token, Purpose::Use).await.is_err());
}

#[tokio::test]
async fn properties_are_set_by_those_who_may() {
    let settings = ServiceSettings { settable_properties: vec!["theme".to_owned()], ..patient() };
    let world = World::new(settings).await;
    let anna = world.login("anna").await;
    world.service.set_properties(&anna.token, &[("theme", Some("dark"))]).await.unwrap();
    let forbidden = world.service.set_properties(&anna.token, &[("clearance", Some("top"))]).await;
    assert_eq!(forbidden, Err(Failed::Forbidden));
    let operator = Administrator::operator("test");
    let changes = [("clearance", Some("top")), ("theme", None)];
    world.service.set_properties_of(&operator, &user("anna"), anna.id, &changes).await.unwrap();
    let (_, session) = world.service.session(&anna.token, Purpose::Look).await.unwrap();
    assert_eq!(session.properties.iter().collect::<Vec<_>>(), [("clearance", "top")]);
    let too_long = "x".repeat(1 << 16);
    let refused = world.service.set_properties(&anna.token, &[("theme", Some(&too_long))]).await;
    assert!(matches!(refused, Err(Failed::Properties(_))));
}

/// Whoever has only their password would otherwise end everybody's sessions and forgive their own guesses.
#[tokio::test]
async fn an_administrator_who_has_a_second_step_must_have_taken_it() {
    let world = World::new(ServiceSettings { second_step: SecondStepPolicy::OnStepUp, ..patient() }).await;
    let administers = |account: &mut Account| account.groups = vec!["administrators".to_owned()];
    assert!(world.users.change(&user("berta"), administers).unwrap());
    let berta = world.login("berta").await;
    let refused = world.service.administrator(&berta.token).await;
    assert!(matches!(refused, Err(Failed::SecondStepNeeded)));
    let code = world.totp.code(world.time.now());
    let raised = world.service.step_up(&berta.token, &code, HOME).await.unwrap();
    world.service.administrator(&raised.token).await.unwrap();
    let before = world.service.administrator(&berta.token).await;
    assert!(matches!(before, Err(Failed::SecondStepNeeded)), "the token from before keeps its level");
}

#[tokio::test]
async fn administrators_end_what_others_may_not() {
    let world = World::new(patient()).await;
    let (anna, root) = (world.login("anna").await, world.login("root").await);
    assert!(matches!(world.service.administrator(&anna.token).await, Err(Failed::Forbidden)));
    let administrator = world.service.administrator(&root.token).await.unwrap();
    let listed = world.service.sessions_of(&administrator, &user("anna")).await.unwrap();
    assert_eq!(listed.iter().map(|session| session.id).collect::<Vec<_>>(), [anna.id]);
    assert_eq!(
        world.service.revoke(&administrator, &user("anna"), SessionId([9; 16])).await,
        Err(Failed::NoSession)
    );
    world.service.revoke(&administrator, &user("anna"), anna.id).await.unwrap();
    assert!(world.service.validate(&anna.token, Purpose::Use).await.is_err());
    let (first, second) = (world.login("anna").await, world.login("anna").await);
    world.service.revoke_user(&administrator, &user("anna")).await.unwrap();
    for token in [first.token, second.token] {
        assert!(world.service.validate(&token, Purpose::Use).await.is_err());
    }
    let anna = world.login("anna").await;
    assert!(world.service.validate(&anna.token, Purpose::Use).await.is_ok(), "a login after that counts");
    world.service.revoke_all(&administrator).await.unwrap();
    for token in [anna.token, root.token] {
        assert!(world.service.validate(&token, Purpose::Use).await.is_err());
    }
}

#[tokio::test]
async fn holders_end_their_other_sessions() {
    let world = World::new(patient()).await;
    let (first, second, root) =
        (world.login("anna").await, world.login("anna").await, world.login("root").await);
    let (_, own) = world.service.own_sessions(&first.token).await.unwrap();
    assert_eq!(own.len(), 2);
    assert_eq!(world.service.logout_other(&first.token, root.id, None).await, Err(Failed::NoSession));
    world.service.logout_other(&first.token, second.id, None).await.unwrap();
    assert!(world.service.validate(&second.token, Purpose::Use).await.is_err());
    world.service.logout_everywhere(&first.token, None).await.unwrap();
    assert!(world.service.validate(&first.token, Purpose::Use).await.is_err());
    assert!(world.service.validate(&root.token, Purpose::Use).await.is_ok());
}

#[tokio::test]
async fn tokens_survive_the_rotation_of_keys() {
    let world = World::new(patient()).await;
    let before = world.login("anna").await;
    world.service.rotate_keys(&Administrator::operator("test")).await.unwrap();
    world.time.pass(Duration::from_secs(11));
    let after = world.login("anna").await;
    for token in [before.token, after.token] {
        assert!(world.service.validate(&token, Purpose::Use).await.is_ok());
    }
}

#[tokio::test]
async fn a_user_has_no_more_sessions_than_he_may() {
    let session = SessionSettings {
        per_user_max: Some(2),
        on_limit: LimitPolicy::Refuse,
        ..SessionSettings::default()
    };
    let world = World::new(ServiceSettings { session, ..patient() }).await;
    world.login("anna").await;
    world.login("anna").await;
    assert_eq!(world.attempt("anna", "secret").await, Err(Refused::UserFull));
}

#[tokio::test]
async fn tokens_that_are_none_are_refused() {
    let world = World::new(patient()).await;
    let token = world.login("anna").await.token;
    for bad in ["", "x", &token[1..], &format!("{token}A"), &"A".repeat(1 << 20), "\u{0}", "ü"] {
        assert!(world.service.validate(bad, Purpose::Use).await.is_err(), "{bad:.20}");
    }
}

#[tokio::test]
async fn a_node_that_was_stopped_says_so_and_does_not_hang() {
    let world = World::new(in_mode(Mode::AssuredRead)).await;
    let token = world.login("anna").await.token;
    world.running.stop().await;
    assert_eq!(world.service.validate(&token, Purpose::Use).await, Err(Refusal::Unavailable));
    assert!(matches!(
        world
            .service
            .login(durward_session::LoginRequest::new("/", "anna", "secret", crate::support::HOME))
            .await,
        Err(Refused::Unavailable(_))
    ));
}
