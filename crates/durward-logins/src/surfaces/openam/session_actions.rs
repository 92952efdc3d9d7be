//! What can be done with a session by `_action`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_session::identity::Moment;
use durward_session::identity::session::{Purpose, Refusal as TokenRefusal, Session, SessionId, User};
use durward_session::{Administrator, Failed, Who};
use hyper::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Call;
use super::answers::Refusal;
use super::version::Flavour;

/// What the name of a handle begins with.
const HANDLE: &str = "shandle:";

/// How many session handles one request may name.
const HANDLES_MAX: usize = 1000;

/// What is known by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Validate,
    Logout,
    IsActive,
    GetIdle,
    GetMaxTime,
    GetTimeLeft,
    GetMaxIdle,
    GetMaxSessionTime,
    GetProperty,
    SetProperty,
    DeleteProperty,
    GetPropertyNames,
    GetSessionInfo,
    GetSessionProperties,
    UpdateSessionProperties,
    Refresh,
    LogoutByHandle,
}

/// The names, which version knows them, and whether the session's owner may.
const ACTIONS: &[(&str, Action, Option<Flavour>, bool)] = &[
    ("validate", Action::Validate, Some(Flavour::One), true),
    ("logout", Action::Logout, None, true),
    ("isActive", Action::IsActive, Some(Flavour::One), false),
    ("getIdle", Action::GetIdle, Some(Flavour::One), false),
    ("getMaxTime", Action::GetMaxTime, Some(Flavour::One), false),
    ("getTimeLeft", Action::GetTimeLeft, Some(Flavour::One), true),
    ("getMaxIdle", Action::GetMaxIdle, Some(Flavour::One), true),
    ("getMaxSessionTime", Action::GetMaxSessionTime, Some(Flavour::One), false),
    ("getProperty", Action::GetProperty, Some(Flavour::One), true),
    ("setProperty", Action::SetProperty, Some(Flavour::One), true),
    ("deleteProperty", Action::DeleteProperty, Some(Flavour::One), true),
    ("getPropertyNames", Action::GetPropertyNames, Some(Flavour::One), true),
    ("getSessionInfo", Action::GetSessionInfo, Some(Flavour::Two), true),
    ("getSessionProperties", Action::GetSessionProperties, Some(Flavour::Two), true),
    ("updateSessionProperties", Action::UpdateSessionProperties, Some(Flavour::Two), true),
    ("refresh", Action::Refresh, Some(Flavour::Two), false),
    ("logoutByHandle", Action::LogoutByHandle, Some(Flavour::Two), false),
];

impl Action {
    pub(super) fn find(name: &str) -> Option<Action> {
        let found = ACTIONS.iter().find(|(other, ..)| other.eq_ignore_ascii_case(name));
        found.map(|(_, action, ..)| *action)
    }

    pub(super) fn is_of(self, flavour: Flavour) -> bool {
        ACTIONS.iter().any(|(_, action, of, _)| *action == self && of.is_none_or(|of| of == flavour))
    }

    pub(super) fn is_for_owner(self) -> bool {
        ACTIONS.iter().any(|(_, action, _, is_for_owner)| *action == self && *is_for_owner)
    }
}

/// The session that is meant, and who calls.
pub(super) struct Target<'t> {
    pub(super) token: &'t str,
    /// Where it is not his own session.
    pub(super) administrator: Option<&'t Administrator>,
}

