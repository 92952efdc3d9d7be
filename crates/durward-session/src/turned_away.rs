//! Requests that are rejected before their credentials are checked. Anybody can send any number of them, so they are counted, and few become lines of the audit record.
//!
//! Of each kind and from each address the first of a minute are lines of their own. How many more there were is one line when the minute is over:
//! what all of them have in common, and their number.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use durward_identity::Moment;
use durward_identity::audit::{AuditEvent, Kind};
use durward_identity::login::network;
use tokio::time::Instant;

/// How long is counted before it is said.
const PERIOD: Duration = Duration::from_secs(60);

/// How many refusals of one kind from one address have a line of their own in each period.
const LINES_MAX: u32 = 3;

/// How many pairs of kind and address are counted separately; a count is some 300 bytes. Further addresses share one
/// count for each kind.
const COUNTS_MAX: usize = 1024;

/// Rejections since the period began.
#[derive(Debug, Default)]
pub(crate) struct RejectionSummary {
    ends: Option<Instant>,
    counts: HashMap<(Kind, Option<u64>), RejectionCount>,
}

#[derive(Debug, Default)]
struct RejectionCount {
    lines: u32,
    /// Those beyond, as one event, and when the last of them was.
    more: Option<(Moment, AuditEvent)>,
}

impl RejectionSummary {
    /// When the period ends, if something was counted in it.
    pub(crate) fn ends(&self) -> Option<Instant> {
        self.ends
    }

    /// Counts an event. Gives it back where it is to be a line of its own.
    pub(crate) fn count(
        &mut self,
        now: Instant,
        at: Moment,
        address: IpAddr,
        event: AuditEvent,
    ) -> Option<AuditEvent> {
        self.ends.get_or_insert(now + PERIOD);
        let own = (event.kind, Some(network(address)));
        let has_place = self.counts.len() < COUNTS_MAX || self.counts.contains_key(&own);
        let key = if has_place { own } else { (event.kind, None) };
        let count = self.counts.entry(key).or_default();
        if count.lines < LINES_MAX {
            count.lines += 1;
            return Some(event);
        }
        let event = if has_place { event } else { AuditEvent { address: None, ..event } };
        count.more = Some(match count.more.take() {
            Some((_, before)) => (at, before.and(&event)),
            None => (at, AuditEvent { more: Some(1), ..event }),
        });
        None
    }

    /// What is to be said of the period, which is over with that.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = (Moment, AuditEvent)> {
        self.ends = None;
        self.counts.drain().filter_map(|(_, count)| count.more)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use durward_identity::session::User;

    use super::*;

    const AT: Moment = Moment::from_s(1_700_000_000);

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }

    fn delayed(name: &str, from: IpAddr) -> AuditEvent {
        AuditEvent::new(Kind::LoginDelayed).of(&User::new("/", name).unwrap()).address(&from.to_string())
    }

    #[test]
    fn each_is_a_line_or_in_the_number_of_one() {
        let (mut turned_away, now) = (RejectionSummary::default(), Instant::now());
        let mut lines = 0;
        for number in 0..1_000 {
            let from = address(number % 2);
            let line = turned_away.count(now, AT, from, delayed("anna", from));
            lines += u64::from(line.is_some());
        }
        assert_eq!(lines, 2 * u64::from(LINES_MAX));
        assert_eq!(turned_away.ends(), Some(now + PERIOD));
        let rest: Vec<AuditEvent> = turned_away.end().map(|(_, event)| event).collect();
        assert_eq!(rest.len(), 2);
        assert_eq!(lines + rest.iter().filter_map(|event| event.more).sum::<u64>(), 1_000);
        assert!(rest.iter().all(|event| event.user.as_deref() == Some("anna") && event.address.is_some()));
        assert_eq!((turned_away.ends(), turned_away.end().count()), (None, 0));
    }

    #[test]
    fn a_number_says_only_what_all_of_them_have_in_common() {
        let (mut turned_away, now) = (RejectionSummary::default(), Instant::now());
        for name in ["a", "b", "c", "d", "e", "f"] {
            let _ = turned_away.count(now, AT, address(1), delayed(name, address(1)));
        }
        let rest: Vec<AuditEvent> = turned_away.end().map(|(_, event)| event).collect();
        let expected = AuditEvent { user: None, more: Some(3), ..delayed("d", address(1)) };
        assert_eq!(rest, [expected]);
    }

    #[test]
    fn however_many_addresses_there_are_the_counts_are_bounded() {
        let (mut turned_away, now) = (RejectionSummary::default(), Instant::now());
        let lines = (0..10 * COUNTS_MAX as u32)
            .filter_map(|number| {
                let from = address(number);
                turned_away.count(now, AT, from, delayed("anna", from))
            })
            .count();
        assert_eq!(lines, COUNTS_MAX + LINES_MAX as usize);
        let rest: Vec<AuditEvent> = turned_away.end().map(|(_, event)| event).collect();
        assert_eq!(rest.len(), 1);
        assert_eq!((rest[0].more, &rest[0].address), (Some((10 * COUNTS_MAX - lines) as u64), &None));
    }
}
