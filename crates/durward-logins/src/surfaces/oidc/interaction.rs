//! A login by forms, step after step. What was asked for and how far it has come is sealed into each form, for the browser that it was
//! given to: the browser has a cookie with a name that nobody else knows, and the form has its digest. So a page of another site can
//! neither send a form (it has none of this browser) nor have this browser finish a login that somebody else began.

use durward_common::access::issued::authorization::{Authorization, Pushed};
use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies::device;
use durward_session::identity::IdentityError;
use durward_session::identity::session::{Properties, Purpose, User};
use durward_session::{Granted, Login};
use serde::{Deserialize, Serialize};

use super::authorize::go_on;
use super::pages::Message;
use super::upstream::{self, Said};
use super::{BrowserRequest, INTERACTION, consent, cookies, passkey, redirect, upstream_logout};
use crate::surfaces::login_forms::binding::{Binding, is_from_own_page};
use crate::surfaces::login_forms::passkey as form_passkey;
use crate::surfaces::login_forms::steps::{self, Sender, Stepped};
use crate::surfaces::login_page::{Page, PageError, Step};

/// The purpose of the seal.
const PURPOSE: &str = "oidc interaction";

/// What is asked next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Password,
    /// The code of a second step, for a login whose first one was right.
    Code(String),
    /// Another password, for a login that is complete but for that.
    NewPassword(String),
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
    /// What the page asked an authenticator.
    #[serde(default)]
    pub(super) passkey: Option<String>,
    /// What another provider said about the login, where there was one there.
    pub(super) upstream: Option<Said>,
    binding: Binding,
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
        Ok(Interaction {
            authorization,
            pushed,
            stage: Stage::Password,
            session: None,
            user: None,
            logged_in: None,
            consented: None,
            passkey: None,
            upstream: None,
            binding: Binding::new(request.headers, &request.surface.cookies, request.now)?,
        })
    }

    /// Whether it is of this browser.
    pub(super) fn is_of(&self, request: &BrowserRequest<'_>) -> bool {
        self.binding.is_of(request.headers, &request.surface.cookies)
    }

    /// Gives the browser its name, where it has none yet.
    pub(super) fn keep_browser(&self, request: &BrowserRequest<'_>, answer: &mut Answer) {
        self.binding.keep(answer, &request.surface.cookies);
    }

    /// What is kept of a login with its session from the beginning.
    pub(super) fn properties(&self) -> Properties {
        self.upstream.as_ref().map(Said::properties).unwrap_or_default()
    }
}

/// What a form brought, if it is this browser's and still good.
fn read(request: &BrowserRequest<'_>) -> Option<Interaction> {
    if !is_from_own_page(request.is_post, request.headers) {
        return None;
    }
    let content = request.service.unseal(PURPOSE, request.parameters.get("csrf")?)?;
    let interaction: Interaction = serde_json::from_slice(&content).ok()?;
    let is_good = interaction.binding.is_good(request.headers, &request.surface.cookies, request.now);
    is_good.then_some(interaction)
}

/// The form of the stage.
pub(super) fn page(
    request: &BrowserRequest<'_>,
    interaction: &Interaction,
    error: Option<PageError>,
) -> Answer {
    let passkey = passkey::begin(request, interaction);
    let (ticket, options) = form_passkey::parts(passkey.as_ref());
    let content =
        serde_json::to_vec(&Interaction { passkey: ticket, ..interaction.clone() }).unwrap_or_default();
    let Ok(csrf) = request.service.seal(PURPOSE, &content) else {
        return request.message(Message::Impossible("the request is too long".to_owned()));
    };
    let asked = &interaction.authorization;
    let client = request.issued.client(&asked.client);
    let name = client.map(|client| client.shown_name().to_owned());
    let step = match &interaction.stage {
        Stage::Password => Step::Password,
        Stage::Code(_) | Stage::StepUp if form_passkey::is_only(passkey.as_ref()) => Step::Passkey,
        Stage::Code(_) | Stage::StepUp => Step::SecondStep,
        Stage::NewPassword(_) => Step::NewPassword { rules: request.surface.rules },
        Stage::Consent => {
            let client = name.clone().unwrap_or_else(|| asked.client.clone());
            Step::Consent { client, scopes: asked.scopes.clone(), resources: asked.resources.clone() }
        }
    };
    // A first guess, by the application, of who will log in; whoever is asked later is who they are.
    let hint = asked.login_hint.as_ref().filter(|_| interaction.stage == Stage::Password);
    let is_first = interaction.stage == Stage::Password;
    let shown = Page {
        action: INTERACTION.to_owned(),
        csrf,
        username: interaction.user.as_ref().or(hint).cloned(),
        error,
        step,
        client: name,
        redirect_uri: Some(asked.redirect_uri.clone()),
        detail: None,
        passkey: options,
        forgot: request.surface.reset.place(),
        upstreams: if is_first { upstream::offered(request) } else { Vec::new() },
        only_upstreams: is_first && !request.surface.password_form,
    };
    let mut answer = request.page_in(asked.languages.as_deref(), &shown);
    interaction.keep_browser(request, &mut answer);
    answer
}

