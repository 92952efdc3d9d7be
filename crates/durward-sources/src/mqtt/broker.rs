//! Connections to brokers, each shared by all who listen to it, made again when they break.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use durward_pdp::stream::Publisher;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::members::Members;
use super::session::{self, End};
use super::settings::{BrokerKey, Wanted};
use crate::task::{Leave, Task, leave};
use durward_net::connect::Connector;

/// How long to wait before a broken connection is made again, at first; doubled each time.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest pause between two attempts to connect.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The brokers that somebody listens to.
pub(super) struct Brokers {
    connector: Connector,
    runtime: Handle,
    open: Mutex<HashMap<BrokerKey, Weak<Broker>>>,
}

/// One of them; when the last member drops it, the connection is closed.
struct Broker {
    members: Arc<Members>,
    _leave: Leave,
}

/// One who listens, until it is dropped.
pub(super) struct Membership {
    broker: Arc<Broker>,
    id: u64,
    _reminder: Option<Task>,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.broker.members.leave(self.id);
    }
}

impl Brokers {
    pub(super) fn new(connector: Connector, runtime: Handle) -> Brokers {
        Brokers { connector, runtime, open: Mutex::default() }
    }

    /// Listens on behalf of one attribute.
    pub(super) fn join(&self, wanted: Wanted, publisher: Publisher) -> Membership {
        let broker = self.broker(&wanted.broker);
        let id = broker.members.join(&wanted, publisher);
        let reminder = (!wanted.default_after.is_zero()).then(|| {
            let members = Arc::clone(&broker.members);
            Task::spawn(&self.runtime, async move {
                sleep(wanted.default_after).await;
                members.remind(id, wanted.default);
            })
        });
        Membership { broker, id, _reminder: reminder }
    }

    fn broker(&self, key: &BrokerKey) -> Arc<Broker> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(broker) = open.get(key).and_then(Weak::upgrade) {
            return broker;
        }
        open.retain(|_, broker| broker.strong_count() > 0);
        let (handle, leaving) = leave();
        let broker = Arc::new(Broker { members: Arc::default(), _leave: handle });
        open.insert(key.clone(), Arc::downgrade(&broker));
        let (connector, members) = (self.connector.clone(), Arc::clone(&broker.members));
        self.runtime.spawn(live(connector, key.clone(), members, leaving));
        broker
    }
}

/// Connects, and connects again, until nobody listens any more.
async fn live(
    connector: Connector,
    key: BrokerKey,
    members: Arc<Members>,
    mut leaving: oneshot::Receiver<()>,
) {
    let mut pause = PAUSE_MIN;
    loop {
        let mut was_connected = false;
        let session = session::run(&connector, &key, &members, &mut was_connected, &mut leaving).await;
        let End::Lost(reason) = session else { return };
        let reason = format!("{}: {reason}", key.endpoint);
        tracing::warn!(broker = %key.endpoint, reason, "the connection to an MQTT broker is lost; trying again");
        members.lost(was_connected, &reason);
        if was_connected {
            pause = PAUSE_MIN;
        }
        tokio::select! {
            () = sleep(pause) => {}
            _ = &mut leaving => return,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
