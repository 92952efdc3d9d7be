//! Rates, over rounds, and what the nodes took of the machine for them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use super::call::NodeCaller;
use super::crowd::{BenchUsers, CrowdConnection, UserAction, UserScript};
use super::{BenchSite, SessionBenchError, SessionLoad};
use crate::MeasurementSpread;
use crate::bare::Bare;
use crate::server::load::{AskSchedule, IdleWait, LanePlan, LaneResult, LoadGenerator, QuestionTally};
use durward_lab::process::usage;

/// How many rounds a measurement has, beside one that does not count.
pub(super) const ROUNDS: u32 = 5;

/// How long it may take until all have logged in.
pub(super) const ENTER_TIME_MAX: Duration = Duration::from_secs(3_600);

/// Sessions among which validations choose: more than fit into the nearest cache, and quick to make.
const SESSIONS: usize = 1_000;

/// How long requests of one kind waited for their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimes {
    /// The kind.
    pub act: UserAction,
    /// How many were answered rightly.
    pub answered: u64,
    /// How many were answered with something else.
    pub failed: u64,
    /// Half of the answers came within this time, in nanoseconds.
    pub p50_ns: u64,
    /// 95 of 100 did.
    pub p95_ns: u64,
    /// 99 of 100 did.
    pub p99_ns: u64,
    /// All did.
    pub max_ns: u64,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct SessionMeasurement {
    /// Right answers a second, over rounds.
    pub rate: MeasurementSpread,
    /// By kind of request; those that were not asked are left out.
    pub waits: Vec<WaitTimes>,
    /// How many were not answered in time.
    pub unanswered: u64,
    /// The first answer that was wrong.
    pub wrong: Option<String>,
    /// What cores of the nodes did for one right answer, in nanoseconds; `None` where it is not known.
    pub cpu_ns: Option<u64>,
    /// How many cores' worth of time the nodes ran, all together.
    pub busy: Option<f64>,
}

impl SessionMeasurement {
    /// How many requests were answered wrongly or not at all.
    pub fn failed(&self) -> u64 {
        self.unanswered + self.waits.iter().map(|wait| wait.failed).sum::<u64>()
    }

    /// The waits for one kind.
    pub fn of(&self, act: UserAction) -> Option<&WaitTimes> {
        self.waits.iter().find(|waits| waits.act == act)
    }
}

/// Validations, and beside them those of a bare server.
#[derive(Clone, Debug)]
pub struct ValidationMeasurement {
    /// Of the nodes.
    pub nodes: SessionMeasurement,
    /// Of a server that always says the same, in rounds between theirs.
    pub bare: Option<SessionMeasurement>,
}

/// Lanes of connections and the crowds that they serve.
pub(super) struct SessionLab<'p> {
    site: &'p BenchSite<'p>,
    generator: LoadGenerator<CrowdConnection<'p>>,
    crowds: Vec<Rc<RefCell<BenchUsers<'p>>>>,
}

