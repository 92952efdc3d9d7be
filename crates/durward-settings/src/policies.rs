//! `[policies]` and `[limits]`: what is in force, and how large it and the questions about it may be.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use durward_pdp::xacml::policy;
use durward_pdp::xacml::request;
use durward_pdp::{Algorithm, IndexKind, IndexSettings};
use serde::{Deserialize, Serialize};

use super::{ConfigError, names};

/// Where policies are, unless something else is said.
const DEFAULT_PATH: &str = "policies";

/// Which policies are in force, and how they are watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// A policy file, or a directory with `*.xml` files at any depth. Relative paths start at the directory of
    /// `durward.toml`. Default: `policies`.
    pub path: PathBuf,
    /// What is at `path`. Default: `directory`.
    pub source: PolicySource,
    /// Files with the private keys (JWK, X25519) that open sealed secrets. Default: none.
    pub secret_keys: Vec<PathBuf>,
    /// The identifier of the policy or policy set where decisions start. Default: every document that no other
    /// document refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How several root documents are combined. Default: `deny-overrides`, so that any Deny counts.
    #[serde(with = "names::algorithm")]
    pub combining: Algorithm,
    /// The index that finds the policies a request can concern. Default: `auto`. None changes a decision.
    #[serde(with = "names::index")]
    pub index: IndexKind,
    /// The length in bits of the Bloom filter of one target, for the index `bloom`. Default: 128.
    pub bloom_bits: usize,
    /// How many bits a value sets in it, 1 to 16. Default: 4.
    pub bloom_hashes: u32,
    /// Whether changed files are put in force while serving. Default: true.
    pub watch: bool,
    /// How often files are looked at for changes, where the file system does not report them itself. Default:
    /// 400 ms, so that a change is in force within a second.
    pub poll_ms: u64,
    /// How long files must lie still before they are read, so that a set of files is read whole. Default: 50 ms.
    pub settle_ms: u64,
    /// Whether to start without usable policies and answer 503 until there are some. Default: false: a server
    /// that starts with broken policies hides the mistake.
    pub wait: bool,
    /// Whether policies of SAPL are checked when they are put in force: warnings in the log, in `/health/ready` and as a
    /// metric. Default: true. No decision depends on it.
    pub check: bool,
    /// What subscriptions look like, for that check. Default: nothing is known.
    pub schemas: SchemaSettings,
    /// Where `path` is, if nobody named it: the default, beside `durward.toml`.
    #[serde(skip)]
    pub implied_path: PathBuf,
}

/// JSON Schemas of the parts of subscriptions: files. Relative paths start at the directory of `durward.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchemaSettings {
    /// Of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<PathBuf>,
    /// Of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<PathBuf>,
    /// Of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<PathBuf>,
    /// Of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<PathBuf>,
}

impl SchemaSettings {
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 4] {
        [&mut self.subject, &mut self.action, &mut self.resource, &mut self.environment]
    }
}

/// Where policies come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicySource {
    /// A file or a directory, for the default tenant.
    #[default]
    Directory,
    /// A directory with a directory for each tenant, by the tenant's name.
    Directories,
    /// One bundle, for the default tenant.
    Bundle,
    /// A directory with a bundle for each tenant, by the tenant's name.
    Bundles,
    /// A server with a bundle for each tenant: `[remote_bundles]`.
    RemoteBundles,
}

impl PolicySource {
    /// Whether policies come in bundles.
    pub fn is_bundled(self) -> bool {
        match self {
            PolicySource::Bundle | PolicySource::Bundles | PolicySource::RemoteBundles => true,
            PolicySource::Directory | PolicySource::Directories => false,
        }
    }
}

/// How large policies and requests may be. What is larger is refused with an error that names the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Most bytes of one policy document. Default: 64 MiB.
    pub policy_bytes_max: usize,
    /// Deepest nesting of elements in a policy document. Default: 200.
    pub policy_depth_max: usize,
    /// Most elements of one policy document, which bounds the memory it takes to read it. Default: 1.5 million.
    pub policy_elements_max: usize,
    /// Deepest nesting of elements or objects in a request. Default: 128.
    pub request_depth_max: usize,
    /// Most categories in a request. Default: 1000.
    pub request_categories_max: usize,
    /// Most attributes in a request. Default: 20000.
    pub request_attributes_max: usize,
    /// Most attribute values in a request. Default: 100000.
    pub request_values_max: usize,
}

