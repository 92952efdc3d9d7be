//! Tokens and sessions of one node.

use std::time::Duration;

use durward_identity::Moment;
use durward_identity::protocol::{AskId, AskOutcome, NodeEvent};
use durward_identity::session::{
    Level, LimitPolicy, Properties, Refusal, Scratch, SessionChange, SessionLimitReached, SessionSettings,
    TOKEN_LENGTH_MAX,
};

use crate::support::{Single, user};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_token_says_whose_session_it_is_until_the_logout() {
    let mut single = Single::new(SessionSettings::default());
    let (id, token) = single.login("anna");
    let (_, other) = single.login("anna");
    assert_eq!(single.validate(&token), Ok("anna".to_owned()));
    single.logout("anna", id);
    assert_eq!(single.validate(&token), Err(Refusal::Revoked));
    assert_eq!(single.validate(&other), Ok("anna".to_owned()));
    assert_eq!((single.sessions.live_count(), single.sessions.revoked_count()), (1, 1));
}

#[test]
fn what_is_no_token_of_this_cluster_is_refused() {
    let mut single = Single::new(SessionSettings::default());
    let (_, token) = single.login("anna");
    let (_, of_other_cluster) = Single::new(SessionSettings::default()).login("anna");
    assert_eq!(single.validate(&of_other_cluster), Err(Refusal::UnknownKey));
    for length in 0..token.len() {
        assert!(single.validate(&token[..length]).is_err(), "{length}");
    }
    for text in ["", "A", "AAAA", "*", "ä", &"A".repeat(TOKEN_LENGTH_MAX), &"A".repeat(1 << 20)] {
        assert!(single.validate(text).is_err());
    }
    assert!(single.validate(&format!("{token}A")).is_err());
    assert!(single.validate(&format!(" {token}")).is_err());
}

/// Whoever changes any character, or puts two tokens together, has no token.
#[test]
fn a_changed_or_swapped_token_is_refused() {
    let mut single = Single::new(SessionSettings::default());
    let (_, token) = single.login("anna");
    let (_, other) = single.login("otto");
    for at in 0..token.len() {
        let letter = if token.as_bytes()[at] == b'A' { "B" } else { "A" };
        let changed = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
        // The last character may hold bits that mean nothing; they must be zero all the same.
        assert!(single.validate(&changed).is_err(), "{at}");
        let swapped = format!("{}{}", &token[..at], &other[at..]);
        // Letters that both tokens share, as the first and at times the last ones, change nothing.
        let is_a_token = swapped == token || swapped == other;
        assert_eq!(single.validate(&swapped).is_ok(), is_a_token, "{at}");
    }
}

#[test]
fn sessions_end_when_they_lie_unused_and_when_their_time_is_over() {
    let mut single = Single::new(SessionSettings::default());
    let (_, used) = single.login("anna");
    let (_, unused) = single.login("otto");
    for _ in 0..5 {
        single.pass(MINUTE * 20);
        assert!(single.validate(&used).is_ok());
    }
    assert_eq!(single.validate(&unused), Err(Refusal::Idle));
    assert_eq!(single.sessions.live_count(), 1, "swept");
    single.pass(MINUTE * 20);
    assert_eq!(single.validate(&used), Err(Refusal::Expired));
}

#[test]
fn a_token_from_the_future_is_refused() {
    let mut single = Single::new(SessionSettings::default());
    let (_, token) = single.login("anna");
    let mut scratch = Scratch::new();
    let mut at = |ms: u64| {
        let moment = Moment::from_ms(single.now.ms() - ms);
        single.sessions.validate(moment, &token, &mut scratch).map(|_| ())
    };
    assert_eq!(at(30_000), Ok(()), "clocks may differ");
    assert_eq!(at(600_000), Err(Refusal::Future));
}

