//! Codes of second steps over real servers: each node has a copy of the users, which knows nothing of the others'.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_TTL;
use async_nats::jetstream::stream::Config;
use durward_identity::SystemEntropy;
use durward_identity::protocol::Mode;
use durward_identity::user::{Account, RecoveryCodes, SecondStep, Totp};
use durward_session::{Login, LoginRequest, Refused};
use tokio::time::{sleep, timeout};

use crate::nodes::{HOME, Node, PATIENCE, Plan, account, clock};
use crate::servers::Servers;
use crate::{is_refused, turn};

/// Berta's device and her paper.
struct Berta {
    totp: Totp,
    recovery: Vec<String>,
}

/// A plan whose nodes all know Anna, and Berta with a second step.
fn with_berta(plan: Plan) -> (Plan, Berta) {
    let totp = Totp::generate(&SystemEntropy).unwrap();
    let (recovery, kept) = RecoveryCodes::generate(&SystemEntropy).unwrap();
    let second_step = Some(SecondStep { totp: totp.clone(), used: None, recovery: kept });
    let berta = Account { second_step, ..account("berta") };
    (Plan { accounts: vec![account("anna"), berta], ..plan }, Berta { totp, recovery })
}

async fn brings(node: &Node, code: &str) -> Result<(), Refused> {
    let request = LoginRequest::new("/", "berta", "secret", HOME);
    match node.service.login(LoginRequest { code: Some(code.to_owned()), ..request }).await? {
        Login::Granted(..) => Ok(()),
        other @ (Login::Recognized(_) | Login::CodeNeeded(_) | Login::PasswordChangeNeeded(_)) => {
            panic!("{other:?}")
        }
    }
}

/// Waits until one node has heard all that the other said before: what is said comes in order.
async fn has_heard(node: &Node, from: &Node) {
    let token = from.login().await;
    assert_eq!(from.logout(&token).await, Ok(()));
    node.until(&token, is_refused).await;
}

/// The device's code of this moment, by the true time: found good by one node, used by the other.
async fn device_is_good_once(berta: &Berta, node: &Node, other: &Node, other_ahead_s: i64, waits: bool) {
    // Once more where the code's time was over before the other node saw it: that would refuse it as well.
    let once = async {
        let mut last = String::new();
        loop {
            let code = berta.totp.code(clock(0)());
            if code == last {
                sleep(Duration::from_millis(100)).await;
                continue;
            }
            if brings(node, &code).await.is_ok() {
                if waits {
                    has_heard(other, node).await;
                }
                assert_eq!(brings(other, &code).await, Err(Refused::Wrong));
                if berta.totp.check(clock(other_ahead_s)(), &code, None).is_some() {
                    return;
                }
            }
            last = code;
        }
    };
    timeout(PATIENCE * 3, once).await.expect("no code was in time on both nodes");
}

/// In both directions, with a clock that is 30 s ahead.
async fn is_good_once(mode: Mode, name: &str, waits: bool) {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one(name, "").await else { return };
    let (plan, berta) = with_berta(Plan::one(servers.addresses(), name, mode));
    let right = plan.ready().await;
    let ahead = Plan { ahead_s: 30, ..plan.clone() }.ready().await;
    for (number, (node, other)) in [(&right, &ahead), (&ahead, &right)].into_iter().enumerate() {
        let code = &berta.recovery[number];
        assert_eq!(brings(node, code).await, Ok(()));
        if waits {
            has_heard(other, node).await;
        }
        assert_eq!(brings(other, &code.to_lowercase()).await, Err(Refused::Wrong));
        assert_eq!(brings(node, code).await, Err(Refused::Wrong));
    }
    assert_eq!(brings(&ahead, &berta.recovery[2]).await, Ok(()), "another one is good");
    device_is_good_once(&berta, &right, &ahead, 30, waits).await;
    // A node that starts with the old copy of the users.
    let late = plan.ready().await;
    for code in &berta.recovery[..3] {
        assert_eq!(brings(&late, code).await, Err(Refused::Wrong));
    }
    assert_eq!(brings(&late, &berta.recovery[3]).await, Ok(()));
}

#[tokio::test]
async fn a_code_that_was_used_on_one_node_is_none_on_another_at_once_in_assured_write() {
    is_good_once(Mode::AssuredWrite, "codes-write", false).await;
}

