//! Routes of gateways. They take GET alone: no other method has an answer that a gateway could take for a yes.

use super::who::WHO_IS_GATEWAY;
use super::{Endpoint, Route};
use crate::surfaces::doors::Door;

const GET: &[&str] = &["GET"];

pub(super) const DOORS: &[Route] = &[
    Route {
        path: "/doors/nginx",
        methods: GET,
        who: WHO_IS_GATEWAY,
        what: "tells nginx whether a request may pass (`auth_request`)",
        endpoint: Endpoint::Door(Door::Nginx),
    },
    Route {
        path: "/doors/caddy",
        methods: GET,
        who: WHO_IS_GATEWAY,
        what: "tells Caddy the same (`forward_auth`)",
        endpoint: Endpoint::Door(Door::Caddy),
    },
    Route {
        path: "/doors/traefik",
        methods: GET,
        who: WHO_IS_GATEWAY,
        what: "tells Traefik the same (ForwardAuth)",
        endpoint: Endpoint::Door(Door::Traefik),
    },
    Route {
        path: "/doors/haproxy",
        methods: GET,
        who: WHO_IS_GATEWAY,
        what: "tells HAProxy the same, by a script of the manual",
        endpoint: Endpoint::Door(Door::Haproxy),
    },
];
