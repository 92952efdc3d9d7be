//! Starts a target: its directory, its ports, what runs before the nodes, the nodes.

use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, process};

use super::cgroup::{Cgroup, CgroupParent};
use super::error::TargetError;
use super::image;
use super::keeper::Keeper;
use super::launch::{LaunchOrder, TargetProcess};
use super::limits::AppliedLimits;
use super::listener;
use super::pages::NodePages;
use super::processes::NodeProcess;
use super::ready::ReadyCheck;
use super::running::{Container, RunningNode, RunningTarget, label};
use super::spec::{LOOPBACK, NodeLimits, TargetPart, TargetSpec};
use super::words::{HiddenValues, Placeholders, port_names};

/// Where SAPL's servers speak RSocket.
pub(crate) const RSOCKET_PORT: u16 = 7000;

/// How many targets this process started: each has names of its own.
static STARTED: AtomicUsize = AtomicUsize::new(0);
const PAUSE: Duration = Duration::from_millis(10);
/// A command that tells a version.
const VERSION_WITHIN: Duration = Duration::from_secs(20);

/// Where a target's files are. Dropping it removes them.
#[derive(Debug)]
pub(super) struct TargetDirectory {
    /// `durward-lab-77-1`: the begin of all its names.
    name: String,
    pub(super) root: PathBuf,
    logs: PathBuf,
    /// Before each log's name, so that points with other numbers of nodes have other logs.
    log_begin: String,
}

