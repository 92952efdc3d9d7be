//! `/oauth2/account/...`: pages where users who are signed in look after their [`passkeys`] and their [`second_step`]. Each change wants the
//! password or a code; after it the user is signed out everywhere, as after every change of second steps.
//!
//! What the user is in the middle of is sealed into the form, for the session that it was given to.

pub(super) mod passkeys;
pub(super) mod second_step;

use durward_common::access::issued::authorization::FORMS_S;
use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::cookies::{device, is_of_other_site};
use durward_session::identity::session::Purpose;
use durward_session::{AccountHolder, Accounts, Failed, Who};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::pages::Message;
use super::{BrowserRequest, cookies};
use crate::surfaces::login_page::{Failure, Page, PageError, Step};

/// What a form carries.
#[derive(Serialize, Deserialize)]
struct AccountForm<T> {
    session: String,
    until_s: u64,
    /// What is under way.
    new: Option<T>,
}

/// A user who is signed in.
struct SignedIn<'r> {
    who: Who,
    token: &'r str,
    accounts: Accounts,
    /// The seal of the page: no form of one page is one of another.
    purpose: &'static str,
    /// Where its form goes.
    action: &'static str,
}

impl<'r> SignedIn<'r> {
    /// The user of the browser's session, or the page that says that there is none.
    async fn of(
        request: &BrowserRequest<'r>,
        purpose: &'static str,
        action: &'static str,
    ) -> Result<SignedIn<'r>, Answer> {
        let Some(token) = cookies::value(request.headers, &request.surface.cookies.session) else {
            return Err(failure(request, Failure::NotSignedIn));
        };
        match request.service.validate(token, Purpose::Use).await {
            Ok(who) => Ok(SignedIn { who, token, accounts: request.service.accounts(), purpose, action }),
            Err(refusal) if Failed::from(refusal).is_temporary() => {
                Err(request.message(Message::Unavailable))
            }
            Err(_) => Err(failure(request, Failure::NotSignedIn)),
        }
    }

    fn holder(&self, request: &BrowserRequest<'r>) -> AccountHolder<'r> {
        AccountHolder { token: self.token, device: device(request.headers), address: request.address }
    }

    /// What a form brought, if it was given to this session on this page and is still good.
    fn read<T: DeserializeOwned>(&self, request: &BrowserRequest<'_>) -> Option<AccountForm<T>> {
        if is_of_other_site(request.headers, &["cross-site", "same-site"]) {
            return None;
        }
        let content = request.service.unseal(self.purpose, request.parameters.get("csrf")?)?;
        let form: AccountForm<T> = serde_json::from_slice(&content).ok()?;
        let is_own = form.session == self.who.id.to_string();
        (is_own && form.until_s > request.now.ms() / 1000).then_some(form)
    }

    /// The text that a form carries.
    fn sealed<T: Serialize>(&self, request: &BrowserRequest<'_>, new: Option<T>) -> Option<String> {
        let until_s = request.now.ms() / 1000 + FORMS_S;
        let form = AccountForm { session: self.who.id.to_string(), until_s, new };
        request.service.seal(self.purpose, &serde_json::to_vec(&form).ok()?).ok()
    }

    /// The page of this step; `passkey` is what it asks an authenticator.
    fn page<T: Serialize>(
        &self,
        request: &BrowserRequest<'_>,
        step: Step,
        new: Option<T>,
        passkey: Option<String>,
        error: Option<PageError>,
    ) -> Answer {
        let Some(csrf) = self.sealed(request, new) else { return request.message(Message::Unavailable) };
        let username = Some(subject::of_user(&self.who.user));
        request.page(&Page { username, error, passkey, ..Page::new(self.action, csrf, step) })
    }
}

fn failure(request: &BrowserRequest<'_>, what: Failure) -> Answer {
    request.page(&Page::of(Step::Failed { what, reference: None }))
}

/// The page after a change: the session is over, and its cookie with it.
fn signed_out(request: &BrowserRequest<'_>, step: Step) -> Answer {
    let mut answer = request.page(&Page::of(step));
    let cookies = &request.surface.cookies;
    cookies.set(&mut answer, &cookies.session, "", Some(0));
    answer
}
