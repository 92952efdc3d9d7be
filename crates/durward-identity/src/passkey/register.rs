//! A new passkey (7.1).

use super::authenticator_data::{AuthenticatorData, NewCredential};
use super::cbor::read_map;
use super::client_data::{self, Ceremony};
use super::cose::CredentialKey;
use super::{PasskeyRefusal, Registration, RelyingParty, Verification};

/// A passkey that was made for the challenge. That nobody else has its identifier is for whoever knows all users.
#[derive(Clone, Debug)]
pub struct Registered {
    pub(super) id: Vec<u8>,
    pub(super) key: CredentialKey,
    pub(super) sign_count: u32,
    pub(super) is_backup_eligible: bool,
    pub(super) is_backed_up: bool,
    pub(super) is_user_verified: bool,
    pub(super) transports: Vec<String>,
}

impl Registered {
    /// What names the passkey to its authenticator.
    pub fn id(&self) -> &[u8] {
        &self.id
    }
}

/// Whether an authenticator has made a passkey for this relying party and challenge; steps as 7.1 numbers them.
///
/// # Errors
/// It has not, or not as it was asked.
pub fn register(
    party: &RelyingParty,
    challenge: &[u8],
    verification: Verification,
    registration: &Registration,
) -> Result<Registered, PasskeyRefusal> {
    const WHAT: &str = "the attestation";
    // Steps 5 to 11.
    client_data::check(&registration.client_data, Ceremony::Create, party, challenge)?;
    // Step 13.
    let (object, rest) = read_map(&registration.attestation, WHAT)?;
    let statement = object.map_len_at("attStmt");
    let (Some(format), Some(statement), Some(data)) =
        (object.text_at("fmt"), statement, object.bytes_at("authData"))
    else {
        return Err(PasskeyRefusal::Malformed(WHAT));
    };
    if !rest.is_empty() || object.len() != 3 || format == "none" && statement != 0 {
        return Err(PasskeyRefusal::Malformed(WHAT));
    }
    let data = AuthenticatorData::read(data)?;
    // Steps 14 to 18.
    check_flags(&data, party, verification)?;
    // Steps 19 to 25. Of steps 21 to 24, on attestation, nothing is done: it is not believed.
    let NewCredential { id, key } = data.credential.as_ref().ok_or(PasskeyRefusal::Malformed(WHAT))?;
    if *id != registration.id {
        return Err(PasskeyRefusal::Unknown);
    }
    Ok(Registered {
        id: id.clone(),
        key: key.clone(),
        sign_count: data.sign_count,
        is_backup_eligible: data.is_backup_eligible(),
        is_backed_up: data.is_backed_up(),
        is_user_verified: data.is_user_verified(),
        transports: registration.transports.clone(),
    })
}

/// What both ceremonies ask of the authenticator's flags.
pub(super) fn check_flags(
    data: &AuthenticatorData,
    party: &RelyingParty,
    verification: Verification,
) -> Result<(), PasskeyRefusal> {
    if data.rp_id_hash.as_slice() != party.id_hash() {
        return Err(PasskeyRefusal::RelyingParty);
    }
    if !data.is_user_present() {
        return Err(PasskeyRefusal::UserPresent);
    }
    if verification == Verification::Required && !data.is_user_verified() {
        return Err(PasskeyRefusal::UserVerified);
    }
    // What cannot be backed up is not.
    if data.is_backed_up() && !data.is_backup_eligible() {
        return Err(PasskeyRefusal::Backup);
    }
    Ok(())
}
