//! `json/{realm}/sessions`: who may do what with which session, in the order in which OpenAM looks at it. What is done is in
//! [`super::session_actions`].

use durward_common::surfaces::http::Answer;
use durward_session::identity::session::{Purpose, Refusal as TokenRefusal, User};
use durward_session::{Administrator, Failed, Who};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::Call;
use super::answers::{self, Refusal, of_version};
use super::filter::Filter;
use super::resource::{Operation, Request, Wanted, cannot_be, list, narrowed, not_supported};
use super::session_actions::{Action, Target, act, described};
use super::version::Flavour;

/// Most sessions that one query lists, as OpenAM has it.
const LISTED_MAX: usize = 120;

/// A refusal, and whether a version of the resource has come to it.
struct Refused {
    refusal: Refusal,
    by: Option<Flavour>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { refusal, by: None }
    }
}

impl From<Failed> for Refused {
    fn from(failed: Failed) -> Refused {
        Refusal::from(failed).into()
    }
}

impl Refused {
    fn by(flavour: Flavour, refusal: Refusal) -> Refused {
        Refused { refusal, by: Some(flavour) }
    }
}

fn version_of(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::One => "resource=1.2",
        Flavour::Two => "resource=2.0",
    }
}

/// Answers one request, for all sessions or for the one with a token.
pub(super) async fn answer(call: &Call<'_>, instance: &[&str], request: Request) -> Answer {
    match answered(call, instance, request).await {
        Ok((body, flavour)) => of_version(body, version_of(flavour)),
        Err(Refused { refusal, by: Some(flavour) }) => of_version(refusal.into_answer(), version_of(flavour)),
        Err(Refused { refusal, by: None }) => refusal.into_answer(),
    }
}

async fn answered(
    call: &Call<'_>,
    instance: &[&str],
    request: Request,
) -> Result<(Answer, Flavour), Refused> {
    let is_instance = !instance.is_empty();
    let refusal = match request.operation {
        Operation::Action(name) => return action(call, &name, instance, &request.content).await,
        Operation::Query(wanted) => {
            let caller = administrator(call).await?;
            let flavour = flavour(call)?;
            let answer = if is_instance {
                Err(cannot_be("instance", "queried"))
            } else {
                query(call, flavour, &caller, &wanted).await
            };
            return answer.map(|answer| (answer, flavour)).map_err(|refusal| Refused::by(flavour, refusal));
        }
        // Whoever has a session may hear that there is nothing to read.
        Operation::Read => {
            authenticated(call).await?;
            return Err(Refused::by(
                flavour(call)?,
                if is_instance { not_supported() } else { cannot_be("collection", "read") },
            ));
        }
        // It would be a new one, whose name is yet to come.
        Operation::Update if !is_instance => return Err(Refusal::no_resource("").into()),
        Operation::Create if is_instance => cannot_be("instance", "created"),
        Operation::Delete if !is_instance => cannot_be("collection", "deleted"),
        Operation::Patch if !is_instance => cannot_be("collection", "patched"),
        Operation::Create | Operation::Update | Operation::Delete | Operation::Patch => not_supported(),
    };
    administrator(call).await?;
    Err(Refused::by(flavour(call)?, refusal))
}

fn flavour(call: &Call<'_>) -> Result<Flavour, Refusal> {
    call.api_version.served(2, 0).ok_or_else(|| Refusal::no_resource(""))
}

async fn action(
    call: &Call<'_>,
    name: &str,
    instance: &[&str],
    content: &Value,
) -> Result<(Answer, Flavour), Refused> {
    let action = Action::find(name);
    let path_token = instance.first().copied();
    let named = path_token.or_else(|| call.query.get("tokenId"));
    // Whoever has a token may ask whether it is good: he need not be anybody besides.
    let administrator = match action {
        Some(Action::Validate) => None,
        _ => authorized(call, action, named).await?,
    };
    let flavour = flavour(call)?;
    let by = |refusal: Refusal| Refused::by(flavour, refusal);
    if instance.len() > 1 {
        return Err(by(Refusal::no_resource(&instance.join("/"))));
    }
    if path_token.is_some() && flavour == Flavour::Two {
        return Err(by(not_supported()));
    }
    let Some(token) = named.or_else(|| call.token()) else {
        let message = "iPlanetDirectoryCookie not set on request";
        return Err(by(Refusal::new(StatusCode::BAD_REQUEST, message)));
    };
    let Some(action) = action.filter(|action| action.is_of(flavour)) else {
        let message = format!("Action {name} not implemented for this resource");
        return Err(by(Refusal::new(StatusCode::NOT_IMPLEMENTED, message)));
    };
    let target = Target { token, administrator: administrator.as_ref() };
    match act(call, action, &target, content).await {
        Ok(body) => Ok((answers::json(&body), flavour)),
        Err(refusal) => Err(by(refusal)),
    }
}

