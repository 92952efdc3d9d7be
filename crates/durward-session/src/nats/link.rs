//! The link between a node and the stream: up when the stream has answered, down when it has not for too long.
//!
//! ```text
//!              connected, the stream opened, a first question answered: tells Connected
//!      Down ----------------------------------------------------------------------------> Up
//!        ^                                                                                 |
//!        '--------------- no question answered for SILENCE_MAX, or a record unreadable ----'  tells Lost
//! ```

use std::sync::Arc;
use std::time::Duration;

use durward_identity::IdentityError;
use durward_identity::protocol::{NodeEvent, RecordId};
use durward_identity::session::SessionRecord;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::connect::NatsConnectionState;
use super::reader::{self, WantedFrom};
use super::{NatsShared, fresh, stream, writer};
use crate::store::{NodeLink, ORDERS_MAX, StoreCommand};

/// How often the link looks at itself.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often the stream is asked when nobody asks.
const BEAT_EVERY: Duration = Duration::from_millis(900);

/// How soon it is asked again after it refused an answer, as it does while its servers elect a leader.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// After so long without an answer of the stream, it counts as gone. The node itself believes it for as long.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// How long to wait before the stream is opened again.
const PAUSE: Duration = Duration::from_millis(100);

/// How long each answer may take when a stream is opened that was open before. While its servers elect a leader most questions are not
/// refused, but lost: whoever waits longer for one hears of the new leader later.
const OPEN_AGAIN_WITHIN: Duration = Duration::from_millis(400);

/// Every so many tries to open a stream again, it is looked whether it is there at all.
const LOOK_TRIES: u32 = 4;

/// How long the writer may take to finish when the node stops.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

enum LinkState {
    Down { next_try: Instant, is_trying: bool },
    Up { heard: Instant, beat: Instant },
}

/// What came of something that was under way. Those of an earlier life of the link are of no matter.
enum LinkCompletion {
    Opened { life: u64, opened: Result<OpenedStream, IdentityError> },
    Asked { life: u64, question: Option<u64>, answer: Result<u64, IdentityError> },
}

/// A stream that is there and answers.
struct OpenedStream {
    /// What names this very stream.
    made: String,
    last: u64,
}

struct NatsLink {
    shared: Arc<NatsShared>,
    node: NodeLink,
    connection: watch::Receiver<NatsConnectionState>,
    /// Which connection this life of the link is over.
    count: u64,
    life: u64,
    state: LinkState,
    /// How often it was tried to open the stream since it last answered.
    tries: u32,
    under_way: JoinSet<LinkCompletion>,
    /// What named the stream that the node's numbers are of.
    made: Option<String>,
    /// The last complaint, which is not repeated.
    said: Option<String>,
    wanted: watch::Sender<WantedFrom>,
    records: mpsc::Sender<(RecordId, SessionRecord)>,
}

/// Works until the orders end or the node is gone.
pub(super) async fn keep(
    shared: Arc<NatsShared>,
    connection: watch::Receiver<NatsConnectionState>,
    mut orders: mpsc::Receiver<StoreCommand>,
    node: NodeLink,
) {
    let (wanted, wanted_seen) = watch::channel(WantedFrom::default());
    let (records, records_seen) = mpsc::channel(ORDERS_MAX);
    let mut readers = JoinSet::new();
    readers.spawn(reader::read(shared.clone(), wanted_seen, node.clone()));
    let mut writers = JoinSet::new();
    writers.spawn(writer::write(shared.clone(), records_seen, node.clone()));
    let mut link = NatsLink {
        shared,
        node,
        connection,
        count: 0,
        life: 0,
        tries: 0,
        state: LinkState::Down { next_try: Instant::now(), is_trying: false },
        under_way: JoinSet::new(),
        made: None,
        said: None,
        wanted,
        records,
    };
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut unreadable = link.shared.unreadable.subscribe();
    let mut is_there = true;
    while is_there {
        is_there = tokio::select! {
            order = orders.recv() => match order {
                None => break,
                Some(order) => link.take(order).await,
            },
            Some(Ok(done)) = link.under_way.join_next() => link.done(done).await,
            _ = look.tick() => link.look().await,
            Ok(()) = link.connection.changed() => link.look().await,
            Ok(()) = unreadable.changed() => link.look().await,
        };
    }
    drop(link);
    let _ = timeout(FINISH_WITHIN, writers.join_next()).await;
}

impl NatsLink {
    /// Whether the node is still there; as everywhere below.
    async fn take(&mut self, order: StoreCommand) -> bool {
        match order {
            StoreCommand::Store { id, record } => {
                if self.records.try_send((id, record)).is_err() {
                    return self.node.happened(NodeEvent::NotStored { id }).await;
                }
            }
            StoreCommand::CatchUp { after } => {
                self.wanted.send_modify(|wanted| *wanted = WantedFrom { after, times: wanted.times + 1 });
            }
            StoreCommand::AskLast { question } => self.ask(Some(question)),
            // The protocol asks for these only where there is no store.
            StoreCommand::Tell { .. } | StoreCommand::AskPeers => {}
        }
        true
    }

    fn ask(&mut self, question: Option<u64>) {
        let LinkState::Up { beat, .. } = &mut self.state else { return };
        *beat = Instant::now();
        let (shared, life) = (self.shared.clone(), self.life);
        self.under_way.spawn(async move {
            let answer = fresh::ask(&shared).await;
            LinkCompletion::Asked { life, question, answer }
        });
    }

