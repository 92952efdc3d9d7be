//! Second steps of users who have lost their device, for administrators: also of users in other directories.

use serde::Deserialize;

use super::admin::administrator;
use super::own::SecondStepView;
use super::sessions::Done;
use super::users::{no_parameters, of_account};
use super::{Answered, ApiRequest, ok, user};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhoseBody {
    user: String,
    #[serde(default = "super::root")]
    realm: String,
}

pub(super) async fn second_step(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let WhoseBody { user: name, realm } = request.read()?;
    let by = administrator(request).await?;
    let left = request.service.accounts().second_step_of(&by, &user(&realm, &name)?).await;
    ok(&SecondStepView::of(left.map_err(|why| of_account(&why))?))
}

pub(super) async fn remove(request: &ApiRequest<'_>) -> Answered {
    no_parameters(request)?;
    let WhoseBody { user: name, realm } = request.read()?;
    let by = administrator(request).await?;
    let removed = request.service.accounts().remove_second_step_of(&by, &user(&realm, &name)?).await;
    removed.map_err(|why| of_account(&why))?;
    ok(&Done { done: true })
}
