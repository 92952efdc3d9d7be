//! What an agent does for its leader: its part of a load, steered by orders.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use super::message::{AgentResult, AgentTask, ToLeader};
use super::service::AgentHost;
use crate::load::{self, LoadObserver, LoadPlan, LoadResult, LoadSetup, SecondTally, TargetNode};
use crate::record::MeasuredSecond;
use crate::run::RunError;
use crate::scenario::{DurationValue, Scenario};

/// What a leader says while a load is prepared or goes on.
#[derive(Debug)]
pub(super) enum LoadOrder {
    /// Begin at this moment of the agent's clock.
    Start(u64),
    /// Begin to measure so many nanoseconds after the load began.
    Measure(u64),
    /// End.
    Stop(String),
}

/// The thread that does it.
pub(super) struct LoadThread {
    house: Arc<AgentHost>,
    scenario: Arc<Scenario>,
    orders: Receiver<LoadOrder>,
    out: Sender<ToLeader>,
    threads: usize,
    from: Option<u64>,
    late: Duration,
    stopped: Option<String>,
}

impl LoadThread {
    pub(super) fn new(
        house: &Arc<AgentHost>,
        scenario: Arc<Scenario>,
        orders: Receiver<LoadOrder>,
        out: Sender<ToLeader>,
    ) -> LoadThread {
        LoadThread {
            house: Arc::clone(house),
            scenario,
            orders,
            out,
            threads: 0,
            from: None,
            late: Duration::ZERO,
            stopped: None,
        }
    }

    /// Measures what this agent can do at most.
    pub(super) fn limit(&mut self, measure_ms: u64) {
        let (scenario, threads) = (Arc::clone(&self.scenario), self.house.hosting.threads);
        let time = DurationValue(Duration::from_millis(measure_ms.clamp(1, 60_000)));
        let limit = load::limit(&scenario, time, threads, &mut SoleLoad { work: self });
        self.tell(match limit {
            Ok(limit) => ToLeader::Limit(limit),
            Err(error) => ToLeader::Failed { why: error.to_string() },
        });
    }

    /// Makes a load.
    pub(super) fn point(&mut self, task: &AgentTask) {
        let measured = self.measure(task);
        self.tell(match measured {
            Ok(measured) => {
                let late_us = u64::try_from(self.late.as_micros()).unwrap_or(u64::MAX);
                ToLeader::Done(Box::new(AgentResult { measured, late_us }))
            }
            Err(error) => ToLeader::Failed { why: error.to_string() },
        });
    }

    fn measure(&mut self, task: &AgentTask) -> Result<LoadResult, RunError> {
        let scenario = Arc::clone(&self.scenario);
        let nodes: Vec<TargetNode> =
            task.nodes.iter().map(|address| self.allowed(address)).collect::<Result<_, _>>()?;
        let plan = LoadPlan::new(&scenario, &task.vary, &nodes)?;
        let load = task.trial.as_ref().map(|trial| trial.load(&scenario.load));
        let setup = LoadSetup::new(
            &plan,
            load.as_ref().unwrap_or(&scenario.load),
            task.balance,
            &task.askers,
            task.seed,
            &scenario.tls,
            &scenario.folder,
        )?;
        load::allow_files(task.share.count(setup.connections()))?;
        let setup = setup.part(task.share, self.house.hosting.threads);
        self.threads = setup.threads();
        setup.measure(self)
    }

    /// A node that this agent may load: on its own machine, or of its own list.
    fn allowed(&self, address: &str) -> Result<TargetNode, RunError> {
        let node = TargetNode::resolve(address)?;
        if node.is_local() || self.house.hosting.may_load.contains(&node.host) {
            return Ok(node);
        }
        Err(RunError::Machine(format!(
            "`{host}` is not the agent's machine: the agent loads it only when it was started with `--i-may-load {host}`",
            host = node.host
        )))
    }

    /// The session sends it on; where it has ended, nobody wants to know.
    fn tell(&self, message: ToLeader) {
        let _ = self.out.send(message);
    }

    /// Takes what was ordered since the last time; the moment to begin, if that was among it.
    fn heed(&mut self) -> Option<u64> {
        let mut start = None;
        loop {
            match self.orders.try_recv() {
                Ok(order) => start = self.take(order).or(start),
                Err(TryRecvError::Empty) => return start,
                Err(TryRecvError::Disconnected) => {
                    self.stop("the leader has gone".to_owned());
                    return start;
                }
            }
        }
    }

    fn take(&mut self, order: LoadOrder) -> Option<u64> {
        match order {
            LoadOrder::Start(at) => return Some(at),
            LoadOrder::Measure(from) => self.from = Some(from),
            LoadOrder::Stop(why) => self.stop(why),
        }
        None
    }

    fn stop(&mut self, why: String) {
        let _ = self.stopped.get_or_insert(why);
    }
}

impl LoadObserver for LoadThread {
    /// Waits for the leader's word.
    fn start(&mut self) -> Instant {
        self.tell(ToLeader::Prepared { threads: self.threads });
        while self.stopped.is_none() {
            let Ok(order) = self.orders.recv() else {
                self.stop("the leader has gone".to_owned());
                break;
            };
            if let Some(at_ns) = self.take(order) {
                let at = self.house.begun + Duration::from_nanos(at_ns);
                self.late = Instant::now().saturating_duration_since(at);
                return at;
            }
        }
        Instant::now()
    }

    fn measure_from(&mut self, _: Option<u64>) -> Option<u64> {
        self.from.take()
    }

    fn second(&mut self, _: &MeasuredSecond, tally: &SecondTally) {
        self.tell(ToLeader::Second(tally.clone()));
    }

    fn begin(&mut self) {}

    fn end(&mut self) {}

    fn must_stop(&mut self) -> Option<String> {
        let _ = self.heed();
        self.stopped.clone()
    }
}

/// A load that nobody else takes part in.
struct SoleLoad<'w> {
    work: &'w mut LoadThread,
}

impl LoadObserver for SoleLoad<'_> {
    fn second(&mut self, _: &MeasuredSecond, _: &SecondTally) {}
    fn begin(&mut self) {}
    fn end(&mut self) {}
    fn must_stop(&mut self) -> Option<String> {
        self.work.must_stop()
    }
}
