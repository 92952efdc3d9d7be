//! Every route there is: the list the router walks, and the one `docs/routes.md` is compared with.

use super::sapl::Ask;
use crate::settings::Settings;

/// One path and what may be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path, exactly.
    pub path: &'static str,
    /// The methods it takes, as `Allow` lists them.
    pub methods: &'static [&'static str],
    /// Who may call it.
    pub who: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    pub(crate) endpoint: Endpoint,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Home,
    Pdp,
    Live,
    Ready,
    Metrics,
    Sapl(Ask),
}

/// Whoever may open a connection: the address listened on, TLS client certificates and the proxy in front decide
/// about that, not the route.
const WHO_CONNECTS: &str = "whoever may connect";

/// Whoever `[auth]` lets in. Not there unless `sapl.http` is set.
const WHO_AUTHENTICATES: &str = "whoever `[auth]` lets in, where `sapl.http` is set";

const POST: &[&str] = &["POST"];

const READ: &[&str] = &["GET", "HEAD", "OPTIONS"];

/// Every route. A path that is not here is answered with 404, a method that is not here with 405.
pub const ROUTES: &[Route] = &[
    Route {
        path: "/pdp",
        methods: &["POST", "OPTIONS"],
        who: WHO_CONNECTS,
        what: "decides a XACML request, XML or JSON",
        endpoint: Endpoint::Pdp,
    },
    Route {
        path: "/",
        methods: READ,
        who: WHO_CONNECTS,
        what: "home document with the link to `/pdp`; a page for browsers",
        endpoint: Endpoint::Home,
    },
    Route {
        path: "/health/live",
        methods: READ,
        who: WHO_CONNECTS,
        what: "whether the process answers",
        endpoint: Endpoint::Live,
    },
    Route {
        path: "/health/ready",
        methods: READ,
        who: WHO_CONNECTS,
        what: "whether it can decide, by which policies, and what is wrong with newer ones",
        endpoint: Endpoint::Ready,
    },
    Route {
        path: "/metrics",
        methods: READ,
        who: WHO_CONNECTS,
        what: "counters for Prometheus",
        endpoint: Endpoint::Metrics,
    },
    Route {
        path: "/api/pdp/decide-once",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides a SAPL subscription",
        endpoint: Endpoint::Sapl(Ask::DecideOnce),
    },
    Route {
        path: "/api/pdp/decide",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides a SAPL subscription again whenever the decision changes (events)",
        endpoint: Endpoint::Sapl(Ask::Decide),
    },
    Route {
        path: "/api/pdp/multi-decide",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions, and tells those decisions that change (events)",
        endpoint: Endpoint::Sapl(Ask::MultiDecide),
    },
    Route {
        path: "/api/pdp/multi-decide-all",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions, and tells all decisions when one changes (events)",
        endpoint: Endpoint::Sapl(Ask::MultiDecideAll),
    },
    Route {
        path: "/api/pdp/multi-decide-all-once",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions",
        endpoint: Endpoint::Sapl(Ask::MultiDecideAllOnce),
    },
];

/// The route of a path. Ten comparisons cost less than hashing the path would.
pub(crate) fn find(path: &str, settings: &Settings) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path).filter(|route| route.is_on(settings))
}

impl Route {
    /// Whether the settings let it be there.
    fn is_on(&self, settings: &Settings) -> bool {
        match self.endpoint {
            Endpoint::Sapl(_) => settings.sapl.http,
            Endpoint::Home | Endpoint::Pdp | Endpoint::Live | Endpoint::Ready | Endpoint::Metrics => true,
        }
    }

    pub(crate) fn allows(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }
}
