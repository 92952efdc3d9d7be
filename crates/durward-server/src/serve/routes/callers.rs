//! Routes of programs that ask about users of their own: API servers of Kubernetes, brokers.

use super::who::{POST, WHO_IS_API_SERVER, WHO_IS_EMQX, WHO_IS_RABBITMQ};
use super::{Endpoint, Route};
use crate::surfaces::brokers::Ask;

/// The authorization webhook of Kubernetes.
pub(super) const KUBERNETES: &[Route] = &[Route {
    path: "/doors/kubernetes/authorize",
    methods: POST,
    who: WHO_IS_API_SERVER,
    what: "answers a `SubjectAccessReview` of Kubernetes",
    endpoint: Endpoint::Kubernetes,
}];

/// Message brokers.
pub(super) const BROKERS: &[Route] = &[
    Route {
        path: "/doors/rabbitmq/user",
        methods: POST,
        who: WHO_IS_RABBITMQ,
        what: "tells RabbitMQ whether a user may log in, and with which tags",
        endpoint: Endpoint::Brokers(Ask::RabbitmqUser),
    },
    Route {
        path: "/doors/rabbitmq/vhost",
        methods: POST,
        who: WHO_IS_RABBITMQ,
        what: "tells it whether a user may use a virtual host",
        endpoint: Endpoint::Brokers(Ask::RabbitmqVhost),
    },
    Route {
        path: "/doors/rabbitmq/resource",
        methods: POST,
        who: WHO_IS_RABBITMQ,
        what: "tells it whether a user may configure, write or read a queue or an exchange",
        endpoint: Endpoint::Brokers(Ask::RabbitmqResource),
    },
    Route {
        path: "/doors/rabbitmq/topic",
        methods: POST,
        who: WHO_IS_RABBITMQ,
        what: "tells it whether a user may publish to or read a topic",
        endpoint: Endpoint::Brokers(Ask::RabbitmqTopic),
    },
    Route {
        path: "/doors/emqx/authentication",
        methods: POST,
        who: WHO_IS_EMQX,
        what: "tells EMQX whether a user may log in, until when, and with which topics",
        endpoint: Endpoint::Brokers(Ask::EmqxAuthentication),
    },
    Route {
        path: "/doors/emqx/authorization",
        methods: POST,
        who: WHO_IS_EMQX,
        what: "tells it whether a user may publish or subscribe to a topic",
        endpoint: Endpoint::Brokers(Ask::EmqxAuthorization),
    },
];
