//! Every route there is: the list the router walks, and the one `docs/routes.md` is compared with.

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
}

/// Whoever may open a connection: the address listened on, TLS client certificates and the proxy in front decide
/// about that, not the route.
const WHO_CONNECTS: &str = "whoever may connect";

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
];

/// The route of a path. Five comparisons cost less than hashing the path would.
pub(crate) fn find(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path)
}

impl Route {
    pub(crate) fn allows(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }
}
