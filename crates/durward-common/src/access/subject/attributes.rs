//! A subject in XACML's words: attributes of the category access-subject, in the place of the token.
//!
//! A request names its subject by one attribute, [`SESSION_TOKEN`] or [`JWT`], so that no schema changes and each subject of several
//! has its own. What the session says has [`ISSUER`] as its issuer. Who makes requests cannot say the same: names that begin with
//! [`OWN`], and that issuer, are nobody else's; where a token is shown, no subject of the request brings what sessions say, and the
//! subject that it names brings nothing else at all.

use std::sync::Arc;

use durward_pdp::ir::DataType;
use durward_pdp::ir::datatype::Integer;
use durward_pdp::xacml::multiple::combine_if_asked;
use durward_pdp::xacml::request::{AttributeView, Categories, CategoryView, identifiers};
use durward_pdp::xacml::response::{Echoes, Status};
use durward_pdp::{Decision, Request, Response, ResultOf, Value};
use jiff::Timestamp;
use smol_str::{SmolStr, format_smolstr};

use super::{FoundSubject, NotTaken, SessionUser, Shown, Subject, Subjects, fence};
use crate::access::issued::Good;

/// What begins with this, only durward says.
const OWN: &str = "urn:durward:subject:";

/// Names the subject by the token of a session.
pub const SESSION_TOKEN: &str = "urn:durward:subject:session-token";

/// Names the subject by an access token that this server gave.
pub const JWT: &str = "urn:durward:subject:jwt";

/// Marks a subject that is nobody, from the reading of a request to its results.
const REFUSED: &str = "urn:durward:subject:refused";

/// Who says what a session says.
const ISSUER: &str = "urn:durward:session";

const SESSION_START: &str = "urn:oasis:names:tc:xacml:1.0:subject:session-start-time";

/// What sessions say by names that are not durward's own.
const STANDARD: [&str; 4] =
    [identifiers::SUBJECT_ID, identifiers::SUBJECT_ID_QUALIFIER, identifiers::SUBJECT_ROLE, SESSION_START];

/// How many subjects of one request may be named by tokens: each may be a question to a directory.
pub const TOKENS_MAX: usize = 64;

/// A request that shows tokens, with a place for each.
#[derive(Debug, PartialEq, Eq)]
pub struct WithTokens {
    /// Whether the caller may say of a token that is bound to a key that the key was shown.
    may_vouch: bool,
}

/// What is wrong with a request, in words for its caller.
pub type Wrong = String;

/// Whether a request shows tokens; `lets_assert` says whether its caller may ask about subjects without one.
///
/// # Errors
/// It says what only sessions say, shows a token where there can be none, or asserts what its caller may not.
pub fn looked_at(request: &Request, lets_assert: bool) -> Result<Option<WithTokens>, Wrong> {
    let mut count = 0;
    for attribute in request.categories.attributes() {
        if attribute.issuer.as_deref() == Some(ISSUER) {
            return Err(format!("`{ISSUER}` is the issuer of what sessions say; a request cannot say it"));
        }
        if !attribute.id.starts_with(OWN) {
            continue;
        }
        if attribute.id != SESSION_TOKEN && attribute.id != JWT {
            let id = &attribute.id;
            return Err(format!("`{id}` is said by sessions; a request shows a token, `{SESSION_TOKEN}`"));
        }
        if attribute.category() != identifiers::ACCESS_SUBJECT {
            return Err(format!("`{}` names the access subject, in its category and no other", attribute.id));
        }
        count += 1;
    }
    if count > TOKENS_MAX {
        return Err(format!("at most {TOKENS_MAX} subjects of a request can be named by tokens"));
    }
    let subjects = request.categories.iter().filter(|one| one.category == identifiers::ACCESS_SUBJECT);
    for subject in subjects {
        if count > 0 {
            check_beside_tokens(subject)?;
        }
        let is_named = subject.attributes().any(|attribute| is_token(&attribute));
        let says_nothing = subject.content.is_none() && subject.attributes().next().is_none();
        if !lets_assert && !is_named && !says_nothing {
            return Err(ASSERTED.to_owned());
        }
    }
    Ok((count > 0).then_some(WithTokens { may_vouch: lets_assert }))
}

