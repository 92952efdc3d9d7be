//! Whose request it is: by the session in a cookie, or by a token in `Authorization: Bearer`. Nothing else that a client sends says who it is.

use std::borrow::Cow;
use std::sync::Arc;

use durward_common::access::auth::{Authenticator, Denied, TokenClaims};
use durward_common::access::subject::document::TOKENS;
use durward_common::access::subject::{FoundSubject, NotTaken, Shown, Subject, Subjects};
use durward_common::question::{Entity, SubjectBy};
use durward_common::surfaces::http::cookies::Cookies;
use durward_pdp::ir::Value;
use durward_pdp::ir::json;
use durward_settings::{DoorIdentity, Settings};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value as Json;
use smol_str::SmolStr;

use super::answer::Reason;

/// The type and the id of the subject where nobody shows anything.
const ANONYMOUS: SmolStr = SmolStr::new_static("anonymous");

/// The type of the subject that a token of `[auth.jwt]` names.
const USER: SmolStr = SmolStr::new_static("user");

/// What tokens must not say of a subject in the words that durward's own tokens have.
const OWN: &str = "urn:durward:";

/// Finds out who sends requests.
pub(super) struct People {
    subjects: Option<Subjects>,
    authenticator: Arc<Authenticator>,
    /// Cookies with the token of a session.
    cookie_names: Vec<String>,
    /// What the application is told.
    headers: Vec<(HeaderName, DoorIdentity)>,
}

/// Who it is.
pub(super) struct Person {
    pub(super) entity: Entity,
    pub(super) by: SubjectBy,
    /// Of which tenant the token says it is.
    pub(super) tenant: Option<String>,
    /// What a token of `[auth.jwt]` says.
    claims: Option<Box<TokenClaims>>,
}

/// What came of looking.
pub(super) enum Found {
    Person(Person),
    /// Nothing was shown.
    Nobody,
    /// What was shown is not accepted. A browser sends the cookie of a session that is over along with everything.
    Refused {
        is_cookie: bool,
    },
    /// This node cannot say at the moment.
    Unknown,
}

