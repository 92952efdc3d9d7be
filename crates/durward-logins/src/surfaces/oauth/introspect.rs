//! `/oauth2/introspect` (RFC 7662): whether a token is good at this moment.

use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_session::identity::jwt::{Binding, Claims};
use durward_session::identity::session::SessionId;
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::{ClientRequest, json};

/// Of a token that is not good, is none, or is not the client's to ask about, no more is said than that: whoever asks is not to
/// know which (2.2).
pub(super) async fn answer(request: &ClientRequest<'_>) -> Result<Answer, Refusal> {
    let token = request.form.need("token")?;
    let document = match active(request, token).await? {
        Some(claims) => view(&claims),
        None => json!({ "active": false }),
    };
    Ok(json(StatusCode::OK, &document))
}

/// What a token says, if it is good and the client may know.
async fn active(request: &ClientRequest<'_>, token: &str) -> Result<Option<Claims>, Refusal> {
    let issued = request.issued;
    issued.catch_up().await.map_err(unavailable)?;
    let Some(claims) = issued.good(token, request.now) else { return Ok(None) };
    let is_own = claims.client_id.as_deref() == Some(&request.client.id);
    let is_for_it = claims.aud.iter().any(|audience| request.client.serves.contains(audience));
    if !(is_own || is_for_it) {
        return Ok(None);
    }
    let Some(session) = &claims.sid else { return Ok(Some(claims)) };
    let (Some(user), Some(id), Some(service)) =
        (subject::read(&claims.sub), SessionId::read(session), request.service)
    else {
        return Ok(None);
    };
    if !service.lives(&user, id).await.map_err(unavailable)? {
        return Ok(None);
    }
    // Directories outside do not tell whom they have disabled or removed.
    let account = service.active_account(&user).await.map_err(unavailable)?;
    Ok(account.map(|_| claims))
}

fn unavailable<E>(_: E) -> Refusal {
    Refusal::unavailable("the token cannot be looked at; try again")
}

/// RFC 7662, 2.2.
fn view(claims: &Claims) -> Value {
    let mut view = match serde_json::to_value(claims) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    };
    view.insert("active".to_owned(), json!(true));
    view.insert("token_type".to_owned(), json!(token_type(claims)));
    if let Some(user) = claims.sid.as_ref().and_then(|_| subject::read(&claims.sub)) {
        view.insert("username".to_owned(), json!(user.subject()));
    }
    Value::Object(view)
}

/// How the token is shown (RFC 9449, 6.2).
fn token_type(claims: &Claims) -> &'static str {
    match claims.binding() {
        Binding::Key(_) => "DPoP",
        Binding::Bearer | Binding::Unknown => "Bearer",
    }
}
