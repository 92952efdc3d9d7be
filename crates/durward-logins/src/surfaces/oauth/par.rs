//! `/oauth2/par` (RFC 9126): a client says what it will ask for before it sends the browser, which carries only a name.

use durward_common::access::dpop::{ProvenKey, ShownFor, TakenProof};
use durward_common::access::issued::authorization::{NotAuthorized, PUSHED_S};
use durward_common::surfaces::http::Answer;
use hyper::StatusCode;
use serde_json::json;

use super::refusal::Refusal;
use super::{ClientRequest, json as answer_of, proof};

pub(super) fn answer(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    if request.service.is_none() {
        return Err(Refusal::unavailable("there are no users on this server"));
    }
    let form = &request.form;
    if form.get("request_uri").is_some() {
        return Err(Refusal::request("a request that is pushed names no other one"));
    }
    if form.get("client_id").is_some_and(|id| id != request.client.id) {
        return Err(Refusal::request("`client_id` names another client"));
    }
    let requested = request.issued.requested(request.client, form.parameters(), request.now);
    let mut authorization = requested.map_err(|wrong| match wrong {
        NotAuthorized::Here(description) => Refusal::request(description),
        NotAuthorized::Client(error) => Refusal::of_authorization(error.error, error.description),
    })?;
    if let Some(key) = key(request, authorization.key.as_deref())? {
        authorization.key = Some(key.thumbprint().to_owned());
    }
    let name = request.issued.push(authorization, request.now).map_err(|error| {
        tracing::error!(%error, client = request.client.id, "a request could not be pushed");
        Refusal::request("the request is too long, or cannot be taken now")
    })?;
    Ok(answer_of(StatusCode::CREATED, &json!({ "request_uri": name, "expires_in": PUSHED_S })))
}

/// The key of the proof that comes with a request, to which the code is bound as by `dpop_jkt` (RFC 9449, 10.1). Both name the same.
fn key(request: &ClientRequest<'_>, named: Option<&str>) -> Result<Option<ProvenKey>, Refusal> {
    let Some(proof) = proof::checked(request, ShownFor::Push)? else { return Ok(None) };
    if named.is_some_and(|named| named != proof.thumbprint()) {
        return Err(Refusal::proof("its key is another one than dpop_jkt names"));
    }
    Ok(proof::taken(request, Some(&proof), ShownFor::Push)?.map(TakenProof::keep))
}
