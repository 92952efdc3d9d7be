//! `UI/Logout`: ends the session of a browser, and sends it to `goto`.
//!
//! OpenAM does so for whoever leads a browser here. Where the browser says that a page of another site did, its user is asked, so that no
//! page logs people out.

use crate::surfaces::login_forms::binding::is_from_own_page;
use crate::surfaces::login_forms::pages::Message;
use crate::surfaces::login_forms::redirect;
use crate::surfaces::login_forms::sign_out::SignOut;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies::{Cookies, is_of_other_site};
use durward_session::identity::session::{Purpose, Refusal, SessionId};

use super::answers::without_cookie;
use super::browser::{ADDRESS_LENGTH_MAX, BrowserCall, logout_path};
use super::{goto, text_of};

/// Why nobody can be logged out at an address without TLS.
const WITHOUT_TLS: &str =
    "use https: nobody was logged out, since browsers keep the session's cookie to themselves without it";

/// The purpose of the seal.
const PURPOSE: &str = "openam logout";

pub(super) async fn answer(browser: &BrowserCall<'_>) -> Answer {
    let goto = browser.parameters.get("goto");
    let goto = goto.filter(|url| url.len() <= ADDRESS_LENGTH_MAX && goto::is_own(browser.call, url));
    if let Some(csrf) = browser.parameters.get("csrf") {
        return confirmed(browser, csrf).await;
    }
    let Some(token) = browser.token() else {
        if hides_cookie(browser) {
            return browser.message(Message::Impossible(WITHOUT_TLS.to_owned()));
        }
        // Browsers send no `SameSite=Lax` cookie with a form of another site: what the user has is seen when they ask with GET.
        return if browser.is_post {
            browser.ask_again(&logout_path(browser.call), &["goto"])
        } else {
            done(browser, goto)
        };
    };
    match browser.call.service.validate(token, Purpose::Look).await {
        Ok(who) if is_of_other_site(&browser.call.head.headers, &["cross-site"]) => {
            ask(browser, who.id, goto)
        }
        Ok(_) => end(browser, token, goto).await,
        // It may be there: nobody is told that they are logged out.
        Err(Refusal::Unavailable) => browser.message(Message::Unavailable),
        Err(_) => done(browser, goto),
    }
}

/// Whether the browser may have a cookie, and not have sent it because the address is one without TLS: nobody is told then that they are logged
/// out. Browsers say by `Sec-Fetch-Site` where a request comes from on addresses that they take for safe, and on no others. Of what is no browser,
/// and of old ones behind a proxy that says how it was asked, nothing else is wanted.
fn hides_cookie(browser: &BrowserCall<'_>) -> bool {
    let headers = &browser.call.head.headers;
    let says = |name: &str, wanted: fn(&str) -> bool| text_of(headers, name).is_some_and(wanted);
    browser.call.settings.cookie_secure
        && matches!(browser.call.cookies(), Cookies::None)
        && says("user-agent", |text| text.starts_with("Mozilla/"))
        && !headers.contains_key("sec-fetch-site")
        && !says("x-forwarded-proto", |text| text.eq_ignore_ascii_case("https"))
}

/// Whether to sign out, where there is a session: all that there is for OpenAM's console.
pub(super) async fn offered(browser: &BrowserCall<'_>) -> Option<Answer> {
    match browser.call.service.validate(browser.token()?, Purpose::Look).await {
        Ok(who) => Some(ask(browser, who.id, None)),
        Err(Refusal::Unavailable) => Some(browser.message(Message::Unavailable)),
        Err(_) => None,
    }
}

fn ask(browser: &BrowserCall<'_>, session: SessionId, goto: Option<&str>) -> Answer {
    let then = goto.map(|goto| (goto.to_owned(), None));
    let sealed = SignOut::new(session, then, browser.now).sealed(browser.call.service, PURPOSE);
    match sealed {
        Some(csrf) => browser.message(Message::LogoutAsked {
            action: logout_path(browser.call),
            csrf,
            redirect_uri: goto.map(str::to_owned),
        }),
        None => browser.message(Message::Unavailable),
    }
}

/// The user said yes.
async fn confirmed(browser: &BrowserCall<'_>, csrf: &str) -> Answer {
    let service = browser.call.service;
    let is_own = is_from_own_page(browser.is_post, &browser.call.head.headers);
    let good = SignOut::read(service, PURPOSE, csrf, browser.now).filter(|_| is_own);
    let Some(asked) = good else { return browser.message(Message::Over) };
    let goto = asked.then.as_ref().map(|(goto, _)| goto.as_str());
    let Some(token) = browser.token() else { return done(browser, goto) };
    match service.validate(token, Purpose::Look).await {
        Ok(who) if who.id.to_string() == asked.session => end(browser, token, goto).await,
        Ok(_) => browser.message(Message::Over),
        Err(Refusal::Unavailable) => browser.message(Message::Unavailable),
        Err(_) => done(browser, goto),
    }
}

async fn end(browser: &BrowserCall<'_>, token: &str, goto: Option<&str>) -> Answer {
    match browser.call.service.logout(token, Some(browser.call.client)).await {
        Ok(_) => done(browser, goto),
        Err(_) => browser.message(Message::Unavailable),
    }
}

/// Where there is no session any more: on, or a word to the user. A cookie that was not shown stays: its session may live, and the user could
/// end it no more.
fn done(browser: &BrowserCall<'_>, goto: Option<&str>) -> Answer {
    let answer = match goto {
        Some(goto) => redirect::to(goto, &[]),
        None => browser.message(Message::LoggedOut),
    };
    let settings = browser.call.settings;
    if matches!(browser.call.cookies(), Cookies::None) {
        return answer;
    }
    without_cookie(answer, &settings.cookie_name, "", settings)
}
