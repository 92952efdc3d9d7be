//! Nodes that run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::cgroup::CgroupParent;
use super::error::TargetError;
use super::image;
use super::keeper::Keeper;
use super::launch::TargetProcess;
use super::limits::AppliedLimits;
use super::pages::NodePages;
use super::processes::NodeProcess;
use super::spec::{TargetPart, TargetSpec};
use super::start::TargetDirectory;
use super::stop::stop;
use super::watch::{UsageWatch, WatchedNode};
use super::words::Placeholders;
use crate::record::TargetInfo;

/// Nodes that run, and the parts that they share. Dropping it stops all of it, as [`RunningTarget::stop`] does.
#[derive(Debug)]
pub struct RunningTarget {
    pub(super) spec: TargetSpec,
    /// With scheme, in the nodes' order.
    pub(super) addresses: Vec<String>,
    pub(super) version: String,
    pub(super) nodes: Vec<RunningNode>,
    /// Those that stay, in the order in which they were started.
    pub(super) parts: Vec<(String, TargetProcess)>,
    /// What came of limits of parts that have ended.
    pub(super) ended: Vec<(String, AppliedLimits)>,
    /// Whether `before` began, so that `after` has something to clean up.
    pub(super) has_begun: bool,
    pub(super) words: Placeholders,
    /// `None` where nothing is started here.
    pub(super) place: Option<TargetDirectory>,
    // Dropped last, in this order: the keeper is in the group of this process, which is put back once it is alone there.
    pub(super) keeper: Option<Keeper>,
    pub(super) parent: Arc<CgroupParent>,
}

/// One node.
#[derive(Debug)]
pub(super) struct RunningNode {
    pub(super) what: String,
    /// `None` of an address.
    pub(super) process: Option<TargetProcess>,
    pub(super) container: Option<Container>,
    pub(super) applied: AppliedLimits,
    /// What is watched of it; `None` where its processes are not known.
    pub(super) member: Option<Arc<NodeProcess>>,
    pub(super) pages: NodePages,
}

/// A container, which its engine knows.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) program: &'static str,
    pub(super) name: String,
}

impl Drop for Container {
    fn drop(&mut self) {
        image::remove(self.program, &self.name);
    }
}

impl RunningTarget {
    /// Where the nodes listen, in their order: `http://127.0.0.1:40001`, without a slash at the end.
    pub fn addresses(&self) -> Vec<String> {
        self.addresses.clone()
    }

    /// What is measured, for the record: with the limits in force, and those that are not.
    pub fn info(&self) -> TargetInfo {
        let parts = self.parts.iter().map(|(name, process)| (name.as_str(), &process.applied));
        let ended = self.ended.iter().map(|(name, applied)| (name.as_str(), applied));
        let others: Vec<(&str, &AppliedLimits)> = parts.chain(ended).collect();
        let lines = |of: fn(&AppliedLimits) -> &Vec<String>| {
            let nodes =
                self.nodes.iter().map(|node| (node.what.as_str(), of(&node.applied))).collect::<Vec<_>>();
            let mut lines = told_once(&nodes);
            for (name, applied) in &others {
                lines.extend(of(applied).iter().map(|line| format!("{name}: {line}")));
            }
            lines
        };
        TargetInfo {
            name: self.name(),
            started_as: self.started_as(),
            version: self.version.clone(),
            limits: lines(|applied| &applied.in_force),
            limits_missing: lines(|applied| &applied.missing),
        }
    }

    fn name(&self) -> String {
        if !self.spec.name.is_empty() {
            return self.spec.name.clone();
        }
        let program = self.spec.image.as_ref().or(self.spec.command.first());
        program.or(self.spec.addresses.first()).cloned().unwrap_or_default()
    }

    /// As the scenario says it: words and secrets by their names.
    fn started_as(&self) -> String {
        let quoted = |word: &String| {
            let is_plain = !word.is_empty()
                && !word.contains(|c: char| c.is_whitespace() || "'\"$&|;<>()*?`\\".contains(c));
            if is_plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
        };
        let command = self.spec.command.iter().map(quoted).collect::<Vec<_>>().join(" ");
        match &self.spec.image {
            Some(image) => format!("image {image} {command}").trim_end().to_owned(),
            None if command.is_empty() => self.spec.addresses.join(", "),
            None => command,
        }
    }

    /// Whether all nodes and parts still run. Cheap: to be asked every second.
    ///
    /// # Errors
    /// The first that ended, with its exit status and its last lines.
    pub fn check(&self) -> Result<(), TargetError> {
        self.nodes.iter().filter_map(|node| node.process.as_ref()).try_for_each(TargetProcess::check)?;
        self.parts.iter().try_for_each(|(_, process)| process.check())
    }

