//! Entities of databases: asked at the start, again as often as the settings say, and whenever the database tells of a change. A thread of its
//! own does it, so that no decision waits while a million rows are read.
//!
//! Only PostgreSQL is spoken: `connection` connects and listens, `query` asks and reads.

mod connection;
mod query;
mod words;

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use durward_entities::Limits;
use durward_net::connect::Connector;
use durward_net::tls::Trust;
use durward_settings::{AuthzenEntitySettings, ConfigError, DatabaseAddress, DatabaseAddressError};
use smol_str::SmolStr;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::stock::Stock;
use connection::Connection;

/// How long a database that failed is left alone at first; then twice as long each time.
const PAUSE_MIN: Duration = Duration::from_millis(250);

/// How long one that fails again and again is left alone at most, so that it is not waited for much longer when it is back.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The databases that are asked, until this is dropped.
pub(super) struct Databases {
    /// The thread ends when this is gone.
    _stop: Option<oneshot::Sender<Infallible>>,
}

/// One query to one database.
struct Source {
    /// What the stock knows it by.
    number: usize,
    address: DatabaseAddress,
    query: String,
    /// The type of all rows, if the settings say it.
    kind: Option<String>,
    password_path: Option<PathBuf>,
    is_encrypted_here: bool,
    danger_plain_text: bool,
    connector: Connector,
    notify: Option<String>,
    refresh: Option<Duration>,
    connect_time_max: Duration,
    query_time_max: Duration,
    limits: Limits,
}

impl Databases {
    /// Asks all of them once, waits for that, and goes on asking.
    ///
    /// # Errors
    /// Settings that cannot be used; a database that cannot be reached, or whose rows are no entities; a thread that cannot be started.
    pub(super) fn open(
        databases: Vec<(SmolStr, AuthzenEntitySettings)>,
        stock: &Arc<Stock>,
    ) -> Result<Databases, ConfigError> {
        if databases.is_empty() {
            return Ok(Databases { _stop: None });
        }
        let sources = databases.into_iter().map(|(tenant, settings)| Source::new(tenant, settings, stock));
        let sources = sources.collect::<Result<Vec<Source>, ConfigError>>()?;
        let wrong =
            |message| ConfigError::of_setting("authzen.entities", format!("cannot be used: {message}"));
        let no_thread = |error: io::Error| wrong(format!("cannot start a thread: {error}"));
        let runtime =
            runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(no_thread)?;
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let stock = Arc::clone(stock);
        let work = move || follow_all(&runtime, sources, &stock, &tell, stopped);
        thread::Builder::new().name("entities-db".into()).spawn(work).map_err(no_thread)?;
        let ended = |_| Err("the thread that asks databases ended".to_owned());
        told.recv().unwrap_or_else(ended).map_err(wrong)?;
        Ok(Databases { _stop: Some(stop) })
    }
}

/// The thread: tells once how the first reading went, and ends then if it failed.
fn follow_all(
    runtime: &Runtime,
    sources: Vec<Source>,
    stock: &Arc<Stock>,
    tell: &mpsc::Sender<Result<(), String>>,
    stopped: oneshot::Receiver<Infallible>,
) {
    runtime.block_on(async {
        let mut connected = Vec::new();
        for source in sources {
            match source.read_first(stock).await {
                Ok(connection) => connected.push((source, connection)),
                Err(problem) => {
                    // Who waits for it is there until it comes.
                    let _ = tell.send(Err(problem));
                    return;
                }
            }
        }
        let mut following = JoinSet::new();
        for (source, connection) in connected {
            following.spawn(follow(source, connection, Arc::clone(stock)));
        }
        let _ = tell.send(Ok(()));
        // Nothing is ever sent: the end is that nobody holds the other side.
        let _ = stopped.await;
    });
}

/// Keeps the stock up to date, through any number of connections.
async fn follow(source: Source, first: Connection, stock: Arc<Stock>) {
    let mut connection = Some(first);
    let mut pause = PAUSE_MIN;
    loop {
        let Err(problem) = source.keep_up(connection.take(), &stock, &mut pause).await;
        tracing::debug!(problem, ?pause, "a database of entities is asked again after a pause");
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

impl Source {
    fn new(tenant: SmolStr, settings: AuthzenEntitySettings, stock: &Stock) -> Result<Source, ConfigError> {
        let wrong = |error: DatabaseAddressError| {
            ConfigError::of_setting("authzen.entities.database", error.to_string())
        };
        let address =
            DatabaseAddress::read(settings.database.as_deref().unwrap_or_default()).map_err(wrong)?;
        let trust = match &settings.authorities {
            Some(path) => Trust::Only(path, "authzen.entities.authorities"),
            None => Trust::Authorities(None, "authzen.entities.authorities"),
        };
        let connect_time_max = settings.connect_time_max();
        let connector = Connector::trusting(trust, connect_time_max);
        let connector = connector.map_err(|error| {
            ConfigError::of_setting("authzen.entities.authorities", format!("cannot be used: {error}"))
        })?;
        Ok(Source {
            number: stock.add_database(tenant, &address.shown),
            address,
            is_encrypted_here: settings.authorities.is_some(),
            danger_plain_text: settings.danger_plain_text == Some(true),
            connector,
            refresh: settings.refresh(),
            connect_time_max,
            query_time_max: settings.query_time_max(),
            limits: stock.limits,
            query: settings.query.unwrap_or_default(),
            kind: settings.kind,
            password_path: settings.password_path,
            notify: settings.notify,
        })
    }

    /// Connects, listens, and reads.
    ///
    /// # Errors
    /// What the stock was told already.
    async fn read_first(&self, stock: &Stock) -> Result<Connection, String> {
        let opened = Connection::open(self).await;
        let mut connection = opened.map_err(|problem| stock.refused(self.number, problem))?;
        self.refresh(&mut connection, stock).await?;
        Ok(connection)
    }

    /// Reads again whenever there may be something new. `pause` is short again after each time that this worked.
    ///
    /// # Errors
    /// Always at last, and the stock was told already: the connection is lost, or what comes cannot be used.
    async fn keep_up(
        &self,
        connection: Option<Connection>,
        stock: &Stock,
        pause: &mut Duration,
    ) -> Result<Infallible, String> {
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.read_first(stock).await?,
        };
        loop {
            *pause = PAUSE_MIN;
            connection.changed(self).await.map_err(|problem| stock.refused(self.number, problem))?;
            self.refresh(&mut connection, stock).await?;
        }
    }

    async fn refresh(&self, connection: &mut Connection, stock: &Stock) -> Result<(), String> {
        let begun = Instant::now();
        let read = query::read(self, &connection.client).await;
        let rows = read.map_err(|problem| stock.refused(self.number, problem))?;
        stock.take_rows(self.number, rows)?;
        connection.rest = begun.elapsed();
        Ok(())
    }
}
