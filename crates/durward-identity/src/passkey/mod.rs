//! Passkeys: keys that a device or a password manager holds for a user, and by which it signs that they are there (Web Authentication
//! Level 3, <https://www.w3.org/TR/webauthn-3/>). This is the part of the server that it calls relying party.
//!
//! ```text
//!   enrolment: a challenge ---> the browser and its authenticator ---> Registration ---> register (7.1) ---> Passkey, kept in the account
//!   login:     a challenge ---> the browser and its authenticator ---> Assertion ------> verify   (7.2) ---> PasskeyUse
//! ```
//!
//! Challenges are given out and used up elsewhere. What an authenticator says of its maker (attestation) is neither asked for nor
//! believed: whoever enrols a passkey has proved otherwise who they are.
//!
//! # What is not here
//!
//! Signatures are checked by `durward-jwt`, which has the one verifier. No extension is read: each may be left out by an authenticator.

mod authenticator_data;
mod cbor;
mod client_data;
mod cose;
mod kept;
mod options;
mod party;
mod refusal;
mod register;
mod response;
mod verify;

pub use kept::{
    PASSKEY_NAME_LENGTH_MAX, PASSKEYS_MAX, Passkey, PasskeyUse, Passkeys, USER_HANDLE_BYTES, UserHandle,
    is_passkey_name,
};
pub use options::{CreationOptions, RequestOptions};
pub use party::RelyingParty;
pub use refusal::PasskeyRefusal;
pub use register::{Registered, register};
pub use response::{Assertion, CREDENTIAL_LENGTH_MAX, Registration};
pub use verify::verify;

/// What a ceremony demands of the user beside being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// That the authenticator has made sure who they are, by a PIN or a finger: the passkey stands for password and second step.
    Required,
    /// Nothing more: the passkey follows a password.
    Optional,
}

impl Verification {
    /// The word for browsers (5.8.6).
    fn word(self) -> &'static str {
        match self {
            Verification::Required => "required",
            Verification::Optional => "preferred",
        }
    }
}
