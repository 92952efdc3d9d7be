//! The `[target]` table of a scenario: what is measured, how it is started, and what it may use.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bytes::Bytes;

/// What is measured: servers at addresses, or a command or an image that is started as so many nodes. One of `addresses`,
/// `command` and `image` (which may have a `command` beside it: arguments for the image).
///
/// ```toml
/// [target]
/// command = ["nginx", "-p", "{data}", "-c", "nginx.conf"]
/// nodes = [1, 2, 4]
/// ready = "/"
/// files."nginx.conf" = "... listen {address}; ..."
/// limits = { cpus = 0.4, memory = "64M" }
/// metrics = "/metrics"
/// ```
///
/// These words in braces are replaced in `command`, `env`, `files`, `ready`, `metrics`, `jmx` and `before`/`after`; a word that is
/// not among them is an error, and `{{word}}` means `{word}` itself:
///
/// | | |
/// |---|---|
/// | `{address}` | host and port of this node: `127.0.0.1:40001` |
/// | `{port}` | its port, which was free when it was started |
/// | `{port.NAME}` | another free port of this node, the same wherever the name is used |
/// | `{node}`, `{nodes}` | the number of this node, from 1, and how many there are |
/// | `{addresses}` | host and port of all nodes, with commas |
/// | `{data}` | a directory of this node's own, empty when it starts (but for `files`), removed after it; its working directory |
/// | `{PART.address}`, `{PART.port}`, `{PART.port.NAME}`, `{PART.data}` | the same of the part of `before` with that name |
///
/// `${env.NAME}` and `${file:PATH}` are replaced by an environment variable of durward's and by a file's text without its
/// last line break. What they stand for is in no record and no error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TargetSpec {
    /// What reports call it. Empty: the command's program, the image, or the first address.
    pub name: String,
    /// Servers that run already: `http://host:port`, `https://..`, or `host:port`. With `nodes`, a point uses the first ones.
    pub addresses: Vec<String>,
    /// Program and arguments; found by `PATH` as a shell would, but run without a shell.
    pub command: Vec<String>,
    /// An image of a container: started by `docker` or `podman`, whichever answers.
    pub image: Option<String>,
    /// The port at which the container listens.
    pub image_port: u16,
    /// Numbers of nodes to measure, one after the other. Empty: all addresses, or one node of a command.
    pub nodes: Vec<usize>,
    /// The address of this machine at which nodes of a command or image listen: for agents on other machines another one than
    /// the loopback address, which nobody else reaches.
    pub host: String,
    /// How nodes of a command or image are spoken to.
    pub scheme: TargetScheme,
    /// The environment of nodes, beside durward's own.
    pub env: BTreeMap<String, String>,
    /// Files that are written into each node's `{data}` before it starts: path below it, and text.
    pub files: BTreeMap<String, String>,
    /// When a node is ready: `"/path"` (or a URL) answers with status 200, or `"tcp"`: a connection is taken.
    pub ready: String,
    /// A node that is not ready after so many seconds is an error.
    pub ready_within_s: f64,
    /// A node that still runs so many seconds after SIGTERM gets SIGKILL.
    pub stop_within_s: f64,
    /// A command whose first line of output tells the target's version. It runs once, without `env`, before all else.
    pub version: Vec<String>,
    /// What runs before the nodes: shared servers, such as a directory, which stay until the nodes have ended, and
    /// commands which end by themselves.
    pub before: Vec<TargetPart>,
    /// Commands that run after the nodes have ended, while shared servers still run.
    pub after: Vec<TargetPart>,
    /// What each node may use.
    pub limits: NodeLimits,
    /// A page of metrics as Prometheus reads them, at each node: `"/metrics"`, or a URL. Empty: none is read.
    pub metrics: String,
    /// Which metrics of that page are recorded: names, or beginnings of names with `*` behind them. Empty: all.
    pub metrics_only: Vec<String>,
    /// The URL of Jolokia at each node, JMX over HTTP. Empty: none is read.
    pub jmx: String,
    /// Attributes that are read there, as `mbean/attribute`, beside memory, threads, processor time and collections.
    pub jmx_read: Vec<String>,
    /// How many milliseconds pass between two samples of what nodes use.
    pub sample_ms: u64,
    /// Where logs of nodes and parts are kept; `None`: they are removed with their directories. Errors tell their last lines.
    pub logs: Option<PathBuf>,
}

