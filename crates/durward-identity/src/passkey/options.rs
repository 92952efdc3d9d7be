//! What a page gives to `navigator.credentials`: the JSON of 5.1.8 and 5.1.9, which `parseCreationOptionsFromJSON` and
//! `parseRequestOptionsFromJSON` read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::cose::OFFERED;
use super::{Passkey, Passkeys, RelyingParty, UserHandle, Verification};

/// How a new passkey is asked for.
#[derive(Clone, Debug)]
pub struct CreationOptions<'o> {
    /// For whom.
    pub party: &'o RelyingParty,
    /// To be signed.
    pub challenge: &'o [u8],
    /// Who the user is to authenticators.
    pub handle: &'o UserHandle,
    /// The user's name, which is shown where they choose a passkey.
    pub name: &'o str,
    /// Those that they have: an authenticator that holds one of them makes no other.
    pub passkeys: &'o Passkeys,
    /// Whether the passkey is to be the only step of logins.
    pub verification: Verification,
    /// How long the browser waits.
    pub timeout_ms: u64,
}

impl CreationOptions<'_> {
    /// The options as JSON.
    pub fn to_json(&self) -> Value {
        let CreationOptions { party, challenge, handle, name, passkeys, verification, timeout_ms } = self;
        let parameters: Vec<Value> =
            OFFERED.iter().map(|(number, _)| json!({ "type": "public-key", "alg": number })).collect();
        let is_only_step = *verification == Verification::Required;
        let resident = if is_only_step { "required" } else { "discouraged" };
        json!({
            "rp": { "id": party.id(), "name": party.name() },
            "user": { "id": URL_SAFE_NO_PAD.encode(handle.as_bytes()), "name": name, "displayName": name },
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "pubKeyCredParams": parameters,
            "timeout": timeout_ms,
            "excludeCredentials": descriptors(passkeys),
            "authenticatorSelection": {
                "residentKey": resident,
                "requireResidentKey": is_only_step,
                "userVerification": verification.word(),
            },
            "attestation": "none",
        })
    }
}

/// How a passkey is asked for.
#[derive(Clone, Debug)]
pub struct RequestOptions<'o> {
    /// For whom.
    pub party: &'o RelyingParty,
    /// To be signed.
    pub challenge: &'o [u8],
    /// Those of the user, where it is known who that is.
    pub passkeys: Option<&'o Passkeys>,
    /// Whether the passkey is the only step.
    pub verification: Verification,
    /// How long the browser waits.
    pub timeout_ms: u64,
}

impl RequestOptions<'_> {
    /// The options as JSON.
    pub fn to_json(&self) -> Value {
        let RequestOptions { party, challenge, passkeys, verification, timeout_ms } = self;
        json!({
            "rpId": party.id(),
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "timeout": timeout_ms,
            "allowCredentials": passkeys.map(descriptors).unwrap_or_default(),
            "userVerification": verification.word(),
        })
    }
}

fn descriptors(passkeys: &Passkeys) -> Vec<Value> {
    let descriptor = |passkey: &Passkey| {
        let id = URL_SAFE_NO_PAD.encode(passkey.id());
        json!({ "type": "public-key", "id": id, "transports": passkey.transports })
    };
    passkeys.iter().map(descriptor).collect()
}
