//! `/doors/...`: gateways ask whether a request of their client may pass.
//!
//! ```text
//!   request of a gateway --> DoorRequest --> proxy --> target --> route --> subject --> question --> obligations --> DoorAnswer --> answer
//!          (http)                                                            (durward_common::question)                                (http)
//! ```
//!
//! Each kind of gateway has a path of its own, and only the fields that it writes are read there: whatever else a client sends is the client's
//! word. What is unclear, refused or late never becomes [`DoorAnswer::Allow`], and nothing else is told with a status that a gateway takes for a yes.

mod answer;
mod envoy;
mod http;
mod obligations;
mod routes;
mod subject;
mod target;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_wire::percent::form_encoded;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use smol_str::{SmolStr, format_smolstr};
use tokio::time::timeout;

pub(crate) use answer::{Allowed, Denied, DoorAnswer, Reason};
use durward_common::access::auth::{Authenticator, Denied as NotLetIn, Identity, Presented};
use durward_common::access::subject::Subjects;
use durward_common::base::metrics::Metrics;
use durward_common::decision_log::Surface as Way;
use durward_common::question::{Action, Asked, Asker, Counted, Entity, Logged, Question, Wrong};
use durward_common::surfaces::http::Call;
use durward_common::surfaces::http::body::Bodies;
use durward_settings::doors::{LOGIN_TARGET, passable};
use durward_settings::{DoorAllow, DoorsSettings, Settings};
pub(crate) use envoy::{ENVOY_HTTP, Undecided};
use obligations::Carrier;
use routes::{Asked as AskedRoute, Routes};
use subject::{Found, People, Person};
use target::{Oddities, Target, Unclear};

/// Fields by which applications take another method or path for the real one. Policies would decide about something else.
const OVERRIDES: [&str; 5] =
    ["x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"];

/// A kind of gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Nginx,
    Caddy,
    Traefik,
    Haproxy,
    /// Over gRPC.
    Envoy,
    EnvoyHttp,
}

impl Door {
    /// Its name in settings, metrics and the decision log.
    pub(crate) const fn name(self) -> &'static str {
        self.way().as_str()
    }

    const fn way(self) -> Way {
        match self {
            Door::Nginx => Way::Nginx,
            Door::Caddy => Way::Caddy,
            Door::Traefik => Way::Traefik,
            Door::Haproxy => Way::Haproxy,
            Door::Envoy => Way::Envoy,
            Door::EnvoyHttp => Way::EnvoyHttp,
        }
    }

    /// Whether the gateway's configuration names every header that it takes over. Then no policy can have it take over another one.
    const fn copies_by_name(self) -> bool {
        match self {
            Door::Nginx | Door::Caddy | Door::Traefik | Door::EnvoyHttp => true,
            Door::Haproxy | Door::Envoy => false,
        }
    }
}

/// What a gateway asks, whichever way it says it.
pub(crate) struct DoorRequest<'a> {
    pub(crate) door: Door,
    /// The gateway's own request.
    pub(crate) call: &'a Call,
    /// Credentials of the gateway, for one whose address is not listed.
    pub(crate) proxy_credentials: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) scheme: &'a str,
    pub(crate) host: &'a str,
    /// Path and query as the client sent them.
    pub(crate) target: &'a str,
    /// Who sent the request.
    pub(crate) client: IpAddr,
    /// The client's fields.
    pub(crate) headers: &'a HeaderMap,
    /// What the gateway says besides, by its configuration.
    pub(crate) extensions: Option<Arc<Object>>,
    pub(crate) named: Named<'a>,
}

/// What a gateway says of the question itself, by its configuration and as far as the settings let it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) action: Option<&'a str>,
    pub(crate) resource_type: Option<&'a str>,
    pub(crate) tenant: Option<&'a str>,
}

/// Who asks, as far as their connection says it.
pub(crate) struct Asking {
    pub(crate) peer: SocketAddr,
    /// Whether they had to show a certificate of `client_authorities`.
    pub(crate) has_certificate: bool,
}

