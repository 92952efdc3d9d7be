//! SCIM 2.0 (RFC 7643, RFC 7644): users and groups of the built-in directory, for provisioning systems.
//!
//! Callers are users of `[[auth.users]]` who may administer. A resource comes as JSON whose names of members are compared without case
//! ([`document`]); what a request says of a user becomes edits of an account ([`edits`]), so that creating, replacing and patching are
//! one thing. Groups are names in the accounts of their members ([`groups`]).

mod document;
mod edits;
mod error;
mod filter;
mod groups;
mod ids;
mod patch;
mod schemas;
mod users;

use std::sync::Arc;

use bytes::Bytes;
use durward_common::access::auth::{Authenticator, Denied, Presented};
use durward_common::base::parameters::{ParameterNames, Parameters};
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Answering, text_of};
use durward_session::{Administrator, Service};
use durward_settings::ScimSettings;
use durward_wire::percent::{Stray, decoded};
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::{Map, Value};

use self::error::ScimError;

/// What all paths begin with.
const BASE: &str = "/scim/v2";

/// The media type of SCIM.
const MEDIA_TYPE: &str = "application/scim+json";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `/Users`.
    Users,
    /// `/Users/{id}`.
    User,
    /// `/Groups`.
    Groups,
    /// `/Groups/{id}`.
    Group,
    /// `/ServiceProviderConfig`.
    Config,
    /// `/Schemas`.
    Schemas,
    /// `/Schemas/{id}`.
    Schema,
    /// `/ResourceTypes`.
    Types,
    /// `/ResourceTypes/{id}`.
    Type,
}

type Answered = Result<Answer, ScimError>;

/// What requests are answered with.
pub struct Surface {
    service: Service,
    authenticator: Arc<Authenticator>,
    bodies: Arc<Bodies>,
    settings: ScimSettings,
}

/// One request of somebody who may ask, with its body read.
struct ScimRequest<'a> {
    service: &'a Service,
    by: Administrator,
    settings: &'a ScimSettings,
    method: Method,
    /// The last part of the path, decoded: an id, where the path names one.
    id: String,
    query: Parameters,
    body: Bytes,
}

impl Surface {
    /// Nothing where the settings do not ask for it, or where there are no users.
    pub fn new(
        settings: &ScimSettings,
        service: Option<&Service>,
        authenticator: &Arc<Authenticator>,
        bodies: &Arc<Bodies>,
    ) -> Option<Surface> {
        let service = service.filter(|_| settings.on)?.clone();
        let (authenticator, bodies) = (Arc::clone(authenticator), Arc::clone(bodies));
        Some(Surface { service, authenticator, bodies, settings: settings.clone() })
    }

    /// Answers one request.
    pub fn answer<'a>(&'a self, ask: Ask, request: hyper::Request<Incoming>) -> Answering<'a> {
        Box::pin(self.respond(ask, request))
    }

    async fn respond(&self, ask: Ask, request: hyper::Request<Incoming>) -> Answer {
        self.answered(ask, request).await.unwrap_or_else(ScimError::into_answer)
    }

    async fn answered(&self, ask: Ask, request: hyper::Request<Incoming>) -> Answered {
        let presented = Presented::from_request(request.method(), request.uri().path(), request.headers());
        let by = self.administrator(presented).await?;
        let (head, body) = request.into_parts();
        let limit = (self.settings.body_bytes_max, "identity.scim.body_bytes_max");
        let body = self.bodies.receive_within(body, limit).await?;
        if !body.is_empty() {
            is_json(&head.headers)?;
        }
        let last = head.uri.path().rsplit('/').next().unwrap_or_default();
        let id = decoded(last.as_bytes(), Stray::Refused).and_then(|bytes| String::from_utf8(bytes).ok());
        let request = ScimRequest {
            service: &self.service,
            by,
            settings: &self.settings,
            id: id.ok_or_else(|| ScimError::not_found(last))?,
            query: query(head.uri.query().unwrap_or_default())?,
            method: head.method,
            body,
        };
        match ask {
            Ask::Users => users::all(&request).await,
            Ask::User => users::one(&request).await,
            Ask::Groups => groups::all(&request).await,
            Ask::Group => groups::one(&request).await,
            Ask::Config => ok(&schemas::config(self.settings.page_max)),
            Ask::Schemas => ok(&whole_list(schemas::schemas())),
            Ask::Schema => one_of(schemas::schemas(), &request.id),
            Ask::Types => ok(&whole_list(schemas::types())),
            Ask::Type => one_of(schemas::types(), &request.id),
        }
    }

    async fn administrator(&self, presented: Presented) -> Result<Administrator, ScimError> {
        match self.authenticator.verify(presented).await {
            Ok(caller) if caller.may_administer => {
                Ok(Administrator::program(&caller.name, &self.settings.realm))
            }
            Ok(_) => {
                let detail =
                    "these credentials may not administer users: see `may_administer` of `[[auth.users]]`";
                Err(ScimError::new(StatusCode::FORBIDDEN, detail))
            }
            Err(Denied::Wrong) => Err(Problem::unauthorized(self.authenticator.ways()).into()),
            Err(Denied::Busy) => {
                Err(Problem::unavailable("too many credentials are being verified; try again").into())
            }
        }
    }
}

