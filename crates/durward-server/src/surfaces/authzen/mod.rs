//! `/access/v1/...`: decisions for clients of the AuthZEN Authorization API 1.0.
//!
//! ```text
//!   body --> parts --> question (`durward_common::question`) --> verdict --> answer
//!      '--> raw: the same from the bytes, where only a decision is asked for and nobody records it
//! ```
//!
//! A search finds exactly what an evaluation permits. Among many entities, a plan over what they hold (`narrow`) says of most of them ahead
//! whether that is so; every other candidate is decided as an evaluation would decide it.

mod answer;
mod batch;
mod decide;
mod metadata;
mod narrow;
mod page;
mod parts;
mod raw;
mod search;

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use durward_common::access::auth::{Authenticator, Denied, Identity, Presented};
use durward_common::access::issued::Issued;
use durward_common::access::rates::Rates;
use durward_common::base::Clock;
use durward_common::base::limits::Rate;
use durward_common::base::metrics::Metrics;
use durward_common::entities::EntityStore;
use durward_common::question::{Asker, Verdict, Wrong};
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::direct::DirectAnswer;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::negotiate::MediaType;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Authenticated, Call, text_answer, text_of};
use durward_session::Service;
use durward_settings::{AuthzenSettings, Settings};
use durward_wire::http1::DirectRequest;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap};

use answer::Telling;
use decide::Asking;
use page::Pages;
use parts::Parts as QuestionParts;
use search::Searched;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Evaluation,
    Evaluations,
    SearchSubject,
    SearchResource,
    SearchAction,
    Metadata,
}

impl Ask {
    /// As it is called in the decision log.
    const fn as_str(self) -> &'static str {
        match self {
            Ask::Evaluation => "evaluation",
            Ask::Evaluations => "evaluations",
            Ask::SearchSubject => "search-subject",
            Ask::SearchResource => "search-resource",
            Ask::SearchAction => "search-action",
            Ask::Metadata => "metadata",
        }
    }
}

/// What stands between the tenant in a path and what is asked for.
const ACCESS: &str = "/access/v1/";

