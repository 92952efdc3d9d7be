//! `/oauth2/reset`: whoever forgot their password asks for a link, and whoever follows one chooses another password.
//!
//! Who asks is answered before anybody looks whether there is such a user: what they typed goes into a queue of bounded length
//! ([`queue`]), and a hook hands the link over ([`hook`]). To follow a link changes nothing, since programs that look at mail do it too: the
//! password is changed by a form, which only the browser that it was given to can send.

mod hook;
mod queue;
mod quota;

use std::net::IpAddr;

use durward_common::access::issued::subject;
use durward_common::surfaces::http::{Answer, text_of};
use durward_session::identity::IdentityError;
use durward_session::{AccountFailed, ResetAnswer, Service};
use durward_settings::{ConfigError, ResetSettings, Settings};
use serde::{Deserialize, Serialize};

use super::pages::Message;
use super::{BrowserRequest, cookies};
use crate::surfaces::login_forms::binding::{Binding, is_from_own_page};
use crate::surfaces::login_forms::{new_password, steps};
use crate::surfaces::login_page::{Failure, Page, PageError, Step};
use queue::{AskedLink, ResetQueue};
use quota::Quota;

/// Where the pages are.
const RESET: &str = "/oauth2/reset";

/// The purpose of the seal.
const PURPOSE: &str = "oidc password reset";

/// Links for those who forgot their password.
pub(super) struct Reset {
    settings: ResetSettings,
    queue: Option<ResetQueue>,
    addresses: Quota<IpAddr>,
}

impl Reset {
    /// # Errors
    /// The secret of the webhook cannot be read, or its address or authorities cannot be used.
    pub(super) fn new(settings: &Settings, service: &Service) -> Result<Reset, ConfigError> {
        let reset = settings.identity.reset.clone();
        let queue = if reset.has_hook() { Some(ResetQueue::start(settings, service)?) } else { None };
        let addresses = Quota::new(reset.address_requests_max);
        Ok(Reset { settings: reset, queue, addresses })
    }

    /// Where those who forgot their password go; nowhere without a hook.
    pub(super) fn place(&self) -> Option<String> {
        self.queue.is_some().then(|| RESET.to_owned())
    }
}

/// A form of these pages, for the browser that it was given to.
#[derive(Serialize, Deserialize)]
struct ResetInteraction {
    /// The link that was followed; nothing where one is asked for.
    token: Option<String>,
    binding: Binding,
}

impl ResetInteraction {
    fn new(request: &BrowserRequest<'_>, token: Option<String>) -> Result<ResetInteraction, IdentityError> {
        let binding = Binding::new(request.headers, &request.surface.cookies, request.now)?;
        Ok(ResetInteraction { token, binding })
    }

    /// What a form brought, if it is this browser's and still good.
    fn read(request: &BrowserRequest<'_>) -> Option<ResetInteraction> {
        if !is_from_own_page(request.is_post, request.headers) {
            return None;
        }
        let content = request.service.unseal(PURPOSE, request.parameters.get("csrf")?)?;
        let form: ResetInteraction = serde_json::from_slice(&content).ok()?;
        form.binding.is_good(request.headers, &request.surface.cookies, request.now).then_some(form)
    }

    fn page(
        &self,
        request: &BrowserRequest<'_>,
        username: Option<String>,
        error: Option<PageError>,
        step: Step,
    ) -> Answer {
        let content = serde_json::to_vec(self).unwrap_or_default();
        let Ok(csrf) = request.service.seal(PURPOSE, &content) else {
            return request.message(Message::LinkOver);
        };
        let mut answer = request.page(&Page { username, error, ..Page::new(RESET, csrf, step) });
        self.binding.keep(&mut answer, &request.surface.cookies);
        answer
    }
}

pub(super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    let reset = &request.surface.reset;
    if !reset.settings.is_on() {
        return nothing_here(request);
    }
    if !request.is_post {
        let token = request.parameters.get("token").map(str::to_owned);
        if token.is_none() && reset.queue.is_none() {
            return nothing_here(request);
        }
        let Ok(form) = ResetInteraction::new(request, token) else {
            return request.message(Message::Unavailable);
        };
        return show(request, &form, None).await;
    }
    let Some(form) = ResetInteraction::read(request) else { return request.message(Message::Over) };
    match &form.token {
        Some(token) => choose(request, &form, token).await,
        None => ask(request, reset, &form).await,
    }
}

fn nothing_here(request: &BrowserRequest<'_>) -> Answer {
    request.page(&Page::of(Step::Failed { what: Failure::NotFound, reference: None }))
}

/// The form, with what was wrong with it.
async fn show(request: &BrowserRequest<'_>, form: &ResetInteraction, error: Option<PageError>) -> Answer {
    let Some(token) = &form.token else {
        let typed = request.parameters.get("username").filter(|_| request.is_post);
        return form.page(request, typed.map(str::to_owned), error, Step::ForgotPassword);
    };
    match request.service.accounts().reset_form(token).await {
        Ok(asked) => {
            let step = Step::ResetPassword { rules: request.surface.rules, needs_code: asked.needs_code };
            form.page(request, Some(subject::of_user(&asked.user)), error, step)
        }
        Err(AccountFailed::LinkOver) => request.message(Message::LinkOver),
        Err(_) => request.message(Message::Unavailable),
    }
}

/// Somebody forgot the password of the name that they typed. The answer says nothing of it, and takes no longer for one name than for
/// another.
async fn ask(request: &BrowserRequest<'_>, reset: &Reset, form: &ResetInteraction) -> Answer {
    let Some(queue) = &reset.queue else { return nothing_here(request) };
    if let Err(wait_s) = reset.addresses.take(quota::site(request.address), request.now) {
        return show(request, form, Some(PageError::TooMany { wait_s })).await;
    }
    let typed = request.parameters.get("username").unwrap_or_default();
    let (realm, name) = steps::name(request.service, typed);
    let accepted = text_of(request.headers, &hyper::header::ACCEPT_LANGUAGE);
    let language = request.surface.pages.language(accepted).to_owned();
    if queue.put(AskedLink { realm, name, address: request.address, language }) {
        request.message(Message::LinkSent)
    } else {
        request.service.count_lost_reset();
        show(request, form, Some(PageError::Unavailable)).await
    }
}

async fn choose(request: &BrowserRequest<'_>, form: &ResetInteraction, token: &str) -> Answer {
    let password = match new_password::typed(&request.parameters) {
        Ok(password) => password.to_owned(),
        Err(error) => return show(request, form, Some(error)).await,
    };
    let code = request.parameters.get("code").filter(|code| !code.is_empty()).map(str::to_owned);
    let answer = ResetAnswer { token: token.to_owned(), password, code, address: request.address };
    match request.service.accounts().reset_password(answer).await {
        Ok(_) => {
            let mut answer = request.message(Message::PasswordChanged);
            let cookies = &request.surface.cookies;
            if cookies::value(request.headers, &cookies.session).is_some() {
                cookies.set(&mut answer, &cookies.session, "", Some(0));
            }
            answer
        }
        Err(AccountFailed::LinkOver) => request.message(Message::LinkOver),
        Err(why) => show(request, form, Some(new_password::of_account(&why))).await,
    }
}
