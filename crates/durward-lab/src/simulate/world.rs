//! The simulated world: one loop that takes what happens next, until time is up. Requests are sent, find a node, wait for a core, are worked
//! on, wait for what replication asks for, and are answered; users think and ask again.
//!
//! Time is counted in whole nanoseconds and everything random follows from the seed in one order, so the same deployment gives the same
//! outcome, bit for bit.

use std::collections::VecDeque;

use super::balance::Balancer;
use super::deployment::{BalancePolicy, Deployment, EVENTS_MAX, SessionUse};
use super::future::{EventQueue, FutureEvent, JobId, Jobs, Requester, SimulatedJob};
use super::measure::Measurements;
use super::outcome::SimulationOutcome;
use super::replicate::Replicas;
use super::station::Station;
use super::times::TimeSampler;
use super::users::{LoadSource, StatefulUsers, has_login, is_pool};
use crate::random::LabRandom;

/// Nanoseconds of so many seconds.
pub(super) fn ns(seconds: f64) -> u64 {
    (seconds * 1e9 + 0.5) as u64
}

/// A step made ready.
#[derive(Debug)]
pub(super) struct PreparedStep {
    pub(super) kind: SessionUse,
    service: TimeSampler,
    delay: TimeSampler,
}

/// Steps by weight: the sum of weights up to each.
#[derive(Debug, Default)]
struct StepMix(Vec<(f64, u32)>);

impl StepMix {
    fn of(deployment: &Deployment, takes: impl Fn(SessionUse) -> bool) -> StepMix {
        let mut sum = 0.0;
        let steps =
            deployment.steps.iter().zip(0u32..).filter(|(step, _)| takes(step.kind) && step.weight > 0.0);
        StepMix(
            steps
                .map(|(step, at)| {
                    sum += step.weight;
                    (sum, at)
                })
                .collect(),
        )
    }

    fn draw(&self, random: &mut LabRandom) -> u32 {
        match self.0.as_slice() {
            [] => 0,
            [(_, only)] => *only,
            [.., (sum, last)] => {
                let at = random.unit() * sum;
                self.0.iter().find(|(up_to, _)| at < *up_to).map_or(*last, |(_, step)| *step)
            }
        }
    }
}

/// A crowd that comes within some time.
#[derive(Debug)]
pub(super) struct UserCrowd {
    pub(super) left: u64,
    pub(super) until: u64,
    /// Whether they are users who come back, or pass by.
    pub(super) stays: bool,
    pub(super) session: bool,
}

/// The whole state of a simulation.
pub(super) struct Simulation<'d> {
    pub(super) deployment: &'d Deployment,
    pub(super) now: u64,
    pub(super) random: LabRandom,
    pub(super) future: EventQueue,
    pub(super) jobs: Jobs,
    /// Nodes, then the store where there is one.
    pub(super) stations: Vec<Station>,
    pub(super) balancer: Balancer,
    pub(super) users: LoadSource,
    pub(super) steps: Vec<PreparedStep>,
    logins: StepMix,
    others: StepMix,
    all: StepMix,
    pub(super) has_login: bool,
    pub(super) replicas: Option<Replicas>,
    pub(super) crowds: Vec<UserCrowd>,
    /// Requests in the order in which their clients give up, and when.
    deadlines: VecDeque<(u64, JobId)>,
    /// Nodes that each event took down.
    pub(super) down: Vec<Vec<u32>>,
    pub(super) measures: Measurements,
}

