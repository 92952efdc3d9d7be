//! What a server must not let happen. Requests are made by hand here: the client of ours does not make wrong ones.

use std::sync::Arc;
use std::time::Duration;

use durward_opcua::channel::{ChannelTarget, ClientChannel, SecurityOffer};
use durward_opcua::crypto::{self, OwnCertificate, SecurityPolicy, TokenSecurity};
use durward_opcua::error::Error;
use durward_opcua::session::{
    ClientIdentity, ClientSession, Endpoint, SessionServer, TokenPolicy, UserTokenKind, choose,
    connect_channel, discover,
};
use durward_opcua::wire;
use opcua_types::{
    ActivateSessionRequest, ActivateSessionResponse, AnonymousIdentityToken, BinaryDecodable,
    BinaryEncodable, CreateSessionRequest, CreateSessionResponse, ExtensionObject, IssuedIdentityToken,
    MessageInfo, MessageSecurityMode, NodeId, ReadResponse, RequestHeader, SignatureData, StatusCode,
    UAString, UserNameIdentityToken, X509IdentityToken,
};
use tokio::net::TcpStream;

use crate::fixture::{
    CLIENT, OTHER, Plant, Running, SERVER, USUAL, channel_settings, client_settings, client_settings_of,
    issued, kinds, read_request, server_settings, status, user, whoami,
};

const POLICY: SecurityPolicy = SecurityPolicy::Basic256Sha256;

async fn channel(running: &Running, own: &OwnCertificate, offer: SecurityOffer) -> ClientChannel {
    let target = ChannelTarget {
        endpoint_url: running.url(),
        policy: offer.policy,
        mode: offer.mode,
        server: offer.policy.is_secure().then(|| Arc::clone(SERVER.certificate())),
        server_issuers: Vec::new(),
    };
    let stream = TcpStream::connect(running.address).await.unwrap();
    ClientChannel::open(stream, target, Arc::new(channel_settings(own))).await.unwrap()
}

async fn ask<Q, R>(channel: &ClientChannel, request: &Q) -> Result<R, Error>
where
    Q: BinaryEncodable + MessageInfo,
    R: BinaryDecodable + MessageInfo,
{
    let owned = wire::context();
    let body = wire::encode_service(&owned.context(), request)?;
    let response = channel.request(body, Duration::from_secs(60)).await?;
    let peek = wire::ResponsePeek::read(&response)?;
    if peek.service_result.is_bad() {
        return Err(Error::new(peek.service_result, "refused"));
    }
    wire::decode_service(&owned.context(), &response)
}

fn create_request(certificate: &[u8], uri: &str, nonce: usize) -> CreateSessionRequest {
    let mut request = CreateSessionRequest::default();
    request.client_description.application_uri = UAString::from(uri);
    request.client_certificate = certificate.to_vec().into();
    request.client_nonce = vec![7; nonce].into();
    request.requested_session_timeout = 60_000.0;
    request
}

async fn create(channel: &ClientChannel) -> CreateSessionResponse {
    let request = create_request(CLIENT.certificate().der(), "urn:test:client", 32);
    ask(channel, &request).await.unwrap()
}

fn header(token: &NodeId) -> RequestHeader {
    RequestHeader { authentication_token: token.clone(), request_handle: 5, ..RequestHeader::default() }
}

/// An activation that proves the client's certificate for that nonce.
fn activation(token: &NodeId, nonce: &[u8], identity: ExtensionObject) -> ActivateSessionRequest {
    let data = [SERVER.certificate().der(), nonce].concat();
    ActivateSessionRequest {
        request_header: header(token),
        client_signature: SignatureData {
            algorithm: UAString::from(POLICY.signature_uri()),
            signature: crypto::sign(POLICY, CLIENT.key(), &data).unwrap().into(),
        },
        client_software_certificates: None,
        locale_ids: None,
        user_identity_token: identity,
        user_token_signature: SignatureData::default(),
    }
}