/// Does it. The body of the answer.
///
/// # Errors
/// It cannot be done.
pub(super) async fn act(
    call: &Call<'_>,
    action: Action,
    target: &Target<'_>,
    content: &Value,
) -> Result<Value, Refusal> {
    match action {
        Action::Validate => validate(call, target).await,
        Action::Logout => logout(call, target).await,
        Action::LogoutByHandle => logout_by_handle(call, target, content).await,
        Action::IsActive => {
            let purpose = if is_true(call, "refresh") { Purpose::Use } else { Purpose::Look };
            let found = found(call, target, purpose).await?;
            Ok(json!({"active": found.is_some()}))
        }
        Action::GetIdle => {
            number(call, target, "idletime", |now, session| now.since(session.used).as_secs()).await
        }
        Action::GetMaxTime | Action::GetTimeLeft => {
            number(call, target, "maxtime", |now, session| session.ends.since(now).as_secs()).await
        }
        Action::GetMaxIdle => number(call, target, "maxidletime", |_, session| minutes(session.idle)).await,
        Action::GetMaxSessionTime => {
            number(call, target, "maxsessiontime", |_, session| minutes(lifetime(session))).await
        }
        Action::GetPropertyNames => Ok(json!({"properties": listed(call)})),
        Action::GetProperty => get_property(call, target, content).await,
        Action::SetProperty => set_property(call, target, content).await,
        Action::DeleteProperty => delete_property(call, target, content).await,
        Action::GetSessionInfo => info(call, target).await,
        Action::Refresh => refresh(call, target).await,
        Action::GetSessionProperties => match found(call, target, Purpose::Look).await? {
            Some((_, session)) => Ok(properties(call, &session).into()),
            None => Err(bad()),
        },
        Action::UpdateSessionProperties => update(call, target, content).await,
    }
}

fn bad() -> Refusal {
    Refusal::bare(StatusCode::BAD_REQUEST)
}

