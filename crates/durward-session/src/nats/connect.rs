//! The connection: made again when it is lost, with growing pauses.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, Server};
use durward_identity::IdentityError;
use tokio::sync::watch;

use super::settings::{NatsLogin, NatsSettings};
use crate::secret::read_secret;
use crate::seldom::Seldom;
use crate::store::NodeLink;

/// Bytes of a file with certificates.
const PEM_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How often the server is asked whether it is there; after three questions without an answer, another one is tried.
const PING_EVERY: Duration = Duration::from_secs(1);

/// The longest pause between two attempts to connect.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Whether there is a connection, and how many there were. Two numbers tell of a connection that was lost and found unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NatsConnectionState {
    pub(super) is_up: bool,
    pub(super) count: u64,
}

/// Options to connect by these settings, for whoever asks these servers something else: read from the files that they name; a connection
/// that is lost is made again.
///
/// # Errors
/// Which cannot be used.
pub fn connect_options(settings: &NatsSettings) -> Result<ConnectOptions, IdentityError> {
    Ok(NatsConnectOptions::read(settings)?.0)
}

/// What must be known to connect, read from its files.
pub(super) struct NatsConnectOptions(ConnectOptions);

impl NatsConnectOptions {
    /// Reads the files that the settings name.
    ///
    /// # Errors
    /// Which cannot be used.
    pub(super) fn read(settings: &NatsSettings) -> Result<NatsConnectOptions, IdentityError> {
        let mut options = ConnectOptions::new()
            .name("durward")
            .connection_timeout(settings.answer_within)
            .request_timeout(Some(settings.answer_within))
            .ping_interval(PING_EVERY)
            .retry_on_initial_connect()
            .max_reconnects(None)
            .reconnect_delay_callback(pause);
        options = match &settings.login {
            NatsLogin::Nobody => options,
            NatsLogin::Credentials(path) => options
                // Its last line must end, or it is not found.
                .credentials(&(read_secret(path)? + "\n"))
                .map_err(|error| IdentityError::new(error.to_string()).of(path.display()))?,
            NatsLogin::Password(user, path) => options.user_and_password(user.clone(), read_secret(path)?),
            NatsLogin::Token(path) => options.token(read_secret(path)?),
        };
        let is_tls = settings.tls || settings.servers.iter().any(|server| server.starts_with("tls://"));
        options = options.require_tls(is_tls);
        if let Some(ca) = &settings.ca_file {
            pem(ca)?;
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &settings.certificate {
            pem(certificate)?;
            // The client opens the file again by itself; what it holds is checked here.
            looks_like_pem(key, read_secret(key)?.as_bytes())?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(NatsConnectOptions(options))
    }

    /// Begins to connect, and says from then on whether there is a connection.
    ///
    /// # Errors
    /// What no further attempt would change.
    pub(super) async fn connect(
        self,
        settings: &NatsSettings,
        node: &NodeLink,
    ) -> Result<(Client, watch::Receiver<NatsConnectionState>), IdentityError> {
        let (sender, receiver) = watch::channel(NatsConnectionState::default());
        let complaint = Arc::new(Mutex::new(String::new()));
        let (found, lost) = (node.clone(), node.clone());
        let slow = Seldom::default();
        let options = self
            .0
            .event_callback(move |event| {
                if matches!(event, Event::Connected) {
                    found.complain(None);
                }
                see(&sender, &event, &slow);
                std::future::ready(())
            })
            // It chooses nothing: before each attempt, it is told how the last ones ended.
            .reconnect_to_server_callback(move |servers, _| {
                complain(&complaint, &servers, &lost);
                std::future::ready(None)
            });
        let client = options.connect(&settings.servers).await;
        let client = client.map_err(|error| IdentityError::new(error.to_string()))?;
        Ok((client, receiver))
    }
}

fn see(connection: &watch::Sender<NatsConnectionState>, event: &Event, slow: &Seldom) {
    match event {
        Event::Connected => {
            connection.send_modify(|it| *it = NatsConnectionState { is_up: true, count: it.count + 1 })
        }
        Event::Disconnected | Event::Closed => connection.send_modify(|it| it.is_up = false),
        Event::ServerError(_) => tracing::warn!("session store: {event}"),
        // An attempt that failed, without the reason: see `complain`.
        Event::ClientError(_) => tracing::debug!("session store: {event}"),
        // One for each message that was dropped.
        Event::SlowConsumer(_) => {
            if slow.is_due() {
                tracing::warn!("session store: more comes than this node reads: {event}");
            }
        }
        Event::LameDuckMode | Event::Draining => tracing::info!("session store: {event}"),
    }
}

/// Says why servers cannot be reached, once for each reason.
fn complain(said: &Mutex<String>, servers: &[Server], node: &NodeLink) {
    let reason = |server: &Server| {
        let error = server.last_error.as_deref().filter(|_| server.failed_attempts > 0)?;
        Some(format!("{}: {error}", server.addr.as_url_str()))
    };
    let mut reasons: Vec<String> = servers.iter().filter_map(reason).collect();
    reasons.sort();
    let reasons = reasons.join("; ");
    if !reasons.is_empty() {
        node.complain(Some(&format!("cannot connect: {reasons}")));
    }
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    if *said != reasons {
        if !reasons.is_empty() {
            tracing::warn!("cannot connect to the session store: {reasons}");
        }
        *said = reasons;
    }
}

/// The first attempt at once, then with growing pauses.
fn pause(attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(10);
    (Duration::from_millis(50) * 2_u32.pow(doublings)).min(PAUSE_MAX)
}

/// That a file holds what looks like certificates or a key: the client finds out only when it connects, and tries for ever.
fn pem(path: &Path) -> Result<(), IdentityError> {
    let failed = |message: String| IdentityError::new(message).of(path.display());
    let mut text = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(PEM_BYTES_MAX).read_to_end(&mut text));
    read.map_err(|error| failed(error.to_string()))?;
    looks_like_pem(path, &text)
}

fn looks_like_pem(path: &Path, text: &[u8]) -> Result<(), IdentityError> {
    let begins = b"-----BEGIN ";
    if text.windows(begins.len()).any(|window| window == begins) {
        return Ok(());
    }
    Err(IdentityError::new("holds neither certificates nor a key in PEM").of(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        assert_eq!(pause(0), pause(1));
        assert!(pause(1) < pause(2) && pause(2) < pause(3));
        assert_eq!(pause(1_000_000), PAUSE_MAX);
    }
}
