//! The stream of users, beside that of sessions: the last records of each user, for ever.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use durward_identity::IdentityError;

use super::super::settings::NatsSettings;
use super::super::stream::{check_version, create, is_missing};

/// How many records of a user are kept. The last one says all. Those before it are for a node without a file, where somebody who may
/// publish, and is no node, has put something behind it.
const RECORDS_MAX: i64 = 8;

/// The subjects of the users of one cluster, in the stream `STREAM-users`: `u.USER` for records, and `v.NODE` for what a node sends itself to see how far it has
/// read.
#[derive(Clone, Debug)]
pub(super) struct UserSubjects {
    root: String,
    pub(super) stream: String,
    pub(super) own_mark: String,
}

impl UserSubjects {
    pub(super) fn new(stream: &str, node: &str) -> UserSubjects {
        let root = format!("durward.{stream}");
        UserSubjects { own_mark: format!("{root}.v.{node}"), stream: format!("{stream}-users"), root }
    }

    pub(super) fn of_user(&self, token: &str) -> String {
        format!("{}.u.{token}", self.root)
    }

    /// What stands for the user in a subject.
    pub(super) fn token<'s>(&self, subject: &'s str) -> Option<&'s str> {
        subject.strip_prefix(self.root.as_str())?.strip_prefix(".u.")
    }

    /// What this node reads.
    pub(super) fn wanted(&self) -> Vec<String> {
        vec![format!("{}.u.*", self.root), self.own_mark.clone()]
    }

    fn of_stream(&self) -> Vec<String> {
        vec![format!("{}.u.*", self.root), format!("{}.v.*", self.root)]
    }
}

/// Finds the stream or makes it: what names this very stream, and the number of its last message.
///
/// # Errors
/// It cannot be reached or made, or would lose records.
pub(super) async fn open(
    context: &Context,
    settings: &NatsSettings,
    subjects: &UserSubjects,
) -> Result<(String, u64), IdentityError> {
    check_version(&context.client().server_info().version)?;
    let wanted = wanted(settings, subjects);
    let info = match context.get_stream(&subjects.stream).await {
        Ok(stream) => stream.cached_info().clone(),
        Err(error) if is_missing(&error.kind()) => create(context, &wanted).await?,
        Err(error) => return Err(IdentityError::new(format!("stream `{}`: {error}", subjects.stream))),
    };
    check(&info.config, &wanted)?;
    Ok((format!("{:?}", info.created), info.state.last_sequence))
}

fn wanted(settings: &NatsSettings, subjects: &UserSubjects) -> Config {
    Config {
        name: subjects.stream.clone(),
        description: Some("users of durward".to_owned()),
        subjects: subjects.of_stream(),
        num_replicas: settings.replicas,
        storage: StorageType::File,
        retention: RetentionPolicy::Limits,
        max_messages_per_subject: RECORDS_MAX,
        allow_message_ttl: true,
        ..Config::default()
    }
}

fn check(found: &Config, wanted: &Config) -> Result<(), IdentityError> {
    let wrong = |message: String| Err(IdentityError::new(format!("stream `{}` {message}", wanted.name)));
    let sorted = |subjects: &[String]| {
        let mut subjects = subjects.to_vec();
        subjects.sort();
        subjects
    };
    if sorted(&found.subjects) != sorted(&wanted.subjects) {
        return wrong(format!(
            "has the subjects {:?} and not {:?}: name another one in `identity.nats.stream`",
            found.subjects, wanted.subjects
        ));
    }
    if found.num_replicas != wanted.num_replicas {
        return wrong(format!(
            "has {} replicas, and `identity.nats.replicas` is {}: change one of them, the stream with `nats stream edit {} --replicas {}`",
            found.num_replicas, wanted.num_replicas, wanted.name, wanted.num_replicas
        ));
    }
    let has_limits = found.max_messages > 0
        || found.max_bytes > 0
        || found.max_age > Duration::ZERO
        || found.discard != DiscardPolicy::Old;
    if has_limits || found.retention != RetentionPolicy::Limits || found.no_ack || found.sealed {
        return wrong(
            "forgets users or takes none: it must have no limit but of the messages per subject".to_owned(),
        );
    }
    if found.storage != wanted.storage {
        return wrong(
            "is kept in memory: a cluster that stops would lose it; make it anew on files".to_owned(),
        );
    }
    if !found.allow_message_ttl {
        return wrong(format!(
            "must allow a TTL for messages: `nats stream edit {} --allow-msg-ttl`",
            wanted.name
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_would_forget_users_is_refused() {
        let wanted = wanted(&NatsSettings::default(), &UserSubjects::new("sessions", "a"));
        check(&wanted, &wanted).unwrap();
        let refused = |change: fn(&mut Config)| {
            let mut found = wanted.clone();
            change(&mut found);
            check(&found, &wanted).unwrap_err().to_string()
        };
        assert!(refused(|it| it.num_replicas = 1).contains("`identity.nats.replicas` is 3"));
        assert!(refused(|it| it.max_age = Duration::from_secs(1)).contains("forgets users"));
        assert!(refused(|it| it.max_messages = 10).contains("forgets users"));
        assert!(refused(|it| it.storage = StorageType::Memory).contains("memory"));
        assert!(refused(|it| it.allow_message_ttl = false).contains("--allow-msg-ttl"));
    }

    #[test]
    fn what_stands_for_a_user_is_read_out_of_the_subject() {
        let subjects = UserSubjects::new("sessions", "a");
        assert_eq!(subjects.token(&subjects.of_user("ab12")), Some("ab12"));
        assert_eq!(subjects.token("durward.other.u.ab12"), None);
        assert_eq!(subjects.token(&subjects.own_mark), None);
    }
}
