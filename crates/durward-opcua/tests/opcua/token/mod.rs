//! Node tables, what tokens grant, verification, cutoffs, and the rights that come of them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "tests"
)]

mod cutoffs;
mod grants;
mod rights;
mod table;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_identity::{Moment, SystemEntropy};
use durward_opcua::permission::Permission;
use durward_opcua::token::{
    GrantVerdict, Grants, IssueRequest, NodeTable, TableNode, Thumbprint, TokenVerifier, VerifiedToken,
};

pub(super) const NOW: Moment = Moment::from_ms(1_700_000_000_000);
pub(super) const LIFETIME: Duration = Duration::from_secs(3600);
pub(super) const ISSUER: &str = "urn:plant:authority";
pub(super) const GATE: &str = "urn:plant:gate";
pub(super) const PLANT: &str = "urn:plant:line1";

/// A key that nobody uses.
const RSA: &str = include_str!("../../../../durward-identity/tests/identity/rsa.pem");

pub(super) fn later(seconds: u64) -> Moment {
    NOW.plus(Duration::from_secs(seconds))
}

pub(super) fn keys(algorithm: Algorithm) -> SigningKeys {
    let key = match algorithm {
        Algorithm::EdDsa | Algorithm::Es256 => SigningKey::generate(algorithm).unwrap(),
        Algorithm::Rs256 => SigningKey::read(RSA).unwrap(),
    };
    SigningKeys::new(LIFETIME).with(key, NOW, NOW).unwrap()
}

/// `i=1000` and so on, of the plant's namespace.
pub(super) fn table(nodes: u32) -> NodeTable {
    NodeTable::new((0..nodes).map(|at| TableNode::new(PLANT, 1000 + at).unwrap())).unwrap()
}

pub(super) fn client() -> Thumbprint {
    Thumbprint::of(b"the certificate of a client")
}

pub(super) fn issue<'i>(grants: &'i Grants) -> IssueRequest<'i> {
    IssueRequest {
        issuer: ISSUER,
        subject: "anna",
        resource: GATE,
        lifetime: Duration::from_secs(600),
        client: client(),
        roles: &["Operator"],
        session: Some("session-1"),
        policy: "policy-1",
        grants,
        live: None,
    }
}

pub(super) fn verifier(keys: &SigningKeys) -> TokenVerifier {
    TokenVerifier::new(keys.verifying(NOW).unwrap(), ISSUER, GATE, LIFETIME)
}

/// A token that grants reading of row 0, asks for writing of row 1, and nothing else.
pub(super) fn some_grants(table: &NodeTable) -> Grants {
    let mut grants = Grants::none(table);
    grants.set(0, Permission::Read, GrantVerdict::Granted);
    grants.set(0, Permission::Call, GrantVerdict::Granted);
    grants.set(0, Permission::Write, GrantVerdict::Granted);
    grants.set(1, Permission::Write, GrantVerdict::Ask);
    grants
}

pub(super) fn verified(table: &NodeTable, issued: Moment) -> Arc<VerifiedToken> {
    let keys = keys(Algorithm::EdDsa);
    let token = issue(&some_grants(table)).sign(&keys, issued, &SystemEntropy).unwrap();
    Arc::new(verifier(&keys).verify(issued, token.as_bytes(), client(), table).unwrap())
}
