//! What administrators do: their session's token shows that they are.

use durward_common::surfaces::http::NOT_HERE;
use durward_common::surfaces::http::problem::Problem;
use durward_session::Administrator;
use durward_settings::ListenSurface;
use hyper::StatusCode;
use serde::Deserialize;

use super::sessions::{Done, SessionList, SessionView};
use super::{Answered, ApiRequest, failed, ok, session_id, user};

/// Whose sessions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhoseBody {
    #[serde(default = "super::root")]
    realm: String,
    user: String,
}

/// One session of a user, all of a user, or all of everybody.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevokeBody {
    #[serde(default = "super::root")]
    realm: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    everybody: bool,
}

/// The administrator who calls, where their calls are answered at all: what the owner of a session may do too is on other listeners besides.
pub(super) async fn administrator(request: &ApiRequest<'_>) -> Result<Administrator, Problem> {
    if !request.call.surfaces.has(ListenSurface::Administration) {
        return Err(Problem::new(StatusCode::NOT_FOUND, NOT_HERE));
    }
    request.service.administrator(request.token()?).await.map_err(|why| failed(&why))
}

pub(super) async fn sessions(request: &ApiRequest<'_>) -> Answered {
    let WhoseBody { realm, user: name } = request.read()?;
    let by = administrator(request).await?;
    let whose = user(&realm, &name)?;
    let sessions = request.service.sessions_of(&by, &whose).await.map_err(|why| failed(&why))?;
    let sessions = sessions.iter().map(SessionView::from).collect();
    ok(&SessionList { user: &name, realm: &realm, sessions })
}

pub(super) async fn revoke(request: &ApiRequest<'_>) -> Answered {
    let RevokeBody { realm, user: name, session, everybody } = request.read()?;
    let by = administrator(request).await?;
    let done = match (name, session, everybody) {
        (None, None, true) => request.service.revoke_all(&by).await,
        (Some(name), None, false) => request.service.revoke_user(&by, &user(&realm, &name)?).await,
        (Some(name), Some(id), false) => {
            request.service.revoke(&by, &user(&realm, &name)?, session_id(&id)?).await
        }
        (..) => {
            let detail = "name a `user`, a `user` and one `session`, or `everybody`";
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
    };
    done.map_err(|why| failed(&why))?;
    ok(&Done { done: true })
}

pub(super) async fn forgive(request: &ApiRequest<'_>) -> Answered {
    let WhoseBody { realm, user: name } = request.read()?;
    let by = administrator(request).await?;
    request.service.forgive(&by, &user(&realm, &name)?).await.map_err(|why| failed(&why))?;
    ok(&Done { done: true })
}

pub(super) async fn rotate(request: &ApiRequest<'_>) -> Answered {
    let by = administrator(request).await?;
    request.service.rotate_keys(&by).await.map_err(|why| failed(&why))?;
    ok(&Done { done: true })
}
