//! A login by forms, step after step. What was asked for and how far it has come is sealed into each form, for the browser that it was
//! given to: the browser has a cookie with a name that nobody else knows, and the form has its digest. So a page of another site can
//! neither send a form (it has none of this browser) nor have this browser finish a login that somebody else began.

use durward_session::identity::IdentityError;
use durward_session::identity::session::{Properties, Purpose};
use durward_session::{Failed, Granted, Login, LoginRequest, Refused};
use serde::{Deserialize, Serialize};

use super::authorize::go_on;
use super::pages::Message;
use super::{BrowserRequest, INTERACTION, consent, cookies, redirect};
use crate::access::issued::authorization::{Authorization, FORMS_S, Pushed};
use crate::access::issued::digest::digest;
use crate::access::issued::subject;
use crate::surfaces::http::Answer;
use crate::surfaces::http::cookies::{device, is_of_other_site};
use crate::surfaces::login_page::{Page, PageError, Step};

/// The purpose of the seal.
const PURPOSE: &str = "oidc interaction";

/// What is asked next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Password,
    /// The code of a second step, for a login whose password was right.
    Code(String),
    /// The code of a second step, for a session that is there.
    StepUp,
    Consent,
}

/// What a browser is in the middle of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Interaction {
    pub(super) authorization: Authorization,
    pub(super) pushed: Option<Pushed>,
    pub(super) stage: Stage,
    /// The session that is asked about: what is answered counts for no other.
    pub(super) session: Option<String>,
    /// Who is asked, as pages show it: the name that was typed, or the user of the session. Never what the application says.
    pub(super) user: Option<String>,
    /// The session of a login in this interaction.
    pub(super) logged_in: Option<String>,
    /// The session whose user has consented in this interaction.
    pub(super) consented: Option<String>,
    /// The digest of the browser's name.
    browser: String,
    /// The name, where the browser has none yet.
    #[serde(skip)]
    new_browser: Option<String>,
    until_s: u64,
}

impl Interaction {
    /// Nothing is known yet.
    ///
    /// # Errors
    /// There is no randomness.
    pub(super) fn new(
        request: &BrowserRequest<'_>,
        authorization: Authorization,
        pushed: Option<Pushed>,
    ) -> Result<Interaction, IdentityError> {
        let known = cookies::value(request.headers, &request.surface.cookies.browser);
        let new_browser = if known.is_none() { Some(cookies::new_browser()?) } else { None };
        let name = known.or(new_browser.as_deref()).unwrap_or_default();
        Ok(Interaction {
            authorization,
            pushed,
            stage: Stage::Password,
            session: None,
            user: None,
            logged_in: None,
            consented: None,
            browser: digest(name.as_bytes()),
            until_s: request.now.ms() / 1000 + FORMS_S,
            new_browser,
        })
    }
}

/// What a form brought, if it is this browser's and still good.
fn read(request: &BrowserRequest<'_>) -> Option<Interaction> {
    if !request.is_post || is_of_other_site(request.headers, &["cross-site", "same-site"]) {
        return None;
    }
    let content = request.service.unseal(PURPOSE, request.parameters.get("csrf")?)?;
    let interaction: Interaction = serde_json::from_slice(&content).ok()?;
    let browser = cookies::value(request.headers, &request.surface.cookies.browser)?;
    let is_own = interaction.browser == digest(browser.as_bytes());
    (is_own && interaction.until_s > request.now.ms() / 1000).then_some(interaction)
}

