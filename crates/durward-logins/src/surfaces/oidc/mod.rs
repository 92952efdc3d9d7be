//! `/oauth2/authorize` and what belongs to it: users log in with a browser, and applications learn who they are (OpenID Connect).
//!
//! ```text
//!   application ---> authorize ---> is there a session, new enough and of the level? ---> a code, back to the application
//!                                     | no                                   ^
//!                                     v                                      |
//!                                   pages ---> interaction: password, second step, consent
//! ```
//!
//! What a browser is in the middle of is sealed into the form that it sends back ([`interaction`]); its session is a cookie. No node
//! keeps anything of a login that is not finished. [`account`] is where users look after their passkeys and their second step; a password
//! that was forgotten is chosen by a link ([`reset`]). [`userinfo`] says who a token is about, [`logout`] ends a session, and
//! [`backchannel`] tells applications of sessions that have ended. Codes are exchanged at the token endpoint, by the surface `oauth` of this crate.
//! [`upstream`] has users log in at other providers instead of by a password, and [`upstream_logout`] keeps logouts here and there together.

mod account;
mod authorize;
mod backchannel;
mod consent;
mod interaction;
mod logout;
mod passkey;
mod redirect;
mod reset;
mod upstream;
mod upstream_logout;
mod userinfo;

use std::net::IpAddr;
use std::sync::Arc;

use durward_common::access::issued::Issued;
use durward_common::access::upstream::Upstreams;
use durward_common::base::Clock;
use durward_common::base::metrics::Metrics;
use durward_common::base::parameters::Parameters;
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Answering, Form, text_of};
use durward_session::Service;
use durward_session::identity::Moment;
use durward_settings::{ConfigError, Settings};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use crate::surfaces::login_forms::{cookies, pages};
use crate::surfaces::login_page::{LoginPages, NewPasswordRules, Page};
use backchannel::Backchannel;
use cookies::CookieNames;
use pages::Message;
use reset::Reset;
use upstream::Callbacks;

/// Most bytes of a body: an interaction that is sealed fits, and the fields beside it.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Where forms are sent.
const INTERACTION: &str = "/oauth2/login";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The authorization endpoint.
    Authorize,
    /// What users post on the login pages.
    Interaction,
    /// A link for those who forgot their password.
    Reset,
    /// The userinfo endpoint.
    UserInfo,
    /// Logout that an application begins.
    Logout,
    /// Where users look after their passkeys.
    AccountPasskeys,
    /// Where users look after their second step.
    AccountSecondStep,
    /// Where another provider sends users back to.
    UpstreamCallback,
    /// Where another provider says that a session ended (POST), and where it sends browsers back to after a logout (GET).
    UpstreamLogout,
}

/// What browsers are answered with.
pub struct Surface {
    issued: Arc<Issued>,
    service: Service,
    bodies: Arc<Bodies>,
    pages: LoginPages,
    /// What new passwords must be, for the pages that ask for one.
    rules: NewPasswordRules,
    reset: Reset,
    cookies: CookieNames,
    upstreams: Upstreams,
    callbacks: Callbacks,
    /// Whether pages ask for a name and a password.
    password_form: bool,
    metrics: Arc<Metrics>,
    clock: Clock,
}

/// One request, with its body read.
struct BrowserRequest<'a> {
    surface: &'a Surface,
    issued: &'a Issued,
    service: &'a Service,
    headers: &'a HeaderMap,
    is_post: bool,
    parameters: Parameters,
    address: IpAddr,
    now: Moment,
}

impl Surface {
    /// Nothing where there are no users, or no tokens.
    ///
    /// # Errors
    /// Authorities or secrets that cannot be used.
    pub fn new(
        settings: &Settings,
        issued: Option<&Arc<Issued>>,
        bodies: &Arc<Bodies>,
        pages: LoginPages,
        metrics: &Arc<Metrics>,
        clock: &Clock,
    ) -> Result<Option<Surface>, ConfigError> {
        let Some(issued) = issued else { return Ok(None) };
        let Some(service) = issued.service.clone() else { return Ok(None) };
        let upstreams = Upstreams::new(&settings.identity.upstreams)?;
        Backchannel::new(settings, issued, &service, clock)?.start();
        let reset = Reset::new(settings, &service)?;
        Ok(Some(Surface {
            issued: Arc::clone(issued),
            upstreams,
            callbacks: Callbacks::new(&service, clock),
            password_form: settings.identity.password_form,
            metrics: Arc::clone(metrics),
            service,
            bodies: Arc::clone(bodies),
            pages,
            rules: NewPasswordRules::of(&settings.identity),
            reset,
            cookies: CookieNames::new(settings.identity.cookie_secure),
            clock: Arc::clone(clock),
        }))
    }