/// A value of an identity header.
enum Told<'p> {
    One(Cow<'p, str>),
    Texts(&'p [String]),
    Several(Vec<Cow<'p, str>>),
}

impl Person {
    pub(super) fn nobody() -> Person {
        let entity = Entity { kind: ANONYMOUS, id: ANONYMOUS, properties: None };
        Person { entity, by: SubjectBy::Verified, tenant: None, claims: None }
    }

    /// The token stands for the subject, wherever the question is told.
    fn of_token(found: FoundSubject) -> Person {
        let (kind, id) = match found.shown() {
            Shown::Session(token) => ("session", token.clone()),
            Shown::Jwt(token) => ("jwt", token.clone()),
        };
        let entity = Entity { kind: SmolStr::new_static(kind), id, properties: None };
        Person { entity, by: SubjectBy::Found(Arc::new(found)), tenant: None, claims: None }
    }

    fn of_claims(claims: TokenClaims) -> Person {
        let is_property =
            |name: &str| !TOKENS.contains(&name) && !matches!(name, "type" | "id") && !name.starts_with(OWN);
        let kept: serde_json::Map<String, Json> = claims
            .all
            .iter()
            .filter(|(name, _)| is_property(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let properties = json::read(Json::Object(kept).to_string()).ok();
        let entity = Entity {
            kind: USER,
            id: claims.subject.as_str().into(),
            properties: properties.as_ref().and_then(Value::as_object).cloned(),
        };
        Person {
            entity,
            by: SubjectBy::Verified,
            tenant: claims.tenant.clone(),
            claims: Some(Box::new(claims)),
        }
    }
}

impl People {
    pub(super) fn new(
        settings: &Settings,
        subjects: Option<&Subjects>,
        authenticator: &Arc<Authenticator>,
        headers: Vec<(HeaderName, DoorIdentity)>,
    ) -> People {
        let mut cookie_names = vec![settings.identity.cookie_name.clone()];
        if settings.openam.on {
            cookie_names.push(settings.openam.cookie_name.clone());
        }
        People {
            subjects: subjects.cloned(),
            authenticator: Arc::clone(authenticator),
            cookie_names,
            headers,
        }
    }

    /// Who sends a request with these fields.
    pub(super) async fn find(&self, headers: &HeaderMap) -> Found {
        match bearer(headers) {
            Ok(Some(token)) if is_jwt(token) => self.of_jwt(token).await,
            Ok(Some(token)) => self.of_session(token, false).await,
            Ok(None) => match self.cookie(headers) {
                Cookies::None => Found::Nobody,
                // Which of two counts must not depend on who looks.
                Cookies::Several => Found::Refused { is_cookie: true },
                Cookies::One(token) => self.of_session(token, true).await,
            },
            Err(TwoFields) => Found::Refused { is_cookie: false },
        }
    }

    fn cookie<'h>(&self, headers: &'h HeaderMap) -> Cookies<'h> {
        Cookies::named(headers, |name| self.is_cookie(name))
    }

    fn is_cookie(&self, name: &str) -> bool {
        self.cookie_names.iter().any(|known| known == name)
    }

    /// The user of the session in a cookie of these fields, where nothing has to be waited for and one is accepted; `None` otherwise, and then
    /// nothing was counted.
    pub(super) fn of_cookies<'h>(&self, fields: impl Iterator<Item = &'h str>) -> Option<Subject> {
        match Cookies::within(fields, |name| self.is_cookie(name)) {
            Cookies::One(token) => self.subjects.as_ref()?.session_here(token),
            Cookies::None | Cookies::Several => None,
        }
    }

    async fn of_session(&self, token: &str, is_cookie: bool) -> Found {
        let refused = Found::Refused { is_cookie };
        let shown = Shown::Session(token.into());
        let Some(subjects) = self.subjects.as_ref().filter(|subjects| subjects.has(&shown)) else {
            return refused;
        };
        match subjects.found(shown).await {
            Ok(found) => Found::Person(Person::of_token(found)),
            Err(NotTaken::Refused) => refused,
            Err(NotTaken::Unknown) => Found::Unknown,
        }
    }

    /// A token that this server gave, or else one of `[auth.jwt]`. One that is bound to a key is not accepted: nobody showed the key.
    async fn of_jwt(&self, token: &str) -> Found {
        let shown = Shown::Jwt(token.into());
        if shown.says_bound() {
            return Found::Refused { is_cookie: false };
        }
        if let Some(subjects) = self.subjects.as_ref().filter(|subjects| subjects.has(&shown)) {
            match subjects.found(shown).await {
                Ok(found) => return Found::Person(Person::of_token(found)),
                Err(NotTaken::Unknown) => return Found::Unknown,
                Err(NotTaken::Refused) => {}
            }
        }
        match self.authenticator.claims(token).await {
            Ok(claims) if !claims.subject.is_empty() => Found::Person(Person::of_claims(claims)),
            Ok(_) | Err(Denied::Wrong) => Found::Refused { is_cookie: false },
            Err(Denied::Busy) => Found::Unknown,
        }
    }

    /// All identity headers, empty where nothing is known.
    ///
    /// # Errors
    /// Something that is known cannot be written in a header so that everybody reads the same.
    pub(super) fn headers(&self, person: &Person) -> Result<Vec<(HeaderName, HeaderValue)>, Reason> {
        self.told(|says| person.told(says))
    }

    /// The same of the user of a session.
    ///
    /// # Errors
    /// As [`People::headers`].
    pub(super) fn headers_of(&self, subject: &Subject) -> Result<Vec<(HeaderName, HeaderValue)>, Reason> {
        self.told(|says| of_subject(subject, says))
    }

    fn told<'p>(
        &self,
        told: impl Fn(&DoorIdentity) -> Option<Told<'p>>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, Reason> {
        let header = |(name, says): &(HeaderName, DoorIdentity)| {
            let value = told(says).map_or(Some(HeaderValue::from_static("")), Told::written);
            Ok((name.clone(), value.ok_or(Reason::Identity)?))
        };
        self.headers.iter().map(header).collect()
    }
}

/// There are two fields `Authorization`.
struct TwoFields;

/// The token of `Authorization: Bearer`. Other schemes are the application's affair.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, TwoFields> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let (field, other) = (fields.next(), fields.next());
    if other.is_some() {
        return Err(TwoFields);
    }
    let parts = field.and_then(|field| field.to_str().ok()).and_then(|field| field.split_once(' '));
    Ok(parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim()))
}

/// Whether it has the form of a signed token, whose header is an object of JSON.
fn is_jwt(token: &str) -> bool {
    token.starts_with("eyJ") && token.bytes().filter(|byte| *byte == b'.').count() == 2
}

impl Person {
    fn told(&self, says: &DoorIdentity) -> Option<Told<'_>> {
        match (&self.by, &self.claims) {
            (SubjectBy::Found(found), _) => of_subject(found.subject(), says),
            (SubjectBy::Caller | SubjectBy::Token(_) | SubjectBy::Verified, Some(claims)) => {
                of_claims(claims, says)
            }
            (SubjectBy::Caller | SubjectBy::Token(_) | SubjectBy::Verified, None) => None,
        }
    }
}

fn of_subject<'p>(subject: &'p Subject, says: &DoorIdentity) -> Option<Told<'p>> {
    let (user, good) = (subject.user.as_ref(), subject.good.as_ref());
    match says {
        DoorIdentity::User => Some(Told::one(user?.who.user.subject())),
        DoorIdentity::Realm => Some(Told::one(user?.who.user.realm())),
        DoorIdentity::Groups => Some(Told::Texts(&user?.account.groups)),
        DoorIdentity::Session => Some(Told::One(user?.who.id.to_string().into())),
        DoorIdentity::Level => Some(Told::One(user?.level.0.to_string().into())),
        DoorIdentity::Client => Some(Told::one(&good?.client)),
        DoorIdentity::Scopes => Some(Told::Texts(&good?.scopes)),
        DoorIdentity::Attribute(name) => user?.account.attributes.get(name).map(|values| Told::Texts(values)),
        DoorIdentity::Claim(_) => None,
    }
}

