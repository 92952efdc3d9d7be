//! `[identity.nats]`: the store of sessions for several nodes.

use std::path::PathBuf;
use std::time::Duration;

use durward_session::identity::IdentityError;
use durward_session::identity::protocol::Mode;
use durward_session::nats::{NatsLogin, NatsSettings};
use serde::{Deserialize, Serialize};

/// The store of sessions for several nodes, in NATS JetStream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NatsStoreSettings {
    /// Addresses such as `nats://10.0.0.1:4222`.
    pub servers: Vec<String>,
    /// The name of the stream. Default: `durward-sessions`.
    pub stream: String,
    /// How many servers keep a copy: 1, 3 or 5. Default: 3.
    pub replicas: usize,
    /// A file with a user's JWT and seed. Default: none.
    pub credentials_path: Option<PathBuf>,
    /// The name of a user with a password. Default: none.
    pub user: Option<String>,
    /// The file with that password. Default: none.
    pub password_path: Option<PathBuf>,
    /// A file with a token. Default: none.
    pub token_path: Option<PathBuf>,
    /// Whether the connection must be under TLS. Default: no.
    pub tls: bool,
    /// The certificates that servers are held to, in PEM. Default: the system's.
    pub authorities: Option<PathBuf>,
    /// Our own certificate, in PEM. Default: none.
    pub certificate: Option<PathBuf>,
    /// Its key. Default: none.
    pub key: Option<PathBuf>,
    /// How long an answer may take. Default: 2 seconds.
    pub answer_time_ms_max: u64,
    /// Whether all nodes share the users of `identity.users`. Default: yes, except in the mode `none`, which needs no JetStream.
    pub users: Option<bool>,
}

impl Default for NatsStoreSettings {
    fn default() -> NatsStoreSettings {
        let NatsSettings { stream, replicas, answer_within, .. } = NatsSettings::default();
        NatsStoreSettings {
            servers: Vec::new(),
            stream,
            replicas,
            credentials_path: None,
            user: None,
            password_path: None,
            token_path: None,
            tls: false,
            authorities: None,
            certificate: None,
            key: None,
            answer_time_ms_max: u64::try_from(answer_within.as_millis()).unwrap_or(u64::MAX),
            users: None,
        }
    }
}

impl NatsStoreSettings {
    /// Whether nodes share their users.
    pub fn shares_users(&self, mode: Mode) -> bool {
        self.users.unwrap_or(mode != Mode::None)
    }

    /// The settings as the store takes them.
    ///
    /// # Errors
    /// What contradicts itself, or cannot be.
    pub fn store(&self) -> Result<NatsSettings, IdentityError> {
        let settings = NatsSettings {
            servers: self.servers.clone(),
            stream: self.stream.clone(),
            replicas: self.replicas,
            login: self.login()?,
            tls: self.tls,
            ca_file: self.authorities.clone(),
            certificate: match (&self.certificate, &self.key) {
                (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
                (None, None) => None,
                (Some(_), None) | (None, Some(_)) => {
                    return Err(IdentityError::new("`certificate` and `key` go together"));
                }
            },
            answer_within: Duration::from_millis(self.answer_time_ms_max),
        };
        settings.check()?;
        Ok(settings)
    }

    fn login(&self) -> Result<NatsLogin, IdentityError> {
        match (&self.credentials_path, &self.user, &self.password_path, &self.token_path) {
            (None, None, None, None) => Ok(NatsLogin::Nobody),
            (Some(path), None, None, None) => Ok(NatsLogin::Credentials(path.clone())),
            (None, Some(user), Some(path), None) => Ok(NatsLogin::Password(user.clone(), path.clone())),
            (None, None, None, Some(path)) => Ok(NatsLogin::Token(path.clone())),
            (_, _, _, _) => Err(IdentityError::new(
                "one of them is wanted: `credentials_path`; `user` with `password_path`; or `token_path`",
            )),
        }
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 6] {
        [
            &mut self.credentials_path,
            &mut self.password_path,
            &mut self.token_path,
            &mut self.authorities,
            &mut self.certificate,
            &mut self.key,
        ]
    }

    /// Whether records and passwords go over a network in plain text.
    pub(super) fn is_plain(&self) -> bool {
        let is_here = |server: &String| {
            server.contains("//127.") || server.contains("//localhost") || server.contains("//[::1]")
        };
        !self.tls && !self.servers.iter().all(|server| server.starts_with("tls://") || is_here(server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NatsSettings, IdentityError> {
        toml::from_str::<NatsStoreSettings>(text).unwrap().store()
    }

    #[test]
    fn users_are_shared_where_there_is_a_stream_unless_it_is_said_otherwise() {
        let shares = |text: &str, mode| toml::from_str::<NatsStoreSettings>(text).unwrap().shares_users(mode);
        assert!(shares("", Mode::AssuredWrite) && shares("", Mode::BestEffort));
        assert!(!shares("", Mode::None) && shares("users = true", Mode::None));
        assert!(!shares("users = false", Mode::AssuredRead));
    }

    #[test]
    fn one_way_to_log_in_is_taken_and_not_two() {
        let servers = "servers = ['nats://a:4222']\n";
        assert_eq!(read(servers).unwrap().login, NatsLogin::Nobody);
        let password = read(&format!("{servers}user = 'u'\npassword_path = 'p'")).unwrap();
        assert_eq!(password.login, NatsLogin::Password("u".to_owned(), "p".into()));
        for wrong in ["user = 'u'", "user = 'u'\npassword_path = 'p'\ntoken_path = 't'", "certificate = 'c'"]
        {
            assert!(read(&format!("{servers}{wrong}")).is_err(), "{wrong}");
        }
        assert!(read("").unwrap_err().to_string().contains("`servers`"));
    }
}
