//! Where the servers are, who we are to them, and what the stream is to be.

use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "nats")]
use durward_identity::CLOCK_SKEW_MAX;
use durward_identity::IdentityError;
use durward_identity::protocol::{Mode, NodeSettings};
use durward_identity::session::SessionSettings;

/// How many servers may be named. A cluster tells of its others itself.
pub const SERVERS_MAX: usize = 32;

/// How long the name of a stream may be.
pub const STREAM_NAME_LENGTH_MAX: usize = 64;

/// How the store in NATS JetStream is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsSettings {
    /// Addresses such as `nats://10.0.0.1:4222`, or `tls://nats.example.org:4222`. One is enough; others are for when it is down.
    pub servers: Vec<String>,
    /// The name of the stream, which is also part of all subjects: clusters that share servers must differ in it. Letters, digits,
    /// `-` and `_`. Default: `durward-sessions`.
    pub stream: String,
    /// How many servers keep a copy: 1, 3 or 5. Default: 3.
    pub replicas: usize,
    /// How to say who we are. Default: nobody.
    pub login: NatsLogin,
    /// Whether the connection must be under TLS. Default: no; an address that begins with `tls://` says so too.
    pub tls: bool,
    /// The certificates, in PEM, that servers' certificates are held to, in the place of the system's.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate and its key, in PEM, for servers that want one.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// How long a connection, an acknowledgement or any other answer may take. Default: 2 seconds.
    pub answer_within: Duration,
}

/// How to say who we are.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum NatsLogin {
    /// Not at all.
    #[default]
    Nobody,
    /// A file with a user's JWT and seed, as `nsc` writes it.
    Credentials(PathBuf),
    /// A name, and a file that holds the password.
    Password(String, PathBuf),
    /// A file that holds a token.
    Token(PathBuf),
}

impl Default for NatsSettings {
    fn default() -> NatsSettings {
        NatsSettings {
            servers: Vec::new(),
            stream: "durward-sessions".to_owned(),
            replicas: 3,
            login: NatsLogin::Nobody,
            tls: false,
            ca_file: None,
            certificate: None,
            answer_within: Duration::from_secs(2),
        }
    }
}

impl NatsSettings {
    /// Looks whether the settings can be used at all.
    ///
    /// # Errors
    /// What is wrong, and with which setting.
    pub fn check(&self) -> Result<(), IdentityError> {
        let wrong = |message: String| Err(IdentityError::new(message));
        if self.servers.is_empty() || self.servers.len() > SERVERS_MAX {
            return wrong(format!(
                "`servers` must name 1 to {SERVERS_MAX} NATS servers, such as `nats://10.0.0.1:4222`"
            ));
        }
        if let Some(bad) = self.servers.iter().find(|server| !is_address(server)) {
            return wrong(format!("`servers`: `{bad}` is no address such as `nats://10.0.0.1:4222`"));
        }
        if let Some(bad) = self.servers.iter().find(|server| server.contains('@')) {
            let host = bad.rsplit('@').next().unwrap_or_default();
            return wrong(format!(
                "`servers`: no name or password in an address, `...@{host}`: they have settings of their own"
            ));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.stream.is_empty()
            || self.stream.len() > STREAM_NAME_LENGTH_MAX
            || !self.stream.chars().all(is_name)
        {
            return wrong(format!(
                "`stream`: a name has 1 to {STREAM_NAME_LENGTH_MAX} letters, digits, `-` and `_`, and `{}` has not",
                self.stream.escape_default()
            ));
        }
        if ![1, 3, 5].contains(&self.replicas) {
            return wrong(format!("`replicas` may be 1, 3 or 5, and is {}", self.replicas));
        }
        if self.answer_within < Duration::from_millis(100) || self.answer_within > Duration::from_secs(60) {
            return wrong("`answer_within` may be 100 ms to 60 s".to_owned());
        }
        Ok(())
    }
}

#[cfg(feature = "nats")]
fn is_address(server: &str) -> bool {
    server.parse::<async_nats::ServerAddr>().is_ok()
}

/// Nobody is connected to, and hence nothing wrong.
#[cfg(not(feature = "nats"))]
fn is_address(_: &str) -> bool {
    true
}

/// How long records matter, and hence how long the store keeps them. What is older is gone, so that a node that starts replays the
/// time of one session and not the cluster's whole life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Which promise is made.
    pub mode: Mode,
    lifetime_max: Duration,
    idle_max: Duration,
    told_every: Duration,
    devices_max: Duration,
    key_period: Duration,
}

/// What is added to all times: clocks may differ, of nodes and of servers.
#[cfg(feature = "nats")]
pub(super) const SLACK: Duration = Duration::from_secs(2 * CLOCK_SKEW_MAX.as_secs());

impl Retention {
    /// What follows from a node's settings.
    pub fn of(node: &NodeSettings, session: &SessionSettings) -> Retention {
        Retention {
            mode: node.mode,
            lifetime_max: session.lifetime_max,
            idle_max: session.idle_max,
            told_every: session.told_every,
            devices_max: session.devices_max,
            key_period: node.key_period + node.key_lead,
        }
    }

    #[cfg(feature = "nats")]
    /// How long anything at all is kept that does not say that it is kept for ever.
    pub(super) fn longest(&self) -> Duration {
        self.of_sessions().max(self.devices_max + 2 * SLACK)
    }

    #[cfg(feature = "nats")]
    /// How long what concerns sessions is kept: a key seals tokens for its period, and opens them for a session's life.
    pub(super) fn of_sessions(&self) -> Duration {
        self.key_period + self.lifetime_max + 2 * SLACK
    }

    #[cfg(feature = "nats")]
    /// How long a note of use is kept: it says nothing of a session that would have been idle for too long since.
    pub(super) fn of_touches(&self) -> Duration {
        let idle = if self.idle_max.is_zero() { self.lifetime_max } else { self.idle_max };
        idle + self.told_every + SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> NatsSettings {
        NatsSettings { servers: vec!["nats://127.0.0.1:4222".to_owned()], ..NatsSettings::default() }
    }

    fn refused(change: impl Fn(&mut NatsSettings)) -> String {
        let mut settings = settings();
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    }

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        settings().check().unwrap();
        assert!(refused(|it| it.servers.clear()).contains("`servers`"));
        #[cfg(feature = "nats")]
        assert!(refused(|it| it.servers.push("nats://:x".to_owned())).contains("`nats://:x`"));
        assert!(refused(|it| it.stream = "a.b".to_owned()).contains("`a.b`"));
        assert!(refused(|it| it.stream = "\n>".to_owned()).contains("\\n>"));
        assert!(refused(|it| it.replicas = 2).contains("`replicas`"));
        assert!(refused(|it| it.answer_within = Duration::ZERO).contains("`answer_within`"));
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let message = refused(|it| it.servers.push("nats://anna:secret@host:4222".to_owned()));
        assert!(message.contains("@host:4222") && !message.contains("secret"), "{message}");
    }
}
