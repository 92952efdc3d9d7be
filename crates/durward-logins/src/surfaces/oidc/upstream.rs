//! Logins at another OpenID provider: the browser goes there, and comes back with a code (OpenID Connect Core, 3.1).
//!
//! ```text
//!   pages ---> begin: a cookie, and the browser leaves ---> the provider ---> callback: a code, a token, a user ---> as after a password
//! ```
//!
//! Everything of such a login is sealed into one cookie of the browser, and what goes through the provider is a random `state` that only
//! opens this cookie. So an answer is taken from the provider that was asked, for the browser that asked, once.

use std::sync::Arc;

use durward_common::access::issued::authorization::FORMS_S;
use durward_common::access::issued::digest::digest;
use durward_common::access::upstream::{
    BroughtCode, Endpoints, LEEWAY_S, Mapped, NotLinked, NotVouched, Provider, map, user,
};
use durward_common::base::Clock;
use durward_common::surfaces::http::Answer;
use durward_session::identity::audit::{AuditEvent, Kind};
use durward_session::identity::session::{GrantTurn, Properties, User};
use durward_session::identity::{Entropy, IdentityError, Moment, SystemEntropy, hex};
use durward_session::{Login, Refused, SecretAttempt, SecretAttempts, Service, TurnUse, UpstreamLogin};
use durward_settings::upstream::PROPERTY;
use hyper::header;
use serde::{Deserialize, Serialize};

use super::interaction::{self, Interaction};
use super::pages::Message;
use super::{BrowserRequest, cookies, redirect};
use crate::surfaces::login_page::{Page, Step, UpstreamFailure};

/// The purpose of the seal.
const PURPOSE: &str = "oidc upstream login";

/// The longest cookie that all browsers keep, without its name and attributes.
pub(super) const COOKIE_BYTES_MAX: usize = 3800;

/// What a provider may tell an application, which is told the same.
const TOLD: [&str; 6] = [
    "access_denied",
    "login_required",
    "interaction_required",
    "consent_required",
    "account_selection_required",
    "temporarily_unavailable",
];

/// What a browser is in the middle of, while it is at the provider.
#[derive(Serialize, Deserialize)]
struct Pending {
    upstream: String,
    /// What the browser brings back; and the name of the turn, which is used once.
    state: String,
    turn: [u8; 16],
    nonce: String,
    verifier: String,
    begun_s: u64,
    interaction: Interaction,
}

/// What a provider said about a login, for the session that begins with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) upstream: String,
    sub: String,
    sid: Option<String>,
    auth_time_s: Option<u64>,
    methods: Vec<String>,
    has_second_step: bool,
    /// For the logout there, where that is wanted.
    pub(super) id_token: Option<String>,
}

impl Said {
    fn of(provider: &Provider, mapped: &Mapped, id_token: String) -> Said {
        let settings = provider.settings();
        Said {
            upstream: settings.id.clone(),
            sub: mapped.link.subject.clone(),
            sid: mapped.sid.clone(),
            auth_time_s: mapped.auth_time_s,
            methods: mapped.methods.clone(),
            has_second_step: mapped.has_second_step,
            id_token: settings.end_session.then_some(id_token),
        }
    }

    /// What is kept of it with the session. All of it fits: see the limits of what a provider may say.
    pub(super) fn properties(&self) -> Properties {
        let mut properties = Properties::new();
        let mut keep = |name: &str, value: &str| {
            if let Err(error) = properties.set(&format!("{PROPERTY}{name}"), value) {
                tracing::warn!(%error, name, "what a provider said is not kept with the session");
            }
        };
        keep("id", &self.upstream);
        keep("sub", &self.sub);
        keep("amr", &self.methods.join(" "));
        if let Some(sid) = &self.sid {
            keep("sid", sid);
        }
        if let Some(at) = self.auth_time_s {
            keep("auth_time", &at.to_string());
        }
        if self.has_second_step {
            keep("second_step", "true");
        }
        properties
    }
}

/// Who has to wait after callbacks that came to nothing: counted as guesses at passwords are, for each provider and address.
pub(super) struct Callbacks(SecretAttempts);