fn password(policy: &str, data: Vec<u8>, algorithm: &str) -> ExtensionObject {
    ExtensionObject::new(UserNameIdentityToken {
        policy_id: UAString::from(policy),
        user_name: UAString::from("ada"),
        password: data.into(),
        encryption_algorithm: UAString::from(algorithm),
    })
}

struct Raw {
    channel: ClientChannel,
    token: NodeId,
    nonce: Vec<u8>,
}

impl Raw {
    async fn new(running: &Running) -> Raw {
        let channel = channel(running, &CLIENT, USUAL).await;
        let created = create(&channel).await;
        Raw { channel, token: created.authentication_token, nonce: created.server_nonce.value.unwrap() }
    }

    async fn activate(&self, identity: ExtensionObject) -> Result<ActivateSessionResponse, Error> {
        ask(&self.channel, &activation(&self.token, &self.nonce, identity)).await
    }
}

/// Gap 2: certificate B on the channel of certificate A, and an ApplicationUri that nobody signed.
#[tokio::test]
async fn a_session_is_of_the_channels_certificate_and_its_application() {
    let running = Running::start().await;
    let channel = channel(&running, &CLIENT, USUAL).await;
    let own = CLIENT.certificate().der();
    let other = OTHER.certificate().der();
    let refused = async |request| status(ask::<_, CreateSessionResponse>(&channel, &request).await);
    assert_eq!(refused(create_request(other, "urn:test:other", 32)).await, StatusCode::BadCertificateInvalid);
    assert_eq!(
        refused(create_request(other, "urn:test:client", 32)).await,
        StatusCode::BadCertificateInvalid
    );
    assert_eq!(
        refused(create_request(own, "urn:forged:admin", 32)).await,
        StatusCode::BadCertificateUriInvalid
    );
    assert_eq!(
        refused(create_request(own, "urn:test:Client", 32)).await,
        StatusCode::BadCertificateUriInvalid
    );
    assert_eq!(refused(create_request(own, "", 32)).await, StatusCode::BadCertificateUriInvalid);
    assert_eq!(refused(create_request(&[], "urn:test:client", 32)).await, StatusCode::BadCertificateInvalid);
    assert_eq!(refused(create_request(own, "urn:test:client", 31)).await, StatusCode::BadNonceInvalid);
    assert_eq!(running.server.session_count(), 0);
    let chain = [own, other].concat();
    let created =
        ask::<_, CreateSessionResponse>(&channel, &create_request(&chain, "urn:test:client", 32)).await;
    created.unwrap();
}

/// Gap 4: plain where the policy demands encryption, and algorithms that the policy does not name.
#[tokio::test]
async fn secrets_are_encrypted_as_the_token_policy_says() {
    let mut settings = server_settings();
    settings.limits.activation_failures_max = 100;
    let running = Running::with(settings).await;
    let raw = Raw::new(&running).await;
    let id = "username_Basic256Sha256_e";
    let secret = b"ada's password";
    let sealed = crypto::encode_secret(
        TokenSecurity::Encrypted(POLICY),
        crypto::SecretFormat::Legacy,
        secret,
        SERVER.certificate(),
        &raw.nonce,
        crate::fixture::NOW,
    )
    .unwrap();
    let good = POLICY.encryption_uri();
    let rejected = [
        password(id, secret.to_vec(), ""),
        password(id, secret.to_vec(), good),
        password(id, sealed.data.clone(), ""),
        password(id, sealed.data.clone(), "http://www.w3.org/2001/04/xmlenc#rsa-1_5"),
        password(id, sealed.data.clone(), SecurityPolicy::Aes256Sha256RsaPss.encryption_uri()),
        password("username_Basic256Sha256_s", sealed.data.clone(), good),
        password("issued_Basic256Sha256_e", sealed.data.clone(), good),
        password("", sealed.data.clone(), good),
        password(id, vec![1; 17 * 1024], good),
        password(id, Vec::new(), good),
    ];
    for (number, identity) in rejected.into_iter().enumerate() {
        assert_eq!(status(raw.activate(identity).await), StatusCode::BadIdentityTokenInvalid, "{number}");
    }
    assert!(running.plant.seen.lock().unwrap().is_empty());
    raw.activate(password(id, sealed.data, good)).await.unwrap();
}

