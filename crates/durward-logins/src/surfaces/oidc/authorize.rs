//! `/oauth2/authorize`: whether the browser can be sent back with a code at once, and if not, what is to be asked.

use durward_common::access::issued::authorization::{NotAuthorized, is_registered};
use durward_common::access::issued::id_token::authenticated_at;
use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_session::identity::session::{Purpose, Session};
use durward_session::identity::user::Account;
use durward_session::{Failed, TurnUse, Who};

use super::consent;
use super::interaction::{self, Interaction, Stage};
use super::pages::Message;
use super::{BrowserRequest, cookies, redirect, upstream};

const AUTHORIZE: &str = "/oauth2/authorize";

/// The longest request that a browser is sent to ask again with GET: what is longer, proxies before this server may not let through.
const QUERY_BYTES_MAX: usize = 7 * 1024;

pub(super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    let browser = cookies::value(request.headers, &request.surface.cookies.browser);
    if request.is_post && browser.is_none() {
        return ask_again(request);
    }
    let read = request.issued.authorization(&request.parameters, request.now);
    let (authorization, pushed) = match read {
        Ok(read) => read,
        Err(NotAuthorized::Here(why)) => return request.message(Message::Impossible(why.to_owned())),
        Err(NotAuthorized::Client(error)) => return redirect::with_error(&error, &request.issued.issuer),
    };
    let session = cookies::value(request.headers, &request.surface.cookies.session);
    let Ok(interaction) = Interaction::new(request, authorization, pushed) else {
        return request.message(Message::Unavailable);
    };
    go_on(request, interaction, session).await
}

/// Browsers send no `SameSite=Lax` cookies with a POST of another site's page. To answer it would be to give the browser a new name, and
/// any page could so end the login that it is in the middle of. It asks again with GET, and brings the cookies that it has.
fn ask_again(request: &BrowserRequest<'_>) -> Answer {
    let query = request.parameters.to_text();
    if query.len() > QUERY_BYTES_MAX {
        let why = "the request is too long to be asked again with GET: push it (RFC 9126)";
        return request.message(Message::Impossible(why.to_owned()));
    }
    redirect::to(&format!("{AUTHORIZE}?{query}"), &[])
}

/// A session that lives, and its token. Its user may log in.
struct Known<'t> {
    token: &'t str,
    who: Who,
    session: Session,
    account: Account,
}

impl Known<'_> {
    fn level(&self) -> u8 {
        self.session.level.min(self.who.level).0
    }

    fn subject(&self) -> String {
        subject::of_user(&self.who.user)
    }
}

/// What is still missing.
enum Missing {
    Login,
    SecondStep,
    Consent,
    /// Who had to log in is another user.
    OtherUser,
    /// It cannot be found out at the moment.
    Unavailable,
}

/// Sends the browser back with a code, or asks for what is missing. `session` is the token that the browser has by now.
pub(super) async fn go_on(
    request: &BrowserRequest<'_>,
    mut interaction: Interaction,
    session: Option<&str>,
) -> Answer {
    let missing = match known(request, session).await {
        Err(missing) => missing,
        Ok(known) => match missing(request, &interaction, &known) {
            None => return granted(request, &interaction, &known).await,
            Some(missing) => {
                interaction.session = Some(known.who.id.to_string());
                interaction.user = Some(known.subject());
                missing
            }
        },
    };
    let tell = |error, description| {
        let error = redirect::error_of(&interaction.authorization, error, description);
        redirect::with_error(&error, &request.issued.issuer)
    };
    let is_silent = interaction.authorization.prompt.none;
    interaction.stage = match missing {
        Missing::Unavailable => {
            return tell("temporarily_unavailable", "the session or its user cannot be asked about now");
        }
        Missing::OtherUser => return tell("login_required", "another user is logged in"),
        Missing::Login if is_silent => return tell("login_required", "the user must log in"),
        Missing::SecondStep if is_silent => return tell("interaction_required", "a second step is missing"),
        Missing::Consent if is_silent => return tell("consent_required", "the user must consent"),
        Missing::Login => {
            // Who has just been there is not sent there again: what is missing then does not come of itself.
            if let Some(only) = upstream::only(request).filter(|_| interaction.logged_in.is_none()) {
                return upstream::begin(request, interaction, only).await;
            }
            Stage::Password
        }
        Missing::SecondStep => Stage::StepUp,
        Missing::Consent => Stage::Consent,
    };
    interaction::page(request, &interaction, None)
}

