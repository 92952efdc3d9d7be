//! Replication of sessions between nodes, and what an answer waits for.

use super::deployment::{Deployment, ReplicationMode};
use super::future::{FutureEvent, JobId, Requester, SimulatedJob};
use super::times::TimeSampler;
use super::world::Simulation;

/// Replication made ready, and questions that are open.
#[derive(Debug)]
pub(super) struct Replicas {
    mode: ReplicationMode,
    store_cores: Option<u32>,
    copies: u32,
    write: TimeSampler,
    read: TimeSampler,
    delay: TimeSampler,
    questions: Vec<ReplicaQuery>,
    free: Vec<u32>,
}

/// Messages that belong together: to the store, or to the nodes with a copy.
#[derive(Clone, Copy, Debug)]
struct ReplicaQuery {
    /// How many messages are under way.
    open: u32,
    /// How many of them somebody still waits for.
    needed: u32,
    then: OnReplicaAnswer,
}

/// What happens when the last answer arrives.
#[derive(Clone, Copy, Debug)]
enum OnReplicaAnswer {
    Nobody,
    Answer(JobId),
    /// All reads of a node that waited when it asked.
    Reads(u32),
}

impl Replicas {
    pub(super) fn new(deployment: &Deployment) -> Option<Replicas> {
        let replication = deployment.replication.as_ref().filter(|all| all.mode != ReplicationMode::None)?;
        Some(Replicas {
            mode: replication.mode,
            store_cores: replication.store_cores,
            copies: replication.copies.unwrap_or(u32::MAX).min(deployment.nodes.count - 1),
            write: TimeSampler::of(&replication.write),
            read: TimeSampler::of(&replication.read),
            delay: TimeSampler::of(&replication.delay),
            questions: Vec::new(),
            free: Vec::new(),
        })
    }

    pub(super) fn store_cores(&self) -> Option<u32> {
        self.store_cores
    }

    fn open(&mut self, question: ReplicaQuery) -> u32 {
        if let Some(slot) = self.free.pop()
            && let Some(found) = self.questions.get_mut(slot as usize)
        {
            *found = question;
            return slot;
        }
        self.questions.push(question);
        self.questions.len() as u32 - 1
    }

    /// One message has arrived: whether that is what somebody waited for.
    fn arrived(&mut self, at: u32) -> Option<OnReplicaAnswer> {
        let question = self.questions.get_mut(at as usize)?;
        question.open = question.open.saturating_sub(1);
        let is_needed = question.needed == 1;
        question.needed = question.needed.saturating_sub(1);
        let then = question.then;
        if question.open == 0 {
            self.free.push(at);
        }
        is_needed.then_some(then)
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "INVARIANT: stations and steps are numbered by what the world numbered them with"
)]
impl Simulation<'_> {
    /// A node has done its work on a request: what replication makes of that.
    pub(super) fn replicate(&mut self, id: JobId, job: &SimulatedJob) {
        let Some(replicas) = &self.replicas else { return };
        let kind = self.steps[job.step as usize].kind;
        match (replicas.mode, kind.is_write()) {
            (ReplicationMode::None, _) => self.answer_after(id, 0),
            (ReplicationMode::BestEffort, true) => {
                self.question(job.station, MessageWork::Write, OnReplicaAnswer::Nobody);
                self.answer_after(id, 0);
            }
            (ReplicationMode::AssuredWrite | ReplicationMode::AssuredRead, true) => {
                self.question(job.station, MessageWork::Write, OnReplicaAnswer::Answer(id));
            }
            (ReplicationMode::AssuredRead, false) if kind == super::SessionUse::Read => {
                self.read(id, job.station)
            }
            (
                ReplicationMode::BestEffort | ReplicationMode::AssuredWrite | ReplicationMode::AssuredRead,
                false,
            ) => self.answer_after(id, 0),
        }
    }

    /// A read waits for a question that is asked after it came: with others, if one is under way.
    fn read(&mut self, id: JobId, station: u32) {
        let node = &mut self.stations[station as usize];
        node.asked_next.push(id);
        if !node.is_asking {
            self.ask_for_reads(station);
        }
    }

    fn ask_for_reads(&mut self, station: u32) {
        let node = &mut self.stations[station as usize];
        node.is_asking = !node.asked_next.is_empty();
        if node.is_asking {
            node.heard_by = std::mem::take(&mut node.asked_next);
            self.question(station, MessageWork::Read, OnReplicaAnswer::Reads(station));
        }
    }

    /// What reads waited for is there.
    pub(super) fn heard(&mut self, station: u32) {
        for id in std::mem::take(&mut self.stations[station as usize].heard_by) {
            self.answer_after(id, 0);
        }
        self.ask_for_reads(station);
    }

    fn question(&mut self, from: u32, work: MessageWork, then: OnReplicaAnswer) {
        let to = self.copies_of(from);
        let Some(replicas) = &mut self.replicas else { return };
        let count = to.len() as u32;
        let needed = match then {
            OnReplicaAnswer::Nobody => 0,
            // A majority of all copies, of which the node's own is one.
            OnReplicaAnswer::Answer(_) | OnReplicaAnswer::Reads(_) if replicas.store_cores.is_none() => {
                count.div_ceil(2)
            }
            OnReplicaAnswer::Answer(_) | OnReplicaAnswer::Reads(_) => 1,
        };
        if count == 0 || matches!(then, OnReplicaAnswer::Answer(_) | OnReplicaAnswer::Reads(_)) && needed == 0
        {
            return self.known(then);
        }
        let question = replicas.open(ReplicaQuery { open: count, needed, then });
        for station in to {
            let Some(replicas) = &self.replicas else { return };
            let drawn = match work {
                MessageWork::Write => &replicas.write,
                MessageWork::Read => &replicas.read,
            };
            let service = drawn.draw(&mut self.random);
            let who = Requester::Message(question);
            let job = SimulatedJob {
                due: self.now,
                sent: self.now,
                service,
                step: 0,
                station,
                who,
                is_abandoned: false,
            };
            let id = self.jobs.add(job);
            self.work_on(id, station);
        }
    }

    /// The store, or the nodes after this one in a ring that are up.
    fn copies_of(&self, from: u32) -> Vec<u32> {
        let nodes = self.deployment.nodes.count;
        match &self.replicas {
            None => Vec::new(),
            Some(replicas) if replicas.store_cores.is_some() => vec![nodes],
            Some(replicas) => (1..nodes)
                .map(|next| ((u64::from(from) + u64::from(next)) % u64::from(nodes)) as u32)
                .filter(|node| self.stations[*node as usize].is_up)
                .take(replicas.copies as usize)
                .collect(),
        }
    }

    /// A message was worked on.
    pub(super) fn message_arrived(&mut self, question: u32) {
        if let Some(then) = self.replicas.as_mut().and_then(|replicas| replicas.arrived(question)) {
            self.known(then);
        }
    }

    /// Those who wait hear of it after the way to and fro.
    fn known(&mut self, then: OnReplicaAnswer) {
        let Some(replicas) = &self.replicas else { return };
        let way = replicas.delay.draw(&mut self.random);
        match then {
            OnReplicaAnswer::Nobody => {}
            OnReplicaAnswer::Answer(id) => self.answer_after(id, way),
            OnReplicaAnswer::Reads(station) => {
                self.future.plan(self.now + way, FutureEvent::Heard { station })
            }
        }
    }
}

/// What a message asks of the store or of a node.
#[derive(Clone, Copy, Debug)]
enum MessageWork {
    Write,
    Read,
}
