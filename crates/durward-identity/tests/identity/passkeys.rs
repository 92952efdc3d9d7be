//! Passkeys as authenticators make them and as attackers would: what is right is taken, and everything else is refused for its reason.

use std::sync::Arc;

use durward_identity::passkey::{
    Assertion, CreationOptions, PASSKEYS_MAX, Passkey, PasskeyRefusal, PasskeyUse, Passkeys, Registered,
    Registration, RelyingParty, RequestOptions, UserHandle, Verification, register, verify,
};
use durward_identity::session::User;
use durward_identity::user::{Account, Directory, HashCosts, UserStore as _};
use durward_identity::{Moment, SystemEntropy};
use serde_json::Value;

use crate::authenticator::{Authenticator, BACKED_UP, ELIGIBLE, PRESENT, VERIFIED, cbor, decode, encode};

const ORIGIN: &str = "https://login.example.org";
const CHALLENGE: &[u8] = b"a challenge of enough bytes";

fn party() -> RelyingParty {
    RelyingParty::new("example.org", "Example", vec![ORIGIN.to_owned()]).unwrap()
}

fn handle() -> UserHandle {
    UserHandle::of(&[9; 32]).unwrap()
}

fn creation(passkeys: &Passkeys) -> Value {
    let party = party();
    let handle = handle();
    let options = CreationOptions {
        party: &party,
        challenge: CHALLENGE,
        handle: &handle,
        name: "anna",
        passkeys,
        verification: Verification::Required,
        timeout_ms: 60_000,
    };
    options.to_json()
}

fn request() -> Value {
    let party = party();
    let (passkeys, verification) = (None, Verification::Required);
    RequestOptions { party: &party, challenge: CHALLENGE, passkeys, verification, timeout_ms: 60_000 }
        .to_json()
}

fn registered(credential: &Value) -> Result<Registered, PasskeyRefusal> {
    let registration = Registration::read(&credential.to_string())?;
    register(&party(), CHALLENGE, Verification::Required, &registration)
}

fn passkey(credential: &Value) -> Passkey {
    Passkey::new(registered(credential).unwrap(), "phone", Moment::from_s(7)).unwrap()
}

/// The passkeys of a user with this authenticator.
fn enrolled(authenticator: &mut Authenticator) -> Passkeys {
    let mut passkeys = Passkeys::default();
    passkeys.add(passkey(&authenticator.create(&creation(&passkeys))), handle()).unwrap();
    passkeys
}

fn verified(passkeys: &Passkeys, credential: &Value) -> Result<PasskeyUse, PasskeyRefusal> {
    let assertion = Assertion::read(&credential.to_string())?;
    verify(&party(), CHALLENGE, Verification::Required, passkeys, &assertion)
}

#[test]
fn each_kind_of_key_is_enrolled_kept_and_used() {
    for mut authenticator in
        [Authenticator::new(ORIGIN), Authenticator::ed25519(ORIGIN), Authenticator::rsa(ORIGIN)]
    {
        let passkeys = enrolled(&mut authenticator);
        let text = serde_json::to_string(&passkeys).unwrap();
        let mut kept: Passkeys = serde_json::from_str(&text).unwrap();
        assert_eq!(kept, passkeys);
        for _ in 0..3 {
            let used = verified(&kept, &authenticator.get(&request())).unwrap();
            assert_eq!(kept.used(&used), Some(true));
        }
    }
}

