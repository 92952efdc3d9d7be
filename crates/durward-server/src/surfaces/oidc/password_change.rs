//! The new password of a login whose password must be changed, as a form brings it.

use durward_session::identity::user::PasswordRefusal;
use durward_session::{AccountFailed, Login, PasswordChoice, Refused};

use super::BrowserRequest;
use super::interaction::{of_failed, of_refused};
use crate::surfaces::http::cookies::device;
use crate::surfaces::login_page::PageError;

/// What came of the new password: a login, or what is wrong with the form.
pub(super) async fn choose(
    request: &BrowserRequest<'_>,
    change: &str,
) -> Result<Result<Login, Refused>, PageError> {
    let choice = PasswordChoice {
        device: device(request.headers).map(str::to_owned),
        ..PasswordChoice::new(change, typed(request)?, request.address)
    };
    match request.service.choose_password(choice).await {
        Ok(login) => Ok(Ok(login)),
        Err(AccountFailed::Refused(refused)) => Ok(Err(refused)),
        Err(why) => Err(of_account(&why)),
    }
}

/// The new password, typed twice.
pub(super) fn typed<'r>(request: &'r BrowserRequest<'_>) -> Result<&'r str, PageError> {
    let [password, again] =
        ["new_password", "new_password_again"].map(|name| request.parameters.get(name).unwrap_or_default());
    match (password, again) {
        ("", _) => Err(PageError::TooShort { length_min: 1 }),
        (password, again) if password == again => Ok(password),
        (_, _) => Err(PageError::Differ),
    }
}

/// What the user can do about a new password that came to nothing.
pub(super) fn of_account(why: &AccountFailed) -> PageError {
    match why {
        AccountFailed::Password(PasswordRefusal::TooShort { length_min }) => {
            PageError::TooShort { length_min: *length_min }
        }
        AccountFailed::Password(PasswordRefusal::Breached) => PageError::Breached,
        AccountFailed::Unchanged => PageError::Unchanged,
        // A very long one is no password.
        AccountFailed::NotTaken(_) | AccountFailed::Name(_) => PageError::NotTaken,
        AccountFailed::CodeNeeded => PageError::Code,
        AccountFailed::Refused(refused) => of_refused(refused, PageError::Code),
        AccountFailed::Failed(failed) => of_failed(failed),
        AccountFailed::LinkOver | AccountFailed::NoUser => PageError::Expired,
        AccountFailed::Password(PasswordRefusal::Unreadable(_))
        | AccountFailed::NotKept
        | AccountFailed::Exists
        | AccountFailed::HasSecondStep
        | AccountFailed::NoSecondStep
        | AccountFailed::NoEnrolment
        | AccountFailed::Contended => PageError::Unavailable,
    }
}
