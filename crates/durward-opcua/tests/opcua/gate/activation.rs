//! Who comes in, and who does not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_opcua::gate::users::UserReply;
use durward_opcua::gate::{
    AnonymousRights, DelegatedToken, TokenEncryption, UserClaim, UserKinds, UserRefusal, UserRights,
};
use durward_opcua::permission::Permission::{Browse, Read};
use durward_opcua::session::{ClientIdentity, ClientInfo, discover};
use durward_opcua::token::{CutoffTarget, Cutoffs};
use opcua_types::*;
use zeroize::Zeroizing;

use super::support::{Clock, GATE, Plant, Running, eventually, issued, publish, read, subscribe, write};
use crate::fixture::{CLIENT, JWT, NOW, OTHER, client_settings, status, user};

const TEMPERATURE: &[(&str, &[durward_opcua::permission::Permission])] =
    &[("Boiler.Temperature", &[Browse, Read])];

async fn start() -> (Plant, Running) {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let running = Running::start(&clock, plant.address).await;
    (plant, running)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stolen_token_is_refused_and_named_in_the_audit() {
    let (_plant, running) = start().await;
    let thief = running.connect(&OTHER).await;
    let stolen = running.token("anna", TEMPERATURE);
    assert_eq!(status(thief.activate(&stolen).await), StatusCode::BadIdentityTokenRejected);
    assert!(running.audited(
        "urn:test:other  activation refused: the token is bound to the certificate of another client"
    ));
    assert_eq!(running.gate.figures().refused.load(Ordering::Relaxed), 1);
    assert!(read(&thief, &["Boiler.Temperature"]).await.is_err());
    let own = running.token_for(&OTHER, "eve", TEMPERATURE, Duration::from_secs(60));
    thief.activate(&issued(own)).await.unwrap();
    assert_eq!(read(&thief, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    // It stays what it was when a renewal with the stolen one fails.
    assert_eq!(status(thief.activate(&stolen).await), StatusCode::BadIdentityTokenRejected);
    assert_eq!(read(&thief, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_changed_and_empty_tokens_are_refused() {
    let (_plant, running) = start().await;
    let token = running.token_for(&CLIENT, "anna", TEMPERATURE, Duration::from_secs(60));
    let mut changed = token.clone();
    changed.replace_range(60..61, if &token[60..61] == "A" { "B" } else { "A" });
    let session = running.connect(&CLIENT).await;
    for wrong in [changed, String::new(), "a.b.c".to_owned()] {
        assert!(session.activate(&issued(wrong)).await.is_err());
    }
    assert_eq!(
        status(session.activate(&ClientIdentity::Anonymous).await),
        StatusCode::BadIdentityTokenRejected
    );
    session.activate(&issued(token)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_token_ends_the_session_and_lets_nobody_in() {
    let (_plant, running) = start().await;
    let token = running.token_for(&CLIENT, "anna", TEMPERATURE, Duration::from_secs(60));
    let session = running.connect(&CLIENT).await;
    session.activate(&issued(token.clone())).await.unwrap();
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    running.clock.advance(Duration::from_secs(61));
    let statuses = read(&session, &["Boiler.Temperature"]).await;
    assert!(matches!(
        status(statuses),
        StatusCode::BadUserAccessDenied | StatusCode::BadSessionIdInvalid | StatusCode::BadSessionClosed
    ));
    eventually("the session is closed", async || {
        running.gate.figures().sessions.load(Ordering::Relaxed) == 0
    })
    .await;
    assert!(running.audited("anna ended: the token has ended"));
    let again = running.connect(&CLIENT).await;
    assert_eq!(status(again.activate(&issued(token)).await), StatusCode::BadIdentityTokenRejected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_token_carries_a_session_beyond_the_first_ones_end() {
    let (_plant, running) = start().await;
    let token =
        |seconds| issued(running.token_for(&CLIENT, "anna", TEMPERATURE, Duration::from_secs(seconds)));
    let session = running.connect(&CLIENT).await;
    session.activate(&token(60)).await.unwrap();
    running.clock.advance(Duration::from_secs(50));
    session.activate(&token(60)).await.unwrap();
    running.clock.advance(Duration::from_secs(20));
    assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    assert_eq!(running.gate.figures().activated.load(Ordering::Relaxed), 2);
}

/// A cutoff is not forgotten at re-activation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recalled_token_lets_nobody_in_again() {
    let (_plant, running) = start().await;
    let old = running.token("anna", TEMPERATURE);
    running.clock.advance(Duration::from_secs(5));
    let mut cutoffs = Cutoffs::default();
    cutoffs.add(CutoffTarget::Subject(Arc::from("anna")), running.clock.now());
    running.beat(1, cutoffs);
    let session = running.connect(&CLIENT).await;
    assert_eq!(status(session.activate(&old).await), StatusCode::BadIdentityTokenRejected);
    running.clock.advance(Duration::from_secs(2));
    session.activate(&running.token("anna", TEMPERATURE)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_replaced_while_the_gate_runs() {
    let (_plant, mut running) = start().await;
    let session = running.session(TEMPERATURE).await;
    let other = running.session(TEMPERATURE).await;
    let signing = || SigningKey::generate(Algorithm::Es256).unwrap();
    let both = running.keys.with(signing(), NOW.plus(Duration::from_millis(1)), NOW).unwrap();
    running.keys = both;
    let next = running.token("anna", TEMPERATURE);
    assert_eq!(status(session.activate(&next).await), StatusCode::BadIdentityTokenRejected);
    running.gate.set_keys(running.keys.verifying(NOW).unwrap());
    session.activate(&next).await.unwrap();
    assert_eq!(
        read(&other, &["Boiler.Temperature"]).await.unwrap(),
        [StatusCode::Good],
        "its key is there still"
    );
    // Whoever has a withdrawn key can have made what was signed with it.
    let withdrawn = running.token("bert", TEMPERATURE);
    running.keys = SigningKeys::new(Duration::from_secs(3_600)).with(signing(), NOW, NOW).unwrap();
    running.gate.set_keys(running.keys.verifying(NOW).unwrap());
    assert!(read(&session, &["Boiler.Temperature"]).await.is_err());
    assert!(read(&other, &["Boiler.Temperature"]).await.is_err());
    assert!(running.audited("anna ended: the key that signed the token was withdrawn"));
    let again = running.connect(&CLIENT).await;
    assert_eq!(status(again.activate(&withdrawn).await), StatusCode::BadIdentityTokenRejected);
    again.activate(&running.token("anna", TEMPERATURE)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_in_particular_may_do_what_the_settings_say() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let running = Running::with(&clock, plant.address, |settings| {
        let temperature = "nsu=urn:durward:plant;s=Boiler.Temperature".parse().unwrap();
        settings.anonymous =
            Some(AnonymousRights { everywhere: vec![Browse], nodes: vec![(temperature, vec![Read])] });
    })
    .await;
    let session = running.connect(&CLIENT).await;
    session.activate(&ClientIdentity::Anonymous).await.unwrap();
    assert_eq!(
        read(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await.unwrap(),
        [StatusCode::Good, StatusCode::BadUserAccessDenied]
    );
    assert_eq!(
        write(&session, "Boiler.Mode", Variant::from("Manual")).await,
        StatusCode::BadUserAccessDenied
    );
    // A session whose token ends goes on as one of nobody in particular.
    let token =
        running.token_for(&CLIENT, "anna", &[("Boiler.Pressure", &[Browse, Read])], Duration::from_secs(60));
    session.activate(&issued(token)).await.unwrap();
    let reads = async || read(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await.unwrap();
    assert_eq!(reads().await, [StatusCode::BadNodeIdUnknown, StatusCode::Good]);
    clock.advance(Duration::from_secs(61));
    eventually("the session is anonymous", async || {
        reads().await == [StatusCode::Good, StatusCode::BadUserAccessDenied]
    })
    .await;
}

/// Knows `ada` and her password; gives her the token that was put here, and the next one for the word `again`.
#[derive(Default)]
struct Desk(std::sync::Mutex<String>, std::sync::Mutex<Option<String>>);

impl UserRights for Desk {
    fn kinds(&self) -> UserKinds {
        UserKinds { names: true, certificates: false }
    }

    fn fetch(&self, claim: UserClaim, _client: Arc<ClientInfo>) -> UserReply {
        let is_ada = match claim {
            UserClaim::Name { name, password } => name == "ada" && password.as_slice() == b"ada's password",
            UserClaim::Certificate(_) => false,
        };
        let token = self.0.lock().unwrap().clone();
        Box::pin(async move {
            if is_ada {
                return Ok(DelegatedToken { token: token.into(), refresh: Some("again".to_owned().into()) });
            }
            let reason = "there is no such user, or the password is wrong".to_owned();
            Err(UserRefusal { status: StatusCode::BadUserAccessDenied, reason })
        })
    }

    fn renew(&self, refresh: Zeroizing<String>, _client: Arc<ClientInfo>) -> UserReply {
        assert_eq!(*refresh, "again");
        let next = self.1.lock().unwrap().take();
        Box::pin(async {
            let token = next.map(|next| DelegatedToken { token: next.into(), refresh: Some(refresh) });
            let reason = "out of reach".to_owned();
            token.ok_or(UserRefusal { status: StatusCode::BadServerNotConnected, reason })
        })
    }
}

/// A client with a password cannot renew a token: the gate does, and the session lives on with its subscription. What the next token does not grant
/// any more is not delivered any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_fetched_for_a_user_are_renewed_before_they_end() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let desk = Arc::new(Desk::default());
    let users = Arc::clone(&desk) as Arc<dyn UserRights>;
    let running = Running::with(&clock, plant.address, |settings| settings.users = Some(users)).await;
    let both: &[(&str, &[_])] =
        &[("Boiler.Temperature", &[Browse, Read]), ("Boiler.Pressure", &[Browse, Read])];
    *desk.0.lock().unwrap() = running.token_for(&GATE, "ada", both, Duration::from_secs(60));
    let session = running.connect(&CLIENT).await;
    session.activate(&user("ada")).await.unwrap();
    subscribe(&session, &["Boiler.Temperature"]).await;
    while publish(&session).await.unwrap() == 0 {}
    // Out of reach when it is due, then in reach: asked again before the token ends. The subscription needs a Publish once in 50 s.
    running.clock.advance(Duration::from_secs(25));
    publish(&session).await.unwrap();
    running.clock.advance(Duration::from_secs(25));
    eventually("it is asked", async || running.audited("was not renewed: out of reach")).await;
    *desk.1.lock().unwrap() = Some(running.token_for(&GATE, "ada", TEMPERATURE, Duration::from_secs(60)));
    running.clock.advance(Duration::from_secs(5));
    eventually("it is renewed", async || running.audited("ada renewed with token")).await;
    running.clock.advance(Duration::from_secs(10));
    assert_eq!(
        read(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await.unwrap(),
        [StatusCode::Good, StatusCode::BadNodeIdUnknown]
    );
    while publish(&session).await.unwrap() == 0 {}
    // A token of somebody else is not taken, and then the session ends with its token.
    *desk.1.lock().unwrap() = Some(running.token_for(&GATE, "eve", both, Duration::from_secs(60)));
    running.clock.advance(Duration::from_secs(40));
    eventually("it is refused", async || running.audited("was not renewed: it is of another user")).await;
    running.clock.advance(Duration::from_secs(30));
    eventually("the session ends", async || running.audited("ada ended: the token has ended")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_without_a_token_get_one_fetched() {
    let clock = Clock::new();
    let plant = Plant::start(&clock, "127.0.0.1:0").await;
    let desk = Arc::new(Desk::default());
    let users = Arc::clone(&desk) as Arc<dyn UserRights>;
    let running = Running::with(&clock, plant.address, |settings| settings.users = Some(users)).await;
    // Issued to the gate: bound to its own certificate.
    *desk.0.lock().unwrap() = running.token_for(&GATE, "ada", TEMPERATURE, Duration::from_secs(60));
    let session = running.connect(&CLIENT).await;
    let wrong = ClientIdentity::UserName { name: "ada".to_owned(), password: "guessed".to_owned().into() };
    assert_eq!(status(session.activate(&wrong).await), StatusCode::BadUserAccessDenied);
    session.activate(&user("ada")).await.unwrap();
    assert_eq!(
        read(&session, &["Boiler.Temperature", "Boiler.Pressure"]).await.unwrap(),
        [StatusCode::Good, StatusCode::BadNodeIdUnknown]
    );
    // Nobody but the gate itself may use that token.
    let thief = running.connect(&CLIENT).await;
    let stolen = issued(desk.0.lock().unwrap().clone());
    assert_eq!(status(thief.activate(&stolen).await), StatusCode::BadIdentityTokenRejected);
    running.recall(1, "ada");
    assert!(read(&session, &["Boiler.Temperature"]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_tells_where_tokens_are_got_and_how_they_are_sent() {
    for encryption in [TokenEncryption::Always, TokenEncryption::OnceInEncryptedChannels] {
        let clock = Clock::new();
        let plant = Plant::start(&clock, "127.0.0.1:0").await;
        let running = Running::with(&clock, plant.address, |settings| {
            settings.token_encryption = encryption;
            settings.authority_url = "opc.tcp://authority:4841".to_owned();
        })
        .await;
        let endpoints = discover(&running.url, &client_settings()).await.unwrap();
        assert_eq!(endpoints.len(), 6);
        for endpoint in &endpoints {
            let policies = endpoint.user_identity_tokens.as_deref().unwrap();
            let [policy] = policies else { panic!("only tokens are let in: {policies:?}") };
            assert_eq!(policy.issued_token_type.as_ref(), JWT);
            let issuer: serde_json::Value =
                serde_json::from_str(policy.issuer_endpoint_url.as_ref()).unwrap();
            assert_eq!(issuer["ua:resourceId"], "urn:test:gate");
            assert_eq!(issuer["ua:resourceUri"], "urn:test:gate");
            assert_eq!(issuer["ua:authorityUrl"], "opc.tcp://authority:4841");
            assert_eq!(issuer["ua:authorityProfileUri"], "http://opcfoundation.org/UA/Authorization#OPCUA");
            let is_plain = policy.security_policy_uri.as_ref().ends_with("#None");
            let once = encryption == TokenEncryption::OnceInEncryptedChannels
                && endpoint.security_mode == MessageSecurityMode::SignAndEncrypt;
            assert_eq!(is_plain, once);
        }
        let session = running.session(TEMPERATURE).await;
        assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    }
}

/// The wall clock goes back by an hour, and eleven minutes pass: a token of ten minutes has ended, and who is in has to come anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_lengthens_no_token() {
    let (_plant, running) = start().await;
    let token = issued(running.token_for(&CLIENT, "anna", TEMPERATURE, Duration::from_secs(600)));
    let session = running.connect(&CLIENT).await;
    session.activate(&token).await.unwrap();
    running.clock.set_wrong(-3_600);
    // Not believed at once: it may be one wrong reading.
    assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    running.clock.advance(Duration::from_secs(660));
    assert!(read(&session, &["Boiler.Temperature"]).await.is_err());
    eventually("the clock is believed", async || running.audited("the clock was set back by 3600 s")).await;
    // What the authorization service says is of an hour ahead: nothing is believed of it, and nobody comes in.
    running.beat(0, Cutoffs::default());
    let again = running.connect(&CLIENT).await;
    assert!(again.activate(&token).await.is_err());
    assert!(again.activate(&running.token("anna", TEMPERATURE)).await.is_err());
    running.clock.set_wrong(0);
    eventually("the clock is right", async || running.audited("the clock was set ahead by 3600 s")).await;
    assert!(again.activate(&token).await.is_err());
    running.beat(0, Cutoffs::default());
    again.activate(&running.token("anna", TEMPERATURE)).await.unwrap();
    assert_eq!(running.gate.figures().clock_jumps.load(Ordering::Relaxed), 2);
}

/// One reading a year ahead ends nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_wrong_reading_of_the_clock_ends_nothing() {
    let (_plant, running) = start().await;
    let session = running.session(TEMPERATURE).await;
    running.clock.set_wrong(365 * 86_400);
    tokio::time::sleep(Duration::from_millis(200)).await;
    running.clock.set_wrong(0);
    assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    running.clock.advance(Duration::from_secs(1));
    running.beat(0, Cutoffs::default());
    session.activate(&running.token("anna", TEMPERATURE)).await.unwrap();
    assert_eq!(read(&session, &["Boiler.Temperature"]).await.unwrap(), [StatusCode::Good]);
    assert_eq!(running.gate.figures().clock_jumps.load(Ordering::Relaxed), 0);
}

/// The gate's clock is believed an hour ahead, forgets a recall that is too old to matter by it, and is set right again: the recalled token must not
/// come to life.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recall_outlives_a_clock_that_was_ahead() {
    let (_plant, running) = start().await;
    let token = issued(running.token_for(&CLIENT, "anna", TEMPERATURE, Duration::from_secs(3_000)));
    running.recall(1, "anna");
    running.clock.set_wrong(2 * 3_600);
    eventually("ahead", async || running.audited("the clock was set ahead by 7200 s")).await;
    running.clock.set_wrong(0);
    eventually("back", async || running.audited("the clock was set back by 7200 s")).await;
    let session = running.connect(&CLIENT).await;
    assert!(session.activate(&token).await.is_err());
    assert!(running.audited("has not heard from the authorization service yet"));
}
