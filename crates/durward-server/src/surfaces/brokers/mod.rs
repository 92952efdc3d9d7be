//! `/doors/rabbitmq/...` and `/doors/emqx/...`: message brokers that ask who may log in, and what a user may do with a queue or a topic.
//!
//! ```text
//!   RabbitMQ: form ----.                     .--> question --> verdict --> allow [tags], deny
//!   EMQX: JSON --------+--> user (login) ----'                             {"result": "allow" | "deny", ...}
//!   NATS: JWT ---------'                                                   a user's JWT, or an error
//! ```
//!
//! A password is verified by the logins of this server, or is a token that it gave. What is not understood is denied, in the words of the
//! broker: EMQX goes on to its next authenticator where it is answered with an error.

mod emqx;
mod expiry;
#[cfg(feature = "nats")]
pub(crate) mod nats;
mod rabbitmq;
mod user;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use durward_common::access::auth::Identity;
use durward_common::access::subject::Subjects;
use durward_common::base::Clock;
#[cfg(feature = "nats")]
use durward_common::base::traces::Traces;
use durward_common::decision_log::Surface as Way;
use durward_common::question::{
    Action, Asked, Asker, Counted, Entity, Logged, Question, SubjectBy, Verdict, Wrong,
};
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, Call};
use durward_net::trace::Trace;
use durward_pdp::ir::Value;
use durward_pdp::ir::value::ObjectBuilder;
use durward_session::Service;
use durward_settings::Settings;
use hyper::StatusCode;
use smol_str::SmolStr;

use self::user::{BrokerUser, Users};
use crate::surfaces::callers::{self, CallerNames, Callers};

const NAMES: CallerNames = CallerNames {
    caller: "broker",
    body_bytes_max: "brokers.callers.body_bytes_max",
    requests_per_second_max: "brokers.callers.requests_per_second_max",
};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    RabbitmqUser,
    RabbitmqVhost,
    RabbitmqResource,
    RabbitmqTopic,
    EmqxAuthentication,
    EmqxAuthorization,
}

impl Ask {
    /// Whether EMQX asks so; otherwise RabbitMQ does.
    pub(crate) const fn is_of_emqx(self) -> bool {
        match self {
            Ask::EmqxAuthentication | Ask::EmqxAuthorization => true,
            Ask::RabbitmqUser | Ask::RabbitmqVhost | Ask::RabbitmqResource | Ask::RabbitmqTopic => false,
        }
    }
}

/// What requests are answered with.
pub(crate) struct Surface {
    asker: Arc<Asker>,
    callers: Callers,
    users: Users,
    clock: Clock,
    #[cfg(feature = "nats")]
    traces: Arc<Traces>,
}

/// What the surface shares with others.
pub(crate) struct Parts<'p> {
    pub(crate) callers: &'p callers::Parts<'p>,
    pub(crate) asker: &'p Arc<Asker>,
    pub(crate) service: Option<&'p Service>,
    pub(crate) subjects: Option<&'p Subjects>,
    pub(crate) clock: &'p Clock,
    #[cfg(feature = "nats")]
    pub(crate) traces: &'p Arc<Traces>,
}

/// Who asks, and how the decision log calls it.
#[derive(Clone, Copy)]
struct Asking<'a> {
    asker: &'a Asker,
    caller: &'a Identity,
    client: Option<SocketAddr>,
    request_id: &'a str,
    trace: &'a Trace,
    way: Way,
    route: &'static str,
    length: usize,
}

/// Why somebody is not let in; for operators who look closely.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NotLetIn(String);

impl From<Wrong> for NotLetIn {
    fn from(wrong: Wrong) -> NotLetIn {
        NotLetIn(wrong.message)
    }
}

impl NotLetIn {
    fn new(why: impl Into<String>) -> NotLetIn {
        NotLetIn(why.into())
    }
}

