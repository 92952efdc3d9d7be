//! `UI/Login`: a browser is sent here by an application or its agent, logs its user in, and is sent back to `goto`.
//!
//! ```text
//!   goto ---> is there a session, of the realm? ---> back to `goto`, or to `openam.success_url`
//!               | no                                                     ^
//!               v                                                        | the cookie of OpenAM
//!             password ---> code of a second step, another password -----+
//!             or a passkey  or a passkey
//! ```

use crate::surfaces::login_forms::binding::{Binding, is_from_own_page};
use crate::surfaces::login_forms::cookies as cookie;
use crate::surfaces::login_forms::pages::Message;
use crate::surfaces::login_forms::passkey;
use crate::surfaces::login_forms::redirect;
use crate::surfaces::login_forms::steps::{self, Sender, Stepped};
use crate::surfaces::login_page::{Page, PageError, Step};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies::{self, is_of_other_site};
use durward_session::identity::session::{Properties, Purpose};
use durward_session::{Failed, Granted, PasskeyRequest};
use hyper::header::{self, HeaderValue};
use serde::{Deserialize, Serialize};

use super::answers::{with_token, without_cookie};
use super::authenticate::check_index;
use super::browser::{ADDRESS_LENGTH_MAX, BrowserCall, login_path};
use super::goto;

/// The purpose of the seal.
const PURPOSE: &str = "openam login";

/// Names of a parameter that says the realm, the newest first.
const REALM: [&str; 3] = ["realm", "org", "domain"];

/// Parameters that ask for a certain login, and what [`check_index`] calls that.
const CHAINS: [(&str, &str); 7] = [
    ("service", "service"),
    ("module", "module"),
    ("authlevel", "level"),
    ("role", "role"),
    ("user", "user"),
    ("sunamcompositeadvice", "composite"),
    ("composite_advice", "composite"),
];

/// What a login is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Wanted {
    /// The realm, where the request names one.
    realm: Option<String>,
    /// Where the browser goes then. It is one of ours.
    goto: Option<String>,
    /// Where it goes if the name, the password, the code or the passkey is wrong.
    on_fail: Option<String>,
}

/// What is asked next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Password,
    Code(String),
    /// Another password, for a login that waits for it.
    NewPassword(String),
}

/// What a browser is in the middle of, sealed into the form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SignIn {
    wanted: Wanted,
    stage: Stage,
    /// The name that was typed.
    user: Option<String>,
    /// What the page asked an authenticator.
    #[serde(default)]
    passkey: Option<String>,
    binding: Binding,
}

pub(super) async fn answer(browser: &BrowserCall<'_>) -> Answer {
    if browser.parameters.get("csrf").is_some() {
        return submitted(browser).await;
    }
    let wanted = match wanted(browser) {
        Ok(wanted) => wanted,
        Err(why) => return browser.message(Message::Impossible(why)),
    };
    let is_login = browser.is_post && browser.parameters.get("IDToken1").is_some();
    if is_login && may_post(browser) {
        return posted(browser, wanted).await;
    }
    // A form of another site comes without cookies: to give the browser a new name for it would end every login that it is in the middle of.
    if browser.is_post && cookie::value(&browser.call.head.headers, &browser.names().browser).is_none() {
        let mut names =
            vec!["goto", "gotoOnFail", "encoded", "arg", "ForceAuth", "authIndexType", "authIndexValue"];
        names.extend(REALM);
        names.extend(CHAINS.map(|(name, _)| name));
        return browser.ask_again(&login_path(browser.call), &names);
    }
    if !is_new_session_asked_for(browser) {
        match known(browser, &wanted).await {
            Known::Here => return redirect::to(place(browser, &wanted), &[]),
            Known::Nobody => {}
            Known::Unavailable => return browser.message(Message::Unavailable),
        }
    }
    ask(browser, wanted, None)
}

