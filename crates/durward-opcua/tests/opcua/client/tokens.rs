//! Tokens are had, kept, renewed, and had again, whatever happens to the servers meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use durward_opcua::client::{ClientStatus, JWT_TOKEN_TYPE, TokenClient, TokenFlow};
use durward_opcua::crypto::{SecurityPolicy, TokenSecurity};
use durward_opcua::protocol::ClientFailure;
use durward_opcua::session::{ExpectedServer, PinnedApplication};
use opcua_types::{NodeId, StatusCode};
use tokio::time::{Instant, sleep};

use super::world::{Issuer, Setup, Wire, authority, client, resource};
use crate::fixture::status;

fn temperature() -> NodeId {
    NodeId::new(2, "Boiler.Temperature")
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn state(client: &TokenClient) -> ClientStatus {
    client.status().borrow().clone()
}

/// Reads without a pause for so long. How often, and what failed.
async fn read_for(client: &TokenClient, how_long: Duration) -> (usize, Vec<String>) {
    let (until, mut reads, mut failures) = (Instant::now() + how_long, 0, Vec::new());
    while Instant::now() < until {
        match client.read_values(&[temperature()]).await {
            Ok(values) if values[0].value.is_some() => reads += 1,
            Ok(values) => failures.push(format!("{values:?}")),
            Err(error) => failures.push(error.to_string()),
        }
        sleep(ms(2)).await;
    }
    (reads, failures)
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_renewed_on_the_kept_sessions_while_requests_go_on() {
    for security in [TokenSecurity::Plain, TokenSecurity::Encrypted(SecurityPolicy::Basic256Sha256)] {
        let issuer = Issuer::new(ms(1_500));
        let authority = authority(None, &issuer).await;
        let server = resource(None, &Setup { security, ..Setup::new(&authority) }).await;
        let client = TokenClient::connect(client(&server.url())).await.unwrap();
        let first = client.token().unwrap();
        let (reads, failures) = read_for(&client, ms(4_200)).await;
        assert_eq!(failures, Vec::<String>::new());
        assert!(reads > 200, "{reads} reads");
        let state = state(&client);
        assert!((4..=5).contains(&state.tokens), "a token each 1.125 s: {state:?}");
        assert_eq!((state.authority_sessions, state.sessions, state.channels), (1, 1, 0));
        assert_eq!(state.activations, state.tokens);
        assert_ne!(client.token().unwrap().text(), first.text());
        // On the one channel.
        let channels = server.server.service().activations.lock().unwrap().clone();
        assert!(channels.iter().all(|channel| *channel == channels[0]), "{channels:?}");
        client.stop().await;
        assert_eq!(status(client.read_values(&[temperature()]).await), StatusCode::BadShutdown);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_may_be_restarted_between_renewals() {
    let issuer = Issuer::new(ms(3_000));
    let mut first = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&first)).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    first.stop().await;
    let (_, failures) = read_for(&client, ms(1_000)).await;
    assert_eq!(failures, Vec::<String>::new(), "the token still holds");
    let address = first.address;
    drop(first);
    let _second = authority(Some(address), &issuer).await;
    let (_, failures) = read_for(&client, ms(3_000)).await;
    assert_eq!(failures, Vec::<String>::new());
    let state = state(&client);
    assert_eq!((state.authority_sessions, state.sessions), (2, 1), "{state:?}");
    assert!(state.tokens >= 2, "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_token_ends_the_session_until_there_is_another_one() {
    let issuer = Issuer::new(ms(1_000));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    issuer.denies.store(true, Ordering::Relaxed);
    sleep(ms(1_400)).await;
    let after = state(&client);
    assert!(!after.is_active, "{after:?}");
    assert!(matches!(after.failure, Some(ClientFailure::Ended | ClientFailure::Denied)), "{after:?}");
    assert_eq!(status(client.read_values(&[temperature()]).await), StatusCode::BadUserAccessDenied);
    // It did not wait until the token ended: it asked as soon as it was due, and again.
    let asked = issuer.asked.lock().unwrap().len();
    assert!(asked > 3, "{asked} times");
    issuer.denies.store(false, Ordering::Relaxed);
    let mut status = client.status();
    tokio::time::timeout(ms(3_000), status.wait_for(|status| status.is_active)).await.unwrap().unwrap();
    assert!(client.read_values(&[temperature()]).await.is_ok());
    assert_eq!(state(&client).authority_sessions, 1, "it was kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_told_at_once() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    server.server.service().refuses.store(true, Ordering::Relaxed);
    // A gate that has just begun may say so, and then not any more: it is asked for a while.
    let mut settings = client(&server.url());
    settings.patience = ms(1_000);
    let refused = TokenClient::connect(settings).await;
    assert_eq!(status(refused), StatusCode::BadIdentityTokenRejected);
    server.server.service().refuses.store(false, Ordering::Relaxed);
    issuer.denies.store(true, Ordering::Relaxed);
    assert_eq!(status(TokenClient::connect(client(&server.url())).await), StatusCode::BadUserAccessDenied);
    // Who waits, though, gets in when it is allowed.
    let waiting = TokenClient::start(client(&server.url()));
    sleep(ms(300)).await;
    assert_eq!(state(&waiting).failure, Some(ClientFailure::Denied));
    issuer.denies.store(false, Ordering::Relaxed);
    let mut status = waiting.status();
    tokio::time::timeout(ms(3_000), status.wait_for(|status| status.is_active)).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_may_be_restarted() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let setup = Setup::new(&authority);
    let mut server = resource(None, &setup).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    server.stop().await;
    let address = server.address;
    drop(server);
    sleep(ms(300)).await;
    let _server = resource(Some(address), &setup).await;
    let read = client.read_values(&[temperature()]).await.unwrap();
    assert!(read[0].value.is_some());
    let state = state(&client);
    assert_eq!((state.authority_sessions, state.tokens), (1, 1), "the token that it had is good: {state:?}");
    assert!(state.sessions >= 2, "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_outlives_its_connection() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let wire = Wire::to(server.address).await;
    let client = TokenClient::connect(client(&wire.url())).await.unwrap();
    for cuts in 1..=3 {
        wire.cut();
        let read = client.read_values(&[temperature()]).await.unwrap();
        assert!(read[0].value.is_some());
        let state = state(&client);
        assert_eq!((state.sessions, state.tokens), (1, 1), "{state:?}");
        assert_eq!((state.channels, state.activations), (cuts, cuts + 1), "{state:?}");
    }
    assert_eq!(server.server.session_count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_are_renewed_between_activations() {
    let issuer = Issuer::new(ms(1_600));
    let authority = authority(None, &issuer).await;
    let setup = Setup { channel_lifetime: Some(ms(1_000)), ..Setup::new(&authority) };
    let server = resource(None, &setup).await;
    let mut settings = client(&server.url());
    let mut channel = (*settings.session.channel).clone();
    channel.lifetime_max = ms(1_000);
    settings.session.channel = Arc::new(channel);
    let client = TokenClient::connect(settings).await.unwrap();
    let (_, failures) = read_for(&client, ms(4_500)).await;
    assert_eq!(failures, Vec::<String>::new());
    let state = state(&client);
    assert_eq!((state.sessions, state.channels), (1, 0), "{state:?}");
    assert!(state.activations >= 4, "re-activated after renewals of the channel: {state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn both_spellings_of_the_standard_and_both_flows_are_understood() {
    let issuer = Issuer::new(ms(1_200));
    let authority = authority(None, &issuer).await;
    let said = serde_json::json!({ "resourceUri": "urn:test:plc", "authorityUri": authority.url() });
    let setup = Setup { issuer_endpoint_url: said.to_string(), ..Setup::new(&authority) };
    let server = resource(None, &setup).await;
    let mut settings = client(&server.url());
    settings.authority.flow = TokenFlow::StartFinish;
    let client = TokenClient::connect(settings).await.unwrap();
    let (_, failures) = read_for(&client, ms(2_200)).await;
    assert_eq!(failures, Vec::<String>::new());
    let asked = issuer.asked.lock().unwrap().clone();
    assert_eq!(asked[..3], ["finish", "refresh", "refresh"]);
    assert!(asked.iter().all(|how| *how != "request"));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_discovery_say_what_is_missing() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let other = authority.url();
    // A server that takes no tokens: the authority itself.
    let error = TokenClient::connect(client(&other)).await.unwrap_err();
    assert!(error.reason().contains("takes no access tokens"), "{error}");
    let wrong = [
        ("not json", "no JSON object"),
        ("[1]", "no JSON object"),
        ("{}", "does not say where its tokens come from"),
        (
            r#"{"ua:authorityUrl":"https://x","ua:authorityProfileUri":"http://opcfoundation.org/UA/Authorization#OAuth2"}"#,
            "no OPC UA server",
        ),
        (r#"{"ua:authorityUrl":"opc.tcp://127.0.0.1:1"}"#, "no connection to 127.0.0.1:1"),
    ];
    for (said, expected) in wrong {
        let server =
            resource(None, &Setup { issuer_endpoint_url: said.to_owned(), ..Setup::new(&authority) }).await;
        let error = TokenClient::connect(client(&server.url())).await.unwrap_err();
        assert!(error.reason().contains(expected), "{said}: {error}");
    }
    // Settings help where the server says nothing.
    let server =
        resource(None, &Setup { issuer_endpoint_url: String::new(), ..Setup::new(&authority) }).await;
    let mut settings = client(&server.url());
    settings.authority.url = Some(authority.url());
    settings.authority.resource_id = Some("urn:test:plc".to_owned());
    TokenClient::connect(settings.clone()).await.unwrap();
    settings.authority.resource_id = Some("urn:nobody".to_owned());
    assert_eq!(status(TokenClient::connect(settings).await), StatusCode::BadNotFound);
}

/// Discovery is not secured. Whoever changes the resource's answer names a service of their own, which is then told the user's password: unless
/// the client waits until the resource has proved what it said.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_somebody_on_the_wire_names_is_not_asked() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let attacker = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = resource(None, &Setup::new(&authority)).await;
    let (from, to) = (authority.address.to_string(), attacker.local_addr().unwrap().to_string());
    let wire = Wire::changing(server.address, from.clone().into_bytes(), to.into_bytes()).await;
    let mut settings = client(&wire.url());
    settings.patience = ms(1_500);
    let refused = TokenClient::connect(settings).await;
    assert_eq!(status(refused), StatusCode::BadSecurityChecksFailed);
    let came = tokio::time::timeout(ms(100), attacker.accept()).await;
    assert!(came.is_err(), "the client connected to the service that the attacker named");
    // The wire is not what stands in the way.
    let wire = Wire::changing(server.address, from.clone().into_bytes(), from.into_bytes()).await;
    TokenClient::connect(client(&wire.url())).await.unwrap();
}

/// Every application of a plant may be trusted: only one of them is the authorization service.
#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_application_that_is_not_the_service_gets_no_password() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let named = |issuer: &str| {
        let said = serde_json::json!({ "ua:resourceId": "urn:test:plc", "ua:authorityUrl": authority.url(), "ua:issuer": issuer });
        Setup { issuer_endpoint_url: said.to_string(), ..Setup::new(&authority) }
    };
    let connect = async |setup: &Setup, server: ExpectedServer, any_host: bool| {
        let resource = resource(None, setup).await;
        let mut settings = client(&resource.url());
        settings.authority.server = server;
        settings.session.server.danger_any_host_name = any_host;
        TokenClient::connect(settings).await.map(drop)
    };
    let pinned = |uri: &str| ExpectedServer::pinned(PinnedApplication::ApplicationUri(uri.to_owned()));
    let refused = connect(&Setup::new(&authority), pinned("urn:test:other"), false).await;
    assert_eq!(status(refused), StatusCode::BadCertificateUriInvalid);
    // What the resource says counts, where it is certain which resource that is.
    let none = ExpectedServer::default();
    let refused = connect(&named("urn:test:other"), none.clone(), false).await;
    assert_eq!(status(refused), StatusCode::BadCertificateUriInvalid);
    let refused = connect(&named("urn:test:authority"), none.clone(), true).await.unwrap_err();
    assert!(refused.reason().contains("the resource could be anybody"), "{refused}");
    let refused = connect(&Setup::new(&authority), none.clone(), false).await.unwrap_err();
    assert!(refused.reason().contains("the resource does not"), "{refused}");
    assert_eq!(authority.server.session_count(), 0);
    connect(&named("urn:test:authority"), none, false).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_has_just_begun_is_waited_for() {
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let server = resource(None, &Setup::new(&authority)).await;
    let service = std::sync::Arc::clone(server.server.service());
    service.refuses.store(true, Ordering::Relaxed);
    let begins = tokio::spawn(async move {
        while service.activations.lock().unwrap().len() < 2 {
            sleep(ms(20)).await;
        }
        service.refuses.store(false, Ordering::Relaxed);
    });
    TokenClient::connect(client(&server.url())).await.unwrap();
    begins.await.unwrap();
}

/// Servers take tokens of several kinds and issuers: the token goes under the policy that named its issuer.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_policies_for_tokens_the_one_that_fits_is_used() {
    const OAUTH: &str = r#"{"ua:authorityUrl":"https://x","ua:authorityProfileUri":"http://opcfoundation.org/UA/Authorization#OAuth2"}"#;
    let issuer = Issuer::new(ms(60_000));
    let authority = authority(None, &issuer).await;
    let before = vec![
        ("http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1", ""),
        (JWT_TOKEN_TYPE, OAUTH),
    ];
    let server = resource(None, &Setup { before, ..Setup::new(&authority) }).await;
    let client = TokenClient::connect(client(&server.url())).await.unwrap();
    assert!(client.read_values(&[temperature()]).await.is_ok());
    let policies = server.server.service().policies.lock().unwrap().clone();
    assert!(policies.iter().all(|policy| policy.ends_with('2')), "{policies:?}");
}
