//! What a client's tokens are bound to: the key that it shows to have (DPoP; RFC 9449, 5 and 10).

use durward_common::access::dpop::{self, CheckedProof, NotProved, ProvenKey, Share, ShownFor, TakenProof};
use durward_session::identity::jwt::ProofExpected;
use durward_settings::ClientDpop;

use super::ClientRequest;
use super::refusal::Refusal;

/// The proof of a request, where there is one, as the client's settings want it. It is good once: see [`taken`].
pub(super) fn checked(
    request: &ClientRequest<'_>,
    shown_for: ShownFor,
) -> Result<Option<CheckedProof>, Refusal> {
    let shown = dpop::shown(request.headers).map_err(refused)?;
    let text = match (shown, request.client.dpop) {
        (None, ClientDpop::Required) if shown_for == ShownFor::Token => {
            return Err(Refusal::proof("this client must show a proof in DPoP"));
        }
        (None, ClientDpop::Required | ClientDpop::Allowed | ClientDpop::Off) => return Ok(None),
        (Some(_), ClientDpop::Off) => return Err(Refusal::unauthorized("DPoP is off for this client")),
        (Some(text), ClientDpop::Required | ClientDpop::Allowed) => text,
    };
    let path = match shown_for {
        ShownFor::Token => "/oauth2/token",
        ShownFor::Push => "/oauth2/par",
    };
    let address = format!("{}{path}", request.issued.issuer);
    let expected = ProofExpected { method: "POST", addresses: &[address], token: None, now: request.now };
    request.issued.proofs.check(text, &expected).map(Some).map_err(refused)
}

/// Takes the proof. What else is wrong with the request is found out before, or the proof is given back: whoever brings nothing else that
/// is good fills no memory, and may show the proof again.
pub(super) fn taken<'r>(
    request: &ClientRequest<'r>,
    proof: Option<&CheckedProof>,
    shown_for: ShownFor,
) -> Result<Option<TakenProof<'r>>, Refusal> {
    let shares = [Share::client(&request.client.id)];
    let Some(proof) = proof else { return Ok(None) };
    request.issued.proofs.take(proof, shown_for, request.now, &shares).map(Some).map_err(refused)
}

/// The key that a token of this request is bound to.
pub(super) fn key(request: &ClientRequest<'_>) -> Result<Option<ProvenKey>, Refusal> {
    let proof = checked(request, ShownFor::Token)?;
    Ok(taken(request, proof.as_ref(), ShownFor::Token)?.map(TakenProof::keep))
}

/// What a token is called that is bound to a key, or is not.
pub(super) const fn token_type(key: Option<&ProvenKey>) -> &'static str {
    match key {
        Some(_) => "DPoP",
        None => "Bearer",
    }
}

fn refused(why: NotProved) -> Refusal {
    match why {
        NotProved::Nonce => Refusal::nonce(why.words()),
        NotProved::Full => Refusal::unavailable("too many proofs are being shown; try again"),
        NotProved::Several | NotProved::Refused(_) | NotProved::Key | NotProved::Again | NotProved::Early => {
            Refusal::proof(why.words())
        }
    }
}
