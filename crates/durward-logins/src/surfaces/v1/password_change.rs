//! A login whose password must be changed: what is answered, and the call that brings another one.

use durward_common::surfaces::http::Answer;
use durward_common::surfaces::http::problem::Problem;
use durward_session::{AccountFailed, PasswordChoice};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use super::users::of_account;
use super::{Answered, ApiRequest, json, login};

/// What a new password must be.
#[derive(Serialize)]
struct RulesView {
    length_min: usize,
    refuses_breached: bool,
}

/// There is no session before another password is chosen.
#[derive(Serialize)]
struct NeededView<'n> {
    password_change: &'n str,
    rules: RulesView,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    password_change: String,
    new_password: String,
    #[serde(default)]
    cookie: bool,
    #[serde(default)]
    device: Option<String>,
}

/// The answer to a login whose password must be changed.
pub(super) fn needed(request: &ApiRequest<'_>, change: &str) -> Answer {
    let rules = RulesView {
        length_min: request.passwords.length_min,
        refuses_breached: request.passwords.refuses_breached,
    };
    json(StatusCode::ACCEPTED, &NeededView { password_change: change, rules })
}

pub(super) async fn choose(request: &ApiRequest<'_>) -> Answered {
    let Body { password_change, new_password, cookie, device } = request.read()?;
    let choice = PasswordChoice {
        device: request.device(device.as_deref()).map(str::to_owned),
        ..PasswordChoice::new(&password_change, &new_password, request.call.client.ip())
    };
    match request.service.choose_password(choice).await {
        Ok(login) => login::told(request, Ok(login), cookie),
        Err(AccountFailed::Refused(refused)) => Err(super::refused(&refused)),
        Err(why) => Err::<Answer, Problem>(of_account(&why)),
    }
}
