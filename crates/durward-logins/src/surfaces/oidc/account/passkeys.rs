//! `/oauth2/account/passkeys`: lists the user's passkeys, adds and removes some. Each change wants the password.

use durward_common::surfaces::http::Answer;
use durward_session::identity::passkey::{Passkey, is_passkey_name};
use durward_session::{AccountFailed, Failed, Refused};
use serde::{Deserialize, Serialize};

use super::super::BrowserRequest;
use super::super::pages::Message;
use super::{SignedIn, failure, signed_out};
use crate::surfaces::login_forms::passkey::credential;
use crate::surfaces::login_forms::steps::{of_failed, of_refused};
use crate::surfaces::login_page::{Failure, PageError, PasskeyLine, Step};

/// Where the page is.
const PATH: &str = "/oauth2/account/passkeys";

/// The purpose of the seal.
const PURPOSE: &str = "account passkeys";

/// The new passkey that is under way.
#[derive(Serialize, Deserialize)]
struct NewPasskey {
    ticket: String,
    name: String,
}

pub(in super::super) async fn answer(request: &BrowserRequest<'_>) -> Answer {
    if request.service.settings().passkeys.is_none() {
        return failure(request, Failure::NotFound);
    }
    let user = match SignedIn::of(request, PURPOSE, PATH).await {
        Ok(user) => user,
        Err(answer) => return answer,
    };
    if !request.is_post {
        return list(request, &user, None).await;
    }
    let Some(form) = user.read::<NewPasskey>(request) else { return request.message(Message::Over) };
    let changed = match (credential(&request.parameters), form.new, request.parameters.get("remove")) {
        (Some(credential), Some(new), _) => confirm(request, &user, &new, credential).await,
        (None, _, Some(id)) => remove(request, &user, id).await,
        (None, _, None) => return begin(request, &user).await,
        (Some(_), None, _) => return request.message(Message::Over),
    };
    match changed {
        Ok(()) => signed_out(request, Step::PasskeysChanged),
        Err(why) => refused(request, &user, &why).await,
    }
}

async fn list(request: &BrowserRequest<'_>, user: &SignedIn<'_>, error: Option<PageError>) -> Answer {
    let passkeys = match user.accounts.own_passkeys(user.token).await {
        Ok(passkeys) => passkeys,
        Err(AccountFailed::NotKept) => return failure(request, Failure::NotFound),
        Err(AccountFailed::NoUser) => return failure(request, Failure::NotSignedIn),
        Err(_) => return request.message(Message::Unavailable),
    };
    let line = |passkey: &Passkey| PasskeyLine { id: passkey.reference(), name: passkey.name.clone() };
    let step = Step::Passkeys { passkeys: passkeys.iter().map(line).collect() };
    user.page::<NewPasskey>(request, step, None, None, error)
}

/// The password was given: a page that asks for the new passkey.
async fn begin(request: &BrowserRequest<'_>, user: &SignedIn<'_>) -> Answer {
    let field = |name: &str| request.parameters.get(name).unwrap_or_default();
    let name = field("name").to_owned();
    if !is_passkey_name(&name) {
        return list(request, user, Some(PageError::PasskeyName)).await;
    }
    match user.accounts.begin_passkey(user.holder(request), field("password")).await {
        Ok(begun) => {
            let new = Some(NewPasskey { ticket: begun.ticket, name });
            user.page(request, Step::NewPasskey, new, Some(begun.public_key.to_string()), None)
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
    user.accounts.confirm_passkey(user.holder(request), ticket, credential, name).await.map(drop)
}

async fn remove(request: &BrowserRequest<'_>, user: &SignedIn<'_>, id: &str) -> Result<(), AccountFailed> {
    let password = request.parameters.get("password").unwrap_or_default();
    user.accounts.remove_own_passkey(user.holder(request), id, password).await
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
