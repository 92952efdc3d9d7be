//! Settings that are read again while the server runs: what of them comes into force at once, and what at the next start.
//!
//! All or nothing: what can fail is made first, and settings that cannot be used change nothing.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use durward_common::access::auth::Authenticator;
use durward_common::base::log::LogHandle;
use durward_common::base::watch::{Watch, Watched, Why, settle};
use durward_common::policies::look_of;
use durward_settings::{AuthSettings, ConfigError, Settings};

use super::compose::Parts;
use super::state::Http;
use crate::surfaces::rsocket;

/// How often the file is looked at, where the system does not tell of changes.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// How long the file must lie still before it is read.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Where there is no file, nothing is looked at.
const NO_FILE_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// What gives the settings.
type Read = Box<dyn Fn() -> Result<Settings, ConfigError> + Send>;

/// Settings that are read again until this is dropped.
pub struct SettingsWatch(Watch);

/// What of a server takes up new settings.
pub(super) struct TakingUp {
    http: Arc<Http>,
    rsocket: Arc<rsocket::Surface>,
    authenticator: Arc<Authenticator>,
    /// The log of the process, where the server may set its level.
    log: Option<LogHandle>,
    /// The settings at the start.
    started: Arc<Settings>,
    /// The same with what came into force since.
    in_force: Settings,
}

/// What came of reading settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Applied,
    Unchanged,
    Failed,
}

struct Watching {
    taking: TakingUp,
    file: Option<PathBuf>,
    /// How the file looked when it was read last.
    seen: Option<u64>,
    read: Read,
}

impl fmt::Debug for SettingsWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsWatch").finish_non_exhaustive()
    }
}

impl SettingsWatch {
    pub(super) fn start(taking: TakingUp, file: Option<PathBuf>, read: Read) -> io::Result<SettingsWatch> {
        let seen = file.as_deref().and_then(look_of);
        // It may have changed since the server was made of it.
        let is_older = read().is_ok_and(|settings| settings != *taking.started);
        let seen = seen.filter(|_| !is_older);
        Watch::start(Watching { taking, file, seen, read }).map(SettingsWatch)
    }

    /// Has the settings read now, whether or not their file changed: files that they name may have.
    pub fn read_again(&self) {
        self.0.ask();
    }
}

impl Watched for Watching {
    const THREAD: &'static str = "settings";

    fn path(&self) -> Option<PathBuf> {
        self.file.clone()
    }

    fn pause(&self) -> Duration {
        if self.file.is_some() { LOOK_PAUSE } else { NO_FILE_PAUSE }
    }

    fn look(&mut self, why: Why) -> bool {
        let look = || self.file.as_deref().and_then(look_of);
        let now = look();
        if why == Why::Regular && now == self.seen {
            return false;
        }
        let seen = settle(now, SETTLE_TIME, look);
        self.seen = seen;
        let taken = (self.read)().and_then(|settings| self.taking.take_up(&settings));
        let outcome = taken.unwrap_or_else(|error| {
            tracing::error!(%error, "the settings cannot be used; those in force stay");
            Outcome::Failed
        });
        self.taking.http.metrics.settings_reloaded(outcome.as_str());
        true
    }
}

impl TakingUp {
    pub(super) fn new(parts: &Parts, log: Option<LogHandle>) -> TakingUp {
        TakingUp {
            http: Arc::clone(&parts.http),
            rsocket: Arc::clone(&parts.rsocket),
            authenticator: Arc::clone(&parts.authenticator),
            log,
            started: Arc::clone(&parts.settings),
            in_force: Settings::clone(&parts.settings),
        }
    }

