//! What a client of bad will tries, at the gate and at the authorization service of the demo: known gaps of other stacks.

use super::Checks;
use super::clients::{MODE, REJECTED, Visit, done, number, refused};
use serde_json::Value;
use std::collections::BTreeSet;

/// Longest for a read beside a renewal. With Nagle's algorithm it waits for a delayed acknowledgement, 40 ms.
const BESIDE_RENEWAL_MS_MAX: f64 = 30.0;

/// All of it. The visit's session is one with a token of an operator, before and after.
///
/// # Errors
///
/// What must work for the rest to mean anything does not.
pub(super) fn check(checks: &mut Checks, visit: &mut Visit) -> Result<(), String> {
    let gate = visit.url.clone();
    let authority =
        visit.issuer()?.get("ua:authorityUrl").and_then(Value::as_str).unwrap_or_default().to_owned();
    let another = visit.plant.join("client/own/certs/application.der").display().to_string();
    for (url, name) in [(&gate, "gate"), (&authority, "authorization service")] {
        let forged = visit.puppet.tell(&["forge", url, "urn:durward:demo:client"]);
        let what = format!("no session in the name of another application ({name})");
        checks.note(&what, refused(forged, &["BadCertificateUriInvalid"]));
        let foreign = visit.puppet.tell(&["foreign", url, &another]);
        let what = format!("no session with the certificate of another application ({name})");
        checks.note(&what, refused(foreign, &["BadCertificateInvalid", "BadSecurityChecksFailed"]));
    }
    let policies = visit.puppet.tell(&["policies", &gate])?;
    let distinct: BTreeSet<&String> = policies.iter().collect();
    let unique = if distinct.len() == policies.len() && policies.len() > 1 {
        Ok(())
    } else {
        Err(format!("there are {policies:?}"))
    };
    checks.note("each policy for user tokens has an identifier of its own", unique);
    let token = visit.token("anna")?;
    // Over a channel that others can read, the policy wants the token encrypted.
    done(visit.puppet.tell(&["sign_only", &gate, "token", &token]))?;
    for (what, kind) in
        [("a plain token where it must be encrypted", "plain"), ("a token under PKCS #1 v1.5", "pkcs1")]
    {
        let refusal = visit.renew(&[kind, &token]);
        checks.note(&format!("{what} is refused"), refused(refusal, REJECTED));
    }
    checks.note("and what was in force stays in force", visit.still_reads(MODE));
    done(visit.open(&["token", &token]))?;
    visit.since = std::time::Instant::now();
    let took = visit.puppet.tell(&["behind", &token, MODE]);
    let quick = number(took).and_then(|ms| match ms < BESIDE_RENEWAL_MS_MAX {
        true => Ok(()),
        false => Err(format!("it takes {ms:.1} ms at best")),
    });
    checks.note("a read does not wait while the token is renewed", quick);
    visit.watch_again()
}
