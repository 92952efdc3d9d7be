//! `/oauth2/account/second-step`: the codes that an authenticator app shows (TOTP). To set them up wants the password and a first code; to remove
//! them, a code or a recovery code.

use durward_common::surfaces::http::Answer;
use durward_session::identity::user::Totp;
use durward_session::{AccountFailed, Failed, Refused};
use serde::{Deserialize, Serialize};

use super::super::BrowserRequest;
use super::super::pages::Message;
use super::{SignedIn, failure, signed_out};
use crate::surfaces::login_forms::steps::{of_failed, of_refused};
use crate::surfaces::login_page::{Failure, PageError, Step};

/// Where the page is.
const PATH: &str = "/oauth2/account/second-step";

/// The purpose of the seal.
const PURPOSE: &str = "account second step";

/// The device that is being set up: the user is shown it again where its first code was wrong.
#[derive(Serialize, Deserialize)]
struct NewDevice {
    enrolment: String,
    secret: String,
    uri: String,
}

pub(in super::super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    let user = match SignedIn::of(request, PURPOSE, PATH).await {
        Ok(user) => user,
        Err(answer) => return answer,
    };
    if !request.is_post {
        return standing(request, &user, None).await;
    }
    let Some(form) = user.read::<NewDevice>(request) else { return request.message(Message::Over) };
    let field = |name: &str| request.parameters.get(name).unwrap_or_default();
    match (form.new, request.parameters.get("password")) {
        (Some(new), _) => confirm(request, &user, new, field("code")).await,
        (None, Some(password)) => begin(request, &user, password).await,
        (None, None) => remove(request, &user, field("code")).await,
    }
}

/// Whether there are codes, and what can be done about that.
async fn standing(request: &BrowserRequest<'_>, user: &SignedIn<'_>, error: Option<PageError>) -> Answer {
    let step = match user.accounts.own_recovery_codes_left(user.token).await {
        Ok(Some(codes_left)) => Step::SecondStepOn { codes_left },
        Ok(None) => Step::SecondStepOff,
        Err(AccountFailed::NotKept) => return failure(request, Failure::NotFound),
        Err(AccountFailed::NoUser | AccountFailed::Failed(Failed::Token(_))) => {
            return failure(request, Failure::NotSignedIn);
        }
        Err(_) => return request.message(Message::Unavailable),
    };
    user.page::<NewDevice>(request, step, None, None, error)
}

/// The password was given: a page with the secret, that asks for a code made of it.
async fn begin(request: &BrowserRequest<'_>, user: &SignedIn<'_>, password: &str) -> Answer {
    match user.accounts.begin_second_step(user.holder(request), password).await {
        Ok(begun) => {
            let issuer = request.surface.pages.product();
            let new = NewDevice {
                enrolment: begun.enrolment,
                secret: in_groups(&begun.totp),
                uri: begun.totp.to_uri(issuer, begun.user.subject()),
            };
            shown(request, user, new, None)
        }
        Err(why) => refused(request, user, &why, PageError::Password).await,
    }
}

/// As people type it.
fn in_groups(totp: &Totp) -> String {
    let letters: Vec<char> = totp.secret_text().chars().collect();
    letters.chunks(4).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

fn shown(
    request: &BrowserRequest<'_>,
    user: &SignedIn<'_>,
    new: NewDevice,
    error: Option<PageError>,
) -> Answer {
    let step = Step::NewSecondStep { secret: new.secret.clone(), uri: new.uri.clone() };
    user.page(request, step, Some(new), None, error)
}

async fn confirm(request: &BrowserRequest<'_>, user: &SignedIn<'_>, new: NewDevice, code: &str) -> Answer {
    let confirmed = user.accounts.confirm_second_step(user.holder(request), &new.enrolment, code).await;
    match confirmed {
        Ok(codes) => signed_out(request, Step::RecoveryCodes { codes }),
        // The device is as it was: another code of it may be right.
        Err(AccountFailed::Refused(why)) => {
            shown(request, user, new, Some(of_refused(&why, PageError::Code)))
        }
        Err(AccountFailed::NoEnrolment) => request.message(Message::Over),
        Err(why) => refused(request, user, &why, PageError::Code).await,
    }
}

async fn remove(request: &BrowserRequest<'_>, user: &SignedIn<'_>, code: &str) -> Answer {
    match user.accounts.remove_second_step(user.holder(request), code).await {
        Ok(()) => signed_out(request, Step::SecondStepRemoved),
        Err(why) => refused(request, user, &why, PageError::Code).await,
    }
}

/// The page as it was, with what was wrong; `wrong` is what was typed.
async fn refused(
    request: &BrowserRequest<'_>,
    user: &SignedIn<'_>,
    why: &AccountFailed,
    wrong: PageError,
) -> Answer {
    let error = match why {
        AccountFailed::Refused(Refused::Wrong) => Some(wrong),
        AccountFailed::Refused(refused) => Some(of_refused(refused, wrong)),
        AccountFailed::CodeNeeded => Some(PageError::SecondStepNeeded),
        // It was set up, or removed, elsewhere in the meantime: the page says how it stands now.
        AccountFailed::HasSecondStep | AccountFailed::NoSecondStep => None,
        AccountFailed::Failed(Failed::Token(_)) | AccountFailed::NoUser => {
            return failure(request, Failure::NotSignedIn);
        }
        AccountFailed::Failed(failed) => Some(of_failed(failed, wrong)),
        AccountFailed::NotKept
        | AccountFailed::Exists
        | AccountFailed::Name(_)
        | AccountFailed::Password(_)
        | AccountFailed::Unchanged
        | AccountFailed::NotTaken(_)
        | AccountFailed::LinkOver
        | AccountFailed::NoPasskey
        | AccountFailed::Passkey(_)
        | AccountFailed::NoEnrolment
        | AccountFailed::Contended => Some(PageError::Unavailable),
    };
    standing(request, user, error).await
}
