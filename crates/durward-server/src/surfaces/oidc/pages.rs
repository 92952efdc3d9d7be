//! What users see. [`Pages`] makes pages of data; [`Plain`] makes them without a style, where nobody else does.

use hyper::StatusCode;
use hyper::header::{self, HeaderValue};

use super::redirect::source_of;
use crate::surfaces::http::{Answer, escape, text_answer};

/// A form. It sends `csrf` back, and what its step asks for.
pub(crate) struct LoginPage {
    /// Where the form is sent.
    pub(crate) action: String,
    /// What the form carries: it belongs to this browser, and is over after some minutes.
    pub(crate) csrf: String,
    /// What stands in the form at first.
    pub(crate) username: Option<String>,
    pub(crate) error: Option<PageError>,
    pub(crate) step: Step,
    /// Which application it is for, as users know it.
    pub(crate) client: Option<String>,
    /// Where the browser is sent when all is done: some browsers hold redirects after a form to `form-action` of CSP.
    pub(crate) redirect_uri: String,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `username` and `password`.
    Password,
    /// `code`.
    Code,
    /// `consent`: `yes` or `no`.
    Consent { client: String, scopes: Vec<String> },
}

/// Why a step is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageError {
    /// The name or the password is wrong.
    Password,
    /// The code is wrong, or was used.
    Code,
    /// Too many failures: to be tried again after so many seconds.
    TooMany { wait_s: u64 },
    /// The user has as many sessions as they may have.
    Full,
    /// It cannot be done at the moment.
    Unavailable,
}

/// A page without a form, or with a button only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The request cannot be granted, and the application cannot be told. The reason is for its developer.
    Impossible(String),
    /// The form was too old, or of another browser.
    Over,
    /// It cannot be done at the moment.
    Unavailable,
    /// Whether to log out: a form that sends `csrf` back.
    LogoutAsked {
        action: &'static str,
        csrf: String,
    },
    LoggedOut,
}

/// Makes pages, in the language that `Accept-Language` likes best.
pub(crate) trait Pages: Send + Sync {
    fn login(&self, page: &LoginPage, accept_language: Option<&str>) -> Answer;
    fn message(&self, message: &Message, accept_language: Option<&str>) -> Answer;
}

/// Pages without a style, in English.
pub(crate) struct Plain;

impl Pages for Plain {
    fn login(&self, page: &LoginPage, _: Option<&str>) -> Answer {
        let status = match page.error {
            Some(PageError::TooMany { .. }) => StatusCode::TOO_MANY_REQUESTS,
            Some(PageError::Unavailable) => StatusCode::SERVICE_UNAVAILABLE,
            Some(PageError::Password | PageError::Code | PageError::Full) | None => StatusCode::OK,
        };
        let error = page.error.map(|error| format!("<p role=\"alert\">{}</p>", words(error)));
        let application = page.client.as_ref().map(|client| format!("<p>{}</p>", escape(client)));
        let form = format!(
            "<h1>{}</h1>{}{}<form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"csrf\" value=\"{}\">{}</form>",
            title(&page.step),
            application.unwrap_or_default(),
            error.unwrap_or_default(),
            escape(&page.action),
            escape(&page.csrf),
            fields(page),
        );
        let mut answer = html(status, title(&page.step), &form, &source_of(&page.redirect_uri));
        if let Some(PageError::TooMany { wait_s }) = page.error {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
        }
        answer
    }

    fn message(&self, message: &Message, _: Option<&str>) -> Answer {
        let (status, heading, body) = match message {
            Message::Impossible(why) => (
                StatusCode::BAD_REQUEST,
                "This application cannot log you in",
                format!("<p>Its request is wrong: {}.</p>", escape(why)),
            ),
            Message::Over => (
                StatusCode::BAD_REQUEST,
                "This page is too old",
                "<p>Go back to the application and log in again.</p>".to_owned(),
            ),
            Message::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Not possible at the moment",
                "<p>Try again in a moment.</p>".to_owned(),
            ),
            Message::LogoutAsked { action, csrf } => (
                StatusCode::OK,
                "Log out?",
                format!(
                    "<form method=\"post\" action=\"{action}\"><input type=\"hidden\" name=\"csrf\" \
                     value=\"{}\"><button>Log out</button></form>",
                    escape(csrf)
                ),
            ),
            Message::LoggedOut => {
                (StatusCode::OK, "You are logged out", "<p>You may close this page.</p>".to_owned())
            }
        };
        html(status, heading, &format!("<h1>{heading}</h1>{body}"), "")
    }
}

fn title(step: &Step) -> &'static str {
    match step {
        Step::Password | Step::Code => "Log in",
        Step::Consent { .. } => "Allow access?",
    }
}

fn fields(page: &LoginPage) -> String {
    match &page.step {
        Step::Password => format!(
            "<p><label>User name <input name=\"username\" value=\"{}\" autocomplete=\"username\" required></label></p>\
             <p><label>Password <input type=\"password\" name=\"password\" autocomplete=\"current-password\" required>\
             </label></p><button>Log in</button>",
            escape(page.username.as_deref().unwrap_or_default())
        ),
        Step::Code => "<p><label>Code <input name=\"code\" inputmode=\"numeric\" \
                             autocomplete=\"one-time-code\" required></label></p><button>Log in</button>"
            .to_owned(),
        Step::Consent { client, scopes } => {
            let scopes: String = scopes.iter().map(|scope| format!("<li>{}</li>", escape(scope))).collect();
            format!(
                "<p>{} wants to know who you are, and asks for:</p><ul>{scopes}</ul>\
                 <button name=\"consent\" value=\"yes\">Allow</button> \
                 <button name=\"consent\" value=\"no\">Refuse</button>",
                escape(client)
            )
        }
    }
}

fn words(error: PageError) -> String {
    match error {
        PageError::Password => "The user name or the password is wrong.".to_owned(),
        PageError::Code => "The code is wrong, or was used before.".to_owned(),
        PageError::TooMany { wait_s } => format!("Too many failures. Try again in {wait_s} s."),
        PageError::Full => "You have too many sessions. Log out of one.".to_owned(),
        PageError::Unavailable => "Not possible at the moment. Try again.".to_owned(),
    }
}

/// A page that loads nothing, runs nothing, is in no frame and in no cache, and says to nobody where it was.
fn html(status: StatusCode, title: &str, body: &str, continues_at: &str) -> Answer {
    let text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{}</title></head>\
         <body><main>{body}</main></body></html>\n",
        escape(title)
    );
    let mut answer = text_answer("text/html; charset=utf-8", text);
    *answer.status_mut() = status;
    let policy = format!(
        "default-src 'none'; form-action 'self' {continues_at}; frame-ancestors 'none'; base-uri 'none'"
    );
    let headers = answer.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