impl Drop for TargetDirectory {
    fn drop(&mut self) {
        // What is still written to is gone with the last who has it open.
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl TargetSpec {
    /// The numbers of nodes to measure: `nodes`, or all addresses, or one.
    pub fn sweep(&self) -> Vec<usize> {
        match self.nodes.as_slice() {
            [] => vec![self.addresses.len().max(1)],
            nodes => nodes.to_vec(),
        }
    }

    /// Starts so many nodes (or takes so many of the addresses) and returns when all are ready. Blocks meanwhile.
    ///
    /// # Errors
    /// A table that is wrong; a node or part that does not start, ends, or is not ready in time. Nothing is left running.
    pub fn start(&self, nodes: usize) -> Result<RunningTarget, TargetError> {
        self.check()?;
        let is_started = self.addresses.is_empty();
        if nodes == 0 || (!is_started && nodes > self.addresses.len()) {
            let there =
                if is_started { "1 or more".to_owned() } else { format!("1 to {}", self.addresses.len()) };
            return Err(TargetError::setting(
                "nodes",
                format!("{nodes} nodes were asked for; there can be {there}"),
            ));
        }
        let mut running = RunningTarget {
            spec: self.clone(),
            addresses: Vec::new(),
            version: String::new(),
            nodes: Vec::new(),
            parts: Vec::new(),
            ended: Vec::new(),
            has_begun: false,
            words: Placeholders::default(),
            place: None,
            keeper: None,
            parent: Arc::default(),
        };
        // Whatever fails, dropping `running` stops what was started until then.
        let needs_place =
            is_started || !self.before.is_empty() || !self.after.is_empty() || !self.version.is_empty();
        if needs_place {
            running.prepare(nodes)?;
        }
        let ports = running.find_ports(nodes)?;
        running.tell_version()?;
        running.run_before()?;
        if is_started {
            running.start_nodes(&ports)?
        } else {
            running.take_addresses(nodes)?
        }
        Ok(running)
    }
}

/// The ports of one node: its own, and those by name.
struct NodePorts {
    own: u16,
    named: Vec<(String, u16)>,
}

impl RunningTarget {
    fn prepare(&mut self, nodes: usize) -> Result<(), TargetError> {
        let failed = |problem: String| TargetError::Start { what: "the target".to_owned(), problem };
        // Before the keeper: a process beside this one would be in the way there.
        self.parent = CgroupParent::shared();
        let keeper = Keeper::start().map_err(&failed)?;
        let name = format!("durward-lab-{}-{}", process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let root = env::temp_dir().join(&name);
        // Of a process that was killed, keeper and all, and had our number.
        let _ = fs::remove_dir_all(&root);
        keeper.tree(&root);
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&root)
            .map_err(|error| failed(format!("{}: {error}", root.display())))?;
        let logs = self.spec.logs.clone().unwrap_or_else(|| root.clone());
        fs::create_dir_all(&logs)
            .map_err(|error| failed(format!("`target.logs` {}: {error}", logs.display())))?;
        // Relative paths would be seen from the nodes' own directories.
        let logs = fs::canonicalize(&logs).unwrap_or(logs);
        self.place = Some(TargetDirectory { name, root, logs, log_begin: format!("{nodes}-") });
        self.keeper = Some(keeper);
        Ok(())
    }

    /// Finds free ports for all nodes at once, and gives the words meanings that all share.
    fn find_ports(&mut self, nodes: usize) -> Result<Vec<NodePorts>, TargetError> {
        let here = env::current_dir().unwrap_or_default();
        self.words.set("here", here.display().to_string());
        self.words.set("nodes", nodes.to_string());
        if !self.spec.addresses.is_empty() {
            let bare = self.spec.addresses.iter().take(nodes).map(|address| bare(address).to_owned());
            self.words.set("addresses", bare.collect::<Vec<_>>().join(","));
            return Ok(Vec::new());
        }
        let spec = &self.spec;
        let texts = spec.command.iter().chain(spec.env.values()).chain(spec.files.values());
        let names = port_names(texts.chain([&spec.ready, &spec.metrics, &spec.jmx]).map(String::as_str));
        let mut free = FreePorts::at(&spec.host);
        let mut all = Vec::new();
        for _ in 0..nodes {
            let named =
                names.iter().map(|name| Ok((name.clone(), free.next()?))).collect::<Result<_, _>>()?;
            all.push(NodePorts { own: free.next()?, named });
        }
        let addresses: Vec<String> = all.iter().map(|ports| format!("{}:{}", spec.host, ports.own)).collect();
        self.words.set("addresses", addresses.join(","));
        Ok(all)
    }

    fn tell_version(&mut self) -> Result<(), TargetError> {
        let (Some(place), Some(keeper)) = (&self.place, &self.keeper) else { return Ok(()) };
        if self.spec.version.is_empty() {
            return Ok(());
        }
        // Not in the environment of the nodes, which may have words of one node, or of parts that do not run yet.
        let within_s = VERSION_WITHIN.as_secs_f64();
        let part = TargetPart { command: self.spec.version.clone(), within_s, ..TargetPart::default() };
        let process = place.run("the command of `version`", &part, &self.words, &self.parent, keeper)?;
        self.version = process.first_line();
        Ok(())
    }

    fn run_before(&mut self) -> Result<(), TargetError> {
        let (Some(place), Some(keeper)) = (&self.place, &self.keeper) else { return Ok(()) };
        self.has_begun = true;
        for (number, part) in self.spec.before.iter().enumerate() {
            let what = label(part, "before", number);
            if part.stays {
                let (process, words) = place.stay(&what, part, &self.words, &self.parent, keeper)?;
                self.words.take_part(&part.name, &words);
                self.parts.push((what, process));
            } else {
                let process = place.run(&what, part, &self.words, &self.parent, keeper)?;
                self.ended.push((what, process.applied.clone()));
            }
            // A server that an earlier step started may have died in the meantime.
            self.parts.iter().try_for_each(|(_, process)| process.check())?;
        }
        Ok(())
    }

    fn take_addresses(&mut self, nodes: usize) -> Result<(), TargetError> {
        let within = Duration::from_secs_f64(self.spec.ready_within_s);
        for (number, address) in self.spec.addresses.iter().take(nodes).enumerate() {
            let url = if address.contains("://") {
                address.clone()
            } else {
                format!("{}://{address}", self.spec.scheme.as_str())
            };
            let url = url.trim_end_matches('/').to_owned();
            let wrong = |problem: String| TargetError::setting("addresses", problem);
            let scheme = ["http", "https", "rsocket", "rsockets"]
                .into_iter()
                .find(|scheme| url.starts_with(&format!("{scheme}://")));
            let scheme = scheme.ok_or_else(|| {
                wrong(format!("`{address}` is no http://host:port, https://.., rsocket://.. or host:port"))
            })?;
            let host =
                with_port(bare(&url), scheme).ok_or_else(|| wrong(format!("`{address}` has no host")))?;
            let mut words = self.words.clone();
            words.set("address", host.clone());
            words.set("port", host.rsplit_once(':').map_or("", |(_, port)| port));
            words.set("node", (number + 1).to_string());
            let what = format!("{address} (node {})", number + 1);
            let base = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            ready(&self.spec.ready, &words, scheme, if self.spec.ready == "tcp" { &host } else { base })?
                .wait(&what, within, None, &|| self.check())?;
            let member = listener::process_at(&host).map(|pid| Arc::new(NodeProcess::elsewhere(pid)));
            let pages = pages(&self.spec, &words, &format!("{scheme}://{base}"), &what, None)?;
            self.nodes.push(RunningNode {
                what,
                process: None,
                container: None,
                applied: AppliedLimits::default(),
                member,
                pages,
            });
            self.addresses.push(url);
        }
        Ok(())
    }

    fn start_nodes(&mut self, ports: &[NodePorts]) -> Result<(), TargetError> {
        let engine = match &self.spec.image {
            Some(_) => Some(image::engine().map_err(|problem| TargetError::setting("image", problem))?),
            None => None,
        };
        let mut waits = Vec::new();
        for (number, ports) in ports.iter().enumerate() {
            waits.push(self.start_node(number, ports, engine)?);
        }
        // All start at the same time; the first that is not ready in time is the error.
        let begun = Instant::now();
        let within = Duration::from_secs_f64(self.spec.ready_within_s);
        for (node, (ready, _)) in self.nodes.iter().zip(&waits) {
            let left = within.saturating_sub(begun.elapsed());
            ready.wait(&node.what, left, node.process.as_ref(), &|| self.check())?;
        }
        for (node, (_, words)) in self.nodes.iter_mut().zip(&waits) {
            if let Some(container) = &node.container {
                let pid = image::process(container.program, &container.name);
                node.member = pid.and_then(|pid| {
                    let group = Cgroup::of_process(pid)?;
                    Some(Arc::new(NodeProcess::of_group(pid, group, &node.applied)))
                });
            }
            let base = format!("{}://{}", self.spec.scheme.as_str(), bare(words.get("address")));
            node.pages = pages(&self.spec, words, &base, &node.what, node.process.as_ref())?;
        }
        self.check()
    }

    fn start_node(
        &mut self,
        number: usize,
        ports: &NodePorts,
        engine: Option<&'static str>,
    ) -> Result<(ReadyCheck, Placeholders), TargetError> {
        let (Some(place), Some(keeper)) = (&self.place, &self.keeper) else {
            return Err(TargetError::setting("command", "there is no place to start it"));
        };
        let spec = &self.spec;
        let what = format!("node {}", number + 1);
        let mut words = self.words.clone();
        words.set("node", (number + 1).to_string());
        let name = format!("{}-node-{}", place.name, number + 1);
        let data = place.data(&format!("node-{}", number + 1), &what)?;
        words.set("data", data.display().to_string());
        give_ports(&mut words, &spec.host, ports);
        let mut container = None;
        let mut applied = None;
        let mut command = spec.command.clone();
        if let (Some(image), Some(program)) = (&spec.image, engine) {
            keeper.container(program, &name);
            container = Some(Container { program, name: name.clone() });
            applied = Some(image::applied(program, &spec.limits));
            let arguments = image::arguments(spec, image, &name, ports.own, &data);
            command = [program.to_owned()].into_iter().chain(arguments).chain(command).collect();
        }
        let part =
            TargetPart { command, env: spec.env.clone(), files: spec.files.clone(), ..TargetPart::default() };
        let no_limits = NodeLimits::default();
        let limits = if spec.image.is_some() { &no_limits } else { &spec.limits };
        let order = place.order(&what, &name, &part, &words, data, limits, number, "command")?;
        let process = TargetProcess::start(order, &self.parent, keeper)?;
        let applied = applied.unwrap_or_else(|| process.applied.clone());
        let member = container.is_none().then(|| Arc::clone(&process.member));
        let address = format!("{}:{}", spec.host, ports.own);
        let ready = ready(&spec.ready, &words, spec.scheme.as_str(), &address)?;
        self.addresses.push(format!("{}://{address}", spec.scheme.as_str()));
        self.nodes.push(RunningNode {
            what,
            process: Some(process),
            container,
            applied,
            member,
            pages: NodePages::default(),
        });
        Ok((ready, words))
    }
}

fn ready(text: &str, words: &Placeholders, scheme: &str, address: &str) -> Result<ReadyCheck, TargetError> {
    let filled = words.fill(text, &mut HiddenValues::default());
    filled
        .and_then(|text| ReadyCheck::read(&text, scheme, address))
        .map_err(|problem| TargetError::setting("ready", problem))
}

/// The pages of a node, once they were read.
fn pages(
    spec: &TargetSpec,
    words: &Placeholders,
    base: &str,
    what: &str,
    process: Option<&TargetProcess>,
) -> Result<NodePages, TargetError> {
    let url = |key: &str, text: &str| {
        let filled = words
            .fill(text, &mut HiddenValues::default())
            .map_err(|problem| TargetError::setting(key, problem))?;
        Ok(if filled.starts_with('/') { format!("{base}{filled}") } else { filled })
    };
    let split = |attribute: &String| {
        attribute.rsplit_once('/').map(|(mbean, attribute)| (mbean.to_owned(), attribute.to_owned()))
    };
    let pages = NodePages {
        metrics: url("metrics", &spec.metrics)?,
        only: spec.metrics_only.clone(),
        jmx: url("jmx", &spec.jmx)?,
        jmx_read: spec.jmx_read.iter().filter_map(split).collect(),
    };
    pages.check().map_err(|problem| TargetError::NotReady {
        what: what.to_owned(),
        problem,
        log: process.map(TargetProcess::last_lines).unwrap_or_default(),
    })?;
    Ok(pages)
}

fn give_ports(words: &mut Placeholders, host: &str, ports: &NodePorts) {
    words.set("port", ports.own.to_string());
    words.set("address", format!("{host}:{}", ports.own));
    for (name, port) in &ports.named {
        words.set(format!("port.{name}"), port.to_string());
    }
}

/// Host and port of an address, without scheme and path.
fn bare(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Host and port, the scheme's own where there is none; `None` without a host.
fn with_port(host: &str, scheme: &str) -> Option<String> {
    // A colon within brackets belongs to an address of IPv6.
    let has_port =
        host.rsplit_once(':').is_some_and(|(before, port)| !port.contains(']') && !before.is_empty());
    match (host.is_empty() || host.starts_with(':'), has_port) {
        (true, _) => None,
        (false, true) => Some(host.to_owned()),
        (false, false) => {
            let port = match scheme {
                "https" => 443,
                "rsocket" | "rsockets" => RSOCKET_PORT,
                _ => 80,
            };
            Some(format!("{host}:{port}"))
        }
    }
}

/// Free ports of an address of this machine, each held until the last has been found, so that all are different.
struct FreePorts<'h> {
    host: &'h str,
    held: Vec<TcpListener>,
}

impl FreePorts<'_> {
    fn at(host: &str) -> FreePorts<'_> {
        FreePorts { host, held: Vec::new() }
    }

