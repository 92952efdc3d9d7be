//! StartRequestToken, FinishRequestToken, RefreshToken; garbage.

use super::*;

#[tokio::test]
async fn requests_are_started_finished_once_and_renewed() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let started = world.start_request(&session, "username", b"").await.unwrap();
    let finish =
        || world.finish_request(&session, &started[1], &[], named("anna", "engine"), SignatureData::null());
    let tokens = finish().await.unwrap();
    assert_eq!(world.verify(&text(&tokens[0])).subject(), "anna");
    assert_eq!(finish().await, Err(StatusCode::BadNotFound), "the request is used up");
    // From another session of the same client, with a request that is not its own.
    let started = world.start_request(&session, "username", b"").await.unwrap();
    let second = world.client(&ClientIdentity::Anonymous).await;
    let stolen =
        world.finish_request(&second, &started[1], &[], named("anna", "engine"), SignatureData::null()).await;
    assert_eq!(stolen, Err(StatusCode::BadNotFound));
    // Renewal: from another session, not from another certificate, not for another resource, once.
    let other = world.gate().await;
    assert_eq!(world.refresh(&other, PLC, &tokens[2]).await, Err(StatusCode::BadIdentityTokenRejected));
    assert_eq!(
        world.refresh(&second, HISTORIAN, &tokens[2]).await,
        Err(StatusCode::BadIdentityTokenRejected)
    );
    let renewed = world.refresh(&second, PLC, &tokens[2]).await.unwrap();
    assert_eq!(world.verify(&text(&renewed[0])).subject(), "anna");
    assert_eq!(renewed[3], tokens[3], "the end does not move");
    assert_eq!(world.refresh(&second, PLC, &tokens[2]).await, Err(StatusCode::BadIdentityTokenRejected));
    assert_eq!(
        world.refresh(&second, PLC, &renewed[2]).await,
        Err(StatusCode::BadIdentityTokenRejected),
        "its family ended"
    );
    assert_eq!(world.service().figures().refused(RefusalReason::Repeated), 1);
    // A recall of the subject ends what was given.
    let tokens = world.login(&session, "anna", "engine").await.unwrap();
    world.service().revoke(CutoffTarget::Subject("anna".into())).await.unwrap();
    assert_eq!(world.refresh(&session, PLC, &tokens[2]).await, Err(StatusCode::BadIdentityTokenRejected));
    assert_eq!(world.login(&session, "anna", "wrong").await, Err(StatusCode::BadIdentityTokenRejected));
}

#[tokio::test]
async fn a_refresh_token_outlives_a_decision_point_that_is_down() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let tokens = world.login(&session, "anna", "engine").await.unwrap();
    world.decider.down.store(true, Ordering::SeqCst);
    assert_eq!(world.refresh(&session, PLC, &tokens[2]).await, Err(StatusCode::BadResourceUnavailable));
    world.decider.down.store(false, Ordering::SeqCst);
    assert!(world.refresh(&session, PLC, &tokens[2]).await.is_ok());
}

#[tokio::test]
async fn roles_that_are_asked_for_narrow_a_token() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let finish = async |roles: &'static [&'static str]| {
        let started = world.start_request(&session, "username", b"").await.unwrap();
        let tokens = world.finish_request(
            &session,
            &started[1],
            roles,
            named("anna", "engine"),
            SignatureData::null(),
        );
        tokens.await.map(|tokens| world.verify(&text(&tokens[0])))
    };
    let narrow = finish(&["engineer", "manager"]).await.unwrap();
    assert_eq!(narrow.roles(), ["engineer"]);
    assert_grants(&narrow, &["engineer"]);
    assert_grants(&finish(&["operator"]).await.unwrap(), &["operator"]);
}

#[tokio::test]
async fn a_certificate_needs_a_proof_over_the_service_data() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&ClientIdentity::Anonymous).await;
    let policy = SecurityPolicy::Basic256Sha256;
    let id = "certificate_Basic256Sha256";
    assert_eq!(world.start_request(&session, id, &[7; 31]).await, Err(StatusCode::BadInvalidArgument));
    let identity = Variant::from(ExtensionObject::new(X509IdentityToken {
        policy_id: id.into(),
        certificate_data: ByteString::from(OTHER.certificate().der().to_vec()),
    }));
    let proof = |service_data: &Variant, key: &OwnCertificate| {
        let Variant::ByteString(data) = service_data else { panic!("service data") };
        let signed = [SERVICE.certificate().der(), data.as_ref()].concat();
        let signature = crypto::sign(policy, key.key(), &signed).unwrap();
        SignatureData { algorithm: policy.signature_uri().into(), signature: ByteString::from(signature) }
    };
    let started = world.start_request(&session, id, &[7; 32]).await.unwrap();
    let first = proof(&started[0], &OTHER);
    let tokens =
        world.finish_request(&session, &started[1], &[], identity.clone(), first.clone()).await.unwrap();
    let verified = world.verify(&text(&tokens[0]));
    assert!(
        verified.subject().starts_with("certificate:"),
        "bound to the channel's certificate, not to the user's"
    );
    assert_grants(&verified, &["operator"]);
    // The proof of an earlier request, another key's, none.
    let started = world.start_request(&session, id, &[7; 32]).await.unwrap();
    let refused = StatusCode::BadUserSignatureInvalid;
    for wrong in [first, proof(&started[0], &CLIENT), SignatureData::null()] {
        let started = world.start_request(&session, id, &[7; 32]).await.unwrap();
        assert_eq!(
            world.finish_request(&session, &started[1], &[], identity.clone(), wrong).await,
            Err(refused)
        );
    }
    // A password where a certificate was agreed.
    let other = world
        .finish_request(&session, &started[1], &[], named("anna", "engine"), SignatureData::null())
        .await;
    assert_eq!(other, Err(StatusCode::BadIdentityTokenInvalid));
}

#[tokio::test]
async fn garbage_is_refused_and_the_service_goes_on() {
    let world = World::start().await.with_nodes().await;
    let session = world.client(&anna()).await;
    let methods = world.server.nodes().methods.clone();
    let long = Variant::from("x".repeat(60_000));
    let garbage = [
        Variant::Empty,
        Variant::from(f64::NAN),
        Variant::from("\u{0}\u{feff}"),
        long,
        Variant::from(vec!["a".to_owned(); 2_000]),
        Variant::from(ByteString::from(vec![0xff; 50_000])),
        Variant::from(ExtensionObject::new(opcua_types::Range { low: 1.0, high: 0.0 })),
        Variant::from(opcua_types::Guid::new()),
    ];
    for method in methods.all() {
        if method == methods.get_service_description {
            continue;
        }
        for count in 0..5 {
            for value in &garbage {
                let result = world.call(&session, &method, vec![value.clone(); count]).await;
                assert!(result.status_code.is_bad(), "{method} of {count} times {value:?}");
            }
        }
    }
    assert!(world.token(&session).await.is_ok());
    assert_eq!(world.service().figures().issued(), 1);
}
