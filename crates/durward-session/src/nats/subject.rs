//! What is sent under which subject, and how long it is kept.
//!
//! Under `durward.STREAM.` there are `r.KIND` for records, `f.NODE` for a node's questions about freshness, and outside the
//! stream, for the mode `none`, `tell` and `ask`, and in all modes `clock`.

use std::time::Duration;

use durward_identity::Moment;
use durward_identity::protocol::RecordId;
use durward_identity::session::{Revocation, SessionRecord, UsedCode};

use super::settings::{Retention, SLACK};

/// The subjects of one cluster.
#[derive(Clone, Debug)]
pub(super) struct ClusterSubjects {
    root: String,
    /// Where this node asks how fresh it is.
    pub(super) own_fresh: String,
}

impl ClusterSubjects {
    pub(super) fn new(stream: &str, node: &str) -> ClusterSubjects {
        let root = format!("durward.{stream}");
        ClusterSubjects { own_fresh: format!("{root}.f.{node}"), root }
    }

    /// What the stream keeps.
    pub(super) fn of_stream(&self) -> Vec<String> {
        vec![format!("{}.r.>", self.root), format!("{}.f.*", self.root)]
    }

    /// All that the stream keeps, as one subject.
    pub(super) fn all(&self) -> String {
        format!("{}.>", self.root)
    }

    /// Whether another node asks there how fresh it is.
    pub(super) fn is_question_of_another(&self, subject: &str) -> bool {
        subject != self.own_fresh
            && subject.strip_prefix(self.root.as_str()).is_some_and(|rest| rest.starts_with(".f."))
    }

    /// What this node wants of the stream: all records, and its own questions.
    pub(super) fn wanted(&self) -> Vec<String> {
        vec![format!("{}.r.>", self.root), self.own_fresh.clone()]
    }

    pub(super) fn of_record(&self, record: &SessionRecord) -> String {
        let kind = match record {
            SessionRecord::Login(_) => "login",
            SessionRecord::Revoked(Revocation::Session { .. } | Revocation::Ended { .. })
            | SessionRecord::Recalled { .. } => "end",
            SessionRecord::Revoked(Revocation::User { .. }) => "user",
            SessionRecord::Revoked(Revocation::All { .. }) => "all",
            SessionRecord::Touched(_) => "touch",
            SessionRecord::Changed { .. } => "change",
            SessionRecord::Key(_) => "key",
            SessionRecord::Used(_) => "code",
            SessionRecord::Guesses(_) => "guess",
        };
        format!("{}.r.{kind}", self.root)
    }

    pub(super) fn tell(&self) -> String {
        format!("{}.tell", self.root)
    }

    pub(super) fn ask(&self) -> String {
        format!("{}.ask", self.root)
    }

    pub(super) fn clock(&self) -> String {
        format!("{}.clock", self.root)
    }
}

/// How long failed logins are kept, for nodes that start: whoever guesses is not to gain by a restart, and delays are shorter.
const GUESSES_KEPT: Duration = Duration::from_secs(600);

/// How long the store is to keep a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordRetention {
    /// As long as the stream keeps what says nothing else: [`Retention::longest`].
    Longest,
    /// No longer than this.
    For(Duration),
    /// Also beyond that.
    ForEver,
}

impl RecordRetention {
    /// What stands in the message for it.
    pub(super) fn header(self) -> Option<String> {
        match self {
            RecordRetention::Longest => None,
            RecordRetention::For(time) => Some(time.as_secs().to_string()),
            RecordRetention::ForEver => Some("never".to_owned()),
        }
    }
}