/// Where nodes listen that only this machine is to reach.
pub(super) const LOOPBACK: &str = "127.0.0.1";

impl Default for TargetSpec {
    fn default() -> TargetSpec {
        TargetSpec {
            name: String::new(),
            addresses: Vec::new(),
            command: Vec::new(),
            image: None,
            image_port: 80,
            nodes: Vec::new(),
            host: LOOPBACK.to_owned(),
            scheme: TargetScheme::Http,
            env: BTreeMap::new(),
            files: BTreeMap::new(),
            ready: "tcp".to_owned(),
            ready_within_s: 60.0,
            stop_within_s: 10.0,
            version: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            limits: NodeLimits::default(),
            metrics: String::new(),
            metrics_only: Vec::new(),
            jmx: String::new(),
            jmx_read: Vec::new(),
            sample_ms: 500,
            logs: None,
        }
    }
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TargetScheme {
    /// Plain.
    #[default]
    Http,
    /// Over TLS. Certificates are not checked when looking whether a node is ready, and for its metrics.
    Https,
    /// RSocket over TCP.
    Rsocket,
    /// RSocket over TLS.
    Rsockets,
}

impl TargetScheme {
    /// As addresses begin: `http`, `https`, `rsocket`, `rsockets`.
    pub fn as_str(self) -> &'static str {
        match self {
            TargetScheme::Http => "http",
            TargetScheme::Https => "https",
            TargetScheme::Rsocket => "rsocket",
            TargetScheme::Rsockets => "rsockets",
        }
    }
}

/// A command beside the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TargetPart {
    /// By which the nodes' `{NAME.port}` refers to it. Empty where nothing does.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Whether it is a server that stays until the nodes have ended; else it must end with status 0 before anything follows.
    pub stays: bool,
    /// Its environment, beside durward's own.
    pub env: BTreeMap<String, String>,
    /// Files that are written into its `{data}` before it starts.
    pub files: BTreeMap<String, String>,
    /// As for nodes; for a part that stays.
    pub ready: String,
    /// Seconds until it must be ready, or must have ended.
    pub within_s: f64,
    /// What it may use.
    pub limits: NodeLimits,
}

impl Default for TargetPart {
    fn default() -> TargetPart {
        TargetPart {
            name: String::new(),
            command: Vec::new(),
            stays: false,
            env: BTreeMap::new(),
            files: BTreeMap::new(),
            ready: "tcp".to_owned(),
            within_s: 60.0,
            limits: NodeLimits::default(),
        }
    }
}

/// What one node may use. Each limit is set by the first means that works on this machine, and the record says by which:
/// a control group, else affinity and resource limits of processes; or why it is not in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeLimits {
    /// Cores' worth of processor time: `0.4` is 40 ms of every 100. A quota: a node that has used it waits for the next period.
    pub cpus: Option<f64>,
    /// The period of that quota, 1 to 1000 ms; `None`: 100. A shorter one holds requests back for less long at once.
    pub cpu_period_ms: Option<u64>,
    /// Which cores it may run on, from 0. Empty: any.
    pub cores: Vec<usize>,
    /// How many of `cores` each node has, in turn: with `cores = [1, 2]` and 1, the third node is on core 1 again.
    /// `None`: each node has all of `cores`.
    pub cores_each: Option<usize>,
    /// Memory. A node that needs more is killed by the kernel, and that is said.
    pub memory: Option<Bytes>,
    /// Swap beside `memory`.
    pub swap: Option<Bytes>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Open files of each process (`RLIMIT_NOFILE`).
    pub files: Option<u64>,
}