impl Default for PolicySettings {
    fn default() -> PolicySettings {
        PolicySettings {
            path: DEFAULT_PATH.into(),
            source: PolicySource::Directory,
            secret_keys: Vec::new(),
            root: None,
            combining: Algorithm::DenyOverrides,
            index: IndexKind::default(),
            bloom_bits: IndexSettings::default().bloom_bits,
            bloom_hashes: IndexSettings::default().bloom_hashes,
            watch: true,
            poll_ms: 400,
            settle_ms: 50,
            wait: false,
            check: true,
            schemas: SchemaSettings::default(),
            implied_path: DEFAULT_PATH.into(),
        }
    }
}

impl Default for LimitSettings {
    fn default() -> LimitSettings {
        let (policy, request) = (policy::Limits::default(), request::Limits::default());
        LimitSettings {
            policy_bytes_max: policy.bytes_max,
            policy_depth_max: policy.depth_max,
            policy_elements_max: policy.elements_max,
            request_depth_max: request.depth_max,
            request_categories_max: request.categories_max,
            request_attributes_max: request.attributes_max,
            request_values_max: request.values_max,
        }
    }
}

impl PolicySettings {
    /// Whether nobody said where policies are, and where they would be is nothing.
    pub fn are_not_there(&self) -> bool {
        let is_missing = |path: &Path| {
            fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        self.source == PolicySource::Directory && self.path == self.implied_path && is_missing(&self.path)
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let schemas = self.schemas.paths().into_iter().flatten();
        [&mut self.path].into_iter().chain(&mut self.secret_keys).chain(schemas)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.poll_ms == 0 {
            let message = "is 0; the least is 1, and `watch = false` turns watching off".into();
            return Err(ConfigError::of_setting("policies.poll_ms", message));
        }
        if !(1..=16).contains(&self.bloom_hashes) {
            let message = format!("is {}; a value sets 1 to 16 bits", self.bloom_hashes);
            return Err(ConfigError::of_setting("policies.bloom_hashes", message));
        }
        if self.path.as_os_str().is_empty() {
            let message = "is empty; name a policy file or a directory of them".into();
            return Err(ConfigError::of_setting("policies.path", message));
        }
        Ok(())
    }

    /// The size of the filters of the index `bloom`. Which index is built is [`PolicySettings::index`].
    pub fn index_settings(&self) -> IndexSettings {
        IndexSettings {
            bloom_bits: self.bloom_bits,
            bloom_hashes: self.bloom_hashes,
            ..IndexSettings::default()
        }
    }

    /// How often the files are looked at where the system does not say that they changed.
    pub fn poll_time(&self) -> Duration {
        Duration::from_millis(self.poll_ms)
    }

    /// How long the files must stay as they are before they are read.
    pub fn settle_time(&self) -> Duration {
        Duration::from_millis(self.settle_ms)
    }
}

impl LimitSettings {
    /// The limits on policy documents.
    pub fn of_policies(&self) -> policy::Limits {
        policy::Limits {
            bytes_max: self.policy_bytes_max,
            depth_max: self.policy_depth_max,
            elements_max: self.policy_elements_max,
        }
    }

    /// The limits on requests of at most `bytes_max` bytes.
    pub fn of_requests(&self, bytes_max: usize) -> request::Limits {
        request::Limits {
            bytes_max,
            depth_max: self.request_depth_max,
            categories_max: self.request_categories_max,
            attributes_max: self.request_attributes_max,
            values_max: self.request_values_max,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.policy_depth_max > policy::DEPTH_CAP {
            let message = format!("is {}; the most is {}", self.policy_depth_max, policy::DEPTH_CAP);
            return Err(ConfigError::of_setting("limits.policy_depth_max", message));
        }
        // Content of a request is walked like a policy; the same cap keeps the walk within a thread's stack.
        if self.request_depth_max > policy::DEPTH_CAP {
            let message = format!("is {}; the most is {}", self.request_depth_max, policy::DEPTH_CAP);
            return Err(ConfigError::of_setting("limits.request_depth_max", message));
        }
        Ok(())
    }
}
