//! Client and server of ours talk over TCP.

use std::time::{Duration, Instant};

use durward_opcua::channel::SecurityOffer;
use durward_opcua::crypto::{Certificate, KeyLength, SecretFormat, SecurityPolicy};
use durward_opcua::pki::{CertificateDraft, self_signed};
use durward_opcua::session::{
    ClientIdentity, ClientSession, CloseReason, ExpectedServer, PinnedApplication, SessionClientSettings,
    discover,
};
use opcua_types::{
    CancelRequest, CancelResponse, MessageSecurityMode, PublishRequest, PublishResponse, ReadResponse,
    RequestHeader, StatusCode, Variant,
};

use crate::fixture::{
    OTHER, Running, SERVER, USUAL, channel_settings, client_settings, draft, issued, read_request,
    server_settings, status, user, whoami,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_policy_and_mode_carries_every_kind_of_identity() {
    let running = Running::start().await;
    for policy in SecurityPolicy::SECURE {
        for mode in [MessageSecurityMode::Sign, MessageSecurityMode::SignAndEncrypt] {
            for secret_format in [SecretFormat::Legacy, SecretFormat::RsaEncryptedSecret] {
                let mut settings = client_settings();
                settings.secret_format = secret_format;
                let offer = SecurityOffer { policy, mode };
                let session = ClientSession::connect(&running.url(), Some(offer), settings).await.unwrap();
                assert_eq!(status(whoami(&session).await), StatusCode::BadSessionNotActivated);
                session.activate(&ClientIdentity::Anonymous).await.unwrap();
                assert_eq!(whoami(&session).await.unwrap(), "anonymous");
                session.activate(&user("ada")).await.unwrap();
                assert_eq!(whoami(&session).await.unwrap(), "ada");
                session.activate(&issued("grace")).await.unwrap();
                assert_eq!(whoami(&session).await.unwrap(), "grace");
                session.activate(&ClientIdentity::Certificate(OTHER.clone())).await.unwrap();
                assert_eq!(whoami(&session).await.unwrap(), "urn:test:other");
                session.close(true).await.unwrap();
            }
        }
    }
    assert_eq!(running.server.session_count(), 0);
    assert_eq!(running.plant.closed.lock().unwrap().len(), 12);
}

#[tokio::test]
async fn discovery_shows_secure_endpoints_with_unique_policy_ids() {
    let running = Running::start().await;
    let endpoints = discover(&running.url(), &client_settings()).await.unwrap();
    assert_eq!(endpoints.len(), 6);
    let mut ids: Vec<String> = Vec::new();
    for endpoint in &endpoints {
        assert_ne!(endpoint.security_mode, MessageSecurityMode::None);
        let tokens = endpoint.user_identity_tokens.iter().flatten();
        ids.extend(tokens.map(|token| token.policy_id.as_ref().to_owned()));
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((count, ids.len()), (24, 24));
}

/// Gap 1 of a known stack: session nonce and channel nonce in one place, so that renewing the channel broke the next activation.
#[tokio::test]
async fn reactivation_works_after_the_channel_was_renewed() {
    let running = Running::start().await;
    let session = running.anonymous().await;
    for round in 0..3 {
        session.channel().renew();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(session.channel().ended().is_none(), "round {round}");
        session.activate(&user("ada")).await.unwrap();
        assert_eq!(whoami(&session).await.unwrap(), "ada");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_on_while_the_channel_renews_itself() {
    let mut settings = server_settings();
    settings.channel.lifetime_min = Duration::from_secs(1);
    settings.channel.lifetime_max = Duration::from_secs(1);
    let running = Running::with(settings).await;
    let session = running.anonymous().await;
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < Duration::from_millis(2_600) {
        assert_eq!(whoami(&session).await.unwrap(), "anonymous");
        count += 1;
    }
    assert!(count > 100, "{count} reads in 2.6 s");
}

/// Gap 3: who authenticates a user must know for whom.
#[tokio::test]
async fn authentication_is_told_session_certificate_application_and_reactivation() {
    let running = Running::start().await;
    let session = running.connect(USUAL).await;
    session.activate(&issued("grace")).await.unwrap();
    session.activate(&issued("grace")).await.unwrap();
    let seen = running.plant.seen.lock().unwrap().clone();
    let [first, second] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(first.application_uri, "urn:test:client");
    assert_eq!(first.thumbprint, crate::fixture::CLIENT.certificate().thumbprint_hex());
    assert_eq!(first.identity, format!("{} token of grace", crate::fixture::JWT));
    assert_eq!(first.policy_id, "issued_Basic256Sha256_e");
    assert_eq!((first.again.as_deref(), second.again.as_deref()), (None, Some("grace")));
    assert_eq!(first.session, second.session);
}

/// Part 2, 6.20, the other way: the old user's requests are not stopped while the new one is verified; then one swap.
#[tokio::test]
async fn requests_go_on_under_the_old_user_while_a_new_one_is_verified() {
    let running = Running::start().await;
    let session = std::sync::Arc::new(running.anonymous().await);
    let activating = std::sync::Arc::clone(&session);
    let activation = tokio::spawn(async move { activating.activate(&user("slow")).await });
    while running.plant.seen.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..20 {
        assert_eq!(whoami(&session).await.unwrap(), "anonymous");
    }
    running.plant.release.notify_one();
    activation.await.unwrap().unwrap();
    assert_eq!(whoami(&session).await.unwrap(), "slow");
    assert_eq!(*running.plant.changed.lock().unwrap(), ["slow"]);
}

#[tokio::test]
async fn a_refused_user_leaves_the_session_as_it_was() {
    let running = Running::start().await;
    let session = running.anonymous().await;
    let wrong = ClientIdentity::UserName { name: "ada".to_owned(), password: "guess".to_owned().into() };
    for _ in 0..3 {
        assert_eq!(status(session.activate(&wrong).await), StatusCode::BadUserAccessDenied);
    }
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
    session.activate(&user("ada")).await.unwrap();
    assert_eq!(whoami(&session).await.unwrap(), "ada");
}

#[tokio::test]
async fn a_service_that_cannot_begin_a_session_refuses_its_activation() {
    let running = Running::start().await;
    let session = running.connect(USUAL).await;
    assert_eq!(status(session.activate(&user("homeless")).await), StatusCode::BadServerNotConnected);
    assert_eq!(status(whoami(&session).await), StatusCode::BadSessionNotActivated);
    session.activate(&user("ada")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_messages_go_in_chunks_and_small_ones_overtake_nothing() {
    let running = Running::start().await;
    let session = running.anonymous().await;
    for size in [1.0, 60_000.0, 65_400.0, 70_000.0, 1_000_000.0, 9_000_000.0] {
        let response: ReadResponse = session.call(&read_request(size)).await.unwrap();
        let value = response.results.unwrap().remove(0).value;
        assert!(matches!(value, Some(Variant::String(text)) if text.as_ref().len() == size as usize));
    }
    assert_eq!(
        status(session.call::<_, ReadResponse>(&read_request(17_000_000.0)).await),
        StatusCode::BadResponseTooLarge
    );
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_are_under_way_at_a_time() {
    let running = Running::start().await;
    let session = std::sync::Arc::new(running.anonymous().await);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200_u32 {
        let session = std::sync::Arc::clone(&session);
        tasks.spawn(async move {
            let size = f64::from(1 + number * 97 % 5_000);
            let response: ReadResponse = session.call(&read_request(size)).await.unwrap();
            let value = response.results.unwrap().remove(0).value;
            assert!(matches!(value, Some(Variant::String(text)) if text.as_ref().len() == size as usize));
        });
    }
    tasks.join_all().await;
}

fn publish() -> PublishRequest {
    PublishRequest {
        request_header: RequestHeader {
            request_handle: 77,
            timeout_hint: 20_000,
            ..RequestHeader::default()
        },
        subscription_acknowledgements: None,
    }
}

/// A Publish that waits, and the session that it waits in.
async fn with_publish(
    running: &Running,
) -> (std::sync::Arc<ClientSession>, tokio::task::JoinHandle<StatusCode>) {
    let session = std::sync::Arc::new(running.anonymous().await);
    let waiting = std::sync::Arc::clone(&session);
    let publish = tokio::spawn(async move { status(waiting.call::<_, PublishResponse>(&publish()).await) });
    while running.plant.sessions.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (session, publish)
}

#[tokio::test]
async fn waiting_requests_are_cancelled_by_their_handle() {
    let running = Running::start().await;
    let (session, publish) = with_publish(&running).await;
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
    for (request_handle, count) in [(76, 0), (77, 1), (77, 0)] {
        let request = CancelRequest { request_header: RequestHeader::default(), request_handle };
        let response: CancelResponse = session.call(&request).await.unwrap();
        assert_eq!(response.cancel_count, count);
    }
    assert_eq!(publish.await.unwrap(), StatusCode::BadRequestCancelledByClient);
}

/// Gap 8: a server must be able to end a session, when a token expires.
#[tokio::test]
async fn the_server_closes_a_session_and_what_waits_in_it() {
    let running = Running::start().await;
    let (session, publish) = with_publish(&running).await;
    let active = running.plant.sessions.lock().unwrap().remove(0);
    active.close();
    active.close();
    assert_eq!(publish.await.unwrap(), StatusCode::BadSessionClosed);
    assert_eq!(status(whoami(&session).await), StatusCode::BadSessionIdInvalid);
    assert_eq!(*running.plant.closed.lock().unwrap(), [(active.info().number, CloseReason::Service)]);
}

/// A session that ends while its next user is verified stays ended.
#[tokio::test]
async fn an_activation_under_way_does_not_revive_a_closed_session() {
    let running = Running::start().await;
    let (session, publish) = with_publish(&running).await;
    let active = running.plant.sessions.lock().unwrap().remove(0);
    let activating = std::sync::Arc::clone(&session);
    let activation = tokio::spawn(async move { activating.activate(&user("slow")).await });
    while running.plant.seen.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    active.close();
    running.plant.release.notify_one();
    assert_eq!(status(activation.await.unwrap()), StatusCode::BadSessionClosed);
    assert_eq!(publish.await.unwrap(), StatusCode::BadSessionClosed);
    assert_eq!(*active.user(), "anonymous");
    assert!(running.plant.changed.lock().unwrap().is_empty());
}

/// Gap 8, the other half.
#[tokio::test]
async fn the_server_closes_the_channel_with_the_session() {
    let running = Running::start().await;
    let (session, publish) = with_publish(&running).await;
    let active = running.plant.sessions.lock().unwrap().remove(0);
    active.close_with_channel();
    let status_of_publish = publish.await.unwrap();
    assert!(
        [StatusCode::BadSecureChannelClosed, StatusCode::BadSessionClosed].contains(&status_of_publish),
        "{status_of_publish}"
    );
    while session.channel().ended().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(status(whoami(&session).await), StatusCode::BadSecureChannelClosed);
}

/// Gap 10: without TCP_NODELAY a small message behind another waits some 40 ms for a delayed acknowledgement. Once with a request
/// behind a request, once with a response behind a response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_messages_do_not_wait_for_acknowledgements() {
    let running = Running::start().await;
    let session = running.anonymous().await;
    for (first_ms, second_after_ms, second_ms) in [(60.0, 3, 1.0), (5.0, 0, 9.0)] {
        let mut seen = Vec::new();
        for _ in 0..15 {
            let slow = read_request(-first_ms);
            let (first, second) = tokio::join!(session.call::<_, ReadResponse>(&slow), async {
                tokio::time::sleep(Duration::from_millis(second_after_ms)).await;
                let began = Instant::now();
                let second = session.call::<_, ReadResponse>(&read_request(-second_ms)).await;
                second.map(|_| began.elapsed())
            });
            first.unwrap();
            seen.push(second.unwrap());
        }
        seen.sort();
        assert!(seen[7] < Duration::from_millis(30), "{seen:?}");
    }
}

/// Requests are forwarded as bytes: only the token changes.
#[tokio::test]
async fn forwarding_replaces_the_token_and_keeps_the_handle() {
    use durward_opcua::wire::{ResponsePeek, context, encode_service};
    let running = Running::start().await;
    let session = running.anonymous().await;
    let mut request = read_request(0.0);
    request.request_header.request_handle = 4_711;
    request.request_header.authentication_token = opcua_types::NodeId::new(3, "somebody else's");
    let body = encode_service(&context().context(), &request).unwrap();
    let response = session.forward(&body).await.unwrap();
    let peek = ResponsePeek::read(&response).unwrap();
    assert_eq!((peek.handle, peek.service_result), (4_711, StatusCode::Good));
}

#[tokio::test]
async fn a_session_is_kept_alive_and_ends_when_nobody_does() {
    let mut settings = server_settings();
    settings.limits.session_timeout_min = Duration::from_millis(200);
    settings.limits.session_timeout_max = Duration::from_millis(200);
    let running = Running::with(settings).await;
    let mut alive = client_settings();
    alive.keep_alive = Some(Duration::from_millis(40));
    let kept = ClientSession::connect(&running.url(), Some(USUAL), alive).await.unwrap();
    kept.activate(&ClientIdentity::Anonymous).await.unwrap();
    let forgotten = running.anonymous().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    running.server.sweep();
    assert_eq!(whoami(&kept).await.unwrap(), "anonymous");
    assert_eq!(status(whoami(&forgotten).await), StatusCode::BadSessionIdInvalid);
    let closed = running.plant.closed.lock().unwrap();
    assert!(matches!(closed.as_slice(), [(_, CloseReason::Timeout)]), "{closed:?}");
}

/// A certificate that is trusted is not yet that of the host of the URL.
#[tokio::test]
async fn the_server_is_the_one_that_is_expected() {
    let far = self_signed(
        &CertificateDraft { hosts: vec!["plc.example.org".to_owned()], ..draft("urn:test:server") },
        KeyLength::Rsa2048,
    );
    let far = far.unwrap();
    let mut settings = server_settings();
    settings.channel = channel_settings(&far);
    let running = Running::with(settings).await;
    let connect = async |server: ExpectedServer| {
        ClientSession::connect(&running.url(), None, SessionClientSettings { server, ..client_settings() })
            .await
            .map(drop)
    };
    let any = ExpectedServer { danger_any_host_name: true, ..ExpectedServer::default() };
    assert_eq!(status(connect(ExpectedServer::default()).await), StatusCode::BadCertificateHostNameInvalid);
    connect(any.clone()).await.unwrap();
    let uri = |uri: &str| Some(PinnedApplication::ApplicationUri(uri.to_owned()));
    connect(ExpectedServer { pin: uri("urn:test:server"), ..any.clone() }).await.unwrap();
    let other = ExpectedServer { pin: uri("urn:test:other"), ..any.clone() };
    assert_eq!(status(connect(other).await), StatusCode::BadCertificateUriInvalid);
    let thumbprint = |of: &Certificate| Some(PinnedApplication::thumbprint(&of.thumbprint_hex()).unwrap());
    connect(ExpectedServer { pin: thumbprint(far.certificate()), ..ExpectedServer::default() })
        .await
        .unwrap();
    let other = ExpectedServer { pin: thumbprint(SERVER.certificate()), ..any };
    assert_eq!(status(connect(other).await), StatusCode::BadCertificateInvalid);
}

/// Behind a translation of addresses a client can come back only to where it asked.
#[tokio::test]
async fn endpoints_are_told_under_the_name_that_was_asked_where_the_certificate_has_it() {
    let mut settings = server_settings();
    settings.endpoint_url = "opc.tcp://plc:4840/path".to_owned();
    let running = Running::with(settings).await;
    let port = running.address.port();
    let told = async |host: &str| {
        let endpoints = discover(&format!("opc.tcp://{host}:{port}"), &client_settings()).await.unwrap();
        let first = endpoints[0].endpoint_url.clone();
        assert!(endpoints.iter().all(|endpoint| endpoint.endpoint_url == first));
        assert_eq!(endpoints[0].server.discovery_urls, Some(vec![first.clone()]));
        first.as_ref().to_owned()
    };
    assert_eq!(told("127.0.0.1").await, format!("opc.tcp://127.0.0.1:{port}/path"));
    assert_eq!(told("localhost").await, format!("opc.tcp://localhost:{port}/path"));
    // The certificate does not name it.
    assert_eq!(told("127.1").await, "opc.tcp://plc:4840/path");
    running.anonymous().await;
}

#[tokio::test]
async fn the_languages_of_the_client_come_with_each_activation() {
    let running = Running::start().await;
    let mut settings = client_settings();
    settings.locale_ids = vec!["de-DE".to_owned(), "en".to_owned()];
    let session = ClientSession::connect(&running.url(), Some(USUAL), settings).await.unwrap();
    for name in ["ada", "grace"] {
        session.activate(&user(name)).await.unwrap();
    }
    let seen = running.plant.seen.lock().unwrap();
    assert!(seen.len() == 2 && seen.iter().all(|seen| seen.locales == ["de-DE", "en"]), "{seen:?}");
}
