//! `[[authzen.entities]]`: where the entities come from that searches look among.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::database_address::{DatabaseAddress, DatabaseServer};
use crate::is_tenant;

/// The longest name of a channel: longer names are cut off by PostgreSQL.
const CHANNEL_BYTES_MAX: usize = 63;

/// Where entities come from: a file, or a query to a database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthzenEntitySettings {
    /// A file: `.jsonl` or `.ndjson`, or `.csv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The type of all entities of a CSV file, or of a query, without a column `type`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whose entities they are. Default: the default tenant's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// A database of PostgreSQL: `postgres://USER@HOST/DATABASE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// What is asked there: a `SELECT` with the columns `type`, `id`, and `properties` or any others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The file with the user's password. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_path: Option<PathBuf>,
    /// The certificates that the database's server is held to, in PEM. Default: the system's. With it, TLS is spoken on this machine too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// Whether entities and passwords go over a network without TLS. Default: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger_plain_text: Option<bool>,
    /// The channel on which the database tells of changes (`NOTIFY`). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
    /// How often the query is asked again; 0 means only when the database tells of a change. Default: 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_s: Option<u64>,
    /// How long connecting to a server may take, TLS and login included. Default: 5 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_time_ms_max: Option<u64>,
    /// How long the query may take. Default: 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_time_ms_max: Option<u64>,
}

impl AuthzenEntitySettings {
    /// How the file is read: as CSV, or else as JSON lines.
    pub fn is_csv(&self) -> bool {
        let extension = self.path.as_ref().and_then(|path| path.extension());
        extension.is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
    }

    /// How often the query is asked again, if nobody tells of changes.
    pub fn refresh(&self) -> Option<Duration> {
        Some(self.refresh_s.unwrap_or(60)).filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }

    /// How long connecting to a server may take.
    pub fn connect_time_max(&self) -> Duration {
        Duration::from_millis(self.connect_time_ms_max.unwrap_or(5_000))
    }

    /// How long the query may take.
    pub fn query_time_max(&self) -> Duration {
        Duration::from_millis(self.query_time_ms_max.unwrap_or(60_000))
    }