/// What gateways are answered with.
pub(crate) struct Surface {
    asker: Arc<Asker>,
    authenticator: Arc<Authenticator>,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    people: People,
    routes: Routes,
    /// Headers that obligations may set where a gateway copies headers by their names.
    listed: Vec<HeaderName>,
    /// Headers that the application believes: those above, and who the user is.
    believed: Vec<HeaderName>,
    settings: DoorsSettings,
    /// Whether questions are in the default words of `[authzen.sapl]`.
    has_default_words: bool,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) asker: &'p Arc<Asker>,
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) subjects: Option<&'p Subjects>,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>) -> Surface {
        let doors = &settings.doors;
        // Settings were checked: none is left out.
        let told = doors.identity_headers.iter();
        let told: Vec<_> = told.filter_map(|(name, says)| Some((passable(name)?, says.clone()))).collect();
        let listed: Vec<HeaderName> = doors.headers.iter().filter_map(|name| passable(name)).collect();
        let believed = told.iter().map(|(name, _)| name).chain(&listed).cloned().collect();
        Surface {
            asker: Arc::clone(parts.asker),
            authenticator: Arc::clone(parts.authenticator),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            people: People::new(settings, parts.subjects, parts.authenticator, told),
            routes: Routes::new(doors, &settings.auth.default_tenant),
            listed,
            believed,
            settings: doors.clone(),
            has_default_words: settings.authzen.sapl.is_default(),
        }
    }

    /// Whether a request may pass.
    pub(crate) async fn ask(&self, request: &DoorRequest<'_>) -> DoorAnswer {
        let answer = self.asked(request).await.unwrap_or_else(|answer| answer);
        self.tell(request.door, request.call, &answer);
        answer
    }

    /// Counts an answer, and says in the log what operators want to know of a refusal.
    fn tell(&self, door: Door, call: &Call, answer: &DoorAnswer) {
        self.metrics.door_answered(door.name(), answer.result());
        if let DoorAnswer::Deny(denied) = answer {
            let (door, reason) = (door.name(), denied.reason.as_str());
            tracing::debug!(request_id = %call.id, peer = %call.peer, door, reason, "a request does not pass");
        }
    }

    async fn asked(&self, request: &DoorRequest<'_>) -> Result<DoorAnswer, DoorAnswer> {
        let proxy = self.proxy(request).await?;
        let DoorRequest { method, scheme, host, target, .. } = *request;
        let target = Target::read(method, scheme, host, target).map_err(|Unclear| Reason::Target)?;
        let route = self.routes.find(&target)?.named(&request.named);
        self.check_headers(request.headers, &route)?;
        let person = match self.people.find(request.headers).await {
            Found::Person(person) => person,
            Found::Nobody | Found::Refused { is_cookie: true } if route.is_for_anybody => Person::nobody(),
            Found::Nobody | Found::Refused { .. } => {
                return Err(self.unauthenticated(request.headers, &target));
            }
            Found::Unknown => return Err(DoorAnswer::Unavailable),
        };
        if person.tenant.as_ref().is_some_and(|tenant| *tenant != route.tenant) {
            return Err(Reason::Tenant.into());
        }
        let identity = self.people.headers(&person)?;
        let caller = Identity::of_gateway(route.tenant.clone(), &proxy);
        let asked = Asked {
            caller: &caller,
            client: Some((request.client, 0).into()),
            request_id: &request.call.id,
            trace: &request.call.trace,
            surface: request.door.way(),
            route: "request",
            length: request.target.len(),
            logged: Logged::Each,
            counted: Counted::ByAsker,
        };
        let Person { entity, by, .. } = person;
        let question = question(request, &target, route, entity);
        let wait = Duration::from_millis(self.settings.decision_ms_max);
        let verdict = match timeout(wait, self.asker.decide(&asked, &question, &by)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(wrong)) => return Err(of_wrong(&wrong)),
            Err(_) => {
                self.metrics.limit_hit("doors.decision_ms_max");
                return Err(DoorAnswer::Unavailable);
            }
        };
        let carrier = Carrier {
            identity,
            listed: &self.listed,
            copies_by_name: request.door.copies_by_name(),
            host: &target.host,
            redirect_hosts: &self.settings.redirect_hosts,
        };
        Ok(carrier.answer(&verdict))
    }

    /// The name of a gateway that may ask: one at an address of `doors.proxies`, with a certificate, or with credentials of `[auth]`.
    async fn proxy(&self, request: &DoorRequest<'_>) -> Result<SmolStr, DoorAnswer> {
        let call = request.call;
        if self.is_proxy(&Asking { peer: call.peer, has_certificate: call.has_certificate }) {
            return Ok(SmolStr::new_static(request.door.name()));
        }
        let Some(credentials) = request.proxy_credentials else { return Err(Reason::Proxy.into()) };
        match self.authenticator.verify(Presented::from_header(Some(credentials))).await {
            Ok(identity) if identity.is_authenticated() => Ok(identity.name),
            Ok(_) | Err(NotLetIn::Wrong) => Err(Reason::Proxy.into()),
            Err(NotLetIn::Busy) => Err(DoorAnswer::Unavailable),
        }
    }

    /// Whether who asks needs no credentials.
    fn is_proxy(&self, asking: &Asking) -> bool {
        let is_listed = || self.settings.proxies.iter().any(|network| network.contains(asking.peer.ip()));
        asking.has_certificate || is_listed()
    }

    /// Refuses headers that applications could take for others: those that name another method or path, and those that differ from a header
    /// which the application believes by `_` in the place of `-`. To applications behind CGI and its heirs (WSGI, PHP, Rack) both are one.
    fn check_headers(&self, headers: &HeaderMap, route: &AskedRoute) -> Result<(), Reason> {
        let is_allowed = Oddities::of(&[DoorAllow::OverrideHeaders]).are_in(route.allowed);
        let mut is_there = false;
        for name in headers.keys().map(HeaderName::as_str) {
            if !name.contains('_') {
                is_there |= OVERRIDES.contains(&name);
                continue;
            }
            if self.believed.iter().any(|believed| is_look_alike(name, believed.as_str())) {
                return Err(Reason::Identity);
            }
            is_there |= OVERRIDES.iter().any(|own| is_look_alike(name, own));
        }
        if is_there && !is_allowed { Err(Reason::Target) } else { Ok(()) }
    }

    fn unauthenticated(&self, headers: &HeaderMap, target: &Target<'_>) -> DoorAnswer {
        let login = self.settings.login.as_ref().filter(|_| is_browser(headers, target));
        let address = format!("{}://{}{}", target.scheme, target.authority, target.raw);
        let login = login.and_then(|login| {
            let mut encoded = String::with_capacity(address.len());
            form_encoded(&address, &mut encoded);
            HeaderValue::try_from(login.replace(LOGIN_TARGET, &encoded)).ok()
        });
        DoorAnswer::Unauthenticated { login }
    }
}

