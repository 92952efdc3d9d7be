//! Routes of provisioning (SCIM 2.0).

use durward_logins::surfaces::scim;

use super::who::WHO_PROVISIONS;
use super::{Endpoint, Route};

/// Users and groups.
pub(super) const SCIM: &[Route] = &[
    Route {
        path: "/scim/v2/Users",
        methods: &["GET", "POST"],
        who: WHO_PROVISIONS,
        what: "finds users, or creates one (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::Users),
    },
    Route {
        path: "/scim/v2/Users/{id}",
        methods: &["GET", "PUT", "PATCH", "DELETE"],
        who: WHO_PROVISIONS,
        what: "returns, replaces, changes or removes a user (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::User),
    },
    Route {
        path: "/scim/v2/Groups",
        methods: &["GET", "POST"],
        who: WHO_PROVISIONS,
        what: "finds groups, or puts users into a new one (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::Groups),
    },
    Route {
        path: "/scim/v2/Groups/{id}",
        methods: &["GET", "PUT", "PATCH", "DELETE"],
        who: WHO_PROVISIONS,
        what: "returns or changes the members of a group, or removes it (SCIM 2.0)",
        endpoint: Endpoint::Scim(scim::Ask::Group),
    },
    Route {
        path: "/scim/v2/ServiceProviderConfig",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "tells what of SCIM is supported",
        endpoint: Endpoint::Scim(scim::Ask::Config),
    },
    Route {
        path: "/scim/v2/Schemas",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "describes users and groups, as SCIM does",
        endpoint: Endpoint::Scim(scim::Ask::Schemas),
    },
    Route {
        path: "/scim/v2/Schemas/{id}",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "describes one of them",
        endpoint: Endpoint::Scim(scim::Ask::Schema),
    },
    Route {
        path: "/scim/v2/ResourceTypes",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "lists the kinds of resources: users and groups",
        endpoint: Endpoint::Scim(scim::Ask::Types),
    },
    Route {
        path: "/scim/v2/ResourceTypes/{id}",
        methods: &["GET"],
        who: WHO_PROVISIONS,
        what: "returns one of them",
        endpoint: Endpoint::Scim(scim::Ask::Type),
    },
];
