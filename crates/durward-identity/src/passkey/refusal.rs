//! Why a registration or an assertion is refused.

use std::fmt;

/// Why a registration or an assertion is refused: for the audit and for developers. Sections are those of Web Authentication Level 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeyRefusal {
    /// It cannot be read.
    Malformed(&'static str),
    /// The client data are of another ceremony (7.1, step 7; 7.2, step 11).
    Type,
    /// The challenge is another.
    Challenge,
    /// It was made on a page of another origin.
    Origin,
    /// It was made in a frame of a page of another origin.
    CrossOrigin,
    /// It is for another relying party.
    RelyingParty,
    /// The user was not there (UP).
    UserPresent,
    /// The user was not verified (UV).
    UserVerified,
    /// What it says of backups contradicts itself, or what the passkey said before (BE, BS).
    Backup,
    /// The key is of an algorithm that was not offered, or unfit for it.
    Algorithm,
    /// The identifier of the credential is shorter than 16 or longer than 1023 bytes.
    IdLength,
    /// The credential is not one of the user's.
    Unknown,
    /// The user handle is missing, or another user's.
    UserHandle,
    /// The signature is not of the key.
    Signature,
    /// The counter did not grow: there may be a copy of the authenticator.
    SignCount,
}

impl fmt::Display for PasskeyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PasskeyRefusal::Malformed(what) => return write!(f, "{what} cannot be read"),
            PasskeyRefusal::Type => "it is of another ceremony",
            PasskeyRefusal::Challenge => "the challenge is another",
            PasskeyRefusal::Origin => "it was made on a page of another origin",
            PasskeyRefusal::CrossOrigin => "it was made in a frame of another origin's page",
            PasskeyRefusal::RelyingParty => "it is for another relying party",
            PasskeyRefusal::UserPresent => "the user was not there",
            PasskeyRefusal::UserVerified => "the user was not verified",
            PasskeyRefusal::Backup => "what it says of backups is not possible",
            PasskeyRefusal::Algorithm => {
                "the key is of an algorithm that was not offered, or does not fit it"
            }
            PasskeyRefusal::IdLength => "the identifier does not have 16 to 1023 bytes",
            PasskeyRefusal::Unknown => "the passkey is none of the user's",
            PasskeyRefusal::UserHandle => "the user handle is missing or another user's",
            PasskeyRefusal::Signature => "the signature is not of the passkey",
            PasskeyRefusal::SignCount => "the counter did not grow: there may be a copy of the authenticator",
        })
    }
}

impl std::error::Error for PasskeyRefusal {}