/// What requests are answered with.
pub(crate) struct Surface {
    authenticator: Arc<Authenticator>,
    asker: Arc<Asker>,
    entities: Arc<EntityStore>,
    /// Who knows users, where they are entities.
    users: Option<Service>,
    issued: Option<Arc<Issued>>,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// Of this surface.
    rate: Rate,
    /// Of all of them.
    rates: Arc<Rates>,
    pages: Pages,
    settings: AuthzenSettings,
    default_tenant: String,
    /// Whether a question can be decided from its bytes.
    has_plain_words: bool,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) asker: &'p Arc<Asker>,
    pub(crate) rates: &'p Arc<Rates>,
    pub(crate) entities: &'p Arc<EntityStore>,
    pub(crate) service: Option<&'p Service>,
    pub(crate) issued: Option<&'p Arc<Issued>>,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
    pub(crate) clock: &'p Clock,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>) -> Surface {
        let Settings { authzen, auth, .. } = settings;
        Surface {
            authenticator: Arc::clone(parts.authenticator),
            asker: Arc::clone(parts.asker),
            entities: Arc::clone(parts.entities),
            users: parts.service.filter(|_| authzen.users_type.is_some()).cloned(),
            issued: parts.issued.cloned(),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            clock: Arc::clone(parts.clock),
            rates: Arc::clone(parts.rates),
            rate: Rate::new(authzen.requests_per_second_max, Instant::now()),
            pages: Pages::new(parts.service),
            settings: authzen.clone(),
            default_tenant: auth.default_tenant.clone(),
            has_plain_words: authzen.sapl.is_default() && !authzen.has_entities(),
        }
    }

    /// Takes up limits that can change while the server runs.
    pub(crate) fn take_up(&self, settings: &AuthzenSettings) {
        self.rate.set(settings.requests_per_second_max);
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, call: &Call, ask: Ask, request: hyper::Request<Incoming>) -> Answer {
        if ask == Ask::Metadata {
            let tenant = request.uri().path().strip_prefix(metadata::PATH).unwrap_or_default();
            return metadata::answer(self, tenant.trim_start_matches('/')).unwrap_or_else(refusal);
        }
        self.answered(call, ask, request).await.unwrap_or_else(refusal)
    }

    /// Whether any request can be answered as [`Surface::answer_direct`] does.
    pub(crate) fn answers_directly(&self) -> bool {
        self.has_plain_words && !self.asker.is_recorded()
    }

    /// The answer to an evaluation that can be decided from its bytes, for a caller whose credentials are remembered; `None` where that is not
    /// enough, and then nothing was counted.
    pub(crate) fn answer_direct(
        &self,
        request: &DirectRequest<'_>,
        client: Option<IpAddr>,
    ) -> Option<DirectAnswer> {
        let is_short = request.body.len() <= self.settings.body_bytes_max;
        if !self.answers_directly() || !is_short || !is_json(request.content_type) {
            return None;
        }
        let now = Instant::now();
        // Whoever is over the rate is refused by the library, undecided.
        if !self.rate.has_room(now) {
            return None;
        }
        let identity = self.authenticator.remembered(&Presented::from_header(request.authorization), now)?;
        check_tenant(request.path, &identity.tenant).ok()?;
        if !self.rates.has_room_directly(Some(&identity), client, now) {
            return None;
        }
        let (told, took, text) = self.decided_raw(&identity, request.body)?;
        if !self.rate.allows(now) || !self.rates.allows(Some(&identity), client, now) {
            return None;
        }
        self.metrics.authenticated("ok");
        self.metrics.told(&told, Some(took));
        Some(DirectAnswer { media_type: "application/json", text })
    }

    /// Decides a question from its bytes, where nothing goes along with the decision.
    fn decided_raw(
        &self,
        identity: &Identity,
        text: &[u8],
    ) -> Option<(durward_common::decider::Decision, Duration, String)> {
        if !self.asker.lets_assert(identity) || self.asker.is_asked_in_xacml(&identity.tenant) {
            return None;
        }
        let raw = raw::read(text)?;
        if self.asker.token_kind(raw.subject_kind).is_some() {
            return None;
        }
        let decider = self.asker.decider()?;
        let begun = Instant::now();
        let decide = || {
            let decision = decider.decide_raw(&identity.tenant, &raw.subscription)?;
            let took = begun.elapsed();
            let verdict = Verdict::of_sapl(&decision);
            // Which obligations a caller understands, the context says.
            if !verdict.is_plain() {
                return None;
            }
            let mut text = String::with_capacity(32);
            self.telling(None).write(&verdict, &mut text);
            Some((decision, took, text))
        };
        catch_unwind(AssertUnwindSafe(decide)).ok().flatten()
    }

    fn telling<'t>(&'t self, context: Option<&'t durward_pdp::ir::value::Object>) -> Telling<'t> {
        Telling { reasons: self.settings.reasons, understood: &self.settings.obligations, context }
    }

    async fn answered(
        &self,
        call: &Call,
        ask: Ask,
        request: hyper::Request<Incoming>,
    ) -> Result<Answer, Problem> {
        let (head, body) = request.into_parts();
        // A small body is taken before anything is refused, so that the connection can go on.
        let limit = (self.settings.body_bytes_max, "authzen.body_bytes_max");
        let body = self.bodies.receive_within(body, limit).await;
        let closes = body.is_err();
        let refused = |problem: Problem| if closes { problem.closing() } else { problem };
        let identity = self.authenticated(&head.headers).await.map_err(refused)?;
        check_tenant(head.uri.path(), &identity.tenant).map_err(refused)?;
        let now = Instant::now();
        if !self.rate.allows(now) {
            self.metrics.limit_hit("authzen.requests_per_second_max");
            return Err(refused(Problem::too_many()));
        }
        if !self.rates.allows(Some(&identity), Some(call.client.ip()), now) {
            return Err(refused(Problem::too_many()));
        }
        let text = body?;
        if !is_json(text_of(&head.headers, &header::CONTENT_TYPE)) {
            let detail = "the body must be JSON: send it with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
        let asking = Asking { surface: self, call, ask, identity: &identity, length: text.len() };
        let answer = match ask {
            Ask::Evaluation => self.evaluation(&asking, &text).await,
            Ask::Evaluations => batch::evaluations(&asking, &text).await,
            Ask::SearchSubject => search::answer(&asking, Searched::Subject, &text).await,
            Ask::SearchResource => search::answer(&asking, Searched::Resource, &text).await,
            Ask::SearchAction => search::answer(&asking, Searched::Action, &text).await,
            Ask::Metadata => Err(Wrong::new(StatusCode::NOT_FOUND, "this is read with GET")),
        };
        let mut answer = text_answer("application/json", answer.map_err(problem)?);
        if identity.is_authenticated() {
            answer.extensions_mut().insert(Authenticated);
        }
        Ok(answer)
    }

    async fn evaluation(&self, asking: &Asking<'_>, text: &[u8]) -> Result<String, Wrong> {
        if self.answers_directly()
            && let Some((told, took, text)) = self.decided_raw(asking.identity, text)
        {
            self.metrics.told(&told, Some(took));
            return Ok(text);
        }
        let object = parts::body(text)?;
        asking.one(QuestionParts::read(&object)?.question()?).await
    }

    async fn authenticated(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        self.authenticator.verify(Presented::from_headers(headers)).await.map_err(|denied| match denied {
            Denied::Wrong => Problem::unauthorized(self.authenticator.ways()),
            Denied::Busy => Problem::unavailable("too many credentials are being verified; try again"),
        })
    }
}

/// Credentials alone name the tenant; a path that names one must name the same.
fn check_tenant(path: &str, own: &str) -> Result<(), Problem> {
    let named = path.split_once(ACCESS).map_or("", |(before, _)| before).trim_start_matches('/');
    if named.is_empty() || named == own {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, "these credentials are of another tenant than the path"))
}

fn is_json(content_type: Option<&str>) -> bool {
    let media_type = content_type.and_then(MediaType::parse);
    media_type.is_some_and(|media_type| {
        let charset = media_type.parameter("charset");
        media_type.is("application", "json")
            && charset.is_none_or(|charset| charset.eq_ignore_ascii_case("utf-8"))
    })
}

fn problem(wrong: Wrong) -> Problem {
    match wrong.status {
        StatusCode::SERVICE_UNAVAILABLE => Problem::unavailable(wrong.message),
        status => Problem::new(status, wrong.message),
    }
}

/// "An error message string" (Authorization API 1.0, 10.1.2).
fn refusal(problem: Problem) -> Answer {
    let text = problem.told();
    problem.into_answer_with("text/plain; charset=utf-8", text + "\n")
}
