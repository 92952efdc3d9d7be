//! A client of SAPL's protocols: asks another server for decisions, over HTTP or RSocket.
//!
//! Nothing here is clever: one question at a time, every wait bounded, and whatever is not clearly a decision is an error, never one.

mod error;
mod http;
mod rsocket;
mod server_address;

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durward_subscription::{Decision, Subscription};
use durward_wire::rsocket::Credentials as SetupCredentials;

use crate::connect::Connector;
use crate::tls::Trust;
pub use error::ClientError;
pub use server_address::{ServerAddress, ServerAddressError};

/// Most bytes of an answer: what a frame of RSocket can hold.
pub const ANSWER_BYTES_MAX: usize = 0xFF_FFFF;

/// How long a stream may be silent: six of the signs of life that SAPL's servers send.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// Who asks.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// Nobody in particular.
    #[default]
    None,
    /// A token of an identity provider, or an API key.
    Bearer(String),
    /// A name and a password.
    Basic {
        /// The name; it holds no colon.
        user: String,
        /// The password.
        password: String,
    },
}

impl std::fmt::Debug for Credentials {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::None => "None",
            Credentials::Bearer(_) => "Bearer(..)",
            Credentials::Basic { .. } => "Basic(..)",
        })
    }
}

impl Credentials {
    /// The header field `Authorization`.
    fn header(&self) -> Option<String> {
        match self {
            Credentials::None => None,
            Credentials::Bearer(token) => Some(format!("Bearer {token}")),
            Credentials::Basic { user, password } => {
                Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
            }
        }
    }

    /// The metadata of a setup.
    fn setup(&self) -> SetupCredentials {
        match self {
            Credentials::None => SetupCredentials::None,
            Credentials::Bearer(token) => SetupCredentials::Bearer(token.clone().into()),
            Credentials::Basic { user, password } => {
                SetupCredentials::Simple { user: user.clone().into(), password: password.clone().into() }
            }
        }
    }
}

/// What is demanded of the way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Security {
    /// Certificates are verified, and credentials go over TLS, a Unix socket, or to this machine itself only.
    #[default]
    Verified,
    /// Any certificate will do, and credentials go wherever they are sent to.
    DangerInsecure,
}

/// How to ask.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who asks.
    pub credentials: Credentials,
    /// How long a decision may take, connecting included.
    pub answer_time_max: Duration,
    /// Certificates of authorities to believe besides the system's (PEM).
    pub authorities: Option<PathBuf>,
    /// What is demanded of the way to the server.
    pub security: Security,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            credentials: Credentials::None,
            answer_time_max: Duration::from_secs(10),
            authorities: None,
            security: Security::Verified,
        }
    }
}

/// Asks one server, one question at a time. Needs a runtime of tokio with I/O and time.
#[derive(Debug)]
pub struct Client(Protocol);

#[derive(Debug)]
enum Protocol {
    Http(Box<http::HttpClient>),
    Rsocket(Box<rsocket::RsocketClient>),
}

/// What both protocols need.
struct Common {
    connector: Connector,
    credentials: Credentials,
    answer_time_max: Duration,
}

impl Client {
    /// A client for this server. Nothing is sent yet.
    ///
    /// # Errors
    /// Authorities that cannot be read, credentials that cannot be written, or that would be sent in the clear.
    pub fn new(server: ServerAddress, settings: &Settings) -> Result<Client, ClientError> {
        server.check(settings)?;
        let trust = match settings.security {
            Security::Verified => Trust::Authorities(settings.authorities.as_deref(), "--authorities"),
            Security::DangerInsecure => Trust::DangerAnybody,
        };
        let common = Common {
            connector: Connector::trusting(trust, settings.answer_time_max)
                .map_err(|error| ClientError::Settings(error.to_string()))?,
            credentials: settings.credentials.clone(),
            answer_time_max: settings.answer_time_max,
        };
        Ok(Client(match server {
            ServerAddress::Http(base) => Protocol::Http(Box::new(http::HttpClient::new(base, common)?)),
            ServerAddress::Rsocket(address) => {
                Protocol::Rsocket(Box::new(rsocket::RsocketClient::new(address, common)))
            }
        }))
    }

    /// Asks for one decision.
    ///
    /// # Errors
    /// Whatever is not clearly a decision.
    pub async fn decide_once(&mut self, subscription: &Subscription) -> Result<Decision, ClientError> {
        match &mut self.0 {
            Protocol::Http(client) => client.decide_once(subscription).await,
            Protocol::Rsocket(client) => client.decide_once(subscription).await,
        }
    }

    /// Asks for all decisions there will be; [`Client::next`] gives them. What was watched before no longer is.
    ///
    /// # Errors
    /// A server that is not reached, or refuses.
    pub async fn watch(&mut self, subscription: &Subscription) -> Result<(), ClientError> {
        match &mut self.0 {
            Protocol::Http(client) => client.watch(subscription).await,
            Protocol::Rsocket(client) => client.watch(subscription).await,
        }
    }

    /// The next decision that is watched for; `None` when the server says that there will be none, or nothing is
    /// watched.
    ///
    /// # Errors
    /// A stream that breaks off, falls silent, or says what is no decision.
    pub async fn next(&mut self) -> Result<Option<Decision>, ClientError> {
        match &mut self.0 {
            Protocol::Http(client) => client.next().await,
            Protocol::Rsocket(client) => client.next().await,
        }
    }
}

/// Most of a server's words that are repeated.
const REASON_CHARACTERS_MAX: usize = 200;

/// What a server says, in one line and without what could steer a terminal.
fn legible(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(REASON_CHARACTERS_MAX).collect()
}
