//! `docs/configuration.md` lists every setting there is, with the default it has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use durward_server::Settings;

use crate::support::{Directory, workspace};

/// Names with dots to values as TOML writes them.
fn flatten(prefix: &str, table: &toml::Table, into: &mut BTreeMap<String, String>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value.as_table() {
            Some(table) => flatten(&name, table, into),
            None => drop(into.insert(name, value.to_string())),
        }
    }
}

/// Settings without a default, or with one that is not a value.
const WITHOUT_DEFAULT: &[&str] = &[
    "plan.columns",
    "sapl.http",
    "authzen.on",
    "authzen.url",
    "authzen.tenant_languages",
    "authzen.sapl.subject",
    "authzen.sapl.action",
    "authzen.sapl.resource",
    "authzen.sapl.environment",
    "authzen.xacml.names",
    "authzen.xacml.types",
    "authzen.users_type",
    "kubernetes.callers.tenant",
    "brokers.callers.tenant",
    "opa.callers.tenant",
    "opa.documents",
    "doors.login",
    "identity.users",
    "identity.data",
    "identity.cluster_key_path",
    "identity.audit",
    "identity.breached_passwords_path",
    "identity.reset.link",
    "identity.reset.webhook",
    "identity.reset.webhook_secret_path",
    "identity.pages.theme",
    "identity.pages.languages",
    "identity.pages.product",
    "oauth.issuer",
    "oauth.data",
    "bundles.public_key",
    "bundles.public_key_path",
    "bundles.keys",
    "bundles.key_paths",
    "bundles.tenants",
    "remote_bundles.url",
    "remote_bundles.tenant_poll_ms",
    "remote_bundles.auth_value",
    "remote_bundles.auth_value_path",
    "sources.authorities",
    "policies.root",
    "rsocket.listen",
    "rsocket.socket",
    "server.tls.certificate",
    "server.tls.key",
    "server.tls.client_authorities",
    "attributes.category",
    "attributes.id",
    "attributes.type",
    "attributes.values",
    "attributes.cache_s",
    "attributes.answer_time_ms_max",
    "xacml.authzforce_domain",
    "opcua.authority.url",
    "opcua.gate.url",
    "openam.policy_group",
    "opcua.gate.upstream",
    "opcua.gate.upstream_user",
    "opcua.gate.upstream_password_path",
    "opcua.gate.authority",
    "opcua.gate.issuer",
    "opcua.gate.keys",
    "opcua.gate.audit",
    "opcua.authority.audit",
    "opcua.gate.policies",
    "opcua.gate.metrics_listen",
    "opcua.authority.metrics_listen",
    "opcua.authority.user_pki",
    "opcua.gate.out_of_reach.hold_reading_s",
    "opcua.gate.out_of_reach.hold_writing_s",
    "opcua.gate.out_of_reach.hold_calling_s",
];

/// Tables of what has no default list several in a row.
fn has_no_default(name: &str) -> bool {
    let sections = [
        "rsocket.tls.",
        "auth.users.",
        "auth.jwt.",
        "oauth.clients.",
        "openam.applications.",
        "sources.attributes.",
        "sources.ldap.",
        "sources.jwt.",
        "attributes.",
        "listen.",
    ];
    WITHOUT_DEFAULT.contains(&name) || sections.iter().any(|section| name.starts_with(section))
}

#[test]
fn the_manual_lists_every_setting_with_its_default() {
    let table = toml::Table::try_from(Settings::default()).unwrap();
    let mut settings = BTreeMap::new();
    flatten("", &table, &mut settings);
    settings.remove("attributes");
    settings.remove("listen");
    let docs = fs::read_to_string(workspace("docs/configuration.md")).unwrap();
    let mut documented = BTreeMap::new();
    for row in docs.lines().filter_map(|line| line.strip_prefix("| `")) {
        let Some((name, rest)) = row.split_once("` | `") else { continue };
        let default = rest.split('`').next().unwrap();
        let is_setting = !["durward_", "DURWARD_", "/"].iter().any(|other| name.starts_with(other));
        if is_setting && !has_no_default(name) {
            documented.insert(name.to_string(), default.to_string());
        }
    }
    assert_eq!(settings, documented, "docs/configuration.md differs from the settings");
    for name in WITHOUT_DEFAULT {
        assert!(docs.contains(&format!("| `{name}` |")), "{name} is not documented");
    }
}

#[test]
fn the_examples_of_the_manual_are_read() {
    for page in [
        "docs/configuration.md",
        "docs/xacml.md",
        "docs/authzen.md",
        "docs/kubernetes.md",
        "docs/opa-clients.md",
    ] {
        let docs = fs::read_to_string(workspace(page)).unwrap();
        let examples = docs.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let mut count = 0;
        for example in examples {
            Settings::from_toml(example, page).unwrap();
            count += 1;
        }
        assert!(count >= 1, "{page}");
    }
}

/// A provider stands beside users and an issuer, which the page shows once.
#[test]
fn the_providers_of_the_manual_are_read() {
    let docs = fs::read_to_string(workspace("docs/upstream-login.md")).unwrap();
    let examples = docs.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut count = 0;
    for example in examples {
        let around = "[identity]\nusers = 'users'\n[oauth]\nissuer = 'https://id.example.org'\n";
        let around = if example.contains("[oauth]") { "" } else { around };
        Settings::from_toml(&format!("{around}{example}"), "upstream-login.md").unwrap();
        count += 1;
    }
    assert!(count >= 5, "{count}");
}

#[test]
fn paths_start_at_the_file_they_stand_in() {
    let directory = Directory::new();
    directory.write("conf/durward.toml", "[policies]\npath = 'rules'\n[decision_log]\nto = 'log.jsonl'");
    let settings = Settings::read(&directory.path("conf/durward.toml")).unwrap();
    assert_eq!(settings.policies.path, directory.path("conf/rules"));
    assert_eq!(Path::new(&settings.decision_log.to), directory.path("conf/log.jsonl"));
    let error = Settings::read(&directory.path("missing.toml")).unwrap_err();
    assert!(error.to_string().contains("missing.toml"), "{error}");
}

#[test]
fn what_is_wrong_with_a_directory_follows_the_name_of_its_setting() {
    let text = "[sources.ldap.staff]\nservers = ['ldaps://a']\nbase = 'dc=x'\nsearch_as = 'cn=a'";
    assert_eq!(
        Settings::from_toml(text, "test.toml").unwrap_err().to_string(),
        "test.toml: `sources.ldap.staff` cannot be used: `search_as` and `search_password_path` go together"
    );
}