/// Lets whoever calls do this with that session: some things with his own, everything as an administrator, who is given then.
async fn authorized(
    call: &Call<'_>,
    action: Option<Action>,
    named: Option<&str>,
) -> Result<Option<Administrator>, Refusal> {
    let who = authenticated(call).await?;
    let is_enough = match action {
        // Who has a token may end its session.
        Some(Action::Logout) => true,
        Some(action) if action.is_for_owner() => match named {
            None => true,
            Some(token) => is_owner(call, &who, token).await?,
        },
        Some(_) | None => false,
    };
    if is_enough { Ok(None) } else { administering(call).await.map(Some) }
}

/// Whose token comes with the call.
async fn authenticated(call: &Call<'_>) -> Result<Who, Refusal> {
    let token = call.token().ok_or_else(Refusal::denied)?;
    call.service.validate(token, Purpose::Look).await.map_err(|refusal| Failed::from(refusal).into())
}

async fn is_owner(call: &Call<'_>, who: &Who, token: &str) -> Result<bool, Refusal> {
    match call.service.validate(token, Purpose::Look).await {
        Ok(other) => Ok(other.user == who.user),
        Err(refusal @ TokenRefusal::Unavailable) => Err(Failed::from(refusal).into()),
        Err(_) => Ok(false),
    }
}

async fn administering(call: &Call<'_>) -> Result<Administrator, Refusal> {
    let token = call.token().ok_or_else(Refusal::denied)?;
    call.administrator(token).await
}

async fn administrator(call: &Call<'_>) -> Result<Administrator, Refusal> {
    authenticated(call).await?;
    administering(call).await
}

/// Lists sessions: those that this node knows of.
async fn query(
    call: &Call<'_>,
    flavour: Flavour,
    by: &Administrator,
    wanted: &Wanted,
) -> Result<Answer, Refusal> {
    let rows = match (flavour, wanted) {
        (Flavour::One, Wanted::Named(name)) if name == "all" => all(call, by),
        (Flavour::One, Wanted::Named(name)) if name == "list" => return Err(not_supported()),
        // OpenAM asks servers of these names, and there are none.
        (Flavour::One, Wanted::Named(_) | Wanted::Filtered(_) | Wanted::Expression) => Vec::new(),
        (Flavour::Two, Wanted::Filtered(filter)) => filtered(call, by, filter).await?,
        (Flavour::Two, Wanted::Named(_) | Wanted::Expression) => return Err(not_supported()),
    };
    Ok(list(rows.into_iter().map(|row| narrowed(call, row)).collect()))
}

fn all(call: &Call<'_>, by: &Administrator) -> Vec<Value> {
    let now = call.service.now();
    let listed = call.service.some_sessions(by, LISTED_MAX);
    let row = |(user, session): &(User, _)| {
        let session: &durward_session::identity::session::Session = session;
        let minutes = session.ends.since(now).as_secs() / 60;
        json!({"_id": "Sessions", "_rev": now.ms().to_string(), "userid": user.subject(), "timeleft": minutes})
    };
    listed.iter().map(row).collect()
}

/// The sessions of a realm, or of a user in it.
async fn filtered(call: &Call<'_>, by: &Administrator, filter: &Filter) -> Result<Vec<Value>, Refusal> {
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
    let equalities =
        filter.equalities().ok_or_else(|| bad("The query filter is not supported".to_owned()))?;
    let (mut realm, mut user) = (None, None);
    for (field, value) in equalities {
        match field {
            "realm" => realm = Some(value),
            "username" => user = Some(value),
            other => return Err(bad(format!("{other} is not supported in query filter"))),
        }
    }
    let realm = realm.ok_or_else(|| bad("The query filter must specify the realm".to_owned()))?;
    let mut found = match user.map(|name| User::new(realm, name)) {
        None => call.service.some_sessions_in(by, realm, LISTED_MAX),
        // A name that nobody can have has no sessions.
        Some(Err(_)) => Vec::new(),
        Some(Ok(user)) => {
            let sessions = call.service.sessions_of(by, &user).await?;
            sessions.into_iter().map(|session| (user.clone(), session)).collect()
        }
    };
    found.truncate(LISTED_MAX);
    let revision = Value::from(call.service.now().ms().to_string());
    let row = |(user, session)| {
        let mut row = serde_json::Map::from_iter([("_rev".to_owned(), revision.clone())]);
        row.extend(described(call, &user, &session));
        Value::from(row)
    };
    Ok(found.into_iter().map(row).collect())
}
