//! Proofs of possession (DPoP, RFC 9449) on requests: read, compared with the request, and each taken once.
//!
//! ```text
//!   headers --shown--> text --Proofs::check--> CheckedProof --Proofs::take--> TakenProof --keep--> ProvenKey
//! ```
//!
//! A proof is taken when all else is known to be right, and kept when something has come of it: whoever has nothing to show beside it fills
//! no memory. That it was taken, a node remembers for itself, for as long as the proof could be shown again, and until it ends. So of a
//! proof that was made before the node began, nobody knows whether it was shown: it must have a `nonce` from after that, where nonces are
//! given out, and else it is refused. Left open are proofs of clients whose clocks are ahead, by as much as they are.

mod nonces;
mod seen;

use std::fmt;

use durward_session::Service;
use durward_session::identity::jwt::{Proof, ProofExpected, ProofRefusal};
use durward_session::identity::{IdentityError, Moment};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use nonces::Nonces;
pub use seen::{Seen, Share, TakenProof};

/// Where proofs are.
pub const DPOP: HeaderName = HeaderName::from_static("dpop");

/// Where a server gives out what the next proof must have in it (RFC 9449, 8.1).
pub const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// How callers with tokens that are bound to a key may authenticate (RFC 9449, 7.1).
pub const CHALLENGE: &str = "DPoP algs=\"RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA\"";

/// Why a request proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotProved {
    /// There are several proofs.
    Several,
    /// The proof is wrong.
    Refused(ProofRefusal),
    /// It is by another key than the one that is bound to what is shown.
    Key,
    /// It was shown before.
    Again,
    /// The proof must have a `nonce` that this server gave out a moment ago.
    Nonce,
    /// It was made before this server began: nobody knows whether it was shown then.
    Early,
    /// Nothing more can be remembered: nobody knows whether it was shown before.
    Full,
}

impl NotProved {
    /// In words for a developer: ASCII, without quotation marks.
    pub const fn words(self) -> &'static str {
        match self {
            NotProved::Several => "there is more than one DPoP header",
            NotProved::Refused(refusal) => refusal.words(),
            NotProved::Key => "it is by another key than the token is bound to",
            NotProved::Again => "its jti was used before",
            NotProved::Nonce => "its nonce must be the one in DPoP-Nonce",
            NotProved::Early => "its iat is before this server was started: make another one",
            NotProved::Full => "too many proofs are being shown",
        }
    }
}

impl fmt::Display for NotProved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl From<ProofRefusal> for NotProved {
    fn from(refusal: ProofRefusal) -> NotProved {
        NotProved::Refused(refusal)
    }
}

/// A proof that was made for the request, and may have been shown before.
pub struct CheckedProof(Proof);

impl CheckedProof {
    /// Reads a proof, and compares it with the request.
    ///
    /// # Errors
    /// It is none, or of another request.
    pub fn read(text: &str, expected: &ProofExpected<'_>) -> Result<CheckedProof, NotProved> {
        let proof = Proof::read(text)?;
        proof.check(expected)?;
        Ok(CheckedProof(proof))
    }

    /// That it was made while this was remembered.
    ///
    /// # Errors
    /// It was made before.
    pub fn made_since(self, seen: &Seen) -> Result<CheckedProof, NotProved> {
        if seen.is_older(&self.0) { Err(NotProved::Early) } else { Ok(self) }
    }

    /// What names its key. Whoever acts on it takes the proof.
    pub fn thumbprint(&self) -> &str {
        self.0.thumbprint()
    }

    /// Takes the proof, which is good once, of whoever has these shares.
    ///
    /// # Errors
    /// It was taken before, or there is no room.
    pub fn take<'s>(
        &self,
        seen: &'s Seen,
        now: Moment,
        shares: &[Share],
    ) -> Result<TakenProof<'s>, NotProved> {
        seen.put(&self.0, now, shares)
    }
}

/// The thumbprint of a key that whoever asks has shown to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenKey(String);

impl ProvenKey {
    /// The thumbprint of the key (RFC 7638), in base64url.
    pub fn thumbprint(&self) -> &str {
        &self.0
    }
}