#[test]
fn all_sessions_of_a_user_or_of_everybody_end_and_new_ones_live() {
    let mut single = Single::new(SessionSettings::default());
    let tokens: Vec<String> = (0..10).map(|_| single.login("anna").1).collect();
    let (_, of_otto) = single.login("otto");
    assert_eq!(single.answer(NodeEvent::RevokeUser { ask: AskId(1), user: user("anna") }), AskOutcome::Done);
    let (_, new) = single.login("anna");
    assert!(tokens.iter().all(|token| single.validate(token) == Err(Refusal::Revoked)));
    assert!(single.validate(&of_otto).is_ok() && single.validate(&new).is_ok());
    assert_eq!(single.sessions.list(&user("anna")).len(), 1);
    assert_eq!(single.answer(NodeEvent::RevokeAll { ask: AskId(1) }), AskOutcome::Done);
    let (_, newest) = single.login("anna");
    assert_eq!(single.validate(&of_otto), Err(Refusal::Revoked));
    assert_eq!(single.validate(&new), Err(Refusal::Revoked));
    assert!(single.validate(&newest).is_ok());
}

#[test]
fn revocations_are_forgotten_when_their_sessions_would_have_ended() {
    let mut single = Single::new(SessionSettings::default());
    for number in 0..100 {
        let (id, _) = single.login(&format!("user{number}"));
        single.logout(&format!("user{number}"), id);
    }
    single.answer(NodeEvent::RevokeUser { ask: AskId(1), user: user("anna") });
    assert_eq!(single.sessions.revoked_count(), 101);
    single.pass(MINUTE * 130);
    assert_eq!((single.sessions.live_count(), single.sessions.revoked_count()), (0, 0));
}

#[test]
fn a_user_has_as_many_sessions_as_he_may() {
    let limited =
        |on_limit| SessionSettings { per_user_max: Some(3), on_limit, ..SessionSettings::default() };
    let mut single = Single::new(limited(LimitPolicy::DropOldest));
    let tokens: Vec<String> = (0..5).map(|_| single.login("anna").1).collect();
    let live: Vec<bool> = tokens.iter().map(|token| single.validate(token).is_ok()).collect();
    assert_eq!(live, [false, false, true, true, true]);

    let mut single = Single::new(limited(LimitPolicy::Refuse));
    (0..3).for_each(|_| drop(single.login("anna")));
    let (level, properties) = (Level(0), Properties::new());
    let fourth = single.answer(NodeEvent::Login { ask: AskId(1), user: user("anna"), level, properties });
    assert_eq!(fourth, AskOutcome::Full(SessionLimitReached::User));
    single.login("otto");
}

#[test]
fn a_node_that_is_full_takes_no_more_logins_and_goes_on_validating() {
    let mut single = Single::new(SessionSettings { sessions_max: 10, ..SessionSettings::default() });
    let tokens: Vec<String> = (0..10).map(|number| single.login(&format!("user{number}")).1).collect();
    let (level, properties) = (Level(0), Properties::new());
    let one_more = single.answer(NodeEvent::Login { ask: AskId(1), user: user("anna"), level, properties });
    assert_eq!(one_more, AskOutcome::Full(SessionLimitReached::Node));
    assert!(tokens.iter().all(|token| single.validate(token).is_ok()));
}

/// The token from before keeps its level: who has stolen it gains nothing by the step that its owner took.
#[test]
fn a_step_up_gives_another_token_and_leaves_the_old_one_as_it_was() {
    let mut single = Single::new(SessionSettings::default());
    let (id, old) = single.login("anna");
    let change = |level, name: &str, value: Option<&str>| NodeEvent::Change {
        ask: AskId(1),
        user: user("anna"),
        id,
        shown: Level(0),
        change: SessionChange { level: Level(level), properties: vec![(name.into(), value.map(Into::into))] },
    };
    let AskOutcome::Token { token, .. } = single.answer(change(2, "color", Some("blue"))) else { panic!() };
    let mut scratch = Scratch::new();
    assert_eq!(single.sessions.validate(single.now, &token, &mut scratch).unwrap().level, Level(2));
    assert_eq!(single.sessions.validate(single.now, &old, &mut scratch).unwrap().level, Level(0));
    let listed = single.sessions.get(&user("anna"), id).unwrap();
    assert_eq!((listed.level, listed.properties.get("color")), (Level(2), Some("blue")));
    // Nor by having another token made of the old one.
    let refresh = NodeEvent::Refresh { ask: AskId(1), user: user("anna"), id, shown: Level(0) };
    for event in [refresh, change(0, "size", Some("large"))] {
        let AskOutcome::Token { token, .. } = single.answer(event) else { panic!() };
        assert_eq!(single.sessions.validate(single.now, &token, &mut scratch).unwrap().level, Level(0));
    }
    // A change says what is to be different, and no more.
    let listed = single.sessions.get(&user("anna"), id).unwrap();
    let of = |name| listed.properties.get(name);
    assert_eq!((listed.level, of("color"), of("size")), (Level(2), Some("blue"), Some("large")));
    single.answer(change(0, "color", None));
    let listed = single.sessions.get(&user("anna"), id).unwrap();
    assert_eq!((listed.properties.get("color"), listed.properties.get("size")), (None, Some("large")));
}

