//! What surfaces share whose callers are programs that ask about users of their own: who may ask, how often and how much, and the obligations
//! and advice that all of them know.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use durward_common::access::auth::{Authenticator, Identity, Presented};
use durward_common::access::callers::{KnownCallers, NotKnown, Origin};
use durward_common::base::limits::Rate;
use durward_common::base::metrics::Metrics;
use durward_common::question::{Duty, Verdict};
use durward_common::surfaces::http::body::Bodies;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Call, negotiate::MediaType};
use durward_pdp::ir::Value;
use durward_settings::CallerSettings;
use hyper::http::request::Parts as Head;

/// What types of obligations and advice of ours begin with, where they are written in full.
const URN: &str = "urn:durward:obligation:";

/// Longest reason that somebody is told, in characters.
const REASON_LENGTH_MAX: usize = 1024;

/// How one surface calls itself and its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerNames {
    /// What callers without credentials are called in logs.
    pub(crate) caller: &'static str,
    pub(crate) body_bytes_max: &'static str,
    pub(crate) requests_per_second_max: &'static str,
}

/// Who may ask at one surface.
pub(crate) struct Callers {
    known: KnownCallers,
    bodies: Arc<Bodies>,
    metrics: Arc<Metrics>,
    rate: Rate,
    names: CallerNames,
    body_bytes_max: usize,
}

/// What surfaces share to know their callers.
pub(crate) struct Parts<'p> {
    pub(crate) authenticator: &'p Arc<Authenticator>,
    pub(crate) default_tenant: &'p str,
    pub(crate) bodies: &'p Arc<Bodies>,
    pub(crate) metrics: &'p Arc<Metrics>,
}

/// A request of somebody who may ask.
pub(crate) struct Received {
    pub(crate) caller: Identity,
    pub(crate) head: Head,
    /// What was sent, or why it cannot be had.
    pub(crate) body: Result<Bytes, Problem>,
}

impl Callers {
    pub(crate) fn new(settings: &CallerSettings, names: CallerNames, parts: &Parts<'_>) -> Callers {
        Callers {
            known: KnownCallers::new(settings, parts.default_tenant, names.caller, parts.authenticator),
            bodies: Arc::clone(parts.bodies),
            metrics: Arc::clone(parts.metrics),
            rate: Rate::new(settings.requests_per_second_max, Instant::now()),
            names,
            body_bytes_max: settings.body_bytes_max,
        }
    }

    /// Takes a request.
    ///
    /// # Errors
    /// Whoever sent it may not ask, or there are too many.
    pub(crate) async fn receive(
        &self,
        call: &Call,
        request: hyper::Request<Incoming>,
    ) -> Result<Received, Problem> {
        let presented = Presented::from_request(request.method(), request.uri().path(), request.headers());
        let (head, body) = request.into_parts();
        // A small body is taken before anything is refused, so that the connection can go on.
        let body = self.bodies.receive_within(body, (self.body_bytes_max, self.names.body_bytes_max)).await;
        let closes = body.is_err();
        let refused = |problem: Problem| if closes { problem.closing() } else { problem };
        let origin = Origin { client: call.client, has_certificate: call.has_certificate };
        let caller = self.known.identify(origin, presented, &head.headers).await;
        let caller = caller.map_err(|why| refused(self.problem(why)))?;
        if !self.rate.allows(Instant::now()) {
            self.metrics.limit_hit(self.names.requests_per_second_max);
            return Err(refused(Problem::too_many()));
        }
        Ok(Received { caller, head, body })
    }

    fn problem(&self, why: NotKnown) -> Problem {
        match why {
            NotKnown::Refused => Problem::unauthorized(self.known.ways()),
            NotKnown::Busy => Problem::unavailable("too many credentials are being verified; try again"),
        }
    }
}

/// Whether a body is JSON, as its field says.
pub(crate) fn is_json(content_type: Option<&str>) -> bool {
    content_type.and_then(MediaType::parse).is_some_and(|media_type| media_type.is("application", "json"))
}

/// Whether an obligation or advice is of this type of ours, written in short or in full.
pub(crate) fn is_of(duty: &Duty, name: &str) -> bool {
    is_kind(&duty.kind, name)
}

/// Whether this is how that type is written.
pub(crate) fn is_kind(kind: &str, name: &str) -> bool {
    kind == name || kind.strip_prefix(URN) == Some(name)
}

/// The reason that goes along with a decision: `reason` of an obligation or advice of the type `reason`. Without control characters, and
/// not longer than a line.
pub(crate) fn reason(verdict: &Verdict) -> Option<String> {
    let mut duties = verdict.obligations.iter().chain(&verdict.advice).filter(|duty| is_of(duty, REASON));
    let text = duties.find_map(|duty| duty.properties.as_object()?.get(REASON).and_then(Value::as_text))?;
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    Some(text.chars().take(REASON_LENGTH_MAX).map(plain).collect())
}

/// The type of a reason, and the member that has it.
pub(crate) const REASON: &str = "reason";

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;

    #[test]
    fn a_reason_is_one_line_of_an_obligation_or_advice() {
        let of =
            |decision: &str| reason(&Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap()));
        let advice = |kind: &str, text: &str| {
            format!(r#"{{"decision":"DENY","advice":["x",{{"type":"{kind}","reason":"{text}"}}]}}"#)
        };
        assert_eq!(of(&advice("reason", "ask\\n me")).as_deref(), Some("ask  me"));
        assert_eq!(of(&advice("urn:durward:obligation:reason", "a")).as_deref(), Some("a"));
        assert_eq!(of(&advice("hint", "a")), None);
        assert_eq!(of(&advice("reason", &"a".repeat(5000))).unwrap().len(), REASON_LENGTH_MAX);
        assert_eq!(of(r#"{"decision":"DENY","obligations":[{"type":"reason","reason":7}]}"#), None);
    }
}