impl Surface {
    pub(crate) fn new(settings: &Settings, parts: &Parts<'_>) -> Surface {
        Surface {
            asker: Arc::clone(parts.asker),
            callers: Callers::new(&settings.brokers.callers, NAMES, parts.callers),
            users: Users::new(&settings.brokers, parts.service, parts.subjects),
            clock: Arc::clone(parts.clock),
            #[cfg(feature = "nats")]
            traces: Arc::clone(parts.traces),
        }
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, call: &Call, ask: Ask, request: hyper::Request<Incoming>) -> Answer {
        if ask.is_of_emqx() {
            emqx::answer(self, call, ask, request).await
        } else {
            rabbitmq::answer(self, call, ask, request).await
        }
    }

    fn asking<'a>(
        &'a self,
        call: &'a Call,
        caller: &'a Identity,
        (way, route): (Way, &'static str),
        length: usize,
    ) -> Asking<'a> {
        let (client, request_id, trace) = (Some(call.client), call.id.as_str(), &call.trace);
        Asking { asker: &self.asker, caller, client, request_id, trace, way, route, length }
    }
}

impl Asking<'_> {
    /// Decides what a user may do.
    async fn decide(
        &self,
        user: &BrokerUser,
        action: &str,
        resource: Entity,
        context: ObjectBuilder,
    ) -> Result<Verdict, NotLetIn> {
        let subject =
            Entity { kind: "user".into(), id: user.name.clone(), properties: user.properties.clone() };
        let action = Action { name: action.into(), properties: None };
        let context = (!context.is_empty()).then(|| Arc::new(context.finish()));
        let question = Question { subject, action, resource, context };
        let asked = Asked {
            caller: self.caller,
            client: self.client,
            request_id: self.request_id,
            trace: self.trace,
            surface: self.way,
            route: self.route,
            length: self.length,
            logged: Logged::Each,
            counted: Counted::ByAsker,
        };
        let by = if user.is_verified { SubjectBy::Verified } else { SubjectBy::Caller };
        Ok(self.asker.decide(&asked, &question, &by).await?)
    }

    /// Says why somebody was not let in without a decision, which the decision log hence does not have.
    fn note(&self, why: &NotLetIn) {
        tracing::debug!(request_id = self.request_id, surface = self.way.as_str(), route = self.route, why = %why.0, "denied");
    }
}

/// A resource with texts as properties.
fn resource<const N: usize>(kind: &str, id: &str, properties: [(&'static str, Value); N]) -> Entity {
    let properties = (N > 0).then(|| Arc::new(properties.into_iter().collect()));
    Entity { kind: kind.into(), id: id.into(), properties }
}

/// The broker itself, which users log in at.
fn broker(name: &str) -> Entity {
    resource("broker", name, [])
}

/// Adds a member that is a text, where there is one.
fn add(context: &mut ObjectBuilder, name: &'static str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        context.insert(name, Value::text(text));
    }
}

/// From where guesses at a user's password count as coming, where the broker does not say from where they come: all that come over one broker
/// would be one address otherwise, and whoever guesses there could keep all others out. An address of a private network (RFC 4193) for each
/// name.
fn address_of_name(name: &SmolStr) -> IpAddr {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(name.as_bytes());
    let mut octets = [0; 16];
    for (octet, byte) in octets.iter_mut().zip(std::iter::once(0xfd).chain(digest.iter().copied().take(7))) {
        *octet = byte;
    }
    IpAddr::from(octets)
}

/// A refusal that is not of the broker's own words.
fn is_of_stranger(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_an_address_of_its_own() {
        let (ada, eve) = (address_of_name(&"ada".into()), address_of_name(&"eve".into()));
        assert_eq!(ada, address_of_name(&"ada".into()));
        let network = |address: IpAddr| match address {
            IpAddr::V6(address) => address.segments()[..4].to_vec(),
            IpAddr::V4(_) => Vec::new(),
        };
        assert!(network(ada) != network(eve) && network(ada)[0] >> 8 == 0xfd);
    }
}