    /// Puts in force what can be.
    ///
    /// # Errors
    /// Settings that cannot be used, or not together with those that stay; credentials or keys that cannot be read.
    fn take_up(&mut self, settings: &Settings) -> Result<Outcome, ConfigError> {
        let next = at_once(&self.started, settings);
        next.check()?;
        let callers = AuthSettings { addresses: next.addresses(), ..next.auth.clone() };
        let verifier = self.authenticator.prepare(&callers)?;
        let has_other_clients = next.oauth.clients != self.in_force.oauth.clients;
        let oauth = self.http.oauth.as_ref().filter(|_| has_other_clients);
        let clients = oauth.map(|oauth| oauth.prepare(&next.oauth.clients)).transpose()?;
        // From here on nothing fails.
        let outcome = match (verifier.is_some(), next == self.in_force) {
            (false, true) => Outcome::Unchanged,
            (true, _) | (_, false) => Outcome::Applied,
        };
        if let Some(log) = &self.log {
            log.set_level(next.log.level);
        }
        if let Some(verifier) = verifier {
            self.authenticator.take_up(verifier);
        }
        if let (Some(oauth), Some(clients)) = (oauth, clients) {
            oauth.take_up(clients);
        }
        self.http.take_up(&next.server);
        self.http.rates.take_up(&next.auth);
        self.http.sapl.take_up(&next.sapl);
        self.http.authzen.take_up(&next.authzen);
        self.rsocket.take_up(&next.rsocket);
        let before = self.http.health.weaknesses();
        let weaknesses = next.weaknesses();
        for weakness in weaknesses.iter().filter(|weakness| !before.contains(weakness)) {
            tracing::warn!("WEAK SETTING: {weakness}");
        }
        self.http.health.take_up(weaknesses);
        tell(&self.in_force.differences(&next), &next.differences(settings));
        self.in_force = next;
        Ok(outcome)
    }
}

/// Settings of the start, with those that come into force while the server runs.
fn at_once(started: &Settings, settings: &Settings) -> Settings {
    let mut next = started.clone();
    // The policies of the default tenant were read under its name.
    let default_tenant = started.auth.default_tenant.clone();
    let (guards, explain) = (started.auth.guards.clone(), started.auth.explain);
    next.auth = AuthSettings { default_tenant, guards, explain, ..settings.auth.clone() };
    next.oauth.clients.clone_from(&settings.oauth.clients);
    next.log.level = settings.log.level;
    next.server.connections_max = settings.server.connections_max;
    next.server.connections_per_address_max = settings.server.connections_per_address_max;
    next.sapl.requests_per_second_max = settings.sapl.requests_per_second_max;
    next.sapl.streams_max = settings.sapl.streams_max;
    next.authzen.requests_per_second_max = settings.authzen.requests_per_second_max;
    next.rsocket.requests_per_second_max = settings.rsocket.requests_per_second_max;
    next.rsocket.connections_max = settings.rsocket.connections_max;
    next
}

/// Says in the log what changed. Names alone: values may be secrets.
fn tell(at_once: &[String], later: &[String]) {
    let list = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match at_once {
        [] => tracing::info!("settings read again"),
        names => tracing::info!("settings read again; in force now: {}", list(names)),
    }
    match later {
        [] => {}
        [one] => tracing::warn!("`{one}` changed; it takes effect at the next start"),
        names => tracing::warn!("{} changed; they take effect at the next start", list(names)),
    }
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Applied => "applied",
            Outcome::Unchanged => "unchanged",
            Outcome::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::from_toml(text, "t").unwrap()
    }

    #[test]
    fn some_settings_come_into_force_at_once_and_the_others_later() {
        let started = settings("server.listen = '127.0.0.1:1'\nauth.default_tenant = 'a'");
        let read = settings(
            "server.listen = '127.0.0.1:2'\nserver.connections_max = 7\nlog = { level = 'debug', format = 'json' }\n\
             auth = { default_tenant = 'b', danger_allow_no_auth = true }\nsapl.streams_max = 3\n\
             rsocket = { connections_max = 5, requests_per_second_max = 9 }",
        );
        let next = at_once(&started, &read);
        let now = [
            "auth.danger_allow_no_auth",
            "log.level",
            "rsocket.connections_max",
            "rsocket.requests_per_second_max",
            "sapl.streams_max",
            "server.connections_max",
        ];
        assert_eq!(started.differences(&next), now);
        assert_eq!(next.differences(&read), ["auth.default_tenant", "log.format", "server.listen"]);
        assert_eq!(at_once(&started, &started), started);
    }
}
