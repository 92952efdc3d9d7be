//! A connection to a server of PostgreSQL that hears of changes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use durward_files::{SecretReaders, read_secret_text};
use durward_net::connect::{Connector, Stream};
use durward_settings::DatabaseServer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, NoTls, TlsConnect, TlsStream};
use tokio_postgres::{AsyncMessage, Client, Config};

use super::Source;
use super::words::in_words;

/// The longest password.
const PASSWORD_BYTES_MAX: u64 = 4 * 1024;

/// How long changes are collected before the rows are read: one program's changes often come in several transactions.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// How often a server that only tells of changes is asked whether it is still there: one that is gone tells nothing.
const PROBE_PAUSE: Duration = Duration::from_secs(30);

/// A connection, which ends when this is dropped.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Something has changed.
    told: Arc<Notify>,
    driver: Driver,
    /// How long reading took last, and so how long the database is left alone after it.
    pub(super) rest: Duration,
}

/// What reads and writes; it ends with the connection, and says why.
struct Driver(JoinHandle<String>);

impl Drop for Driver {
    fn drop(&mut self) {
        // Rows that nobody reads any more would otherwise be waited for.
        self.0.abort();
    }
}

impl Connection {
    /// Connects to the first server that can be used, and listens.
    ///
    /// # Errors
    /// No server can be used: each with its reason.
    pub(super) async fn open(source: &Source) -> Result<Connection, String> {
        let mut problems = Vec::new();
        for server in &source.address.servers {
            let opened = timeout(source.connect_time_max, open_at(source, server)).await;
            let problem = match opened {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(problem)) => problem,
                Err(_) => "connecting took too long".to_owned(),
            };
            problems.push(if source.address.servers.len() > 1 {
                format!("{server}: {problem}")
            } else {
                problem
            });
        }
        Err(format!("{}: {}", source.address.shown, problems.join("; ")))
    }

    /// Waits until the rows may be others.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn changed(&mut self, source: &Source) -> Result<(), String> {
        let lost = |why: &str| format!("{}: the connection is lost: {why}", source.address.shown);
        // Where changes come without end, the database is read half of the time at most.
        sleep(self.rest).await;
        loop {
            tokio::select! {
                () = self.told.notified() => {
                    sleep(SETTLE_TIME).await;
                    return Ok(());
                }
                () = sleep(source.refresh.unwrap_or(PROBE_PAUSE)) => {}
                ended = &mut self.driver.0 => {
                    return Err(lost(&ended.unwrap_or_else(|error| error.to_string())));
                }
            }
            if source.refresh.is_some() {
                return Ok(());
            }
            let probed = timeout(source.connect_time_max, self.client.check_connection()).await;
            let probed = probed.map_err(|_| lost("the server does not answer"))?;
            probed.map_err(|error| lost(&in_words(&error)))?;
        }
    }
}

async fn open_at(source: &Source, server: &DatabaseServer) -> Result<Connection, String> {
    let config = config(source, server)?;
    let connection = match server {
        DatabaseServer::Socket(path) => {
            let stream = connect_unix(&source.connector, path).await;
            begin(&config, stream.map_err(|error| error.to_string())?, NoTls).await?
        }
        DatabaseServer::Tcp(host, port) => {
            let tcp = source.connector.connect_tcp(host, *port).await;
            let tls = Tls { connector: source.connector.clone(), host: host.clone() };
            begin(&config, tcp.map_err(|error| error.to_string())?, tls).await?
        }
    };
    if let Some(channel) = &source.notify {
        // Before the rows are read, such that no change falls between.
        let listen = format!("LISTEN \"{}\"", channel.replace('"', "\"\""));
        connection.client.batch_execute(&listen).await.map_err(|error| in_words(&error))?;
    }
    Ok(connection)
}

#[cfg(unix)]
async fn connect_unix(connector: &Connector, path: &std::path::Path) -> io::Result<Stream> {
    connector.connect_unix(path).await
}

#[cfg(not(unix))]
async fn connect_unix(_: &Connector, _: &std::path::Path) -> io::Result<Stream> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no sockets in the file system"))
}

/// Who logs in, and whether only under TLS. The file with the password is read each time: passwords are renewed.
fn config(source: &Source, server: &DatabaseServer) -> Result<Config, String> {
    let wants_tls = match server {
        DatabaseServer::Socket(_) => false,
        DatabaseServer::Tcp(..) if server.is_on_this_machine() => source.is_encrypted_here,
        DatabaseServer::Tcp(..) => !source.danger_plain_text,
    };
    let mut config = Config::new();
    config.user(&source.address.user).dbname(&source.address.database).application_name("durward");
    config.ssl_mode(if wants_tls { SslMode::Require } else { SslMode::Disable });
    if let Some(path) = &source.password_path {
        let password = read_secret_text(path, SecretReaders::OwnerAndGroup, PASSWORD_BYTES_MAX);
        let password =
            password.map_err(|error| format!("{}: {error}; see `password_path`", path.display()))?;
        config.password(password.trim_end_matches(['\r', '\n']));
    }
    Ok(config)
}

/// Logs in, and begins to read and write.
async fn begin<S, T>(config: &Config, stream: S, tls: T) -> Result<Connection, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: TlsConnect<S> + Send,
    T::Future: Send,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect_raw(stream, tls).await.map_err(|error| in_words(&error))?;
    let told = Arc::new(Notify::new());
    let driver = Driver(tokio::spawn(drive(connection, Arc::clone(&told))));
    Ok(Connection { client, told, driver, rest: Duration::ZERO })
}

/// Reads and writes until the connection ends, and says why it did.
async fn drive<S, T>(mut connection: tokio_postgres::Connection<S, T>, told: Arc<Notify>) -> String
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|task| connection.poll_message(task)).await {
            Some(Ok(message)) => {
                if matches!(message, AsyncMessage::Notification(_)) {
                    told.notify_one();
                }
            }
            Some(Err(error)) => return in_words(&error),
            None => return "the server closed it".to_owned(),
        }
    }
}

/// TLS as the other outgoing connections speak it.
struct Tls {
    connector: Connector,
    host: String,
}

impl TlsConnect<TcpStream> for Tls {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, tcp: TcpStream) -> Self::Future {
        Box::pin(async move { Ok(Encrypted(self.connector.secure(tcp, &self.host).await?)) })
    }
}

/// A connection under TLS.
struct Encrypted(Stream);

impl TlsStream for Encrypted {
    /// The server's certificate is checked before a password is sent; binding the login to it as well would say the same.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(task, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(task)
    }
}