/// The longest token that is issued, and one that is a byte longer; 500 kB before and after a session is activated. None of them costs the
/// server more than reading it, but the first.
#[tokio::test]
async fn tokens_are_as_long_as_may_be_and_no_longer() {
    let running = Running::start().await;
    let token = |length: usize| {
        let mut token = b"token of ".to_vec();
        token.resize(length, b'x');
        ClientIdentity::Issued { token: token.into() }
    };
    let session = running.connect(USUAL).await;
    session.activate(&token(16 * 1024)).await.unwrap();
    assert_eq!(whoami(&session).await.unwrap().len(), 16 * 1024 - 9);
    assert_eq!(status(session.activate(&token(16 * 1024 + 1)).await), StatusCode::BadIdentityTokenInvalid);
    let began = std::time::Instant::now();
    assert_eq!(status(session.activate(&token(500_000)).await), StatusCode::BadIdentityTokenInvalid);
    // 2,340 private operations would take seconds.
    println!("a token of 500 kB was refused after {:?}", began.elapsed());
    assert_eq!(whoami(&session).await.unwrap().len(), 16 * 1024 - 9, "what was in force stays");

    // Who has not activated anything may send 96 KiB: the channel ends before the token is there.
    let raw = Raw::new(&running).await;
    let token = IssuedIdentityToken {
        policy_id: UAString::from("issued_Basic256Sha256_e"),
        token_data: vec![b'x'; 500_000].into(),
        encryption_algorithm: UAString::from(POLICY.encryption_uri()),
    };
    let refused = raw.activate(ExtensionObject::new(token)).await;
    assert_eq!(status(refused), StatusCode::BadTcpMessageTooLarge);
    assert_eq!(running.plant.seen.lock().unwrap().len(), 1, "the service saw the first one only");
}

/// A nonce counts once: what was sent before proves nothing again, neither signature nor secret.
#[tokio::test]
async fn nonces_are_used_once() {
    let running = Running::start().await;
    let raw = Raw::new(&running).await;
    let anonymous = || {
        ExtensionObject::new(AnonymousIdentityToken {
            policy_id: UAString::from("anonymous_Basic256Sha256_e"),
        })
    };
    let request = activation(&raw.token, &raw.nonce, anonymous());
    let first: ActivateSessionResponse = ask(&raw.channel, &request).await.unwrap();
    let replayed = ask::<_, ActivateSessionResponse>(&raw.channel, &request).await;
    assert_eq!(status(replayed), StatusCode::BadApplicationSignatureInvalid);

    // A fresh signature with a secret that was made for the old nonce.
    let sealed = crypto::encode_secret(
        TokenSecurity::Encrypted(POLICY),
        crypto::SecretFormat::Legacy,
        b"ada's password",
        SERVER.certificate(),
        &raw.nonce,
        crate::fixture::NOW,
    )
    .unwrap();
    let identity = password("username_Basic256Sha256_e", sealed.data, POLICY.encryption_uri());
    let nonce = first.server_nonce.value.unwrap();
    let replayed =
        ask::<_, ActivateSessionResponse>(&raw.channel, &activation(&raw.token, &nonce, identity)).await;
    assert_eq!(status(replayed), StatusCode::BadIdentityTokenInvalid);
    ask::<_, ActivateSessionResponse>(&raw.channel, &activation(&raw.token, &nonce, anonymous()))
        .await
        .unwrap();
}

