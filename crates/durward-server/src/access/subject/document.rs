//! A subject in SAPL's words: one object.

use std::sync::Arc;

use durward_pdp::ir::Value;
use durward_pdp::ir::json;
use durward_pdp::ir::value::Object;
use durward_session::identity::user::Account;
use serde_json::{Map, json};
use smol_str::SmolStr;

use super::{Shown, Subject};

/// The keys of subjects that are tokens.
pub(crate) const TOKENS: [&str; 2] = ["session", "jwt"];

/// What is shown, where a subject is exactly `{"session": "TOKEN"}` or `{"jwt": "TOKEN"}`.
pub(crate) fn shown(subject: &Value) -> Option<Shown> {
    let Value::Object(subject) = subject else { return None };
    let text = |name: &str| match subject.get(name) {
        Some(Value::Text(token)) if subject.len() == 1 => Some(SmolStr::from(token.as_str())),
        Some(_) | None => None,
    };
    let [session, jwt] = TOKENS;
    text(session).map(Shown::Session).or_else(|| text(jwt).map(Shown::Jwt))
}

/// What is known of a user: groups, attributes and the realm.
pub(crate) fn of_account(account: &Account) -> Arc<Object> {
    let texts = |texts: &[String]| Value::array(texts.iter().map(Value::text));
    let attributes =
        account.attributes.iter().map(|(name, values)| (SmolStr::from(name.as_str()), texts(values)));
    Arc::new(
        [
            ("realm", Value::text(&account.realm)),
            ("groups", texts(&account.groups)),
            ("attributes", Value::object(attributes)),
        ]
        .into_iter()
        .collect(),
    )
}

/// The subject that policies see.
pub(crate) fn of(subject: &Subject) -> Value {
    let mut members = Map::new();
    if let Some(user) = &subject.user {
        let properties: Map<String, serde_json::Value> =
            user.session.properties.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        members.extend([
            ("user".to_owned(), json!(user.who.user.subject())),
            ("realm".to_owned(), json!(user.who.user.realm())),
            ("session".to_owned(), json!(user.who.id.to_string())),
            ("level".to_owned(), json!(user.level.0)),
            ("groups".to_owned(), json!(user.account.groups)),
            ("attributes".to_owned(), json!(user.account.attributes)),
            ("properties".to_owned(), json!(properties)),
        ]);
    }
    if let Some(good) = &subject.good {
        members.extend([
            ("client".to_owned(), json!(good.client)),
            ("scopes".to_owned(), json!(good.scopes)),
            ("audiences".to_owned(), json!(good.audiences)),
        ]);
    }
    json::read(json!(members).to_string().as_bytes()).unwrap_or(Value::Undefined)
}
