//! What makes the load of a run: threads of this process, or agents. Everything else of a run is the same.

use std::time::Duration;

use super::{RunError, RunOptions};
use crate::agent::{AgentCrew, AgentTask};
use crate::load::{self, LoadObserver, LoadResult, LoadSetup, TargetNode};
use crate::machine::MachineFacts;
use crate::record::{GeneratorLimit, MachineInfo};
use crate::scenario::{Scenario, SentScenario};

/// What makes the load.
pub(super) enum LoadMakers {
    /// Threads of this process.
    Here,
    /// Agents, steered by this process.
    Agents(Box<AgentCrew>),
}

impl LoadMakers {
    /// Connects to the agents, if there are any, and sends them the scenario with what it reads.
    ///
    /// # Errors
    /// An agent that cannot be reached, refuses, or cannot do it.
    pub(super) fn gather(
        scenario: &Scenario,
        sent: &SentScenario,
        options: &RunOptions,
    ) -> Result<LoadMakers, RunError> {
        if options.agents.addresses.is_empty() {
            return Ok(LoadMakers::Here);
        }
        let mut crew = AgentCrew::gather(&options.agents, &options.version, &options.may_load)?;
        crew.load(scenario, sent)?;
        Ok(LoadMakers::Agents(Box::new(crew)))
    }

    /// The machines, as records have them: the one that runs the command first.
    pub(super) fn machines(&self) -> Vec<MachineInfo> {
        match self {
            LoadMakers::Here => vec![MachineFacts::this().info("local")],
            LoadMakers::Agents(crew) => crew.machines(),
        }
    }

    /// Processes of this machine that belong to the lab, beside this one.
    pub(super) fn processes(&self) -> Vec<u32> {
        match self {
            LoadMakers::Here => Vec::new(),
            LoadMakers::Agents(crew) => crew.processes(),
        }
    }

    /// How many threads make the load: of agents, as many as showed what they can do.
    pub(super) fn threads(&self, setup: &LoadSetup<'_>, limit: Option<&GeneratorLimit>) -> usize {
        match self {
            LoadMakers::Here => setup.threads(),
            LoadMakers::Agents(crew) => limit.map_or(crew.count(), |limit| limit.threads),
        }
    }

    /// How many connections of so many this process opens itself.
    pub(super) fn own_connections(&self, connections: u64) -> u64 {
        match self {
            LoadMakers::Here => connections,
            LoadMakers::Agents(crew) if crew.has_local() => connections.div_ceil(crew.count().max(1) as u64),
            LoadMakers::Agents(_) => 0,
        }
    }

    /// Whether these nodes are the same for all of them.
    ///
    /// # Errors
    /// An agent on another machine and a loopback address.
    pub(super) fn reach(&self, nodes: &[TargetNode]) -> Result<(), RunError> {
        match self {
            LoadMakers::Here => Ok(()),
            LoadMakers::Agents(crew) => crew.reach(nodes),
        }
    }

    /// What they can do at most with this scenario's requests, against servers that do nothing.
    ///
    /// # Errors
    /// Sockets or threads that a system refuses, an agent that is lost.
    pub(super) fn limit(
        &mut self,
        scenario: &Scenario,
        time: Duration,
        attend: &mut dyn LoadObserver,
    ) -> Result<GeneratorLimit, RunError> {
        match self {
            LoadMakers::Here => load::limit(scenario, crate::scenario::DurationValue(time), None, attend),
            LoadMakers::Agents(crew) => crew.limit(time),
        }
    }

    /// Measures one point. `task` says the same as `setup`, for those who are not within this process.
    ///
    /// # Errors
    /// A load that cannot be made.
    pub(super) fn measure(
        &mut self,
        setup: &LoadSetup<'_>,
        task: &AgentTask,
        attend: &mut dyn LoadObserver,
    ) -> Result<LoadResult, RunError> {
        match self {
            LoadMakers::Here => setup.measure(attend),
            LoadMakers::Agents(crew) => crew.measure(setup, task, attend),
        }
    }

    /// Why no further point can be measured: an agent was lost.
    pub(super) fn lost(&self) -> Option<&str> {
        match self {
            LoadMakers::Here => None,
            LoadMakers::Agents(crew) => crew.lost(),
        }
    }
}