fn of_claims<'p>(claims: &'p TokenClaims, says: &DoorIdentity) -> Option<Told<'p>> {
    let claim = |name: &str| claims.all.get(name).and_then(of_json);
    match says {
        DoorIdentity::User => Some(Told::one(&claims.subject)),
        DoorIdentity::Realm => claim("iss"),
        DoorIdentity::Groups => claim("groups"),
        DoorIdentity::Session => claim("sid"),
        DoorIdentity::Level => None,
        DoorIdentity::Client => claim("client_id").or_else(|| claim("azp")),
        DoorIdentity::Scopes => {
            let text = claims.all.get("scope").and_then(Json::as_str)?;
            Some(Told::Several(text.split(' ').map(Cow::from).collect()))
        }
        DoorIdentity::Attribute(_) => None,
        DoorIdentity::Claim(name) => claim(name),
    }
}

fn of_json(value: &Json) -> Option<Told<'_>> {
    match value {
        Json::String(text) => Some(Told::one(text)),
        Json::Number(_) | Json::Bool(_) => Some(Told::One(value.to_string().into())),
        Json::Array(values) => {
            let texts = values.iter().map(|one| one.as_str().map(Cow::from));
            texts.collect::<Option<Vec<_>>>().map(Told::Several)
        }
        Json::Null | Json::Object(_) => None,
    }
}

impl<'p> Told<'p> {
    fn one(text: &'p str) -> Told<'p> {
        Told::One(text.into())
    }

    /// `None` for what two readers could take for different things: control characters, and blanks at an end, which parsers leave out.
    fn written(self) -> Option<HeaderValue> {
        let text = match self {
            Told::One(text) => text,
            Told::Texts(texts) => joined(texts.iter().map(String::as_str))?,
            Told::Several(texts) => Cow::Owned(joined(texts.iter().map(Cow::as_ref))?.into_owned()),
        };
        if text.chars().any(char::is_control) || text.trim() != text {
            return None;
        }
        HeaderValue::from_bytes(text.as_bytes()).ok()
    }
}

/// Entries with commas between. A comma in a name must not look as one between two. `None` for an entry with a blank at an end, or an empty
/// one.
fn joined<'t>(mut texts: impl Iterator<Item = &'t str>) -> Option<Cow<'t, str>> {
    let is_clear = |text: &&str| text.trim() == *text && !text.is_empty();
    let Some(first) = texts.next() else { return Some(Cow::Borrowed("")) };
    let mut all = Cow::Borrowed(Some(first).filter(is_clear)?);
    if first.contains(['%', ',']) {
        all = Cow::Owned(String::new());
        push(first, all.to_mut());
    }
    for text in texts {
        let all = all.to_mut();
        all.push(',');
        push(Some(text).filter(is_clear)?, all);
    }
    Some(all)
}

/// Appends an entry.
fn push(text: &str, all: &mut String) {
    for character in text.chars() {
        match character {
            '%' => all.push_str("%25"),
            ',' => all.push_str("%2C"),
            other => all.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_somebody_is_written_for_every_reader_alike() {
        let one = |text: &str| Told::One(text.into()).written().map(|value| value.as_bytes().to_vec());
        let several = |texts: &[&str]| {
            let told = Told::Several(texts.iter().map(|text| Cow::from(*text)).collect());
            told.written().map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap())
        };
        assert_eq!(one("a,b"), Some(b"a,b".to_vec()));
        assert_eq!(one("müller"), Some("müller".as_bytes().to_vec()));
        for text in ["root ", " root", "root\r\nX-Auth-User: ada", "a\u{0}", "\t", "a\u{85}b"] {
            assert_eq!(one(text), None, "{text:?}");
        }
        assert_eq!(several(&["staff", "night, shift", "50%"]).unwrap(), "staff,night%2C shift,50%25");
        assert_eq!(several(&[]).unwrap(), "");
        assert_eq!(several(&["staff", ""]), None);
    }

    #[test]
    fn only_one_bearer_token_is_read() {
        let read = |fields: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(field));
            }
            bearer(&headers).map(|token| token.map(str::to_owned)).map_err(|TwoFields| ())
        };
        assert_eq!(read(&["Bearer t"]), Ok(Some("t".into())));
        assert_eq!(read(&["bearer  t "]), Ok(Some("t".into())));
        assert_eq!(read(&["Basic dTpw"]), Ok(None));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["Bearer t", "Bearer u"]), Err(()));
    }
}
