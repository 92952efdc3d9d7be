//! `[[attributes]]`: attributes that requests of XACML lack: fixed ones, such as the site this stands at, and those that are
//! asked for: a service, a directory, a token.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use durward_pdp::{AttributeName, DataType, Value};
use serde::{Deserialize, Serialize};

use super::{LdapDepth, SettingError, SettingName, SourceSettings};

/// One attribute that every request has unless it brings its own. It has `values`, or one of `http`, `ldap` and `jwt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeSettings {
    /// The category: `subject`, `resource`, `action`, `environment`, or an URI. Default: `environment`.
    #[serde(default = "environment")]
    pub category: String,
    /// The attribute identifier.
    pub id: String,
    /// The data type by its short name (`string`, `integer`, `dateTime`, ...) or its URI. Default: `string`.
    #[serde(default = "string", rename = "type")]
    pub data_type: String,
    /// Who says so, for policies that ask for an issuer. Default: nobody in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The values, in the lexical form of the data type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// A service that is asked for the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<AttributeHttpSettings>,
    /// A directory that is searched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldap: Option<AttributeLdapSettings>,
    /// A token that says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwt: Option<AttributeJwtSettings>,
    /// How long an answer is good for other requests, in seconds. Default: 0, each request asks.
    #[serde(default)]
    pub cache_s: u64,
    /// How long asking may take. Default: 2 s.
    #[serde(default = "two_seconds")]
    pub answer_time_ms_max: u64,
}

/// A service that speaks HTTP and JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeHttpSettings {
    /// The address to ask. `{subject-id}`, `{resource-id}`, `{action-id}` and `{CATEGORY/ID}` stand for attributes of the request.
    pub url: String,
    /// The method. Default: `GET`.
    #[serde(default = "get")]
    pub method: String,
    /// Header fields, other than credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A file with the value of the header field `Authorization`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_path: Option<PathBuf>,
    /// What is sent, as JSON with the same placeholders, each of which becomes a whole value. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Which part of the answer is the value, or the array of values, as a JSON pointer (RFC 6901). Default: all of it.
    #[serde(default)]
    pub pointer: String,
    /// Most bytes of an answer. Default: 1 MiB.
    #[serde(default = "mebibyte")]
    pub answer_bytes_max: usize,
}

/// A search in an LDAP directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeLdapSettings {
    /// The directory: the name of a `[sources.ldap.NAME]`.
    pub directory: String,
    /// Below which entry is searched. Default: that of the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// How far below. Default: anywhere.
    #[serde(default)]
    pub scope: LdapDepth,
    /// Which entries, with the same placeholders as an address: `(uid={subject-id})`.
    pub filter: String,
    /// Whose values.
    pub attribute: String,
}

/// A claim of a token that the request brings along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeJwtSettings {
    /// Whose tokens are believed: the name of a `[sources.jwt.NAME]`.
    pub issuer: String,
    /// The attribute of the request that holds the token: `CATEGORY/ID`.
    pub token: String,
    /// The claim, as a JSON pointer: `/realm_access/roles`.
    pub claim: String,
}

fn two_seconds() -> u64 {
    2_000
}

fn get() -> String {
    "GET".into()
}

fn mebibyte() -> usize {
    1 << 20
}

fn environment() -> String {
    "environment".into()
}

fn string() -> String {
    "string".into()
}

impl AttributeSettings {
    /// The category as an URI.
    pub(crate) fn category_uri(&self) -> &str {
        match self.category.as_str() {
            "subject" => "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject",
            "resource" => "urn:oasis:names:tc:xacml:3.0:attribute-category:resource",
            "action" => "urn:oasis:names:tc:xacml:3.0:attribute-category:action",
            "environment" => "urn:oasis:names:tc:xacml:3.0:attribute-category:environment",
            uri => uri,
        }
    }

    /// Whether somebody is asked for it.
    pub fn is_asked_for(&self) -> bool {
        self.http.is_some() || self.ldap.is_some() || self.jwt.is_some()
    }

    pub(crate) fn cache_time(&self) -> Duration {
        Duration::from_secs(self.cache_s)
    }

    pub(crate) fn time_max(&self) -> Duration {
        Duration::from_millis(self.answer_time_ms_max)
    }

    /// How messages call this attribute.
    pub(crate) fn setting(&self) -> SettingName {
        SettingName(format!("attributes.{}", self.id))
    }

    /// A mistake in this attribute.
    fn wrong(&self, message: impl Into<String>) -> SettingError {
        self.setting().wrong(message)
    }

    /// What can be said of it without opening anything. `all` has the directories and issuers that it may name.
    ///
    /// # Errors
    /// No source or several, what cannot be cached or waited for, or what is wrong with its source.
    pub fn check(&self, all: &SourceSettings) -> Result<(), SettingError> {
        let sources = [self.values.is_some(), self.http.is_some(), self.ldap.is_some(), self.jwt.is_some()];
        match sources.into_iter().filter(|is_there| *is_there).count() {
            0 => return Err(self.wrong("has no source; give it `values`, `http`, `ldap` or `jwt`")),
            1 => {}
            _ => return Err(self.wrong("has several of `values`, `http`, `ldap` and `jwt`; give it one")),
        }
        if self.answer_time_ms_max == 0 {
            return Err(self.wrong("has an `answer_time_ms_max` of 0: nothing could be asked"));
        }
        if self.cache_s > 0 && self.http.is_none() && self.ldap.is_none() {
            return Err(self.wrong("has `cache_s`, and nothing to remember: it is for `http` and `ldap`"));
        }
        self.value_list()?;
        crate::xacml::check(self, all)
    }

    /// The name by which policies ask for it.
    ///
    /// # Errors
    /// A data type that does not exist.
    pub(crate) fn name(&self) -> Result<AttributeName, SettingError> {
        let data_type = DataType::from_short_name(&self.data_type)
            .or_else(|| DataType::from_uri(&self.data_type))
            .ok_or_else(|| {
                self.wrong(format!("has the unknown type `{}`; use a name such as `string`", self.data_type))
            })?;
        Ok(AttributeName {
            category: self.category_uri().into(),
            id: self.id.as_str().into(),
            data_type,
            issuer: self.issuer.as_deref().map(Into::into),
        })
    }

    /// The name, and the values that are fixed.
    ///
    /// # Errors
    /// A data type that does not exist, or a value that is not of it.
    pub(crate) fn value_list(&self) -> Result<(AttributeName, Vec<Value>), SettingError> {
        let name = self.name()?;
        let parse =
            |text: &String| Value::parse(name.data_type, text).map_err(|error| self.wrong(error.to_string()));
        let values = self.values.iter().flatten().map(parse).collect::<Result<_, _>>()?;
        Ok((name, values))
    }

    /// Every file that is named.
    pub fn paths(&mut self) -> Option<&mut Option<PathBuf>> {
        self.http.as_mut().map(|http| &mut http.authorization_path)
    }
}
