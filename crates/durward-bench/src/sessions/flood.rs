//! Validations while more people want to log in than can.

use std::collections::BTreeMap;

use super::crowd::UserScript;
use super::rounds::{ROUNDS, RoundSum, SessionLab, SessionMeasurement};
use super::{BenchSite, SessionBenchError, SessionLoad};
use crate::server::load::AskSchedule;

/// How many times as many logins come as a node can do.
const FLOOD: f64 = 10.0;

/// Connections on which they come: who is let in waits for some seconds, and must not keep others from coming.
const FLOOD_CONNECTIONS: usize = 512;

/// Logins under way at once to see how many a node can do: enough to keep it busy, too few to be turned away.
const CAPACITY_USERS: usize = 8;

/// The lanes: who validates, the flood, and who finds out how many logins there can be.
const VALIDATE: usize = 0;
const COMING: usize = 1;
const CAPACITY: usize = 2;

/// What a flood of logins does.
#[derive(Clone, Debug)]
pub struct LoginFlood {
    /// Logins a second that the nodes can do when nothing else is asked.
    pub capacity_per_s: f64,
    /// Logins a second that came.
    pub offered_per_s: f64,
    /// Validations without the flood.
    pub calm: SessionMeasurement,
    /// Validations beside it.
    pub flooded: SessionMeasurement,
    /// How logins of the flood were answered, by status: 200, 429 and 503 are right.
    pub logins: BTreeMap<u16, u64>,
    /// How many logins were answered with something else, or not at all.
    pub logins_failed: u64,
}

impl LoginFlood {
    /// Which part of the rate of validations is left.
    pub fn kept(&self) -> f64 {
        self.flooded.rate.median / self.calm.rate.median
    }
}

/// Measures how many logins can be done, and then validations, in turns without and with ten times as many logins.
///
/// # Errors
/// As [`super::validate`].
pub fn flood(site: &BenchSite<'_>, load: &SessionLoad) -> Result<LoginFlood, SessionBenchError> {
    let mut lab = SessionLab::new(site)?;
    lab.add(load.users, load.users)?;
    lab.add(FLOOD_CONNECTIONS, site.people.len())?;
    lab.add(CAPACITY_USERS, site.people.len())?;
    lab.enter()?;
    let mut capacity = RoundSum::new();
    lab.play(CAPACITY, UserScript::Login);
    lab.round(
        &[AskSchedule::Silent, AskSchedule::Silent, AskSchedule::Full],
        CAPACITY,
        load.duration,
        &mut capacity,
    )?;
    let wrong = lab.wrong(CAPACITY);
    let capacity_per_s = capacity.finish(wrong)?.rate.median;
    lab.play(VALIDATE, UserScript::Validate);
    lab.play(COMING, UserScript::Flood);
    let offered_per_s = FLOOD * capacity_per_s;
    let schedules = [AskSchedule::Full, AskSchedule::Rate(offered_per_s), AskSchedule::Silent];
    let (mut calm, mut flooded) = (RoundSum::new(), RoundSum::new());
    let mut logins_failed = 0;
    lab.run(&[AskSchedule::Full, AskSchedule::Silent, AskSchedule::Silent], load.duration / ROUNDS)?;
    for _ in 0..ROUNDS {
        let round = load.duration / ROUNDS;
        lab.round(
            &[AskSchedule::Full, AskSchedule::Silent, AskSchedule::Silent],
            VALIDATE,
            round,
            &mut calm,
        )?;
        let coming = lab.round(&schedules, VALIDATE, round, &mut flooded)?;
        logins_failed += coming.get(COMING).map_or(0, |run| run.failed() + run.unanswered);
    }
    let logins = lab.crowd(COMING).map(|crowd| crowd.borrow().logins.clone()).unwrap_or_default();
    let wrong = lab.wrong(VALIDATE).or_else(|| lab.wrong(COMING));
    Ok(LoginFlood {
        capacity_per_s,
        offered_per_s,
        calm: calm.finish(None)?,
        flooded: flooded.finish(wrong)?,
        logins,
        logins_failed,
    })
}
