//! The store for several nodes: a replicated stream in NATS JetStream.
//!
//! Nothing of our own lies beneath it. Records are messages of one stream, whose sequence is their number; `Nats-Msg-Id` is the
//! record's name with a part of its signature, by which the stream takes it once; the stream's leader acknowledges when a majority of its servers has it.
//!
//! # How fresh is fresh
//!
//! `assured-read` asks for the number of the last record that was acknowledged. JetStream has no read that answers that: the
//! stream's state and a "leader's" message come from whichever server believes that it leads, and one that was cut off believes so for
//! seconds after others have a new leader ("may still be observed as eventually consistent if an outdated leader from a
//! previous term answers": nats-io/nats-server, pull request 7146, which would have added such a read and was closed). Only writes
//! are linearizable ("for writes (publications to a stream), the formal consistency model of NATS JetStream is linearizable":
//! NATS documentation, JetStream, "Persistent and consistent distributed storage"). So the question is a write: a message
//! without content under the node's own subject `f.NODE`. Its acknowledgement means that a majority has put it into the log, behind
//! everything that was acknowledged before, and its number is the answer. A server that was cut off cannot acknowledge it.
//!
//! The same message comes back to the node that sent it as [`Event::Idle`]: by then it has been sent everything before. It does
//! so once a second when nobody asks; hence a node that reads from a server that was cut off, and would hear nothing new, notices. The
//! stream forgets these messages after five seconds, and nobody but their node reads them.
//!
//! # What is kept, and for how long
//!
//! Each record has a time of its own after which the stream forgets it: of a login and of a logout, when the session would have ended
//! at the latest; of a note of use, when the session would have been idle for too long; everything else, a key's period
//! and the longest session. To all of that, twice the difference that clocks may have is added. So there is nothing to
//! compact, and a node that starts replays what can still matter, not the life of the cluster.
//!
//! # Who is believed
//!
//! What is signed under the cluster's secret, for the place where it stands ([`sign`]); everything else is passed over.
//!
//! # What it does not do
//!
//! A server that loses power loses what it had not flushed: two minutes, unless `sync_interval: always` is set there. When that
//! happens to a majority at once, records that were acknowledged are gone. `docs/identity-cluster.md` says how to set it.

mod clocks;
mod connect;
mod fetch;
mod fresh;
mod link;
mod peers;
mod reader;
mod settings;
mod sign;
mod stream;
mod subject;
mod users;
mod writer;

use std::sync::Arc;

use async_nats::Client;
use async_nats::jetstream::{self, Context};
use durward_identity::protocol::Mode;
use durward_identity::{Entropy, IdentityError, SystemEntropy};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use self::connect::connect_options;
pub use self::settings::{NatsLogin, NatsSettings, Retention, SERVERS_MAX, STREAM_NAME_LENGTH_MAX};
use self::sign::MessageSigner;
use self::subject::ClusterSubjects;
pub use self::users::NatsUsers;
use crate::Clock;
use crate::store::{NodeLink, SessionStore, StoreCommand, StoreTask};

/// Sessions in NATS: in a stream of JetStream, or in the mode `none` as news between nodes.
pub struct Nats {
    settings: NatsSettings,
    retention: Retention,
    clock: Clock,
    options: connect::NatsConnectOptions,
    signer: MessageSigner,
    node: String,
}

/// What the tasks of one store share.
struct NatsShared {
    settings: NatsSettings,
    retention: Retention,
    clock: Clock,
    client: Client,
    context: Context,
    subjects: ClusterSubjects,
    signer: MessageSigner,
    /// A record that this node cannot read, and without which it must not go on.
    unreadable: watch::Sender<Option<String>>,
    /// What time the stream's leader said it was.
    store_times: clocks::StoreTimes,
}

impl Nats {
    /// A store that is not connected yet: the files that are named are read here, the network is for later. What nodes write there is
    /// signed under the secret that they share.
    ///
    /// # Errors
    /// A setting is wrong, a file cannot be read or does not hold what it should, or there is no randomness.
    pub fn new(
        settings: NatsSettings,
        secret: &[u8; 32],
        retention: Retention,
        clock: Clock,
    ) -> Result<Nats, IdentityError> {
        settings.check()?;
        let options = connect::NatsConnectOptions::read(&settings)?;
        let mut name = [0; 8];
        SystemEntropy.fill(&mut name)?;
        let node = format!("{:016x}", u64::from_be_bytes(name));
        let signer = MessageSigner::new(secret, &settings.stream);
        Ok(Nats { settings, retention, clock, options, signer, node })
    }
}

impl SessionStore for Nats {
    fn name(&self) -> &'static str {
        "nats"
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, orders: mpsc::Receiver<StoreCommand>, node: NodeLink) -> StoreTask {
        Box::pin(work(*self, orders, node))
    }
}

async fn work(nats: Nats, orders: mpsc::Receiver<StoreCommand>, node: NodeLink) {
    let Nats { settings, retention, clock, options, signer, node: name } = nats;
    let (client, connection) = match options.connect(&settings, &node).await {
        Ok(connected) => connected,
        // It tries for ever; what ends it at once is wrong in the settings.
        Err(error) => {
            tracing::error!("the session store cannot be used: {error}");
            node.complain(Some(&error.to_string()));
            return;
        }
    };
    let mode = retention.mode;
    let mut context = jetstream::new(client.clone());
    context.set_timeout(settings.answer_within);
    let subjects = ClusterSubjects::new(&settings.stream, &name);
    let unreadable = watch::Sender::new(None);
    let store_times = clocks::StoreTimes::default();
    let shared =
        NatsShared { settings, retention, clock, client, context, subjects, signer, unreadable, store_times };
    let shared = Arc::new(shared);
    // It ends with this task.
    let mut compared = JoinSet::new();
    compared.spawn(clocks::compare(shared.clone(), name.clone(), node.clone()));
    match mode {
        Mode::None => peers::talk(shared, name, orders, node).await,
        Mode::BestEffort | Mode::AssuredWrite | Mode::AssuredRead => {
            link::keep(shared, connection, orders, node).await;
        }
    }
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Nats({:?}, stream {})", self.settings.servers, self.settings.stream)
    }
}
