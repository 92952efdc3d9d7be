//! Whose bundles are believed.

use std::collections::BTreeMap;

use durward_bundle::{BundleDraft, SigningKey, Trust};

use crate::{bundle, draft, read};

fn key() -> SigningKey {
    SigningKey::generate().unwrap()
}

fn why_not(bytes: &[u8], trust: &Trust, tenant: &str) -> String {
    read(bytes).verify(trust, tenant).unwrap_err().to_string()
}

#[test]
fn nobody_is_trusted_unless_named() {
    let signer = key();
    let signed = bundle(Some((&signer, "k1")));
    assert!(Trust::default().is_empty());
    assert_eq!(
        why_not(&signed, &Trust::default(), "a"),
        "there is no key to verify the bundles of tenant `a` with"
    );
    assert_eq!(why_not(&bundle(None), &Trust::default(), "a"), "it is not signed");
    assert_eq!(why_not(&bundle(None), &Trust::one(signer.verifying_key()), "a"), "it is not signed");
    assert!(read(&signed).verify(&Trust::one(signer.verifying_key()), "a").is_ok());
    assert!(why_not(&signed, &Trust::one(key().verifying_key()), "a").starts_with("the signature is wrong"));
}

#[test]
fn a_key_signs_only_for_its_tenants() {
    let (one, two) = (key(), key());
    let trust = Trust {
        keys: BTreeMap::from([("one".into(), one.verifying_key()), ("two".into(), two.verifying_key())]),
        tenants: BTreeMap::from([
            ("a".into(), vec!["one".into()]),
            ("b".into(), vec!["two".into(), "gone".into()]),
        ]),
        ..Trust::default()
    };
    let of_one = bundle(Some((&one, "one")));
    assert!(read(&of_one).verify(&trust, "a").is_ok());
    assert_eq!(why_not(&of_one, &trust, "b"), "the key `one` may not sign for tenant `b`");
    // A tenant that nobody has named has no key, not any.
    assert_eq!(why_not(&of_one, &trust, "c"), "there is no key to verify the bundles of tenant `c` with");
    // A signature that calls its key by another's name.
    let pretending = bundle(Some((&one, "two")));
    assert!(why_not(&pretending, &trust, "b").starts_with("the signature is wrong"));
    assert_eq!(why_not(&bundle(Some((&one, "gone"))), &trust, "b"), "there is no key `gone`");
}

#[test]
fn unsigned_bundles_are_taken_only_where_that_is_said() {
    let unsigned = bundle(None);
    let one = Trust { unsigned_tenants: ["dev".to_owned()].into(), ..Trust::default() };
    assert!(read(&unsigned).verify(&one, "dev").is_ok());
    assert_eq!(why_not(&unsigned, &one, "prod"), "it is not signed");
    let all = Trust { allow_unsigned: true, ..Trust::default() };
    assert!(read(&unsigned).verify(&all, "prod").is_ok());
    // A wrong signature is worse than none, where there is a key.
    let keyed = Trust { key: Some(key().verifying_key()), ..all };
    assert!(why_not(&bundle(Some((&key(), "k"))), &keyed, "prod").starts_with("the signature is wrong"));
}

/// Everything that a manifest says is signed, and every file is in it.
#[test]
fn whatever_is_changed_after_signing_shows() {
    let signer = key();
    let trust = Trust::one(signer.verifying_key());
    let signed = bundle(Some((&signer, "k1")));
    let manifest = read(&signed).manifest().clone();
    let mut newer = manifest.clone();
    newer.created = "2027-01-01T00:00:00Z".parse().unwrap();
    let mut renamed = manifest.clone();
    renamed.configuration_id = "other".into();
    let mut longer = manifest.clone();
    longer.files.push(("z.sapl".into(), "sha256:".into()));
    let mut other_version = manifest.clone();
    other_version.version = Some("9".into());
    for forged in [newer, renamed, longer, other_version] {
        let bytes = crate::archives_with(&read(&signed), &forged);
        assert!(why_not(&bytes, &trust, "a").starts_with("the signature is wrong"));
    }
    let same = crate::archives_with(&read(&signed), &manifest);
    assert!(read(&same).verify(&trust, "a").is_ok());
}

#[test]
fn signing_again_keeps_the_name_and_takes_a_new_time() {
    let signer = key();
    let mut named = draft("2026-01-31T12:00:00.5Z");
    named.set_configuration_id("release-77").unwrap();
    let first = read(&named.finish(None).unwrap());
    let again =
        BundleDraft::of(&first, "2026-02-01T00:00:00Z").unwrap().finish(Some((&signer, "k1"))).unwrap();
    let again = read(&again).verify(&Trust::one(signer.verifying_key()), "a").unwrap();
    assert_eq!(again.manifest().configuration_id, "release-77");
    assert!(again.created() > first.manifest().created);
    assert!(draft("2026-01-31T12:00:00Z").set_configuration_id("a/b").is_err());
    assert!(BundleDraft::new("now").is_err());
}