#[test]
fn options_say_who_asks_and_for_which_keys() {
    let mut authenticator = Authenticator::new(ORIGIN);
    let passkeys = enrolled(&mut authenticator);
    let options = creation(&passkeys);
    assert_eq!(options["rp"]["id"], "example.org");
    assert_eq!(options["attestation"], "none");
    let algorithms: Vec<i64> = options["pubKeyCredParams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["alg"].as_i64().unwrap())
        .collect();
    assert_eq!(algorithms, [-7, -8, -257]);
    assert_eq!(options["excludeCredentials"][0]["id"], encode(&authenticator.id));
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(decode(options["challenge"].as_str().unwrap()), CHALLENGE);
    assert_eq!(request()["allowCredentials"], serde_json::json!([]));
}

#[test]
fn a_registration_that_is_wrong_in_one_part_is_refused_for_it() {
    let refused = |change: &dyn Fn(&mut Authenticator)| {
        let mut authenticator = Authenticator::new(ORIGIN);
        change(&mut authenticator);
        registered(&authenticator.create(&creation(&Passkeys::default()))).unwrap_err()
    };
    assert_eq!(refused(&|it| it.origin = "https://evil.example".to_owned()), PasskeyRefusal::Origin);
    assert_eq!(refused(&|it| it.origin = format!("{ORIGIN}.evil.example")), PasskeyRefusal::Origin);
    assert_eq!(refused(&|it| it.cross_origin = true), PasskeyRefusal::CrossOrigin);
    assert_eq!(refused(&|it| it.rp_id = Some("other.example".to_owned())), PasskeyRefusal::RelyingParty);
    assert_eq!(refused(&|it| it.kind = Some("webauthn.get")), PasskeyRefusal::Type);
    assert_eq!(refused(&|it| it.flags = VERIFIED), PasskeyRefusal::UserPresent);
    assert_eq!(refused(&|it| it.flags = PRESENT), PasskeyRefusal::UserVerified);
    assert_eq!(refused(&|it| it.flags |= BACKED_UP), PasskeyRefusal::Backup);
    assert_eq!(refused(&|it| it.id = vec![1; 15]), PasskeyRefusal::IdLength);
    assert_eq!(refused(&|it| it.id = vec![1; 1024]), PasskeyRefusal::IdLength);
    assert!(matches!(refused(&|it| it.behind = vec![0]), PasskeyRefusal::Malformed(_)));
    // Extensions are said to follow, and do not.
    assert!(matches!(refused(&|it| it.flags |= 128), PasskeyRefusal::Malformed(_)));
}

#[test]
fn identifiers_of_every_length_that_may_be_are_taken() {
    for length in [16, 64, 1023] {
        let mut authenticator = Authenticator::new(ORIGIN);
        authenticator.id = vec![1; length];
        assert_eq!(
            registered(&authenticator.create(&creation(&Passkeys::default()))).unwrap().id().len(),
            length
        );
    }
}

#[test]
fn attestations_are_read_and_not_believed() {
    let mut authenticator = Authenticator::new(ORIGIN);
    authenticator.format = "packed";
    let passkeys = enrolled(&mut authenticator);
    assert!(verified(&passkeys, &authenticator.get(&request())).is_ok());
}

#[test]
fn keys_that_were_not_offered_or_fit_no_better_are_refused() {
    let refused = |entries: &[(i64, Vec<u8>)]| {
        let entries: Vec<_> =
            entries.iter().map(|(key, value)| (cbor::number(*key), value.clone())).collect();
        let mut authenticator = Authenticator::new(ORIGIN);
        authenticator.cose = Some(cbor::map(&entries));
        registered(&authenticator.create(&creation(&Passkeys::default()))).unwrap_err()
    };
    let (number, bytes) = (cbor::number, cbor::bytes);
    let point = |algorithm, curve, x: &[u8], y: &[u8]| {
        [(1, number(2)), (3, number(algorithm)), (-1, number(curve)), (-2, bytes(x)), (-3, bytes(y))]
    };
    // ES384, no algorithm, another curve, a point beside the curve, coordinates that are too short.
    for entries in [
        point(-35, 2, &[1; 48], &[1; 48]),
        point(-7, 2, &[1; 32], &[1; 32]),
        point(-7, 1, &[1; 32], &[1; 32]),
        point(-7, 1, &[1; 31], &[1; 32]),
    ] {
        assert_eq!(refused(&entries), PasskeyRefusal::Algorithm);
    }
    assert_eq!(refused(&[(1, number(2)), (-1, number(1))]), PasskeyRefusal::Algorithm);
    // A key of RSA of 512 bits, and one that says the algorithm of another kind.
    let rsa = |algorithm| {
        [(1, number(3)), (3, number(algorithm)), (-1, bytes(&[0xff; 64])), (-2, bytes(&[1, 0, 1]))]
    };
    assert_eq!(refused(&rsa(-257)), PasskeyRefusal::Algorithm);
    assert_eq!(refused(&rsa(-7)), PasskeyRefusal::Algorithm);
    // A parameter twice.
    let twice = [&point(-7, 1, &[1; 32], &[1; 32])[..], &[(3, number(-257))]].concat();
    assert!(matches!(refused(&twice), PasskeyRefusal::Malformed(_)));
}

#[test]
fn an_attestation_that_is_cut_anywhere_is_refused() {
    let credential = Authenticator::new(ORIGIN).create(&creation(&Passkeys::default()));
    let object = decode(credential["response"]["attestationObject"].as_str().unwrap());
    for length in 0..object.len() {
        let mut cut = credential.clone();
        cut["response"]["attestationObject"] = encode(&object[..length]).into();
        assert!(registered(&cut).is_err(), "{length}");
    }
    let mut longer = credential;
    longer["response"]["attestationObject"] = encode([object.as_slice(), &[0]].concat()).into();
    assert!(registered(&longer).is_err());
}

#[test]
fn an_identifier_beside_the_one_that_is_attested_is_refused() {
    let mut credential = Authenticator::new(ORIGIN).create(&creation(&Passkeys::default()));
    credential["id"] = encode([3; 32]).into();
    assert!(registered(&credential).is_err(), "`id` and `rawId` differ");
    credential["rawId"] = credential["id"].clone();
    assert_eq!(registered(&credential).unwrap_err(), PasskeyRefusal::Unknown);
}

#[test]
fn an_assertion_that_is_wrong_in_one_part_is_refused_for_it() {
    let refused = |change: &dyn Fn(&mut Authenticator)| {
        let mut authenticator = Authenticator::new(ORIGIN);
        let passkeys = enrolled(&mut authenticator);
        assert!(verified(&passkeys, &authenticator.get(&request())).is_ok());
        change(&mut authenticator);
        verified(&passkeys, &authenticator.get(&request())).unwrap_err()
    };
    assert_eq!(refused(&|it| it.origin = "https://evil.example".to_owned()), PasskeyRefusal::Origin);
    assert_eq!(refused(&|it| it.rp_id = Some("login.example.org".to_owned())), PasskeyRefusal::RelyingParty);
    assert_eq!(refused(&|it| it.kind = Some("webauthn.create")), PasskeyRefusal::Type);
    assert_eq!(refused(&|it| it.cross_origin = true), PasskeyRefusal::CrossOrigin);
    assert_eq!(refused(&|it| it.flags = VERIFIED), PasskeyRefusal::UserPresent);
    assert_eq!(refused(&|it| it.flags = PRESENT), PasskeyRefusal::UserVerified);
    assert_eq!(refused(&|it| it.flags |= ELIGIBLE), PasskeyRefusal::Backup);
    assert_eq!(refused(&|it| it.flags |= BACKED_UP), PasskeyRefusal::Backup);
    assert_eq!(refused(&|it| it.handle = None), PasskeyRefusal::UserHandle);
    assert_eq!(refused(&|it| it.handle = Some(vec![8; 32])), PasskeyRefusal::UserHandle);
    assert_eq!(refused(&|it| it.id = vec![1; 32]), PasskeyRefusal::Unknown);
    assert_eq!(refused(&|it| (it.count, it.step) = (1, 0)), PasskeyRefusal::SignCount);
    assert_eq!(refused(&|it| (it.count, it.step) = (0, 0)), PasskeyRefusal::SignCount);
    assert!(matches!(refused(&|it| it.behind = vec![0]), PasskeyRefusal::Malformed(_)));
}

#[test]
fn only_the_signature_of_the_key_over_these_very_bytes_counts() {
    let (mut authenticator, mut other) = (Authenticator::new(ORIGIN), Authenticator::new(ORIGIN));
    let passkeys = enrolled(&mut authenticator);
    // Another key under the same identifier.
    (other.id, other.handle, other.count) = (authenticator.id.clone(), authenticator.handle.clone(), 5);
    assert_eq!(verified(&passkeys, &other.get(&request())), Err(PasskeyRefusal::Signature));
    let credential = authenticator.get(&request());
    for part in ["signature", "authenticatorData"] {
        let bytes = decode(credential["response"][part].as_str().unwrap());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let mut forged = credential.clone();
            forged["response"][part] = encode(changed).into();
            assert!(verified(&passkeys, &forged).is_err(), "{part} {at}");
            forged["response"][part] = encode(&bytes[..at]).into();
            assert!(verified(&passkeys, &forged).is_err(), "{part} cut at {at}");
        }
    }
    // A space more in what the browser says.
    let mut forged = credential.clone();
    let data = decode(credential["response"]["clientDataJSON"].as_str().unwrap());
    forged["response"]["clientDataJSON"] = encode([data.as_slice(), b" "].concat()).into();
    assert_eq!(verified(&passkeys, &forged), Err(PasskeyRefusal::Signature));
    // Another challenge than the one that was given.
    let assertion = Assertion::read(&credential.to_string()).unwrap();
    let replayed = verify(&party(), b"another challenge", Verification::Required, &passkeys, &assertion);
    assert_eq!(replayed, Err(PasskeyRefusal::Challenge));
    assert!(verified(&passkeys, &credential).is_ok());
}