/// The moment is this node's; how far it may be wrong is in the slack.
pub(super) fn kept_for(record: &SessionRecord, now: Moment, retention: &Retention) -> RecordRetention {
    let until = |ends: Moment| RecordRetention::For(ends.since(now) + SLACK);
    match record {
        SessionRecord::Login(live) => until(live.ends),
        SessionRecord::Revoked(Revocation::Session { ends, .. }) | SessionRecord::Recalled { ends, .. } => {
            until(*ends)
        }
        SessionRecord::Revoked(Revocation::Ended { sessions }) => {
            until(sessions.iter().map(|(_, ends)| *ends).max().unwrap_or(now))
        }
        SessionRecord::Touched(_) => RecordRetention::For(retention.of_touches()),
        SessionRecord::Used(UsedCode::Device { until: ends, .. }) => until(*ends),
        SessionRecord::Used(UsedCode::Grant(turn)) => until(turn.until),
        // The users of a node that hears of it after years would take it still.
        SessionRecord::Used(UsedCode::Recovery(_)) => RecordRetention::ForEver,
        // Of what was given to devices this may end something much later.
        SessionRecord::Revoked(Revocation::User { .. }) => RecordRetention::Longest,
        // These do not say when the sessions end that they are about.
        SessionRecord::Revoked(Revocation::All { .. })
        | SessionRecord::Changed { .. }
        | SessionRecord::Key(_) => RecordRetention::For(retention.of_sessions()),
        SessionRecord::Guesses(_) => RecordRetention::For(GUESSES_KEPT),
    }
}

/// Reads what [`RecordId`] writes; what follows it in the name of a message is not looked at.
pub(super) fn record_id(text: &str) -> Option<RecordId> {
    let (node, count) = text.split_once('-')?;
    let count = count.split_once('-').map_or(count, |(count, _)| count);
    if node.len() != 16 {
        return None;
    }
    Some(RecordId { node: u64::from_str_radix(node, 16).ok()?, count: count.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_identity::CLOCK_SKEW_MAX;
    use durward_identity::protocol::NodeSettings;
    use durward_identity::session::{SessionId, SessionSettings, User};

    #[test]
    fn what_names_a_record_is_read_as_it_was_written() {
        let id = RecordId { node: 0x00ff_0000_1234_5678, count: 77 };
        assert_eq!(record_id(&id.to_string()), Some(id));
        assert_eq!(record_id(&format!("{id}-5eed")), Some(id));
        for wrong in ["", "-", "00ff-1", "zzzzzzzzzzzzzzzz-1", "00ff000012345678-", "00ff000012345678-x"] {
            assert_eq!(record_id(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_revocation_outlives_the_login_it_is_for_whichever_clock_is_wrong() {
        let retention = Retention::of(&NodeSettings::default(), &SessionSettings::default());
        let user = User::new("/", "anna").unwrap();
        let ends = Moment::from_s(100_000);
        let record = SessionRecord::Revoked(Revocation::Session { user, id: SessionId([1; 16]), ends });
        for clock in [Moment::from_s(99_000 - 30), Moment::from_s(99_000 + 30)] {
            let RecordRetention::For(kept) = kept_for(&record, clock, &retention) else {
                panic!("{record:?}")
            };
            assert!(kept >= ends.since(Moment::from_s(99_000)));
        }
    }

    #[test]
    fn a_used_code_is_kept_for_as_long_as_a_clock_that_is_wrong_takes_it() {
        let retention = Retention::of(&NodeSettings::default(), &SessionSettings::default());
        let user = User::new("/", "anna").unwrap();
        let (since, until) = (Moment::from_s(100_020), Moment::from_s(100_080));
        let record = SessionRecord::Used(UsedCode::Device { user, since, until });
        let now = Moment::from_s(100_030);
        // Used where the clock is ahead, and shown again where it is behind.
        let RecordRetention::For(kept) = kept_for(&record, now.plus(CLOCK_SKEW_MAX), &retention) else {
            panic!()
        };
        assert!(kept >= until.plus(CLOCK_SKEW_MAX).since(now), "{kept:?}");
        let recovery = kept_for(&SessionRecord::Used(UsedCode::Recovery([1; 16])), now, &retention);
        assert_eq!(recovery.header().as_deref(), Some("never"));
    }
}
