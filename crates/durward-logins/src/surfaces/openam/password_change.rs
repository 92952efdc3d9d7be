//! Another password in the place of one that must be changed: callbacks that are asked after the password, or after the code.

use durward_common::surfaces::http::cookies;
use durward_session::{AccountFailed, Login, PasswordChoice, Refused};
use hyper::StatusCode;
use serde_json::Value;

use super::Call;
use super::answers::Refusal;
use super::callbacks::{Step, filled};

/// What came of the new password that was filled in. A refusal other than 401 leaves the `authId` good, so that the user can try another one.
pub(super) async fn choose(
    call: &Call<'_>,
    change: &str,
    callbacks: &Value,
) -> Result<Result<Login, Refused>, Refusal> {
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
    let filled = filled(Step::NewPassword, callbacks).map_err(|why| bad(why.to_owned()))?;
    let [password, again] = filled.as_slice() else {
        return Err(bad("Incorrect number of callbacks found in JSON response".to_owned()));
    };
    if password != again {
        return Err(bad("The new password and the confirm password are not the same".to_owned()));
    }
    let choice = PasswordChoice {
        device: cookies::device(&call.head.headers).map(str::to_owned),
        ..PasswordChoice::new(change, password, call.client)
    };
    match call.service.choose_password(choice).await {
        Ok(login) => Ok(Ok(login)),
        Err(AccountFailed::Refused(refused)) => Ok(Err(refused)),
        Err(AccountFailed::Failed(failed)) => Err(failed.into()),
        Err(why) => Err(bad(why.to_string())),
    }
}
