//! `/oauth2/logout`: an application sends the browser here for its user to log out (OpenID Connect RP-Initiated Logout).
//!
//! Where the application shows an ID token of the session, that is the user's wish; where it does not, or the browser has another
//! session by now, the user is asked, so that no page logs people out.

use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_session::Failed;
use durward_session::identity::session::{Purpose, Refusal, SessionId, User};
use durward_settings::OauthClientSettings;

use super::pages::Message;
use super::{BrowserRequest, cookies, redirect, upstream_logout};
use crate::surfaces::login_forms::binding::is_from_own_page;
use crate::surfaces::login_forms::sign_out::SignOut;

/// Where the form is sent.
const LOGOUT: &str = "/oauth2/logout";

/// The purpose of the seal.
const PURPOSE: &str = "oidc logout";

/// What an ID token says of whom it was given for.
struct Hint {
    client: OauthClientSettings,
    user: User,
    session: SessionId,
}

pub(super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    if request.parameters.get("csrf").is_some() {
        return confirmed(request).await;
    }
    let get = |name: &str| request.parameters.get(name);
    let hint = match get("id_token_hint") {
        None => None,
        Some(text) => match hint(request, text) {
            Some(hint) => Some(hint),
            None => return impossible(request, "`id_token_hint` is no ID token of a client of this issuer"),
        },
    };
    let named = get("client_id");
    if let (Some(hint), Some(id)) = (&hint, named)
        && hint.client.id != id
    {
        return impossible(request, "`client_id` is not the client of `id_token_hint`");
    }
    let client = match (&hint, named) {
        (Some(hint), _) => Some(hint.client.clone()),
        (None, Some(id)) => request.issued.client(id),
        (None, None) => None,
    };
    let then = match get("post_logout_redirect_uri") {
        None => None,
        Some(uri) => {
            let is_known = |client: &OauthClientSettings| {
                client.post_logout_redirect_uris.iter().any(|known| known == uri)
            };
            if !client.as_ref().is_some_and(is_known) {
                return impossible(request, "the client has no such `post_logout_redirect_uri`");
            }
            Some((uri.to_owned(), get("state").map(str::to_owned)))
        }
    };
    begin(request, hint, then).await
}

fn impossible(request: &BrowserRequest<'_>, why: &str) -> Answer {
    request.message(Message::Impossible(why.to_owned()))
}

async fn begin(
    request: &BrowserRequest<'_>,
    hint: Option<Hint>,
    then: Option<(String, Option<String>)>,
) -> Answer {
    let token = cookies::value(request.headers, &request.surface.cookies.session);
    let current = match token {
        Some(token) => match request.service.validate(token, Purpose::Look).await {
            Ok(who) => Some((token, who)),
            // It may be there: nobody is told that they are logged out.
            Err(Refusal::Unavailable) => return request.message(Message::Unavailable),
            Err(_) => None,
        },
        None => None,
    };
    match (current, hint) {
        // Whoever logged in again since has another session, and means that as well.
        (Some((token, who)), Some(hint)) if who.user == hint.user => {
            let is_other_over = who.id == hint.session || end(request, &hint).await;
            let ended = request.service.logout(token, Some(request.address)).await;
            if ended.is_err() || !is_other_over {
                return request.message(Message::Unavailable);
            }
            done(request, then).await
        }
        (Some((_, who)), _) => ask(request, who.id, then),
        // Browsers send no cookie with a form of another site: the ID token says which session it is.
        (None, Some(hint)) => {
            if end(request, &hint).await {
                done(request, then).await
            } else {
                request.message(Message::Unavailable)
            }
        }
        // The cookie does not come with a form of another site: what the browser has is seen when it asks with GET.
        (None, None) if request.is_post && token.is_none() => {
            redirect::to(&format!("{LOGOUT}?{}", request.parameters.to_text()), &[])
        }
        (None, None) => done(request, then).await,
    }
}

/// Ends the session of an ID token. One that has ended needs no ending. Whether it is over.
async fn end(request: &BrowserRequest<'_>, hint: &Hint) -> bool {
    match request.service.end_session(&hint.user, hint.session, Some(request.address)).await {
        Ok(()) | Err(Failed::NoSession) => true,
        Err(error) => {
            tracing::debug!(%error, "a session of an ID token was not ended");
            false
        }
    }
}

fn hint(request: &BrowserRequest<'_>, text: &str) -> Option<Hint> {
    let claims = request.issued.keys.read_id_token(text, &request.issued.issuer, request.now)?;
    let get = |name: &str| claims.get(name)?.as_str();
    Some(Hint {
        client: request.issued.client(get("aud")?)?,
        user: subject::read(get("sub")?)?,
        session: SessionId::read(get("sid")?)?,
    })
}

fn ask(request: &BrowserRequest<'_>, session: SessionId, then: Option<(String, Option<String>)>) -> Answer {
    let asked = SignOut::new(session, then, request.now);
    match asked.sealed(request.service, PURPOSE) {
        Some(csrf) => {
            let redirect_uri = asked.then.map(|(uri, _)| uri);
            request.message(Message::LogoutAsked { action: LOGOUT.to_owned(), csrf, redirect_uri })
        }
        None => request.message(Message::Unavailable),
    }
}

/// The user said yes.
async fn confirmed(request: &BrowserRequest<'_>) -> Answer {
    let csrf = request.parameters.get("csrf").filter(|_| is_from_own_page(request.is_post, request.headers));
    let good = csrf.and_then(|csrf| SignOut::read(request.service, PURPOSE, csrf, request.now));
    let Some(asked) = good else { return request.message(Message::Over) };
    let token = cookies::value(request.headers, &request.surface.cookies.session);
    let Some(token) = token else { return done(request, asked.then).await };
    match request.service.validate(token, Purpose::Look).await {
        Ok(who) if who.id.to_string() == asked.session => {
            match request.service.logout(token, Some(request.address)).await {
                Ok(_) => done(request, asked.then).await,
                Err(_) => request.message(Message::Unavailable),
            }
        }
        Ok(_) => request.message(Message::Over),
        Err(Refusal::Unavailable) => request.message(Message::Unavailable),
        Err(_) => done(request, asked.then).await,
    }
}

/// Where there is no session any more: to the provider at which the user logged in, where that is wanted; to the application, or a word to
/// the user.
async fn done(request: &BrowserRequest<'_>, then: Option<(String, Option<String>)>) -> Answer {
    let left = upstream_logout::leave(request, &then).await;
    let mut answer = match (left, &then) {
        (Some(answer), _) => answer,
        (None, Some((uri, state))) => redirect::to(uri, &[("state", state.as_deref())]),
        (None, None) => request.message(Message::LoggedOut),
    };
    upstream_logout::keep(request, None, &mut answer);
    let cookies = &request.surface.cookies;
    // One that was not shown stays: its session may live, and the user could end it no more.
    if cookies::value(request.headers, &cookies.session).is_some() {
        cookies.set(&mut answer, &cookies.session, "", Some(0));
    }
    answer
}
