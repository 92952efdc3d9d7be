//! Users that nodes share: a record for each user, in a stream beside that of sessions.
//!
//! ```text
//!   `durward users` -> file -> Directory.unsent --- send ---> stream STREAM-users --- read ---> Directory.take_records -> file
//!   administrators over HTTP -> Directory.change -- serve --'                          (on every node)
//! ```
//!
//! The order of the store counts: a record is taken by the servers only if the last one of that user is still the one that its writer
//! had taken in (`Nats-Expected-Last-Subject-Sequence`). Whoever loses that race hears of the other change, and makes theirs anew over
//! it. What no node has sealed for its place, and what is of a lower revision than the known one, is passed over; where it stands in the
//! place of a user's last record, a node that knows better puts the record there again.
//!
//! Once a second a node sends a mark to itself through the stream: when the mark comes back, everything that was acknowledged before it
//! was sent has come as well. Until the first one is back the node is not ready.

mod read;
mod seal;
mod send;
mod stream;
mod view;

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, Context};
use durward_identity::protocol::Mode;
use durward_identity::user::{Directory, UserCluster, UserRecord};
use durward_identity::{Entropy, IdentityError, SystemEntropy};
use tokio::sync::{Notify, mpsc, watch};

use self::seal::UserSeal;
use self::stream::UserSubjects;
use self::view::StoreView;
use super::connect::NatsConnectOptions;
use super::settings::NatsSettings;
use crate::seldom::Seldom;
use crate::store::StoreTask;
use crate::users::{UserExchange, UsersLink};

/// How many changes of administrators may wait to be sent.
const REQUESTS_MAX: usize = 256;

/// Users that nodes share, in a stream of JetStream.
pub struct NatsUsers {
    settings: NatsSettings,
    options: NatsConnectOptions,
    seal: UserSeal,
    node: String,
    is_assured: bool,
    directory: Arc<Directory>,
    outbox: Arc<Outbox>,
    requests: mpsc::Receiver<PublishRequest>,
}

impl NatsUsers {
    /// Shares the users of a directory with all nodes that have the same secret and stream. Nothing is connected yet.
    ///
    /// # Errors
    /// A setting is wrong, a file cannot be read, there is no randomness, or the users are shared already.
    pub fn new(
        settings: NatsSettings,
        secret: &[u8; 32],
        mode: Mode,
        directory: &Arc<Directory>,
    ) -> Result<NatsUsers, IdentityError> {
        settings.check()?;
        let options = NatsConnectOptions::read(&settings)?;
        let mut name = [0; 8];
        SystemEntropy.fill(&mut name)?;
        let node = format!("{:016x}", u64::from_be_bytes(name));
        let seal = UserSeal::new(secret, &settings.stream)?;
        let (sender, requests) = mpsc::channel(REQUESTS_MAX);
        let patience = 2 * settings.answer_within;
        let outbox = Arc::new(Outbox { wake: Notify::new(), requests: sender, patience });
        directory.share(Arc::clone(&outbox) as Arc<dyn UserCluster>)?;
        let is_assured = mode.is_assured();
        let directory = Arc::clone(directory);
        Ok(NatsUsers { settings, options, seal, node, is_assured, directory, outbox, requests })
    }
}

impl UserExchange for NatsUsers {
    fn run(self: Box<Self>, link: UsersLink) -> StoreTask {
        Box::pin(work(*self, link))
    }
}

impl fmt::Debug for NatsUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NatsUsers({:?}, stream {})", self.settings.servers, self.settings.stream)
    }
}

/// Changes that an administrator waits for.
struct PublishRequest {
    records: Vec<UserRecord>,
    answer: SyncSender<Result<(), IdentityError>>,
}

/// What the directory gives its changes to.
struct Outbox {
    wake: Notify,
    requests: mpsc::Sender<PublishRequest>,
    /// How long an administrator waits.
    patience: Duration,
}

impl UserCluster for Outbox {
    fn publish(&self, records: &[UserRecord]) -> Result<(), IdentityError> {
        let (answer, answered) = sync_channel(1);
        let request = PublishRequest { records: records.to_vec(), answer };
        if self.requests.try_send(request).is_err() {
            return Err(IdentityError::new("too many changes of users wait for the other nodes: try again"));
        }
        match answered.recv_timeout(self.patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(IdentityError::new(
                "the store of users does not answer: look whether the change was made before you try again",
            )),
        }
    }

    fn wake(&self) {
        self.wake.notify_one();
    }
}

/// What the parts of one exchange share.
struct ExchangeShared {
    settings: NatsSettings,
    client: Client,
    context: Context,
    subjects: UserSubjects,
    seal: UserSeal,
    directory: Arc<Directory>,
    outbox: Arc<Outbox>,
    view: StoreView,
    /// How far the stream was read and taken in. Nothing while it is not open.
    position: watch::Sender<Option<u64>>,
    /// A record that this node cannot read, and without which it must not let anybody in.
    unreadable: Mutex<Option<String>>,
    /// Whether the cluster's modes ask for users that are as the others know them.
    is_assured: bool,
    link: UsersLink,
    /// What is said once a minute.
    said: Seldom,
}

impl ExchangeShared {
    fn unreadable(&self) -> Option<String> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_unreadable(&self, message: Option<String>) {
        *self.unreadable.lock().unwrap_or_else(PoisonError::into_inner) = message;
    }

    /// Complains, and says it in the log once a minute.
    fn complain(&self, message: &str) {
        self.link.complain(Some(message));
        if self.said.is_due() {
            tracing::warn!("users are not shared with other nodes: {message}");
        }
    }
}

async fn work(users: NatsUsers, link: UsersLink) {
    let NatsUsers { settings, options, seal, node, is_assured, directory, outbox, requests } = users;
    // What it knows of the connection is not needed: it is the mark that tells.
    let client = match options.connect(&settings, &link.node).await {
        Ok((client, _)) => client,
        Err(error) => {
            tracing::error!("users cannot be shared: {error}");
            link.complain(Some(&error.to_string()));
            return std::future::pending().await;
        }
    };
    let mut context = jetstream::new(client.clone());
    context.set_timeout(settings.answer_within);
    let subjects = UserSubjects::new(&settings.stream, &node);
    let shared = Arc::new(ExchangeShared {
        settings,
        client,
        context,
        subjects,
        seal,
        directory,
        outbox,
        view: StoreView::default(),
        position: watch::Sender::new(None),
        unreadable: Mutex::new(None),
        is_assured,
        link,
        said: Seldom::default(),
    });
    tokio::join!(
        read::read(Arc::clone(&shared)),
        read::mark(Arc::clone(&shared)),
        send::send(Arc::clone(&shared)),
        send::serve(shared, requests),
    );
}
