//! Who gets which token.

use super::*;

#[tokio::test]
async fn an_application_gets_a_token_for_what_the_decision_point_says() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let token = world.token(&session).await.unwrap();
    let verified = world.verify(&token);
    assert_eq!(verified.subject(), "application:urn:test:client");
    assert_grants(&verified, &[]);
    let other = Thumbprint::of(OTHER.certificate().der());
    let stolen = world.verifier(PLC).verify(world.now(), token.as_bytes(), other, &table());
    assert_eq!(stolen.unwrap_err(), TokenRefusal::OtherClient);
    assert!(
        world.verifier(HISTORIAN).verify(world.now(), token.as_bytes(), other, &table()).is_err(),
        "the audience"
    );
    let figures = world.service().figures();
    assert_eq!((figures.issued(), figures.decisions(), figures.tables()), (1, 1, 1));
    assert!(
        world
            .notes
            .0
            .lock()
            .unwrap()
            .iter()
            .any(|note| note.starts_with("Issued") && note.contains("urn:plc"))
    );
}

#[tokio::test]
async fn a_user_gets_a_token_by_session_or_by_call() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    let verified = world.verify(&world.token(&session).await.unwrap());
    assert_eq!(
        (verified.subject(), verified.roles()),
        ("anna", &["operator".to_owned(), "engineer".to_owned()][..])
    );
    assert_grants(&verified, &["operator"]);
    // Explicit: the call names another user, and proves it; or says that the application alone is meant.
    let alone = world.client(&ClientIdentity::Anonymous).await;
    let verified = world.verify(&world.request(&alone, named("anna", "engine"), PLC).await.unwrap());
    assert_eq!(verified.subject(), "anna");
    let nobody = Variant::from(ExtensionObject::new(AnonymousIdentityToken { policy_id: "session".into() }));
    let verified = world.verify(&world.request(&session, nobody, PLC).await.unwrap());
    assert_eq!(verified.subject(), "application:urn:test:client");
    // A server that knows only roles.
    let token = world.request(&session, Variant::Empty, HISTORIAN).await.unwrap();
    let (client, none) = (Thumbprint::of(CLIENT.certificate().der()), NodeTable::new([]).unwrap());
    let verified = world.verifier(HISTORIAN).verify(world.now(), token.as_bytes(), client, &none).unwrap();
    assert_eq!(verified.roles()[0], "operator");
}

#[tokio::test]
async fn who_proves_nothing_gets_nothing() {
    let world = World::start().await.with_nodes().await;
    let session = ClientSession::connect(&world.url, Some(USUAL), client_settings_of(&CLIENT)).await.unwrap();
    let wrong = ClientIdentity::UserName { name: "anna".to_owned(), password: "wrong".to_owned().into() };
    assert_eq!(status(session.activate(&wrong).await), StatusCode::BadIdentityTokenRejected);
    session.activate(&ClientIdentity::Anonymous).await.unwrap();
    for (name, password) in [("anna", "wrong"), ("nobody", "engine"), ("anna", ""), ("", "engine")] {
        let refused = world.request(&session, named(name, password), PLC).await;
        assert_eq!(refused, Err(StatusCode::BadIdentityTokenRejected), "{name}/{password}");
    }
    // A certificate without a proof, and a password that claims to be encrypted.
    let certificate = X509IdentityToken {
        policy_id: "certificate_Basic256Sha256".into(),
        certificate_data: ByteString::from(OTHER.certificate().der().to_vec()),
    };
    let certificate = Variant::from(ExtensionObject::new(certificate));
    assert_eq!(world.request(&session, certificate, PLC).await, Err(StatusCode::BadIdentityTokenRejected));
    let sealed = UserNameIdentityToken {
        policy_id: "username".into(),
        user_name: "anna".into(),
        password: ByteString::from(vec![1; 256]),
        encryption_algorithm: SecurityPolicy::Basic256Sha256.encryption_uri().into(),
    };
    let sealed = Variant::from(ExtensionObject::new(sealed));
    assert_eq!(world.request(&session, sealed, PLC).await, Err(StatusCode::BadIdentityTokenInvalid));
    // A guest proves who they are, and may do nothing.
    let guest = world.request(&session, named("bert", "steam"), HISTORIAN).await;
    assert!(guest.is_ok(), "a role is granted");
    world.subjects.set_user("bert", "steam", &[]).unwrap();
    let guest = world.request(&session, named("bert", "steam"), HISTORIAN).await;
    assert_eq!(guest, Err(StatusCode::BadUserAccessDenied));
    let figures = world.service().figures();
    assert_eq!((figures.refused(RefusalReason::Identity), figures.refused(RefusalReason::Denied)), (7, 1));
}

