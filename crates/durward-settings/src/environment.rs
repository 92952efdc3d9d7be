//! Settings out of the environment: `DURWARD_SERVER__LISTEN=0.0.0.0:8080` is `server.listen`.
//!
//! Variables are put into the table that the file holds, and then all of it is read at once. So one reader says what is wrong with either:
//! a place in the text is one of the file, and a place behind the text is a variable.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::Range;

use durward_pdp::ir::near::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::read::{ConfigError, line_and_column};
use super::typed::{self, Mistake};
use super::words::{SETTINGS, in_our_words};
use super::{Settings, names_of};

/// What every variable that is a setting begins with.
const PREFIX: &str = "DURWARD_";

/// What stands between the parts of a setting's name.
const BETWEEN: &str = "__";

/// Variables that mean something else to durward, its tests or its tools.
const OTHERS: [&str; 19] = [
    // `durward decide` with a server.
    "DURWARD_URL",
    "DURWARD_BEARER_TOKEN",
    "DURWARD_BASIC_AUTH",
    // `durward lab`.
    "DURWARD_REMOTE_WRITE_AUTHORIZATION",
    "DURWARD_OTLP_AUTHORIZATION",
    "DURWARD_NATS_SERVER",
    // Packages for other languages.
    "DURWARD_LIBRARY",
    "DURWARD_NATIVE",
    "DURWARD_WASM",
    // Where a build says that its releases are: `durward init`.
    "DURWARD_REPOSITORY",
    // Tests.
    "DURWARD_JAVA_HOME",
    "DURWARD_DATA",
    "DURWARD_BLESS",
    "DURWARD_SEED",
    "DURWARD_SEEDS",
    "DURWARD_LONG",
    "DURWARD_REPORTS",
    "DURWARD_FAULT_ROUNDS",
    "DURWARD_TESTDATA_AGAIN",
];

/// What more of them begin with: the marks of nodes that the lab starts, and the secrets of its tests.
const OTHER_BEGINNINGS: [&str; 2] = ["DURWARD_LAB_", "DURWARD_TEST_"];

/// The settings that variables of the environment give. They count more than those of a file.
#[derive(Clone, Debug, Default)]
pub struct Overrides(Vec<Override>);

#[derive(Clone)]
struct Override {
    /// The variable.
    name: String,
    /// The setting, part by part.
    path: Vec<String>,
    value: String,
}

impl fmt::Debug for Override {
    /// A value may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Overrides {
    /// Those among the variables of an environment, such as [`std::env::vars_os`]: a setting's name in upper case, its parts joined by `__`,
    /// behind `DURWARD_`. Variables that mean something else to durward are passed over, and so are those that Kubernetes sets for a service
    /// called `durward`.
    ///
    /// ```
    /// use durward_settings::{Overrides, Settings};
    ///
    /// let environment = [("DURWARD_SERVER__LISTEN".into(), "0.0.0.0:9000".into())];
    /// let settings = Settings::read_with(None, &Overrides::of(environment)?)?;
    /// assert_eq!(settings.server.listen.port(), 9000);
    /// # Ok::<(), durward_settings::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// A variable with this beginning that can be no setting, or whose value is not UTF-8.
    pub fn of(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Overrides, ConfigError> {
        let mut overrides = Vec::new();
        for (name, value) in environment {
            let Some(name) = name.to_str() else { continue };
            let Some(path) = name.strip_prefix(PREFIX).filter(|_| !is_of_others(name, &value)) else {
                continue;
            };
            let path: Vec<String> = path.to_ascii_lowercase().split(BETWEEN).map(str::to_owned).collect();
            if let [only] = path.as_slice()
                && let Some(message) = no_section(only)
            {
                return Err(ConfigError::of_variable(name, message));
            }
            let value = value.into_string().map_err(|_| {
                ConfigError::of_variable(name, "has a value that is not UTF-8 text".to_owned())
            })?;
            overrides.push(Override { name: name.to_owned(), path, value });
        }
        // What is set as a whole comes before what is set within it.
        overrides.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Overrides(overrides))
    }

