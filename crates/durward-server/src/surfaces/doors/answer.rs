//! What a gateway is told, whichever way it asks. There is no answer by default: each way of asking says what becomes of every one.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

/// The answer to a gateway.
#[derive(Debug)]
pub(crate) enum DoorAnswer {
    /// The request passes.
    Allow(Allowed),
    Deny(Denied),
    /// The client is sent elsewhere, as an obligation says.
    Redirect(HeaderValue),
    /// Nobody who is known, where somebody must be. `login` is where a browser is sent.
    Unauthenticated {
        login: Option<HeaderValue>,
    },
    /// Nothing can be decided at the moment.
    Unavailable,
}

/// A request passes, with this. Only a permit whose obligations are all understood becomes one ([`super::obligations`]).
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(super) set: Vec<(HeaderName, HeaderValue)>,
    pub(super) removed: Vec<HeaderName>,
    pub(super) cache_s: Option<u32>,
}

impl Allowed {
    /// Headers that the application gets, in the place of what the client sent by these names. All identity headers are among them, empty where
    /// nothing is known.
    pub(crate) fn set(&self) -> &[(HeaderName, HeaderValue)] {
        &self.set
    }

    /// Headers of the client that the application does not get.
    pub(crate) fn removed(&self) -> &[HeaderName] {
        &self.removed
    }

    /// How long the answer may be used again for the same request of the same client.
    pub(crate) fn cache_s(&self) -> Option<u32> {
        self.cache_s
    }
}

/// A request does not pass.
#[derive(Debug)]
pub(crate) struct Denied {
    pub(crate) reason: Reason,
    /// From 400 on.
    pub(crate) status: StatusCode,
    /// What the client is told.
    pub(crate) body: Option<DeniedBody>,
}

/// A text for the client.
#[derive(Debug)]
pub(crate) struct DeniedBody {
    pub(crate) content_type: HeaderValue,
    pub(crate) text: String,
}

/// Why a request does not pass. Operators see it in `X-Durward-Reason`; it says nothing of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Who asks is no gateway of these settings.
    Proxy,
    /// The gateway does not say what it must, or says it twice.
    Fields,
    /// The target can be read in several ways.
    Target,
    /// No route matches.
    Route,
    /// The token is of another tenant.
    Tenant,
    /// What is known of the subject cannot be written in a header, or the client sends a header that looks like one of those.
    Identity,
    /// Policies do not permit it.
    Policy,
    /// A permit has an obligation that the gateway cannot meet.
    Obligation,
    /// The question cannot be asked.
    Question,
}

impl Reason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Reason::Proxy => "proxy",
            Reason::Fields => "fields",
            Reason::Target => "target",
            Reason::Route => "route",
            Reason::Tenant => "tenant",
            Reason::Identity => "identity",
            Reason::Policy => "policy",
            Reason::Obligation => "obligation",
            Reason::Question => "question",
        }
    }
}

impl From<Reason> for DoorAnswer {
    fn from(reason: Reason) -> DoorAnswer {
        DoorAnswer::Deny(Denied { reason, status: StatusCode::FORBIDDEN, body: None })
    }
}

impl DoorAnswer {
    /// As it is counted.
    pub(super) fn result(&self) -> &'static str {
        match self {
            DoorAnswer::Allow(_) => "allow",
            DoorAnswer::Deny(Denied { reason: Reason::Policy | Reason::Obligation, .. }) => "deny",
            DoorAnswer::Deny(_) => "refuse",
            DoorAnswer::Redirect(_) => "redirect",
            DoorAnswer::Unauthenticated { .. } => "unauthenticated",
            DoorAnswer::Unavailable => "unavailable",
        }
    }
}