/// Whether the user is to log in although they have a session. It ends when they have done so: any page could ask for that.
fn is_new_session_asked_for(browser: &BrowserCall<'_>) -> bool {
    let is = |name: &str, value: &str| {
        browser.parameters.get(name).is_some_and(|text| text.eq_ignore_ascii_case(value))
    };
    is("arg", "newsession") || is("ForceAuth", "true")
}

/// What the request asks for.
///
/// # Errors
/// It asks for what there is not.
fn wanted(browser: &BrowserCall<'_>) -> Result<Wanted, String> {
    let get = |name: &str| browser.parameters.get(name);
    let mut named = get("authIndexType").map(|kind| (kind.to_owned(), get("authIndexValue")));
    for (name, kind) in CHAINS {
        if named.is_none() {
            named = get(name).map(|value| (kind.to_owned(), Some(value)));
        } else if get(name).is_some() {
            return Err("more than one login is asked for".to_owned());
        }
    }
    if let Some((kind, value)) = named {
        // Whoever asks for a stronger login than there is must not get another one for it.
        check_index(browser.call.settings, &kind, value.unwrap_or_default())
            .map_err(|refusal| format!("there is no such login: {}", refusal.message))?;
    }
    let realm = match REALM.into_iter().find_map(get) {
        None => None,
        Some(name) => {
            let found = browser.realms.find(&format!("/{}", name.trim_matches('/')));
            Some(found.ok_or("there is no such realm")?)
        }
    };
    let address = |name: &str| {
        let text = get(name)?;
        let is_encoded = get("encoded").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let text =
            if is_encoded { String::from_utf8(STANDARD.decode(text).ok()?).ok()? } else { text.to_owned() };
        (text.len() <= ADDRESS_LENGTH_MAX && goto::is_own(browser.call, &text)).then_some(text)
    };
    let (goto, on_fail) = (address("goto"), address("gotoOnFail"));
    // The page lets its form lead to one origin besides its own.
    let on_fail = on_fail.filter(|on_fail| {
        origin(on_fail).is_none_or(|there| goto.as_deref().and_then(origin) == Some(there))
            || goto.as_deref().and_then(origin).is_none()
    });
    Ok(Wanted { realm, goto, on_fail })
}

/// The origin of an address that is no path.
fn origin(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://").filter(|_| !address.starts_with('/'))?;
    let end = rest.find(['/', '?', '#']).map_or(address.len(), |end| address.len() - rest.len() + end);
    address.get(..end)
}

/// Where the browser goes then.
fn place<'p>(browser: &'p BrowserCall<'_>, wanted: &'p Wanted) -> &'p str {
    wanted.goto.as_deref().unwrap_or(&browser.call.settings.success_url)
}

/// Whether the browser has a session that will do.
enum Known {
    Here,
    Nobody,
    /// Nobody can say at the moment.
    Unavailable,
}

impl From<Failed> for Known {
    fn from(failed: Failed) -> Known {
        if failed.is_temporary() { Known::Unavailable } else { Known::Nobody }
    }
}

async fn known(browser: &BrowserCall<'_>, wanted: &Wanted) -> Known {
    let Some(token) = browser.token() else { return Known::Nobody };
    let service = browser.call.service;
    let who = match service.session(token, Purpose::Use).await {
        Ok((who, _)) => who,
        Err(failed) => return failed.into(),
    };
    if wanted.realm.as_deref().is_some_and(|realm| realm != who.user.realm()) {
        return Known::Nobody;
    }
    // Directories outside do not tell whom they have disabled or removed.
    match service.active_account(&who.user).await {
        Ok(Some(_)) => Known::Here,
        Ok(None) => Known::Nobody,
        Err(failed) => failed.into(),
    }
}

/// The form of a login that begins.
fn ask(browser: &BrowserCall<'_>, wanted: Wanted, user: Option<String>) -> Answer {
    match begun(browser, wanted, user) {
        Some(sign_in) => form(browser, &sign_in, None),
        None => browser.message(Message::Unavailable),
    }
}

/// Nothing without randomness.
fn begun(browser: &BrowserCall<'_>, wanted: Wanted, user: Option<String>) -> Option<SignIn> {
    let binding = Binding::new(&browser.call.head.headers, browser.names(), browser.now).ok()?;
    Some(SignIn { wanted, stage: Stage::Password, user, passkey: None, binding })
}

