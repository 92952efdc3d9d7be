//! XACML over HTTP: the REST profile (`pdp`), and the paths of other decision points (`dialect`). `wire` reads and writes.

pub(crate) mod dialect;
mod pdp;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use durward_common::access::auth::{Authenticator, Denied, Identity, Presented};
use durward_common::access::rates::Rates;
use durward_common::access::subject::Subjects;
use durward_common::access::subject::fence::Fence;
use durward_common::base::metrics::Metrics;
use durward_common::decision_log::Recorder;
use durward_common::policies::InForce;
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::direct::DirectAnswer;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Call};
use durward_pdp::xacml::request::Limits;
use durward_settings::{Guarded, Settings};
use hyper::StatusCode;
use hyper::http::request;
use smol_str::SmolStr;

use dialect::Dialect;
use durward_sources::AttributeSources;
use durward_wire::http1::DirectRequest;

/// What requests are answered with.
pub(crate) struct Surface {
    policies: Arc<InForce>,
    /// Where attributes come from that requests lack, if they are asked for.
    sources: Option<Arc<AttributeSources>>,
    /// Who shows tokens, where there are any.
    subjects: Option<Subjects>,
    fence: Fence,
    /// Who verifies callers, where `[auth]` guards this.
    guard: Option<Arc<Authenticator>>,
    /// How often callers may ask.
    rates: Arc<Rates>,
    recorder: Recorder,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    request_limits: Limits,
    /// Whether JSON has short identifiers whoever asks.
    json_short_ids: bool,
    /// Whose policies decide.
    tenant: SmolStr,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) policies: &'p Arc<InForce>,
    pub(crate) sources: Option<&'p Arc<AttributeSources>>,
    pub(crate) subjects: Option<&'p Subjects>,
    pub(crate) fence: &'p Fence,
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) rates: &'p Arc<Rates>,
    pub(crate) recorder: &'p Recorder,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>) -> Surface {
        Surface {
            policies: Arc::clone(parts.policies),
            sources: parts.sources.cloned(),
            subjects: parts.subjects.cloned(),
            fence: parts.fence.clone(),
            guard: settings.auth.guards(Guarded::Pdp).then(|| Arc::clone(parts.authenticator)),
            rates: Arc::clone(parts.rates),
            recorder: parts.recorder.clone(),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            request_limits: settings.limits.of_requests(settings.server.body_bytes_max),
            json_short_ids: settings.xacml.json_short_ids,
            tenant: settings.auth.default_tenant.as_str().into(),
        }
    }

    /// Who calls; `None` where nobody has to say.
    async fn caller(&self, head: &request::Parts) -> Result<Option<Identity>, Problem> {
        let Some(guard) = &self.guard else { return Ok(None) };
        let presented = Presented::from_request(&head.method, head.uri.path(), &head.headers);
        match guard.verify(presented).await {
            Ok(caller) if caller.tenant == self.tenant => Ok(Some(caller)),
            Ok(_) => {
                let detail = "these credentials are of a tenant whose policies are asked at /api/pdp";
                Err(Problem::new(StatusCode::FORBIDDEN, detail))
            }
            Err(Denied::Wrong) => Err(Problem::unauthorized(guard.ways())),
            Err(Denied::Busy) => {
                Err(Problem::unavailable("too many credentials are being verified; try again"))
            }
        }
    }

    /// The caller, where that is known without verifying.
    fn remembered(&self, authorization: Option<&str>, now: Instant) -> Option<Option<Identity>> {
        let Some(guard) = &self.guard else { return Some(None) };
        let caller = guard.remembered(&Presented::from_header(authorization), now)?;
        (caller.tenant == self.tenant).then_some(Some(caller))
    }

    /// Whether a caller may say who a request is about.
    fn lets_assert(&self, caller: Option<&Identity>) -> bool {
        self.fence.lets_assert(caller)
    }

    /// Whether somebody else looks at a caller's requests: attribute sources, the decision log, or whoever has to find the tokens in them.
    fn shows_requests(&self, caller: Option<&Identity>) -> bool {
        self.sources.is_some() || self.recorder.is_on() || !self.lets_assert(caller)
    }

    /// Whether any request can be answered as [`Surface::answer_direct`] does.
    pub(crate) fn answers_directly(&self) -> bool {
        let is_plain = self.sources.is_none() && !self.recorder.is_on() && !self.json_short_ids;
        is_plain && (self.guard.is_some() || self.lets_assert(None))
    }

    /// The answer of the REST profile to a request that its text alone decides; `None` where that is not enough, and then nothing was
    /// counted.
    pub(crate) fn answer_direct(
        &self,
        request: &DirectRequest<'_>,
        client: Option<IpAddr>,
    ) -> Option<DirectAnswer> {
        pdp::answer_direct(self, request, client)
    }

    /// Answers one request.
    pub(crate) async fn answer(
        &self,
        call: &Call,
        dialect: Dialect,
        request: hyper::Request<Incoming>,
    ) -> Answer {
        let Call { client, id, trace, .. } = call;
        let call = pdp::Call { surface: self, client: *client, id, trace, caller: None };
        pdp::answer(call, dialect, request).await
    }
}
