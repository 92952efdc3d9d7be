//! What can be wrong with a target's table, found before anything is started.

use std::path::{Component, Path};

use super::error::TargetError;
use super::ready::ReadyCheck;
use super::spec::{TargetPart, TargetSpec};

/// One machine cannot start more than that usefully, and a number such as 1000000 is a mistake.
const NODES_MAX: usize = 1000;
/// Names of words: a part cannot be called so.
const WORDS: [&str; 8] = ["address", "addresses", "port", "node", "nodes", "data", "here", "env"];

impl TargetSpec {
    /// Looks for what is wrong with the table itself: nothing is started, no machine is asked but this one for its cores.
    ///
    /// # Errors
    /// The first mistake, with its key.
    pub fn check(&self) -> Result<(), TargetError> {
        let wrong = |key: &str, problem: &str| Err(TargetError::setting(key, problem));
        let is_started = !self.command.is_empty() || self.image.is_some();
        match (self.addresses.is_empty(), is_started) {
            (true, false) => {
                return wrong("addresses", "a target has `addresses`, a `command`, or an `image`");
            }
            (false, true) => {
                return wrong("addresses", "a target has either `addresses` or what is started, not both");
            }
            (true, true) | (false, false) => {}
        }
        if !is_started && self.limits != super::spec::NodeLimits::default() {
            return wrong("limits", "only what is started here has limits: a `command` or an `image`");
        }
        if self.image.as_deref() == Some("")
            || (self.image.is_none() && self.command.first().is_some_and(String::is_empty))
        {
            return wrong("command", "the name of the program or image is empty");
        }
        if self.nodes.iter().any(|nodes| *nodes == 0 || *nodes > NODES_MAX) {
            return wrong("nodes", &format!("numbers of nodes are from 1 to {NODES_MAX}"));
        }
        if !is_started && self.nodes.iter().any(|nodes| *nodes > self.addresses.len()) {
            return wrong("nodes", &format!("there are only {} `addresses`", self.addresses.len()));
        }
        if !(self.ready_within_s > 0.0 && self.ready_within_s <= 86_400.0) {
            return wrong("ready_within_s", "seconds, more than 0 and at most a day");
        }
        if !(self.stop_within_s >= 0.0 && self.stop_within_s <= 86_400.0) {
            return wrong("stop_within_s", "seconds, from 0 to a day");
        }
        if self.host.parse::<std::net::Ipv4Addr>().is_err() {
            return wrong("host", "an IPv4 address of this machine, such as `10.0.0.1`");
        }
        if !(10..=60_000).contains(&self.sample_ms) {
            return wrong("sample_ms", "10 to 60000 ms lie between two samples");
        }
        if let Err(problem) = ReadyCheck::read(&self.ready, self.scheme.as_str(), "") {
            return wrong("ready", &problem);
        }
        for (attribute, key) in self.jmx_read.iter().map(|attribute| (attribute, "jmx_read")) {
            if !attribute.contains('/') {
                return wrong(key, &format!("`{attribute}` is no `mbean/attribute`"));
            }
        }
        check_files("files", self.files.keys())?;
        self.limits.check("limits")?;
        self.check_parts()
    }

    fn check_parts(&self) -> Result<(), TargetError> {
        let mut names = Vec::new();
        for (key, parts) in [("before", &self.before), ("after", &self.after)] {
            for part in parts {
                part.check(key)?;
                if !part.name.is_empty() {
                    if names.contains(&part.name.as_str()) {
                        let problem = format!("two parts have the name `{}`", part.name);
                        return Err(TargetError::setting(&format!("{key}.name"), problem));
                    }
                    names.push(&part.name);
                }
            }
        }
        match self.after.iter().find(|part| part.stays) {
            Some(_) => Err(TargetError::setting("after.stays", "what runs after the nodes ends by itself")),
            None => Ok(()),
        }
    }
}

