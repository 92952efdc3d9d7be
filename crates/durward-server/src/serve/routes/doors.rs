//! Routes of gateways. But for Envoy's they take GET alone: no other method has an answer that a gateway could take for a yes.

use super::who::{WHO_CONNECTS_TO_DOORS, WHO_IS_GATEWAY};
use super::{Endpoint, Route};
use crate::surfaces::doors::Door;
use crate::surfaces::health::grpc::GrpcAsk;

const GET: &[&str] = &["GET"];

/// gRPC calls.
const POST: &[&str] = &["POST"];

/// Envoy over HTTP asks with the method of its client.
const ANY: &[&str] = &["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"];

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
    Route {
        path: "/envoy.service.auth.v3.Authorization/Check",
        methods: POST,
        who: WHO_IS_GATEWAY,
        what: "tells Envoy the same over gRPC (`ext_authz`)",
        endpoint: Endpoint::EnvoyCheck,
    },
    Route {
        path: "/doors/envoy/{target}",
        methods: ANY,
        who: WHO_IS_GATEWAY,
        what: "tells Envoy the same over HTTP; the target is any path",
        endpoint: Endpoint::Door(Door::EnvoyHttp),
    },
    Route {
        path: "/grpc.health.v1.Health/Check",
        methods: POST,
        who: WHO_CONNECTS_TO_DOORS,
        what: "tells over gRPC whether the server can decide",
        endpoint: Endpoint::GrpcHealth(GrpcAsk::Check),
    },
    Route {
        path: "/grpc.health.v1.Health/Watch",
        methods: POST,
        who: WHO_CONNECTS_TO_DOORS,
        what: "tells the same whenever it changes",
        endpoint: Endpoint::GrpcHealth(GrpcAsk::Watch),
    },
];
