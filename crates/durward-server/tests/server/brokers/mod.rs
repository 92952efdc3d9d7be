//! Message brokers that ask: RabbitMQ and NATS with real servers, EMQX as it is recorded.

mod emqx;
#[cfg(feature = "nats")]
mod nats;
mod rabbitmq;
mod rabbitmq_server;
mod world;