/// The form of the stage.
pub(super) fn page(
    request: &BrowserRequest<'_>,
    interaction: &Interaction,
    error: Option<PageError>,
) -> Answer {
    let content = serde_json::to_vec(interaction).unwrap_or_default();
    let Ok(csrf) = request.service.seal(PURPOSE, &content) else {
        return request.message(Message::Impossible("the request is too long".to_owned()));
    };
    let asked = &interaction.authorization;
    let client = request.issued.client(&asked.client);
    let name = client.map(|client| client.shown_name().to_owned());
    let step = match &interaction.stage {
        Stage::Password => Step::Password,
        Stage::Code(_) | Stage::StepUp => Step::SecondStep,
        Stage::Consent => {
            let client = name.clone().unwrap_or_else(|| asked.client.clone());
            Step::Consent { client, scopes: asked.scopes.clone(), resources: asked.resources.clone() }
        }
    };
    // A first guess, by the application, of who will log in; whoever is asked later is who they are.
    let hint = asked.login_hint.as_ref().filter(|_| interaction.stage == Stage::Password);
    let shown = Page {
        action: INTERACTION.to_owned(),
        csrf,
        username: interaction.user.as_ref().or(hint).cloned(),
        error,
        step,
        client: name,
        redirect_uri: Some(asked.redirect_uri.clone()),
        detail: None,
    };
    let mut answer = request.page_in(asked.languages.as_deref(), &shown);
    if let Some(name) = &interaction.new_browser {
        let cookies = &request.surface.cookies;
        cookies.set(&mut answer, &cookies.browser, name, None);
    }
    answer
}

pub(super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    let Some(interaction) = read(request) else { return request.message(Message::Over) };
    let session = cookies::value(request.headers, &request.surface.cookies.session);
    match interaction.stage.clone() {
        Stage::Password => password(request, interaction).await,
        Stage::Code(challenge) => code(request, interaction, &challenge).await,
        Stage::StepUp => match session {
            Some(session) if is_same(request, &interaction, session).await => {
                step_up(request, interaction, session).await
            }
            Some(_) | None => request.message(Message::Over),
        },
        Stage::Consent => match session {
            Some(session) if is_same(request, &interaction, session).await => {
                consented(request, interaction, session).await
            }
            Some(_) | None => request.message(Message::Over),
        },
    }
}

/// Whether the browser still has the session that the form asked about.
async fn is_same(request: &BrowserRequest<'_>, interaction: &Interaction, session: &str) -> bool {
    let who = request.service.validate(session, Purpose::Look).await;
    who.is_ok_and(|who| interaction.session.as_deref() == Some(&*who.id.to_string()))
}

/// The device cookie is `SameSite=Strict`: browsers send it with these forms, which pages of this server send.
async fn password(request: &BrowserRequest<'_>, mut interaction: Interaction) -> Answer {
    let field = |name: &str| request.parameters.get(name).unwrap_or_default();
    let (realm, user) = name(request, field("username"));
    interaction.user = request.parameters.get("username").map(str::to_owned);
    let login = LoginRequest {
        code: request.parameters.get("code").map(str::to_owned),
        device: device(request.headers).map(str::to_owned),
        ..LoginRequest::new(&realm, &user, field("password"), request.address)
    };
    let login = request.service.login(login).await;
    logged_in(request, interaction, login, PageError::Password).await
}

async fn code(request: &BrowserRequest<'_>, interaction: Interaction, challenge: &str) -> Answer {
    let code = request.parameters.get("code").unwrap_or_default();
    let (device, properties) = (device(request.headers), Properties::new());
    let login =
        request.service.answer_challenge_on(device, challenge, code, request.address, properties).await;
    logged_in(request, interaction, login, PageError::Code).await
}

/// The realm and the name in it of what was typed: `name`, or `name@/realm`. Where there is one realm alone, it is that.
fn name(request: &BrowserRequest<'_>, typed: &str) -> (String, String) {
    let realms = request.service.realms();
    let typed = typed.trim();
    let read = subject::read(typed).filter(|user| user.realm() != "/" || realms.contains(&"/"));
    match (read, realms.as_slice()) {
        (Some(user), _) => (user.realm().to_owned(), user.subject().to_owned()),
        (None, [only]) => ((*only).to_owned(), typed.to_owned()),
        (None, _) => ("/".to_owned(), typed.to_owned()),
    }
}