    async fn done(&mut self, done: LinkCompletion) -> bool {
        match done {
            LinkCompletion::Opened { life, opened } if life == self.life => match opened {
                Ok(opened) => self.up(opened).await,
                Err(error) => self.down(&error.to_string()).await,
            },
            LinkCompletion::Asked { life, question, answer } if life == self.life => {
                let last = match answer {
                    Ok(last) => last,
                    Err(error) => {
                        tracing::debug!("the session store does not answer: {error}");
                        if let LinkState::Up { beat, .. } = &mut self.state {
                            *beat = beat.checked_sub(BEAT_EVERY - ASK_AGAIN_AFTER).unwrap_or(*beat);
                        }
                        return true;
                    }
                };
                if let LinkState::Up { heard, .. } = &mut self.state {
                    *heard = Instant::now();
                }
                match question {
                    Some(question) => self.node.happened(NodeEvent::Last { question, last }).await,
                    None => true,
                }
            }
            LinkCompletion::Opened { .. } | LinkCompletion::Asked { .. } => true,
        }
    }

    async fn up(&mut self, opened: OpenedStream) -> bool {
        let made = self.made.get_or_insert_with(|| opened.made.clone());
        if *made != opened.made {
            let message = format!(
                "the stream `{}` is another one than before, and what the one before held is lost; restore it, or restart \
                 the nodes to accept that",
                self.shared.settings.stream
            );
            return self.down(&message).await;
        }
        let now = Instant::now();
        self.state = LinkState::Up { heard: now, beat: now };
        self.tries = 0;
        self.said = None;
        self.node.complain(None);
        tracing::info!("session store: stream `{}` answers", self.shared.settings.stream);
        self.node.happened(NodeEvent::Connected { last: opened.last }).await
    }

    async fn down(&mut self, message: &str) -> bool {
        let was_up = matches!(self.state, LinkState::Up { .. });
        self.state = LinkState::Down { next_try: Instant::now() + PAUSE, is_trying: false };
        self.life += 1;
        self.node.complain(Some(message));
        if self.said.as_deref() != Some(message) {
            tracing::warn!("no session store: {message}");
            self.said = Some(message.to_owned());
        }
        !was_up || self.node.happened(NodeEvent::Lost).await
    }

    /// Sees to it that the state is what the connection and the answers say.
    async fn look(&mut self) -> bool {
        let mut unreadable = None;
        self.shared.unreadable.send_if_modified(|it| {
            unreadable = it.take();
            // Only the reader has news.
            false
        });
        if let Some(message) = unreadable {
            return self.down(&message).await;
        }
        let connection = *self.connection.borrow_and_update();
        let now = Instant::now();
        match &mut self.state {
            LinkState::Up { heard, .. } if now.duration_since(*heard) > SILENCE_MAX => {
                let why = if connection.is_up {
                    "no majority of its servers answers"
                } else {
                    "the connection is lost"
                };
                self.down(why).await
            }
            // Over another server: whether the stream answers there is asked at once. What was under way is sent again.
            LinkState::Up { .. } if connection.is_up && connection.count != self.count => {
                self.count = connection.count;
                self.ask(None);
                true
            }
            LinkState::Up { beat, .. } => {
                if now.duration_since(*beat) >= BEAT_EVERY {
                    self.ask(None);
                }
                true
            }
            LinkState::Down { next_try, is_trying }
                if connection.is_up && !*is_trying && now >= *next_try =>
            {
                *is_trying = true;
                self.count = connection.count;
                self.open();
                true
            }
            LinkState::Down { .. } => true,
        }
    }

    fn open(&mut self) {
        let (shared, life) = (self.shared.clone(), self.life);
        self.tries = self.tries.wrapping_add(1);
        let (was_open, asks_first) = (self.made.is_some(), !self.tries.is_multiple_of(LOOK_TRIES));
        self.under_way.spawn(async move {
            let opened =
                if was_open { open_again(&shared, asks_first).await } else { open_first(&shared).await };
            LinkCompletion::Opened { life, opened }
        });
    }
}

async fn open_first(shared: &NatsShared) -> Result<OpenedStream, IdentityError> {
    let NatsShared { context, settings, retention, subjects, .. } = shared;
    let made = stream::open(context, settings, retention, subjects).await?;
    fresh::ask(shared).await.map(|last| OpenedStream { made, last })
}

/// The question comes first: a stream without a leader refuses it at once, and says nothing at all about itself. One that was deleted refuses it
/// too, hence `asks_first` is not always true.
async fn open_again(shared: &NatsShared, asks_first: bool) -> Result<OpenedStream, IdentityError> {
    let NatsShared { context, settings, retention, subjects, .. } = shared;
    let silent = |_| IdentityError::new(format!("stream `{}` has no leader that answers", settings.stream));
    let within = OPEN_AGAIN_WITHIN.min(settings.answer_within);
    if asks_first {
        timeout(within, fresh::ask(shared)).await.map_err(silent)??;
    }
    let opened = stream::open(context, settings, retention, subjects);
    let made = timeout(within, opened).await.map_err(silent)??;
    let last = timeout(within, fresh::ask(shared)).await.map_err(silent)??;
    Ok(OpenedStream { made, last })
}