/// What is said of a subject without a token, by a caller who may not assert one.
const ASSERTED: &str = "an access subject is named by a token here, `urn:durward:subject:session-token`, and this caller may not \
                        assert who it is; see `identity.subjects_asserted_by`";

/// A subject of a request that shows tokens: it does not say what sessions say, and nothing at all beside a token.
fn check_beside_tokens(subject: CategoryView<'_>) -> Result<(), Wrong> {
    let is_named = subject.attributes().any(|attribute| is_token(&attribute));
    for attribute in subject.attributes().filter(|attribute| !is_token(attribute)) {
        let id = &attribute.id;
        if STANDARD.contains(&id.as_str()) {
            return Err(format!("`{id}` is what the session says, and a token is shown: leave it out"));
        }
        if is_named {
            return Err(format!("`{id}` stands beside a token, and the token says who it is: leave it out"));
        }
    }
    if is_named && subject.content.is_some() {
        return Err("content stands beside a token, and the token says who it is: leave it out".to_owned());
    }
    Ok(())
}

/// The attribute that names a subject by what is shown, and its value.
pub fn token_id(shown: &Shown) -> (&'static str, &SmolStr) {
    match shown {
        Shown::Session(token) => (SESSION_TOKEN, token),
        Shown::Jwt(token) => (JWT, token),
    }
}

/// Whether a request can be decided as it stands: none of its attributes, given by identifier and issuer, names a subject by a token
/// or says what sessions say. All else is for [`looked_at`].
pub fn is_without_sessions<'a>(mut named: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> bool {
    named.all(|(id, issuer)| issuer != Some(ISSUER) && !id.starts_with(OWN))
}

/// The token that a subject shows.
fn shown(category: CategoryView<'_>) -> Result<Option<Shown>, Wrong> {
    let mut tokens = category.attributes().filter(|attribute| is_token(attribute));
    let Some(attribute) = tokens.next() else { return Ok(None) };
    let [Value::Text(token)] = attribute.values() else {
        return Err(format!("`{}` has one value, a string", attribute.id));
    };
    if tokens.next().is_some() {
        return Err("a subject is named by one token".to_owned());
    }
    Ok(Some(if attribute.id == JWT { Shown::Jwt(token.clone()) } else { Shown::Session(token.clone()) }))
}

fn is_token(attribute: &AttributeView<'_>) -> bool {
    attribute.id == SESSION_TOKEN || attribute.id == JWT
}

/// A request whose tokens have been looked at, and are not in it any more.
pub struct Named {
    /// The request, with what sessions say in the places of their tokens.
    pub request: Request,
    has_refused: bool,
    /// Combining is done here where a subject is nobody: a combined result tells of no subject.
    combines: bool,
}

impl WithTokens {
    /// Puts what sessions say in the places of their tokens.
    ///
    /// # Errors
    /// A token that is none by its form, or of a kind that there is not.
    pub async fn named(self, request: Request, subjects: &Subjects) -> Result<Named, Wrong> {
        let mut found: Vec<(Shown, Result<Subject, NotTaken>)> = Vec::new();
        for category in request.categories.iter() {
            let Some(token) = shown(category)? else { continue };
            has_setting(&token, subjects)?;
            if !self.may_vouch && subjects.needs_voucher(&token) {
                return Err(fence::SubjectError::Bound.to_string());
            }
            if !found.iter().any(|(known, _)| *known == token) {
                let subject = subjects.find(&token).await;
                found.push((token, subject));
            }
        }
        let has_refused = found.iter().any(|(_, subject)| subject.is_err());
        let categories = replaced(&request.categories, |token| {
            let found = found.iter().find(|(known, _)| known == token);
            found.map_or(Err(NotTaken::Unknown), |(_, subject)| subject.as_ref().map_err(|why| *why))
        })?;
        let combines = has_refused && request.combined_decision;
        let combined_decision = request.combined_decision && !combines;
        Ok(Named { request: Request { categories, combined_decision, ..request }, has_refused, combines })
    }

