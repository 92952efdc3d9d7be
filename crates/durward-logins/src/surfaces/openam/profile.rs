//! `json/users/{id}`: what is known of a user, to the user and to administrators.

use durward_common::surfaces::http::Answer;
use durward_session::Failed;
use durward_session::identity::session::{Purpose, User};
use durward_session::identity::user::Account;
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::Call;
use super::answers::{self, Refusal, of_version};
use super::information::revised;
use super::resource::{Operation, Request, narrowed, not_supported};
use super::session_actions::universal_id;

/// Answers one request for a user of a realm.
pub(super) async fn answer(call: &Call<'_>, realm: &str, name: &str, request: &Request) -> Answer {
    match answered(call, realm, name, request).await {
        Ok(answer) => answer,
        Err(refusal) => refusal.into_answer(),
    }
}

async fn answered(call: &Call<'_>, realm: &str, name: &str, request: &Request) -> Result<Answer, Refusal> {
    let version = match call.api_version.among(&[(1, 2), (2, 1), (3, 0)]) {
        Some((1, _)) => "resource=1.2",
        Some((2, _)) => "resource=2.1",
        Some(_) => "resource=3.0",
        None => return Err(Refusal::no_resource(name)),
    };
    let refused = match &request.operation {
        Operation::Read => None,
        Operation::Action(name) => {
            let message = format!("{name} not supported for resource instances");
            Some(Refusal::new(StatusCode::NOT_IMPLEMENTED, message))
        }
        Operation::Query(_)
        | Operation::Create
        | Operation::Update
        | Operation::Delete
        | Operation::Patch => Some(not_supported()),
    };
    if let Some(refused) = refused {
        let token = call.token().ok_or_else(Refusal::denied)?;
        call.service.validate(token, Purpose::Look).await.map_err(Failed::from)?;
        return Ok(of_version(refused.into_answer(), version));
    }
    let account = readable(call, realm, name).await?.ok_or_else(|| Refusal::no_resource(name))?;
    let user = account.user().map_err(|_| Refusal::no_resource(name))?;
    let profile = profile(account, &user, &call.settings.root_suffix);
    Ok(of_version(answers::json(&narrowed(call, revised(profile))), version))
}

/// The account, to whoever it is and to those who administer the realm. To others, nobody says whether there is one.
async fn readable(call: &Call<'_>, realm: &str, name: &str) -> Result<Option<Account>, Refusal> {
    let token = call.token().ok_or_else(Refusal::denied)?;
    let who = call.service.validate(token, Purpose::Look).await.map_err(Failed::from)?;
    let is_own = (who.user.realm(), who.user.subject()) == (realm, name);
    if !is_own && !call.administrator(token).await?.may(realm) {
        return Err(Refusal::forbidden());
    }
    let Ok(user) = User::new(realm, name) else { return Ok(None) };
    Ok(call.service.account(&user).await?)
}

/// What the directory has, never what the user proves themselves by; the names that OpenAM makes itself come first.
fn profile(account: Account, user: &User, root_suffix: &str) -> Value {
    let universal = universal_id(user, root_suffix);
    let status = if account.disabled { "Inactive" } else { "Active" };
    let made = json!({
        "_id": user.subject(),
        "username": user.subject(),
        "realm": user.realm(),
        "uid": [user.subject()],
        "universalid": [universal],
        "inetUserStatus": [status],
        "dn": [universal],
    });
    let Value::Object(mut profile) = made else { return made };
    let known: Map<String, Value> = account
        .attributes
        .into_iter()
        .filter(|(name, _)| {
            let is_made = profile.keys().any(|known| known.eq_ignore_ascii_case(name));
            !is_made && !name.eq_ignore_ascii_case("userPassword")
        })
        .map(|(name, values)| (name, values.into()))
        .collect();
    profile.extend(known);
    if !account.groups.is_empty() {
        let groups = account.groups.iter().map(|group| format!("id={group},ou=group,{root_suffix}"));
        profile.insert("isMemberOf".to_owned(), groups.collect::<Vec<_>>().into());
    }
    Value::Object(profile)
}
