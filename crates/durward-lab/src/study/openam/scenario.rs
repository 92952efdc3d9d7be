//! The scenarios of the study: users, nodes in slices of a core, and the stores that they share.

use std::fmt::Write;

/// Everybody's password on nodes that are started for a run and end with it.
const PASSWORD: &str = "changeit";
/// The secret that the nodes of a run share, for as long as it lasts.
const SECRET: &str = "5eed0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85";

/// What is promised about sessions: durward's `identity.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdentityMode {
    AssuredRead,
    AssuredWrite,
    BestEffort,
    None,
}

impl IdentityMode {
    pub(super) fn name(self) -> &'static str {
        match self {
            IdentityMode::AssuredRead => "assured-read",
            IdentityMode::AssuredWrite => "assured-write",
            IdentityMode::BestEffort => "best-effort",
            IdentityMode::None => "none",
        }
    }
}

/// How passwords are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordHash {
    /// At the least that Argon2id takes: about what OpenAM's directory spends with salted SHA-1.
    Cheap,
    /// As durward does unless it is told otherwise.
    Usual,
}

/// Who asks, and by which calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StudyUsers {
    /// Loads, of all nodes together.
    pub(super) counts: Vec<u64>,
    /// Milliseconds between an answer and the next request; 0: none.
    pub(super) think_ms: u64,
    /// Shares of logouts; with several, a curve each.
    pub(super) logout_percent: Vec<u32>,
    /// `openam` for the calls of OpenAM 11, `openam-json` for those of today.
    pub(super) calls: &'static str,
    /// To which nodes: `sticky`, `random`.
    pub(super) balance: Vec<&'static str>,
    /// How often each load is measured.
    pub(super) repeat: u32,
}

/// Seconds of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PointTimes {
    pub(super) ramp: f64,
    pub(super) warm_up: f64,
    pub(super) measure: f64,
    pub(super) cool_down: f64,
}

/// durward, started for one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StudyNodes<'s> {
    /// The program.
    pub(super) durward: &'s str,
    /// The program of the stores; `None`: one node keeps a journal of its own.
    pub(super) nats_server: Option<&'s str>,
    pub(super) count: usize,
    /// Cores' worth of processor time of each node.
    pub(super) slice: f64,
    pub(super) mode: IdentityMode,
    pub(super) hash: PasswordHash,
}

/// A text for TOML: a text of JSON is one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The scenario of durward's own nodes.
pub(super) fn of_nodes(name: &str, nodes: &StudyNodes<'_>, users: &StudyUsers, times: PointTimes) -> String {
    let mut text = head(name);
    let start = format!(
        "echo {PASSWORD} | \"$0\" users add demo --users users >users.txt && (umask 077; echo {SECRET} > cluster.key) && \
         exec \"$0\" serve --config durward.toml"
    );
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        text,
        "name = \"durward\"\ncommand = [\"sh\", \"-c\", {}, {}]\nnodes = [{}]\nready = \"/health/ready\"\n\
         version = [{}, \"--version\"]\nlimits = {{ cpus = {}, cpu_period_ms = 20 }}\n\n[target.files]\n\
         \"policies/all.sapl\" = 'policy \"all\" permit'\n\"durward.toml\" = '''\n{}'''\n",
        quoted(&start),
        quoted(nodes.durward),
        nodes.count,
        quoted(nodes.durward),
        nodes.slice,
        settings(nodes),
    );
    if let Some(program) = nodes.stores() {
        stores(&mut text, program);
    }
    load(&mut text, users, times);
    let password = PASSWORD;
    steps(&mut text, users, "demo", password, "/openam");
    text
}

/// The scenario of a server that runs already, by OpenAM's calls. `password` is filled in when it is run.
pub(super) fn of_server(name: &str, url: &str, user: &str, users: &StudyUsers, times: PointTimes) -> String {
    let (address, base) = split(url);
    let mut text = head(name);
    let _ = writeln!(text, "name = \"OpenAM\"\naddresses = [{}]\nready = \"tcp\"", quoted(address));
    load(&mut text, users, times);
    steps(&mut text, users, user, "${env.OPENAM_PASSWORD}", base);
    text
}

/// The scenario of dummy users, who send empty requests to a server that does nothing.
pub(super) fn of_nobody(name: &str, url: &str, users: &StudyUsers, times: PointTimes) -> String {
    let mut text = head(name);
    let _ = writeln!(text, "name = \"nothing\"\naddresses = [{}]", quoted(url));
    load(&mut text, users, times);
    text += "\n[[steps]]\nname = \"empty\"\npath = \"/\"\n";
    text
}

impl StudyNodes<'_> {
    /// The program of the stores, where they are used.
    fn stores(&self) -> Option<&str> {
        // A single node that promises nothing has nothing to store.
        self.nats_server.filter(|_| self.mode != IdentityMode::None || self.count > 1)
    }
}

fn head(name: &str) -> String {
    format!("name = {}\nseed = 2014\n\n[target]\n", quoted(name))
}

fn settings(nodes: &StudyNodes<'_>) -> String {
    let mut text = format!(
        "policies.path = \"policies\"\n\n[server]\nlisten = \"{{address}}\"\nworkers = 1\nconnections_max = 20000\n\n\
         [log]\nformat = \"text\"\nlevel = \"warn\"\n\n[openam]\non = true\ndanger_legacy_identity = true\n\n\
         [identity]\nusers = \"users\"\nmode = \"{}\"\ncluster_key_path = \"cluster.key\"\n\
         hashing_wait_ms_max = 60000\naddress_failures_free = 1000000\nuser_failures_free = 1000000\n",
        nodes.mode.name()
    );
    if nodes.hash == PasswordHash::Cheap {
        text += "hash_memory_kib = 8\nhash_passes = 1\n";
    }
    match nodes.stores() {
        Some(_) => {
            text += "\n[identity.nats]\nservers = [\"nats://127.0.0.1:{stores.port}\", \
                     \"nats://127.0.0.1:{stores.port.b}\", \"nats://127.0.0.1:{stores.port.c}\"]\n";
        }
        None if nodes.mode == IdentityMode::None => {}
        None => text += "data = \"sessions\"\n",
    }
    text
}

