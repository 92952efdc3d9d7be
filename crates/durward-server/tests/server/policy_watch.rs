//! Policies that a program without HTTP decides by: signed bundles that are verified, and directories that are watched.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use durward_bundle::SigningKey;
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{AttributeName, AttributeSource, Request, SourceError, Value};
use durward_server::{PolicySource, PolicyWatch, Settings};

use crate::support::{Directory, clock};
use crate::tenants::bundle;

const PERMITS: &str = "policy \"p\" permit";
const DENIES: &str = "policy \"p\" deny";

/// Provides nothing.
struct Nothing;

impl AttributeSource for Nothing {
    fn provides(&self, _: &AttributeName) -> bool {
        false
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Ok(Vec::new())
    }
}

fn start(settings: &str) -> Result<PolicyWatch, String> {
    let settings = Settings::from_toml(settings, "test").unwrap();
    PolicyWatch::start(&settings, clock(), Arc::new(Nothing)).map_err(|error| error.to_string())
}

fn decides(watch: &PolicyWatch) -> Option<Outcome> {
    let subscription = br#"{"subject":"anna","action":"read","resource":"x"}"#;
    Some(watch.pdp()?.decide_once(&Subscription::from_json(subscription).unwrap()).outcome)
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: not within 10 s");
}

fn put(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

#[test]
fn a_signed_bundle_counts_and_another_does_not() {
    let directory = Directory::new();
    let key = SigningKey::generate().unwrap();
    directory.write("key.pub", &key.verifying_key().to_pem());
    let path = directory.path("plant.saplbundle");
    put(&path, &bundle(PERMITS, 1, Some((&key, "k1"))));
    let settings = format!(
        "policies = {{ source = 'bundle', path = '{}', poll_ms = 20 }}\nbundles.public_key_path = '{}'",
        path.display(),
        directory.path("key.pub").display()
    );
    let watch = start(&settings).unwrap();
    assert_eq!((decides(&watch), watch.problems().len()), (Some(Outcome::Permit), 0));

    put(&path, &bundle(DENIES, 2, None));
    eventually("the unsigned one is told", || {
        watch.problems().iter().any(|problem| problem.contains("it is not signed"))
    });
    assert_eq!(decides(&watch), Some(Outcome::Permit));
    put(&path, &bundle(DENIES, 2, Some((&key, "k1"))));
    eventually("the signed one counts", || decides(&watch) == Some(Outcome::Deny));
    assert_eq!(watch.problems(), [""; 0]);

    put(&path, &bundle(PERMITS, 3, None));
    assert!(start(&settings).unwrap_err().contains("it is not signed"));
    // As `[opcua.gate.policies]` comes here, which the settings alone do not check.
    let mut keyless = Settings::default();
    keyless.policies.source = PolicySource::Bundle;
    let refused = PolicyWatch::start(&keyless, clock(), Arc::new(Nothing)).unwrap_err().to_string();
    assert!(refused.contains("there is no key to verify them with"), "{refused}");
}

#[test]
fn a_directory_is_watched_and_broken_policies_change_nothing() {
    let directory = Directory::new();
    directory.write("policies/p.sapl", PERMITS);
    let path = directory.path("policies");
    let watch = start(&format!("policies = {{ path = '{}', poll_ms = 20 }}", path.display())).unwrap();
    assert_eq!(decides(&watch), Some(Outcome::Permit));
    directory.write("policies/p.sapl", "policy");
    eventually("the broken one is told", || !watch.problems().is_empty());
    assert_eq!(decides(&watch), Some(Outcome::Permit));
    directory.write("policies/p.sapl", DENIES);
    eventually("the next counts", || decides(&watch) == Some(Outcome::Deny));
}
