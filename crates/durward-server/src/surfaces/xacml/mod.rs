//! XACML over HTTP: the REST profile (`pdp`), and the paths of other decision points (`dialect`). `wire` reads and writes.

pub(crate) mod dialect;
mod pdp;
mod wire;

use std::sync::Arc;

use durward_pdp::xacml::request::Limits;
use hyper::body::Incoming;
use smol_str::SmolStr;

use crate::access::subject::Subjects;
use crate::access::subject::fence::Fence;
use crate::base::metrics::Metrics;
use crate::base::settings::Settings;
use crate::decision_log::Recorder;
use crate::policies::InForce;
use crate::surfaces::http::body::Bodies;
use crate::surfaces::http::direct::DirectAnswer;
use crate::surfaces::http::{Answer, Call};
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
            recorder: parts.recorder.clone(),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            request_limits: settings.limits.of_requests(settings.server.body_bytes_max),
            json_short_ids: settings.xacml.json_short_ids,
            tenant: settings.auth.default_tenant.as_str().into(),
        }
    }

    /// Whether callers may say who a request is about. Nothing is known of callers here.
    fn lets_assert(&self) -> bool {
        self.fence.lets_assert(None)
    }

    /// Whether somebody else looks at requests: attribute sources, the decision log, or whoever has to find the tokens in them.
    fn shows_requests(&self) -> bool {
        self.sources.is_some() || self.recorder.is_on() || !self.lets_assert()
    }

    /// Whether any request can be answered as [`Surface::answer_direct`] does.
    pub(crate) fn answers_directly(&self) -> bool {
        !self.shows_requests() && !self.json_short_ids
    }

    /// The answer of the REST profile to a request that its text alone decides; `None` where that is not enough, and then nothing was
    /// counted.
    pub(crate) fn answer_direct(&self, request: &DirectRequest<'_>) -> Option<DirectAnswer> {
        pdp::answer_direct(self, request)
    }

    /// Answers one request.
    pub(crate) async fn answer(
        &self,
        call: &Call,
        dialect: Dialect,
        request: hyper::Request<Incoming>,
    ) -> Answer {
        pdp::answer(&pdp::Call { surface: self, client: call.client, id: &call.id }, dialect, request).await
    }
}
