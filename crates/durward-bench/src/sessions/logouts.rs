//! How long a session whose logout was acknowledged on one node is accepted on the others.

use std::time::{Duration, Instant};

use super::call::NodeCaller;
use super::{BenchSite, SessionBenchError};

/// After this time a logout that others do not see is a fault and no figure.
const SEEN_TIME_MAX: Duration = Duration::from_secs(30);

/// How long logouts take to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogoutDelays {
    /// How many there were.
    pub count: usize,
    /// After how many of them some node accepted the session once more, asked after the acknowledgement.
    pub accepted_after: usize,
    /// From the acknowledgement until all other nodes have refused, in nanoseconds: within this time half of the time. A
    /// validation's own time is in it.
    pub p50_ns: u64,
    /// 99 times in 100.
    pub p99_ns: u64,
    /// Always.
    pub max_ns: u64,
}

/// Logs in and out so many times, on each node in turn, and asks all others without a pause until they refuse.
///
/// # Errors
/// There is one node only, a logout is not seen in half a minute, or as [`super::validate`].
pub fn logouts(site: &BenchSite<'_>, count: usize) -> Result<LogoutDelays, SessionBenchError> {
    if site.nodes.len() < 2 {
        return Err(SessionBenchError::OneNode);
    }
    let mut nodes =
        site.nodes.iter().map(|node| NodeCaller::connect(*node)).collect::<Result<Vec<_>, _>>()?;
    let mut took = Vec::with_capacity(count);
    let mut accepted_after = 0;
    for (number, person) in (0..count).zip(site.people.iter().cycle()) {
        let at = number % nodes.len();
        let (home, mut others) = split(&mut nodes, at).ok_or(SessionBenchError::OneNode)?;
        let token = home.login(person)?;
        for other in others.iter_mut().filter_map(Option::as_deref_mut) {
            if other.validate(&token, person.name())?.is_none() {
                return Err(SessionBenchError::Wrong("a new session is refused on another node".to_owned()));
            }
        }
        let told = home.logout(&token)?;
        let (time, was_accepted) = until_refused(others, &token, person.name(), told)?;
        took.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        accepted_after += usize::from(was_accepted);
    }
    took.sort_unstable();
    let at =
        |percent: usize| took.get(((took.len() * percent).div_ceil(100)).max(1) - 1).copied().unwrap_or(0);
    Ok(LogoutDelays { count, accepted_after, p50_ns: at(50), p99_ns: at(99), max_ns: at(100) })
}

/// One node, and the others.
fn split(nodes: &mut [NodeCaller], at: usize) -> Option<(&mut NodeCaller, Vec<Option<&mut NodeCaller>>)> {
    let (before, rest) = nodes.split_at_mut_checked(at)?;
    let (home, after) = rest.split_first_mut()?;
    Some((home, before.iter_mut().chain(after).map(Some).collect()))
}

/// Asks all at once, again and again, each until it has refused.
fn until_refused(
    mut others: Vec<Option<&mut NodeCaller>>,
    token: &str,
    name: &str,
    told: Instant,
) -> Result<(Duration, bool), SessionBenchError> {
    let mut was_accepted = false;
    loop {
        for other in others.iter_mut().flatten() {
            other.ask_validate(token)?;
        }
        for place in &mut others {
            let Some(other) = place else { continue };
            if other.told_validate(name)?.is_none() {
                *place = None;
            } else if told.elapsed() > SEEN_TIME_MAX {
                return Err(SessionBenchError::NotSeen { node: other.address()?, waited: told.elapsed() });
            } else {
                was_accepted = true;
            }
        }
        if others.iter().all(Option::is_none) {
            return Ok((told.elapsed(), was_accepted));
        }
    }
}