    /// The same for the one subject of a request, whose token has just been looked at.
    ///
    /// # Errors
    /// As [`WithTokens::named`].
    pub fn named_as(
        self,
        request: Request,
        subjects: &Subjects,
        found: &FoundSubject,
    ) -> Result<Named, Wrong> {
        has_setting(found.shown(), subjects)?;
        let categories = replaced(&request.categories, |token| {
            if token == found.shown() { Ok(found.subject()) } else { Err(NotTaken::Unknown) }
        })?;
        Ok(Named::of(Request { categories, ..request }))
    }
}

/// The same categories with the subjects in the places of their tokens.
fn replaced<'s>(
    old: &Categories,
    subject_of: impl Fn(&Shown) -> Result<&'s Subject, NotTaken>,
) -> Result<Categories, Wrong> {
    let mut new = Categories::with_capacity(old.len(), old.attribute_count() + 16);
    for category in old.iter() {
        let Some(token) = shown(category)? else {
            new.copy_category(category);
            continue;
        };
        new.begin_category(category.category.clone(), category.xml_id.clone());
        if let Some(content) = &category.content {
            new.set_content(Arc::clone(content));
        }
        category.attributes().filter(|one| !is_token(one)).for_each(|one| new.copy_attribute(one));
        match subject_of(&token) {
            Ok(subject) => write(&mut new, subject),
            Err(NotTaken::Refused) => mark(&mut new, Decision::Deny),
            Err(NotTaken::Unknown) => mark(&mut new, Decision::Indeterminate),
        }
    }
    Ok(new)
}

/// A token of a kind that there cannot be is the operator's mistake, or a caller's who asks the wrong server.
fn has_setting(token: &Shown, subjects: &Subjects) -> Result<(), Wrong> {
    match token {
        token if subjects.has(token) => Ok(()),
        Shown::Session(_) => Err(NO_SESSIONS.to_owned()),
        Shown::Jwt(_) => {
            Err("this server gives no tokens, see `[oauth]`; a subject cannot be named by one".to_owned())
        }
    }
}

/// What is said of tokens where there are no users.
pub const NO_SESSIONS: &str =
    "there are no users on this server, see `[identity]`; a subject cannot be named by a session";

/// Marks the category begun last; the mark comes back with every result that is about it.
fn mark(categories: &mut Categories, decision: Decision) {
    categories.begin_attribute(SmolStr::new_static(REFUSED), Some(SmolStr::new_static(ISSUER)), true);
    categories.push_value(Value::Text(SmolStr::new_static(decision.as_str())));
}

/// Adds to the category begun last.
fn write(categories: &mut Categories, subject: &Subject) {
    if let Some(user) = &subject.user {
        write_user(categories, user);
    }
    if let Some(good) = &subject.good {
        write_token(categories, good);
    }
}

