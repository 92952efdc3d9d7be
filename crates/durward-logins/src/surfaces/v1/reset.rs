//! Links by which users choose a password, made by administrators, who hand them over themselves.

use std::time::Duration;

use durward_common::surfaces::http::problem::Problem;
use hyper::StatusCode;
use serde::Serialize;

use super::admin::administrator;
use super::users::{named_before, of_account};
use super::{Answered, ApiRequest, in_words, ok};

/// What the path ends with, behind the user's name.
const PATH_END: &str = "/reset";

/// A link, shown only now.
#[derive(Serialize)]
struct LinkView {
    link: String,
    until: String,
}

pub(super) async fn link(request: &ApiRequest<'_>) -> Answered {
    let whose = named_before(request, PATH_END)?;
    let by = administrator(request).await?;
    let links = &request.passwords.links;
    if !links.is_on() {
        let detail = "there are no links here: see `[identity.reset]`";
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    let lifetime = Duration::from_secs(links.lifetime_s);
    let made = request.service.accounts().reset_link(&by, &whose, lifetime).await;
    let made = made.map_err(|why| of_account(&why))?;
    ok(&LinkView { link: links.link_with(&made.token), until: in_words(made.until) })
}