    /// The settings of a file's text and of these variables. `source` is how messages call the file.
    ///
    /// A value is TOML, where it can be read as that and such a value may stand there. Otherwise it is a text.
    pub(super) fn read(&self, text: &str, source: &str) -> Result<Settings, ConfigError> {
        let behind = text.len() + 1;
        // What was wrong with a value as TOML, where it is a text for that reason.
        let mut wrong_as_toml: Vec<Option<String>> = vec![None; self.0.len()];
        loop {
            let Mistake { start, message } = match self.read_once(text, behind, &wrong_as_toml) {
                Ok(settings) => return Ok(settings),
                Err(mistake) => mistake,
            };
            let at = start.and_then(|start| start.checked_sub(behind));
            let Some((at, variable)) = at.and_then(|at| Some((at, self.0.get(at)?))) else {
                let place = start.map(|start| line_and_column(text, start));
                let message = in_our_words(&message, &SETTINGS);
                return Err(ConfigError { source: source.to_owned(), place, message });
            };
            let message = match wrong_as_toml.get_mut(at) {
                Some(first @ None) if variable.is_toml() => {
                    *first = Some(message);
                    continue;
                }
                // No text is wanted there either: what is wrong with the value is what was wrong at first.
                Some(Some(first)) if message.starts_with("invalid type") => first.clone(),
                Some(_) | None => message,
            };
            return Err(ConfigError::of_variable(&variable.name, in_our_words(&message, &SETTINGS)));
        }
    }

    fn read_once(
        &self,
        text: &str,
        behind: usize,
        wrong_as_toml: &[Option<String>],
    ) -> Result<Settings, Mistake> {
        let mut table = DeTable::parse(text)?;
        for (at, variable) in self.0.iter().enumerate() {
            let is_text = wrong_as_toml.get(at).is_some_and(Option::is_some);
            let value = if is_text { None } else { variable.toml() };
            let value = value.unwrap_or(DeValue::String(Cow::Borrowed(&variable.value)));
            let place = behind + at..behind + at;
            if let Err(not_a_table) = put(table.get_mut(), &variable.path, value, &place) {
                let message = format!("`{not_a_table}` is no table of settings; set it as a whole");
                return Err(Mistake { start: Some(place.start), message });
            }
        }
        typed::of_table(table)
    }

    /// The variable that a mistake is about, or else the file.
    pub(super) fn blamed(&self, error: ConfigError, source: &str) -> ConfigError {
        let setting = error.message.strip_prefix('`').and_then(|rest| rest.split('`').next());
        let is_meant = |variable: &&Override| {
            let own = variable.path.join(".");
            let rest = setting.and_then(|setting| setting.strip_prefix(own.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let source = self.0.iter().find(is_meant).map_or(source, |variable| variable.name.as_str());
        ConfigError { source: source.to_owned(), ..error }
    }
}

impl Override {
    /// The value as TOML, if it is any.
    fn toml(&self) -> Option<DeValue<'_>> {
        let is_blank = self.value.trim().is_empty();
        DeValue::parse(&self.value).ok().filter(|_| !is_blank).map(Spanned::into_inner)
    }

    /// Whether the value is TOML that is more than a text.
    fn is_toml(&self) -> bool {
        self.toml().is_some_and(|value| !value.is_str())
    }
}

/// Puts a value into a table, and tables around it where there are none. Names are alike whatever their letter case, and with `-` in the
/// place of `_`: a variable cannot tell them apart.
///
/// # Errors
/// The name of what stands in the way, because it is no table.
fn put<'i>(
    table: &mut DeTable<'i>,
    path: &[String],
    value: DeValue<'i>,
    place: &Range<usize>,
) -> Result<(), String> {
    let [first, rest @ ..] = path else { return Ok(()) };
    let known = table.keys().map(Spanned::get_ref).find(|key| are_alike(key, first)).cloned();
    let key = known.unwrap_or_else(|| Cow::Owned(first.clone()));
    if rest.is_empty() {
        table.remove::<str>(&key);
        table.insert(Spanned::new(place.clone(), key), placed(value, place));
        return Ok(());
    }
    if !table.contains_key::<str>(&key) {
        let empty = DeValue::Table(DeTable::new());
        table.insert(Spanned::new(place.clone(), key.clone()), Spanned::new(place.clone(), empty));
    }
    match table.get_mut::<str>(&key).map(Spanned::get_mut) {
        Some(DeValue::Table(within)) => {
            put(within, rest, value, place).map_err(|name| format!("{key}.{name}"))
        }
        Some(_) | None => Err(key.into_owned()),
    }
}

fn are_alike(key: &str, part: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    key.bytes().map(plain).eq(part.bytes().map(plain))
}

/// A value, with all that is in it, at one place.
fn placed<'i>(value: DeValue<'i>, place: &Range<usize>) -> Spanned<DeValue<'i>> {
    let value = match value {
        DeValue::Array(items) => {
            DeValue::Array(items.into_iter().map(|item| placed(item.into_inner(), place)).collect())
        }
        DeValue::Table(table) => {
            let moved = table.into_iter().map(|(key, value)| {
                (Spanned::new(place.clone(), key.into_inner()), placed(value.into_inner(), place))
            });
            DeValue::Table(moved.collect())
        }
        plain @ (DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)) => plain,
    };
    Spanned::new(place.clone(), value)
}