async fn known<'t>(request: &BrowserRequest<'_>, token: Option<&'t str>) -> Result<Known<'t>, Missing> {
    let token = token.ok_or(Missing::Login)?;
    let (who, session) = request.service.session(token, Purpose::Use).await?;
    // Directories outside do not tell whom they have disabled or removed.
    let account = request.service.active_account(&who.user).await?.ok_or(Missing::Login)?;
    Ok(Known { token, who, session, account })
}

impl From<Failed> for Missing {
    fn from(failed: Failed) -> Missing {
        if failed.is_temporary() { Missing::Unavailable } else { Missing::Login }
    }
}

fn missing(request: &BrowserRequest<'_>, interaction: &Interaction, known: &Known<'_>) -> Option<Missing> {
    let asked = &interaction.authorization;
    // The login of this very interaction is as new as can be.
    let is_new = interaction.logged_in.as_deref() == Some(&*known.who.id.to_string());
    let is_other = asked.subject.as_ref().is_some_and(|subject| *subject != known.subject());
    if is_other {
        return Some(if is_new { Missing::OtherUser } else { Missing::Login });
    }
    let age_s = request.now.since(authenticated_at(&known.session)).as_secs();
    // 0 asks for a login in any case (OpenID Connect Core, 3.1.2.1).
    let is_too_old = asked.max_age_s.is_some_and(|max| max == 0 || age_s > max);
    if !is_new && (asked.prompt.login || is_too_old) {
        return Some(Missing::Login);
    }
    if asked.level.is_some_and(|level| level > known.level()) {
        // A wish, and no demand (OpenID Connect Core, 3.1.2.1): who has no second step cannot take it, and `acr` says so.
        if can_step_up(request, known) {
            return Some(Missing::SecondStep);
        }
    }
    let client = request.issued.client(&asked.client);
    let is_asked = client.is_none_or(|client| client.consent) || asked.prompt.consent;
    let is_given = || !asked.prompt.consent && consent::is_given(request, &known.subject(), asked);
    let has_said_yes = interaction.consented.as_deref() == Some(&*known.who.id.to_string());
    (is_asked && !has_said_yes && !is_given()).then_some(Missing::Consent)
}

fn can_step_up(request: &BrowserRequest<'_>, known: &Known<'_>) -> bool {
    known.level() < request.service.settings().second_step_level.0 && known.account.has_second_step()
}

/// Back to the application, with a code.
async fn granted(request: &BrowserRequest<'_>, interaction: &Interaction, known: &Known<'_>) -> Answer {
    let asked = &interaction.authorization;
    // Settings may have changed since the form was made.
    if !request.issued.client(&asked.client).is_some_and(|client| is_registered(&client, &asked.redirect_uri))
    {
        let why = "the client has no such `redirect_uri` any more";
        return request.message(Message::Impossible(why.to_owned()));
    }
    let tell = |error, description| {
        redirect::with_error(&redirect::error_of(asked, error, description), &request.issued.issuer)
    };
    if let Some(pushed) = &interaction.pushed {
        match request.service.use_turn(pushed.turn()).await {
            Ok(TurnUse::First) => {}
            Ok(TurnUse::Again | TurnUse::Forgotten) => {
                return tell("invalid_request", "the pushed request was used before");
            }
            Err(_) => return tell("temporarily_unavailable", "the request cannot be looked at now"),
        }
    }
    let Ok(code) = request.issued.code(known.token, asked, request.now) else {
        return tell("server_error", "no code could be made");
    };
    let parameters = [
        ("code", Some(code.as_str())),
        ("state", asked.state.as_deref()),
        ("iss", Some(request.issued.issuer.as_str())),
    ];
    redirect::to(&asked.redirect_uri, &parameters)
}