impl Callbacks {
    pub(super) fn new(service: &Service, clock: &Clock) -> Callbacks {
        let clock = Arc::clone(clock);
        let moments: durward_session::Clock = Arc::new(move || Moment::of(clock()));
        Callbacks(SecretAttempts::new(service.settings(), moments))
    }

    async fn begin(&self, request: &BrowserRequest<'_>, upstream: &str) -> Result<SecretAttempt, Refused> {
        // Of one address alone: nobody's failures are in the way of others who come from elsewhere.
        let name = User::new("/", &format!("{upstream} {}", request.address)).map_err(Refused::Directory)?;
        self.0.begin(&name, request.address).await
    }
}

/// Sends the browser to a provider.
pub(super) async fn begin(request: &BrowserRequest<'_>, interaction: Interaction, id: &str) -> Answer {
    let Some(provider) = request.surface.upstreams.find(id) else { return request.message(Message::Over) };
    let endpoints = match provider.endpoints().await {
        Ok(endpoints) => endpoints,
        Err(why) => return not_vouched(request, provider, why).await,
    };
    let Ok(pending) = Pending::new(request, id, interaction) else {
        return request.message(Message::Unavailable);
    };
    let content = serde_json::to_vec(&pending).unwrap_or_default();
    let sealed = request.service.seal(PURPOSE, &content).ok().filter(|text| text.len() <= COOKIE_BYTES_MAX);
    let Some(sealed) = sealed else {
        let why = "the request is too long to be kept by the browser: use a shorter `state`, `nonce` or `login_hint`";
        return request.message(Message::Impossible(why.to_owned()));
    };
    let place = pending.place(request, provider, &endpoints);
    let mut answer = if request.is_post {
        let provider = provider.settings().shown_name().to_owned();
        let languages = pending.interaction.authorization.languages.as_deref();
        request.page_in(languages, &Page::of(Step::Leave { provider, href: place }))
    } else {
        redirect::to(&place, &[])
    };
    let cookies = &request.surface.cookies;
    cookies.set(&mut answer, &cookies.upstream, &sealed, Some(FORMS_S));
    pending.interaction.keep_browser(request, &mut answer);
    answer
}

impl Pending {
    fn new(
        request: &BrowserRequest<'_>,
        id: &str,
        mut interaction: Interaction,
    ) -> Result<Pending, IdentityError> {
        interaction.upstream = None;
        interaction.passkey = None;
        let mut turn = [0; 16];
        SystemEntropy.fill(&mut turn)?;
        Ok(Pending {
            upstream: id.to_owned(),
            state: hex(&turn),
            turn,
            nonce: random()?,
            verifier: random()?,
            begun_s: request.now.ms() / 1000,
            interaction,
        })
    }

    /// What the browser left with, if it is this one's, for this provider, and still good.
    fn read(request: &BrowserRequest<'_>, id: &str) -> Option<Pending> {
        let sealed = cookies::value(request.headers, &request.surface.cookies.upstream)?;
        let content = request.service.unseal(PURPOSE, sealed)?;
        let pending: Pending = serde_json::from_slice(&content).ok()?;
        let is_good = pending.upstream == id
            && request.parameters.get("state") == Some(&pending.state)
            && pending.interaction.is_of(request)
            && pending.until_s() > request.now.ms() / 1000;
        is_good.then_some(pending)
    }

    fn until_s(&self) -> u64 {
        self.begun_s.saturating_add(FORMS_S)
    }

    /// What is used up by the first callback. It is remembered until no node takes the cookie any more.
    fn turn(&self) -> GrantTurn {
        let until = Moment::from_ms(self.until_s().saturating_add(LEEWAY_S).saturating_mul(1000));
        GrantTurn { holder: self.turn, grant: 0, turn: 0, until }
    }