fn is_true(call: &Call<'_>, name: &str) -> bool {
    call.query.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn minutes(span: Duration) -> u64 {
    span.as_millis().div_ceil(60_000).try_into().unwrap_or(u64::MAX)
}

async fn validate(call: &Call<'_>, target: &Target<'_>) -> Result<Value, Refusal> {
    let is_use = call.query.get("refresh").is_none_or(|text| !text.eq_ignore_ascii_case("false"));
    let purpose = if is_use { Purpose::Use } else { Purpose::Look };
    match call.service.validate(target.token, purpose).await {
        Ok(who) => Ok(json!({"valid": true, "uid": who.user.subject(), "realm": who.user.realm()})),
        Err(refusal @ TokenRefusal::Unavailable) => Err(Failed::from(refusal).into()),
        Err(_) => Ok(json!({"valid": false})),
    }
}

async fn logout(call: &Call<'_>, target: &Target<'_>) -> Result<Value, Refusal> {
    match call.service.logout(target.token, Some(call.client)).await {
        Ok(_) => Ok(json!({"result": "Successfully logged out"})),
        Err(failed @ Failed::Token(TokenRefusal::Unavailable)) => Err(failed.into()),
        Err(Failed::Token(_) | Failed::NoSession) => Ok(json!({"result": "Token has expired"})),
        Err(failed) => Err(failed.into()),
    }
}

/// A handle names a session and opens nothing. Those that name none are said to have ended, as OpenAM says it; what is no handle is not.
async fn logout_by_handle(call: &Call<'_>, target: &Target<'_>, content: &Value) -> Result<Value, Refusal> {
    let by = target.administrator.ok_or_else(Refusal::forbidden)?;
    let handles = content.get("sessionHandles").and_then(Value::as_array);
    let handles = handles.filter(|handles| handles.len() <= HANDLES_MAX).ok_or_else(|| {
        let what = "The \"sessionHandles\" field is not defined in the request or it's not a JSON array";
        Refusal::new(StatusCode::BAD_REQUEST, what)
    })?;
    let mut result = Map::new();
    for handle in handles {
        let handle = handle.as_str().ok_or_else(bad)?;
        let is_gone = match of_handle(handle) {
            None => handle.starts_with(HANDLE),
            Some((user, id)) => match call.service.revoke(by, &user, id).await {
                Ok(()) | Err(Failed::NoSession) => true,
                Err(_) => false,
            },
        };
        result.insert(handle.to_owned(), is_gone.into());
    }
    Ok(json!({"result": result}))
}

fn handle(user: &User, id: SessionId) -> String {
    let name = format!("{}\0{}", user.realm(), user.subject());
    format!("{HANDLE}{id}.{}", URL_SAFE_NO_PAD.encode(name))
}

fn of_handle(handle: &str) -> Option<(User, SessionId)> {
    let (id, name) = handle.strip_prefix(HANDLE)?.split_once('.')?;
    let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
    let (realm, subject) = name.split_once('\0')?;
    Some((User::new(realm, subject).ok()?, SessionId::read(id)?))
}

/// The session, if it lives and whoever calls may see it.
async fn found(
    call: &Call<'_>,
    target: &Target<'_>,
    purpose: Purpose,
) -> Result<Option<(Who, Session)>, Refusal> {
    let found = match call.service.session(target.token, purpose).await {
        Ok(found) => found,
        Err(failed @ Failed::Token(TokenRefusal::Unavailable)) => return Err(failed.into()),
        Err(Failed::Token(_) | Failed::NoSession) => return Ok(None),
        Err(failed) => return Err(failed.into()),
    };
    match target.administrator {
        Some(by) if !by.may(found.0.user.realm()) => Err(Refusal::forbidden()),
        Some(_) | None => Ok(Some(found)),
    }
}

/// A number of a session; -1 where it does not live.
async fn number(
    call: &Call<'_>,
    target: &Target<'_>,
    name: &'static str,
    of: impl Fn(Moment, &Session) -> u64,
) -> Result<Value, Refusal> {
    let found = found(call, target, Purpose::Look).await?;
    let number =
        found.map_or(-1, |(_, session)| i64::try_from(of(call.service.now(), &session)).unwrap_or(i64::MAX));
    let mut body = Map::new();
    body.insert(name.to_owned(), number.into());
    Ok(body.into())
}

async fn info(call: &Call<'_>, target: &Target<'_>) -> Result<Value, Refusal> {
    let Some((who, session)) = found(call, target, Purpose::Look).await? else {
        return Ok(json!({"valid": false}));
    };
    let mut info = described(call, &who.user, &session);
    let properties = properties(call, &session);
    if !properties.is_empty() {
        info.insert("properties".to_owned(), properties.into());
    }
    Ok(info.into())
}

/// A session, and whose it is.
pub(super) fn described(call: &Call<'_>, user: &User, session: &Session) -> Map<String, Value> {
    let idle_ends = match session.idle {
        Duration::ZERO => session.ends,
        idle => session.used.plus(idle).min(session.ends),
    };
    let texts = [
        ("username", user.subject().to_owned()),
        ("universalId", universal_id(user, &call.settings.root_suffix)),
        ("realm", user.realm().to_owned()),
        ("sessionHandle", handle(user, session.id)),
        ("latestAccessTime", time(session.used)),
        ("maxIdleExpirationTime", time(idle_ends)),
        ("maxSessionExpirationTime", time(session.ends)),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
}

async fn refresh(call: &Call<'_>, target: &Target<'_>) -> Result<Value, Refusal> {
    let Some((who, session)) = found(call, target, Purpose::Use).await? else {
        return Ok(json!({"valid": false}));
    };
    let now = call.service.now();
    Ok(json!({
        "uid": who.user.subject(),
        "realm": who.user.realm(),
        "idletime": now.since(session.used).as_secs(),
        "maxidletime": minutes(session.idle),
        "maxsessiontime": minutes(lifetime(&session)),
        "maxtime": session.ends.since(now).as_secs(),
    }))
}

fn lifetime(session: &Session) -> Duration {
    session.ends.since(session.stamp.moment())
}

fn time(moment: Moment) -> String {
    Timestamp::from_second(i64::from(moment.seconds())).unwrap_or_default().to_string()
}

/// Such as `id=demo,ou=user,dc=openam,dc=local`.
pub(super) fn universal_id(user: &User, root_suffix: &str) -> String {
    let realms: Vec<&str> = user.realm().split('/').filter(|name| !name.is_empty()).collect();
    let mut id = format!("id={},ou=user", user.subject());
    for name in realms.iter().rev() {
        id.push_str(",o=");
        id.push_str(name);
    }
    if !realms.is_empty() {
        id.push_str(",ou=services");
    }
    id.push(',');
    id.push_str(root_suffix);
    id
}

/// The properties that may be seen and set here.
fn listed<'c>(call: &Call<'c>) -> &'c [String] {
    &call.service.settings().settable_properties
}

/// All of them, with empty texts for those that are not set.
fn properties(call: &Call<'_>, session: &Session) -> Map<String, Value> {
    let value = |name: &String| session.properties.get(name).unwrap_or_default().into();
    listed(call).iter().map(|name| (name.clone(), value(name))).collect()
}