    /// Every file that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 3] {
        [&mut self.path, &mut self.password_path, &mut self.authorities]
    }

    /// Whether entities and passwords go over a network in plain text.
    pub(super) fn is_plain(&self) -> bool {
        let address = self.database.as_deref().and_then(|address| DatabaseAddress::read(address).ok());
        let is_away = |server: &DatabaseServer| !server.is_on_this_machine();
        self.danger_plain_text == Some(true)
            && address.is_some_and(|address| address.servers.iter().any(is_away))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match (&self.path, &self.database) {
            (Some(_), None) => self.check_file()?,
            (None, Some(address)) => self.check_database(address)?,
            (None, None) => return wrong("path", "is missing; name a file, or a `database` with a `query`"),
            (Some(_), Some(_)) => {
                return wrong("path", "is set beside `database`; entities come from one of them");
            }
        }
        match &self.tenant {
            Some(tenant) if !is_tenant(tenant) => {
                wrong("tenant", &format!("is `{tenant}`, which can be no tenant"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_file(&self) -> Result<(), ConfigError> {
        let of_databases = [
            ("query", self.query.is_some()),
            ("password_path", self.password_path.is_some()),
            ("authorities", self.authorities.is_some()),
            ("danger_plain_text", self.danger_plain_text.is_some()),
            ("notify", self.notify.is_some()),
            ("refresh_s", self.refresh_s.is_some()),
            ("connect_time_ms_max", self.connect_time_ms_max.is_some()),
            ("query_time_ms_max", self.query_time_ms_max.is_some()),
        ];
        if let Some((name, _)) = of_databases.iter().find(|(_, is_set)| *is_set) {
            return wrong(name, "is set beside `path`; it belongs to a `database`");
        }
        let path = self.path.clone().unwrap_or_default();
        let is_known = |extension: &std::ffi::OsStr| {
            ["jsonl", "ndjson", "csv"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        };
        if !path.extension().is_some_and(is_known) {
            let message =
                format!("is `{}`; a file of entities ends with .jsonl, .ndjson or .csv", path.display());
            return wrong("path", &message);
        }
        if self.kind.is_some() && !self.is_csv() {
            return wrong("type", "is set, and the file is no CSV: each line of JSON says its type");
        }
        Ok(())
    }

    fn check_database(&self, address: &str) -> Result<(), ConfigError> {
        DatabaseAddress::read(address).or_else(|error| wrong("database", &error.to_string()))?;
        if self.query.as_ref().is_none_or(|query| query.trim().is_empty()) {
            return wrong("query", "is missing; `database` needs one");
        }
        let is_channel =
            |name: &String| (1..=CHANNEL_BYTES_MAX).contains(&name.len()) && !name.contains('\0');
        if self.notify.as_ref().is_some_and(|name| !is_channel(name)) {
            return wrong("notify", &format!("must have 1 to {CHANNEL_BYTES_MAX} bytes"));
        }
        if self.refresh_s == Some(0) && self.notify.is_none() {
            return wrong("refresh_s", "is 0, and `notify` is not set: changes would never be seen");
        }
        let times =
            [("connect_time_ms_max", self.connect_time_max()), ("query_time_ms_max", self.query_time_max())];
        for (name, time) in times {
            // PostgreSQL counts them in 32 bits.
            if time.is_zero() || time > Duration::from_millis(i32::MAX.unsigned_abs().into()) {
                return wrong(
                    name,
                    &format!("is {}; the least is 1, the most {}", time.as_millis(), i32::MAX),
                );
            }
        }
        if self.danger_plain_text == Some(true) && self.authorities.is_some() {
            return wrong("danger_plain_text", "is set beside `authorities`, which are for TLS");
        }
        Ok(())
    }
}

fn wrong<T>(name: &str, message: &str) -> Result<T, ConfigError> {
    Err(ConfigError::of_setting(&format!("authzen.entities.{name}"), message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    fn read(entities: &str) -> Result<Settings, String> {
        Settings::from_toml(&format!("authzen.entities = [{{ {entities} }}]"), "t")
            .map_err(|error| error.to_string())
    }

    #[test]
    fn entities_come_from_a_file_or_from_a_database() {
        let database = "database = 'postgres://a@db/r', query = 'TABLE e'";
        for (entities, words) in [
            ("type = 'x'".to_owned(), "`authzen.entities.path` is missing"),
            (format!("path = 'e.csv', {database}"), "entities come from one of them"),
            ("path = 'people.txt'".to_owned(), "ends with .jsonl"),
            ("path = 'people.jsonl', type = 'user'".to_owned(), "is no CSV"),
            ("path = 'e.csv', refresh_s = 1".to_owned(), "`authzen.entities.refresh_s` is set beside `path`"),
            ("path = 'e.csv', notify = 'x'".to_owned(), "it belongs to a `database`"),
            ("database = 'postgres://a@db/r'".to_owned(), "`authzen.entities.query` is missing"),
            ("database = 'db', query = 'TABLE e'".to_owned(), "`authzen.entities.database` is no address"),
            (format!("{database}, notify = ''"), "must have 1 to 63 bytes"),
            (format!("{database}, refresh_s = 0"), "changes would never be seen"),
            (format!("{database}, query_time_ms_max = 0"), "the least is 1"),
            (format!("{database}, connect_time_ms_max = 2147483648"), "the most 2147483647"),
            (format!("{database}, authorities = 'ca', danger_plain_text = true"), "which are for TLS"),
            (format!("{database}, tenant = '..'"), "can be no tenant"),
        ] {
            let error = read(&entities).unwrap_err();
            assert!(error.contains(words), "{entities}: {error}");
        }
        for entities in [
            "path = 'e.csv', type = 'x'",
            database,
            "database = 'postgres://a@db/r', query = 'TABLE e', refresh_s = 0, notify = 'n', type = 'x'",
        ] {
            assert!(read(entities).is_ok(), "{entities}");
        }
    }

    #[test]
    fn plain_text_over_a_network_is_a_weakness() {
        let is_weak = |host: &str, more: &str| {
            let entities = format!("database = 'postgres://a@{host}/r', query = 'TABLE e'{more}");
            let weaknesses = read(&entities).unwrap().weaknesses();
            weaknesses.iter().any(|weakness| weakness.contains("authzen.entities.danger_plain_text"))
        };
        let plain = ", danger_plain_text = true";
        assert!(is_weak("db", plain) && is_weak("localhost,db", plain));
        assert!(!is_weak("db", "") && !is_weak("localhost", plain) && !is_weak("%2Frun", plain));
    }
}
