//! Logging in: with a password, and with a code where there is a second step.

use std::collections::BTreeMap;

use durward_common::surfaces::http::cookies;
use durward_common::surfaces::http::problem::Problem;
use durward_session::identity::session::Properties;
use durward_session::{Granted, Login, LoginRequest, Refused, Wanted};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde::{Deserialize, Serialize};

use super::{Answered, ApiRequest, GrantedView, json, refused};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    user: String,
    password: String,
    #[serde(default = "super::root")]
    realm: String,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    cookie: bool,
    #[serde(default)]
    device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeBody {
    challenge: String,
    code: String,
    #[serde(default)]
    cookie: bool,
    #[serde(default)]
    device: Option<String>,
}

/// A session and what the directory knows of its user.
#[derive(Serialize)]
struct View<'v> {
    #[serde(flatten)]
    granted: GrantedView<'v>,
    groups: &'v [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: &'v BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'v str>,
}

#[derive(Serialize)]
struct Challenge<'c> {
    challenge: &'c str,
}

pub(super) async fn login(request: &ApiRequest<'_>) -> Answered {
    let Body { user, password, realm, code, cookie, device } = request.read()?;
    let login_request = LoginRequest {
        realm,
        user,
        password,
        code,
        address: request.call.client.ip(),
        properties: Properties::new(),
        wanted: Wanted::Session,
        device: request.device(device.as_deref()).map(str::to_owned),
    };
    told(request, request.service.login(login_request).await, cookie)
}

pub(super) async fn code(request: &ApiRequest<'_>) -> Answered {
    let CodeBody { challenge, code, cookie, device } = request.read()?;
    let address = request.call.client.ip();
    let device = request.device(device.as_deref());
    let login =
        request.service.answer_challenge_on(device, &challenge, &code, address, Properties::new()).await;
    told(request, login, cookie)
}

pub(super) fn told(request: &ApiRequest<'_>, login: Result<Login, Refused>, sets_cookie: bool) -> Answered {
    match login {
        Ok(Login::Granted(granted, account)) => {
            let view = View {
                granted: GrantedView::from(&granted),
                groups: &account.groups,
                attributes: &account.attributes,
                device: granted.device.as_deref(),
            };
            let mut answer = json(StatusCode::OK, &view);
            if sets_cookie {
                answer.headers_mut().append(header::SET_COOKIE, cookie(request, &granted)?);
                let kept_for = request.service.settings().session.devices_max;
                let device = granted.device.as_deref();
                cookies::keep_device(&mut answer, device, kept_for, request.cookie.is_secure);
            }
            Ok(answer)
        }
        Ok(Login::CodeNeeded(challenge)) => {
            Ok(json(StatusCode::ACCEPTED, &Challenge { challenge: &challenge }))
        }
        Ok(Login::PasswordChangeNeeded(change)) => Ok(super::password_change::needed(request, &change)),
        Ok(Login::Recognized(_)) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "no session")),
        Err(why) => Err(refused(&why)),
    }
}

/// The cookie that carries a token.
pub(super) fn cookie(request: &ApiRequest<'_>, granted: &Granted) -> Result<HeaderValue, Problem> {
    let secure = if request.cookie.is_secure { "; Secure" } else { "" };
    let name = &request.cookie.name;
    let text = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict{secure}", granted.token);
    HeaderValue::try_from(text)
        .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the cookie cannot be set"))
}