fn is_of_others(name: &str, value: &OsStr) -> bool {
    OTHERS.contains(&name)
        || OTHER_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || is_service_link(name, value)
}

/// Whether Kubernetes sets the variable for a service whose name begins with `durward`: `DURWARD_SERVICE_HOST`, `DURWARD_PORT`,
/// `DURWARD_PORT_8080_TCP_ADDR`, and so on.
fn is_service_link(name: &str, value: &OsStr) -> bool {
    let is_address = || value.to_str().is_some_and(|value| value.contains("://"));
    let after_port =
        name.split("_PORT_").skip(1).any(|rest| rest.starts_with(|it: char| it.is_ascii_digit()));
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.ends_with("_PORT") && is_address())
        || (after_port && !name.contains(BETWEEN))
}

/// What is wrong with a name of one part, unless it is a section's.
fn no_section(name: &str) -> Option<String> {
    let names = names_of(&Settings::default());
    let sections = || names.iter().filter_map(|name| name.split('.').next());
    if sections().any(|section| section == name) {
        return None;
    }
    let variable = |path: &str| format!("{PREFIX}{}", path.to_ascii_uppercase().replace('.', BETWEEN));
    let within = sections()
        .filter(|section| name.strip_prefix(*section).is_some_and(|rest| rest.starts_with('_')))
        .max_by_key(|section| section.len());
    let meant = match within {
        Some(section) => {
            let rest = name.get(section.len() + 1..).unwrap_or_default();
            let own: Vec<&str> =
                names.iter().filter_map(|name| name.strip_prefix(section)?.strip_prefix('.')).collect();
            let setting = nearest(rest, own.iter().copied()).unwrap_or(rest);
            Some(variable(&format!("{section}.{setting}")))
        }
        None => nearest(name, names.iter().map(String::as_str).chain(sections())).map(variable),
    };
    Some(match meant {
        Some(meant) => format!("names no setting; did you mean `{meant}`?"),
        None => format!("names no setting; `{PREFIX}SERVER__LISTEN` is `server.listen`, for example"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Settings::from_toml_with(text, "t", &Overrides::of(environment)?)
    }

    fn wrong(text: &str, name: &str, value: &str) -> String {
        read(text, &[(name, value)]).unwrap_err().to_string()
    }

    #[test]
    fn variables_count_more_than_the_file() {
        let settings = read(
            "server.listen = '127.0.0.1:1'\nserver.workers = 3\nauth.default_tenant = 'file'",
            &[
                ("DURWARD_SERVER__LISTEN", "127.0.0.1:2"),
                ("DURWARD_POLICIES__WATCH", "false"),
                ("DURWARD_SERVER__TRUSTED_PROXIES", "['10.0.0.0/8']"),
                ("DURWARD_LOG__LEVEL", "debug"),
                ("DURWARD_AUTH__DEFAULT_TENANT", "'quoted'"),
                ("DURWARD_RSOCKET__LISTEN", "127.0.0.1:7000"),
                ("DURWARD_AUTH__DANGER_ALLOW_NO_AUTH", "true"),
                ("PATH", "/bin"),
            ],
        );
        let settings = settings.unwrap();
        assert_eq!((settings.server.listen.port(), settings.server.workers), (2, 3));
        assert!(!settings.policies.watch && settings.server.trusted_proxies.len() == 1);
        assert_eq!(settings.auth.default_tenant, "quoted");
        assert_eq!(settings.rsocket.listen.map(|listen| listen.port()), Some(7000));
    }

    #[test]
    fn a_value_that_could_be_toml_is_a_text_where_a_text_is_wanted() {
        for value in
            ["7", "true", "1.5", "1979-05-27", "[1]", "{}", "99999999999999999999999999999999999999999"]
        {
            let settings = read("", &[("DURWARD_POLICIES__ROOT", value)]).unwrap();
            assert_eq!(settings.policies.root.as_deref(), Some(value));
        }
    }

    #[test]
    fn every_setting_can_be_set() {
        let table = toml::Table::try_from(Settings::default()).unwrap();
        let mut variables = Vec::new();
        for name in names_of(&Settings::default()) {
            let mut parts = name.split('.');
            let first = &table[parts.next().unwrap()];
            let value = parts.fold(first, |value, part| &value[part]);
            let variable = format!("DURWARD_{}", name.to_uppercase().replace('.', "__"));
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            variables.push((variable, text));
        }
        assert!(variables.len() > 100, "{}", variables.len());
        let pairs: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(read("", &pairs).unwrap(), Settings::default());
    }

    #[test]
    fn what_is_wrong_names_the_variable() {
        for (name, value, message) in [
            ("DURWARD_SERVER__LISEN", "x", "unknown setting `lisen`; did you mean `listen`?"),
            ("DURWARD_SEVER__LISTEN", "x", "unknown setting `sever`; did you mean `server`?"),
            ("DURWARD_SERVER___LISTEN", "x", "unknown setting `_listen`; did you mean `listen`?"),
            ("DURWARD_SERVER_LISTEN", "x", "names no setting; did you mean `DURWARD_SERVER__LISTEN`?"),
            ("DURWARD_RSOCKET_LISTEN", "x", "names no setting; did you mean `DURWARD_RSOCKET__LISTEN`?"),
            ("DURWARD_DECISION_LOG_TOO", "x", "names no setting; did you mean `DURWARD_DECISION_LOG__TO`?"),
            ("DURWARD_SERVR", "x", "names no setting; did you mean `DURWARD_SERVER`?"),
            (
                "DURWARD_FAVOURITE_COLOUR",
                "x",
                "names no setting; `DURWARD_SERVER__LISTEN` is `server.listen`, for example",
            ),
            (
                "DURWARD_SERVER__WORKERS",
                "two",
                "the string \"two\" stands where a whole number from 0 on is expected",
            ),
            (
                "DURWARD_SERVER__WORKERS",
                "-1",
                "the number `-1` stands where a whole number from 0 on is expected",
            ),
            ("DURWARD_LOG__FORMAT", "true", "`true` is none of `text`, `json`"),
            (
                "DURWARD_SERVER__WORKERS__X",
                "1",
                "`server.workers` is no table of settings; set it as a whole",
            ),
            ("DURWARD_SERVER__TLS__KEY", "k.pem", "the setting `certificate` is missing here"),
            ("DURWARD_SERVER__BODY_BYTES_MAX", "0", "`server.body_bytes_max` is 0; the least is 1"),
        ] {
            assert_eq!(wrong("server.workers = 2", name, value), format!("{name}: {message}"));
        }
    }

    #[test]
    fn what_is_wrong_with_the_file_is_told_with_its_place() {
        let name = "DURWARD_SERVER__WORKERS";
        assert!(wrong("\nserver.lisen = 1", name, "1").starts_with("t:2:8: unknown setting `lisen`;"));
        assert!(wrong("server.body_bytes_max = 0", name, "1").starts_with("t: `server.body_bytes_max` is 0"));
        let settings = read("server.workers = 'two'", &[(name, "2")]).unwrap();
        assert_eq!(settings.server.workers, 2, "what a variable replaces is not read");
    }

    #[test]
    fn names_that_operators_choose_are_found_whatever_their_case() {
        let text = "remote_bundles.tenant_poll_ms = { Acme-West = 1, other = 2 }";
        let settings = read(
            text,
            &[
                ("DURWARD_REMOTE_BUNDLES__TENANT_POLL_MS__ACME_WEST", "10"),
                ("DURWARD_REMOTE_BUNDLES__TENANT_POLL_MS__NEW", "30"),
            ],
        );
        let poll = settings.unwrap().remote_bundles.tenant_poll_ms;
        let expected = [("Acme-West", 10), ("new", 30), ("other", 2)];
        assert_eq!(poll.iter().map(|(name, ms)| (name.as_str(), *ms)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_part_counts_more_than_the_whole() {
        let settings = read(
            "",
            &[
                ("DURWARD_SERVER__TLS__KEY", "other.pem"),
                ("DURWARD_SERVER__TLS", "{ certificate = 'c.pem', key = 'k.pem' }"),
            ],
        );
        let tls = settings.unwrap().server.tls.unwrap();
        assert_eq!((tls.certificate.to_str(), tls.key.to_str()), (Some("c.pem"), Some("other.pem")));
    }

    #[test]
    fn variables_of_others_are_passed_over() {
        let of_kubernetes = [
            ("DURWARD_SERVICE_HOST", "10.0.0.1"),
            ("DURWARD_SERVICE_PORT", "8080"),
            ("DURWARD_SERVICE_PORT_HTTP", "8080"),
            ("DURWARD_PORT", "tcp://10.0.0.1:8080"),
            ("DURWARD_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("DURWARD_PORT_8080_TCP_ADDR", "10.0.0.1"),
            ("DURWARD_METRICS_PORT_9090_TCP_PROTO", "tcp"),
        ];
        assert_eq!(read("", &of_kubernetes).unwrap(), Settings::default());
        let own = OTHERS.map(|name| (name, "x"));
        assert_eq!(read("", &own).unwrap(), Settings::default());
        assert!(read("", &[("DURWARD_PORT", "8080")]).is_err(), "meant for durward");
    }

    /// Whatever variable the binary reads for something else must be in the list: otherwise it keeps servers from starting.
    #[test]
    fn the_variables_of_the_binary_are_among_those_of_others() {
        let mut folders = vec![durward_testdata::workspace().join("crates/durward/src")];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                for rest in text.split("\"DURWARD_").skip(1) {
                    let end =
                        rest.find(|it: char| !it.is_ascii_uppercase() && it != '_').unwrap_or(rest.len());
                    let name = format!("DURWARD_{}", &rest[..end]);
                    found += 1;
                    assert!(is_of_others(&name, OsStr::new("x")), "{name} in {}", path.display());
                }
            }
        }
        assert!(found > 4, "{found}");
    }

    #[test]
    fn values_are_not_shown() {
        let environment = [("DURWARD_REMOTE_BUNDLES__AUTH_VALUE".into(), "hunter2".into())];
        let shown = format!("{:?}", Overrides::of(environment).unwrap());
        assert!(
            shown.contains("DURWARD_REMOTE_BUNDLES__AUTH_VALUE") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}
