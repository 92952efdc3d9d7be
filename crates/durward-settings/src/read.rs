//! `durward.toml` out of its file, and what is wrong with it, with the line and a way out.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use durward_sources::SettingError;

use super::{Overrides, Settings};

/// Longest configuration file: thousands of times what all settings need.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// A mistake in the configuration, told to the operator. Shown as
/// ``durward.toml:3:1: unknown setting `lisen`; did you mean `listen`?``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as the caller named it, or the variable of the environment; empty where the mistake is about neither.
    pub source: String,
    /// Line and column, from 1, where the mistake has a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong and a way out.
    pub message: String,
}

impl ConfigError {
    /// A mistake about a setting that is well-formed in itself.
    pub fn of_setting(name: &str, message: String) -> ConfigError {
        ConfigError { source: String::new(), place: None, message: format!("`{name}` {message}") }
    }

    /// A mistake in a variable of the environment.
    pub(super) fn of_variable(name: &str, message: String) -> ConfigError {
        ConfigError { source: name.to_owned(), place: None, message }
    }

    /// A mistake about a file as a whole.
    fn of_file(path: &Path, message: String) -> ConfigError {
        ConfigError { source: path.display().to_string(), place: None, message }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source.as_str(), self.place) {
            ("", _) => f.write_str(&self.message),
            (source, None) => write!(f, "{source}: {}", self.message),
            (source, Some((line, column))) => write!(f, "{source}:{line}:{column}: {}", self.message),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<SettingError> for ConfigError {
    fn from(error: SettingError) -> ConfigError {
        ConfigError { source: String::new(), place: None, message: error.to_string() }
    }
}

impl Settings {
    /// Reads a configuration file. Relative paths in it start at its own directory.
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML, or says something no setting means.
    pub fn read(path: &Path) -> Result<Settings, ConfigError> {
        Settings::read_with(Some(path), &Overrides::default())
    }

    /// Reads a configuration file, if there is one, and variables of the environment, which count more than the file. Relative paths in
    /// either start at the directory of the file.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML; a file or a variable that says something no setting means.
    pub fn read_with(path: Option<&Path>, overrides: &Overrides) -> Result<Settings, ConfigError> {
        let Some(path) = path else { return Settings::from_toml_with("", "", overrides) };
        let length = fs::metadata(path).map_err(|error| ConfigError::of_file(path, error.to_string()))?.len();
        if length > CONFIG_BYTES_MAX {
            return Err(ConfigError::of_file(path, format!("is longer than {CONFIG_BYTES_MAX} bytes")));
        }
        let text = fs::read_to_string(path).map_err(|error| ConfigError::of_file(path, error.to_string()))?;
        let mut settings = Settings::from_toml_with(&text, &path.display().to_string(), overrides)?;
        if let Some(directory) = path.parent() {
            settings.start_paths_at(directory);
        }
        Ok(settings)
    }

    /// Reads a configuration text; `source` is how messages call it.
    ///
    /// ```
    /// use durward_settings::Settings;
    ///
    /// let settings = Settings::from_toml("server.listen = '127.0.0.1:9000'", "durward.toml")?;
    /// assert_eq!(settings.server.listen.port(), 9000);
    ///
    /// let error = Settings::from_toml("[server]\nlisen = '127.0.0.1:9000'", "durward.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "durward.toml:2:1: unknown setting `lisen`; did you mean `listen`?");
    /// # Ok::<(), durward_settings::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// A text that is not TOML, or says something no setting means.
    pub fn from_toml(text: &str, source: &str) -> Result<Settings, ConfigError> {
        Settings::from_toml_with(text, source, &Overrides::default())
    }

    pub(super) fn from_toml_with(
        text: &str,
        source: &str,
        overrides: &Overrides,
    ) -> Result<Settings, ConfigError> {
        let settings = overrides.read(text, source)?;
        settings.check().map_err(|error| overrides.blamed(error, source))?;
        Ok(settings)
    }

    fn start_paths_at(&mut self, directory: &Path) {
        self.policies.path = directory.join(&self.policies.path);
        self.policies.implied_path = directory.join(&self.policies.implied_path);
        if !matches!(self.decision_log.to.as_str(), "off" | "stdout") {
            self.decision_log.to = directory.join(&self.decision_log.to).display().to_string();
        }
        let listeners = self.listen.iter_mut().map(|listen| &mut listen.tls);
        for tls in [&mut self.server.tls, &mut self.rsocket.tls].into_iter().chain(listeners).flatten() {
            tls.certificate = directory.join(&tls.certificate);
            tls.key = directory.join(&tls.key);
            tls.client_authorities = tls.client_authorities.take().map(|path| directory.join(path));
        }
        let start = |path: &mut Option<PathBuf>| *path = path.take().map(|path| directory.join(path));
        self.policies.schemas.paths().into_iter().for_each(start);
        start(&mut self.rsocket.socket);
        self.sources.paths().for_each(start);
        self.attributes.iter_mut().filter_map(|attribute| attribute.paths()).for_each(start);
        start(&mut self.bundles.public_key_path);
        start(&mut self.identity.users);
        start(&mut self.identity.data);
        start(&mut self.identity.cluster_key_path);
        start(&mut self.identity.audit);
        start(&mut self.identity.breached_passwords_path);
        self.identity.nats.iter_mut().flat_map(|nats| nats.paths()).for_each(start);
        self.identity.upstreams.iter_mut().flat_map(|upstream| upstream.paths()).for_each(start);
        self.identity.pages.paths().into_iter().for_each(start);
        self.identity.reset.paths().into_iter().for_each(start);
        self.identity.ldap.iter_mut().flat_map(|ldap| ldap.paths()).for_each(start);
        self.brokers.nats.iter_mut().flat_map(|nats| nats.paths()).for_each(start);
        start(&mut self.oauth.data);
        self.otlp.paths().into_iter().for_each(start);
        start(&mut self.remote_bundles.auth_value_path);
        self.authzen.entities.iter_mut().flat_map(|entities| entities.paths()).for_each(start);
        for path in self.opcua.paths() {
            *path = directory.join(&*path);
        }
        for path in &mut self.oauth.rs256_key_paths {
            *path = directory.join(&path);
        }
        for path in self.bundles.key_paths.values_mut().chain(&mut self.policies.secret_keys) {
            *path = directory.join(&path);
        }
        if let Some(jwt) = &mut self.auth.jwt {
            start(&mut jwt.keys);
            start(&mut jwt.authorities);
        }
    }
}

/// Line and column, from 1.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_a_place_and_a_way_out() {
        let cases = [
            ("[server]\nlisen = 1", "t:2:1: unknown setting `lisen`; did you mean `listen`?"),
            ("\n[polices]\n", "t:2:2: unknown setting `polices`; did you mean `policies`?"),
            ("server.xyz = 1", "t:1:8: unknown setting `xyz`; there are listen, surfaces, workers, "),
            ("server.body_bytes_max = 0", "t: `server.body_bytes_max` is 0; the least is 1"),
            ("limits.policy_depth_max = 9999", "t: `limits.policy_depth_max` is 9999; the most is 400"),
            ("policies.index = 'fast'", "t:1:18: `fast` is not an index; there are"),
            ("policies.combining = 'x'", "t:1:22: unknown combining algorithm `x`; use `deny-overrides`"),
            ("server.listen = 'here'", "t:1:17: "),
            ("server.workers = -1", "t:1:18: "),
            ("[server", "t:1:8: "),
            ("[[attributes]]\nid='age'\ntype='integer'\nvalues=['old']", "t: `attributes.age` "),
            ("[[attributes]]\nid='age'\ntype='int'\nvalues=[]", "t: `attributes.age` has the unknown type"),
        ];
        for (text, message) in cases {
            let error = Settings::from_toml(text, "t").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}\n{message}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    /// Every setting given every kind of value: whatever is said, it is said without the names of types.
    #[test]
    fn no_message_names_a_type_of_ours() {
        let all = toml::Table::try_from(Settings::default()).unwrap();
        let kinds = ["true", "1", "-1", "1.5", "'x'", "[]", "[1]", "['x']", "{}", "{x = 1}", "1979-05-27"];
        let mut refused = 0;
        for (section, settings) in &all {
            let names =
                settings.as_table().into_iter().flatten().map(|(name, _)| format!("{section}.{name}"));
            for name in std::iter::once(section.clone()).chain(names) {
                for kind in kinds {
                    let Err(error) = Settings::from_toml(&format!("{name} = {kind}"), "t") else { continue };
                    refused += 1;
                    let said = error.to_string();
                    let words = [
                        "struct ",
                        "enum ",
                        "usize",
                        "u16",
                        "u64",
                        "sequence",
                        " map",
                        "unit value",
                        "Settings",
                    ];
                    assert!(words.iter().all(|word| !said.contains(word)), "{name} = {kind}: {said}");
                }
            }
        }
        assert!(refused > 200, "{refused}");
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(Settings::from_toml("", "t").unwrap(), Settings::default());
    }
}
