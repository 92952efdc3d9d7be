//! `http.get`, `http.post`, `http.put`, `http.patch`, `http.delete` and `http.websocket`.
//!
//! One request gives one value; the broker asks again after the poll interval. What goes wrong is the attribute's value,
//! an error, until then, as in SAPL's engine: retries are for sources that break off.

mod client;
mod headers;
mod request;
mod websocket;

use std::sync::Arc;

use durward_net::trace;
use durward_pdp::SourceError;
use durward_pdp::ir::Fault;
use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher, Reads};
use tokio::runtime::Handle;

pub(crate) use client::Client;
pub(crate) use request::{Request, scalar};

use super::task::{Task, leave};
use request::Verb;

/// The attributes of the library `http`.
pub(super) struct HttpFinder {
    client: Arc<Client>,
    runtime: Handle,
    answer_bytes_max: usize,
}

impl HttpFinder {
    pub(super) fn new(client: Arc<Client>, runtime: Handle, answer_bytes_max: usize) -> HttpFinder {
        HttpFinder { client, runtime, answer_bytes_max }
    }

    fn start(&self, verb: Verb, name: String, request: Request, publisher: Publisher) -> Box<dyn Send> {
        let client = Arc::clone(&self.client);
        let fault = move |error: SourceError| Fault::processing(format!("`{name}` of {error}"));
        match verb {
            Verb::Http(_) => Box::new(Task::spawn(&self.runtime, async move {
                if let Err(error) = client.run(request, &publisher).await {
                    publisher.publish(Err(fault(error)));
                }
            })),
            Verb::WebSocket => {
                let (handle, leaving) = leave();
                self.runtime.spawn(trace::carried(async move {
                    if let Err(error) = client.listen(request, &publisher, leaving).await {
                        publisher.publish(Err(fault(error)));
                    }
                }));
                Box::new(handle)
            }
        }
    }
}

impl AttributeFinder for HttpFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        let arguments = if invocation.entity.is_some() { 0..=1 } else { 1..=1 };
        Verb::of(&invocation.name).is_some() && arguments.contains(&invocation.arguments.len())
    }

    fn reads(&self, invocation: &Invocation) -> Reads {
        let settings = invocation.arguments.first().and_then(|settings| settings.as_object());
        let has_secret = settings.is_some_and(|settings| settings.contains_key("secretsKey"));
        if has_secret { Reads::EVERYTHING } else { Reads::NOTHING }
    }

    fn open(&self, invocation: &Invocation, context: &Context, publisher: Publisher) -> Box<dyn Send> {
        let Some(verb) = Verb::of(&invocation.name) else { return Box::new(()) };
        match Request::of(&verb, invocation, context, self.answer_bytes_max) {
            Ok(request) => self.start(verb, invocation.name.to_string(), request, publisher),
            Err(fault) => {
                publisher.publish(Err(Fault::processing(format!("`{}`: {fault}", invocation.name))));
                Box::new(())
            }
        }
    }
}