pub(super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    let Some(interaction) = read(request) else { return request.message(Message::Over) };
    let session = cookies::value(request.headers, &request.surface.cookies.session);
    let credential = form_passkey::credential(&request.parameters);
    match interaction.stage.clone() {
        Stage::Password | Stage::Code(_) if credential.is_some() => {
            passkey::login(request, interaction, credential.unwrap_or_default()).await
        }
        Stage::Password => match request.parameters.get("upstream") {
            Some(id) => upstream::begin(request, interaction, id).await,
            None if request.surface.password_form => password(request, interaction).await,
            None => page(request, &interaction, None),
        },
        Stage::Code(challenge) => code(request, interaction, &challenge).await,
        Stage::NewPassword(change) => {
            let stepped = sender(request).new_password(&change, &request.parameters).await;
            logged_in(request, interaction, stepped).await
        }
        Stage::StepUp => match session {
            Some(session) if is_same(request, &interaction, session).await => match credential {
                Some(credential) => passkey::step_up(request, interaction, session, credential).await,
                None => step_up(request, interaction, session).await,
            },
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

async fn password(request: &BrowserRequest<'_>, mut interaction: Interaction) -> Answer {
    let field = |name: &str| request.parameters.get(name).unwrap_or_default();
    let (realm, user) = steps::name(request.service, field("username"));
    interaction.user = request.parameters.get("username").map(str::to_owned);
    interaction.upstream = None;
    let stepped =
        sender(request).password(&realm, &user, field("password"), request.parameters.get("code")).await;
    logged_in(request, interaction, stepped).await
}

async fn code(request: &BrowserRequest<'_>, interaction: Interaction, challenge: &str) -> Answer {
    let code = request.parameters.get("code").unwrap_or_default();
    let stepped = sender(request).code(challenge, code, interaction.properties()).await;
    logged_in(request, interaction, stepped).await
}

pub(super) fn sender<'a>(request: &BrowserRequest<'a>) -> Sender<'a> {
    Sender { service: request.service, headers: request.headers, address: request.address }
}

pub(super) async fn logged_in(
    request: &BrowserRequest<'_>,
    mut interaction: Interaction,
    stepped: Stepped,
) -> Answer {
    match stepped {
        Stepped::Granted(granted) => {
            let before = cookies::value(request.headers, &request.surface.cookies.session);
            steps::end_before(request.service, before, request.address).await;
            interaction.logged_in = Some(granted.id.to_string());
            let said = interaction.upstream.clone();
            let mut answer = with_session(request, interaction, &granted).await;
            upstream_logout::keep(request, said.as_ref(), &mut answer);
            answer
        }
        Stepped::CodeNeeded(challenge) => {
            interaction.stage = Stage::Code(challenge);
            page(request, &interaction, None)
        }
        Stepped::PasswordChangeNeeded(change) => {
            interaction.stage = Stage::NewPassword(change);
            page(request, &interaction, None)
        }
        Stepped::Again(error) => {
            // What was to be changed was changed elsewhere, or is over: from the beginning.
            if error == PageError::Expired && matches!(interaction.stage, Stage::NewPassword(_)) {
                interaction.stage = Stage::Password;
            }
            page(request, &interaction, Some(error))
        }
    }
}

/// Another provider vouched for the user. A code of the second step here may be wanted all the same.
pub(super) async fn logged_in_upstream(
    request: &BrowserRequest<'_>,
    mut interaction: Interaction,
    user: &User,
    login: Login,
) -> Answer {
    interaction.user = Some(subject::of_user(user));
    logged_in(request, interaction, steps::stepped(Ok(login), PageError::Code)).await
}

/// Each login has a session of its own, and a token that nobody has seen before.
pub(super) async fn with_session(
    request: &BrowserRequest<'_>,
    interaction: Interaction,
    granted: &Granted,
) -> Answer {
    let mut answer = go_on(request, interaction, Some(&granted.token)).await;
    let cookies = &request.surface.cookies;
    cookies.set(&mut answer, &cookies.session, &granted.token, None);
    let kept_for = request.service.settings().session.devices_max;
    cookies.keep_device(&mut answer, granted.device.as_deref(), kept_for);
    answer
}

async fn step_up(request: &BrowserRequest<'_>, interaction: Interaction, session: &str) -> Answer {
    let code = request.parameters.get("code").unwrap_or_default();
    match request.service.step_up_on(device(request.headers), session, code, request.address).await {
        Ok(granted) => with_session(request, interaction, &granted).await,
        Err(failed) => page(request, &interaction, Some(steps::of_failed(&failed, PageError::Code))),
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