/// All are verified, all users are good, all signed the same nonce: the first swap wins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_activations_that_race_one_succeeds() {
    let running = Running::start().await;
    let raw = Arc::new(Raw::new(&running).await);
    let sealed = crypto::encode_secret(
        TokenSecurity::Encrypted(POLICY),
        crypto::SecretFormat::Legacy,
        b"slow's password",
        SERVER.certificate(),
        &raw.nonce,
        crate::fixture::NOW,
    )
    .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (raw, sealed) = (Arc::clone(&raw), sealed.clone());
        let token = UserNameIdentityToken {
            policy_id: UAString::from("username_Basic256Sha256_e"),
            user_name: UAString::from("slow"),
            password: sealed.data.into(),
            encryption_algorithm: UAString::from(sealed.algorithm),
        };
        tasks.spawn(async move { raw.activate(ExtensionObject::new(token)).await });
    }
    while running.plant.seen.lock().unwrap().len() < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // A fifth is one too many at a time.
    assert_eq!(status(raw.activate(ExtensionObject::null()).await), StatusCode::BadTooManyOperations);
    running.plant.release.notify_waiters();
    let results = tasks.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    for result in results.into_iter().filter(Result::is_err) {
        assert_eq!(status(result), StatusCode::BadNonceInvalid);
    }
}

