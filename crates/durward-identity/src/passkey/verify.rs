//! A login with a passkey (7.2).

use ring::digest::{SHA256, digest};

use super::authenticator_data::AuthenticatorData;
use super::client_data::{self, Ceremony};
use super::register::check_flags;
use super::{Assertion, PasskeyRefusal, PasskeyUse, Passkeys, RelyingParty, Verification};

/// Whether one of a user's passkeys has signed this challenge for this relying party; steps as 7.2 numbers them. Where nobody has said
/// before who the user is, `verification` is [`Verification::Required`], and the authenticator must say whose the passkey is.
///
/// What comes of it counts once [`Passkeys::used`] has taken it.
///
/// # Errors
/// None has.
pub fn verify(
    party: &RelyingParty,
    challenge: &[u8],
    verification: Verification,
    passkeys: &Passkeys,
    assertion: &Assertion,
) -> Result<PasskeyUse, PasskeyRefusal> {
    // Steps 5 to 7: one of the user's own, whom the handle does not contradict.
    let passkey = passkeys.find(&assertion.id).ok_or(PasskeyRefusal::Unknown)?;
    let is_own = |handle: &Vec<u8>| passkeys.handle().is_some_and(|own| own.as_bytes() == handle.as_slice());
    match &assertion.user_handle {
        Some(handle) if !is_own(handle) => return Err(PasskeyRefusal::UserHandle),
        None if verification == Verification::Required => return Err(PasskeyRefusal::UserHandle),
        Some(_) | None => {}
    }
    // Steps 9 to 15.
    client_data::check(&assertion.client_data, Ceremony::Get, party, challenge)?;
    // Steps 16 to 19.
    let data = AuthenticatorData::read(&assertion.authenticator_data)?;
    check_flags(&data, party, verification)?;
    if data.is_backup_eligible() != passkey.is_backup_eligible {
        return Err(PasskeyRefusal::Backup);
    }
    // Steps 20 and 21.
    let client_data_hash = digest(&SHA256, &assertion.client_data);
    let message = [&assertion.authenticator_data, client_data_hash.as_ref()].concat();
    if !passkey.key.verifies(&message, &assertion.signature) {
        return Err(PasskeyRefusal::Signature);
    }
    let passkey_use = PasskeyUse {
        id: assertion.id.clone(),
        sign_count: data.sign_count,
        is_backed_up: data.is_backed_up(),
        is_user_verified: data.is_user_verified(),
    };
    // Step 22.
    if passkey.has_counted(&passkey_use) { Ok(passkey_use) } else { Err(PasskeyRefusal::SignCount) }
}