    /// What a reader of a record has to know beside its figures: processes that the kernel killed for memory while their node
    /// went on. Empty where there is nothing to say.
    pub fn notes(&self) -> Vec<String> {
        let nodes = self.nodes.iter().filter_map(|node| Some((&node.what, node.member.as_ref()?)));
        let parts = self.parts.iter().map(|(name, process)| (name, &process.member));
        let killed = nodes.chain(parts).filter_map(|(what, member)| {
            let kills = member.oom_kills().filter(|kills| *kills > 0)?;
            Some(format!("{what}: the kernel killed {kills} of its processes, out of memory"))
        });
        killed.collect()
    }

    /// Begins to see what the nodes use, exactly from now on.
    pub fn watch(&self) -> UsageWatch {
        let nodes = self.nodes.iter().map(|node| WatchedNode {
            part: String::new(),
            member: node.member.clone(),
            pages: node.pages.clone(),
        });
        let parts = self.parts.iter().map(|(name, process)| WatchedNode {
            part: name.clone(),
            member: Some(Arc::clone(&process.member)),
            pages: NodePages::default(),
        });
        UsageWatch::begin(nodes.chain(parts).collect(), Duration::from_millis(self.spec.sample_ms))
    }

    /// Nodes and parts whose processes are known here.
    pub(super) fn members(&self) -> Vec<Arc<NodeProcess>> {
        let nodes = self.nodes.iter().filter_map(|node| node.member.clone());
        nodes.chain(self.parts.iter().map(|(_, process)| Arc::clone(&process.member))).collect()
    }

    /// The directory of nodes, parts and logs that are not kept; it is removed in the end. `None` where nothing is started here.
    pub fn directory(&self) -> Option<PathBuf> {
        self.place.as_ref().map(|place| place.root.clone())
    }

    /// Stops nodes, then runs `after`, then stops parts; removes directories and control groups. Returns what a reader of the
    /// record has to know of it, as [`RunningTarget::notes`] does: those, and commands of `after` that failed. All is stopped in any case.
    pub fn stop(mut self) -> Vec<String> {
        let mut notes = self.notes();
        notes.extend(self.shut_down().err().map(|error| error.to_string()));
        notes
    }

    fn shut_down(&mut self) -> Result<(), TargetError> {
        let within = Duration::from_secs_f64(self.spec.stop_within_s);
        let nodes: Vec<RunningNode> = self.nodes.drain(..).collect();
        stop(&nodes.iter().filter_map(|node| node.process.as_ref()).collect::<Vec<_>>(), within);
        drop(nodes);
        let after = if std::mem::take(&mut self.has_begun) { self.run_after() } else { Ok(()) };
        while let Some((_, part)) = self.parts.pop() {
            stop(&[&part], within);
        }
        self.place = None;
        after
    }

    fn run_after(&self) -> Result<(), TargetError> {
        let (Some(place), Some(keeper)) = (&self.place, &self.keeper) else { return Ok(()) };
        let mut first = Ok(());
        for (number, part) in self.spec.after.iter().enumerate() {
            let what = label(part, "after", number);
            let ended = place.run(&what, part, &self.words, &self.parent, keeper).map(|_| ());
            first = first.and(ended);
        }
        first
    }
}

impl Drop for RunningTarget {
    fn drop(&mut self) {
        // Only `stop` can tell what `after` failed with.
        let _ = self.shut_down();
    }
}

/// What a part is called in errors.
pub(super) fn label(part: &TargetPart, list: &str, number: usize) -> String {
    if part.name.is_empty() { format!("command {} of `{list}`", number + 1) } else { part.name.clone() }
}

/// Lines that all nodes share once, others behind the node's name.
fn told_once(nodes: &[(&str, &Vec<String>)]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    nodes.iter().flat_map(|(_, lines)| lines.iter()).for_each(|line| *counts.entry(line).or_default() += 1);
    let mut told: Vec<String> = Vec::new();
    for (what, lines) in nodes {
        for line in *lines {
            let is_shared = counts.get(line.as_str()) == Some(&nodes.len());
            let text = if is_shared { line.clone() } else { format!("{what}: {line}") };
            if !told.contains(&text) {
                told.push(text);
            }
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_nodes_share_is_told_once() {
        let (one, two) =
            (vec!["a".to_owned(), "cores = 0".to_owned()], vec!["a".to_owned(), "cores = 1".to_owned()]);
        let told = told_once(&[("node 1", &one), ("node 2", &two)]);
        assert_eq!(told, ["a", "node 1: cores = 0", "node 2: cores = 1"]);
        assert_eq!(told_once(&[("node 1", &one)]), one);
    }
}
