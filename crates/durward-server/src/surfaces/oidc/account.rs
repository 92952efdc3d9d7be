//! `/oauth2/account/passkeys`: the page where users who are signed in look after their passkeys. Each change wants the password; after it the
//! user is signed out everywhere, as after every change of second steps.
//!
//! What the user is in the middle of is sealed into the form, for the session that it was given to.

use durward_session::identity::passkey::is_passkey_name;
use durward_session::identity::session::Purpose;
use durward_session::{AccountFailed, AccountHolder, Accounts, Failed, Refused, Who};
use serde::{Deserialize, Serialize};

use super::pages::Message;
use super::{ACCOUNT, BrowserRequest, cookies, passkey};
use crate::access::issued::authorization::FORMS_S;
use crate::access::issued::subject;
use crate::surfaces::http::Answer;
use crate::surfaces::http::cookies::{device, is_of_other_site};
use crate::surfaces::login_forms::steps::{of_failed, of_refused};
use crate::surfaces::login_page::{Failure, Page, PageError, PasskeyLine, Step};

/// The purpose of the seal.
const PURPOSE: &str = "account passkeys";

/// What a form carries.
#[derive(Serialize, Deserialize)]
struct AccountForm {
    session: String,
    until_s: u64,
    /// The new passkey that is under way.
    new: Option<NewPasskey>,
}

#[derive(Serialize, Deserialize)]
struct NewPasskey {
    ticket: String,
    name: String,
}

/// A user who is signed in.
struct SignedIn<'r> {
    who: Who,
    token: &'r str,
    accounts: Accounts,
}

pub(super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    if request.service.settings().passkeys.is_none() {
        return failure(request, Failure::NotFound);
    }
    let Some(token) = cookies::value(request.headers, &request.surface.cookies.session) else {
        return failure(request, Failure::NotSignedIn);
    };
    let who = match request.service.validate(token, Purpose::Use).await {
        Ok(who) => who,
        Err(refusal) if Failed::from(refusal).is_temporary() => return request.message(Message::Unavailable),
        Err(_) => return failure(request, Failure::NotSignedIn),
    };
    let user = SignedIn { who, token, accounts: request.service.accounts() };
    if !request.is_post {
        return list(request, &user, None).await;
    }
    let Some(form) = read(request, &user) else { return request.message(Message::Over) };
    let changed = match (passkey::credential(request), form.new, request.parameters.get("remove")) {
        (Some(credential), Some(new), _) => confirm(request, &user, &new, credential).await,
        (None, _, Some(id)) => remove(request, &user, id).await,
        (None, _, None) => return begin(request, &user).await,
        (Some(_), None, _) => return request.message(Message::Over),
    };
    match changed {
        Ok(()) => {
            let mut answer = request.page(&Page::of(Step::PasskeysChanged));
            let cookies = &request.surface.cookies;
            cookies.set(&mut answer, &cookies.session, "", Some(0));
            answer
        }
        Err(why) => refused(request, &user, &why).await,
    }
}

fn failure(request: &BrowserRequest<'_>, what: Failure) -> Answer {
    request.page(&Page::of(Step::Failed { what, reference: None }))
}

/// What a form brought, if it was given to this session and is still good.
fn read(request: &BrowserRequest<'_>, user: &SignedIn<'_>) -> Option<AccountForm> {
    if is_of_other_site(request.headers, &["cross-site", "same-site"]) {
        return None;
    }
    let content = request.service.unseal(PURPOSE, request.parameters.get("csrf")?)?;
    let form: AccountForm = serde_json::from_slice(&content).ok()?;
    let is_own = form.session == user.who.id.to_string();
    (is_own && form.until_s > request.now.ms() / 1000).then_some(form)
}

/// The text that a form carries.
fn sealed(request: &BrowserRequest<'_>, user: &SignedIn<'_>, new: Option<NewPasskey>) -> Option<String> {
    let until_s = request.now.ms() / 1000 + FORMS_S;
    let form = AccountForm { session: user.who.id.to_string(), until_s, new };
    request.service.seal(PURPOSE, &serde_json::to_vec(&form).ok()?).ok()
}

