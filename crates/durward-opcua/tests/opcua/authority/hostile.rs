//! Applications that are trusted, and mean no good: what they do must not keep gates from following.

use super::recall::Following;
use super::*;

async fn subscribe(session: &ClientSession, interval: f64, lifetime: u32) -> StatusCode {
    let request = CreateSubscriptionRequest {
        requested_publishing_interval: interval,
        requested_lifetime_count: lifetime,
        requested_max_keep_alive_count: 10_000,
        publishing_enabled: true,
        ..CreateSubscriptionRequest::default()
    };
    status(session.call::<_, CreateSubscriptionResponse>(&request).await)
}

/// A gate comes, and has cutoffs within a second.
async fn a_gate_follows(world: &World) {
    let began = Instant::now();
    let mut following = Following::begin(world, world.gate().await).await;
    world.service().revoke(CutoffTarget::Subject("anna".into())).await.unwrap();
    following.wait_for("anna").await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

/// Subscriptions that live for eleven years, left behind by session after session.
#[tokio::test]
async fn nobody_takes_the_subscriptions_of_gates() {
    let world = World::start().await;
    for _ in 0..3 {
        let hostile = world.client(&ClientIdentity::Anonymous).await;
        for _ in 0..100 {
            assert_eq!(subscribe(&hostile, 3_600_000.0, 100_000).await, StatusCode::BadUserAccessDenied);
        }
        hostile.close(false).await.unwrap();
    }
    let named = world.client(&anna()).await;
    assert_eq!(subscribe(&named, 50.0, 100).await, StatusCode::BadUserAccessDenied, "users neither");
    a_gate_follows(&world).await;
}

#[tokio::test]
async fn nobody_takes_the_sessions_of_gates() {
    let world = World::with(Arc::default(), Instant::now(), |settings| {
        settings.limits.sessions_max = 14;
        settings.limits.sessions_reserved = 4;
        settings.limits.sessions_per_client_max = 8;
    })
    .await;
    let open = async |certificate| {
        let session =
            ClientSession::connect(&world.url, Some(USUAL), client_settings_of(certificate)).await?;
        session.activate(&ClientIdentity::Anonymous).await?;
        Ok::<_, Error>(session)
    };
    let third = own("urn:test:third");
    let mut sessions = Vec::new();
    for (certificate, most) in [(&*CLIENT, 8), (&third, 2)] {
        for _ in 0..most {
            sessions.push(open(certificate).await.unwrap());
        }
        assert_eq!(status(open(certificate).await.map(drop)), StatusCode::BadTooManySessions);
    }
    a_gate_follows(&world).await;
}

/// Passwords take long to hash, and a client that tries many has its calls wait for each other, not for those of gates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_do_not_hold_up_gates() {
    let world = Arc::new(World::start().await.with_nodes().await);
    let gate = world.gate().await;
    world.decider.slow_ms.store(200, Ordering::SeqCst);
    let client = Arc::new(world.client(&ClientIdentity::Anonymous).await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let (world, client) = (Arc::clone(&world), Arc::clone(&client));
        calls.spawn(async move { world.token(&client).await });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    world.snapshot(&gate, 1).await;
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    assert!(calls.try_join_next().is_none_or(|token| token.unwrap().is_ok()));
    calls.abort_all();
}

/// Guesses in calls, and in activations of a session that is active already.
#[tokio::test]
async fn passwords_are_not_guessed() {
    let world = World::start().await.with_nodes().await;
    let third = own("urn:test:third");
    let home = world.connect_as(&third, USUAL, &anna()).await;
    world.request(&home, named("anna", "engine"), PLC).await.unwrap();

    let client = world.client(&ClientIdentity::Anonymous).await;
    let mut refused = Vec::new();
    for n in 0..20 {
        refused.push(world.request(&client, named("anna", &format!("guess {n}")), PLC).await.unwrap_err());
    }
    let looked_at = refused.iter().filter(|status| **status == StatusCode::BadIdentityTokenRejected).count();
    assert_eq!(looked_at, 4, "{refused:?}");
    assert_eq!(refused[4], StatusCode::BadResourceUnavailable);
    let right = world.request(&client, named("anna", "engine"), PLC).await;
    assert_eq!(right, Err(StatusCode::BadResourceUnavailable), "the right one tells nothing either");
    let finished = world.login(&client, "anna", "engine").await;
    assert_eq!(finished, Err(StatusCode::BadResourceUnavailable));
    assert!(world.notes.0.lock().unwrap().iter().any(|note| note.contains("too many wrong passwords")));
    // Where they usually log in they still do.
    world.request(&home, named("anna", "engine"), PLC).await.unwrap();

    let guess = |n: usize| ClientIdentity::UserName {
        name: "bert".to_owned(),
        password: format!("guess {n}").into(),
    };
    let mut refused = Vec::new();
    for n in 0..10 {
        refused.push(status(client.activate(&guess(n)).await));
    }
    let looked_at = refused.iter().filter(|status| **status == StatusCode::BadIdentityTokenRejected).count();
    assert_eq!(looked_at, 4, "{refused:?}");
    world.token(&client).await.unwrap();
}