#[expect(
    clippy::indexing_slicing,
    reason = "INVARIANT: stations and steps are numbered by what they are numbered with here; jobs name only such"
)]
impl<'d> Simulation<'d> {
    pub(super) fn new(deployment: &'d Deployment) -> Simulation<'d> {
        let mut random = LabRandom::new(deployment.seed);
        let nodes = deployment.nodes.count;
        let mut stations: Vec<Station> =
            (0..nodes).map(|_| Station::node(&deployment.nodes, random.unit())).collect();
        let replicas = Replicas::new(deployment);
        stations.extend(replicas.as_ref().and_then(Replicas::store_cores).map(Station::new));
        let ready = |step: &super::RequestKind| PreparedStep {
            kind: step.kind,
            service: TimeSampler::of(&step.service),
            delay: TimeSampler::of(&step.delay),
        };
        Simulation {
            deployment,
            now: 0,
            future: EventQueue::default(),
            jobs: Jobs::default(),
            stations,
            balancer: Balancer::new(deployment.balance, nodes),
            users: LoadSource::new(deployment, &mut random),
            steps: deployment.steps.iter().map(ready).collect(),
            logins: StepMix::of(deployment, |kind| kind == SessionUse::Login),
            others: StepMix::of(deployment, |kind| kind != SessionUse::Login),
            all: StepMix::of(deployment, |_| true),
            has_login: has_login(deployment),
            replicas,
            crowds: Vec::new(),
            deadlines: VecDeque::new(),
            down: vec![Vec::new(); deployment.events.len()],
            measures: Measurements::new(deployment),
            random,
        }
    }

    /// Lives until time is up.
    pub(super) fn run(mut self) -> SimulationOutcome {
        self.plan_beginning();
        let begin = ns(self.deployment.warm_up_s);
        let end = begin + ns(self.deployment.seconds);
        let mut stopped = None;
        self.until(begin, &mut stopped);
        self.advance_all(begin);
        self.measures.begin(begin, &mut self.stations);
        self.until(end, &mut stopped);
        let end = if stopped.is_some() { self.now.max(begin) } else { end };
        self.advance_all(end);
        let mut notes = Vec::new();
        if is_pool(self.deployment) && self.deployment.load.think != super::ThinkTimes::Exponential {
            notes.push(
                "so many users are known by their number only: their thinking is taken to be without memory"
                    .to_owned(),
            );
        }
        self.measures.outcome(end, self.deployment, &self.stations, stopped, notes)
    }

    fn advance_all(&mut self, now: u64) {
        self.now = now;
        self.stations.iter_mut().for_each(|station| station.advance(now));
    }

    /// Users begin at moments of their own; nodes stand still at moments of their own; events have theirs.
    fn plan_beginning(&mut self) {
        if let LoadSource::Each(each) = &mut self.users {
            for (user, number) in each.all.iter_mut().zip(0u32..) {
                let at = (self.random.unit() * each.think_ns) as u64;
                user.due = at;
                self.future.plan(at, FutureEvent::Wake { user: number, version: 0 });
            }
        }
        if self.deployment.nodes.stall_s > 0.0 {
            for station in 0..self.deployment.nodes.count {
                let at = self.random.exponential(self.deployment.nodes.stall_every_s * 1e9);
                self.future.plan(at as u64, FutureEvent::Stall { station });
            }
        }
        for (event, number) in self.deployment.events.iter().zip(0u32..) {
            let at = ns(self.deployment.warm_up_s + event.at_s());
            self.future.plan(at, FutureEvent::Begins { event: number });
        }
    }

    fn until(&mut self, end: u64, stopped: &mut Option<String>) {
        while stopped.is_none() {
            let arrival = match &mut self.users {
                LoadSource::Arrivals(stream) => stream.next_at(),
                LoadSource::Pool(pool) => pool.next_at(self.now, &mut self.random),
                LoadSource::Each(_) => u64::MAX,
            };
            let deadline = self.deadlines.front().map_or(u64::MAX, |(at, _)| *at);
            let planned = self.future.next_at();
            let next = arrival.min(deadline).min(planned);
            if next >= end {
                break;
            }
            self.measures.pass_seconds(next, &self.stations);
            self.now = next;
            self.measures.events += 1;
            if planned == next {
                if let Some(what) = self.future.pop() {
                    self.happens(what);
                }
            } else if deadline == next {
                self.give_up();
            } else {
                self.arrive();
            }
            if self.jobs.is_full() {
                *stopped = Some(format!("more than {} requests were under way", super::UNDER_WAY_MAX));
            } else if self.measures.events >= EVENTS_MAX {
                *stopped = Some(format!("more than {EVENTS_MAX} things happened"));
            }
        }
        if stopped.is_none() {
            self.measures.pass_seconds(end, &self.stations);
        }
    }

    fn happens(&mut self, what: FutureEvent) {
        match what {
            FutureEvent::Served(job) => {
                if let Some(station) = self.jobs.get(job).map(|job| job.station) {
                    self.stations[station as usize].end(self.now);
                    self.served(job);
                    self.fill(station);
                }
            }
            FutureEvent::Answered(job) => self.answered(job),
            FutureEvent::Again(job) => {
                if let Some(job) = self.jobs.remove(job) {
                    self.ask(job.who, self.now);
                }
            }
            FutureEvent::Tick { station, version } => self.tick(station, version),
            FutureEvent::Stall { station } => self.stall(station, true),
            FutureEvent::Resume { station } => self.stall(station, false),
            FutureEvent::Wake { user, version } => self.wake(user, version),
            FutureEvent::Heard { station } => self.heard(station),
            FutureEvent::Crowd { crowd } => self.crowd_comes(crowd),
            FutureEvent::Begins { event } => self.begins(event),
            FutureEvent::Detected { event } => self.detected(event),
            FutureEvent::Back { event } => self.back(event),
        }
    }

    fn arrive(&mut self) {
        match &mut self.users {
            LoadSource::Arrivals(stream) => {
                stream.step(&mut self.random);
                self.ask(Requester::Passing { login: false }, self.now);
            }
            LoadSource::Pool(pool) => {
                if let Some((home, session)) = pool.take(&mut self.random) {
                    self.ask(Requester::OneOf { home, session }, self.now);
                }
            }
            LoadSource::Each(_) => {}
        }
    }

    fn wake(&mut self, user: u32, version: u32) {
        let LoadSource::Each(each) = &mut self.users else { return };
        let Some(found) = each.all.get_mut(user as usize).filter(|user| user.version == version) else {
            return;
        };
        found.is_thinking = false;
        let due = found.due;
        self.ask(Requester::Each(user), due);
    }

    /// A request is sent.
    pub(super) fn ask(&mut self, who: Requester, due: u64) {
        let who = self.moved(who);
        let (home, mix) = match who {
            Requester::Passing { login } if login && self.has_login => (None, &self.logins),
            Requester::Passing { .. } | Requester::Message(_) => (None, &self.all),
            Requester::OneOf { home, session } => {
                (Some(home), if session { &self.others } else { &self.logins })
            }
            Requester::Each(user) => match &self.users {
                LoadSource::Each(StatefulUsers { all, .. }) => {
                    let user = all[user as usize];
                    (Some(user.home), if user.session { &self.others } else { &self.logins })
                }
                LoadSource::Arrivals(_) | LoadSource::Pool(_) => return,
            },
        };
        let step = mix.draw(&mut self.random);
        let home = home.filter(|_| self.deployment.balance == BalancePolicy::Sticky);
        let station = self.balancer.choose(home, &mut self.random);
        let service = self.steps[step as usize].service.draw(&mut self.random);
        let job = self.jobs.add(SimulatedJob {
            due,
            sent: self.now,
            service,
            step,
            station,
            who,
            is_abandoned: false,
        });
        self.balancer.sent(station);
        self.measures.sent(self.now);
        if let Some(timeout) = self.deployment.load.timeout_s {
            self.deadlines.push_back((self.now + ns(timeout), job));
        }
        self.enter(job, station, step);
    }

    /// One of many users whose node died while they were asking or waited to ask again stays with another one.
    fn moved(&mut self, who: Requester) -> Requester {
        match who {
            Requester::OneOf { home, session }
                if self.deployment.balance == BalancePolicy::Sticky && !self.balancer.is_up(home) =>
            {
                let session = session && !self.loses_sessions();
                Requester::OneOf { home: self.balancer.any(&mut self.random), session }
            }
            Requester::OneOf { .. }
            | Requester::Passing { .. }
            | Requester::Each(_)
            | Requester::Message(_) => who,
        }
    }

    /// Whether sessions die with their node.
    pub(super) fn loses_sessions(&self) -> bool {
        self.has_login && self.replicas.is_none()
    }

    /// A request reaches its node.
    fn enter(&mut self, job: JobId, station: u32, step: u32) {
        let is_login = self.steps[step as usize].kind == SessionUse::Login;
        let nodes = &self.deployment.nodes;
        let node = &mut self.stations[station as usize];
        if !node.is_up {
            return self.fail(job, "refused");
        }
        if is_login && nodes.logins_at_once.is_some_and(|most| node.logins >= most) {
            if nodes.logins_waiting_max.is_some_and(|most| node.logins_waiting.len() >= most as usize) {
                return self.fail(job, "refused");
            }
            node.advance(self.now);
            node.logins_waiting.push_back(job);
            return;
        }
        if nodes.queue_max.is_some_and(|most| node.is_full(most)) {
            return self.fail(job, "refused");
        }
        if is_login {
            node.logins += 1;
        }
        self.work_on(job, station);
    }

    /// A core takes it up, or it waits for one.
    pub(super) fn work_on(&mut self, job: JobId, station: u32) {
        let node = &mut self.stations[station as usize];
        if !node.has_room() {
            node.advance(self.now);
            node.waiting.push_back(job);
            return;
        }
        // One that waited is taken up by a process that is awake.
        let waking = node.waking();
        if let Some(job) = self.jobs.get_mut(job) {
            job.service += waking;
        }
        self.begin(job, station);
        self.plan_tick(station);
    }

    fn begin(&mut self, job: JobId, station: u32) {
        let service = self.jobs.get(job).map_or(0, |job| job.service);
        if let Some(at) = self.stations[station as usize].begin(self.now, job, service) {
            self.future.plan(at, FutureEvent::Served(job));
        }
    }

    fn plan_tick(&mut self, station: u32) {
        if let Some((at, version)) = self.stations[station as usize].next_tick(self.now) {
            self.future.plan(at, FutureEvent::Tick { station, version });
        }
    }

    /// Cores that are free take up what waits.
    fn fill(&mut self, station: u32) {
        while self.stations[station as usize].has_room() {
            self.stations[station as usize].advance(self.now);
            let Some(job) = self.stations[station as usize].waiting.pop_front() else { break };
            let is_dropped = self.deployment.nodes.drops_abandoned
                && self.jobs.get(job).is_some_and(|job| job.is_abandoned);
            if is_dropped {
                self.login_ends(job);
                self.jobs.remove(job);
            } else {
                self.begin(job, station);
            }
        }
        self.plan_tick(station);
    }

    fn tick(&mut self, station: u32, version: u32) {
        let node = &mut self.stations[station as usize];
        if node.clock.as_ref().is_none_or(|clock| clock.version != version) {
            return;
        }
        for job in node.ticked(self.now) {
            self.served(job);
        }
        self.fill(station);
    }

    fn stall(&mut self, station: u32, begins: bool) {
        let node = &mut self.stations[station as usize];
        node.advance(self.now);
        if let Some(clock) = &mut node.clock {
            clock.is_stalled = begins;
        }
        let nodes = &self.deployment.nodes;
        if begins {
            self.future.plan(self.now + ns(nodes.stall_s), FutureEvent::Resume { station });
        } else {
            let next = self.random.exponential((nodes.stall_every_s - nodes.stall_s) * 1e9);
            self.future.plan(self.now + next as u64, FutureEvent::Stall { station });
        }
        self.plan_tick(station);
    }

    /// A login leaves its node: another one gets its turn.
    fn login_ends(&mut self, job: JobId) {
        let Some(job) = self.jobs.get(job) else { return };
        if matches!(job.who, Requester::Message(_)) || self.steps[job.step as usize].kind != SessionUse::Login
        {
            return;
        }
        let station = job.station;
        let node = &mut self.stations[station as usize];
        node.advance(self.now);
        node.logins = node.logins.saturating_sub(1);
        while let Some(next) = node.logins_waiting.pop_front() {
            let is_dropped = self.deployment.nodes.drops_abandoned
                && self.jobs.get(next).is_some_and(|job| job.is_abandoned);
            if is_dropped {
                self.jobs.remove(next);
                continue;
            }
            node.logins += 1;
            node.waiting.push_back(next);
            break;
        }
    }

    /// A core has done its work on it.
    fn served(&mut self, id: JobId) {
        self.login_ends(id);
        let Some(job) = self.jobs.get(id).copied() else { return };
        if let Requester::Message(question) = job.who {
            self.jobs.remove(id);
            self.message_arrived(question);
        } else if self.replicas.is_some() {
            self.replicate(id, &job);
        } else {
            self.answer_after(id, 0);
        }
    }

    /// The answer leaves, so many nanoseconds from now, and then takes its way.
    pub(super) fn answer_after(&mut self, id: JobId, wait: u64) {
        let Some(job) = self.jobs.get(id) else { return };
        let way = self.steps[job.step as usize].delay.draw(&mut self.random);
        if wait + way > 0 {
            self.future.plan(self.now + wait + way, FutureEvent::Answered(id));
        } else {
            self.answered(id);
        }
    }

    fn answered(&mut self, id: JobId) {
        let Some(job) = self.jobs.remove(id) else { return };
        if job.is_abandoned {
            return;
        }
        self.balancer.answered(job.station);
        self.measures.answered(&job, self.now, &mut self.stations[job.station as usize]);
        self.think(&job);
    }

    /// The user of an answered request thinks.
    fn think(&mut self, job: &SimulatedJob) {
        let kind = self.steps[job.step as usize].kind;
        let after = |before: bool| match kind {
            SessionUse::Login => true,
            SessionUse::Logout => !self.has_login,
            SessionUse::Plain | SessionUse::Read | SessionUse::Write => before,
        };
        match (job.who, &mut self.users) {
            (Requester::OneOf { home, session }, LoadSource::Pool(pool)) => pool.put(home, after(session), 1),
            (Requester::Each(number), LoadSource::Each(each)) => {
                let (at, due) = each.next(job.due, self.now, &mut self.random);
                let is_sticky = self.deployment.balance == BalancePolicy::Sticky;
                let user = &mut each.all[number as usize];
                user.session = after(user.session);
                if kind == SessionUse::Login && !is_sticky {
                    user.home = job.station;
                }
                user.is_thinking = true;
                user.due = due;
                self.future.plan(at, FutureEvent::Wake { user: number, version: user.version });
            }
            _ => {}
        }
    }

    /// Clients whose patience is at its end.
    fn give_up(&mut self) {
        let Some((_, id)) = self.deadlines.pop_front() else { return };
        if self.jobs.get(id).is_some_and(|job| !job.is_abandoned) {
            self.release_failed(id, "timeout");
        }
    }

    /// A request fails where it is, and is no more.
    pub(super) fn fail(&mut self, id: JobId, cause: &'static str) {
        if self.jobs.get(id).is_some_and(|job| !job.is_abandoned) {
            self.release_failed(id, cause);
        }
        self.jobs.remove(id);
    }

    /// The client of a request is told that it failed, while the node may go on with it.
    fn release_failed(&mut self, id: JobId, cause: &'static str) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        job.is_abandoned = true;
        let job = *job;
        self.balancer.answered(job.station);
        self.measures.failed(&job, cause, self.now, &mut self.stations[job.station as usize]);
        let wait = match (self.deployment.load.retry_s, &mut self.users, job.who) {
            (_, _, Requester::Passing { .. }) => return,
            (None, LoadSource::Pool(pool), Requester::OneOf { home, session }) => {
                return pool.put(home, session, 1);
            }
            (Some(retry), ..) => ns(retry),
            (None, ..) => ns(self.deployment.load.think_s),
        };
        let again = self.jobs.add(SimulatedJob { station: u32::MAX, is_abandoned: false, ..job });
        self.future.plan(self.now + wait.max(1), FutureEvent::Again(again));
    }
}
