//! Access tokens for OPC UA: nothing that was not signed here is believed, and permissions that are read are written and read again as the same.

use std::sync::OnceLock;
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::jwt::{Algorithm, SigningKey, SigningKeys};
use durward_opcua::token::{Grants, NodeTable, TableNode, Thumbprint, Verifier};

const NOW: Moment = Moment::from_s(1_780_272_000);
const LIFETIME: Duration = Duration::from_secs(600);

fn verifier() -> &'static (Verifier, NodeTable) {
    static VERIFIER: OnceLock<(Verifier, NodeTable)> = OnceLock::new();
    VERIFIER.get_or_init(|| {
        let key = SigningKey::generate(Algorithm::EdDsa).expect("a key");
        let keys = SigningKeys::new(LIFETIME).with(key, NOW, NOW).expect("keys");
        let keys = keys.verifying(NOW).expect("public keys");
        let node = |at: u32| TableNode::new("urn:plant", 1000 + at).expect("a node");
        let table = NodeTable::new((0..100).map(node)).expect("a table");
        (Verifier::new(keys, "urn:as", "urn:gate", LIFETIME), table)
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let (verifier, table) = verifier();
    assert!(verifier.verify(NOW, bytes, Thumbprint::of(b"client"), table).is_err());
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // The version of the table stands in front: with it, the fuzzer need not guess a hash.
    let version = Grants::none(table).encode();
    for text in
        [text.to_owned(), version.chars().take(text.len() % version.len()).chain(text.chars()).collect()]
    {
        if let Ok(grants) = Grants::decode(&text, table) {
            assert!(Grants::decode(&grants.encode(), table).is_ok_and(|again| again == grants));
        }
    }
}
