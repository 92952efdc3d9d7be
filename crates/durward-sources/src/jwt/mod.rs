//! `jwt.token`: the token among the secrets of a subscription, and whether it is valid now.
//!
//! What a token is worth, `durward-library` says, without a clock or a network; here are the keys, and the moments at which
//! it is asked again: exactly when the token becomes valid or expires, and when a key has to be fetched anew.

mod keys;
mod settings;

use std::sync::Arc;

use durward_library::jwt::{Inspection, TrustedKey, inspect, key_id};
use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher, Reads};
use tokio::runtime::Handle;

use super::clock::{milliseconds, sleep_until};
use super::http::Client;
use super::task::Task;
use crate::Clock;
use keys::Keys;
use settings::{JwtSettings, KeyServer};

/// The attribute `jwt.token`.
pub(super) struct JwtFinder {
    keys: Arc<Keys>,
    runtime: Handle,
    clock: Clock,
}

impl JwtFinder {
    pub(super) fn new(client: Arc<Client>, runtime: Handle, clock: Clock) -> JwtFinder {
        JwtFinder { keys: Arc::new(Keys::new(client, Arc::clone(&clock))), runtime, clock }
    }
}

/// One token under one configuration.
struct Judged {
    token: Value,
    settings: JwtSettings,
    publisher: Publisher,
    clock: Clock,
}

impl Judged {
    /// Says what the token is worth with this key; gives when that changes.
    fn judge(&self, key: Option<&TrustedKey>) -> Option<i64> {
        let now_ms = milliseconds(&self.clock);
        let Inspection { value, changes_at_ms, .. } =
            inspect(&self.token, |_| key.cloned(), now_ms, &self.settings.rules);
        self.publisher.publish(Ok(value));
        changes_at_ms
    }

    /// With a key that stays what it is.
    async fn keep(self, key: Option<TrustedKey>, mut change_ms: Option<i64>) {
        while let Some(moment_ms) = change_ms {
            sleep_until(&self.clock, moment_ms).await;
            change_ms = self.judge(key.as_ref());
        }
        // The source must not end: it would be opened again after the poll interval.
        std::future::pending::<()>().await;
    }

    /// With a key that has to be fetched, and fetched again. One that was known stays until its server says otherwise.
    async fn follow(self, keys: Arc<Keys>, server: KeyServer, id: String) {
        let mut known = None;
        loop {
            let fetched = keys.get(&server, &id).await;
            if fetched.is_certain || fetched.key.is_some() {
                known = fetched.key;
            }
            let change_ms = self.judge(known.as_ref());
            let next_ms = change_ms.map_or(fetched.until_ms, |change_ms| change_ms.min(fetched.until_ms));
            sleep_until(&self.clock, next_ms).await;
        }
    }
}

impl AttributeFinder for JwtFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        invocation.name == "jwt.token" && invocation.entity.is_none() && invocation.arguments.len() <= 1
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads::EVERYTHING
    }

    fn open(&self, invocation: &Invocation, context: &Context, publisher: Publisher) -> Box<dyn Send> {
        let settings = match JwtSettings::of(invocation, context) {
            Ok(settings) => settings,
            Err(fault) => {
                publisher.publish(Err(Fault::processing(format!("`jwt.token`: {fault}"))));
                return Box::new(());
            }
        };
        let secrets = context.secrets.as_deref().and_then(Value::as_object);
        let token = secrets.and_then(|secrets| secrets.get(&settings.secret)).cloned();
        let token = token.unwrap_or(Value::Undefined);
        let id = token.as_text().and_then(key_id);
        let own = id.as_deref().and_then(|id| settings.key(id));
        let server = settings.server.clone().filter(|_| own.is_none());
        let judged = Judged { token, settings, publisher, clock: Arc::clone(&self.clock) };
        if let (Some(id), Some(server)) = (id, server) {
            let keys = Arc::clone(&self.keys);
            return Box::new(Task::spawn(&self.runtime, judged.follow(keys, server, id)));
        }
        // At once, so that a decision that needs nothing else does not wait; and without a task if nothing will change.
        match judged.judge(own.as_ref()) {
            None => Box::new(judged.publisher),
            change_ms => Box::new(Task::spawn(&self.runtime, judged.keep(own, change_ms))),
        }
    }
}