impl<'p> SessionLab<'p> {
    pub(super) fn new(site: &'p BenchSite<'p>) -> Result<SessionLab<'p>, SessionBenchError> {
        if site.people.is_empty() {
            return Err(SessionBenchError::NoPeople);
        }
        let rest = if site.has_own_core { IdleWait::Never } else { IdleWait::Sleep };
        Ok(SessionLab { site, generator: LoadGenerator::new(rest)?, crowds: Vec::new() })
    }

    /// One more lane to the nodes, with a crowd of its own.
    pub(super) fn add(&mut self, connections: usize, users: usize) -> Result<(), SessionBenchError> {
        let host = self.site.nodes.first().map(ToString::to_string).unwrap_or_default();
        let crowd = Rc::new(RefCell::new(BenchUsers::new(self.site.people, users, host)));
        self.connect(self.site.nodes, connections, crowd)
    }

    /// One more lane, to another server, for the crowd of the first one.
    fn add_other(&mut self, address: SocketAddr, connections: usize) -> Result<(), SessionBenchError> {
        let Some(crowd) = self.crowds.first().cloned() else { return Err(SessionBenchError::NoPeople) };
        self.connect(&[address], connections, crowd)
    }

    fn connect(
        &mut self,
        addresses: &[SocketAddr],
        connections: usize,
        crowd: Rc<RefCell<BenchUsers<'p>>>,
    ) -> Result<(), SessionBenchError> {
        let plan = LanePlan { addresses, connections, in_flight: 1, questions: 1 };
        self.generator.add(&plan, || CrowdConnection::new(&crowd))?;
        self.crowds.push(crowd);
        Ok(())
    }

    pub(super) fn crowd(&self, lane: usize) -> Option<&RefCell<BenchUsers<'p>>> {
        self.crowds.get(lane).map(Rc::as_ref)
    }

    /// What a crowd does from now on.
    pub(super) fn play(&self, lane: usize, script: UserScript) {
        if let Some(crowd) = self.crowd(lane) {
            crowd.borrow_mut().play(script);
        }
    }

    pub(super) fn run(
        &mut self,
        schedules: &[AskSchedule],
        duration: Duration,
    ) -> Result<Vec<LaneResult>, SessionBenchError> {
        Ok(self.generator.run(schedules, duration)?)
    }

    /// Everybody of the first lane logs in.
    pub(super) fn enter(&mut self) -> Result<(), SessionBenchError> {
        self.play(0, UserScript::Enter);
        let users = self.crowd(0).map_or(0, |crowd| crowd.borrow().len());
        let mut schedules = vec![AskSchedule::Silent; self.crowds.len()];
        if let Some(first) = schedules.first_mut() {
            *first = AskSchedule::Times(users as u64);
        }
        self.run(&schedules, ENTER_TIME_MAX)?;
        let Some(crowd) = self.crowd(0) else { return Ok(()) };
        let crowd = crowd.borrow();
        if crowd.entered() == users {
            return Ok(());
        }
        Err(crowd.wrong.clone().map_or(SessionBenchError::NoAnswers, SessionBenchError::Wrong))
    }

    /// One round, of which the run of one lane counts; the runs of all.
    pub(super) fn round(
        &mut self,
        schedules: &[AskSchedule],
        lane: usize,
        duration: Duration,
        sum: &mut RoundSum,
    ) -> Result<Vec<LaneResult>, SessionBenchError> {
        let before = ran(self.site.processes);
        let runs = self.run(schedules, duration)?;
        let run = runs.get(lane).ok_or(SessionBenchError::NoAnswers)?;
        sum.add(run, before.zip(ran(self.site.processes)));
        Ok(runs)
    }

    /// The first wrong answer of a lane.
    pub(super) fn wrong(&self, lane: usize) -> Option<String> {
        self.crowd(lane).and_then(|crowd| crowd.borrow_mut().wrong.take())
    }
}

/// How long processes ran on cores so far.
fn ran(processes: &[u32]) -> Option<Duration> {
    let all: Option<Duration> = processes.iter().map(|process| Some(usage(*process)?.ran)).sum();
    all.filter(|_| !processes.is_empty())
}

/// Rounds put together.
pub(super) struct RoundSum {
    rates: Vec<f64>,
    kinds: Vec<QuestionTally>,
    answered: u64,
    unanswered: u64,
    time: Duration,
    ran: Option<Duration>,
}

impl RoundSum {
    pub(super) fn new() -> RoundSum {
        let kinds = UserAction::ALL.map(|_| QuestionTally::new()).into();
        let ran = Some(Duration::ZERO);
        RoundSum { rates: Vec::new(), kinds, answered: 0, unanswered: 0, time: Duration::ZERO, ran }
    }

    fn add(&mut self, run: &LaneResult, ran: Option<(Duration, Duration)>) {
        self.rates.push(run.rate());
        self.kinds.iter_mut().zip(&run.kinds).for_each(|(sum, kind)| sum.add(kind));
        self.answered += run.answered();
        self.unanswered += run.unanswered;
        self.time += run.time;
        let ran = ran.map(|(before, after)| after.saturating_sub(before));
        self.ran = self.ran.zip(ran).map(|(sum, ran)| sum + ran);
    }

    pub(super) fn finish(self, wrong: Option<String>) -> Result<SessionMeasurement, SessionBenchError> {
        let Some(rate) = MeasurementSpread::of(&self.rates).filter(|_| self.answered > 0) else {
            return Err(wrong.map_or(SessionBenchError::NoAnswers, SessionBenchError::Wrong));
        };
        let waits = UserAction::ALL.into_iter().zip(&self.kinds).map(|(act, tally)| waits(act, tally));
        Ok(SessionMeasurement {
            rate,
            waits: waits.filter(|waits| waits.answered + waits.failed > 0).collect(),
            unanswered: self.unanswered,
            wrong,
            cpu_ns: self.ran.map(|ran| (ran.as_nanos() / u128::from(self.answered)) as u64),
            busy: self.ran.map(|ran| ran.as_secs_f64() / self.time.as_secs_f64()),
        })
    }
}