impl TargetPart {
    fn check(&self, key: &str) -> Result<(), TargetError> {
        let wrong =
            |name: &str, problem: String| Err(TargetError::setting(&format!("{key}.{name}"), problem));
        if self.command.first().is_none_or(String::is_empty) {
            return wrong("command", "it has no program".to_owned());
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_odd =
            !self.name.chars().all(is_name) || self.name.starts_with(|c: char| !c.is_ascii_alphabetic());
        if is_odd || WORDS.contains(&self.name.as_str()) {
            let problem = format!(
                "`{}`: a letter, then letters, digits, `_`, `-`; and none of {}",
                self.name,
                WORDS.join(", ")
            );
            return wrong("name", problem);
        }
        if !(self.within_s > 0.0 && self.within_s <= 86_400.0) {
            return wrong("within_s", "seconds, more than 0 and at most a day".to_owned());
        }
        if let Err(problem) = ReadyCheck::read(&self.ready, "http", "") {
            return wrong("ready", problem);
        }
        check_files(&format!("{key}.files"), self.files.keys())?;
        self.limits.check(&format!("{key}.limits"))
    }
}

fn check_files<'f>(key: &str, files: impl Iterator<Item = &'f String>) -> Result<(), TargetError> {
    for file in files {
        let is_below = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
        if file.is_empty() || !is_below {
            return Err(TargetError::setting(
                key,
                format!("`{file}` is no path below the node's own directory"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(table: &str) -> String {
        match toml::from_str::<TargetSpec>(table) {
            Ok(spec) => spec.check().expect_err(table).to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn whole_tables_are_read() {
        let spec: TargetSpec = toml::from_str(
            r#"
            name = "mine"
            command = ["server", "--port", "{port}"]
            nodes = [1, 2, 4]
            env.KEY = "${env.KEY}"
            files."etc/x.conf" = "listen {address}"
            ready = "/up"
            limits = { cpus = 0.4, cores = [0], memory = "64M", swap = 0, pids = 100, files = 1024 }
            metrics = "/metrics"
            metrics_only = ["requests_*"]
            [[before]]
            name = "nats"
            command = ["nats-server", "-p", "{port}"]
            stays = true
            [[after]]
            command = ["true"]
            "#,
        )
        .unwrap();
        spec.check().unwrap();
        assert_eq!((spec.sweep(), spec.limits.memory), (vec![1, 2, 4], Some(super::super::Bytes(64 << 20))));
        let written = toml::Value::try_from(&spec).unwrap();
        assert_eq!(written.try_into::<TargetSpec>().unwrap(), spec);
    }

    #[test]
    fn mistakes_are_told_with_their_key() {
        let table = [
            ("", "`target.addresses`: a target has `addresses`, a `command`, or an `image`"),
            ("addresses = ['a:1']\ncommand = ['b']", "either `addresses` or what is started"),
            ("addresses = ['a:1']\nlimits.cpus = 1", "`target.limits`: only what is started here"),
            ("addresses = ['a:1']\nnodes = [2]", "`target.nodes`: there are only 1"),
            ("command = ['']", "`target.command`: the name of the program or image is empty"),
            ("command = ['a']\nnodes = [0]", "`target.nodes`: numbers of nodes are from 1 to 1000"),
            ("command = ['a']\nready = 'up'", "`target.ready`: `up` is neither"),
            ("command = ['a']\nready_within_s = nan", "`target.ready_within_s`"),
            ("command = ['a']\nstop_within_s = -1", "`target.stop_within_s`"),
            ("command = ['a']\nsample_ms = 1", "`target.sample_ms`"),
            ("command = ['a']\nhost = 'here'", "`target.host`"),
            (
                "command = ['a']\nlimits.cpus = 0.001",
                "`target.limits.cpus`: 0.001 is no share of cores: from 0.01",
            ),
            ("command = ['a']\nlimits.cpus = nan", "`target.limits.cpus`"),
            (
                "command = ['a']\nlimits.cores = [9999]",
                "`target.limits.cores`: core 9999 is not on this machine",
            ),
            ("command = ['a']\nlimits.cores_each = 1", "`target.limits.cores_each`"),
            ("command = ['a']\nlimits.memory = '1k'", "`target.limits.memory`: no process runs"),
            ("command = ['a']\nlimits.memory = '64X'", "`64X` is no size"),
            ("command = ['a']\nlimits.swap = 0", "`target.limits.swap`: it needs `memory`"),
            ("command = ['a']\nlimits.cpu_period_ms = 0", "`target.limits.cpu_period_ms`"),
            ("command = ['a']\nlimits.pids = 0", "at least 1"),
            ("command = ['a']\nlimits.ram = 3", "unknown field `ram`"),
            ("comand = ['a']", "unknown field `comand`"),
            ("command = ['a']\nfiles.'../x' = ''", "`../x` is no path below"),
            ("command = ['a']\nfiles.'/x' = ''", "`/x` is no path below"),
            ("command = ['a']\njmx_read = ['x']", "`x` is no `mbean/attribute`"),
            ("command = ['a']\nbefore = [{ name = 'x' }]", "`target.before.command`: it has no program"),
            (
                "command = ['a']\nbefore = [{ name = 'port', command = ['x'] }]",
                "`target.before.name`: `port`",
            ),
            ("command = ['a']\nbefore = [{ name = '../x', command = ['x'] }]", "`target.before.name`"),
            ("command = ['a']\nbefore = [{ command = ['x'], within_s = 0 }]", "`target.before.within_s`"),
            ("command = ['a']\nafter = [{ command = ['x'], stays = true }]", "`target.after.stays`"),
            (
                "command = ['a']\nbefore = [{ name = 'x', command = ['x'] }]\nafter = [{ name = 'x', command = ['x'] }]",
                "two parts have the name `x`",
            ),
        ];
        for (text, wanted) in table {
            let found = problem(text);
            assert!(found.contains(wanted), "{text}: {found}");
        }
    }
}
