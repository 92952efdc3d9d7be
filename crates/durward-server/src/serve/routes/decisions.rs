//! Routes of decisions: XACML, SAPL, plans, explanations, AuthZEN, and the paths of other XACML servers.

use super::who::{
    POST, READ, WHO_AUTHENTICATES, WHO_AUTHENTICATES_AUTHZEN, WHO_CONNECTS, WHO_CONNECTS_AUTHZEN,
    WHO_CONNECTS_AUTHZFORCE, WHO_CONNECTS_UNGUARDED, WHO_CONNECTS_WSO2, WHO_EXPLAINS, WHO_IS_OF_TENANT,
    WHO_PLANS,
};
use super::{Endpoint, Route};
use crate::surfaces::authzen;
use crate::surfaces::sapl::Ask;
use crate::surfaces::xacml::dialect::{Dialect, Wso2};

/// XACML, and what operators ask.
pub(super) const FIRST: &[Route] = &[
    Route {
        path: "/pdp",
        methods: &["POST", "OPTIONS"],
        who: WHO_CONNECTS_UNGUARDED,
        what: "decides an XACML request, XML or JSON",
        endpoint: Endpoint::Pdp(Dialect::Rest),
    },
    Route {
        path: "/",
        methods: READ,
        who: WHO_CONNECTS,
        what: "returns the home document, which links to `/pdp`; to browsers a page",
        endpoint: Endpoint::Home,
    },
    Route {
        path: "/health/live",
        methods: READ,
        who: WHO_CONNECTS,
        what: "returns 200 while the process runs",
        endpoint: Endpoint::Live,
    },
    Route {
        path: "/health/ready",
        methods: READ,
        who: WHO_CONNECTS,
        what: "tells whether the server can decide, with which policies, and what is wrong with newer ones",
        endpoint: Endpoint::Ready,
    },
    Route {
        path: "/metrics",
        methods: READ,
        who: WHO_CONNECTS_UNGUARDED,
        what: "returns metrics for Prometheus",
        endpoint: Endpoint::Metrics,
    },
];

/// SAPL's decisions, plans, and explanations.
pub(super) const SAPL: &[Route] = &[
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
        what: "decides a SAPL subscription, and sends each new decision (event stream)",
        endpoint: Endpoint::Sapl(Ask::Decide),
    },
    Route {
        path: "/api/pdp/multi-decide",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions, and sends each decision that changes (event stream)",
        endpoint: Endpoint::Sapl(Ask::MultiDecide),
    },
    Route {
        path: "/api/pdp/multi-decide-all",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions, and sends all decisions when one changes (event stream)",
        endpoint: Endpoint::Sapl(Ask::MultiDecideAll),
    },
    Route {
        path: "/api/pdp/multi-decide-all-once",
        methods: POST,
        who: WHO_AUTHENTICATES,
        what: "decides several SAPL subscriptions",
        endpoint: Endpoint::Sapl(Ask::MultiDecideAllOnce),
    },
    Route {
        path: "/v1/plan",
        methods: POST,
        who: WHO_PLANS,
        what: "plans which rows are permitted: a filter for a database",
        endpoint: Endpoint::Sapl(Ask::Plan),
    },
    Route {
        path: "/v1/explain",
        methods: POST,
        who: WHO_EXPLAINS,
        what: "tells why a SAPL subscription, or an XACML request, is answered as it is",
        endpoint: Endpoint::Explain,
    },
];

/// AuthZEN.
pub(super) const AUTHZEN: &[Route] = &[
    Route {
        path: "/access/v1/evaluation",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "decides a question of AuthZEN",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluation),
    },
    Route {
        path: "/access/v1/evaluations",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "decides several questions of AuthZEN",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluations),
    },
    Route {
        path: "/access/v1/search/subject",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "lists the subjects that may do something (AuthZEN)",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchSubject),
    },
    Route {
        path: "/access/v1/search/resource",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "lists the resources that a subject may do something with (AuthZEN)",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchResource),
    },
    Route {
        path: "/access/v1/search/action",
        methods: POST,
        who: WHO_AUTHENTICATES_AUTHZEN,
        what: "lists the actions that a subject may take on a resource (AuthZEN)",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchAction),
    },
    Route {
        path: "/.well-known/authzen-configuration",
        methods: READ,
        who: WHO_CONNECTS_AUTHZEN,
        what: "tells where AuthZEN's clients ask what",
        endpoint: Endpoint::Authzen(authzen::Ask::Metadata),
    },
    Route {
        path: "/.well-known/authzen-configuration/{tenant}",
        methods: READ,
        who: WHO_CONNECTS_AUTHZEN,
        what: "tells the same for a tenant",
        endpoint: Endpoint::Authzen(authzen::Ask::Metadata),
    },
];

/// Paths of other XACML servers.
pub(super) const XACML: &[Route] = &[
    Route {
        path: "/api/identity/entitlement/decision/pdp",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "decides an XACML request, XML or JSON, as WSO2's entitlement API does",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Pdp)),
    },
    Route {
        path: "/api/identity/entitlement/decision/by-xacml",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "does the same",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Pdp)),
    },
    Route {
        path: "/api/identity/entitlement/decision/by-attrib",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "decides about `subject`, `resource` and `action`, each a JSON string, and `environment`, an array of strings",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Attributes)),
    },
    Route {
        path: "/api/identity/entitlement/decision/by-attrib-boolean",
        methods: POST,
        who: WHO_CONNECTS_WSO2,
        what: "decides about the same without `environment`, and answers `true` or `false`",
        endpoint: Endpoint::Pdp(Dialect::Wso2(Wso2::Truth)),
    },
    Route {
        path: "/api/identity/entitlement/decision/home",
        methods: READ,
        who: WHO_CONNECTS_WSO2,
        what: "returns WSO2's home document",
        endpoint: Endpoint::Wso2Home,
    },
    Route {
        path: "/domains/{domain}/pdp",
        methods: POST,
        who: WHO_CONNECTS_AUTHZFORCE,
        what: "decides an XACML request, XML or JSON, as AuthzForce does",
        endpoint: Endpoint::Pdp(Dialect::Authzforce),
    },
    Route {
        path: "/authzforce-ce/domains/{domain}/pdp",
        methods: POST,
        who: WHO_CONNECTS_AUTHZFORCE,
        what: "does the same, at the usual path of AuthzForce's web application",
        endpoint: Endpoint::Pdp(Dialect::Authzforce),
    },
];

/// AuthZEN, of the tenant in the path. Their first part is open, so they stand last.
pub(super) const AUTHZEN_TENANTS: &[Route] = &[
    Route {
        path: "/{tenant}/access/v1/evaluation",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/evaluation`",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluation),
    },
    Route {
        path: "/{tenant}/access/v1/evaluations",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/evaluations`",
        endpoint: Endpoint::Authzen(authzen::Ask::Evaluations),
    },
    Route {
        path: "/{tenant}/access/v1/search/subject",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/search/subject`",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchSubject),
    },
    Route {
        path: "/{tenant}/access/v1/search/resource",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/search/resource`",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchResource),
    },
    Route {
        path: "/{tenant}/access/v1/search/action",
        methods: POST,
        who: WHO_IS_OF_TENANT,
        what: "does the same as `/access/v1/search/action`",
        endpoint: Endpoint::Authzen(authzen::Ask::SearchAction),
    },
];
