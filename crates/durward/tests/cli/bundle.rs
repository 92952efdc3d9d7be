//! `durward bundle`: keys, bundles, secrets, and decisions by bundles.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Ran, durward};

const ASK: [&str; 6] = ["-s", r#"{"role":"doctor"}"#, "-a", r#""read""#, "-r", r#""record""#];
const SECRETS: &str = r#"{"http":{"hr":{"headers":{"x-key":"s3cr3t"}}}}"#;

/// A directory that is gone when dropped.
struct BundleDirectory(PathBuf);

impl BundleDirectory {
    fn new() -> BundleDirectory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("durward-bundle-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("policies")).unwrap();
        let directory = BundleDirectory(path);
        directory.write("policies/pdp.json", "{}");
        directory.write("policies/doctors.sapl", r#"policy "doctors" permit subject.role == "doctor";"#);
        directory
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

impl Drop for BundleDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_bundle_is_made_signed_verified_and_unpacked() {
    let directory = BundleDirectory::new();
    directory.bundle("keygen -o @signing").exits(0);
    directory.bundle("keygen -o @other").exits(0);
    let made = directory.bundle("create -i @policies -o @a.saplbundle -k @signing.pem --key-id k1").exits(0);
    assert!(
        made.stdout.contains("bundle@") && made.stdout.contains("signed with the key `k1`"),
        "{}",
        made.stdout
    );
    let verified = directory.bundle("verify -b @a.saplbundle -k @signing.pub").exits(0);
    assert!(verified.stdout.contains("verified, 2 files, key `k1`, made at 2"), "{}", verified.stdout);
    let refused = directory.bundle("verify -b @a.saplbundle -k @other.pub").exits(1);
    assert!(refused.stderr.contains("the signature is wrong"), "{}", refused.stderr);

    let shown = directory.bundle("inspect -b @a.saplbundle").exits(0);
    assert!(shown.stdout.contains("integrity:     not checked"), "{}", shown.stdout);
    assert!(shown.stdout.contains("doctors.sapl, 49 bytes, policy"), "{}", shown.stdout);
    let shown = directory.bundle("inspect -b @a.saplbundle -k @other.pub").exits(1);
    assert!(shown.stdout.contains("integrity:     FAILED: "), "{}", shown.stdout);

    directory.bundle("unpack -b @a.saplbundle -o @out -k @other.pub").exits(2);
    assert!(!directory.has("out"));
    directory.bundle("unpack -b @a.saplbundle -o @out -k @signing.pub").exits(0);
    assert_eq!(directory.read("out/doctors.sapl"), directory.read("policies/doctors.sapl"));
    assert!(!directory.has("out/.sapl-manifest.json"));
    let there = directory.bundle("unpack -b @a.saplbundle -o @out").exits(2);
    assert!(
        there.stderr.contains("is there already") && there.stderr.contains("--force"),
        "{}",
        there.stderr
    );
    directory.bundle("unpack -b @a.saplbundle -o @out --force").exits(0);

    directory.bundle("sign -b @a.saplbundle -k @other.pem --key-id k2 -o @b.saplbundle").exits(0);
    directory.bundle("verify -b @b.saplbundle -k @other.pub").exits(0);
    directory.bundle("sign -b @a.saplbundle -k @other.pem").exits(0);
    directory.bundle("verify -b @a.saplbundle -k @other.pub").exits(0);
}

#[test]
fn private_keys_are_for_their_owner() {
    let directory = BundleDirectory::new();
    directory.bundle("keygen -o @signing").exits(0);
    directory.bundle("keygen-secrets -o @recipient").exits(0);
    #[cfg(unix)]
    for name in ["signing.pem", "recipient.jwk"] {
        assert_eq!(directory.mode(name), 0o600, "{name}");
    }
    let before = directory.read("signing.pem");
    let refused = directory.bundle("keygen -o @signing").exits(2);
    assert!(refused.stderr.contains("is there already"), "{}", refused.stderr);
    assert_eq!(directory.read("signing.pem"), before);
    directory.bundle("keygen -o @signing --force").exits(0);
    assert_ne!(directory.read("signing.pem"), before);
    #[cfg(unix)]
    {
        // One that others could read does not stay so.
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(directory.0.join("signing.pem"), fs::Permissions::from_mode(0o644)).unwrap();
        directory.bundle("keygen -o @signing --force").exits(0);
        assert_eq!(directory.mode("signing.pem"), 0o600);
    }
    // A mistake of keys is told without them.
    let wrong = directory.bundle("verify -b @x -k @signing.pem").exits(2);
    assert!(wrong.stderr.contains("private key"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains(directory.read("signing.pem").lines().nth(1).unwrap()));
}

#[test]
fn secrets_are_sealed_opened_and_passed_on() {
    let directory = BundleDirectory::new();
    directory.bundle("keygen-secrets -o @one").exits(0);
    directory.bundle("keygen-secrets -o @two").exits(0);
    directory.write("policies/secrets.json", SECRETS);
    directory.write("policies/ext-up-secrets.json", r#"{"token":1.50}"#);
    let refused = directory.bundle("create -i @policies -o @a.saplbundle").exits(2);
    assert!(refused.stderr.contains("--seal-to"), "{}", refused.stderr);

    directory.bundle("create -i @policies -o @a.saplbundle --seal-to @one.pub.jwk").exits(0);
    let shown = directory.bundle("inspect -b @a.saplbundle").exits(0).stdout;
    assert!(shown.contains("secrets.sealed.json") && !shown.contains("s3cr3t"), "{shown}");
    directory.bundle("unpack -b @a.saplbundle -o @open --unseal-with @one.jwk").exits(0);
    assert_eq!(directory.read("open/secrets.json").trim(), SECRETS);
    assert_eq!(directory.read("open/ext-up-secrets.json").trim(), r#"{"token":1.50}"#);
    #[cfg(unix)]
    assert_eq!(directory.mode("open/secrets.json"), 0o600);
    directory.bundle("unpack -b @a.saplbundle -o @other --unseal-with @two.jwk").exits(2);
    assert!(!directory.has("other"));

    directory.bundle("seal -i @policies --seal-to @one.pub.jwk").exits(0);
    assert!(!directory.has("policies/secrets.json") && !directory.has("policies/ext-up-secrets.json"));
    assert!(!directory.read("policies/secrets.sealed.json").contains("s3cr3t"));
    directory.bundle("create -i @policies -o @sealed.saplbundle").exits(0);
    directory.bundle("create -i @policies -o @again.saplbundle --seal-to @one.pub.jwk").exits(2);
    directory.bundle("reseal -i @policies --unseal-with @one.jwk --seal-to @two.pub.jwk").exits(0);
    directory.bundle("unseal -i @policies --unseal-with @one.jwk").exits(2);
    assert!(directory.has("policies/secrets.sealed.json"));
    directory.write("policies/secrets.json", "{}");
    let both = directory.bundle("unseal -i @policies --unseal-with @two.jwk").exits(2);
    assert!(both.stderr.contains("`secrets.json` is there already"), "{}", both.stderr);
    directory.bundle("create -i @policies -o @mixed.saplbundle").exits(2);
    fs::remove_file(directory.0.join("policies/secrets.json")).unwrap();
    directory.bundle("unseal -i @policies --unseal-with @two.jwk").exits(0);
    assert_eq!(directory.read("policies/secrets.json").trim(), SECRETS);
    assert!(!directory.has("policies/secrets.sealed.json"));
    // What is wrong with secrets is told without them.
    directory.write("policies/secrets.json", r#"{"a": s3cr3t"#);
    let wrong = directory.bundle("seal -i @policies --seal-to @one.pub.jwk").exits(2);
    assert!(wrong.stderr.contains("no JSON") && !wrong.stderr.contains("s3cr3t"), "{}", wrong.stderr);
}

#[test]
fn what_nobody_could_use_is_no_bundle() {
    let directory = BundleDirectory::new();
    directory.write("policies/broken.sapl", "policy");
    let broken = directory.bundle("create -i @policies -o @a.saplbundle").exits(2);
    assert!(broken.stderr.contains("broken.sapl:1:"), "{}", broken.stderr);
    assert!(!directory.has("a.saplbundle"));
    directory.write("policies/broken.sapl", r#"policy "b" permit"#);
    fs::remove_file(directory.0.join("policies/pdp.json")).unwrap();
    let without = directory.bundle("create -i @policies -o @a.saplbundle").exits(2);
    assert!(without.stderr.contains("there is no `pdp.json`"), "{}", without.stderr);
    directory.write("no.saplbundle", "PK");
    for command in ["inspect -b @no.saplbundle", "unpack -b @no.saplbundle -o @x", "inspect -b @nothing"] {
        directory.bundle(command).exits(2);
    }
    let unknown = directory.bundle("create -i @policies").exits(2);
    assert!(unknown.stderr.contains("durward bundle create --help"), "{}", unknown.stderr);
}

/// A bundle holds SAPL alone, and whoever reads one passes over what they do not know: a deny in XACML would be lost.
#[test]
fn policies_of_xacml_are_refused_and_not_passed_over() {
    let directory = BundleDirectory::new();
    directory
        .write("policies/request.xml", "<Request xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17'/>");
    directory.write("policies/README.md", "passed over");
    directory.bundle("create -i @policies -o @a.saplbundle").exits(0);
    fs::create_dir(directory.0.join("policies/below")).unwrap();
    for name in ["policies/below/deny.xml", "policies/deny.XML"] {
        directory.write(name, "<Policy/>");
        directory.bundle("create -i @policies -o @b.saplbundle").exits(2).complains(
            &format!("{}: a bundle cannot hold policies of XACML", directory.path(name)),
            "move it to a directory of its own, and serve it with `durward serve --policies`, or write it in SAPL",
        );
        assert!(!directory.has("b.saplbundle"));
        fs::remove_file(directory.0.join(name)).unwrap();
    }
}

#[test]
fn bundles_decide_for_those_who_say_whose_they_are() {
    let directory = BundleDirectory::new();
    directory.bundle("keygen -o @signing").exits(0);
    directory.bundle("create -i @policies -o @a.saplbundle -k @signing.pem").exits(0);
    let (bundle, key) = (directory.path("a.saplbundle"), directory.path("signing.pub"));
    let decide = |flags: &[&str]| {
        let words: Vec<&str> =
            ["decide", "--bundle", &bundle].iter().chain(flags).chain(&ASK).copied().collect();
        durward(&words)
    };
    assert_eq!(decide(&["--public-key", &key]).exits(0).stdout, "{\"decision\":\"PERMIT\"}\n");
    assert_eq!(decide(&["--no-verify"]).exits(0).stdout, "{\"decision\":\"PERMIT\"}\n");
    let nobodys = decide(&[]).exits(2);
    assert!(nobodys.stderr.contains("whose bundle is it to be?"), "{}", nobodys.stderr);
    directory.bundle("keygen -o @signing --force").exits(0);
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
    let directory = BundleDirectory::new();
    durward(&["bundle", "unpack", "-b", &theirs, "-o", &directory.path("out"), "-k", &key]).exits(0);
    directory.bundle("keygen -o @ours").exits(0);
    let made = directory.bundle("create -i @out -o @b.saplbundle -k @ours.pem").exits(0);
    // The name is made of what is in it.
    assert!(made.stdout.contains("bundle@5e7c82793eabb8ac"), "{}", made.stdout);
    directory.bundle("verify -b @b.saplbundle -k @ours.pub").exits(0);
}

#[cfg(unix)]
#[test]
fn private_keys_that_others_may_read_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = BundleDirectory::new();
    directory.bundle("keygen -o @signing").exits(0);
    directory.bundle("keygen-secrets -o @ours").exits(0);
    directory.write("policies/secrets.json", SECRETS);
    directory.bundle("seal -i @policies --seal-to @ours.pub.jwk").exits(0);
    for name in ["signing.pem", "ours.jwk"] {
        fs::set_permissions(directory.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let signed = directory.bundle("create -i @policies -o @a.saplbundle -k @signing.pem --key-id k").exits(2);
    assert!(signed.stderr.contains("chmod 600"), "{}", signed.stderr);
    let unsealed = directory.bundle("unseal -i @policies --unseal-with @ours.jwk").exits(2);
    assert!(unsealed.stderr.contains("chmod 600"), "{}", unsealed.stderr);
}
