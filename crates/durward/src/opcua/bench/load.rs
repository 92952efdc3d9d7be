//! The paper's high load, made by a process of its own: two clients of the resource server, and a client that reads from five other servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use durward_opcua::error::Error;
use durward_opcua::session::{ClientIdentity, ClientSession};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::session::{Place, execute, read, reading, tag, write, writing};
use crate::failure::Failure;
use crate::opcua::application::Application;

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
pub(super) struct Load {
    pub(super) pki: PathBuf,
    /// The resource server.
    pub(super) resource: String,
    /// What stands for the five others.
    pub(super) other: String,
}

impl Load {
    /// Begins; ends when what comes back is dropped.
    pub(super) async fn start(self) -> Result<JoinSet<()>, Failure> {
        let application = Application::open(&self.pki)?;
        let client = || application.client("durward bench load");
        let resource = Place::find(&self.resource, client()).await?;
        let other = Place::find(&self.other, client()).await?;
        let mut running = JoinSet::new();
        let enter = async |place: &Place| place.enter(&ClientIdentity::Anonymous).await.map(Arc::new);
        running.spawn(mixed(enter(&resource).await?));
        running.spawn(reads(enter(&resource).await?, READS));
        for _ in 0..OTHERS {
            running.spawn(reads(enter(&other).await?, READS_OF_OTHERS));
        }
        Ok(running)
    }
}

/// Two reads, two writes and two calls at once.
async fn mixed(session: Arc<ClientSession>) {
    every(MIXED_MS, async || {
        let (request, change) = (reading(&[tag(FIRST_TAG)]), writing(&[tag(FIRST_TAG)], 1.0));
        let done: (_, _, _, _, _, _) = tokio::join!(
            read(&session, &request),
            read(&session, &request),
            write(&session, &change),
            write(&session, &change),
            execute(&session),
            execute(&session)
        );
        done.0.and(done.1).map(drop).and(done.2).and(done.3).and(done.4).and(done.5)
    })
    .await;
}

/// So many reads at once.
async fn reads(session: Arc<ClientSession>, count: usize) {
    every(READS_MS, async || {
        let mut asked = JoinSet::new();
        for number in 0..count {
            let session = Arc::clone(&session);
            asked.spawn(async move { read(&session, &reading(&[tag(FIRST_TAG + number)])).await.map(drop) });
        }
        asked.join_all().await.into_iter().collect()
    })
    .await;
}

/// Does something in an interval; turns that are missed are not made up for. Ends when it fails: the session is over.
async fn every(ms: u64, mut act: impl AsyncFnMut() -> Result<(), Error>) {
    let mut turns = interval(Duration::from_millis(ms));
    turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        turns.tick().await;
        if act().await.is_err() {
            return;
        }
    }
}