/// Three stores that are one cluster, as the paper's three configuration stores.
fn stores(text: &mut String, program: &str) {
    let start = "\"$0\" -c n1.conf & \"$0\" -c n2.conf & exec \"$0\" -c n3.conf";
    let _ = write!(
        text,
        "\n[[target.before]]\nname = \"stores\"\nstays = true\ncommand = [\"sh\", \"-c\", {}, {}]\n\n\
         [target.before.files]\n",
        quoted(start),
        quoted(program)
    );
    for (number, port) in [(1, "{port}"), (2, "{port.b}"), (3, "{port.c}")] {
        let routes: Vec<String> = (1..=3).map(|of| format!("nats://127.0.0.1:{{port.r{of}}}")).collect();
        let _ = write!(
            text,
            "\"n{number}.conf\" = '''\nserver_name: n{number}\nlisten: 127.0.0.1:{port}\n\
             jetstream {{ store_dir: \"{{data}}/n{number}\", sync_interval: always, max_file_store: 1GB, max_memory_store: 64MB }}\n\
             cluster {{ name: study, listen: 127.0.0.1:{{port.r{number}}}, routes: [{}] }}\n'''\n",
            routes.join(", ")
        );
    }
}

fn load(text: &mut String, users: &StudyUsers, times: PointTimes) {
    let PointTimes { ramp, warm_up, measure, cool_down } = times;
    let _ = write!(
        text,
        "\n[load]\nusers = {:?}\nthink = \"{}ms\"\nramp = \"{ramp}s\"\nwarm_up = \"{warm_up}s\"\nmeasure = \"{measure}s\"\n\
         cool_down = \"{cool_down}s\"\nrepeat = {}\nbalance = {:?}\n",
        users.counts, users.think_ms, users.repeat, users.balance
    );
}

fn steps(text: &mut String, users: &StudyUsers, user: &str, password: &str, base: &str) {
    let percent = match users.logout_percent.as_slice() {
        [one] => one.to_string(),
        several => {
            let _ = writeln!(text, "\n[vary]\nlogout_percent = {several:?}");
            "\"${vary.logout_percent}\"".to_owned()
        }
    };
    let StudyUsers { calls, .. } = users;
    let base = quoted(base);
    let _ = write!(
        text,
        "\n[[steps]]\nname = \"login\"\nuse = \"{calls}-login\"\nwith = {{ user = {}, password = {}, base = {base} }}\n\n\
         [[steps]]\nname = \"verify\"\nuse = \"{calls}-validate\"\nwith = {{ base = {base} }}\n\n\
         [[steps]]\nname = \"logout\"\nuse = \"{calls}-logout\"\nwith = {{ base = {base} }}\npercent = {percent}\n",
        quoted(user),
        quoted(password)
    );
}

/// The address and the path of a URL: `http://host:8080/openam` is `http://host:8080` and `/openam`.
fn split(url: &str) -> (&str, &str) {
    let from = url.find("://").map_or(0, |at| at + 3);
    let at = url.get(from..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| from + at);
    let (address, base) = url.split_at_checked(at).unwrap_or((url, ""));
    (address, base.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const TIMES: PointTimes = PointTimes { ramp: 0.0, warm_up: 0.1, measure: 0.2, cool_down: 0.0 };

    fn users() -> StudyUsers {
        StudyUsers {
            counts: vec![2, 4],
            think_ms: 250,
            logout_percent: vec![0, 5],
            calls: "openam",
            balance: vec!["sticky", "random"],
            repeat: 1,
        }
    }

    #[test]
    fn every_text_is_a_scenario() {
        let nodes = StudyNodes {
            durward: "/opt/a \"b\"/durward",
            nats_server: Some("nats-server"),
            count: 2,
            slice: 0.1,
            mode: IdentityMode::AssuredRead,
            hash: PasswordHash::Cheap,
        };
        let read = Scenario::read(&of_nodes("two", &nodes, &users(), TIMES)).unwrap();
        assert_eq!((read.target.nodes.as_slice(), read.variants().len()), ([2].as_slice(), 2));
        assert_eq!(read.target.command[3], "/opt/a \"b\"/durward");
        assert_eq!(read.target.before.len(), 1);
        let alone = StudyNodes { nats_server: None, hash: PasswordHash::Usual, count: 1, ..nodes };
        let text = of_nodes("one", &alone, &users(), TIMES);
        assert!(text.contains("data = \"sessions\"") && !text.contains("hash_passes"), "{text}");
        let read =
            Scenario::read(&of_server("old", "http://127.0.0.1:1/openam", "demo", &users(), TIMES)).unwrap();
        assert_eq!(read.target.addresses, ["http://127.0.0.1:1"]);
        assert!(read.text.contains("${env.OPENAM_PASSWORD}"));
        Scenario::read(&of_nobody("nobody", "http://127.0.0.1:1", &users(), TIMES)).unwrap();
    }

    #[test]
    fn urls_have_a_base() {
        assert_eq!(split("http://a:1/openam/"), ("http://a:1", "/openam"));
        assert_eq!((split("a:1"), split("https://a")), (("a:1", ""), ("https://a", "")));
    }
}