#[tokio::test]
async fn proofs_of_the_wrong_key_data_or_algorithm_are_refused() {
    let mut settings = server_settings();
    settings.limits.activation_failures_max = 100;
    let running = Running::with(settings).await;
    let raw = Raw::new(&running).await;
    let refused = async |request: ActivateSessionRequest| {
        status(ask::<_, ActivateSessionResponse>(&raw.channel, &request).await)
    };
    let good = || activation(&raw.token, &raw.nonce, ExtensionObject::null());
    let sign = |key: &OwnCertificate, data: &[u8]| crypto::sign(POLICY, key.key(), data).unwrap();
    let data = [SERVER.certificate().der(), raw.nonce.as_slice()].concat();

    let mut request = good();
    request.client_signature.signature = sign(&OTHER, &data).into();
    assert_eq!(refused(request).await, StatusCode::BadApplicationSignatureInvalid);
    let mut request = good();
    request.client_signature.signature = sign(&CLIENT, &raw.nonce).into();
    assert_eq!(refused(request).await, StatusCode::BadApplicationSignatureInvalid);
    let mut request = good();
    request.client_signature.algorithm = UAString::from("http://www.w3.org/2000/09/xmldsig#rsa-sha1");
    assert_eq!(refused(request).await, StatusCode::BadApplicationSignatureInvalid);
    let mut request = good();
    request.client_signature = SignatureData::default();
    assert_eq!(refused(request).await, StatusCode::BadApplicationSignatureInvalid);

    // The user's certificate needs a proof of its own.
    let token = X509IdentityToken {
        policy_id: UAString::from("certificate_Basic256Sha256_e"),
        certificate_data: OTHER.certificate().der().to_vec().into(),
    };
    let mut request = activation(&raw.token, &raw.nonce, ExtensionObject::new(token.clone()));
    request.user_token_signature = request.client_signature.clone();
    assert_eq!(refused(request).await, StatusCode::BadUserSignatureInvalid);
    let request = activation(&raw.token, &raw.nonce, ExtensionObject::new(token));
    assert_eq!(refused(request).await, StatusCode::BadUserSignatureInvalid);
    assert!(running.plant.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_session_that_nobody_can_activate_is_closed() {
    let running = Running::start().await;
    let raw = Raw::new(&running).await;
    for _ in 0..5 {
        let code = status(raw.activate(password("username_Basic256Sha256_e", vec![1], "")).await);
        assert_eq!(code, StatusCode::BadIdentityTokenInvalid);
    }
    assert_eq!(running.server.session_count(), 0);
    assert_eq!(status(raw.activate(ExtensionObject::null()).await), StatusCode::BadSessionIdInvalid);
}

/// One that is active was never closed for its failures, and could be tried without end.
#[tokio::test]
async fn an_active_session_waits_after_wrong_proofs() {
    let running = Running::start().await;
    let mut raw = Raw::new(&running).await;
    raw.nonce = raw.activate(ExtensionObject::null()).await.unwrap().server_nonce.value.unwrap();
    let wrong = || activation(&raw.token, &[9; 32], ExtensionObject::null());
    for _ in 0..5 {
        let refused = ask::<_, ActivateSessionResponse>(&raw.channel, &wrong()).await;
        assert_eq!(status(refused), StatusCode::BadApplicationSignatureInvalid);
    }
    assert_eq!(status(raw.activate(ExtensionObject::null()).await), StatusCode::BadTooManyOperations);
    let mut request = read_request(0.0);
    request.request_header = header(&raw.token);
    ask::<_, ReadResponse>(&raw.channel, &request).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    raw.activate(ExtensionObject::null()).await.unwrap();
}

#[tokio::test]
async fn sessions_are_bound_to_their_channel_until_they_move() {
    let running = Running::start().await;
    let session = running.connect(USUAL).await;
    session.activate(&user("ada")).await.unwrap();
    let endpoints = discover(&running.url(), &client_settings()).await.unwrap();
    let endpoint = choose(&endpoints, Some(USUAL)).unwrap();

    // To another channel with another user: refused, and nothing changes.
    let other = connect_channel(&running.url(), endpoint, &client_settings()).await.unwrap();
    let moved = session.activate_on(other, &user("grace")).await;
    assert_eq!(status(moved), StatusCode::BadIdentityChangeNotSupported);
    assert_eq!(whoami(&session).await.unwrap(), "ada");

    // With the same user: it moves, and the old channel serves it no more.
    let old = session.channel();
    let other = connect_channel(&running.url(), endpoint, &client_settings()).await.unwrap();
    session.activate_on(other, &user("ada")).await.unwrap();
    assert_eq!(whoami(&session).await.unwrap(), "ada");
    let mut request = read_request(0.0);
    request.request_header.request_handle = 1;
    let moved_from = ask::<_, ReadResponse>(&old, &request).await;
    assert_eq!(status(moved_from), StatusCode::BadSessionIdInvalid);
}

#[tokio::test]
async fn a_stolen_token_is_useless_on_another_channel() {
    let running = Running::start().await;
    let raw = Raw::new(&running).await;
    raw.activate(ExtensionObject::null()).await.unwrap();
    let mut request = read_request(0.0);
    request.request_header = header(&raw.token);
    for thief in [&*CLIENT, &*OTHER] {
        let other = channel(&running, thief, USUAL).await;
        let stolen = ask::<_, ReadResponse>(&other, &request).await;
        assert_eq!(status(stolen), StatusCode::BadSecureChannelIdInvalid);
        let activated = ask::<_, ActivateSessionResponse>(
            &other,
            &activation(&raw.token, &raw.nonce, ExtensionObject::null()),
        )
        .await;
        let expected = [StatusCode::BadSecurityChecksFailed, StatusCode::BadApplicationSignatureInvalid];
        assert!(expected.contains(&status(activated)));
    }
    ask::<_, ReadResponse>(&raw.channel, &request).await.unwrap();
}

#[tokio::test]
async fn a_new_session_is_activated_on_its_own_channel_only() {
    let running = Running::start().await;
    let raw = Raw::new(&running).await;
    let other = channel(&running, &CLIENT, USUAL).await;
    let request = activation(&raw.token, &raw.nonce, ExtensionObject::null());
    let activated = ask::<_, ActivateSessionResponse>(&other, &request).await;
    assert_eq!(status(activated), StatusCode::BadSecureChannelIdInvalid);
}

#[tokio::test]
async fn without_security_or_session_there_is_discovery_only() {
    let running = Running::start().await;
    let none = SecurityOffer { policy: SecurityPolicy::None, mode: MessageSecurityMode::None };
    let open = channel(&running, &CLIENT, none).await;
    let request = create_request(CLIENT.certificate().der(), "urn:test:client", 32);
    let created = ask::<_, CreateSessionResponse>(&open, &request).await;
    assert_eq!(status(created), StatusCode::BadSecurityModeInsufficient);
    let read = ask::<_, ReadResponse>(&open, &read_request(0.0)).await;
    assert_eq!(status(read), StatusCode::BadSecurityModeInsufficient);

    let secure = channel(&running, &CLIENT, USUAL).await;
    let read = ask::<_, ReadResponse>(&secure, &read_request(0.0)).await;
    assert_eq!(status(read), StatusCode::BadSessionIdInvalid);
}

#[tokio::test]
async fn sessions_are_bounded_and_the_oldest_unactivated_goes_first() {
    let mut settings = server_settings();
    settings.limits.sessions_max = 3;
    settings.limits.sessions_per_channel_max = 2;
    let running = Running::with(settings).await;
    let active = running.anonymous().await;
    let first = Raw::new(&running).await;
    let second = Raw::new(&running).await;
    let third = Raw::new(&running).await;
    assert_eq!(running.server.session_count(), 3);
    assert_eq!(status(first.activate(ExtensionObject::null()).await), StatusCode::BadSessionIdInvalid);
    second.activate(ExtensionObject::null()).await.unwrap();
    third.activate(ExtensionObject::null()).await.unwrap();
    let request = create_request(CLIENT.certificate().der(), "urn:test:client", 32);
    let fourth = ask::<_, CreateSessionResponse>(&first.channel, &request).await;
    assert_eq!(status(fourth), StatusCode::BadTooManySessions);
    assert_eq!(whoami(&active).await.unwrap(), "anonymous");
}

#[tokio::test]
async fn a_channel_takes_its_unactivated_sessions_with_it() {
    let running = Running::start().await;
    let raw = Raw::new(&running).await;
    assert_eq!(running.server.session_count(), 1);
    drop(raw);
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if running.server.session_count() == 0 {
            return;
        }
    }
    panic!("the session is still there");
}

#[tokio::test]
async fn other_certificates_cannot_take_a_session_over() {
    let running = Running::start().await;
    let session = running.connect(USUAL).await;
    session.activate(&user("ada")).await.unwrap();
    let endpoints = discover(&running.url(), &client_settings()).await.unwrap();
    let endpoint = choose(&endpoints, Some(USUAL)).unwrap();
    let other = connect_channel(&running.url(), endpoint, &client_settings_of(&OTHER)).await.unwrap();
    assert_eq!(status(session.activate_on(other, &user("ada")).await), StatusCode::BadSecurityChecksFailed);
    let signed = SecurityOffer { policy: POLICY, mode: MessageSecurityMode::Sign };
    let endpoint = choose(&endpoints, Some(signed)).unwrap();
    let weaker = connect_channel(&running.url(), endpoint, &client_settings()).await.unwrap();
    assert_eq!(status(session.activate_on(weaker, &user("ada")).await), StatusCode::BadSecurityModeRejected);
    assert_eq!(whoami(&session).await.unwrap(), "ada");
}

/// Gap 5, and other settings that would be weak: a server does not start with them.
#[test]
fn weak_or_ambiguous_settings_do_not_start() {
    let refused = |change: &dyn Fn(&mut durward_opcua::session::ServerSettings)| {
        let mut settings = server_settings();
        change(&mut settings);
        let error = SessionServer::new(settings, Arc::new(Plant::default())).unwrap_err();
        assert_eq!(error.status(), StatusCode::BadConfigurationError, "{error}");
        error.to_string()
    };
    let twice =
        refused(&|settings| settings.endpoints[1].tokens[0].id = settings.endpoints[0].tokens[0].id.clone());
    assert!(twice.contains("`anonymous_Basic256Sha256_s` is there twice"), "{twice}");
    let plain =
        TokenPolicy { id: "plain".to_owned(), kind: UserTokenKind::UserName, security: TokenSecurity::Plain };
    let readable = refused(&|settings| settings.endpoints[0].tokens.push(plain.clone()));
    assert!(readable.contains("in plain over a channel that is not encrypted"), "{readable}");
    let none = Endpoint::new(SecurityPolicy::None, MessageSecurityMode::None, &kinds());
    assert!(refused(&|settings| settings.endpoints.push(none.clone())).contains("has no security"));
    assert!(refused(&|settings| settings.endpoints.clear()).contains("no endpoint"));
    assert!(refused(&|settings| settings.endpoints[0].tokens.clear()).contains("no user token"));
    let other = refused(&|settings| settings.application_uri = "urn:test:else".to_owned());
    assert!(other.contains("`urn:test:server`, not of `urn:test:else`"), "{other}");
}

/// Sent once inside an encrypted channel, where the policy says so.
#[tokio::test]
async fn plain_secrets_are_taken_where_the_policy_says_plain_and_only_there() {
    let mut settings = server_settings();
    let endpoint = settings.endpoints.iter_mut().find(|endpoint| endpoint.offer == USUAL).unwrap();
    endpoint.tokens.iter_mut().for_each(|token| {
        if token.kind != UserTokenKind::Certificate {
            token.security = TokenSecurity::Plain;
        }
    });
    let running = Running::with(settings).await;
    let session = running.connect(USUAL).await;
    session.activate(&issued("grace")).await.unwrap();
    assert_eq!(whoami(&session).await.unwrap(), "grace");
    let raw = Raw::new(&running).await;
    let token = IssuedIdentityToken {
        policy_id: UAString::from("issued_Basic256Sha256_e"),
        token_data: b"token of grace".to_vec().into(),
        encryption_algorithm: UAString::from(POLICY.encryption_uri()),
    };
    let encrypted = raw.activate(ExtensionObject::new(token)).await;
    assert_eq!(status(encrypted), StatusCode::BadIdentityTokenInvalid);
}

/// A man in the middle of discovery is found out on the secured channel.
#[tokio::test]
async fn a_client_refuses_endpoints_that_discovery_did_not_show() {
    let running = Running::start().await;
    let discovered = discover(&running.url(), &client_settings()).await.unwrap();
    let endpoint = choose(&discovered, Some(USUAL)).unwrap().clone();
    let open = async || connect_channel(&running.url(), &endpoint, &client_settings()).await;
    let refused = async |endpoint, discovered: Vec<_>, channel| {
        status(ClientSession::create(channel, endpoint, &discovered, client_settings()).await)
    };
    // Only a weaker endpoint was shown.
    let fewer = vec![endpoint.clone()];
    assert_eq!(
        refused(endpoint.clone(), fewer, open().await.unwrap()).await,
        StatusCode::BadSecurityChecksFailed
    );
    // A policy was changed to have the password sent in plain.
    let mut changed = endpoint.clone();
    changed.user_identity_tokens.as_mut().unwrap()[1].security_policy_uri =
        UAString::from(SecurityPolicy::None.uri());
    let shown: Vec<_> = discovered
        .iter()
        .map(|other| if *other == endpoint { changed.clone() } else { other.clone() })
        .collect();
    assert_eq!(refused(changed, shown, open().await.unwrap()).await, StatusCode::BadSecurityChecksFailed);
    // Another certificate was shown: the server does not have its key.
    let mut changed = endpoint.clone();
    changed.server_certificate = OTHER.certificate().der().to_vec().into();
    changed.server.application_uri = UAString::from("urn:test:other");
    let mut settings = client_settings();
    let mut quick = channel_settings(&CLIENT);
    quick.handshake_max = Duration::from_secs(2);
    settings.channel = Arc::new(quick);
    connect_channel(&running.url(), &changed, &settings).await.unwrap_err();
}

#[tokio::test]
async fn an_identity_without_a_policy_is_not_sent() {
    let mut settings = server_settings();
    for endpoint in &mut settings.endpoints {
        endpoint.tokens.retain(|token| token.kind != UserTokenKind::UserName);
    }
    let running = Running::with(settings).await;
    let session = running.connect(USUAL).await;
    assert_eq!(status(session.activate(&user("ada")).await), StatusCode::BadIdentityTokenRejected);
    session.activate(&ClientIdentity::Anonymous).await.unwrap();
}

/// One client could have 256 requests of 16 MiB wait for a slow server.
#[tokio::test]
async fn bytes_of_requests_under_way_are_bounded() {
    let mut settings = server_settings();
    settings.limits.request_bytes_per_connection_max = 8 * 1024 * 1024;
    let running = Running::with(settings).await;
    let session = running.anonymous().await;
    // Answered after a second.
    let mut request = read_request(-1_000.0);
    let node = opcua_types::ReadValueId::new_value(NodeId::new(1, "x".repeat(1024 * 1024)));
    request.nodes_to_read = Some(vec![node]);
    let calls = (0..16).map(|_| session.call::<_, ReadResponse>(&request));
    let results = futures_util::future::join_all(calls).await;
    let (served, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(served.len(), 7, "each has a little more than a MiB");
    for refused in refused {
        assert_eq!(status(refused), StatusCode::BadTooManyOperations);
    }
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
    session.call::<_, ReadResponse>(&request).await.unwrap();
}

/// Gap 9: many sessions activate at once, and a connection that reads is not held up by them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_activations_at_once_all_succeed() {
    let running = Arc::new(Running::start().await);
    let reading = running.anonymous().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let running = Arc::clone(&running);
        tasks.spawn(async move {
            let session = running.connect(USUAL).await;
            session.activate(&user("ada")).await.unwrap();
            whoami(&session).await.unwrap()
        });
    }
    let mut reads = 0;
    while tasks.len() > 1 {
        tokio::select! {
            done = tasks.join_next() => assert_eq!(done.unwrap().unwrap(), "ada"),
            read = whoami(&reading) => { assert_eq!(read.unwrap(), "anonymous"); reads += 1; }
        }
    }
    assert!(reads > 20, "{reads} reads meanwhile");
}

