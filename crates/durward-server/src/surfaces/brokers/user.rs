//! Who logs in at a broker: a user with a password, or one who shows a token of this server in its place.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use durward_common::access::subject::{Shown, Subjects, document};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::Object;
use durward_session::identity::Moment;
use durward_session::identity::session::{Properties, User};
use durward_session::{Login, LoginRequest, Service, Wanted};
use durward_settings::BrokerSettings;
use smol_str::SmolStr;

use super::{NotLetIn, address_of_name};

/// Shortest token of a session, in characters: what stands in it beside names has more.
const SESSION_TOKEN_LENGTH_MIN: usize = 90;

/// The version that the first byte of a session's token says.
const SESSION_TOKEN_VERSION: u8 = 1;

/// A user of a broker.
#[derive(Clone, Debug)]
pub(super) struct BrokerUser {
    pub(super) name: SmolStr,
    /// What is known here of them.
    pub(super) properties: Option<Arc<Object>>,
    /// Whether their credentials were verified here; otherwise it is the broker's word.
    pub(super) is_verified: bool,
    /// When what they showed is over.
    pub(super) until: Option<Moment>,
}

/// What users are looked up with.
#[derive(Clone)]
pub(super) struct Users {
    service: Option<Service>,
    subjects: Option<Subjects>,
    realm: String,
    are_authenticated_elsewhere: bool,
}

impl Users {
    pub(super) fn new(
        settings: &BrokerSettings,
        service: Option<&Service>,
        subjects: Option<&Subjects>,
    ) -> Users {
        Users {
            service: service.cloned(),
            subjects: subjects.cloned(),
            realm: settings.realm.clone(),
            are_authenticated_elsewhere: settings.authenticated_elsewhere,
        }
    }

