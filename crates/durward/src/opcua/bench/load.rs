//! The paper's high load, made by a process of its own: two clients of the resource server, and a client that reads from five other servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::session::{ClientIdentity, ClientSession};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::session::{KnownServer, execute, read, reading, tag, write, writing};
use crate::failure::CommandError;
use crate::opcua::application::OwnApplication;

/// How often the clients ask, in milliseconds, as in the paper.
const MIXED_MS: u64 = 15;
const READS_MS: u64 = 10;
/// Sessions that stand for the five other servers, and reads of each at a time.
const OTHERS: usize = 5;
const READS_OF_OTHERS: usize = 10;
/// Reads of the second client at a time.
const READS: usize = 7;
/// Tags that are used here and not by what is measured.
const FIRST_TAG: usize = 40;

/// Who is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AccessTarget {
    pub(super) pki: PathBuf,
    /// The resource server.
    pub(super) resource: String,
    /// What stands for the five others.
    pub(super) other: String,
}

impl AccessTarget {
    /// Begins; ends when what comes back is dropped.
    pub(super) async fn start(self) -> Result<JoinSet<()>, CommandError> {
        let application = OwnApplication::open(&self.pki)?;
        let client = || application.client("durward bench load");
        let resource = KnownServer::find(&self.resource, client()).await?;
        let other = KnownServer::find(&self.other, client()).await?;
        let mut running = JoinSet::new();
        running.spawn(mixed(enter(&resource).await?));
        running.spawn(reads(enter(&resource).await?, READS));
        for _ in 0..OTHERS {
            running.spawn(reads(enter(&other).await?, READS_OF_OTHERS));
        }
        Ok(running)
    }
}

async fn enter(place: &KnownServer) -> Result<Arc<ClientSession>, CommandError> {
    place.enter(&ClientIdentity::Anonymous).await.map(Arc::new)
}

/// An interval of which turns that are missed are not made up for.
fn every(ms: u64) -> Interval {
    let mut turns = interval(Duration::from_millis(ms));
    turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
    turns
}

/// Two reads, two writes and two calls at once, until the session is over.
async fn mixed(session: Arc<ClientSession>) {
    let (request, change) = (reading(&[tag(FIRST_TAG)]), writing(&[tag(FIRST_TAG)], 1.0));
    let mut turns = every(MIXED_MS);
    loop {
        turns.tick().await;
        let done = tokio::try_join!(
            read(&session, &request),
            read(&session, &request),
            write(&session, &change),
            write(&session, &change),
            execute(&session),
            execute(&session)
        );
        if done.is_err() {
            return;
        }
    }
}

/// So many reads at once, until the session is over.
async fn reads(session: Arc<ClientSession>, count: usize) {
    let mut turns = every(READS_MS);
    loop {
        turns.tick().await;
        let mut asked = JoinSet::new();
        for number in 0..count {
            let session = Arc::clone(&session);
            asked.spawn(async move { read(&session, &reading(&[tag(FIRST_TAG + number)])).await.is_ok() });
        }
        if !asked.join_all().await.into_iter().all(|is_read| is_read) {
            return;
        }
    }
}
