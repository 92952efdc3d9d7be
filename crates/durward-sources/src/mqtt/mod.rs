//! `mqtt.messages`: the messages of topics, from brokers that speak MQTT 5.
//!
//! The packets are rumqttc's, which is kept; the connection is durward's own. rumqttc's connects by itself, with a TLS
//! that brings along older versions of what is here already, and serves one subscriber; here all attributes of one broker
//! share a connection, and brokers are reached as all other services are.

mod broker;
mod members;
mod payload;
mod session;
mod settings;
mod topics;

use durward_pdp::ir::Fault;
use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher, Reads};
use tokio::runtime::Handle;

use broker::Brokers;
use durward_net::connect::Connector;
use settings::Wanted;

/// The attribute `mqtt.messages`.
pub(super) struct MqttFinder(Brokers);

impl MqttFinder {
    pub(super) fn new(connector: Connector, runtime: Handle) -> MqttFinder {
        MqttFinder(Brokers::new(connector, runtime))
    }
}

impl AttributeFinder for MqttFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        invocation.name == "mqtt.messages" && invocation.entity.is_some() && invocation.arguments.len() <= 2
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads { secrets: false, surroundings: true }
    }

    fn open(&self, invocation: &Invocation, context: &Context, publisher: Publisher) -> Box<dyn Send> {
        match Wanted::of(invocation, context) {
            Ok(wanted) => Box::new(self.0.join(wanted, publisher)),
            Err(fault) => {
                publisher.publish(Err(Fault::processing(format!("`mqtt.messages`: {fault}"))));
                Box::new(())
            }
        }
    }
}