/// Whether a name is another one, with `_` for `-`. Both are in small letters.
fn is_look_alike(name: &str, other: &str) -> bool {
    let letter = |byte| if byte == b'_' { b'-' } else { byte };
    name.len() == other.len() && name.bytes().map(letter).eq(other.bytes())
}

/// Whether somebody looks at a page, and can be sent to another one.
fn is_browser(headers: &HeaderMap, target: &Target<'_>) -> bool {
    let wants_page = headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|value| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("text/html")));
    wants_page && matches!(target.method, "GET" | "HEAD") && matches!(target.scheme, "http" | "https")
}

/// Whether the subject may do with the resource what the request is for.
fn question(request: &DoorRequest<'_>, target: &Target<'_>, route: AskedRoute, subject: Entity) -> Question {
    let AskedRoute { action, resource_kind, resource_id, named, .. } = route;
    let mut properties = ObjectBuilder::with_capacity(named.len() + PROPERTIES);
    for (name, value) in resource_properties(target, &named) {
        properties.insert(name, Value::Text(value.into()));
    }
    let mut context = ObjectBuilder::with_capacity(2 + usize::from(request.extensions.is_some()));
    context.insert(DOOR, Value::Text(request.door.name().into()));
    context.insert(CLIENT, Value::Text(format_smolstr!("{}", request.client)));
    if let Some(extensions) = &request.extensions {
        context.insert("extensions", Value::Object(Arc::clone(extensions)));
    }
    Question {
        subject,
        action: Action { name: action, properties: None },
        resource: Entity {
            kind: resource_kind,
            id: resource_id,
            properties: Some(Arc::new(properties.finish())),
        },
        context: Some(Arc::new(context.finish())),
    }
}

/// What the context of every question says.
const DOOR: &str = "door";
const CLIENT: &str = "client";

/// How many properties a resource has besides the named parts of its path.
const PROPERTIES: usize = 6;

/// What policies know of what was asked for, by name. Settings were checked: no part of a path has the name of another property.
fn resource_properties<'t>(
    target: &'t Target<'_>,
    named: &'t [(SmolStr, SmolStr)],
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let own: [_; PROPERTIES] = [
        ("method", Some(target.method)),
        ("scheme", Some(target.scheme)),
        ("host", Some(&*target.host)),
        ("path", Some(&*target.path)),
        ("raw", Some(target.raw)),
        ("query", target.query),
    ];
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
    named.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(own)
}

fn of_wrong(wrong: &Wrong) -> DoorAnswer {
    match wrong.status {
        StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::INTERNAL_SERVER_ERROR
        | StatusCode::TOO_MANY_REQUESTS => DoorAnswer::Unavailable,
        _ => Reason::Question.into(),
    }
}