#[tokio::test]
async fn a_code_that_was_used_on_one_node_is_none_on_another_at_once_in_assured_read() {
    is_good_once(Mode::AssuredRead, "codes-read", false).await;
}

#[tokio::test]
async fn a_code_that_was_used_on_one_node_is_none_where_that_was_heard_in_best_effort() {
    is_good_once(Mode::BestEffort, "codes-best", true).await;
}

#[tokio::test]
async fn a_code_that_was_used_on_one_node_is_none_where_that_was_heard_without_a_store() {
    is_good_once(Mode::None, "codes-none", true).await;
}

#[tokio::test]
async fn a_code_from_a_clock_that_is_ahead_is_good_once_as_well() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("codes-ahead", "").await else { return };
    let (plan, berta) = with_berta(Plan::one(servers.addresses(), "codes-ahead", Mode::AssuredWrite));
    let right = plan.ready().await;
    let ahead = Plan { ahead_s: 30, ..plan }.ready().await;
    device_is_good_once(&berta, &ahead, &right, 0, false).await;
}

#[tokio::test]
async fn of_two_nodes_that_take_a_code_at_the_same_moment_one_grants_a_session() {
    let _turn = turn().await;
    let Some(servers) = Servers::start("codes-race").await else { return };
    let (plan, berta) = with_berta(Plan::new(servers.addresses(), "codes-race", Mode::AssuredWrite));
    let (one, other) = (plan.ready().await, Plan { ahead_s: -30, ..plan }.ready().await);
    let mut granted = 0;
    for code in &berta.recovery {
        let both = tokio::join!(brings(&one, code), brings(&other, code));
        let count = usize::from(both.0.is_ok()) + usize::from(both.1.is_ok());
        // None, where the store was too slow to say who was first.
        assert!(count <= 1, "{both:?}");
        granted += count;
    }
    assert!(granted > 0);
}

#[tokio::test]
async fn without_the_store_no_code_is_used_up_for_nothing() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("codes-lost", "").await else { return };
    let (plan, berta) = with_berta(Plan::one(servers.addresses(), "codes-lost", Mode::AssuredWrite));
    let node = plan.ready().await;
    let token = node.login().await;
    servers.stop(0);
    node.until(&token, crate::cannot_say).await;
    let refused = brings(&node, &berta.recovery[0]).await;
    assert!(matches!(refused, Err(Refused::Unavailable(_))), "{refused:?}");
    servers.go_on(0);
    node.until(&token, Result::is_ok).await;
    assert_eq!(brings(&node, &berta.recovery[0]).await, Ok(()));
}

/// What recovery codes rely on: such a message outlives the time that the stream keeps others.
#[tokio::test]
async fn what_is_kept_for_ever_outlives_the_age_of_the_stream() {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one("ever", "").await else { return };
    let (plan, berta) = with_berta(Plan::one(servers.addresses(), "ever", Mode::AssuredWrite));
    let node = plan.ready().await;
    assert_eq!(brings(&node, &berta.recovery[0]).await, Ok(()));
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let stream = context.get_stream("ever").await.unwrap();
    let kept = stream.get_last_raw_message_by_subject("durward.ever.r.code").await.unwrap();
    let never = kept.headers.get(NATS_MESSAGE_TTL).cloned();
    assert_eq!(never.as_ref().map(|it| it.as_str()), Some("never"));
    let config = Config {
        name: "short".to_owned(),
        subjects: vec!["short.*".to_owned()],
        max_age: Duration::from_secs(1),
        allow_message_ttl: true,
        ..Config::default()
    };
    let mut stream = context.create_stream(config).await.unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_TTL, "never");
    let kept = context.publish_with_headers("short.kept", headers, "1".into()).await.unwrap().await.unwrap();
    let other = context.publish("short.other", "2".into()).await.unwrap().await.unwrap();
    assert_eq!((kept.sequence, other.sequence), (1, 2));
    let forgotten = async {
        while stream.info().await.unwrap().state.messages > 1 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, forgotten).await.expect("the stream forgets nothing");
    assert!(stream.get_raw_message(1).await.is_ok());
    assert!(stream.get_raw_message(2).await.is_err());
}
