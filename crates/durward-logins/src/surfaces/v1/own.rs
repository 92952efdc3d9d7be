//! What users change of their own account: the password, and the second step.

use durward_common::surfaces::http::Answer;
use durward_session::AccountHolder;
use hyper::StatusCode;
use hyper::header;
use serde::{Deserialize, Serialize};

use super::sessions::{Done, no_cookie};
use super::users::{no_parameters, of_account};
use super::{Answered, ApiRequest, Way, in_words, json, ok};

/// What devices call codes of this server.
const ISSUER: &str = "durward";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PasswordBody {
    old_password: String,
    new_password: String,
    /// Of the second step.
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnrolBody {
    password: String,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfirmBody {
    enrolment: String,
    code: String,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeBody {
    code: String,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Serialize)]
pub(super) struct SecondStepView {
    second_step: bool,
    recovery_codes_left: usize,
}

impl SecondStepView {
    /// By how many recovery codes are left, where there is a second step.
    pub(super) fn of(left: Option<usize>) -> SecondStepView {
        SecondStepView { second_step: left.is_some(), recovery_codes_left: left.unwrap_or_default() }
    }
}

#[derive(Serialize)]
struct EnrolmentView<'e> {
    enrolment: &'e str,
    /// For people who type it.
    secret: String,
    /// For a picture that a device reads.
    uri: String,
    until: String,
}

#[derive(Serialize)]
struct RecoveryView {
    recovery_codes: Vec<String>,
}

pub(super) async fn password(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let PasswordBody { old_password, new_password, code, device } = request.read()?;
    let (token, way) = request.shown()?;
    let accounts = request.service.accounts();
    let holder = holder(request, token, device.as_deref());
    let changed = accounts.change_own_password(holder, &old_password, &new_password, code.as_deref()).await;
    changed.map_err(|why| of_account(&why))?;
    without_session(request, way, json(StatusCode::OK, &Done { done: true }))
}

pub(super) fn holder<'h>(
    request: &'h ApiRequest<'_>,
    token: &'h str,
    device: Option<&'h str>,
) -> AccountHolder<'h> {
    AccountHolder { token, device: request.device(device), address: request.call.client.ip() }
}

/// The answer to a change that ended the session it was made with.
pub(super) fn without_session(request: &ApiRequest<'_>, way: Way, mut answer: Answer) -> Answered {
    if way == Way::Cookie {
        answer.headers_mut().append(header::SET_COOKIE, no_cookie(request)?);
    }
    Ok(answer)
}

pub(super) async fn second_step(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let account = request.service.accounts().own(request.token()?).await.map_err(|why| of_account(&why))?;
    ok(&SecondStepView::of(account.second_step.as_ref().map(|second| second.recovery.left())))
}

pub(super) async fn enrol(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let EnrolBody { password, device } = request.read()?;
    let accounts = request.service.accounts();
    let begun =
        accounts.begin_second_step(holder(request, request.token()?, device.as_deref()), &password).await;
    let begun = begun.map_err(|why| of_account(&why))?;
    ok(&EnrolmentView {
        enrolment: &begun.enrolment,
        secret: begun.totp.secret_text(),
        uri: begun.totp.to_uri(ISSUER, begun.user.subject()),
        until: in_words(begun.until),
    })
}

pub(super) async fn confirm(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let ConfirmBody { enrolment, code, device } = request.read()?;
    let accounts = request.service.accounts();
    let (token, way) = request.shown()?;
    let holder = holder(request, token, device.as_deref());
    let confirmed = accounts.confirm_second_step(holder, &enrolment, &code).await;
    let recovery_codes = confirmed.map_err(|why| of_account(&why))?;
    without_session(request, way, json(StatusCode::OK, &RecoveryView { recovery_codes }))
}

pub(super) async fn remove(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let CodeBody { code, device } = request.read()?;
    let accounts = request.service.accounts();
    let (token, way) = request.shown()?;
    let removed = accounts.remove_second_step(holder(request, token, device.as_deref()), &code).await;
    removed.map_err(|why| of_account(&why))?;
    without_session(request, way, json(StatusCode::OK, &Done { done: true }))
}