async fn logged_in(
    request: &BrowserRequest<'_>,
    mut interaction: Interaction,
    login: Result<Login, Refused>,
    wrong: PageError,
) -> Answer {
    match login {
        Ok(Login::Granted(granted, _)) => {
            end_before(request).await;
            interaction.logged_in = Some(granted.id.to_string());
            with_session(request, interaction, &granted).await
        }
        Ok(Login::CodeNeeded(challenge)) => {
            interaction.stage = Stage::Code(challenge);
            page(request, &interaction, None)
        }
        Ok(Login::Recognized(_)) => page(request, &interaction, Some(PageError::Unavailable)),
        Err(refused) => page(request, &interaction, Some(of_refused(&refused, wrong))),
    }
}

/// Each login has a session of its own, and a token that nobody has seen before.
async fn with_session(request: &BrowserRequest<'_>, interaction: Interaction, granted: &Granted) -> Answer {
    let mut answer = go_on(request, interaction, Some(&granted.token)).await;
    let cookies = &request.surface.cookies;
    cookies.set(&mut answer, &cookies.session, &granted.token, None);
    let kept_for = request.service.settings().session.devices_max;
    cookies.keep_device(&mut answer, granted.device.as_deref(), kept_for);
    answer
}

/// The session that this browser had until now ends, whoever's it is: its cookie is replaced, so that no logout in this browser could
/// end it any more.
async fn end_before(request: &BrowserRequest<'_>) {
    let Some(before) = cookies::value(request.headers, &request.surface.cookies.session) else { return };
    if let Err(error) = request.service.logout(before, Some(request.address)).await {
        // Most have ended before. One that has not is out of this browser in any case, and ends by itself.
        tracing::debug!(%error, "the session before a login was not ended");
    }
}

async fn step_up(request: &BrowserRequest<'_>, interaction: Interaction, session: &str) -> Answer {
    let code = request.parameters.get("code").unwrap_or_default();
    match request.service.step_up_on(device(request.headers), session, code, request.address).await {
        Ok(granted) => with_session(request, interaction, &granted).await,
        Err(failed) => page(request, &interaction, Some(of_failed(&failed))),
    }
}

async fn consented(request: &BrowserRequest<'_>, mut interaction: Interaction, session: &str) -> Answer {
    let asked = interaction.authorization.clone();
    if request.parameters.get("consent") != Some("yes") {
        let error = redirect::error_of(&asked, "access_denied", "the user did not consent");
        return redirect::with_error(&error, &request.issued.issuer);
    }
    let Ok(who) = request.service.validate(session, Purpose::Use).await else {
        return request.message(Message::Over);
    };
    interaction.consented = Some(who.id.to_string());
    let mut answer = go_on(request, interaction, Some(session)).await;
    consent::remember(request, &mut answer, &subject::of_user(&who.user), &asked);
    answer
}

fn seconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

fn of_refused(refused: &Refused, wrong: PageError) -> PageError {
    match refused {
        Refused::Wrong | Refused::UnknownRealm => wrong,
        Refused::Delayed { retry_after } | Refused::Crowded { retry_after } => {
            PageError::TooMany { wait_s: seconds(*retry_after) }
        }
        Refused::UserFull => PageError::Full,
        Refused::Busy { .. }
        | Refused::NodeFull
        | Refused::Directory(_)
        | Refused::Unavailable(_)
        | Refused::Unknown => PageError::Unavailable,
    }
}

fn of_failed(failed: &Failed) -> PageError {
    match failed {
        Failed::Code => PageError::Code,
        Failed::Delayed { retry_after } => PageError::TooMany { wait_s: seconds(*retry_after) },
        Failed::Token(_)
        | Failed::Forbidden
        | Failed::SecondStepNeeded
        | Failed::NoSession
        | Failed::UnknownRealm
        | Failed::Properties(_)
        | Failed::Directory(_)
        | Failed::Unavailable(_)
        | Failed::Unknown => PageError::Unavailable,
    }
}
