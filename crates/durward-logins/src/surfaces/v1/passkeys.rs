//! Passkeys over JSON: logins with them, and how users and administrators look after them.

use durward_common::surfaces::http::problem::Problem;
use durward_session::identity::Moment;
use durward_session::identity::passkey::Passkey;
use durward_session::identity::session::Properties;
use durward_session::{Failed, PasskeyAnswer, PasskeyRequest, Refused};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::admin::administrator;
use super::login::told;
use super::own::{holder, without_session};
use super::sessions::Done;
use super::users::{no_parameters, of_account};
use super::{Answered, ApiRequest, GrantedView, failed, in_words, json, ok, refused, user};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeginBody {
    /// Of a login whose password was right.
    #[serde(default)]
    challenge: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    ticket: String,
    credential: Value,
    #[serde(default)]
    cookie: bool,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    ticket: String,
    credential: Value,
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
    ticket: String,
    credential: Value,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameBody {
    id: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RemoveBody {
    id: String,
    password: String,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhoseBody {
    user: String,
    #[serde(default = "super::root")]
    realm: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LostBody {
    user: String,
    #[serde(default = "super::root")]
    realm: String,
    /// One of them; all where it is left out.
    #[serde(default)]
    id: Option<String>,
}

#[derive(Serialize)]
struct RequestView<'r> {
    ticket: &'r str,
    public_key: &'r Value,
    until: String,
}

#[derive(Serialize)]
struct PasskeyView<'p> {
    id: String,
    name: &'p str,
    added: String,
    algorithm: &'static str,
    /// Whether it may be on several devices.
    synced: bool,
}

#[derive(Serialize)]
struct ListView<'l> {
    passkeys: Vec<PasskeyView<'l>>,
}

#[derive(Serialize)]
struct RemovedView {
    removed: usize,
}

impl<'p> From<&'p Passkey> for PasskeyView<'p> {
    fn from(passkey: &'p Passkey) -> PasskeyView<'p> {
        PasskeyView {
            id: passkey.reference(),
            name: &passkey.name,
            added: in_words(Moment::from_ms(passkey.added_ms)),
            algorithm: passkey.algorithm(),
            synced: passkey.is_backup_eligible(),
        }
    }
}

fn view(request: &PasskeyRequest) -> Answered {
    let PasskeyRequest { ticket, public_key, until, .. } = request;
    ok(&RequestView { ticket, public_key, until: in_words(*until) })
}

fn list(passkeys: &[Passkey]) -> Answered {
    ok(&ListView { passkeys: passkeys.iter().map(PasskeyView::from).collect() })
}

fn none() -> Problem {
    Problem::new(StatusCode::CONFLICT, "there is no passkey for this: see `[identity.passkeys]`")
}

/// For a login with a passkey alone, or for its second step.
pub(super) async fn begin_login(request: &ApiRequest<'_>) -> Answered {
    let BeginBody { challenge } = request.read()?;
    let begun = match &challenge {
        None => request.service.begin_passkey_login(),
        Some(challenge) => request.service.begin_passkey_step(challenge),
    };
    let begun = begun.map_err(|error| refused(&Refused::Directory(error)))?;
    view(&begun.ok_or_else(none)?)
}

pub(super) async fn login(request: &ApiRequest<'_>) -> Answered {
    let LoginBody { ticket, credential, cookie, device } = request.read()?;
    let answer = answer(request, ticket, &credential, request.device(device.as_deref()));
    told(request, request.service.login_with_passkey(answer).await, cookie)
}

fn answer(
    request: &ApiRequest<'_>,
    ticket: String,
    credential: &Value,
    device: Option<&str>,
) -> PasskeyAnswer {
    PasskeyAnswer {
        ticket,
        credential: credential.to_string(),
        address: request.call.client.ip(),
        properties: Properties::new(),
        device: device.map(str::to_owned),
    }
}

pub(super) async fn begin_step_up(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let begun = request.service.begin_passkey_step_up(request.token()?).await;
    view(&begun.map_err(|why| failed(&why))?.ok_or_else(none)?)
}

pub(super) async fn step_up(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let AnswerBody { ticket, credential } = request.read()?;
    let (token, way) = request.shown()?;
    let answer = answer(request, ticket, &credential, None);
    let granted = request.service.step_up_with_passkey(token, answer).await;
    let refused = |why: Failed| match why == Failed::Code {
        true => Problem::new(StatusCode::FORBIDDEN, "the passkey is not accepted; begin again"),
        false => failed(&why),
    };
    let granted = granted.map_err(refused)?;
    request.with_cookie(json(StatusCode::OK, &GrantedView::from(&granted)), way, &granted)
}

pub(super) async fn own(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let passkeys = request.service.accounts().own_passkeys(request.token()?).await;
    list(&passkeys.map_err(|why| of_account(&why))?)
}

pub(super) async fn enrol(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let EnrolBody { password, device } = request.read()?;
    let holder = holder(request, request.token()?, device.as_deref());
    let begun = request.service.accounts().begin_passkey(holder, &password).await;
    view(&begun.map_err(|why| of_account(&why))?)
}

pub(super) async fn confirm(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let ConfirmBody { ticket, credential, name } = request.read()?;
    let (token, way) = request.shown()?;
    let accounts = request.service.accounts();
    let holder = holder(request, token, None);
    let confirmed = accounts.confirm_passkey(holder, &ticket, &credential.to_string(), &name).await;
    let passkey = confirmed.map_err(|why| of_account(&why))?;
    without_session(request, way, json(StatusCode::OK, &PasskeyView::from(&passkey)))
}

pub(super) async fn rename(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let RenameBody { id, name } = request.read()?;
    let renamed = request.service.accounts().rename_own_passkey(request.token()?, &id, &name).await;
    renamed.map_err(|why| of_account(&why))?;
    ok(&Done { done: true })
}

pub(super) async fn remove(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let RemoveBody { id, password, device } = request.read()?;
    let (token, way) = request.shown()?;
    let holder = holder(request, token, device.as_deref());
    let removed = request.service.accounts().remove_own_passkey(holder, &id, &password).await;
    removed.map_err(|why| of_account(&why))?;
    without_session(request, way, json(StatusCode::OK, &Done { done: true }))
}

pub(super) async fn admin_list(request: &ApiRequest<'_>) -> Answered {
    let WhoseBody { user: name, realm } = request.read()?;
    let by = administrator(request).await?;
    let passkeys = request.service.accounts().passkeys_of(&by, &user(&realm, &name)?).await;
    list(&passkeys.map_err(|why| of_account(&why))?)
}

pub(super) async fn admin_remove(request: &ApiRequest<'_>) -> Answered {
    let LostBody { user: name, realm, id } = request.read()?;
    let by = administrator(request).await?;
    let whose = user(&realm, &name)?;
    let removed = request.service.accounts().remove_passkeys(&by, &whose, id.as_deref()).await;
    ok(&RemovedView { removed: removed.map_err(|why| of_account(&why))? })
}