/// The answer where the surface is not there though its route is.
pub fn absent() -> Answer {
    ScimError::new(StatusCode::NOT_FOUND, "there are no users: see `[identity]`").into_answer()
}

impl ScimRequest<'_> {
    fn realm(&self) -> &str {
        &self.settings.realm
    }

    /// The body, an object whose names are in small letters.
    fn object(&self) -> Result<Map<String, Value>, ScimError> {
        document::object(&self.body)
    }

    /// How many resources come before those of the answer, and how many the answer may have.
    fn window(&self) -> Result<(usize, usize), ScimError> {
        let number = |name: &str| {
            let wrong = || ScimError::bad("invalidValue", format!("`{name}` must be a whole number"));
            self.query.given(name).map(|text| text.parse::<i64>().map_err(|_| wrong())).transpose()
        };
        // RFC 7644, 3.4.2.4: less than 1 is 1, a negative count is 0.
        let first = number("startindex")?.unwrap_or(1).max(1);
        let count =
            number("count")?.map_or(Ok(self.settings.page_max), |count| usize::try_from(count.max(0)));
        let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
        Ok((skip, count.unwrap_or(usize::MAX).min(self.settings.page_max)))
    }

    /// Whether a member of resources is asked for, as far as `excludedAttributes` and `attributes` say.
    fn wants(&self, name: &str) -> bool {
        let names = |list: &str| list.split(',').any(|one| one.trim().eq_ignore_ascii_case(name));
        match (self.query.given("attributes"), self.query.given("excludedattributes")) {
            (Some(only), _) => names(only),
            (None, Some(without)) => !names(without),
            (None, None) => true,
        }
    }

    /// A resource without the members that nobody asked for. What names it is always there (RFC 7643, 7: returned `always`).
    fn narrowed(&self, resource: Value) -> Value {
        let Value::Object(members) = resource else { return resource };
        let is_wanted = |name: &str| matches!(name, "schemas" | "id" | "meta") || self.wants_any_of(name);
        Value::Object(members.into_iter().filter(|(name, _)| is_wanted(name)).collect())
    }

    /// Whether a member is asked for, or something in it (`name.givenName`).
    fn wants_any_of(&self, name: &str) -> bool {
        let in_it =
            |one: &str| one.trim().split_once('.').is_some_and(|(of, _)| of.eq_ignore_ascii_case(name));
        self.wants(name) || self.query.given("attributes").is_some_and(|only| only.split(',').any(in_it))
    }
}

/// The parameters of a query, whose names are compared without case. Those that are not known are ignored.
fn query(text: &str) -> Result<Parameters, ScimError> {
    Parameters::of_query(text, ParameterNames::AnyCase)
        .map_err(|error| ScimError::bad("invalidValue", error.to_string()))
}

fn is_json(headers: &HeaderMap) -> Result<(), ScimError> {
    let media_type = text_of(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let name = media_type.split(';').next().unwrap_or_default().trim();
    if [MEDIA_TYPE, "application/json"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let detail = "the body must be `application/scim+json` or `application/json`";
    Err(ScimError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

fn answer(status: StatusCode, document: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(document.to_string() + "\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    answer
}

fn ok(document: &Value) -> Answered {
    Ok(answer(StatusCode::OK, document))
}

fn no_content() -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

/// A resource that was created, with where it is.
fn created(resource: &Value) -> Answer {
    let mut answer = answer(StatusCode::CREATED, resource);
    let location = resource.pointer("/meta/location").and_then(Value::as_str).map(HeaderValue::try_from);
    if let Some(Ok(location)) = location {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

/// A page of resources, of so many in all, behind so many others.
fn list(total: usize, skipped: usize, resources: Vec<Value>) -> Value {
    serde_json::json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "totalResults": total,
        "startIndex": skipped.saturating_add(1),
        "itemsPerPage": resources.len(),
        "Resources": resources,
    })
}

fn whole_list(resources: Vec<Value>) -> Value {
    list(resources.len(), 0, resources)
}

fn one_of(resources: Vec<Value>, id: &str) -> Answered {
    let found = resources.into_iter().find(|resource| resource.get("id").is_some_and(|other| other == id));
    ok(&found.ok_or_else(|| ScimError::not_found(id))?)
}
