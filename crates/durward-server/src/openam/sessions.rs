//! `json/{realm}/sessions`: who may do what with which session, in the order in which OpenAM looks at it. What is done is in
//! [`super::session_actions`].

use durward_session::identity::session::{Purpose, Refusal as TokenRefusal};
use durward_session::{Administrator, Failed, Who};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::Call;
use super::answers::{self, Refusal, no_cache, of_version};
use super::place::Realm;
use super::session_actions::{Action, Target, act};
use super::version::{Asked, Flavour};
use crate::http::Answer;

/// Most sessions that one query lists, as OpenAM has it.
const LISTED_MAX: usize = 120;

/// What is to be done.
enum Operation {
    Action(String),
    /// The query's name.
    Query(String),
    Read,
    Create,
    Update,
    Delete,
    Patch,
}

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

fn version_of(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::One => "resource=1.2",
        Flavour::Two => "resource=2.0",
    }
}

/// Answers one request.
pub(super) async fn answer(call: &Call<'_>, realm: &Realm, token: Option<String>, body: Incoming) -> Answer {
    no_cache(match answered(call, realm, token.as_deref(), body).await {
        Ok((body, flavour)) => of_version(body, version_of(flavour)),
        Err(Refused { refusal, by: Some(flavour) }) => of_version(refusal.into_answer(), version_of(flavour)),
        Err(Refused { refusal, by: None }) => refusal.into_answer(),
    })
}

async fn answered(
    call: &Call<'_>,
    realm: &Realm,
    path_token: Option<&str>,
    body: Incoming,
) -> Result<(Answer, Flavour), Refused> {
    let body = call.body(body).await?;
    let is_root = realm.name() == "/";
    if !is_root && !call.knows(realm.name()) {
        return Err(
            Refusal::no_resource(&format!("{}/sessions", realm.name().trim_start_matches('/'))).into()
        );
    }
    match operation(call)? {
        Operation::Action(name) => action(call, &name, path_token, &body).await,
        Operation::Query(name) => {
            let caller = administrator(call).await?;
            let flavour = flavour(call)?;
            query(call, &caller, &name, path_token)
                .map(|answer| (answer, flavour))
                .map_err(|refusal| Refused { refusal, by: Some(flavour) })
        }
        other @ (Operation::Read
        | Operation::Create
        | Operation::Update
        | Operation::Delete
        | Operation::Patch) => {
            administrator(call).await?;
            let flavour = flavour(call)?;
            Err(Refused { refusal: unsupported(&other, path_token.is_some()), by: Some(flavour) })
        }
    }
}

fn operation(call: &Call<'_>) -> Result<Operation, Refusal> {
    let action = call.query.get("_action").filter(|action| !action.is_empty());
    let queries = ["_queryId", "_queryFilter", "_queryExpression"];
    let query = queries.iter().find_map(|name| call.query.get(name));
    match (&call.head.method, action, query) {
        (&Method::POST, Some("create") | None, _) => Ok(Operation::Create),
        (&Method::POST, Some(action), _) => Ok(Operation::Action(action.to_owned())),
        (&Method::GET, _, Some(query)) => Ok(Operation::Query(query.to_owned())),
        (&Method::GET | &Method::HEAD, _, _) => Ok(Operation::Read),
        (&Method::PUT, _, _) => Ok(Operation::Update),
        (&Method::DELETE, _, _) => Ok(Operation::Delete),
        (&Method::PATCH, _, _) => Ok(Operation::Patch),
        _ => Err(Refusal::bare(StatusCode::METHOD_NOT_ALLOWED)),
    }
}

fn unsupported(operation: &Operation, is_instance: bool) -> Refusal {
    let of_collection = |what: &str| {
        Refusal::new(StatusCode::BAD_REQUEST, format!("The resource collection  cannot be {what}"))
    };
    match operation {
        Operation::Read if !is_instance => of_collection("read"),
        Operation::Update if !is_instance => of_collection("updated"),
        Operation::Delete if !is_instance => of_collection("deleted"),
        Operation::Patch if !is_instance => of_collection("patched"),
        Operation::Read
        | Operation::Update
        | Operation::Delete
        | Operation::Patch
        | Operation::Create
        | Operation::Action(_)
        | Operation::Query(_) => not_supported(),
    }
}

fn not_supported() -> Refusal {
    Refusal::new(StatusCode::NOT_IMPLEMENTED, "Operation is not supported.")
}

fn flavour(call: &Call<'_>) -> Result<Flavour, Refusal> {
    match Asked::read(&call.head.headers) {
        Asked::Malformed => Err(Refusal::new(StatusCode::BAD_REQUEST, "Malformed Accept-API-Version")),
        asked @ (Asked::Newest | Asked::Version(..)) => {
            asked.served(2, 0).ok_or_else(|| Refusal::no_resource(""))
        }
    }
}

async fn action(
    call: &Call<'_>,
    name: &str,
    path_token: Option<&str>,
    body: &Bytes,
) -> Result<(Answer, Flavour), Refused> {
    let action = Action::find(name);
    let named = path_token.or_else(|| call.query.get("tokenId"));
    // Whoever has a token may ask whether it is good: he need not be anybody besides.
    let administrator = match action {
        Some(Action::Validate) => None,
        _ => authorized(call, action, named).await?,
    };
    let flavour = flavour(call)?;
    let by = |refusal: Refusal| Refused { refusal, by: Some(flavour) };
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
    match act(call, action, &target, body).await {
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
    Ok(call.service.administrator(token).await?)
}

async fn administrator(call: &Call<'_>) -> Result<Administrator, Refusal> {
    authenticated(call).await?;
    administering(call).await
}

/// Lists sessions: those that this node knows of.
fn query(
    call: &Call<'_>,
    by: &Administrator,
    name: &str,
    path_token: Option<&str>,
) -> Result<Answer, Refusal> {
    if path_token.is_some() || name == "list" {
        return Err(not_supported());
    }
    let now = call.service.now();
    let listed = call.service.some_sessions(by, LISTED_MAX);
    let rows: Vec<Value> = listed
        .iter()
        .map(|(user, session)| {
            let minutes = session.ends.since(now).as_secs() / 60;
            json!({"_id": "Sessions", "_rev": now.ms().to_string(), "userid": user.subject(), "timeleft": minutes})
        })
        .collect();
    let count = rows.len();
    Ok(answers::json(&json!({
        "result": rows,
        "resultCount": count,
        "pagedResultsCookie": null,
        "totalPagedResultsPolicy": "NONE",
        "totalPagedResults": -1,
        "remainingPagedResults": -1,
    })))
}
