//! All agents of a run, and the leader's part of each load: it says when, follows the seconds, and adds what comes back.

mod course;
mod merge;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::key::AgentKey;
use super::link::{AgentEvent, AgentLink, LeaderClocks};
use super::message::{AgentTask, ToAgent, ToLeader};
use super::service::{AgentHosting, serve};
use super::{Agents, LOCAL, SENT_BYTES_MAX};
use crate::load::{LoadObserver, LoadResult, LoadSetup, LoadShare, TargetNode};
use crate::machine::{MachineFacts, MachineIdentity};
use crate::record::{GeneratorLimit, MachineInfo};
use crate::run::RunError;
use crate::scenario::{Scenario, SentScenario};
use course::AgentLoad;

/// Bytes of files in one message.
const CHUNK_BYTES: usize = 512 * 1024;
/// A load begins so long after all agents are ready.
const LEAD: Duration = Duration::from_millis(300);
/// The longest that an agent may take to be ready for a scenario or a load.
const READY_TIME_MAX: Duration = Duration::from_secs(60);

/// All agents of a run.
pub(crate) struct AgentCrew {
    links: Vec<AgentLink>,
    events: Receiver<(usize, AgentEvent)>,
    own: LeaderClocks,
    identity: MachineIdentity,
    /// Who was lost, and why; nothing can be measured any more.
    lost: Option<String>,
    limits: BTreeMap<usize, GeneratorLimit>,
    /// Ends the agent within this process.
    end_local: Arc<AtomicBool>,
}

impl AgentCrew {
    /// Connects to all of them. `may_load` is for the one within this process.
    ///
    /// # Errors
    /// An agent that cannot be reached, or refuses: by name.
    pub(crate) fn gather(agents: &Agents, version: &str, may_load: &[String]) -> Result<AgentCrew, RunError> {
        let own = LeaderClocks { begun: Instant::now(), unix_us: agents.now_unix_us };
        let (sender, events) = channel();
        let end_local = Arc::new(AtomicBool::new(false));
        let mut crew = AgentCrew {
            links: Vec::new(),
            events,
            own,
            identity: MachineIdentity::this(),
            lost: None,
            limits: BTreeMap::new(),
            end_local: Arc::clone(&end_local),
        };
        for (number, named) in agents.addresses.iter().enumerate() {
            let failed = |problem: String| RunError::Agent { agent: named.address.clone(), problem };
            if crew.links.iter().any(|link| link.name == named.address) {
                return Err(failed("is named twice".to_owned()));
            }
            let (address, key) = if named.address == LOCAL {
                local(version, may_load, agents, &end_local).map_err(failed)?
            } else {
                let key = named.key.clone();
                let key =
                    key.ok_or_else(|| failed("has no key: name its file by `--agent-key FILE`".to_owned()))?;
                (named.address.clone(), key)
            };
            let link =
                AgentLink::begin(number, (&named.address, &address), &key, version, own, sender.clone());
            crew.links.push(link.map_err(failed)?);
        }
        crew.compare_clocks()?;
        Ok(crew)
    }

    /// How many agents there are.
    pub(crate) fn count(&self) -> usize {
        self.links.len()
    }

    /// Whether this process is one of them.
    pub(crate) fn has_local(&self) -> bool {
        self.links.iter().any(|link| link.name == LOCAL)
    }