/// 1,000 sessions, on 40 channels, all activated with an encrypted token in the same moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_activations_at_once_all_succeed() {
    let running = Running::start().await;
    let reading = running.anonymous().await;
    let mut sessions = Vec::new();
    for _ in 0..40 {
        let channel = Arc::new(channel(&running, &CLIENT, USUAL).await);
        for _ in 0..25 {
            let created = create(&channel).await;
            let nonce = created.server_nonce.value.unwrap();
            let sealed = crypto::encode_secret(
                TokenSecurity::Encrypted(POLICY),
                crypto::SecretFormat::Legacy,
                b"token of grace",
                SERVER.certificate(),
                &nonce,
                crate::fixture::NOW,
            )
            .unwrap();
            let token = IssuedIdentityToken {
                policy_id: UAString::from("issued_Basic256Sha256_e"),
                token_data: sealed.data.into(),
                encryption_algorithm: UAString::from(sealed.algorithm),
            };
            let request = activation(&created.authentication_token, &nonce, ExtensionObject::new(token));
            sessions.push((Arc::clone(&channel), request));
        }
    }
    let began = std::time::Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for (channel, request) in sessions {
        tasks.spawn(async move { ask::<_, ActivateSessionResponse>(&channel, &request).await.map(drop) });
    }
    let (mut reads, mut done) = (0, 0);
    while done < 1_000 {
        tokio::select! {
            activated = tasks.join_next() => { activated.unwrap().unwrap().unwrap(); done += 1; }
            read = whoami(&reading) => { assert_eq!(read.unwrap(), "anonymous"); reads += 1; }
        }
    }
    println!("1,000 activations took {:?}, {reads} reads meanwhile", began.elapsed());
    assert_eq!(running.plant.seen.lock().unwrap().len(), 1_001);
}
