//! The steps that every login by forms has: a name with its password, the code of a second step, another password where it must be changed.

use std::net::IpAddr;

use durward_common::access::issued::subject;
use durward_common::base::parameters::Parameters;
use durward_common::surfaces::http::cookies::device;
use durward_session::identity::session::Properties;
use durward_session::{
    AccountFailed, Failed, Granted, Login, LoginRequest, PasswordChoice, Refused, Service,
};
use hyper::header::HeaderMap;

use super::new_password;
use crate::surfaces::login_page::PageError;

/// Who sends a form.
pub struct Sender<'s> {
    /// Who logs users in.
    pub service: &'s Service,
    /// The headers of the request.
    pub headers: &'s HeaderMap,
    /// The caller's address.
    pub address: IpAddr,
}

/// What came of a step.
pub enum Stepped {
    /// There is a session.
    Granted(Granted),
    /// The password was right, and a code is asked for.
    CodeNeeded(String),
    /// All else was right, and another password is asked for.
    PasswordChangeNeeded(String),
    /// Nothing: the form is shown again, with what was wrong.
    Again(PageError),
}

impl Sender<'_> {
    /// The device cookie is `SameSite=Strict`: browsers send it with these forms, which pages of this server send.
    pub async fn password(&self, realm: &str, user: &str, password: &str, code: Option<&str>) -> Stepped {
        let login = LoginRequest {
            code: code.map(str::to_owned),
            device: device(self.headers).map(str::to_owned),
            ..LoginRequest::new(realm, user, password, self.address)
        };
        stepped(self.service.login(login).await, PageError::Password)
    }

    /// The code of a second step, for a login whose first one was right; the session begins with these properties.
    pub async fn code(&self, challenge: &str, code: &str, properties: Properties) -> Stepped {
        let device = device(self.headers);
        let login = self.service.answer_challenge_on(device, challenge, code, self.address, properties).await;
        stepped(login, PageError::Code)
    }

    /// Another password, for a login that waits for it. [`PageError::Expired`] is for a login that is over: it was changed elsewhere, or it
    /// took too long.
    pub async fn new_password(&self, change: &str, form: &Parameters) -> Stepped {
        let password = match new_password::typed(form) {
            Ok(password) => password,
            Err(error) => return Stepped::Again(error),
        };
        let choice = PasswordChoice {
            device: device(self.headers).map(str::to_owned),
            ..PasswordChoice::new(change, password, self.address)
        };
        match self.service.choose_password(choice).await {
            Ok(login) => stepped(Ok(login), PageError::Expired),
            Err(AccountFailed::Refused(refused)) => stepped(Err(refused), PageError::Expired),
            Err(why) => Stepped::Again(new_password::of_account(&why)),
        }
    }
}

/// What came of a login; `wrong` is what was sent.
pub fn stepped(login: Result<Login, Refused>, wrong: PageError) -> Stepped {
    match login {
        Ok(Login::Granted(granted, _)) => Stepped::Granted(granted),
        Ok(Login::CodeNeeded(challenge)) => Stepped::CodeNeeded(challenge),
        Ok(Login::PasswordChangeNeeded(change)) => Stepped::PasswordChangeNeeded(change),
        Ok(Login::Recognized(_)) => Stepped::Again(PageError::Unavailable),
        Err(refused) => Stepped::Again(of_refused(&refused, wrong)),
    }
}

/// The realm and the name in it of what was typed: `name`, or `name@/realm`. Where there is one realm alone, it is that.
pub fn name(service: &Service, typed: &str) -> (String, String) {
    let realms = service.realms();
    let typed = typed.trim();
    let read = subject::read(typed).filter(|user| user.realm() != "/" || realms.contains(&"/"));
    match (read, realms.as_slice()) {
        (Some(user), _) => (user.realm().to_owned(), user.subject().to_owned()),
        (None, [only]) => ((*only).to_owned(), typed.to_owned()),
        (None, _) => ("/".to_owned(), typed.to_owned()),
    }
}

fn seconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// Why there is no login, in a page's words; `wrong` is what was typed.
pub fn of_refused(refused: &Refused, wrong: PageError) -> PageError {
    match refused {
        Refused::Wrong | Refused::UnknownRealm => wrong,
        Refused::Delayed { retry_after } | Refused::Crowded { retry_after } => {
            PageError::TooMany { wait_s: seconds(*retry_after) }
        }
        Refused::PasswordOver => PageError::PasswordOver,
        Refused::UserFull => PageError::Full,
        Refused::Busy { .. }
        | Refused::NodeFull
        | Refused::Directory(_)
        | Refused::Unavailable(_)
        | Refused::Unknown => PageError::Unavailable,
    }
}

/// The same of something that a session's holder asked for.
pub fn of_failed(failed: &Failed, wrong: PageError) -> PageError {
    match failed {
        Failed::Code => wrong,
        Failed::Delayed { retry_after } => PageError::TooMany { wait_s: seconds(*retry_after) },
        Failed::Token(_)
        | Failed::Forbidden
        | Failed::SecondStepNeeded
        | Failed::NoSession
        | Failed::UnknownRealm
        | Failed::Properties(_)
        | Failed::Directory(_)
        | Failed::Unavailable(_)
        | Failed::Unknown => PageError::Unavailable,
    }
}

/// The session that a browser had before a login ends, whoever's it is: its cookie is replaced, so that no logout in this browser could
/// end it any more.
pub async fn end_before(service: &Service, before: Option<&str>, address: IpAddr) {
    let Some(before) = before else { return };
    if let Err(error) = service.logout(before, Some(address)).await {
        // Most have ended before. One that has not is out of this browser in any case, and ends by itself.
        tracing::debug!(%error, "the session before a login was not ended");
    }
}