    /// The user who logs in.
    ///
    /// # Errors
    /// They are not let in.
    pub(super) async fn logged_in(
        &self,
        name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<BrokerUser, NotLetIn> {
        check_name(name)?;
        match (password, shown(password)) {
            ("", _) => Err(NotLetIn::new("the password is empty")),
            (_, Some(token)) => self.of_token(Some(name), &token).await,
            (password, None) => self.of_password(name, password, address).await,
        }
    }

    /// The user who logs in without a password, on the word of a broker that authenticated them by other means, if that counts. Not for brokers
    /// that hand on a name that the client chose.
    ///
    /// # Errors
    /// They are not let in.
    pub(super) async fn vouched(&self, name: &str) -> Result<BrokerUser, NotLetIn> {
        if self.are_authenticated_elsewhere {
            return self.known(name).await;
        }
        Err(NotLetIn::new("there is no password; see `brokers.authenticated_elsewhere`"))
    }

    /// The user whom a broker names, who logged in before.
    ///
    /// # Errors
    /// There is no such user, or they may not log in any more.
    pub(super) async fn known(&self, name: &str) -> Result<BrokerUser, NotLetIn> {
        check_name(name)?;
        // Policies ask for groups; whoever has none has an empty list of them.
        let none: Object = [("groups", Value::array([]))].into_iter().collect();
        let properties = Some(Arc::new(none));
        let nothing = BrokerUser { name: name.into(), properties, is_verified: false, until: None };
        let user = match User::new(&self.realm, name) {
            Ok(user) => user,
            Err(_) if self.are_authenticated_elsewhere => return Ok(nothing),
            Err(error) => return Err(NotLetIn::new(error.to_string())),
        };
        let Some(service) = &self.service else {
            let elsewhere = NotLetIn::new("there are no users; see `brokers.authenticated_elsewhere`");
            return if self.are_authenticated_elsewhere { Ok(nothing) } else { Err(elsewhere) };
        };
        let account = service.account(&user).await.map_err(|error| NotLetIn::new(error.to_string()))?;
        match account {
            Some(account) if account.disabled => Err(NotLetIn::new("the user is disabled")),
            Some(account) => Ok(BrokerUser { properties: Some(document::of_account(&account)), ..nothing }),
            None if self.are_authenticated_elsewhere => Ok(nothing),
            None => Err(NotLetIn::new("there is no such user")),
        }
    }

    async fn of_password(
        &self,
        name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<BrokerUser, NotLetIn> {
        let service = self.service.as_ref().ok_or_else(|| NotLetIn::new("nobody has a password here"))?;
        let name = SmolStr::from(name);
        let request = LoginRequest {
            realm: self.realm.clone(),
            user: name.to_string(),
            password: password.to_owned(),
            code: None,
            address: address.unwrap_or_else(|| address_of_name(&name)),
            properties: Properties::new(),
            wanted: Wanted::Recognition,
            device: None,
        };
        match service.login(request).await {
            Ok(Login::Recognized(account)) => Ok(BrokerUser {
                properties: Some(document::of_account(&account)),
                // As the directory writes it.
                name: account.subject.as_str().into(),
                is_verified: true,
                until: None,
            }),
            Ok(Login::CodeNeeded(_)) => {
                Err(NotLetIn::new("a second step is wanted, which brokers cannot ask for"))
            }
            Ok(Login::PasswordChangeNeeded(_)) => Err(NotLetIn::new("the password must be changed")),
            Ok(Login::Granted(..)) => Err(NotLetIn::new("a session was begun that nobody asked for")),
            Err(refused) => Err(NotLetIn::new(refused.to_string())),
        }
    }

    /// The user of a token; where a name is given as well, it must be theirs.
    ///
    /// # Errors
    /// The token is not taken, or is somebody else's.
    pub(super) async fn of_token(&self, name: Option<&str>, token: &Shown) -> Result<BrokerUser, NotLetIn> {
        let subjects = self.subjects.as_ref().ok_or_else(|| NotLetIn::new("there are no tokens here"))?;
        if token.says_bound() {
            return Err(NotLetIn::new("the token is bound to a key, which brokers do not prove"));
        }
        let subject = subjects.find(token).await.map_err(|_| NotLetIn::new("the token is not accepted"))?;
        let user = subject.user.ok_or_else(|| NotLetIn::new("the token is a client's, and no user's"))?;
        let found = &user.who.user;
        check_name(found.subject())?;
        if found.realm() != self.realm || name.is_some_and(|name| name != found.subject()) {
            return Err(NotLetIn::new("the token is of another user"));
        }
        Ok(BrokerUser {
            name: found.subject().into(),
            properties: Some(document::of_account(&user.account)),
            is_verified: true,
            until: Some(user.who.ends),
        })
    }
}

/// A policy may make a topic of a name: one that would be a wildcard there is not let in.
fn check_name(name: &str) -> Result<(), NotLetIn> {
    let is_special = |character: char| {
        matches!(character, '*' | '>' | '+' | '#') || character.is_whitespace() || character.is_control()
    };
    match name {
        "" => Err(NotLetIn::new("there is no user name")),
        name if name.contains(is_special) => {
            Err(NotLetIn::new("the user name has a character that topics give a meaning"))
        }
        _ => Ok(()),
    }
}

/// The token that a password has the form of. What has it is never tried as a password: an old token is no guess at one.
pub(super) fn shown(password: &str) -> Option<Shown> {
    let is_of_url = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let parts: Vec<&str> = password.split('.').collect();
    if let [header, claims, signature] = parts.as_slice() {
        let is_jwt =
            header.starts_with("eyJ") && [header, claims, signature].into_iter().all(|part| is_of_url(part));
        return is_jwt.then(|| Shown::Jwt(password.into()));
    }
    let first = password.get(..4).and_then(|first| BASE64_URL_SAFE_NO_PAD.decode(first).ok());
    let is_session = password.len() >= SESSION_TOKEN_LENGTH_MIN
        && is_of_url(password)
        && first.and_then(|bytes| bytes.first().copied()) == Some(SESSION_TOKEN_VERSION);
    is_session.then(|| Shown::Session(password.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_form_and_everything_else_is_a_password() {
        let kind = |text: &str| match shown(text) {
            Some(Shown::Session(_)) => "session",
            Some(Shown::Jwt(_)) => "jwt",
            None => "password",
        };
        let session = format!("AQAA{}", "x".repeat(100));
        assert_eq!(kind(&session), "session");
        assert_eq!(kind("eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ.c2ln"), "jwt");
        for password in ["", "secret", "a.b.c", "eyJ.", "eyJ..x", "eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ", "AQAA"] {
            assert_eq!(kind(password), "password", "{password}");
        }
        assert_eq!(kind(&session.replace("AQ", "Bz")), "password");
        assert_eq!(kind(&format!("{session} ")), "password");
    }
}
