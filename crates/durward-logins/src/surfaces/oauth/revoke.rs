//! `/oauth2/revoke` (RFC 7009): a client recalls a token that it was given. With a refresh token, all of its grant.

use std::sync::Arc;

use bytes::Bytes;
use durward_common::access::issued::{NotRevoked, name_of};
use durward_common::surfaces::http::Answer;
use durward_session::identity::Moment;
use durward_session::identity::audit::{AuditEvent, Kind};
use http_body_util::Full;
use hyper::Response;
use hyper::header::{self, HeaderValue};

use super::ClientRequest;
use super::refusal::Refusal;

/// A token that is none, or none any more, needs no recalling: that is no error (2.2).
pub(super) async fn answer(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    let token = request.form.need("token")?;
    let Some(claims) = request.issued.keys.verify(token, &request.issued.issuer, request.now) else {
        let ended = request.issued.end_grant(token, request.client, request.now).await;
        let is_ended = ended.map_err(|_| Refusal::unavailable("other nodes could not be told; try again"))?;
        if let (true, Some(service)) = (is_ended, request.service) {
            let event = AuditEvent::new(Kind::Revoked).address(&request.address.to_string());
            service.audit(event.by(&request.client.id).detail("refresh token")).await;
        }
        return Ok(done());
    };
    if claims.client_id.as_deref() != Some(&request.client.id) {
        return Err(Refusal::unauthorized("the token was given to another client"));
    }
    let (revoked, now) = (Arc::clone(&request.issued.revoked), request.now);
    let (id, ends_s) = (claims.jti.clone(), claims.exp);
    let added = tokio::task::spawn_blocking(move || revoked.add(&id, ends_s, now)).await;
    match added {
        Ok(Ok(())) => {}
        Ok(Err(NotRevoked::Full)) => {
            return Err(Refusal::unavailable("too many tokens are revoked; try again"));
        }
        Ok(Err(NotRevoked::Failed(error))) => {
            tracing::error!(%error, "a recalled token could not be written down: see `oauth.data`");
            return Err(Refusal::unavailable("it could not be written down; try again"));
        }
        Err(_) => return Err(Refusal::unavailable("it could not be done; try again")),
    }
    if let Some(service) = request.service {
        // Where sessions are shared, so is this. It is recalled here already.
        let recalled =
            service.recall(name_of(&claims.jti), Moment::from_ms(claims.exp.saturating_mul(1000))).await;
        recalled.map_err(|_| Refusal::unavailable("other nodes could not be told; try again"))?;
        let event =
            AuditEvent::new(Kind::Revoked).address(&request.address.to_string()).by(&request.client.id);
        service.audit(event.detail(&format!("token {} for {}", claims.jti, claims.sub))).await;
    }
    Ok(done())
}

fn done() -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