/// How long an end is remembered goes by how long sessions live now, and not by how long they lived when they began.
#[test]
fn no_session_is_older_than_any_may_be() {
    let long = SessionSettings { idle_max: Duration::ZERO, lifetime_max: MINUTE * 480, ..Default::default() };
    let mut before = Single::new(long);
    before.pass(MINUTE);
    let (_, token) = before.login("anna");
    let keys = before.node.knowledge().unwrap();
    let short = SessionSettings { idle_max: Duration::ZERO, lifetime_max: MINUTE, ..Default::default() };
    let mut after = Single::new(short);
    after.now = before.now;
    after.handle(NodeEvent::Knows { records: keys });
    assert!(after.validate(&token).is_ok());
    assert_eq!(after.answer(NodeEvent::RevokeUser { ask: AskId(1), user: user("anna") }), AskOutcome::Done);
    for _ in 0..10 {
        after.pass(MINUTE);
        assert!(after.validate(&token).is_err());
    }
}

#[test]
fn tokens_outlive_the_key_that_sealed_them_by_a_session_and_no_more() {
    let mut single = Single::new(SessionSettings { idle_max: Duration::ZERO, ..SessionSettings::default() });
    single.pass(MINUTE);
    let (id, old) = single.login("anna");
    assert_eq!(single.answer(NodeEvent::Rotate { ask: AskId(1) }), AskOutcome::Done);
    single.pass(MINUTE);
    assert!(single.validate(&old).is_ok());
    let refresh = NodeEvent::Refresh { ask: AskId(1), user: user("anna"), id, shown: Level(0) };
    let AskOutcome::Token { token, .. } = single.answer(refresh) else { panic!() };
    assert_ne!(token[..8], old[..8], "under the new key");
    assert!(single.validate(&token).is_ok());
    single.pass(MINUTE * 119);
    assert_eq!(single.validate(&token), Err(Refusal::Expired));
    single.pass(MINUTE * 10);
    assert_eq!(single.validate(&old), Err(Refusal::UnknownKey));
    assert_eq!(single.sessions.ring().keys().count(), 2, "dropped when the next key comes");
}

/// Threads validate while sessions end: whoever begins after the end was answered is refused.
#[test]
fn threads_see_an_end_at_once() {
    let mut single = Single::new(SessionSettings::default());
    let logins: Vec<(_, String)> =
        (0..200).map(|number| single.login(&format!("user{}", number % 7))).collect();
    let ended = std::sync::atomic::AtomicUsize::new(0);
    let (sessions, now) = (single.sessions.clone(), single.now);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut scratch = Scratch::new();
                while ended.load(std::sync::atomic::Ordering::Acquire) < logins.len() {
                    let before = ended.load(std::sync::atomic::Ordering::Acquire);
                    for (number, (_, token)) in logins.iter().enumerate() {
                        let is_accepted = sessions.validate(now, token, &mut scratch).is_ok();
                        assert!(!is_accepted || number >= before, "{number} of {before}");
                    }
                }
            });
        }
        for (number, (id, _)) in logins.iter().enumerate() {
            single.logout(&format!("user{}", number % 7), *id);
            ended.store(number + 1, std::sync::atomic::Ordering::Release);
        }
    });
    assert_eq!(single.sessions.live_count(), 0);
}
