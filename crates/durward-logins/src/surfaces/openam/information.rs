//! `json/serverinfo`: what clients ask of a server before anybody logs in; and `json/users?_action=idFromSession`: who has a token.

use durward_common::surfaces::http::Answer;
use durward_session::Failed;
use durward_session::identity::session::Purpose;
use hyper::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Call;
use super::answers::{self, Refusal, of_version};
use super::resource::{Operation, Request, cannot_be, narrowed, not_supported};
use super::session_actions::universal_id;

/// Answers one request for what there is to know of the server.
pub(super) async fn server(call: &Call<'_>, realm: &str, instance: &[&str], request: &Request) -> Answer {
    match request.operation {
        Operation::Read => {}
        Operation::Action(_)
        | Operation::Query(_)
        | Operation::Create
        | Operation::Update
        | Operation::Delete
        | Operation::Patch => {
            return match authenticated(call).await {
                Ok(()) => of_version(not_supported().into_answer(), "resource=1.1"),
                Err(refusal) => refusal.into_answer(),
            };
        }
    }
    let domains: Vec<&str> =
        [call.settings.cookie_domain.as_str()].into_iter().filter(|domain| !domain.is_empty()).collect();
    let known = match instance {
        [] => Err(cannot_be("collection", "read")),
        ["cookieDomains"] => Ok(json!({"_id": "cookieDomains", "domains": domains})),
        ["*"] => Ok(all(call, realm, &domains)),
        ["version"] => Ok(version()),
        other => {
            let message = format!("ResourceId not supported: {}", other.join("/"));
            Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, message))
        }
    };
    if call.api_version.among(&[(1, 1)]).is_none() {
        return Refusal::no_resource(&instance.join("/")).into_answer();
    }
    let answer = match known {
        Ok(known) => answers::json(&narrowed(call, revised(known))),
        Err(refusal) => refusal.into_answer(),
    };
    of_version(answer, "resource=1.1")
}

/// Of this server: it answers as OpenAM does, and is none.
fn version() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "_id": "version",
        "version": version,
        "fullVersion": format!("durward {version}"),
        "revision": version,
        "date": "",
    })
}

/// What is not here is said to be switched off.
fn all(call: &Call<'_>, realm: &str, domains: &[&str]) -> Value {
    let settings = call.settings;
    json!({
        "_id": "*",
        "domains": domains,
        "protectedUserAttributes": [],
        "cookieName": settings.cookie_name,
        "secureCookie": settings.cookie_secure,
        "cookieSameSite": settings.cookie_same_site.word(),
        "forgotPassword": "false",
        "forgotUsername": "false",
        "kbaEnabled": "false",
        "selfRegistration": "false",
        "lang": "en-US",
        "successfulUserRegistrationDestination": "default",
        "socialImplementations": [],
        "referralsEnabled": "false",
        "zeroPageLogin": {"enabled": false, "refererWhitelist": [], "allowedWithoutReferer": true},
        "realm": realm,
        "xuiUserSessionValidationEnabled": true,
    })
}

/// With `_rev` after `_id`: the same for the same content.
pub(super) fn revised(known: Value) -> Value {
    let digest: [u8; 32] = Sha256::digest(known.to_string()).into();
    let [one, two, three, four, ..] = digest;
    let revision = i32::from_be_bytes([one, two, three, four]).to_string();
    let Value::Object(fields) = known else { return known };
    let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
    fields.insert(1.min(fields.len()), ("_rev".to_owned(), revision.into()));
    Value::Object(fields.into_iter().collect())
}

async fn authenticated(call: &Call<'_>) -> Result<(), Refusal> {
    let token = call.token().ok_or_else(Refusal::denied)?;
    let done = call.service.validate(token, Purpose::Look).await;
    done.map(drop).map_err(|refusal| Failed::from(refusal).into())
}

/// Answers one request for users, of whom nothing is said but who has a token.
pub(super) async fn user(call: &Call<'_>, request: &Request) -> Answer {
    let is_asked =
        matches!(&request.operation, Operation::Action(name) if name.eq_ignore_ascii_case("idFromSession"));
    if !is_asked {
        return Refusal::no_resource("users").into_answer();
    }
    match id_from_session(call).await {
        Ok(answer) => answer,
        Err(refusal) => refusal.into_answer(),
    }
}

async fn id_from_session(call: &Call<'_>) -> Result<Answer, Refusal> {
    let token = call.token().ok_or_else(Refusal::denied)?;
    let who = call.service.validate(token, Purpose::Look).await.map_err(Failed::from)?;
    let version = match call.api_version.among(&[(1, 2), (2, 1), (3, 0)]) {
        Some((1, _)) => "resource=1.2",
        Some((2, _)) => "resource=2.1",
        Some(_) => "resource=3.0",
        None => return Err(Refusal::no_resource("")),
    };
    let (realm, path) = (who.user.realm(), &call.settings.path);
    let answer = answers::json(&json!({
        "id": who.user.subject(),
        "realm": realm,
        "dn": universal_id(&who.user, &call.settings.root_suffix),
        "successURL": call.settings.success_url,
        "fullLoginURL": format!("{path}/UI/Login?realm={}", realm.replace('/', "%2F")),
    }));
    Ok(of_version(answer, version))
}