    fn next(&mut self) -> Result<u16, TargetError> {
        let bound = TcpListener::bind((self.host, 0))
            .and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
        let (port, listener) = bound.map_err(|error| TargetError::Start {
            what: "the target".to_owned(),
            problem: format!("no port of {} is free: {error}", self.host),
        })?;
        self.held.push(listener);
        Ok(port)
    }
}

impl TargetDirectory {
    fn data(&self, name: &str, what: &str) -> Result<PathBuf, TargetError> {
        let data = self.root.join(name);
        let failed = |error| TargetError::Start {
            what: what.to_owned(),
            problem: format!("{}: {error}", data.display()),
        };
        fs::create_dir_all(&data).map_err(failed)?;
        Ok(data)
    }

    /// Fills in words and writes files.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another thing of an order; nodes and parts differ in all of them"
    )]
    fn order<'o>(
        &self,
        what: &str,
        name: &str,
        part: &TargetPart,
        words: &Placeholders,
        data: PathBuf,
        limits: &'o NodeLimits,
        number: usize,
        key: &str,
    ) -> Result<LaunchOrder<'o>, TargetError> {
        let mut secrets = HiddenValues::default();
        let mut fill = |key: &str, text: &str| {
            words
                .fill(text, &mut secrets)
                .map_err(|problem| TargetError::setting(key, format!("{what}: {problem}")))
        };
        let mut command =
            part.command.iter().map(|word| fill(key, word)).collect::<Result<Vec<String>, _>>()?.into_iter();
        let env = part.env.iter().map(|(name, value)| Ok((name.clone(), fill("env", value)?)));
        let env = env.collect::<Result<_, TargetError>>()?;
        for (file, text) in &part.files {
            let text = fill("files", text)?;
            write_file(&data.join(file), &text)
                .map_err(|problem| TargetError::Start { what: what.to_owned(), problem })?;
        }
        let log = name.strip_prefix(&format!("{}-", self.name)).unwrap_or(name);
        Ok(LaunchOrder {
            what: what.to_owned(),
            name: name.to_owned(),
            program: command.next().unwrap_or_default(),
            arguments: command.collect(),
            env,
            directory: data,
            log: self.logs.join(format!("{}{log}.log", self.log_begin)),
            limits,
            number,
            secrets,
        })
    }

    /// Starts a part: with ports and a directory of its own.
    fn start(
        &self,
        what: &str,
        part: &TargetPart,
        words: &Placeholders,
        parent: &CgroupParent,
        keeper: &Keeper,
    ) -> Result<(TargetProcess, Placeholders), TargetError> {
        // A part without a name is known by its place in the list; blanks would be odd in names of groups.
        let name = what.replace([' ', '`'], "-");
        let data = self.data(&name, what)?;
        let texts =
            part.command.iter().chain(part.env.values()).chain(part.files.values()).chain([&part.ready]);
        let mut free = FreePorts::at(LOOPBACK);
        let named = port_names(texts.map(String::as_str)).into_iter().map(|name| Ok((name, free.next()?)));
        let ports = NodePorts { named: named.collect::<Result<_, TargetError>>()?, own: free.next()? };
        drop(free);
        let mut own = Placeholders::default();
        give_ports(&mut own, LOOPBACK, &ports);
        own.set("data", data.display().to_string());
        let mut all = words.clone();
        all.take(&own);
        let full = format!("{}-{name}", self.name);
        let order = self.order(what, &full, part, &all, data, &part.limits, 0, "before.command")?;
        Ok((TargetProcess::start(order, parent, keeper)?, own))
    }

    /// Runs a part to its end.
    pub(super) fn run(
        &self,
        what: &str,
        part: &TargetPart,
        words: &Placeholders,
        parent: &CgroupParent,
        keeper: &Keeper,
    ) -> Result<TargetProcess, TargetError> {
        let (process, _) = self.start(what, part, words, parent, keeper)?;
        let begun = Instant::now();
        while !process.finished()? {
            if begun.elapsed().as_secs_f64() > part.within_s {
                let problem = format!("it still runs after {} s", part.within_s);
                return Err(TargetError::NotReady {
                    what: what.to_owned(),
                    problem,
                    log: process.last_lines(),
                });
            }
            thread::sleep(PAUSE);
        }
        Ok(process)
    }

    /// Starts a part that stays, and waits until it is ready.
    fn stay(
        &self,
        what: &str,
        part: &TargetPart,
        words: &Placeholders,
        parent: &CgroupParent,
        keeper: &Keeper,
    ) -> Result<(TargetProcess, Placeholders), TargetError> {
        let (process, own) = self.start(what, part, words, parent, keeper)?;
        let mut all = words.clone();
        all.take(&own);
        let ready = ready(&part.ready, &all, "http", own.get("address"))?;
        ready.wait(what, Duration::from_secs_f64(part.within_s), Some(&process), &|| process.check())?;
        Ok((process, own))
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let table = [
            ("http://a:1/b", Some("a:1")),
            ("a", Some("a:80")),
            ("[::1]", Some("[::1]:80")),
            ("[::1]:81", Some("[::1]:81")),
            ("http://:80", None),
            ("", None),
        ];
        for (address, wanted) in table {
            assert_eq!(with_port(bare(address), "http").as_deref(), wanted, "{address}");
        }
        assert_eq!(with_port("a", "https").as_deref(), Some("a:443"));
    }
}