    /// Processes of this machine that make load and are not this one.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let beside = |link: &&AgentLink| {
            link.identity.shares_processes(&self.identity) && link.identity.process != self.identity.process
        };
        self.links.iter().filter(beside).map(|link| link.identity.process).collect()
    }

    /// Why the run has to end: an agent was lost.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// This machine, then those of the agents, with what is known of their clocks and limits now.
    pub(crate) fn machines(&self) -> Vec<MachineInfo> {
        let this = MachineFacts::this().info(LOCAL);
        let mut all = vec![this];
        for (number, link) in self.links.iter().enumerate() {
            let requests_per_s = self.limits.get(&number).map(|limit| limit.requests_per_s);
            if link.name == LOCAL {
                if let Some(this) = all.first_mut() {
                    this.requests_per_s = requests_per_s;
                }
                continue;
            }
            let difference = link.difference();
            let ahead_us = if self.own.unix_us.is_some() { difference.unix_ahead_us } else { 0 };
            all.push(MachineInfo {
                name: link.name.clone(),
                clock_ahead_us: ahead_us,
                clock_uncertain_us: difference.uncertain_us,
                requests_per_s,
                ..link.machine.clone()
            });
        }
        all
    }

    /// Whether all agents mean the same by these addresses: a loopback address is each machine's own.
    ///
    /// # Errors
    /// An agent on another machine for which one of them is another server.
    pub(crate) fn reach(&self, nodes: &[TargetNode]) -> Result<(), RunError> {
        let Some(node) = nodes.iter().find(|node| node.address.ip().is_loopback()) else { return Ok(()) };
        let elsewhere = |link: &&AgentLink| {
            let shares = link.identity.shares_network(&self.identity);
            !shares.unwrap_or_else(|| link.peer.ip().is_loopback())
        };
        let Some(link) = self.links.iter().find(elsewhere) else { return Ok(()) };
        let problem = format!(
            "is on another machine, for which `{}` is that machine itself: name an address that it can reach",
            node.name
        );
        Err(RunError::Agent { agent: link.name.clone(), problem })
    }

    /// Sends the scenario, with what it reads.
    ///
    /// # Errors
    /// Files that are too large together, an agent that cannot do it, or is lost.
    pub(crate) fn load(&mut self, scenario: &Scenario, sent: &SentScenario) -> Result<(), RunError> {
        let total: usize = sent.files.values().map(|bytes| bytes.len()).sum();
        if total as u64 > SENT_BYTES_MAX {
            let (total, most) = (total >> 20, SENT_BYTES_MAX >> 20);
            return Err(RunError::Machine(format!(
                "the files that the scenario names have {total} MiB together, and agents take {most} MiB at most"
            )));
        }
        let name = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        let files: Vec<(String, u64)> =
            sent.files.iter().map(|(path, bytes)| (name(path), bytes.len() as u64)).collect();
        for link in &self.links {
            link.send(ToAgent::Scenario {
                text: scenario.text.clone(),
                variables: sent.variables.clone(),
                files: files.clone(),
            });
            for chunk in sent.files.values().flat_map(|bytes| bytes.chunks(CHUNK_BYTES)) {
                link.send(ToAgent::Bytes { base64: STANDARD.encode(chunk) });
            }
        }
        self.each(READY_TIME_MAX, |event| matches!(event, AgentEvent::Said(ToLeader::Ready)).then_some(()))
            .map(drop)
    }

    /// What all agents can do at most, all at once: the sum of their rates.
    ///
    /// # Errors
    /// An agent that cannot measure it, or is lost.
    pub(crate) fn limit(&mut self, time: Duration) -> Result<GeneratorLimit, RunError> {
        let measure_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.links.iter().for_each(|link| link.send(ToAgent::Limit { measure_ms }));
        let limits = self.each(time + READY_TIME_MAX, |event| match event {
            AgentEvent::Said(ToLeader::Limit(limit)) => Some(limit.clone()),
            AgentEvent::Said(_) | AgentEvent::Compared | AgentEvent::Lost(_) => None,
        })?;
        let mut all = GeneratorLimit::default();
        for (number, limit) in limits.into_iter().enumerate() {
            all.requests_per_s += limit.requests_per_s;
            all.busy = all.busy.max(limit.busy);
            all.threads += limit.threads;
            self.limits.insert(number, limit);
        }
        Ok(all)
    }

    /// Has a load made, each agent its share. `setup` is the whole of it.
    ///
    /// # Errors
    /// An agent that cannot make it. One that is lost while it goes on ends the load: what the others measured comes back.
    pub(crate) fn measure(
        &mut self,
        setup: &LoadSetup<'_>,
        task: &AgentTask,
        attend: &mut dyn LoadObserver,
    ) -> Result<LoadResult, RunError> {
        let of = self.links.len() as u64;
        if setup.mean_rate().is_some() && setup.users() < of {
            return Err(RunError::Machine(format!(
                "{of} agents cannot share {} places for arrivals: raise `load.connections`",
                setup.users()
            )));
        }
        self.compare_clocks()?;
        for (number, link) in (0..).zip(&self.links) {
            link.send(ToAgent::Point(Box::new(AgentTask {
                share: LoadShare { number, of },
                ..task.clone()
            })));
        }
        let threads = self.each(READY_TIME_MAX, |event| match event {
            AgentEvent::Said(ToLeader::Prepared { threads }) => Some(*threads),
            AgentEvent::Said(_) | AgentEvent::Compared | AgentEvent::Lost(_) => None,
        })?;
        let uncertain = self.links.iter().map(|link| link.difference().uncertain_us).max().unwrap_or(0);
        let begun = Instant::now() + LEAD + Duration::from_micros(2 * uncertain);
        for link in &self.links {
            let at = self.own.ns_at(begun).saturating_add_signed(link.difference().ahead_ns);
            link.send(ToAgent::Start { at_ns: at });
        }
        let mut course = AgentLoad::new(setup, begun, threads);
        course.follow(&self.links, &self.events, attend);
        self.lost = course.lost.clone();
        Ok(course.measured(&self.links))
    }

    /// By several round trips with each of them.
    fn compare_clocks(&mut self) -> Result<(), RunError> {
        self.links.iter().for_each(AgentLink::compare);
        self.each(READY_TIME_MAX, |event| matches!(event, AgentEvent::Compared).then_some(())).map(drop)
    }

    /// Waits until each agent has said what is waited for.
    fn each<T>(
        &mut self,
        time: Duration,
        take: impl Fn(&AgentEvent) -> Option<T>,
    ) -> Result<Vec<T>, RunError> {
        let deadline = Instant::now() + time;
        let mut all: Vec<Option<T>> = self.links.iter().map(|_| None).collect();
        while let Some(missing) = all.iter().position(Option::is_none) {
            let wait = deadline.saturating_duration_since(Instant::now());
            let (number, event) = match self.events.recv_timeout(wait) {
                Ok(heard) => heard,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(self.failed(missing, format!("is not ready after {} s", time.as_secs())));
                }
            };
            if let Some(problem) = problem(&event) {
                return Err(self.failed(number, problem));
            }
            if let (Some(value), Some(place)) = (take(&event), all.get_mut(number)) {
                *place = Some(value);
            }
        }
        Ok(all.into_iter().flatten().collect())
    }

    fn failed(&mut self, number: usize, problem: String) -> RunError {
        let agent = self.links.get(number).map_or_else(String::new, |link| link.name.clone());
        let error = RunError::Agent { agent, problem };
        self.lost = Some(error.to_string());
        error
    }
}