/// What the page of this stage may ask an authenticator. Nothing where a passkey would not do.
fn asked(browser: &BrowserCall<'_>, sign_in: &SignIn) -> Option<PasskeyRequest> {
    let service = browser.call.service;
    let begun = match &sign_in.stage {
        // Of the realm that the login is for, as the name and the password are.
        Stage::Password => service.begin_passkey_login_in(sign_in.wanted.realm.as_deref()),
        Stage::Code(challenge) => service.begin_passkey_step(challenge),
        Stage::NewPassword(_) => return None,
    };
    // Without randomness there is no button, and the form is there.
    begun.ok().flatten()
}

/// The form of the stage.
fn form(browser: &BrowserCall<'_>, sign_in: &SignIn, error: Option<PageError>) -> Answer {
    let asked = asked(browser, sign_in);
    let (ticket, options) = passkey::parts(asked.as_ref());
    let content = serde_json::to_vec(&SignIn { passkey: ticket, ..sign_in.clone() }).unwrap_or_default();
    let Ok(csrf) = browser.call.service.seal(PURPOSE, &content) else {
        return browser.message(Message::Impossible("the request is too long".to_owned()));
    };
    let step = match sign_in.stage {
        Stage::Password => Step::Password,
        Stage::Code(_) if passkey::is_only(asked.as_ref()) => Step::Passkey,
        Stage::Code(_) => Step::SecondStep,
        Stage::NewPassword(_) => Step::NewPassword { rules: browser.call.surface.rules },
    };
    let Wanted { goto, on_fail, .. } = &sign_in.wanted;
    let leads_to = [goto, on_fail].into_iter().flatten().find(|address| origin(address).is_some());
    let mut answer = browser.page(&Page {
        username: sign_in.user.clone(),
        error,
        redirect_uri: leads_to.cloned(),
        passkey: options,
        ..Page::new(login_path(browser.call), csrf, step)
    });
    sign_in.binding.keep(&mut answer, browser.names());
    answer
}

/// A form that this server made.
async fn submitted(browser: &BrowserCall<'_>) -> Answer {
    let Some(mut sign_in) = read(browser) else { return browser.message(Message::Over) };
    let field = |name: &str| browser.parameters.get(name).unwrap_or_default();
    let credential = passkey::credential(&browser.parameters);
    let stepped = match &sign_in.stage {
        Stage::Password | Stage::Code(_) if credential.is_some() => {
            let Some(ticket) = &sign_in.passkey else { return browser.message(Message::Over) };
            sender(browser).passkey(ticket, credential.unwrap_or_default(), Properties::new()).await
        }
        Stage::Password => {
            let typed = field("username");
            let stepped = password(browser, &sign_in.wanted, typed, field("password"), field("code")).await;
            sign_in.user = Some(typed.to_owned()).filter(|typed| !typed.is_empty());
            stepped
        }
        Stage::Code(challenge) => sender(browser).code(challenge, field("code"), Properties::new()).await,
        Stage::NewPassword(change) => sender(browser).new_password(change, &browser.parameters).await,
    };
    went_on(browser, sign_in, stepped).await
}

/// What a form brought, if it is this browser's and still good.
fn read(browser: &BrowserCall<'_>) -> Option<SignIn> {
    let (call, headers) = (browser.call, &browser.call.head.headers);
    if !is_from_own_page(browser.is_post, headers) {
        return None;
    }
    let content = call.service.unseal(PURPOSE, browser.parameters.get("csrf")?)?;
    let sign_in: SignIn = serde_json::from_slice(&content).ok()?;
    sign_in.binding.is_good(headers, browser.names(), browser.now).then_some(sign_in)
}