    /// Where the browser goes.
    fn place(&self, request: &BrowserRequest<'_>, provider: &Provider, endpoints: &Endpoints) -> String {
        let (settings, asked) = (provider.settings(), &self.interaction.authorization);
        let (scope, max_age) = (settings.scopes.join(" "), asked.max_age_s.map(|age| age.to_string()));
        let (challenge, redirect_uri) = (digest(self.verifier.as_bytes()), callback_uri(request, provider));
        let wants_second_step =
            asked.level.is_some_and(|level| level >= request.service.settings().second_step_level.0);
        let levels = settings.second_step_acr.join(" ");
        let levels = Some(levels.as_str()).filter(|levels| wants_second_step && !levels.is_empty());
        redirect::address(
            &endpoints.authorization,
            &[
                ("response_type", Some("code")),
                ("client_id", Some(&settings.client_id)),
                ("redirect_uri", Some(&redirect_uri)),
                ("scope", Some(&scope)),
                ("state", Some(&self.state)),
                ("nonce", Some(&self.nonce)),
                ("code_challenge", Some(&challenge)),
                ("code_challenge_method", Some("S256")),
                ("prompt", asked.prompt.login.then_some("login")),
                ("max_age", max_age.as_deref()),
                ("login_hint", asked.login_hint.as_deref()),
                ("acr_values", levels),
            ],
        )
    }

    /// What came back, and what the provider has to say for it.
    fn brought<'b>(&'b self, code: &'b str, redirect_uri: &'b str, now: Moment) -> BroughtCode<'b> {
        let asked = &self.interaction.authorization;
        BroughtCode {
            code,
            redirect_uri,
            verifier: &self.verifier,
            nonce: &self.nonce,
            max_age_s: asked.max_age_s,
            not_before_s: asked.prompt.login.then_some(self.begun_s),
            now,
        }
    }
}

/// What nobody can guess, in letters that a verifier may have (RFC 7636, 4.1).
///
/// # Errors
/// There is no randomness.
fn random() -> Result<String, IdentityError> {
    let mut bytes = [0; 32];
    SystemEntropy.fill(&mut bytes)?;
    Ok(hex(&bytes))
}

fn callback_uri(request: &BrowserRequest<'_>, provider: &Provider) -> String {
    format!("{}/oauth2/upstream/callback/{}", request.issued.issuer, provider.settings().id)
}

/// The browser comes back from a provider.
pub(super) async fn callback(request: &BrowserRequest<'_>, id: &str) -> Answer {
    let provider = request.surface.upstreams.find(id);
    // A page of somebody else that sends the browser here ends no login: it does not know the `state`.
    let (Some(provider), Some(pending)) = (provider, Pending::read(request, id)) else {
        return request.message(Message::Over);
    };
    let mut answer = match request.service.use_turn(pending.turn()).await {
        Ok(TurnUse::First) => by_page(request, came_back(request, provider, pending).await),
        Ok(TurnUse::Again | TurnUse::Forgotten) => request.message(Message::Over),
        Err(_) => return request.message(Message::Unavailable),
    };
    let cookies = &request.surface.cookies;
    cookies.set(&mut answer, &cookies.upstream, "", Some(0));
    answer
}