fn write_user(categories: &mut Categories, user: &SessionUser) {
    let SessionUser { who, session, account, level } = user;
    let mut say = |id: SmolStr, values: &mut dyn Iterator<Item = Value>| say(categories, id, values);
    let mut one = |id: &'static str, value: Value| say(SmolStr::new_static(id), &mut std::iter::once(value));
    one(identifiers::SUBJECT_ID, Value::text(who.user.subject()));
    one(identifiers::SUBJECT_ID_QUALIFIER, Value::text(who.user.realm()));
    let start = Timestamp::from_second(i64::from(session.stamp.moment().seconds()));
    let start = start.ok().and_then(|start| Value::parse(DataType::DateTime, &start.to_string()).ok());
    start.into_iter().for_each(|start| one(SESSION_START, start));
    one("urn:durward:subject:session", Value::text(who.id.to_string()));
    one("urn:durward:subject:level", Value::Integer(Integer::Small(i64::from(level.0))));
    say(SmolStr::new_static(identifiers::SUBJECT_ROLE), &mut account.groups.iter().map(Value::text));
    for (name, values) in &account.attributes {
        say(format_smolstr!("{OWN}attribute:{name}"), &mut values.iter().map(Value::text));
    }
    for (name, value) in session.properties.iter() {
        say(format_smolstr!("{OWN}property:{name}"), &mut std::iter::once(Value::text(value)));
    }
}

fn write_token(categories: &mut Categories, good: &Good) {
    let mut say = |id: &'static str, values: &mut dyn Iterator<Item = Value>| {
        say(categories, SmolStr::new_static(id), values);
    };
    say("urn:durward:subject:client", &mut std::iter::once(Value::text(&good.client)));
    say("urn:durward:subject:scope", &mut good.scopes.iter().map(Value::text));
    say("urn:durward:subject:audience", &mut good.audiences.iter().map(Value::text));
}

/// An attribute without values is none.
fn say(categories: &mut Categories, id: SmolStr, values: &mut dyn Iterator<Item = Value>) {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return;
    }
    categories.begin_attribute(id, Some(SmolStr::new_static(ISSUER)), false);
    values.for_each(|value| categories.push_value(value));
}

impl Named {
    /// A request without tokens.
    pub fn of(request: Request) -> Named {
        Named { request, has_refused: false, combines: false }
    }

    /// Puts what is decided about a subject that is nobody in the place of what policies said to this request, which was
    /// [`Named::request`].
    pub fn settle(&self, request: &mut Request, response: &mut Response) {
        if !self.has_refused {
            return;
        }
        let results = std::mem::take(&mut response.results);
        response.results = results.into_iter().map(settled).collect();
        if self.combines {
            request.combined_decision = true;
            *response = combine_if_asked(request, response.clone());
        }
    }
}

/// What a result says of the token that its subject was named by, where it was not taken.
pub fn token_reason(result: &ResultOf) -> Option<&'static str> {
    let message = result.status.message.as_deref()?;
    [DENIED, UNKNOWN].into_iter().find(|reason| *reason == message)
}

fn settled(result: ResultOf) -> ResultOf {
    let marks = result.attributes.attributes().filter(|attribute| attribute.id == REFUSED);
    let marks: Vec<&str> = marks.flat_map(AttributeView::values).filter_map(Value::as_text).collect();
    if marks.is_empty() {
        return result;
    }
    let (decision, status) = match marks.contains(&Decision::Indeterminate.as_str()) {
        false => {
            let mut status = Status::ok();
            status.message = Some(DENIED.into());
            (Decision::Deny, status)
        }
        true => (Decision::Indeterminate, Status::processing_error(UNKNOWN)),
    };
    let attributes = Echoes::of(without_marks(&result.attributes));
    let (policy_ids, resource_id) = (result.policy_ids.map(|_| Vec::new()), result.resource_id);
    ResultOf { attributes, policy_ids, resource_id, ..ResultOf::with_status(decision, status) }
}

const DENIED: &str = "the token that the subject is named by is not accepted";

const UNKNOWN: &str = "whether the token that the subject is named by is good cannot be said at the moment";

fn without_marks(echoed: &Categories) -> Categories {
    let mut kept = Categories::default();
    for category in echoed.iter() {
        let mut attributes = category.attributes().filter(|attribute| attribute.id != REFUSED).peekable();
        if attributes.peek().is_some() {
            kept.begin_category(category.category.clone(), category.xml_id.clone());
            attributes.for_each(|attribute| kept.copy_attribute(attribute));
        }
    }
    kept
}
