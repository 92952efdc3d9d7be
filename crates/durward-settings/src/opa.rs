//! `[opa]`: decisions for clients of the Open Policy Agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AuthSettings, CallerSettings, ConfigError};

/// Most questions of one request: they are decided one after the other.
const BATCH_CAP: usize = 100_000;

/// What is asked where, unless it is set.
const DOCUMENTS: [(&str, OpaShape); 6] = [
    ("authzen/allow", OpaShape::Authzen),
    ("trino/allow", OpaShape::TrinoAllow),
    ("trino/batch", OpaShape::TrinoBatch),
    ("trino/rowFilters", OpaShape::TrinoRowFilters),
    ("trino/columnMask", OpaShape::TrinoColumnMask),
    ("trino/batchColumnMasks", OpaShape::TrinoBatchColumnMasks),
];

/// OPA's data API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpaSettings {
    /// Whether the paths below `opa.path` are answered. Default: false.
    pub on: bool,
    /// What stands before `/v1/data`, `/v0/data` and `/health`. Default: `/opa`.
    pub path: String,
    /// What is asked at which path below `data`. Default: none, and then Trino's usual paths and `authzen/allow`.
    pub documents: BTreeMap<String, OpaShape>,
    /// Most questions of one request. Default: 10000.
    pub batch_max: usize,
    /// Which clients may ask.
    pub callers: CallerSettings,
}

/// The shape of a question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpaShape {
    /// `subject`, `action`, `resource` and `context` of AuthZEN; whether it is permitted.
    Authzen,
    /// The same, as `{"allow": true}`.
    AuthzenObject,
    /// A question of Trino; whether it is permitted.
    TrinoAllow,
    /// Several resources of Trino; the indices of those that are permitted.
    TrinoBatch,
    /// A table; the conditions that its rows are held to.
    TrinoRowFilters,
    /// A column; the expression in its place.
    TrinoColumnMask,
    /// Several columns; the expressions in their places.
    TrinoBatchColumnMasks,
}

impl Default for OpaSettings {
    fn default() -> OpaSettings {
        OpaSettings {
            on: false,
            path: "/opa".to_owned(),
            documents: BTreeMap::new(),
            batch_max: 10_000,
            callers: CallerSettings::default(),
        }
    }
}

impl OpaSettings {
    pub(super) fn check(&self, auth: &AuthSettings) -> Result<(), ConfigError> {
        if !self.on {
            return Ok(());
        }
        let wrong =
            |name: &str, message: String| Err(ConfigError::of_setting(&format!("opa.{name}"), message));
        let is_path = |path: &str| {
            path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.'))
                && !path.ends_with('/')
                && !path.contains("//")
        };
        if !self.path.is_empty() && (!self.path.starts_with('/') || !is_path(&self.path)) {
            let message =
                format!("is `{}`; it begins with `/` and does not end with it, or is empty", self.path);
            return wrong("path", message);
        }
        if let Some(path) =
            self.documents.keys().find(|path| path.is_empty() || path.starts_with('/') || !is_path(path))
        {
            return wrong("documents", format!("has `{path}`; a path is such as `trino/allow`"));
        }
        if !(1..=BATCH_CAP).contains(&self.batch_max) {
            return wrong("batch_max", format!("is {}; it must be 1 to {BATCH_CAP}", self.batch_max));
        }
        self.callers.check("opa", "opa.on", auth)
    }

    /// What is asked at this path.
    #[inline]
    pub fn shape_at(&self, document: &str) -> Option<OpaShape> {
        if !self.documents.is_empty() {
            return self.documents.get(document).copied();
        }
        DOCUMENTS.iter().find(|(path, _)| *path == document).map(|(_, shape)| *shape)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;

    #[test]
    fn paths_and_who_may_ask_are_checked() {
        let here = "callers.from = ['127.0.0.1']";
        for (text, words) in [
            ("on = true".to_owned(), "nobody may ask"),
            (format!("on = true, path = 'opa', {here}"), "`opa.path` is"),
            (format!("on = true, path = '/opa/', {here}"), "`opa.path` is"),
            (format!("on = true, documents = {{ '/a' = 'authzen' }}, {here}"), "`opa.documents` has"),
            (format!("on = true, documents = {{ a = 'rego' }}, {here}"), "`rego`"),
            (format!("on = true, batch_max = 0, {here}"), "batch_max"),
        ] {
            let error = Settings::from_toml(&format!("opa = {{ {text} }}"), "t").unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(Settings::from_toml(&format!("opa = {{ on = true, path = '', {here} }}"), "t").is_ok());
    }
}