/// A form with name and password that this server did not make, as OpenAM takes them: an application's own page, or a program. From no other:
/// a page of another site could log its own user in here, in the browser of somebody else.
async fn posted(browser: &BrowserCall<'_>, wanted: Wanted) -> Answer {
    let field = |name: &str| browser.parameters.get(name).unwrap_or_default();
    let typed = field("IDToken1").to_owned();
    if field("IDToken2").is_empty() {
        return ask(browser, wanted, Some(typed));
    }
    let stepped = password(browser, &wanted, &typed, field("IDToken2"), "").await;
    match begun(browser, wanted, Some(typed)) {
        Some(sign_in) => went_on(browser, sign_in, stepped).await,
        None => browser.message(Message::Unavailable),
    }
}

/// Whether a form with a password comes from a page of this host or of the cookie's domain, or from no page at all.
fn may_post(browser: &BrowserCall<'_>) -> bool {
    let headers = &browser.call.head.headers;
    if is_of_other_site(headers, &["cross-site"]) {
        return false;
    }
    match headers.get(header::ORIGIN).map(HeaderValue::to_str) {
        None => true,
        // Browsers hide where a form comes from, and yet say that it is from here.
        Some(Ok("null")) => headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin"),
        Some(Ok(origin)) => goto::is_own(browser.call, origin) && !origin.starts_with('/'),
        Some(Err(_)) => false,
    }
}

async fn password(
    browser: &BrowserCall<'_>,
    wanted: &Wanted,
    typed: &str,
    password: &str,
    code: &str,
) -> Stepped {
    let (realm, user) = match &wanted.realm {
        Some(realm) => (realm.clone(), typed.trim().to_owned()),
        None => steps::name(browser.call.service, typed),
    };
    sender(browser).password(&realm, &user, password, Some(code).filter(|code| !code.is_empty())).await
}

fn sender<'a>(browser: &'a BrowserCall<'_>) -> Sender<'a> {
    let call = browser.call;
    Sender { service: call.service, headers: &call.head.headers, address: call.client }
}

async fn went_on(browser: &BrowserCall<'_>, mut sign_in: SignIn, stepped: Stepped) -> Answer {
    match stepped {
        Stepped::Granted(granted) => signed_in(browser, &sign_in.wanted, &granted).await,
        Stepped::CodeNeeded(challenge) => {
            sign_in.stage = Stage::Code(challenge);
            form(browser, &sign_in, None)
        }
        Stepped::PasswordChangeNeeded(change) => {
            sign_in.stage = Stage::NewPassword(change);
            form(browser, &sign_in, None)
        }
        Stepped::Again(PageError::Expired) => {
            sign_in.stage = Stage::Password;
            form(browser, &sign_in, Some(PageError::Expired))
        }
        Stepped::Again(error @ (PageError::Password | PageError::Code | PageError::Passkey)) => {
            match &sign_in.wanted.on_fail {
                Some(address) => redirect::to(address, &[]),
                None => form(browser, &sign_in, Some(error)),
            }
        }
        Stepped::Again(error) => form(browser, &sign_in, Some(error)),
    }
}

/// Each login has a session of its own, and a token that nobody has seen before.
async fn signed_in(browser: &BrowserCall<'_>, wanted: &Wanted, granted: &Granted) -> Answer {
    let (call, settings) = (browser.call, browser.call.settings);
    steps::end_before(call.service, browser.token(), call.client).await;
    let answer = with_token(redirect::to(place(browser, wanted), &[]), &granted.token, settings);
    // Left over from an OpenAM before.
    let mut answer = without_cookie(answer, "AMAuthCookie", "LOGOUT", settings);
    let kept_for = call.service.settings().session.devices_max;
    cookies::keep_device(&mut answer, granted.device.as_deref(), kept_for, settings.cookie_secure);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_an_address_ends_before_its_path() {
        for (address, expected) in [
            ("https://app.example.org/a?b=c", Some("https://app.example.org")),
            ("https://app.example.org:8443?x", Some("https://app.example.org:8443")),
            ("http://localhost", Some("http://localhost")),
            ("/a?goto=https://evil.example/", None),
            ("", None),
        ] {
            assert_eq!(origin(address), expected, "{address}");
        }
    }
}