#[test]
fn what_is_no_credential_or_is_huge_is_refused() {
    let mut credential = Authenticator::new(ORIGIN).create(&creation(&Passkeys::default()));
    for text in ["", "{}", "[]", "null", "{\"id\":1}"] {
        assert!(Registration::read(text).is_err() && Assertion::read(text).is_err(), "{text}");
    }
    assert!(Assertion::read(&credential.to_string()).is_err());
    credential["response"]["attestationObject"] = "A".repeat(1 << 20).into();
    assert!(Registration::read(&credential.to_string()).is_err());
    credential["response"]["attestationObject"] = "not Base64!".into();
    assert!(Registration::read(&credential.to_string()).is_err());
}

#[test]
fn a_passkey_is_enrolled_once_and_there_is_a_bound() {
    let mut authenticator = Authenticator::new(ORIGIN);
    let mut passkeys = enrolled(&mut authenticator);
    let again = passkey(&authenticator.create(&creation(&Passkeys::default())));
    assert!(passkeys.add(again.clone(), handle()).is_err());
    let other = passkey(&Authenticator::new(ORIGIN).create(&creation(&passkeys)));
    assert!(passkeys.add(other, UserHandle::of(&[8; 32]).unwrap()).is_err(), "of another handle");
    for _ in 1..PASSKEYS_MAX {
        passkeys.add(passkey(&Authenticator::new(ORIGIN).create(&creation(&passkeys))), handle()).unwrap();
    }
    let beyond = passkey(&Authenticator::new(ORIGIN).create(&creation(&passkeys)));
    assert!(passkeys.add(beyond, handle()).is_err());
    assert!(passkeys.rename(&again.reference(), "  my phone ").unwrap());
    assert_eq!(passkeys.named(&again.reference()).unwrap().name, "my phone");
    for name in ["", " ", "a\nb", &"x".repeat(65)] {
        assert!(passkeys.rename(&again.reference(), name).is_err(), "{name}");
    }
    assert!(passkeys.remove(&again.reference()) && !passkeys.remove(&again.reference()));
}