#[tokio::test]
async fn a_user_who_is_removed_gets_no_token_in_an_open_session() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    assert!(world.token(&session).await.is_ok());
    world.subjects.remove_user("anna");
    assert_eq!(world.token(&session).await, Err(StatusCode::BadUserAccessDenied));
}

#[tokio::test]
async fn channels_that_are_only_signed_and_unknown_resources_get_nothing() {
    let world = World::start().await.with_nodes().await;
    let signed = SecurityOffer { mode: MessageSecurityMode::Sign, ..USUAL };
    let session = world.connect_as(&CLIENT, signed, &ClientIdentity::Anonymous).await;
    assert_eq!(world.token(&session).await, Err(StatusCode::BadSecurityModeInsufficient));
    let session = world.client(&ClientIdentity::Anonymous).await;
    assert_eq!(world.request(&session, Variant::Empty, "urn:else").await, Err(StatusCode::BadNotFound));
    assert_eq!(world.service().figures().refused(RefusalReason::UnknownResource), 1);
}

#[tokio::test]
async fn only_the_gate_of_a_resource_publishes_its_nodes() {
    let world = World::start().await;
    let client = world.client(&anna()).await;
    assert_eq!(world.token(&client).await, Err(StatusCode::BadResourceUnavailable), "no nodes yet");
    assert_eq!(world.publish(&client, PLC, table().pack()).await, StatusCode::BadUserAccessDenied);
    let gate = world.gate().await;
    assert_eq!(world.service().figures().gates(), 1);
    assert_eq!(world.publish(&gate, HISTORIAN, table().pack()).await, StatusCode::BadUserAccessDenied);
    assert_eq!(world.publish(&gate, PLC, b"no table".to_vec()).await, StatusCode::BadInvalidArgument);
    assert_eq!(world.token(&client).await, Err(StatusCode::BadResourceUnavailable));
    assert_eq!(world.publish(&gate, PLC, table().pack()).await, StatusCode::Good);
    world.verify(&world.token(&client).await.unwrap());
    // Tokens follow the table.
    let next = NodeTable::new([TableNode::new("urn:nodes", "Boiler.Setpoint").unwrap()]).unwrap();
    assert_eq!(world.publish(&gate, PLC, next.pack()).await, StatusCode::Good);
    let (token, client) = (world.token(&client).await.unwrap(), Thumbprint::of(CLIENT.certificate().der()));
    let verified = world.verifier(PLC).verify(world.now(), token.as_bytes(), client, &next).unwrap();
    assert_eq!(verified.grants().get(0, Permission::Write), GrantVerdict::Granted);
    gate.close(true).await.unwrap();
    assert_eq!(world.service().figures().gates(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_clients_at_once() {
    let world = Arc::new(World::start().await.with_nodes().await);
    let clients = (0..50).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let session = world.client(&anna()).await;
            world.token(&session).await.unwrap()
        })
    });
    for client in clients.collect::<Vec<_>>() {
        let token = client.await.unwrap();
        assert_eq!(world.verify(&token).subject(), "anna");
    }
    assert_eq!(world.service().figures().issued(), 50);
}

/// A gate that decides itself has to know who it decides about; other tokens need not carry it.
#[tokio::test]
async fn a_token_that_leaves_something_to_the_gate_says_what_is_known_of_the_subject() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    let verified = world.verify(&world.token(&session).await.unwrap());
    let facts = verified.live_facts().unwrap();
    assert_eq!((&*facts.kind, &*facts.application_uri), ("user", "urn:test:client"));
    assert_eq!((facts.security_mode.as_str(), facts.attributes.len()), ("SignAndEncrypt", 0));
    assert!(facts.certificate_subject.contains("CN="), "{}", facts.certificate_subject);

    let alone = world.client(&ClientIdentity::Anonymous).await;
    let verified = world.verify(&world.token(&alone).await.unwrap());
    assert_eq!(verified.live_facts(), None);
}