/// Whether somebody may know and set a property: those of the list.
fn check_listed<'n>(call: &Call<'_>, mut names: impl Iterator<Item = &'n String>) -> Result<(), Refusal> {
    let listed = listed(call);
    if names.all(|name| listed.contains(name)) { Ok(()) } else { Err(Refusal::forbidden()) }
}

/// The texts under `properties`, if that is there.
fn names(content: &Value) -> Result<Option<Vec<String>>, Refusal> {
    let names = match content.get("properties") {
        None | Some(Value::Null) => return Ok(None),
        Some(names) => names.as_array().ok_or_else(bad)?,
    };
    let texts = names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(bad));
    texts.collect::<Result<_, _>>().map(Some)
}

async fn get_property(call: &Call<'_>, target: &Target<'_>, content: &Value) -> Result<Value, Refusal> {
    let names = names(content)?;
    let Some((_, session)) = found(call, target, Purpose::Look).await? else { return Ok(json!({})) };
    let mut values = properties(call, &session);
    let Some(names) = names else { return Ok(values.into()) };
    check_listed(call, names.iter())?;
    let asked = names.into_iter().map(|name| {
        let value = values.remove(&name).unwrap_or_default();
        (name, value)
    });
    Ok(Value::Object(asked.collect()))
}

async fn set_property(call: &Call<'_>, target: &Target<'_>, content: &Value) -> Result<Value, Refusal> {
    if found(call, target, Purpose::Look).await?.is_none() {
        return Ok(json!({"success": false}));
    }
    let fields = content.as_object().filter(|fields| !fields.is_empty()).ok_or_else(bad)?;
    check_listed(call, fields.keys())?;
    if fields.values().any(Value::is_null) {
        return Ok(json!({"success": false}));
    }
    let change = |(name, value)| Some((String::as_str(name), Some(Value::as_str(value)?)));
    let changes: Vec<_> = fields.iter().map(change).collect::<Option<_>>().ok_or_else(bad)?;
    Ok(json!({"success": change_properties(call, target, &changes).await?}))
}

async fn delete_property(call: &Call<'_>, target: &Target<'_>, content: &Value) -> Result<Value, Refusal> {
    if found(call, target, Purpose::Look).await?.is_none() {
        return Ok(json!({"success": false}));
    }
    let names = names(content)?.ok_or_else(bad)?;
    check_listed(call, names.iter())?;
    let changes: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
    Ok(json!({"success": change_properties(call, target, &changes).await?}))
}

/// Whether the session was there.
async fn change_properties(
    call: &Call<'_>,
    target: &Target<'_>,
    changes: &[(&str, Option<&str>)],
) -> Result<bool, Refusal> {
    let done = match target.administrator {
        Some(by) => match found(call, target, Purpose::Look).await? {
            None => return Ok(false),
            Some((who, _)) => call.service.set_properties_of(by, &who.user, who.id, changes).await,
        },
        None => call.service.set_properties(target.token, changes).await.map(drop),
    };
    match done {
        Ok(()) => Ok(true),
        Err(failed @ Failed::Token(TokenRefusal::Unavailable)) => Err(failed.into()),
        Err(Failed::Token(_) | Failed::NoSession) => Ok(false),
        Err(failed) => Err(failed.into()),
    }
}

/// All of the properties that there are, and no others.
async fn update(call: &Call<'_>, target: &Target<'_>, content: &Value) -> Result<Value, Refusal> {
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let fields = content.as_object().filter(|fields| !fields.is_empty() && fields.values().all(is_text));
    let fields = fields.ok_or_else(bad)?;
    if found(call, target, Purpose::Look).await?.is_none() {
        return Err(bad());
    }
    check_listed(call, fields.keys())?;
    if fields.len() != listed(call).len() {
        return Err(Refusal::forbidden());
    }
    let change = |(name, value)| Some((String::as_str(name), Some(Value::as_str(value)?)));
    let changes: Vec<_> = fields.iter().map(change).collect::<Option<_>>().ok_or_else(bad)?;
    if !change_properties(call, target, &changes).await? {
        return Err(bad());
    }
    match found(call, target, Purpose::Look).await? {
        Some((_, session)) => Ok(properties(call, &session).into()),
        None => Err(bad()),
    }
}