/// Why an agent cannot go on, if that is what happened.
fn problem(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Lost(why) => Some(format!("was lost: it {why}")),
        AgentEvent::Said(ToLeader::Failed { why }) => {
            Some(format!("says: {}", crate::draw::shortened(why, 300)))
        }
        AgentEvent::Said(_) | AgentEvent::Compared => None,
    }
}

/// An agent within this process, with a key that nobody else has: its address and the key.
fn local(
    version: &str,
    may_load: &[String],
    agents: &Agents,
    stop: &Arc<AtomicBool>,
) -> Result<(String, AgentKey), String> {
    let key = AgentKey::random().map_err(|error| format!("its key {error}"))?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("cannot listen: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("cannot listen: {error}"))?;
    let hosting = AgentHosting {
        key: key.clone(),
        may_load: may_load.to_vec(),
        threads: None,
        version: version.to_owned(),
        now_unix_us: agents.now_unix_us.unwrap_or(|| 0),
        stop: Arc::clone(stop),
        say: Arc::new(|_| {}),
    };
    // Where it cannot serve, the leader finds nobody there.
    let host = move || drop(serve(&listener, hosting));
    thread::Builder::new()
        .name("lab-agent-local".to_owned())
        .spawn(host)
        .map_err(|error| error.to_string())?;
    Ok((address.to_string(), key))
}

impl Drop for AgentCrew {
    fn drop(&mut self) {
        self.end_local.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Host;
    use super::*;

    #[test]
    fn a_loopback_address_is_refused_for_an_agent_on_another_machine() {
        let host = Host::start(&[]);
        let mut crew = host.crew("1.0.0").unwrap();
        let loopback = TargetNode::resolve("http://127.0.0.1:8080").unwrap();
        let other = TargetNode::resolve("http://192.0.2.1").unwrap();
        crew.reach(&[loopback.clone(), other.clone()]).unwrap();
        // As if the agent ran elsewhere: another boot, another network.
        let elsewhere = r#"{"boot":"b","network":"net:[1]","processes":"pid:[1]","process":7}"#;
        crew.links[0].identity = serde_json::from_str(elsewhere).unwrap();
        crew.reach(std::slice::from_ref(&other)).unwrap();
        let said = crew.reach(&[other, loopback]).unwrap_err().to_string();
        assert!(said.contains("is on another machine") && said.contains("`http://127.0.0.1:8080`"), "{said}");
        assert!(crew.processes().is_empty());
    }
}