fn holder<'h>(request: &'h BrowserRequest<'_>, user: &'h SignedIn<'_>) -> AccountHolder<'h> {
    AccountHolder { token: user.token, device: device(request.headers), address: request.address }
}

async fn list(request: &BrowserRequest<'_>, user: &SignedIn<'_>, error: Option<PageError>) -> Answer {
    let passkeys = match user.accounts.own_passkeys(user.token).await {
        Ok(passkeys) => passkeys,
        Err(AccountFailed::NotKept) => return failure(request, Failure::NotFound),
        Err(AccountFailed::NoUser) => return failure(request, Failure::NotSignedIn),
        Err(_) => return request.message(Message::Unavailable),
    };
    let line = |passkey: &durward_session::identity::passkey::Passkey| PasskeyLine {
        id: passkey.reference(),
        name: passkey.name.clone(),
    };
    let step = Step::Passkeys { passkeys: passkeys.iter().map(line).collect() };
    shown(request, user, step, None, error)
}

fn shown(
    request: &BrowserRequest<'_>,
    user: &SignedIn<'_>,
    step: Step,
    new: Option<(NewPasskey, String)>,
    error: Option<PageError>,
) -> Answer {
    let (new, options) = new.unzip();
    let Some(csrf) = sealed(request, user, new) else { return request.message(Message::Unavailable) };
    let username = Some(subject::of_user(&user.who.user));
    request.page(&Page { username, error, passkey: options, ..Page::new(ACCOUNT, csrf, step) })
}

/// The password was given: a page that asks for the new passkey.
async fn begin(request: &BrowserRequest<'_>, user: &SignedIn<'_>) -> Answer {
    let field = |name: &str| request.parameters.get(name).unwrap_or_default();
    let name = field("name").to_owned();
    if !is_passkey_name(&name) {
        return list(request, user, Some(PageError::PasskeyName)).await;
    }
    match user.accounts.begin_passkey(holder(request, user), field("password")).await {
        Ok(begun) => {
            let new = NewPasskey { ticket: begun.ticket, name };
            shown(request, user, Step::NewPasskey, Some((new, begun.public_key.to_string())), None)
        }
        Err(why) => refused(request, user, &why).await,
    }
}

async fn confirm(
    request: &BrowserRequest<'_>,
    user: &SignedIn<'_>,
    new: &NewPasskey,
    credential: &str,
) -> Result<(), AccountFailed> {
    let NewPasskey { ticket, name } = new;
    user.accounts.confirm_passkey(holder(request, user), ticket, credential, name).await.map(drop)
}

async fn remove(request: &BrowserRequest<'_>, user: &SignedIn<'_>, id: &str) -> Result<(), AccountFailed> {
    let password = request.parameters.get("password").unwrap_or_default();
    user.accounts.remove_own_passkey(holder(request, user), id, password).await
}

async fn refused(request: &BrowserRequest<'_>, user: &SignedIn<'_>, why: &AccountFailed) -> Answer {
    let error = match why {
        AccountFailed::Refused(Refused::Wrong) => PageError::Password,
        AccountFailed::Refused(refused) => of_refused(refused, PageError::Password),
        AccountFailed::CodeNeeded => PageError::SecondStepNeeded,
        AccountFailed::Name(_)
        | AccountFailed::Exists
        | AccountFailed::NoPasskey
        | AccountFailed::Passkey(_)
        | AccountFailed::NoEnrolment => PageError::Passkey,
        AccountFailed::Failed(Failed::Token(_)) => return failure(request, Failure::NotSignedIn),
        AccountFailed::Failed(failed) => of_failed(failed, PageError::Passkey),
        AccountFailed::NotKept
        | AccountFailed::NoUser
        | AccountFailed::Password(_)
        | AccountFailed::Unchanged
        | AccountFailed::NotTaken(_)
        | AccountFailed::LinkOver
        | AccountFailed::HasSecondStep
        | AccountFailed::NoSecondStep
        | AccountFailed::Contended => PageError::Unavailable,
    };
    list(request, user, Some(error)).await
}
