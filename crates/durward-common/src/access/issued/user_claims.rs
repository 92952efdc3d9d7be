//! What a client may know of a user, by the scopes it was granted (OpenID Connect Core, 5.4): out of the attributes of the account, under
//! their names in the protocol or the usual ones of directories.

use durward_session::identity::session::User;
use durward_session::identity::user::Account;
use serde_json::{Map, Value, json};

use super::subject;

/// The scope that makes a request one of OpenID Connect.
pub const OPENID: &str = "openid";

/// Claims of each scope, each with the attributes that may hold it.
const CLAIMS: [(&str, &str, &[&str]); 11] = [
    ("profile", "name", &["name", "displayName", "cn"]),
    ("profile", "given_name", &["given_name", "givenName"]),
    ("profile", "family_name", &["family_name", "sn"]),
    ("profile", "nickname", &["nickname"]),
    ("profile", "picture", &["picture"]),
    ("profile", "website", &["website"]),
    ("profile", "zoneinfo", &["zoneinfo"]),
    ("profile", "locale", &["locale", "preferredLanguage"]),
    ("email", "email", &["email", "mail"]),
    ("phone", "phone_number", &["phone_number", "telephoneNumber"]),
    ("address", "address", &["address", "postalAddress"]),
];

/// Everything that can be said.
pub fn names() -> Vec<&'static str> {
    let own = ["sub", "preferred_username", "groups"];
    own.into_iter().chain(CLAIMS.iter().map(|(_, name, _)| *name)).collect()
}

/// What is said of a user within these scopes.
pub fn of(user: &User, account: &Account, scopes: &[&str]) -> Map<String, Value> {
    let mut claims = Map::new();
    claims.insert("sub".to_owned(), json!(subject::of_user(user)));
    if scopes.contains(&"profile") {
        claims.insert("preferred_username".to_owned(), json!(user.subject()));
    }
    for (scope, name, attributes) in CLAIMS.iter().filter(|(scope, _, _)| scopes.contains(scope)) {
        let values = attributes.iter().find_map(|attribute| account.attributes.get(*attribute)?.first());
        let Some(value) = values else { continue };
        let value = if *scope == "address" { json!({ "formatted": value }) } else { json!(value) };
        claims.insert((*name).to_owned(), value);
    }
    if scopes.contains(&"groups") {
        claims.insert("groups".to_owned(), json!(account.groups));
    }
    claims
}