/// The proof that a request shows.
///
/// # Errors
/// Several, or what cannot be one.
pub fn shown(headers: &HeaderMap) -> Result<Option<&str>, NotProved> {
    let mut fields = headers.get_all(DPOP).iter();
    match (fields.next(), fields.next()) {
        (None, _) => Ok(None),
        (Some(field), None) => field.to_str().map(Some).map_err(|_| ProofRefusal::Malformed.into()),
        (Some(_), Some(_)) => Err(NotProved::Several),
    }
}

/// What proofs are looked at with by the server that binds tokens.
pub struct Proofs {
    seen: Seen,
    /// Apart: those who push requests need have nothing to show beside a proof.
    pushed: Seen,
    nonces: Nonces,
    needs_nonces: bool,
}

/// What a proof is shown for: where that is, and what is remembered of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownFor {
    /// A token, or what a token opens.
    Token,
    /// A request that is pushed.
    Push,
}

impl Proofs {
    /// `needs_nonces` says whether every proof must have a `nonce` of this server.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new(service: Option<&Service>, needs_nonces: bool, now: Moment) -> Result<Proofs, IdentityError> {
        let nonces = Nonces::new(service)?;
        Ok(Proofs { seen: Seen::since(now), pushed: Seen::since(now), nonces, needs_nonces })
    }

    /// Reads a proof, and compares it with the request.
    ///
    /// # Errors
    /// It is none, of another request, or has not the `nonce` that it needs. One that it need not have must be right as well.
    pub fn check(&self, text: &str, expected: &ProofExpected<'_>) -> Result<CheckedProof, NotProved> {
        let checked = CheckedProof::read(text, expected)?;
        let is_older = self.seen.is_older(&checked.0);
        match checked.0.nonce() {
            None if self.needs_nonces || is_older => Err(NotProved::Nonce),
            Some(nonce) if !self.nonces.gave(nonce, expected.now) => Err(NotProved::Nonce),
            // What was given out since says that the proof was made since.
            Some(nonce) if is_older && !self.nonces.gave_since(nonce, self.seen.began_s()) => {
                Err(NotProved::Nonce)
            }
            Some(_) | None => Ok(checked),
        }
    }

    /// Takes a proof, which is good once.
    ///
    /// # Errors
    /// As of [`CheckedProof::take`].
    pub fn take(
        &self,
        proof: &CheckedProof,
        shown_for: ShownFor,
        now: Moment,
        shares: &[Share],
    ) -> Result<TakenProof<'_>, NotProved> {
        let seen = match shown_for {
            ShownFor::Token => &self.seen,
            ShownFor::Push => &self.pushed,
        };
        proof.take(seen, now, shares)
    }

    /// What the next proof is to have in it, where an answer has to say that: always where it must have one, and else where one was wrong.
    pub fn next_nonce(&self, refused: Option<NotProved>, now: Moment) -> Option<HeaderValue> {
        let is_told = self.needs_nonces || refused == Some(NotProved::Nonce);
        // One of the second of the start may be of before.
        let after_start = Moment::from_ms((self.seen.began_s() + 1) * 1000);
        is_told.then(|| HeaderValue::try_from(self.nonces.at(now.max(after_start))?).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use durward_session::identity::jwt::PROOF_ALGORITHMS;

    use super::*;

    #[test]
    fn the_challenge_names_every_algorithm() {
        let names: Vec<&str> = PROOF_ALGORITHMS.iter().map(|algorithm| algorithm.name()).collect();
        assert_eq!(CHALLENGE, format!("DPoP algs=\"{}\"", names.join(" ")));
    }

    #[test]
    fn one_header_is_read_and_no_second_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(shown(&headers), Ok(None));
        headers.append(DPOP, HeaderValue::from_static("a.b.c"));
        assert_eq!(shown(&headers), Ok(Some("a.b.c")));
        headers.append(DPOP, HeaderValue::from_static("a.b.c"));
        assert_eq!(shown(&headers), Err(NotProved::Several));
    }
}