    /// Answers one request.
    pub fn answer<'a>(
        &'a self,
        address: IpAddr,
        ask: Ask,
        request: hyper::Request<Incoming>,
    ) -> Answering<'a> {
        Box::pin(self.respond(address, ask, request))
    }

    async fn respond(&self, address: IpAddr, ask: Ask, request: hyper::Request<Incoming>) -> Answer {
        let (mut head, body) = request.into_parts();
        let is_post = head.method == Method::POST;
        let body = match self.bodies.receive_within(body, (BODY_BYTES_MAX, "oauth.body")).await {
            Ok(body) => body,
            Err(problem) => return problem.into_answer(Form::Json),
        };
        if ask == Ask::UserInfo {
            if is_post && is_form(&head.headers) && !userinfo::show_token_of(&body, &mut head.headers) {
                return userinfo::wrong_request();
            }
            return userinfo::answer(&self.issued, &self.service, &head, self.now()).await;
        }
        if is_post && !is_form(&head.headers) {
            let detail = "the body must be `application/x-www-form-urlencoded`";
            return Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into_answer(Form::Json);
        }
        let text = if is_post { &*body } else { head.uri.query().unwrap_or_default().as_bytes() };
        let parameters = match Parameters::read(text) {
            Ok(parameters) => parameters,
            Err(error) => {
                let language = text_of(&head.headers, &header::ACCEPT_LANGUAGE);
                return self.pages.render(&Message::Impossible(error.to_string()).page(), language);
            }
        };
        let request = BrowserRequest {
            surface: self,
            issued: &self.issued,
            service: &self.service,
            headers: &head.headers,
            is_post,
            parameters,
            address,
            now: self.now(),
        };
        match ask {
            Ask::Authorize => authorize::answer(&request).await,
            Ask::Interaction => interaction::answer(&request).await,
            Ask::Reset => reset::answer(&request).await,
            Ask::Logout => logout::answer(&request).await,
            Ask::AccountPasskeys => account::passkeys::answer(&request).await,
            Ask::AccountSecondStep => account::second_step::answer(&request).await,
            Ask::UpstreamCallback => upstream::callback(&request, last_segment(head.uri.path())).await,
            Ask::UpstreamLogout if is_post => {
                upstream_logout::told(&request, last_segment(head.uri.path())).await
            }
            Ask::UpstreamLogout => upstream_logout::come_back(&request),
            Ask::UserInfo => {
                Problem::new(StatusCode::NOT_FOUND, "there is nothing here").into_answer(Form::Json)
            }
        }
    }

    fn now(&self) -> Moment {
        Moment::of((self.clock)())
    }
}

impl BrowserRequest<'_> {
    /// A page, in the browser's language.
    fn page(&self, page: &Page) -> Answer {
        self.page_in(None, page)
    }

    /// A page in one of these languages, if there is one, or else in the browser's.
    fn page_in(&self, languages: Option<&str>, page: &Page) -> Answer {
        let own = text_of(self.headers, &header::ACCEPT_LANGUAGE);
        let wished =
            languages.map(|wished| [Some(wished), own].into_iter().flatten().collect::<Vec<_>>().join(","));
        self.surface.pages.render(page, wished.as_deref().or(own))
    }

    /// A page that is no step of a login.
    fn message(&self, message: Message) -> Answer {
        self.page(&message.page())
    }
}

/// Lets pages of any site ask who a token is about (Fetch Standard, 3.2): they show it in a header.
pub fn allow_pages(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, dpop"));
}

/// The answer where there are no users, or no tokens.
pub fn absent() -> Answer {
    Problem::new(StatusCode::NOT_FOUND, "there are no users: see `[identity]`").into_answer(Form::Json)
}

/// The name of a provider: of letters that no path encodes.
fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn is_form(headers: &HeaderMap) -> bool {
    let media_type = text_of(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let name = media_type.split(';').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}
