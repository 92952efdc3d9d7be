//! `durward bundle`: keys, bundles, secrets, and decisions by bundles.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Ran, durward};

const ASK: [&str; 6] = ["-s", r#"{"role":"doctor"}"#, "-a", r#""read""#, "-r", r#""record""#];
const SECRETS: &str = r#"{"http":{"hr":{"headers":{"x-key":"s3cr3t"}}}}"#;

/// A directory that is gone when dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("durward-bundle-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("policies")).unwrap();
        let place = Place(path);
        place.write("policies/pdp.json", "{}");
        place.write("policies/doctors.sapl", r#"policy "doctors" permit subject.role == "doctor";"#);
        place
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// Who may read a file, as digits of its mode.
    #[cfg(unix)]
    fn mode(&self, name: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(self.0.join(name)).unwrap().permissions().mode() & 0o777
    }

    /// Runs `durward bundle` with every word that begins with `@` as a path here.
    fn bundle(&self, words: &str) -> Ran {
        let words: Vec<String> = words
            .split_whitespace()
            .map(|word| word.strip_prefix('@').map_or_else(|| word.to_owned(), |name| self.path(name)))
            .collect();
        let words: Vec<&str> = ["bundle"].into_iter().chain(words.iter().map(String::as_str)).collect();
        durward(&words)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_bundle_is_made_signed_verified_and_unpacked() {
    let place = Place::new();
    place.bundle("keygen -o @signing").exits(0);
    place.bundle("keygen -o @other").exits(0);
    let made = place.bundle("create -i @policies -o @a.saplbundle -k @signing.pem --key-id k1").exits(0);
    assert!(
        made.stdout.contains("bundle@") && made.stdout.contains("signed with the key `k1`"),
        "{}",
        made.stdout
    );
    let verified = place.bundle("verify -b @a.saplbundle -k @signing.pub").exits(0);
    assert!(verified.stdout.contains("verified, 2 files, key `k1`, made at 2"), "{}", verified.stdout);
    let refused = place.bundle("verify -b @a.saplbundle -k @other.pub").exits(1);
    assert!(refused.stderr.contains("the signature is wrong"), "{}", refused.stderr);

    let shown = place.bundle("inspect -b @a.saplbundle").exits(0);
    assert!(shown.stdout.contains("integrity:     not checked"), "{}", shown.stdout);
    assert!(shown.stdout.contains("doctors.sapl, 49 bytes, policy"), "{}", shown.stdout);
    let shown = place.bundle("inspect -b @a.saplbundle -k @other.pub").exits(1);
    assert!(shown.stdout.contains("integrity:     FAILED: "), "{}", shown.stdout);

    place.bundle("unpack -b @a.saplbundle -o @out -k @other.pub").exits(2);
    assert!(!place.has("out"));
    place.bundle("unpack -b @a.saplbundle -o @out -k @signing.pub").exits(0);
    assert_eq!(place.read("out/doctors.sapl"), place.read("policies/doctors.sapl"));
    assert!(!place.has("out/.sapl-manifest.json"));
    let there = place.bundle("unpack -b @a.saplbundle -o @out").exits(2);
    assert!(
        there.stderr.contains("is there already") && there.stderr.contains("--force"),
        "{}",
        there.stderr
    );
    place.bundle("unpack -b @a.saplbundle -o @out --force").exits(0);

    place.bundle("sign -b @a.saplbundle -k @other.pem --key-id k2 -o @b.saplbundle").exits(0);
    place.bundle("verify -b @b.saplbundle -k @other.pub").exits(0);
    place.bundle("sign -b @a.saplbundle -k @other.pem").exits(0);
    place.bundle("verify -b @a.saplbundle -k @other.pub").exits(0);
}

#[test]
fn private_keys_are_for_their_owner() {
    let place = Place::new();
    place.bundle("keygen -o @signing").exits(0);
    place.bundle("keygen-secrets -o @recipient").exits(0);
    #[cfg(unix)]
    for name in ["signing.pem", "recipient.jwk"] {
        assert_eq!(place.mode(name), 0o600, "{name}");
    }
    let before = place.read("signing.pem");
    let refused = place.bundle("keygen -o @signing").exits(2);
    assert!(refused.stderr.contains("is there already"), "{}", refused.stderr);
    assert_eq!(place.read("signing.pem"), before);
    place.bundle("keygen -o @signing --force").exits(0);
    assert_ne!(place.read("signing.pem"), before);
    #[cfg(unix)]
    {
        // One that others could read does not stay so.
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(place.0.join("signing.pem"), fs::Permissions::from_mode(0o644)).unwrap();
        place.bundle("keygen -o @signing --force").exits(0);
        assert_eq!(place.mode("signing.pem"), 0o600);
    }
    // A mistake of keys is told without them.
    let wrong = place.bundle("verify -b @x -k @signing.pem").exits(2);
    assert!(wrong.stderr.contains("private key"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains(place.read("signing.pem").lines().nth(1).unwrap()));
}

#[test]
fn secrets_are_sealed_opened_and_passed_on() {
    let place = Place::new();
    place.bundle("keygen-secrets -o @one").exits(0);
    place.bundle("keygen-secrets -o @two").exits(0);
    place.write("policies/secrets.json", SECRETS);
    place.write("policies/ext-up-secrets.json", r#"{"token":1.50}"#);
    let refused = place.bundle("create -i @policies -o @a.saplbundle").exits(2);
    assert!(refused.stderr.contains("--seal-to"), "{}", refused.stderr);

    place.bundle("create -i @policies -o @a.saplbundle --seal-to @one.pub.jwk").exits(0);
    let shown = place.bundle("inspect -b @a.saplbundle").exits(0).stdout;
    assert!(shown.contains("secrets.sealed.json") && !shown.contains("s3cr3t"), "{shown}");
    place.bundle("unpack -b @a.saplbundle -o @open --unseal-with @one.jwk").exits(0);
    assert_eq!(place.read("open/secrets.json").trim(), SECRETS);
    assert_eq!(place.read("open/ext-up-secrets.json").trim(), r#"{"token":1.50}"#);
    #[cfg(unix)]
    assert_eq!(place.mode("open/secrets.json"), 0o600);
    place.bundle("unpack -b @a.saplbundle -o @other --unseal-with @two.jwk").exits(2);
    assert!(!place.has("other"));

    place.bundle("seal -i @policies --seal-to @one.pub.jwk").exits(0);
    assert!(!place.has("policies/secrets.json") && !place.has("policies/ext-up-secrets.json"));
    assert!(!place.read("policies/secrets.sealed.json").contains("s3cr3t"));
    place.bundle("create -i @policies -o @sealed.saplbundle").exits(0);
    place.bundle("create -i @policies -o @again.saplbundle --seal-to @one.pub.jwk").exits(2);
    place.bundle("reseal -i @policies --unseal-with @one.jwk --seal-to @two.pub.jwk").exits(0);
    place.bundle("unseal -i @policies --unseal-with @one.jwk").exits(2);
    assert!(place.has("policies/secrets.sealed.json"));
    place.write("policies/secrets.json", "{}");
    let both = place.bundle("unseal -i @policies --unseal-with @two.jwk").exits(2);
    assert!(both.stderr.contains("`secrets.json` is there already"), "{}", both.stderr);
    place.bundle("create -i @policies -o @mixed.saplbundle").exits(2);
    fs::remove_file(place.0.join("policies/secrets.json")).unwrap();
    place.bundle("unseal -i @policies --unseal-with @two.jwk").exits(0);
    assert_eq!(place.read("policies/secrets.json").trim(), SECRETS);
    assert!(!place.has("policies/secrets.sealed.json"));
    // What is wrong with secrets is told without them.
    place.write("policies/secrets.json", r#"{"a": s3cr3t"#);
    let wrong = place.bundle("seal -i @policies --seal-to @one.pub.jwk").exits(2);
    assert!(wrong.stderr.contains("no JSON") && !wrong.stderr.contains("s3cr3t"), "{}", wrong.stderr);
}

#[test]
fn what_nobody_could_use_is_no_bundle() {
    let place = Place::new();
    place.write("policies/broken.sapl", "policy");
    let broken = place.bundle("create -i @policies -o @a.saplbundle").exits(2);
    assert!(broken.stderr.contains("broken.sapl:1:"), "{}", broken.stderr);
    assert!(!place.has("a.saplbundle"));
    place.write("policies/broken.sapl", r#"policy "b" permit"#);
    fs::remove_file(place.0.join("policies/pdp.json")).unwrap();
    let without = place.bundle("create -i @policies -o @a.saplbundle").exits(2);
    assert!(without.stderr.contains("there is no `pdp.json`"), "{}", without.stderr);
    place.write("no.saplbundle", "PK");
    for command in ["inspect -b @no.saplbundle", "unpack -b @no.saplbundle -o @x", "inspect -b @nothing"] {
        place.bundle(command).exits(2);
    }
    let unknown = place.bundle("create -i @policies").exits(2);
    assert!(unknown.stderr.contains("durward bundle create --help"), "{}", unknown.stderr);
}

/// A bundle holds SAPL alone, and whoever reads one passes over what they do not know: a deny in XACML would be lost.
#[test]
fn policies_of_xacml_are_refused_and_not_passed_over() {
    let place = Place::new();
    place.write("policies/request.xml", "<Request xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17'/>");
    place.write("policies/README.md", "passed over");
    place.bundle("create -i @policies -o @a.saplbundle").exits(0);
    fs::create_dir(place.0.join("policies/below")).unwrap();
    for name in ["policies/below/deny.xml", "policies/deny.XML"] {
        place.write(name, "<Policy/>");
        place.bundle("create -i @policies -o @b.saplbundle").exits(2).complains(
            &format!("{}: a bundle cannot hold policies of XACML", place.path(name)),
            "move it to a directory of its own, and serve it with `durward serve --policies`, or write it in SAPL",
        );
        assert!(!place.has("b.saplbundle"));
        fs::remove_file(place.0.join(name)).unwrap();
    }
}

#[test]
fn bundles_decide_for_those_who_say_whose_they_are() {
    let place = Place::new();
    place.bundle("keygen -o @signing").exits(0);
    place.bundle("create -i @policies -o @a.saplbundle -k @signing.pem").exits(0);
    let (bundle, key) = (place.path("a.saplbundle"), place.path("signing.pub"));
    let decide = |flags: &[&str]| {
        let words: Vec<&str> =
            ["decide", "--bundle", &bundle].iter().chain(flags).chain(&ASK).copied().collect();
        durward(&words)
    };
    assert_eq!(decide(&["--public-key", &key]).exits(0).stdout, "{\"decision\":\"PERMIT\"}\n");
    assert_eq!(decide(&["--no-verify"]).exits(0).stdout, "{\"decision\":\"PERMIT\"}\n");
    let nobodys = decide(&[]).exits(2);
    assert!(nobodys.stderr.contains("whose bundle is it to be?"), "{}", nobodys.stderr);
    place.bundle("keygen -o @signing --force").exits(0);
    let other = decide(&["--public-key", &key]).exits(2);
    assert!(other.stderr.contains("the signature is wrong"), "{}", other.stderr);
    let checked = durward(&["check", "--bundle", &bundle, "--no-verify"]).exits(0);
    assert!(checked.stdout.contains("2 documents: 0 errors"), "{}", checked.stdout);
}

#[test]
fn a_bundle_of_the_engine_goes_through_our_hands_unchanged() {
    let Some(folder) = durward_testdata::recorded("sapl/bundle") else { return };
    let (theirs, key) = (folder.join("rb.saplbundle"), folder.join("key.pub"));
    let (theirs, key) = (theirs.display().to_string(), key.display().to_string());
    let verified = durward(&["bundle", "verify", "-b", &theirs, "-k", &key]).exits(0);
    assert!(verified.stdout.contains("verified, 2 files, key `k1`"), "{}", verified.stdout);
    let place = Place::new();
    durward(&["bundle", "unpack", "-b", &theirs, "-o", &place.path("out"), "-k", &key]).exits(0);
    place.bundle("keygen -o @ours").exits(0);
    let made = place.bundle("create -i @out -o @b.saplbundle -k @ours.pem").exits(0);
    // The name is made of what is in it.
    assert!(made.stdout.contains("bundle@5e7c82793eabb8ac"), "{}", made.stdout);
    place.bundle("verify -b @b.saplbundle -k @ours.pub").exits(0);
}
