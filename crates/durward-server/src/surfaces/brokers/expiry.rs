//! Until when a user may be connected: the earliest of what the decision says and what the user showed.

use std::time::Duration;

use durward_common::question::Verdict;
use durward_pdp::ir::Value;
use durward_session::identity::Moment;

use super::{BrokerUser, NotLetIn};
use crate::surfaces::callers::is_of;

/// The obligation to end the connection after `seconds`.
pub(super) const EXPIRES: &str = "broker:expires";

/// When the connection is to end; `None` where nothing says so.
///
/// # Errors
/// An obligation that cannot be understood.
pub(super) fn of(verdict: &Verdict, user: &BrokerUser, now: Moment) -> Result<Option<Moment>, NotLetIn> {
    let mut until = user.until;
    for duty in verdict.obligations.iter().filter(|duty| is_of(duty, EXPIRES)) {
        let seconds = duty.properties.as_object().and_then(|properties| whole(properties.get("seconds")?));
        let wrong = || NotLetIn::new(format!("`{EXPIRES}` needs `seconds`, a whole number from 1 on"));
        let end = now.plus(Duration::from_secs(seconds.ok_or_else(wrong)?));
        until = Some(until.map_or(end, |until| until.min(end)));
    }
    match until {
        Some(until) if until <= now => Err(NotLetIn::new("what was shown is over")),
        until => Ok(until),
    }
}

fn whole(value: &Value) -> Option<u64> {
    let number = value.as_number().filter(|number| number.is_integer())?.to_i64()?;
    u64::try_from(number).ok().filter(|number| *number > 0)
}
