//! What makes the load of a run: threads of this process, or agents. Everything else of a run is the same.

use std::time::Duration;

use super::{Options, RunError};
use crate::agent::{Crew, Task};
use crate::load::{self, Attend, Measured, Node, Setup};
use crate::machine::Machine;
use crate::record::{GeneratorLimit, MachineInfo};
use crate::scenario::{Scenario, Sent};

/// What makes the load.
pub(super) enum Generators {
    /// Threads of this process.
    Here,
    /// Agents, steered by this process.
    Agents(Box<Crew>),
}

impl Generators {
    /// Connects to the agents, if there are any, and sends them the scenario with what it reads.
    ///
    /// # Errors
    /// An agent that cannot be reached, refuses, or cannot do it.
    pub(super) fn gather(
        scenario: &Scenario,
        sent: &Sent,
        options: &Options,
    ) -> Result<Generators, RunError> {
        if options.agents.addresses.is_empty() {
            return Ok(Generators::Here);
        }
        let mut crew = Crew::gather(&options.agents, &options.version, &options.may_load)?;
        crew.load(scenario, sent)?;
        Ok(Generators::Agents(Box::new(crew)))
    }

    /// The machines, as records have them: the one that runs the command first.
    pub(super) fn machines(&self) -> Vec<MachineInfo> {
        match self {
            Generators::Here => vec![Machine::this().info("local")],
            Generators::Agents(crew) => crew.machines(),
        }
    }

    /// Processes of this machine that belong to the lab, beside this one.
    pub(super) fn processes(&self) -> Vec<u32> {
        match self {
            Generators::Here => Vec::new(),
            Generators::Agents(crew) => crew.processes(),
        }
    }

    /// How many threads make the load: of agents, as many as showed what they can do.
    pub(super) fn threads(&self, setup: &Setup<'_>, limit: Option<&GeneratorLimit>) -> usize {
        match self {
            Generators::Here => setup.threads(),
            Generators::Agents(crew) => limit.map_or(crew.count(), |limit| limit.threads),
        }
    }

    /// How many connections of so many this process opens itself.
    pub(super) fn own_connections(&self, connections: u64) -> u64 {
        match self {
            Generators::Here => connections,
            Generators::Agents(crew) if crew.has_local() => connections.div_ceil(crew.count().max(1) as u64),
            Generators::Agents(_) => 0,
        }
    }

    /// Whether these nodes are the same for all of them.
    ///
    /// # Errors
    /// An agent on another machine and a loopback address.
    pub(super) fn reach(&self, nodes: &[Node]) -> Result<(), RunError> {
        match self {
            Generators::Here => Ok(()),
            Generators::Agents(crew) => crew.reach(nodes),
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
        attend: &mut dyn Attend,
    ) -> Result<GeneratorLimit, RunError> {
        match self {
            Generators::Here => load::limit(scenario, crate::scenario::Time(time), None, attend),
            Generators::Agents(crew) => crew.limit(time),
        }
    }

    /// Measures one point. `task` says the same as `setup`, for those who are not within this process.
    ///
    /// # Errors
    /// A load that cannot be made.
    pub(super) fn measure(
        &mut self,
        setup: &Setup<'_>,
        task: &Task,
        attend: &mut dyn Attend,
    ) -> Result<Measured, RunError> {
        match self {
            Generators::Here => setup.measure(attend),
            Generators::Agents(crew) => crew.measure(setup, task, attend),
        }
    }

    /// Why no further point can be measured: an agent was lost.
    pub(super) fn lost(&self) -> Option<&str> {
        match self {
            Generators::Here => None,
            Generators::Agents(crew) => crew.lost(),
        }
    }
}
