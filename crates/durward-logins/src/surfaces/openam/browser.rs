//! Pages for browsers: `UI/Login`, `UI/Logout`, and the addresses of OpenAM's console and of its pages made by scripts, which lead there.

use crate::surfaces::login_forms::cookies::CookieNames;
use crate::surfaces::login_forms::pages::Message;
use crate::surfaces::login_forms::redirect;
use crate::surfaces::login_page::Page;
use durward_common::base::parameters::{ParameterNames, Parameters};
use durward_common::surfaces::http::cookies::Cookies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, text_of};
use durward_session::identity::Moment;
use hyper::header::{self, HeaderMap};
use hyper::{Method, StatusCode};

use super::request_path::{BrowserPath, Realms};
use super::{Call, Surface, empty, sign_in, sign_out};

/// Most characters of an address that a browser is sent to.
pub(super) const ADDRESS_LENGTH_MAX: usize = 4096;

/// A browser's request, with its form read.
pub(super) struct BrowserCall<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) realms: Realms<'c>,
    /// Of the query and of the form; none is in both.
    pub(super) parameters: Parameters,
    pub(super) is_post: bool,
    pub(super) now: Moment,
}

/// Answers one request.
pub(super) async fn answer(call: &Call<'_>, path: BrowserPath, realms: Realms<'_>, body: Incoming) -> Answer {
    let is_post = call.head.method == Method::POST;
    // `HEAD` must not log anybody out, and nobody asks so for a page.
    if !is_post && call.head.method != Method::GET {
        let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
        answer.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("GET, POST"));
        return answer;
    }
    let body = match call.body(body).await {
        Ok(body) => body,
        Err(refusal) => return empty(refusal.status),
    };
    if is_post && !is_form(&call.head.headers) {
        return empty(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let query = call.head.uri.query().unwrap_or_default();
    let form = if is_post { std::str::from_utf8(&body).ok() } else { Some("") };
    // What a proxy has looked at in the query must not be another thing in the form.
    let read = form.map(|form| Parameters::of_query(&format!("{query}&{form}"), ParameterNames::Exact));
    let parameters = match read {
        Some(Ok(parameters)) => parameters,
        Some(Err(error)) => return message(call, Message::Impossible(error.to_string())),
        None => return message(call, Message::Impossible("the form is not UTF-8".to_owned())),
    };
    let browser = BrowserCall { call, realms, parameters, is_post, now: call.service.now() };
    match path {
        BrowserPath::Login => sign_in::answer(&browser).await,
        BrowserPath::Logout => sign_out::answer(&browser).await,
        BrowserPath::Console => match sign_out::offered(&browser).await {
            Some(page) => page,
            None => to_login(call, query),
        },
        BrowserPath::Pages => to_login(call, query),
    }
}

/// Whatever the address asked for, it was asked of the login.
fn to_login(call: &Call<'_>, query: &str) -> Answer {
    let separator = if query.is_empty() { "" } else { "?" };
    redirect::to(&format!("{}{separator}{query}", login_path(call)), &[])
}

/// Where the forms of a login are sent.
pub(super) fn login_path(call: &Call<'_>) -> String {
    format!("{}/UI/Login", call.settings.path)
}

/// Where the form of a logout is sent.
pub(super) fn logout_path(call: &Call<'_>) -> String {
    format!("{}/UI/Logout", call.settings.path)
}

fn is_form(headers: &HeaderMap) -> bool {
    let media_type = text_of(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let name = media_type.split(';').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// A page, in the browser's language.
fn page(call: &Call<'_>, page: &Page) -> Answer {
    let language = text_of(&call.head.headers, &header::ACCEPT_LANGUAGE);
    call.surface.pages.render(page, language)
}

fn message(call: &Call<'_>, message: Message) -> Answer {
    page(call, &message.page())
}

impl BrowserCall<'_> {
    pub(super) fn page(&self, shown: &Page) -> Answer {
        page(self.call, shown)
    }

    /// A page that is no step of a login.
    pub(super) fn message(&self, what: Message) -> Answer {
        message(self.call, what)
    }

    /// What ties forms to this browser.
    pub(super) fn names(&self) -> &CookieNames {
        let surface: &Surface = self.call.surface;
        &surface.cookies
    }

    /// Has the browser ask again with GET, and bring the cookies that it has. Of the parameters, these go along: a password must not.
    pub(super) fn ask_again(&self, path: &str, names: &[&str]) -> Answer {
        let query = self.parameters.only(names).to_text();
        if query.len() > 2 * ADDRESS_LENGTH_MAX {
            return self
                .message(Message::Impossible("the request is too long to be asked with GET".to_owned()));
        }
        let separator = if query.is_empty() { "" } else { "?" };
        redirect::to(&format!("{path}{separator}{query}"), &[])
    }

    /// The token in the cookie, whatever page the browser comes from: it must not be enough to change anything.
    pub(super) fn token(&self) -> Option<&str> {
        match self.call.cookies() {
            Cookies::One(token) => Some(token.trim_matches('"')).filter(|token| !token.is_empty()),
            Cookies::None | Cookies::Several => None,
        }
    }
}
