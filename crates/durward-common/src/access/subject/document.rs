//! A subject in SAPL's words: one object.

use std::sync::Arc;

use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_session::identity::user::Account;
use smol_str::SmolStr;

use super::{Shown, Subject};

/// The keys of subjects that are tokens.
pub const TOKENS: [&str; 2] = ["session", "jwt"];

/// What is shown, where a subject is exactly `{"session": "TOKEN"}` or `{"jwt": "TOKEN"}`.
pub fn shown(subject: &Value) -> Option<Shown> {
    let Value::Object(subject) = subject else { return None };
    let text = |name: &str| match subject.get(name) {
        Some(Value::Text(token)) if subject.len() == 1 => Some(SmolStr::from(token.as_str())),
        Some(_) | None => None,
    };
    let [session, jwt] = TOKENS;
    text(session).map(Shown::Session).or_else(|| text(jwt).map(Shown::Jwt))
}

/// What is known of a user: groups, attributes and the realm.
pub fn of_account(account: &Account) -> Arc<Object> {
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

/// The subject that policies see. Made of values, with no text between: a gateway's every request asks for one.
pub fn of(subject: &Subject) -> Value {
    let mut members = ObjectBuilder::with_capacity(MEMBERS.len());
    for name in MEMBERS {
        if let Some(value) = member(subject, name) {
            members.insert(SmolStr::new_static(name), value);
        }
    }
    Value::Object(Arc::new(members.finish()))
}

/// What it may have: of a user's session, and of a token.
const MEMBERS: [&str; 10] = [
    "user",
    "realm",
    "session",
    "level",
    "groups",
    "attributes",
    "properties",
    "client",
    "scopes",
    "audiences",
];

/// One of them, if it has it.
pub fn member(subject: &Subject, name: &str) -> Option<Value> {
    let text = |text: &str| Value::Text(text.into());
    let texts = |texts: &[String]| Value::array(texts.iter().map(|one| text(one)));
    let (user, good) = (subject.user.as_ref(), subject.good.as_ref());
    Some(match name {
        "user" => text(user?.who.user.subject()),
        "realm" => text(user?.who.user.realm()),
        "session" => text(user?.who.id.digits().as_str()),
        "level" => Value::number(i64::from(user?.level.0)),
        "groups" => texts(&user?.account.groups),
        "attributes" => {
            let attributes = user?.account.attributes.iter();
            Value::object(attributes.map(|(name, values)| (name.as_str(), texts(values))))
        }
        "properties" => {
            Value::object(user?.session.properties.iter().map(|(name, value)| (name, text(value))))
        }
        "client" => text(&good?.client),
        "scopes" => texts(&good?.scopes),
        "audiences" => texts(&good?.audiences),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durward_session::Who;
    use durward_session::identity::session::{Level, Properties, Session, SessionId, User};
    use durward_session::identity::{Moment, Stamp};

    use super::super::SessionUser;
    use super::*;
    use crate::access::issued::Good;

    fn user() -> SessionUser {
        let user = User::new("/", "ada").unwrap();
        let mut account = Account::new(&user);
        account.groups = vec!["staff".to_owned(), "a \"b\"".to_owned()];
        account.attributes.insert("mail".to_owned(), vec!["ada@example.org".to_owned()]);
        let (id, stamp, level) = (SessionId([7; 16]), Stamp::from_us(1), Level(3));
        let (ends, idle, used) = (Moment::from_ms(9), Duration::ZERO, Moment::from_ms(1));
        let mut properties = Properties::new();
        properties.set("office", "7\\1").unwrap();
        let session = Session { id, stamp, ends, idle, used, level, properties };
        let who = Who { user, id, level, stamp, ends, idle };
        SessionUser { who, session, account: Arc::new(account), level: Level(2) }
    }

    fn good() -> Good {
        let (scopes, audiences) = (vec!["read".to_owned()], Vec::new());
        Good { client: "shop".to_owned(), scopes, audiences, session: None, level: 0 }
    }

    /// Policies are written against these names, and logs are read by them.
    #[test]
    fn a_subject_says_who_it_is_in_one_object() {
        let of_user = r#""user":"ada","realm":"/","session":"07070707070707070707070707070707","level":2,"groups":["staff","a \"b\""],"attributes":{"mail":["ada@example.org"]},"properties":{"office":"7\\1"}"#;
        let of_token = r#""client":"shop","scopes":["read"],"audiences":[]"#;
        for (subject, expected) in [
            (Subject { user: Some(user()), good: None }, format!("{{{of_user}}}")),
            (Subject { user: None, good: Some(good()) }, format!("{{{of_token}}}")),
            (Subject { user: Some(user()), good: Some(good()) }, format!("{{{of_user},{of_token}}}")),
        ] {
            let value = of(&subject);
            assert_eq!(value.to_json(), expected);
            let read = durward_pdp::ir::json::read(&expected).unwrap();
            assert!(value.equals(&read), "the same as the text of it: {expected}");
            assert!(shown(&value).is_none(), "no token is read in it");
        }
    }
}