/// Sends the browser to the application by a page instead of a redirect. Chromium applies `form-action` of a provider's form to all
/// redirects that follow it, and a provider knows of this server, and of no application of it.
pub(super) fn by_page(request: &BrowserRequest<'_>, answer: Answer) -> Answer {
    let place = answer.headers().get(header::LOCATION).and_then(|place| place.to_str().ok());
    let is_web = |place: &&str| place.starts_with("https://") || place.starts_with("http://");
    // A program of a device may have a scheme of its own, to which no page leads.
    let Some(href) = place.filter(is_web).map(str::to_owned) else { return answer };
    let mut page = request.page(&Page::of(Step::Return { href }));
    for cookie in answer.headers().get_all(header::SET_COOKIE) {
        page.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    page
}

async fn came_back(request: &BrowserRequest<'_>, provider: &Provider, pending: Pending) -> Answer {
    let get = |name: &str| request.parameters.get(name);
    let endpoints = match provider.endpoints().await {
        Ok(endpoints) => endpoints,
        Err(why) => return not_vouched(request, provider, why).await,
    };
    // An answer of another provider, or an error of one, is taken for none of this one's (RFC 9207).
    match get("iss") {
        Some(issuer) if issuer != provider.settings().issuer => {
            return refused(request, provider, "the answer is of another issuer (`iss`)").await;
        }
        None if endpoints.says_issuer => {
            return refused(request, provider, "the answer does not say whose it is (`iss`)").await;
        }
        Some(_) | None => {}
    }
    if let Some(error) = get("error") {
        return told(request, provider, &pending.interaction, error).await;
    }
    let Some(code) = get("code") else {
        return refused(request, provider, "the answer has neither a code nor an error").await;
    };
    let attempt = match request.surface.callbacks.begin(request, &pending.upstream).await {
        Ok(attempt) => attempt,
        Err(_) => return not_vouched(request, provider, too_many()).await,
    };
    let redirect_uri = callback_uri(request, provider);
    match provider.exchange(pending.brought(code, &redirect_uri, request.now)).await {
        Ok(vouched) => {
            attempt.succeeded();
            match map(provider.settings(), &vouched.claims) {
                Ok(mapped) => {
                    let mut interaction = pending.interaction;
                    interaction.upstream = Some(Said::of(provider, &mapped, vouched.id_token));
                    log_in(request, provider, interaction, &mapped).await
                }
                Err(why) => refused(request, provider, why).await,
            }
        }
        Err(why @ NotVouched::Refused(_)) => {
            attempt.failed();
            not_vouched(request, provider, why).await
        }
        Err(why @ NotVouched::Unreachable(_)) => {
            attempt.undecided();
            not_vouched(request, provider, why).await
        }
    }
}

fn too_many() -> NotVouched {
    NotVouched::Unreachable("too many codes from one address came to nothing".to_owned())
}

/// It is known whose account at the provider it is.
async fn log_in(
    request: &BrowserRequest<'_>,
    provider: &Provider,
    interaction: Interaction,
    mapped: &Mapped,
) -> Answer {
    let settings = provider.settings();
    let user = match user(request.service, settings, mapped).await {
        Ok(user) => user,
        Err(why) => return not_linked(request, provider, mapped, why).await,
    };
    let login = UpstreamLogin {
        user: user.clone(),
        vouched_by: vouched_by(provider, mapped),
        has_second_step: mapped.has_second_step,
        address: request.address,
        properties: interaction.properties(),
    };
    let login = request.service.login_by_upstream(login).await;
    match login {
        Ok(login @ (Login::Granted(..) | Login::CodeNeeded(_))) => {
            request.surface.metrics.upstream_login("granted");
            interaction::logged_in_upstream(request, interaction, &user, login).await
        }
        Ok(Login::Recognized(_) | Login::PasswordChangeNeeded(_)) => request.message(Message::Unavailable),
        Err(Refused::Wrong | Refused::PasswordOver) => {
            request.surface.metrics.upstream_login("refused");
            request.message(Message::Denied)
        }
        Err(Refused::UserFull) => {
            let why = "the user has as many sessions as they may have: log out of one of them first";
            request.surface.metrics.upstream_login("refused");
            request.message(Message::Impossible(why.to_owned()))
        }
        Err(
            Refused::UnknownRealm
            | Refused::Delayed { .. }
            | Refused::Crowded { .. }
            | Refused::Busy { .. }
            | Refused::NodeFull
            | Refused::Directory(_)
            | Refused::Unavailable(_)
            | Refused::Unknown,
        ) => {
            request.surface.metrics.upstream_login("unavailable");
            request.message(Message::Unavailable)
        }
    }
}

/// Who vouches for whom, as the audit says it.
fn vouched_by(provider: &Provider, mapped: &Mapped) -> String {
    format!("{} of {} ({})", mapped.link.subject, mapped.link.issuer, provider.settings().id)
}

/// The provider says that it lets nobody in. The application is told what it can know; the user reads the rest.
async fn told(
    request: &BrowserRequest<'_>,
    provider: &Provider,
    interaction: &Interaction,
    error: &str,
) -> Answer {
    let known = TOLD.into_iter().find(|known| *known == error);
    let known = known.or((error == "server_error").then_some("temporarily_unavailable"));
    let Some(known) = known else {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_shown = error.len() <= 40 && error.bytes().all(is_plain);
        let error = if is_shown { error } else { "an error" };
        return refused(request, provider, &format!("the provider answers `{error}`")).await;
    };
    audit(request, provider, &format!("the provider answers `{known}`")).await;
    request.surface.metrics.upstream_login("refused");
    let description = "the other provider did not log the user in";
    let error = redirect::error_of(&interaction.authorization, known, description);
    redirect::with_error(&error, &request.issued.issuer)
}

async fn audit(request: &BrowserRequest<'_>, provider: &Provider, detail: &str) {
    let event = AuditEvent::new(Kind::LoginFailed).by(&format!("upstream:{}", provider.settings().id));
    request.service.audit(event.address(&request.address.to_string()).detail(detail)).await;
}

async fn refused(request: &BrowserRequest<'_>, provider: &Provider, why: &str) -> Answer {
    not_vouched(request, provider, NotVouched::Refused(why.to_owned())).await
}

/// Why is for those who run the server, and in their log or audit: the browser may be anybody's.
async fn not_vouched(request: &BrowserRequest<'_>, provider: &Provider, why: NotVouched) -> Answer {
    match why {
        NotVouched::Refused(why) => {
            audit(request, provider, &why).await;
            request.surface.metrics.upstream_login("refused");
            failed(request, provider, UpstreamFailure::Refused)
        }
        NotVouched::Unreachable(why) => {
            let id = &provider.settings().id;
            tracing::warn!(upstream = %id, why, "another provider cannot be used for a login");
            request.surface.metrics.upstream_login("unavailable");
            failed(request, provider, UpstreamFailure::Unavailable)
        }
    }
}

async fn not_linked(
    request: &BrowserRequest<'_>,
    provider: &Provider,
    mapped: &Mapped,
    why: NotLinked,
) -> Answer {
    let (failure, words) = match why {
        NotLinked::Unknown => (UpstreamFailure::Unknown, "nobody is linked to"),
        NotLinked::Taken => (UpstreamFailure::Taken, "somebody else has the name of"),
        NotLinked::Failed(error) => {
            tracing::warn!(%error, "a user of another provider cannot be found or changed");
            request.surface.metrics.upstream_login("unavailable");
            return request.message(Message::Unavailable);
        }
    };
    audit(request, provider, &format!("{words} {}", vouched_by(provider, mapped))).await;
    request.surface.metrics.upstream_login("unknown");
    failed(request, provider, failure)
}

fn failed(request: &BrowserRequest<'_>, provider: &Provider, why: UpstreamFailure) -> Answer {
    let provider = provider.settings().shown_name().to_owned();
    request.page(&Page::of(Step::UpstreamFailed { provider, why }))
}

/// The providers that a login page offers, each with the name that is shown.
pub(super) fn offered(request: &BrowserRequest<'_>) -> Vec<(String, String)> {
    let all = request.surface.upstreams.all().iter().map(Provider::settings);
    all.map(|settings| (settings.id.clone(), settings.shown_name().to_owned())).collect()
}

/// The one provider at which all users log in, where there is no form for passwords either, and no login with a passkey alone.
pub(super) fn only<'s>(request: &BrowserRequest<'s>) -> Option<&'s str> {
    match request.surface.upstreams.all() {
        [only] if !request.surface.password_form && !request.service.has_passkey_login() => {
            Some(&only.settings().id)
        }
        _ => None,
    }
}

/// Whether a session was begun at this provider by whom a logout token names.
pub(super) fn is_of(properties: &Properties, upstream: &str, sub: Option<&str>, sid: Option<&str>) -> bool {
    let says = |name: &str| properties.get(&format!("{PROPERTY}{name}"));
    says("id") == Some(upstream)
        && sub.is_none_or(|sub| says("sub") == Some(sub))
        && sid.is_none_or(|sid| says("sid") == Some(sid))
}
