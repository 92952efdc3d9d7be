//! What the engine's tools wrote.

use std::fs;
use std::path::PathBuf;

use durward_bundle::{Bundle, BundleDraft, Limits, SigningKey, Trust, VerifyingKey};

use crate::read;

/// The folder with the engine's bundle, if it is there.
fn folder() -> Option<PathBuf> {
    durward_testdata::recorded("sapl/bundle")
}

#[test]
fn a_bundle_of_the_engine_is_believed_with_its_key_and_no_other() {
    let Some(folder) = folder() else { return };
    let bytes = fs::read(folder.join("rb.saplbundle")).unwrap();
    let key = VerifyingKey::read(&fs::read_to_string(folder.join("key.pub")).unwrap()).unwrap();
    let verified = read(&bytes).verify(&Trust::one(key), "default").unwrap();
    assert_eq!(verified.files().keys().collect::<Vec<_>>(), ["pdp.json", "policy-0001.sapl"]);
    assert_eq!(verified.manifest().configuration_id, "bundle@5e7c82793eabb8ac");
    let other = SigningKey::generate().unwrap().verifying_key();
    let error = read(&bytes).verify(&Trust::one(other), "default").unwrap_err();
    assert!(error.to_string().contains("signature is wrong"), "{error}");
}

/// Whether what is made here has the same form, down to the name made of the content and the manifest's text.
#[test]
fn a_bundle_made_here_has_the_form_of_the_engines() {
    let Some(folder) = folder() else { return };
    let bytes = fs::read(folder.join("rb.saplbundle")).unwrap();
    let theirs = Bundle::read(&bytes, &Limits::default()).unwrap();
    let mut draft = BundleDraft::new(&theirs.manifest().created.to_string()).unwrap();
    for (name, content) in theirs.files() {
        draft.add(name, content.clone()).unwrap();
    }
    let key = SigningKey::generate().unwrap();
    let ours = read(&draft.finish(Some((&key, "k1"))).unwrap());
    assert_eq!(ours.manifest().configuration_id, theirs.manifest().configuration_id);
    assert_eq!(ours.manifest().files, theirs.manifest().files);
    assert!(ours.verify(&Trust::one(key.verifying_key()), "default").is_ok());
}

#[test]
fn keys_are_the_files_that_openssl_reads() {
    let key = SigningKey::generate().unwrap();
    let again = SigningKey::read(&key.to_pem()).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    let public = key.verifying_key().to_pem();
    assert!(public.starts_with("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA"), "{public}");
    assert_eq!(VerifyingKey::read(&public).unwrap(), key.verifying_key());
    // Base64 alone, as it stands in a setting.
    assert_eq!(VerifyingKey::read(public.lines().nth(1).unwrap()).unwrap(), key.verifying_key());
    for (text, why) in [
        (key.to_pem().as_str(), "private key"),
        ("", "no public key"),
        ("-----BEGIN PUBLIC KEY-----\n", "is missing"),
        ("-----BEGIN CERTIFICATE-----\n", "no `PUBLIC KEY`"),
        ("%", "no Base64"),
        (&"A".repeat(5000), "longer than a key"),
    ] {
        let error = VerifyingKey::read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = SigningKey::read(&public).unwrap_err().to_string();
    assert!(error.contains("no `PRIVATE KEY`"), "{error}");
    assert!(!format!("{key:?}").contains(key.to_pem().lines().nth(1).unwrap()));
}