#[test]
fn a_directory_knows_users_by_their_handle_and_each_count_once() {
    let costs = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };
    let directory = Directory::in_memory(costs, Arc::new(SystemEntropy)).unwrap();
    let anna = User::new("/", "anna").unwrap();
    let mut authenticator = Authenticator::new(ORIGIN);
    let passkeys = enrolled(&mut authenticator);
    directory.put(Account { passkeys: passkeys.clone(), ..Account::new(&anna) }).unwrap();
    assert_eq!(directory.user_of_handle(&handle()), Some(anna.clone()));
    let used = verified(&passkeys, &authenticator.get(&request())).unwrap();
    assert!(directory.use_passkey(&anna, &used).unwrap());
    assert!(!directory.use_passkey(&anna, &used).unwrap(), "the same count");
    let kept = directory.account(&anna).unwrap().unwrap().passkeys;
    assert!(directory.change(&anna, |account| account.passkeys = Passkeys::default()).unwrap());
    assert_eq!(directory.user_of_handle(&handle()), None);
    assert!(!directory.use_passkey(&anna, &used).unwrap());
    assert!(directory.change(&anna, |account| account.passkeys = kept).unwrap());
    assert!(directory.remove(Moment::from_s(9), &anna).unwrap());
    assert_eq!(directory.user_of_handle(&handle()), None);
}

#[test]
fn an_authenticator_that_does_not_count_changes_nothing() {
    let mut authenticator = Authenticator::new(ORIGIN);
    (authenticator.step, authenticator.flags) = (0, PRESENT | VERIFIED | ELIGIBLE);
    let mut passkeys = enrolled(&mut authenticator);
    let used = verified(&passkeys, &authenticator.get(&request())).unwrap();
    assert_eq!(passkeys.used(&used), Some(false));
    authenticator.flags |= BACKED_UP;
    let used = verified(&passkeys, &authenticator.get(&request())).unwrap();
    assert_eq!((passkeys.used(&used), passkeys.iter().next().unwrap().is_backed_up()), (Some(true), true));
}