fn waits(act: UserAction, tally: &QuestionTally) -> WaitTimes {
    let quantile = |q| tally.waited.value_at_quantile(q);
    WaitTimes {
        act,
        answered: tally.answered,
        failed: tally.failed,
        p50_ns: quantile(0.5),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        max_ns: tally.waited.max(),
    }
}

/// The body of a validation, for a bare server to say.
///
/// # Errors
/// A node that is not reached, or that does not let the first user in.
pub fn validation_body(site: &BenchSite<'_>) -> Result<Vec<u8>, SessionBenchError> {
    let node = *site.nodes.first().ok_or(SessionBenchError::NoAnswers)?;
    let person = site.people.first().ok_or(SessionBenchError::NoPeople)?;
    let mut caller = NodeCaller::connect(node)?;
    let token = caller.login(person)?;
    let body = caller.validate(&token, &person.user)?;
    Ok(body.ok_or_else(|| SessionBenchError::Wrong("a new session is not valid".to_owned()))?.to_vec())
}

/// Validations a second: users validate sessions, of which there are a thousand or more, as fast as they are answered. Rounds of a
/// bare server come between those of the nodes.
///
/// # Errors
/// A server that is not reached, breaks off, says what is no HTTP, or never answers rightly.
pub fn validate(
    site: &BenchSite<'_>,
    load: &SessionLoad,
    bare: Option<&Bare>,
) -> Result<ValidationMeasurement, SessionBenchError> {
    let mut lab = SessionLab::new(site)?;
    lab.add(load.users, SESSIONS.max(load.users))?;
    if let Some(bare) = bare {
        lab.add_other(bare.address(), load.users)?;
    }
    lab.enter()?;
    let (mut nodes, mut others) = (RoundSum::new(), RoundSum::new());
    let round = load.duration / ROUNDS;
    let node_wrong =
        |lab: &SessionLab<'_>, wrong: &mut Option<String>| *wrong = wrong.take().or(lab.wrong(0));
    let (mut wrong, mut bare_wrong) = (None, None);
    for number in 0..=ROUNDS {
        // The first round warms up both.
        let (sum, other) = match number {
            0 => (&mut RoundSum::new(), &mut RoundSum::new()),
            _ => (&mut nodes, &mut others),
        };
        lab.play(0, UserScript::Validate);
        lab.round(&[AskSchedule::Full, AskSchedule::Silent], 0, round, sum)?;
        node_wrong(&lab, &mut wrong);
        if let Some(bare) = bare {
            lab.play(0, UserScript::ValidateAny);
            let before = bare.ran();
            let runs = lab.run(&[AskSchedule::Silent, AskSchedule::Full], round)?;
            runs.get(1).into_iter().for_each(|run| other.add(run, before.zip(bare.ran())));
            node_wrong(&lab, &mut bare_wrong);
        }
    }
    let bare = bare.map(|_| others.finish(bare_wrong)).transpose()?;
    Ok(ValidationMeasurement { nodes: nodes.finish(wrong)?, bare })
}

/// Logins a second: as many as users wait for are under way, of one person after the other. Their sessions stay.
///
/// # Errors
/// As [`validate`].
pub fn login(site: &BenchSite<'_>, load: &SessionLoad) -> Result<SessionMeasurement, SessionBenchError> {
    let mut lab = SessionLab::new(site)?;
    lab.add(load.users, site.people.len().max(load.users))?;
    rounds(lab, UserScript::Login, load)
}

/// The study's mix: who has no session logs in; who has one logs out `logout_percent` times in a hundred, and validates otherwise.
///
/// # Errors
/// As [`validate`].
pub fn mix(
    site: &BenchSite<'_>,
    load: &SessionLoad,
    logout_percent: u8,
) -> Result<SessionMeasurement, SessionBenchError> {
    let mut lab = SessionLab::new(site)?;
    lab.add(load.users, load.users)?;
    rounds(lab, UserScript::Mix { logout_percent }, load)
}

fn rounds(
    mut lab: SessionLab<'_>,
    script: UserScript,
    load: &SessionLoad,
) -> Result<SessionMeasurement, SessionBenchError> {
    let mut sum = RoundSum::new();
    lab.play(0, script);
    lab.round(&[AskSchedule::Full], 0, load.duration / ROUNDS, &mut RoundSum::new())?;
    for _ in 0..ROUNDS {
        lab.round(&[AskSchedule::Full], 0, load.duration / ROUNDS, &mut sum)?;
    }
    let wrong = lab.wrong(0);
    sum.finish(wrong)
}
