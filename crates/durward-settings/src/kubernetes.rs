//! `[kubernetes]`: authorization for the API servers of Kubernetes.

use serde::{Deserialize, Serialize};

use super::{AuthSettings, CallerSettings, ConfigError};

/// The webhook that API servers ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KubernetesSettings {
    /// Whether `/doors/kubernetes/authorize` is answered. Default: false.
    pub on: bool,
    /// What is answered where nothing can be decided. Default: `deny`.
    pub errors: KubernetesErrors,
    /// Users of whom policies are never asked: durward has no opinion on them. A name that ends with `*` is the beginning of names. Default:
    /// `system:*`.
    pub exempt_users: Vec<String>,
    /// The same for users of these groups. Default: `system:masters`.
    pub exempt_groups: Vec<String>,
    /// Which API servers may ask.
    pub callers: CallerSettings,
}

/// What an API server is told where nothing can be decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KubernetesErrors {
    /// A denial, which is final.
    #[default]
    Deny,
    /// No opinion: the next authorizer decides, such as RBAC.
    NoOpinion,
}

impl Default for KubernetesSettings {
    fn default() -> KubernetesSettings {
        KubernetesSettings {
            on: false,
            errors: KubernetesErrors::default(),
            exempt_users: vec!["system:*".to_owned()],
            exempt_groups: vec!["system:masters".to_owned()],
            callers: CallerSettings::default(),
        }
    }
}

impl KubernetesSettings {
    pub(super) fn check(&self, auth: &AuthSettings) -> Result<(), ConfigError> {
        if !self.on {
            return Ok(());
        }
        let names = [("exempt_users", &self.exempt_users), ("exempt_groups", &self.exempt_groups)];
        for (setting, names) in names {
            if let Some(name) = names.iter().find(|name| matches!(name.as_str(), "" | "*")) {
                let message = format!(
                    "has `{name}`; nobody would be asked about: set `kubernetes.on = false` for that"
                );
                return Err(ConfigError::of_setting(&format!("kubernetes.{setting}"), message));
            }
        }
        self.callers.check("kubernetes", "kubernetes.on", auth)
    }

    pub(super) fn weaknesses(&self) -> Option<String> {
        let exempts_administrators = self.exempt_groups.iter().any(|group| group == "system:masters");
        (self.on && !exempts_administrators).then(|| {
            "`kubernetes.exempt_groups` lacks `system:masters`: a wrong policy can lock the administrators of the cluster out".to_owned()
        })
    }

    /// Whether policies are not asked about this user.
    pub fn is_exempt<'g>(&self, user: &str, mut groups: impl Iterator<Item = &'g str>) -> bool {
        matches_one(&self.exempt_users, user) || groups.any(|group| matches_one(&self.exempt_groups, group))
    }
}

fn matches_one(names: &[String], name: &str) -> bool {
    names.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    #[test]
    fn who_may_ask_must_be_said() {
        for (text, words) in [
            ("kubernetes.on = true", "nobody may ask"),
            ("kubernetes = { on = true, callers.from = ['0.0.0.0/0'] }", "is everybody"),
            (
                "kubernetes = { on = true, callers.from = ['10.0.0.1'], callers.tenant = '..' }",
                "is no tenant",
            ),
            (
                "kubernetes = { on = true, callers.from = ['10.0.0.1'], callers.body_bytes_max = 0 }",
                "more than 0",
            ),
            (
                "kubernetes = { on = true, callers.from = ['10.0.0.1'], exempt_users = ['*'] }",
                "nobody would be asked",
            ),
        ] {
            let error = Settings::from_toml(text, "t").unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(
            Settings::from_toml("kubernetes = { on = true, callers.client_certificates = true }", "t")
                .is_ok()
        );
    }

    #[test]
    fn administrators_and_the_cluster_itself_are_exempt_unless_it_is_said_otherwise() {
        let exempt = |settings: &KubernetesSettings, user: &str, groups: &[&str]| {
            settings.is_exempt(user, groups.iter().copied())
        };
        let default = KubernetesSettings::default();
        assert!(exempt(&default, "system:kube-scheduler", &[]));
        assert!(exempt(&default, "ada", &["dev", "system:masters"]));
        assert!(!exempt(&default, "ada", &["system:authenticated"]));
        assert!(!exempt(&default, "systematic", &["system:mastersX"]));
        assert!(default.weaknesses().is_none());
        let open = KubernetesSettings { on: true, exempt_groups: Vec::new(), ..default };
        assert!(!exempt(&open, "ada", &["system:masters"]) && open.weaknesses().is_some());
    }
}
