//! A new password, as a form brings it: typed twice.

use durward_common::base::parameters::Parameters;
use durward_session::AccountFailed;
use durward_session::identity::user::PasswordRefusal;

use super::steps::{of_failed, of_refused};
use crate::surfaces::login_page::PageError;

/// The new password.
///
/// # Errors
/// It is none, or the two are not the same.
pub fn typed(form: &Parameters) -> Result<&str, PageError> {
    let [password, again] =
        ["new_password", "new_password_again"].map(|name| form.get(name).unwrap_or_default());
    match (password, again) {
        ("", _) => Err(PageError::TooShort { length_min: 1 }),
        (password, again) if password == again => Ok(password),
        (_, _) => Err(PageError::Differ),
    }
}

/// What the user can do about a new password that came to nothing.
pub fn of_account(why: &AccountFailed) -> PageError {
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
        AccountFailed::Failed(failed) => of_failed(failed, PageError::Code),
        AccountFailed::LinkOver | AccountFailed::NoUser => PageError::Expired,
        AccountFailed::Password(PasswordRefusal::Unreadable(_))
        | AccountFailed::NotKept
        | AccountFailed::Exists
        | AccountFailed::HasSecondStep
        | AccountFailed::NoSecondStep
        | AccountFailed::NoPasskey
        | AccountFailed::Passkey(_)
        | AccountFailed::NoEnrolment
        | AccountFailed::Contended => PageError::Unavailable,
    }
}
